"""Pins that several processes read and change at once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from clawkit.guard.pins import Pins, pin_file
from tests.guard.test_pins import READ, WRITE, CheckedList, tool
from tests.processes import PATIENCE

SIFT = """
import json, sys
from pathlib import Path
from clawkit.guard.pins import Pins
directory, server, start, rounds = sys.argv[1:]
start, rounds = int(start), int(rounds)
pins = Pins(Path(directory), server)
sys.stdin.readline()
for number in range(start, start + rounds):
    name = f"tool-{number}"
    sifted = pins.check_list([{"name": name, "description": server}], first_page=False)
    assert [each["name"] for each in sifted.kept] == [name], sifted
    assert pins.quarantined(name) is None
"""


def sift_at_once(directory: Path, *jobs: tuple[str, int, int]) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", SIFT, str(directory), server, str(start), str(rounds)],
            stdin=subprocess.PIPE,
            text=True,
        )
        for server, start, rounds in jobs
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        process.communicate(timeout=PATIENCE)
        assert process.returncode == 0


def test_no_pin_is_lost_when_two_processes_sift_at_once(tmp_path: Path) -> None:
    sift_at_once(tmp_path, ("files", 0, 40), ("files", 1000, 40), ("web", 5000, 40))
    assert len(Pins(tmp_path, "files").tools()) == 80
    assert len(Pins(tmp_path, "web").tools()) == 40
    assert json.loads(pin_file(tmp_path, "files").read_text())["server"] == "files"


def test_what_one_accepts_all_others_know(tmp_path: Path) -> None:
    one, other = Pins(tmp_path, "files"), Pins(tmp_path, "files")
    one.check_list([READ, WRITE])
    changed = tool("read", "better")
    other.check_list([changed])
    assert one.quarantined("read") is not None
    Pins(tmp_path, "files").accept("read", changed)
    assert one.quarantined("read") is None
    assert other.quarantined("read") is None
    assert one.check_list([changed]) == CheckedList([changed])
    assert one.digest("read") == other.digest("read") != ""
