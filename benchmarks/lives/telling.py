"""Tells a life to a Being, day by day, and asks it: through the same object as every door."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from benchmarks.lives.life import Input, Life, Question, is_told
from clawkit.memory.being_store import BeingStore
from clawkit.memory.memory import Memory
from clawkit.memory.patrol.transcript import ConversationMessage
from clawkit.memory.records import Scene
from clawkit.memory.tokens import Caller
from clawkit.store.sqlite import SqliteDatabase


class Asked(msgspec.Struct, frozen=True):
    """What came of one question."""

    question: Question
    block: str
    told: bool
    outdated: bool
    """Whether only what is no longer so was told."""

    confidence: float


@contextmanager
def told(life: Life, *, conversations: bool = True) -> Iterator[Memory]:
    """A Being that was told a life, and is asked on the day of its questions."""
    with told_store(life, conversations=conversations) as store:
        yield store.open(store.called(life.name))


@contextmanager
def told_store(life: Life, *, conversations: bool = True) -> Iterator[BeingStore]:
    """The store of a Being that was told a life."""
    now = [life.inputs[0].moment]
    with TemporaryDirectory() as folder:
        store = BeingStore(SqliteDatabase(Path(folder) / "beings.db"), clock=lambda: now[0])
        try:
            memory = store.open(store.create(life.name))
            for (kind, speaker, name), group in groupby(life.inputs, _sitting):
                given = list(group)
                now[0] = given[-1].moment
                caller = Caller(conversation=name if conversations else "", person=speaker)
                _tell(memory, caller, kind, given)
                store.worker.work_off()
            now[0] = life.now
            memory.patrol(Caller())
            yield store
        finally:
            store.close()


def asked(memory: Memory, question: Question) -> Asked:
    """Ask one question; what was asked leaves no trace in a conversation."""
    found = memory.recall(question.text, Caller(person=question.by))
    answered = is_told(found.text, question.accept)
    outdated = not answered and is_told(found.text, question.outdated)
    confidence = memory.search(question.text, Caller(person=question.by), explain=True).confidence
    return Asked(question, found.text, answered, outdated, confidence)


def knows(memory: Memory, life: Life) -> list[bool]:
    """Which of the most important facts a session begins with."""
    context = memory.context()
    text = json.dumps([context["system_prompt"], context["snapshot"]], ensure_ascii=False)
    return [is_told(text, accept) for accept in life.important]


def _sitting(given: Input) -> tuple[str, str, str]:
    return given.kind, given.speaker, given.conversation


def _tell(memory: Memory, caller: Caller, kind: str, given: list[Input]) -> None:
    if kind == "note":
        scenes = [Scene(one.text, one.actors, _days(one)) for one in given]
        memory.take_notes(caller, scenes=scenes)
    else:
        memory.patrol(caller, [ConversationMessage("user", one.text, one.moment) for one in given])


def _days(note: Input) -> tuple[str, ...]:
    whole = tuple(day for day in note.when if len(day) == len("2026-01-01"))
    return whole or (note.at[: len("2026-01-01")],)
