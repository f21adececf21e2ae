"""After a patrol with a model: a day of the diary, and reflections for the next session."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import msgspec

from clawkit.memory.display_text import keepable
from clawkit.memory.patrol.model_answers import DATA_ONLY, decoded, listed
from clawkit.memory.records import Change, Entry
from clawkit.memory.store import entries, ledger, nodes
from clawkit.memory.store.database import Database, Unit
from clawkit.text.calendar import day_of

if TYPE_CHECKING:
    from clawkit.memory.model import Llm

DIARY = "diary"
REFLECTIONS = "reflections"

_MOST_NODES = 80
_MOST_REFLECTIONS = 3
_LONGEST = 2_000
_ANSWER_TOKENS = 1_500
_ASKED = (
    "You keep the diary of an assistant that remembers. You get what it has learned since the last "
    "entry, numbered. Write an entry of a few sentences about what happened, and up to three short "
    "reflections that will help it in the next session; none if nothing suggests one. Only what "
    "the memories say, in their language. "
    'Answer as {"diary": "...", "reflections": ["..."]}. ' + DATA_ONLY
)


class _Answer(msgspec.Struct, frozen=True):
    diary: str
    reflections: list[str] = []


def write_diary(
    database: Database, being: int, after: int, *, llm: Llm, now: float, token: str
) -> int:
    """Write about what was learned after the memory of this number; gives how many entries."""
    with database.read(being) as unit:
        new = nodes.page(unit, after=after, order="seq DESC", limit=_MOST_NODES)
    if not new:
        return 0
    lines = [node.text for node in reversed(new)]
    answer = decoded(llm.complete(_ASKED, listed(lines), _ANSWER_TOKENS), _Answer)
    if answer is None or not answer.diary.strip():
        return 0
    day = day_of(now).isoformat()
    made = [_entry(DIARY, day, answer.diary, now)]
    told = [text for text in answer.reflections if text.strip()][:_MOST_REFLECTIONS]
    made += [_entry(REFLECTIONS, day, text, now) for text in told]
    with database.write(being) as unit:
        _add(unit, made, now, token)
    return len(made)


def _entry(target: str, key: str, text: str, now: float) -> Entry:
    return Entry(str(uuid4()), target, key, keepable(text.strip())[:_LONGEST], now)


def _add(unit: Unit, made: list[Entry], now: float, token: str) -> None:
    changes: list[Change] = []
    for entry in made:
        entries.add(unit, entry, token)
        row = {
            "target": entry.target,
            "name": entry.key,
            "content": entry.content,
            "at": entry.at,
            "token": token,
            "data": "{}",
        }
        changes.append(Change("entries", entry.id, None, row))
    ledger.add(unit, now, "diary", "a patrol wrote the diary", token, changes)
