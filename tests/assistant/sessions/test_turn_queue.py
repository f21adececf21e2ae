from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from clawkit.assistant.sessions import async_store
from clawkit.assistant.sessions.async_store import AsyncSessionStore
from clawkit.assistant.sessions.store import SessionStore
from tests.assistant.sessions.turns import all_texts, keep, opened, say


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "sessions.db"


@pytest.fixture
def nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is not called waits until the test's time is over."""
    monkeypatch.setattr(async_store, "_CALLED", 1000.0)
    monkeypatch.setattr(async_store, "_FIRST_LOOK", 1000.0)
    monkeypatch.setattr(async_store, "_LAST_LOOK", 1000.0)


class Line:
    """Turns in one session that last until they are told to end."""

    def __init__(self, sessions: AsyncSessionStore, key: str = "k") -> None:
        self._sessions = sessions
        self._key = key
        self.begun: list[str] = []
        self.waits: dict[str, list[int]] = {}
        self._ends: dict[str, asyncio.Event] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}

    async def enter(self, name: str) -> None:
        """Start a turn; comes back when it runs or is in line."""
        waits = self.waits[name] = []
        self._ends[name] = asyncio.Event()
        in_line = asyncio.Event()

        def on_wait(ahead: int) -> None:
            waits.append(ahead)
            in_line.set()

        async def work() -> None:
            turn = self._sessions.turn(self._key, origin="ask", named=True, on_wait=on_wait)
            async with turn as running:
                self.begun.append(name)
                in_line.set()
                await self._ends[name].wait()
                await keep(running, name)

        self.tasks[name] = asyncio.create_task(work())
        await in_line.wait()

    async def end(self, name: str) -> None:
        self._ends[name].set()
        await self.tasks[name]

    async def cancel(self, name: str) -> None:
        self.tasks[name].cancel()
        with pytest.raises(asyncio.CancelledError):
            await self.tasks[name]


@pytest.mark.usefixtures("nobody_looks")
async def test_turns_run_in_the_order_of_their_arrival_and_each_is_called(file: Path) -> None:
    async with opened(file) as sessions:
        line = Line(sessions)
        names = [f"t{number}" for number in range(12)]
        for name in names:
            await line.enter(name)
        assert line.begun == ["t0"]
        assert [line.waits[name][0] for name in names[1:]] == list(range(1, 12))
        for name in names:
            await line.end(name)
        assert line.begun == names
        assert await all_texts(sessions, "k") == names


@pytest.mark.usefixtures("nobody_looks")
async def test_another_user_of_the_store_in_this_process_is_called_too(file: Path) -> None:
    async with opened(file) as one, opened(file) as two:
        first, second = Line(one), Line(two)
        await first.enter("a")
        await second.enter("b")
        await first.enter("c")
        await first.end("a")
        await second.end("b")
        await first.end("c")
        assert await all_texts(two, "k") == ["a", "b", "c"]


@pytest.mark.usefixtures("nobody_looks")
async def test_one_who_gives_up_waiting_holds_nobody_up(file: Path) -> None:
    async with opened(file) as sessions:
        line = Line(sessions)
        for name in ("a", "b", "c", "d"):
            await line.enter(name)
        await line.cancel("b")
        await line.cancel("c")
        await line.end("a")
        await line.end("d")
        assert line.begun == ["a", "d"]
    assert SessionStore(file).show("k").info.turns == 2


@pytest.mark.usefixtures("nobody_looks")
async def test_one_who_gives_up_at_once_leaves_no_ticket(file: Path) -> None:
    """Cancelled before the thread has even written the ticket."""
    async with opened(file) as sessions:
        for _ in range(50):
            task = asyncio.create_task(say(sessions, "k", "never"))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        await say(sessions, "k", "but this")
        assert await all_texts(sessions, "k") == ["but this"]


@pytest.mark.usefixtures("nobody_looks")
async def test_a_cancelled_turn_lets_the_next_one_begin(file: Path) -> None:
    async with opened(file) as sessions:
        line = Line(sessions)
        await line.enter("a")
        await line.enter("b")
        await line.cancel("a")
        await line.end("b")
        assert await all_texts(sessions, "k") == ["b"]


@pytest.mark.usefixtures("nobody_looks")
async def test_closing_gives_up_what_runs_and_waits(file: Path) -> None:
    async with opened(file) as other:
        closing = AsyncSessionStore(file)
        line, behind = Line(closing), Line(other)
        await line.enter("runs")
        await line.enter("waits")
        await behind.enter("behind")
        await closing.close()
        await behind.end("behind")
        assert behind.begun == ["behind"]
        for task in line.tasks.values():
            task.cancel()
        await asyncio.gather(*line.tasks.values(), return_exceptions=True)
    assert SessionStore(file).show("k").info.last_reason == "end"


async def test_sessions_do_not_wait_for_one_another(file: Path) -> None:
    async with opened(file) as sessions:
        line = Line(sessions, "busy")
        await line.enter("a")
        await line.enter("b")
        await say(sessions, "free", "hello")
        assert await all_texts(sessions, "free") == ["hello"]
        await line.end("a")
        await line.end("b")


async def test_a_hundred_sessions_at_once(file: Path) -> None:
    async with opened(file) as sessions:

        async def talk(number: int) -> None:
            for round_ in range(3):
                async with sessions.turn(f"s{number}", origin="mcp", named=False) as turn:
                    found = await turn.history(1000)
                    assert len(found.messages) == round_
                    await keep(turn, f"{number}-{round_}")

        await asyncio.gather(*(talk(number) for number in range(100)))
        for number in (0, 42, 99):
            expected = [f"{number}-{round_}" for round_ in range(3)]
            assert await all_texts(sessions, f"s{number}") == expected
    assert len(SessionStore(file).list_sessions()) == 100


async def test_a_hundred_turns_in_one_session_at_once_lose_nothing(file: Path) -> None:
    async with opened(file) as sessions:
        names = [f"m{number}" for number in range(100)]
        await asyncio.gather(*(say(sessions, "k", name) for name in names))
        assert await all_texts(sessions, "k") == names


async def test_a_session_that_is_deleted_while_others_wait_in_it_begins_anew(file: Path) -> None:
    async with opened(file) as sessions:
        line = Line(sessions)
        await say(sessions, "k", "old")
        for name in ("runs", "waits"):
            await line.enter(name)
        assert SessionStore(file).delete("k")
        await line.end("runs")
        await line.end("waits")
        assert await all_texts(sessions, "k") == ["runs", "waits"]


async def test_an_error_in_on_wait_gives_the_ticket_back(file: Path) -> None:
    def broken(ahead: int) -> None:
        raise ZeroDivisionError(ahead)

    async with opened(file) as sessions:
        line = Line(sessions)
        await line.enter("a")
        with pytest.raises(ZeroDivisionError):
            async with sessions.turn("k", origin="ask", named=True, on_wait=broken):
                pass
        await line.enter("b")
        await line.end("a")
        await line.end("b")
