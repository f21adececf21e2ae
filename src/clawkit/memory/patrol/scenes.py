"""Scenes from a conversation: by a model where there is one, by the form of sentences where not.

What is found becomes notes, in one transaction with the messages themselves: whoever is killed in
between finds the messages new the next time, and nothing is looked at twice.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from datetime import date
from typing import TYPE_CHECKING
from uuid import uuid4

import msgspec

from clawkit.errors import ModelError
from clawkit.memory.cleaning import keepable
from clawkit.memory.patrol.alike import Known, Seen
from clawkit.memory.patrol.answers import DATA_ONLY, decoded
from clawkit.memory.patrol.conversation import (
    Message,
    after_marker,
    numbered,
    own_words,
    unheard,
)
from clawkit.memory.patrol.dates import day_of
from clawkit.memory.patrol.remembering import cleaned, touch
from clawkit.memory.patrol.rules import Fact, facts
from clawkit.memory.records import Note, Said, Scene, Source
from clawkit.memory.store import marks, notes
from clawkit.memory.store import messages as stored
from clawkit.memory.store.database import Database, Unit

if TYPE_CHECKING:
    from clawkit.memory.model import Llm

NOBODY_NAMED = "user"
MARKER = "patrol.marker"

_LONGEST_PART = 30_000
_LONGEST_MESSAGE = 6_000
_LONGEST_FIELD = 2_000
_MOST_FOUND = 100
_MOST_COMPARED = 1_000
_BEFORE = -1
_ANSWER_TOKENS = 6_000
_log = logging.getLogger("clawkit.memory")
_ASKED = (
    "You take notes for an assistant that remembers. You get a part of a conversation, one JSON "
    "object a message, with its day. Write down what is worth knowing in later conversations: "
    "facts about people, preferences, events, plans, decisions. Neither small talk nor questions, "
    "nor what the assistant only explained. Each note stands for itself: names instead of "
    "pronouns, days as YYYY-MM-DD, in the language of the message. `message` is the number of the "
    "message it is from. "
    'Answer as {"scenes": [{"message": 1, "action": "...", "actors": ["..."], "when": '
    '["YYYY-MM-DD"], "setting": "", "feeling": "", "themes": ["..."], "importance": 0.5}]}; '
    '{"scenes": []} if there is nothing. ' + DATA_ONLY
)


class Heard(msgspec.Struct, frozen=True):
    """What a conversation brought: notes that are new, and where the next patrol goes on."""

    scenes: int = 0
    marker: str = ""
    by: str = "nothing new"


class _Found(msgspec.Struct, frozen=True):
    action: str
    message: int = 0
    actors: list[str] = []
    when: list[str] = []
    setting: str | None = ""
    feeling: str | None = ""
    themes: list[str] = []
    importance: float = 0.5


class _Answer(msgspec.Struct, frozen=True):
    scenes: list[msgspec.Raw]


def hear(
    database: Database,
    being: int,
    messages: Sequence[Message],
    *,
    llm: Llm | None,
    now: float,
    token: str,
    conversation: str = "",
    marker: str | None = None,
) -> Heard:
    """Keep messages, and note the scenes in those that are new."""
    conversation = keepable(conversation)
    said = numbered(messages, conversation, now)
    speakers = {
        one.id: keepable(message.speaker) or NOBODY_NAMED
        for one, message in zip(said, messages, strict=True)
    }
    after = after_marker(said, marker)
    with database.read(being) as unit:
        new = unheard(unit, after)
        people = marks.names(unit)
    found, by = extract([one for one in after if one.id in new], speakers, people, llm)
    with database.write(being) as unit:
        still = unheard(unit, after)
        stored.add(unit, said, token)
        fresh = [fact for fact in found if fact.message in still]
        count = _note(unit, fresh, speakers, conversation, now, token)
        last = _marked(unit, said)
    return Heard(count, last if said else marker or last, by)


def extract(
    said: Sequence[Said], speakers: dict[str, str], people: Collection[str], llm: Llm | None
) -> tuple[list[Fact], str]:
    """The scenes in messages, and how they were found: by a model or by rules."""
    if not said:
        return [], "nothing new"
    if llm is not None:
        try:
            found = _by_model(said, speakers, llm)
        except ModelError as error:
            _log.warning("scenes are found by rules: %s", error)
            found = None
        if found is not None:
            return found, "by model"
    by_rules = [fact for one in said for fact in facts(one, speakers[one.id], people)]
    return by_rules, "by rules"


def _marked(unit: Unit, said: Sequence[Said]) -> str:
    """Remember where this patrol ends; without messages, that is where the last one did."""
    known = marks.get(unit, MARKER)
    last = said[-1].id if said else known or str(uuid4())
    if last != known:
        marks.put(unit, MARKER, last)
    return last


def _note(
    unit: Unit,
    found: Sequence[Fact],
    speakers: dict[str, str],
    conversation: str,
    now: float,
    token: str,
) -> int:
    """Write down what is not known yet; what is known becomes more alive."""
    facts_ = [msgspec.structs.replace(fact, scene=cleaned(fact.scene)) for fact in found]
    known, seen = Known(unit, [fact.scene for fact in facts_]), Seen()
    new: list[Note] = []
    for note in notes.waiting(unit, "scene", _MOST_COMPARED):
        if note.scene:
            seen.place(note.scene, _BEFORE)
    for at, fact in enumerate(facts_):
        here = seen.place(fact.scene, at, any_day=not fact.dated) == at
        if not here or not fact.scene.action:
            continue
        old = known.find(fact.scene, conversation, any_day=not fact.dated)
        if old is not None:
            touch(unit, old, now)
            continue
        source = Source(speakers[fact.message], token, conversation)
        new.append(Note(str(uuid4()), now, fact.scene, "", source))
    notes.add(unit, new)
    return len(new)


def _by_model(said: Sequence[Said], speakers: dict[str, str], llm: Llm) -> list[Fact] | None:
    """What a model finds; None if it answers with something else than what was asked for."""
    found: list[Fact] = []
    for part in _parts(said):
        lines = [_line(n, one, speakers[one.id]) for n, one in enumerate(part, 1)]
        answer = decoded(llm.complete(_ASKED, "\n".join(lines), _ANSWER_TOKENS), _Answer)
        if answer is None:
            _log.warning("scenes are found by rules: the model's answer is not the JSON asked for")
            return None
        usable = (_usable(raw) for raw in answer.scenes[:_MOST_FOUND])
        found += [_fact(one, part, speakers) for one in usable if one]
    return found


def _usable(raw: msgspec.Raw) -> _Found | None:
    """One scene of an answer; one that is not as asked for does not cost the others."""
    try:
        return msgspec.json.decode(raw, type=_Found, strict=False)
    except msgspec.MsgspecError:
        return None


def _parts(said: Sequence[Said]) -> list[list[Said]]:
    """The messages in parts that a model can take."""
    parts: list[list[Said]] = []
    size = _LONGEST_PART
    for one in said:
        length = min(len(one.text), _LONGEST_MESSAGE)
        if size + length > _LONGEST_PART:
            parts.append([])
            size = 0
        parts[-1].append(one)
        size += length
    return parts


def _line(number: int, said: Said, speaker: str) -> str:
    who = speaker if said.role == "user" else said.role
    text = own_words(said.text)[:_LONGEST_MESSAGE].strip()
    line = {"n": number, "day": _day(said), "who": who, "text": text}
    return msgspec.json.encode(line).decode()


def _fact(found: _Found, part: list[Said], speakers: dict[str, str]) -> Fact:
    origin = part[found.message - 1] if 1 <= found.message <= len(part) else part[-1]
    days = tuple(day for day in found.when if _is_day(day))
    scene = Scene(
        action=found.action[:_LONGEST_FIELD],
        actors=tuple(name[:200] for name in found.actors[:20]) or (speakers[origin.id],),
        when=days or (_day(origin),),
        setting=(found.setting or "")[:_LONGEST_FIELD],
        feeling=(found.feeling or "")[:_LONGEST_FIELD],
        themes=tuple(theme[:200] for theme in found.themes[:20]),
        importance=found.importance,
    )
    return Fact(scene, bool(days) and days != (_day(origin),), origin.id)


def _day(said: Said) -> str:
    return day_of(said.at).isoformat()


def _is_day(text: str) -> bool:
    try:
        return len(text) == len("2026-01-01") and bool(date.fromisoformat(text))
    except ValueError:
        return False
