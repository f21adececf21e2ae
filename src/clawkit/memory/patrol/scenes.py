"""Keeps a conversation: messages as history, each piece of what people say as a scene.

Rules annotate each piece, and a model, where there is one, says what it means; neither decides
whether it is kept. Messages and memories are written in one transaction: whoever is killed in
between finds the messages new the next time, and nothing is kept twice.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Sequence
from datetime import date
from functools import cache
from typing import TYPE_CHECKING
from uuid import uuid4

import msgspec

from clawkit.errors import ModelError
from clawkit.memory.model import DATA_ONLY, decoded
from clawkit.memory.patrol import PatrolContext
from clawkit.memory.patrol.new_memories import cleaned, remember, union
from clawkit.memory.patrol.transcript import (
    ConversationMessage,
    after_marker,
    as_history,
    is_said_anew,
    not_kept,
    own_words,
)
from clawkit.memory.patrol.vectors import ahead
from clawkit.memory.people import known
from clawkit.memory.records import USER, HistoryMessage, MemorySource, Note, Scene
from clawkit.memory.store import messages as stored
from clawkit.memory.store import notes
from clawkit.store.database import Unit, keepable
from clawkit.text.calendar.named_days import day_of, resolved
from clawkit.text.cues import only_asks
from clawkit.text.remarks import is_thanks, to_forget, told_beside_orders
from clawkit.text.tables import table, unbroken, word_lists
from clawkit.text.tokenizer import pieces, sentences, terms

if TYPE_CHECKING:
    from clawkit.memory.model import Llm

_LONGEST_MESSAGE = 100_000
_LONGEST_CONTEXT = 200
_TITLES = word_lists("names")["formal_titles"]
_RELATION = re.compile(
    r"\b(?:[Mm]y|[Oo]ur|[Mm]eine?|[Uu]nsere?|[Mm]on|[Mm]a|[Mm]i|[Mm]io|[Mm]ia|[Mm]eu|[Mm]inha) "
    r"(?:\w+ )?\w+(?:'s name is| is called| is named| named| called| heißt|,)? "
    rf"(?:(?i:{'|'.join(sorted(_TITLES))})\.? )*"
    r"([A-ZÀ-ÖØ-Þ][^\W\d_]+(?:-[^\W\d_]+)*)(?![\w-])"
)


_USUAL_IMPORTANCE = 0.5
_OF_QUESTIONS = 0.05
"""What only asks an assistant something fades with the next patrol."""


class ScenePiece(msgspec.Struct, frozen=True):
    """One piece of a message as a scene; `message` is the message's id."""

    scene: Scene
    message: str


def message_pieces(
    said: HistoryMessage,
    speaker: str,
    people: Collection[str],
    before: str = "",
    *,
    to_assistant: bool = False,
) -> list[ScenePiece]:
    """The pieces of one message, in their order; `before` is what was said before it.

    Of what was said `to_assistant`, those that tell something.
    """
    if said.role != "user":
        return []
    found: list[ScenePiece] = []
    day = day_of(said.at)
    for piece in pieces(own_words(said.text[:_LONGEST_MESSAGE])):
        if to_assistant and not (piece := what_tells(piece)):
            continue
        action, days = resolved(piece, day)
        scene = Scene(
            action=action,
            actors=_actors(piece, speaker, people),
            when=tuple(dict.fromkeys((day.isoformat(), *days))),
            importance=_OF_QUESTIONS if to_assistant and only_asks(piece) else importance(piece),
            context=ending_of(resolved(before, day)[0]),
        )
        found.append(ScenePiece(scene, said.id))
        before = piece
    return found


def importance(text: str) -> float:
    """Between 0 and 1: what changes a life or was asked to be kept weighs most."""
    found = (weight for weight, words in _weights() if words.search(text))
    return next(found, _USUAL_IMPORTANCE)


@cache
def _weights() -> list[tuple[float, re.Pattern[str]]]:
    weights = table("importance")["weights"]
    return [(one["weight"], re.compile(unbroken(one["words"]), re.IGNORECASE)) for one in weights]


def what_tells(piece: str) -> str:
    """What is to be remembered of what was said to an assistant: no thanks, no order to forget.

    The history has all of it. A question may tell something, and rules cannot be sure of that.
    """
    said = (part for one in sentences(piece) for part in told_beside_orders(one))
    return " ".join(one for one in said if not is_thanks(one) and to_forget(one) is None)


def ending_of(text: str) -> str:
    """The last sentence of what was said before, if it is no essay."""
    last = sentences(own_words(text[-4 * _LONGEST_CONTEXT :]))[-1:]
    return last[0][-_LONGEST_CONTEXT:] if last else ""


def _actors(text: str, speaker: str, people: Collection[str]) -> tuple[str, ...]:
    """Who takes part: the speaker, people who are known, and those who are introduced."""
    named = [name for name in sorted(people) if _names(name, text)]
    named += [match[1] for match in _RELATION.finditer(text)]
    return tuple(dict.fromkeys((speaker, *named)))


def _names(name: str, text: str) -> bool:
    if len(name) < 2 or name not in text:
        return False
    edge = r"\b" if name.isascii() else ""
    return re.search(f"{edge}{re.escape(name)}{edge}", text) is not None


MARKER = "patrol.marker"

_LONGEST_PART = 30_000
_LONGEST_MESSAGE_ASKED = 6_000
_LONGEST_FIELD = 2_000
_MOST_FOUND = 100
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
    """New memories of a conversation, and where the next patrol continues."""

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


class _FoundScenes(msgspec.Struct, frozen=True):
    scenes: list[msgspec.Raw]


def hear(
    run: PatrolContext,
    messages: Sequence[ConversationMessage],
    marker: str | None = None,
    *,
    to_assistant: bool = False,
) -> Heard:
    """Keep messages, and remember what people say in those that are new."""
    database, being, now, caller = run.database, run.being, run.now, run.caller
    conversation = keepable(caller.conversation)
    said = as_history(messages, conversation, now, caller.person)
    if marker is None:
        with database.read(being) as unit:
            if is_said_anew(unit, said, conversation, now):
                said = as_history(messages, conversation, now, caller.person, anew=True)
    speakers = {
        one.id: keepable(message.speaker) or caller.person or USER
        for one, message in zip(said, messages, strict=True)
    }
    after = after_marker(said, marker)
    with database.read(being) as unit:
        new = not_kept(unit, after)
        people = known(unit).names
        before = stored.last_before(unit, said[0], conversation, caller.token) if said else ""
    fresh = [one for one in after if one.id in new]
    found, by = extract(fresh, speakers, people, run.llm, before, to_assistant=to_assistant)
    notes_ = {fact: _note(fact, speakers, conversation, now, caller.token) for fact in found}
    scenes = [note.scene for note in notes_.values() if note.scene]
    embed = ahead(database, being, run.embedder, scenes, [*speakers.values()])
    with database.write(being) as unit:
        still = not_kept(unit, after)
        stored.add(unit, said, caller.token)
        kept = [note for fact, note in notes_.items() if fact.message in still]
        notes.add(unit, kept)
        made = remember(unit, kept, embed, now, caller.token)
        last = _marked(unit, said)
    return Heard(len(made), last if said else marker or last, by)


def extract(
    said: Sequence[HistoryMessage],
    speakers: dict[str, str],
    people: Collection[str],
    llm: Llm | None,
    before: str = "",
    *,
    to_assistant: bool = False,
) -> tuple[list[ScenePiece], str]:
    """The pieces of messages as scenes, and who annotated them: a model or rules."""
    found: list[ScenePiece] = []
    for one in said:
        found += message_pieces(one, speakers[one.id], people, before, to_assistant=to_assistant)
        before = one.text
    if not found:
        return found, "nothing new"
    if llm is not None:
        try:
            meant = _by_model(said, speakers, llm)
        except ModelError as error:
            _log.warning("what was said is annotated by rules: %s", error)
            meant = None
        if meant is not None:
            return _annotated(found, meant), "by model"
    return found, "by rules"


def _annotated(found: Sequence[ScenePiece], meant: Sequence[ScenePiece]) -> list[ScenePiece]:
    """The pieces with what a model says of them: each of its scenes at the piece it fits best."""
    by_piece: dict[int, list[Scene]] = {}
    for one in meant:
        words = terms(one.scene.action)
        places = [at for at, fact in enumerate(found) if fact.message == one.message]
        if places:
            best = max(places, key=lambda at: (terms(found[at].scene.action) & words).total())
            by_piece.setdefault(best, []).append(one.scene)
    return [
        msgspec.structs.replace(fact, scene=_annotate(fact.scene, by_piece.get(at, ())))
        for at, fact in enumerate(found)
    ]


def _annotate(scene: Scene, meant: Sequence[Scene]) -> Scene:
    if not meant:
        return scene
    return msgspec.structs.replace(
        scene,
        actors=union(scene.actors, *(one.actors for one in meant)),
        when=union(scene.when, *(one.when for one in meant)),
        setting=next((one.setting for one in meant if one.setting), scene.setting),
        feeling=next((one.feeling for one in meant if one.feeling), scene.feeling),
        themes=union(*(one.themes for one in meant)),
        importance=max(one.importance for one in meant),
        context=" ".join(one.action for one in meant)[:_LONGEST_FIELD],
    )


def _marked(unit: Unit, said: Sequence[HistoryMessage]) -> str:
    """Remember where this patrol ends; without messages, that is where the last one did."""
    known = unit.mark(MARKER)
    last = said[-1].id if said else known or str(uuid4())
    if last != known:
        unit.set_mark(MARKER, last)
    return last


def _note(
    fact: ScenePiece, speakers: dict[str, str], conversation: str, now: float, token: str
) -> Note:
    source = MemorySource(speakers[fact.message], token, conversation, fact.message)
    return Note(str(uuid4()), now, cleaned(fact.scene), "", source)


def _by_model(
    said: Sequence[HistoryMessage], speakers: dict[str, str], llm: Llm
) -> list[ScenePiece] | None:
    """What a model finds; None if it answers with something else than what was asked for."""
    found: list[ScenePiece] = []
    for part in _parts(said):
        lines = [_line(n, one, speakers[one.id]) for n, one in enumerate(part, 1)]
        answer = decoded(llm.complete(_ASKED, "\n".join(lines), _ANSWER_TOKENS), _FoundScenes)
        if answer is None:
            _log.warning("the model's answer about what was said is not the JSON asked for")
            return None
        usable = (_usable(raw) for raw in answer.scenes[:_MOST_FOUND])
        found += [_piece_found(one, part, speakers) for one in usable if one]
    return found


def _usable(raw: msgspec.Raw) -> _Found | None:
    """One scene of an answer; one that is not as asked for does not cost the others."""
    try:
        return msgspec.json.decode(raw, type=_Found, strict=False)
    except msgspec.MsgspecError:
        return None


def _parts(said: Sequence[HistoryMessage]) -> list[list[HistoryMessage]]:
    """The messages in batches that fit into one prompt."""
    parts: list[list[HistoryMessage]] = []
    size = _LONGEST_PART
    for one in said:
        length = min(len(one.text), _LONGEST_MESSAGE_ASKED)
        if size + length > _LONGEST_PART:
            parts.append([])
            size = 0
        parts[-1].append(one)
        size += length
    return parts


def _line(number: int, said: HistoryMessage, speaker: str) -> str:
    who = speaker if said.role == "user" else said.role
    text = own_words(said.text)[:_LONGEST_MESSAGE_ASKED].strip()
    line = {"n": number, "day": _day(said), "who": who, "text": text}
    return msgspec.json.encode(line).decode()


def _piece_found(found: _Found, part: list[HistoryMessage], speakers: dict[str, str]) -> ScenePiece:
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
    return ScenePiece(scene, origin.id)


def _day(said: HistoryMessage) -> str:
    return day_of(said.at).isoformat()


def _is_day(text: str) -> bool:
    try:
        return len(text) == len("2026-01-01") and bool(date.fromisoformat(text))
    except ValueError:
        return False
