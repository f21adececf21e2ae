"""`claw completion`: prints the script with which a shell completes our commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from clawkit.cli.completion.command_tree import command_tree
from clawkit.system.processes import program

_SCRIPTS = Path(__file__).parent
_PLACES = """Where a script goes, for every new shell:

bash: `claw completion bash > ~/.local/share/bash-completion/completions/claw`

zsh: `claw completion zsh > DIR/_claw`, DIR being one of your `$fpath`

fish: `claw completion fish > ~/.config/fish/completions/claw.fish`
"""

app = typer.Typer(add_completion=False)


@app.command(epilog=_PLACES)
def completion(
    shell: Annotated[
        Literal["bash", "zsh", "fish"], typer.Argument(metavar="bash|zsh|fish", help="Your shell.")
    ],
) -> None:
    """Print the script with which your shell completes this program's commands."""
    command_tree()  # read now, so that the first Tab need not
    script = (_SCRIPTS / f"script.{shell}").read_text(encoding="utf-8")
    print(script.replace("PROGRAM", program()), end="")
