from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from clawkit.assistant.sessions import turn_queue

LIVE = """
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from clawkit.assistant.sessions.turn_queue import this_process
print(this_process(Path(sys.argv[1])), flush=True)
sys.stdin.readline()
"""


def live(directory: Path) -> tuple[subprocess.Popen[str], str]:
    process = subprocess.Popen(
        (sys.executable, "-c", LIVE, str(directory)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def test_a_process_is_alive_until_it_is_killed(tmp_path: Path) -> None:
    process, name = live(tmp_path / "owners")
    assert turn_queue.is_alive(tmp_path / "owners", name)
    process.kill()
    process.communicate()
    assert not turn_queue.is_alive(tmp_path / "owners", name)
    assert list((tmp_path / "owners").iterdir()) == []


def test_a_process_that_ends_leaves_no_file(tmp_path: Path) -> None:
    process, name = live(tmp_path / "owners")
    process.communicate("\n")
    assert process.returncode == 0
    assert list((tmp_path / "owners").iterdir()) == []
    assert not turn_queue.is_alive(tmp_path / "owners", name)


def test_this_process_is_alive_and_keeps_its_name(tmp_path: Path) -> None:
    name = turn_queue.this_process(tmp_path)
    assert turn_queue.this_process(tmp_path) == name
    assert turn_queue.is_alive(tmp_path, name)
    # Asked under another name of the directory, the lock itself answers.
    assert turn_queue.is_alive(tmp_path / "." / ".." / tmp_path.name, name)


def test_a_sweep_removes_the_dead_only(tmp_path: Path) -> None:
    place = tmp_path / "owners"
    mine = turn_queue.this_process(place)
    process, other = live(place)
    (place / "0123.lock").touch()
    (place / "4567.lock").touch()
    assert turn_queue.sweep(place) == 2
    assert {path.stem for path in place.iterdir()} == {mine, other}
    process.kill()
    process.communicate()


def test_a_name_that_was_taken_away_is_replaced(tmp_path: Path) -> None:
    name = turn_queue.this_process(tmp_path)
    (tmp_path / f"{name}.lock").unlink()
    again = turn_queue.this_process(tmp_path)
    assert again != name
    assert turn_queue.is_alive(tmp_path, again)


def test_many_that_start_and_sweep_at_once_all_live(tmp_path: Path) -> None:
    """Each start sweeps: none may take another's file between its making and its locking."""
    place = tmp_path / "owners"
    with ThreadPoolExecutor(8) as threads:
        started = list(threads.map(live, [place] * 8))
    assert all(turn_queue.is_alive(place, name) for _, name in started)
    for process, _ in started:
        process.communicate("\n")
    assert list(place.iterdir()) == []
