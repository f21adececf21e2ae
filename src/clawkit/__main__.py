"""`python -m clawkit` is `claw`."""

from clawkit.cli import main

main()
