"""The real Claude CLI, as `make setup` installs it, and the environment it gets in tests."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

from tests.processes import ROOT

_MODULES = ROOT / "tests" / "node" / "node_modules"
_PACKAGES = {"newest": "@anthropic-ai/claude-code", "oldest": "claude-code-oldest"}
"""The newest one, and the oldest that a policy is accepted for."""
_MACHINES = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}


def real_cli(which: str = "newest") -> str:
    """The program itself: npm puts it into a package of its own for each platform."""
    machine = _MACHINES[platform.machine().lower()]
    name = f"claude-code-{sys.platform}-{machine}"
    own = _MODULES / _PACKAGES[which] / "node_modules"
    modules = [own] if which == "oldest" else [own, _MODULES]
    packages = [place / "@anthropic-ai" / name for place in modules]
    places = [Path(f"{package}{libc}", "claude") for package in packages for libc in ("", "-musl")]
    found = [place for place in places if place.exists()]
    assert found, f"there is no {places[0]}: run `make setup`"
    return str(found[0])


def environment(api: str, home: Path) -> dict[str, str]:
    """All that the CLI knows of the machine: where programs are, its home, and the scripted API."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "ANTHROPIC_BASE_URL": api,
        "ANTHROPIC_API_KEY": "dummy",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_AUTOUPDATER": "1",
    }
