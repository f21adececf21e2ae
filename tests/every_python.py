"""`make test-all`: the tests with every Python on this machine that Clawkit runs on."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

OLDEST = (3, 11)
VENVS = Path("build/pythons")
_NAME = re.compile(r"python(3(\.\d+)?)?")
_WHO = """
import json, platform, sys
installed = sys.prefix == sys.base_prefix
print(json.dumps([platform.python_version(), sys.version_info[:2], sys.executable, installed]))
"""


@dataclass(frozen=True)
class Interpreter:
    """A Python that is installed, not one of a virtual environment."""

    version: str
    program: Path


def places() -> Iterator[Path]:
    """The folders of programs: on PATH, the system's, and those of version managers."""
    yield from (Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder)
    yield from (Path("/usr/local/bin"), Path("/usr/bin"))
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from sorted(pyenv.glob("versions/*/bin"))
    yield from sorted(Path.home().glob(".local/share/uv/python/*/bin"))


def interpreters(folders: Iterable[Path]) -> list[Interpreter]:
    """Each version once, the oldest first."""
    found: dict[tuple[int, ...], Interpreter] = {}
    looked_at: set[Path] = set()
    for folder in folders:
        for program in sorted(folder.glob("python*")):
            real = program.resolve()
            if not _NAME.fullmatch(program.name) or real in looked_at:
                continue
            if known := _asked(program):
                # Not before: the link in a virtual environment is none, what it leads to may be.
                if _NAME.fullmatch(real.name):  # a version manager's own name stands for many
                    looked_at.add(real)
                key = tuple(int(part) for part in re.findall(r"\d+", known.version))
                found.setdefault(key, known)
    return [found[key] for key in sorted(found)]


def _asked(program: Path) -> Interpreter | None:
    """What it says of itself; None for what is none, too old, or a virtual environment's."""
    try:
        done = subprocess.run(
            (program, "-I", "-c", _WHO), capture_output=True, text=True, timeout=60, check=True
        )
        version, numbers, real, installed = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return Interpreter(version, Path(real)) if installed and tuple(numbers) >= OLDEST else None


def main() -> int:
    all_of_them = interpreters(places())
    names = ", ".join(f"{one.version} ({one.program})" for one in all_of_them)
    print(f"Python on this machine, {OLDEST[0]}.{OLDEST[1]} or newer: {names or 'none'}")  # noqa: T201
    outcomes = [(one.version, _outcome(one)) for one in all_of_them]
    for version, outcome in outcomes:
        print(f"  {version}: {outcome}")  # noqa: T201
    return 0 if outcomes and all(outcome == "passed" for _, outcome in outcomes) else 1


def _outcome(one: Interpreter) -> str:
    """A Python without venv, or a package without a wheel for it, is no test that failed."""
    for goal, otherwise in (("setup", "could not be set up, see above"), ("pytest", "failed")):
        command = ["make", f"PYTHON={one.program}", f"VENV={VENVS / one.version}", goal]
        print(f"\n{shlex.join(command)}", flush=True)  # noqa: T201
        if subprocess.run(command, check=False).returncode:
            return otherwise
    return "passed"


if __name__ == "__main__":
    sys.exit(main())
