"""Patrols in real processes: killed with -9 at each of their transactions, and two at once."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from clawkit.memory.store import messages, notes
from tests.memory.patrol.killed import SAID
from tests.memory.patrol.minds import Mind, open_mind
from tests.processes import PATIENCE

_REPOSITORY = Path(__file__).parents[3]
_NOTES = 12


def _command(address: str, transaction: int, where: str) -> list[str]:
    program = [sys.executable, "-m", "tests.memory.patrol.killed"]
    return [*program, address, str(transaction), where]


def _patrol_until_killed(address: str, transaction: int, where: str) -> int:
    command = _command(address, transaction, where)
    return subprocess.run(command, cwd=_REPOSITORY, timeout=PATIENCE, check=False).returncode


def _is_whole(mind: Mind) -> None:
    """Every note that became a node has it, every node its words and its vector."""
    found = mind.nodes(ended=True)
    with mind.database.read(mind.being) as unit:
        taken = unit.rows("SELECT node FROM notes WHERE being = $being AND node IS NOT NULL")
        assert unit.vectors.missing("words", 1000) == []
    assert sorted(seq for (seq,) in taken) == [node.seq for node in found]


@pytest.mark.parametrize("where", ["before", "within"])
def test_a_killed_patrol_leaves_something_whole_and_the_next_goes_on(
    tmp_path: Path, where: str
) -> None:
    address = f"sqlite:{tmp_path / 'beings.db'}"
    mind = open_mind(address)
    mind.note(*(f"boat number {n} was painted" for n in range(_NOTES)))
    transaction = 1
    while _patrol_until_killed(address, transaction, where) == -signal.SIGKILL:
        _is_whole(mind)
        transaction += 1
        assert transaction < 20
    assert transaction > 5
    mind.patrol(*SAID)
    _is_whole(mind)
    actions = Counter(node.scene.action for node in mind.nodes())
    assert len(actions) == _NOTES + len(SAID)
    assert set(actions.values()) == {1}
    with mind.database.read(mind.being) as unit:
        assert notes.count(unit, "scene") == 0
        assert len(messages.search(unit, limit=50)) == len(SAID)
    mind.database.close()


def test_patrols_of_two_processes_make_no_note_two_nodes(tmp_path: Path) -> None:
    address = f"sqlite:{tmp_path / 'beings.db'}"
    mind = open_mind(address)
    mind.note(*(f"boat number {n} was painted" for n in range(200)))
    never = _command(address, 0, "never")
    both = [subprocess.Popen(never, cwd=_REPOSITORY) for _ in range(2)]
    assert [process.wait(PATIENCE) for process in both] == [0, 0]
    actions = Counter(node.scene.action for node in mind.nodes())
    assert len(actions) == 200 + len(SAID)
    assert set(actions.values()) == {1}
    _is_whole(mind)
    mind.database.close()
