"""Health: what `claw doctor` says, and its repairs.

It runs as a process of its own: it loads the person's own tools, which may do anything.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from contextlib import ExitStack

import msgspec
from msgspec import Struct

from clawkit.console.api import ApiError, ConsolePage, get, post
from clawkit.errors import UNREADABLE_JSON

_PATIENCE = 300.0
_COMMAND = (sys.executable, "-m", "clawkit", "doctor", "--json")
_LAST_LINES = 2000


class Examination(Struct, frozen=True):
    """How thorough it is: `deep` asks the model and the servers, too."""

    deep: bool = False


class ShownCheck(Struct, frozen=True):
    """How one thing stands, what to do about it, and what was just done."""

    name: str
    state: str
    detail: str
    hint: str = ""
    fixed: str = ""


class Diagnosis(Struct, frozen=True):
    """All checks; `ok` if none of them found a problem."""

    ok: bool
    checks: tuple[ShownCheck, ...]


def page(_: ExitStack) -> ConsolePage:
    doctor = Doctor()
    return ConsolePage(
        routes=(
            get("/api/health/checks", Examination, doctor.examine),
            post("/api/health/fix", Examination, doctor.fix),
        )
    )


class Doctor:
    """`claw doctor`, one at a time: two of them would repair the same thing."""

    def __init__(self) -> None:
        self._turn = threading.Lock()

    def examine(self, how: Examination) -> Diagnosis:
        return self._run(how)

    def fix(self, how: Examination) -> Diagnosis:
        return self._run(how, "--fix")

    def _run(self, how: Examination, *options: str) -> Diagnosis:
        deep = ("--deep",) if how.deep else ()
        with self._turn:
            try:
                done = subprocess.run(
                    (*_COMMAND, *options, *deep),
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=_PATIENCE,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                raise ApiError(f"`claw doctor` took longer than {_PATIENCE:g} s", 504) from None
        try:
            return msgspec.json.decode(done.stdout, type=Diagnosis)
        except UNREADABLE_JSON:
            said = done.stderr.decode(errors="replace")[-_LAST_LINES:].strip()
            raise ApiError(f"`claw doctor` failed: {said or done.returncode}", 500) from None
