"""Programs that stand for a CLI at fault: they say their version, and then go wrong."""

from __future__ import annotations

import sys
from pathlib import Path

_START = f"""#!{sys.executable}
import json, os, signal, sys, time
if "--version" in sys.argv:
    print("VERSION (Claude Code)")
    sys.exit()
def say(message):
    print(json.dumps(message), flush=True)
def answer(request, **response):
    number = request["request_id"]
    say({{"type": "control_response", "response": {{"request_id": number, **response}}}})
def heard():
    return json.loads(sys.stdin.readline())
def initialize(**said):
    answer(heard(), subtype="success", response={{"models": [], **said}})
"""


def fake_cli(folder: Path, script: str, version: str = "2.1.325") -> str:
    """A CLI that does what the script says once it is started."""
    program = folder / "claude"
    program.write_text(_START.replace("VERSION", version) + script)
    program.chmod(0o755)
    return str(program)
