"""Conversations for the tests: a turn in a line, and real processes that hold turns."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

from clawkit.assistant.sessions.async_store import AsyncSessionStore, Turn
from clawkit.assistant.sessions.records import Saved
from clawkit.models.protocol import Image, Message, Part, Text, Usage
from tests.processes import PATIENCE

ROOT = Path(__file__).parents[3]


@asynccontextmanager
async def opened(file: Path, *, patience: float = PATIENCE) -> AsyncIterator[AsyncSessionStore]:
    sessions = AsyncSessionStore(file, patience=patience)
    try:
        yield sessions
    finally:
        await sessions.close()


def user(*parts: str | Part) -> Message:
    return Message("user", _parts(parts))


def assistant(*parts: str | Part) -> Message:
    return Message("assistant", _parts(parts))


def picture(data: bytes, name: str = "cat.png") -> Image:
    return Image(data, "image/png", name)


def _parts(parts: Sequence[str | Part]) -> tuple[Part, ...]:
    return tuple(Text(part) if isinstance(part, str) else part for part in parts)


async def keep(turn: Turn, *messages: Message | str, reason: str = "end") -> None:
    whole = [user(one) if isinstance(one, str) else one for one in messages]
    await turn.save(whole, usage=Usage(1, 2, 3), model="offline", reason=reason)


async def say(
    sessions: AsyncSessionStore,
    key: str,
    *messages: Message | str,
    named: bool = True,
    origin: str = "ask",
) -> None:
    """A whole turn in which this is said."""
    async with sessions.turn(key, origin=origin, named=named) as turn:
        await keep(turn, *messages)


def text_of(message: Message) -> str:
    return " ".join(part.text for part in message.parts if isinstance(part, Text))


def texts(saved: Sequence[Saved]) -> list[str]:
    return [text_of(one.message) for one in saved]


async def all_texts(sessions: AsyncSessionStore, key: str) -> list[str]:
    async with sessions.turn(key, origin="ask", named=True) as turn:
        return texts((await turn.history(10**9)).messages)


PREAMBLE = """
import asyncio, os, sys
from pathlib import Path
from clawkit.assistant.sessions.async_store import AsyncSessionStore
from tests.assistant.sessions.turns import *

def tell(word):
    print(word, flush=True)

file, arguments = Path(sys.argv[1]), sys.argv[2:]
"""


class Child:
    """A process that runs a script on a store, and tells where it is."""

    def __init__(self, script: str, file: Path, *arguments: str) -> None:
        self.process = subprocess.Popen(
            (sys.executable, "-c", PREAMBLE + script, str(file), *arguments),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )

    def says(self) -> str:
        """The next line that the script tells."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def reaches(self, word: str) -> None:
        """Wait until the script tells this."""
        line = self.says()
        if line != word:
            self.process.kill()
            raise AssertionError(f"expected {word!r}, got {line!r}: {self.process.communicate()}")

    def go_on(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=PATIENCE)

    def finishes(self) -> str:
        out, errors = self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == 0, errors
        return out


@contextmanager
def child(script: str, file: Path, *arguments: str) -> Iterator[Child]:
    started = Child(script, file, *arguments)
    try:
        yield started
    finally:
        with suppress(ValueError):  # its pipes may be closed already
            started.kill()
