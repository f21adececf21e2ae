from __future__ import annotations

import asyncio
import itertools
import random
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from clawkit.assistant.sessions import async_store
from clawkit.assistant.sessions.store import SessionStore
from tests.assistant.sessions.turns import all_texts, child, keep, opened, say, texts
from tests.processes import PATIENCE

APPEND = """
async def main():
    name, count, keys = arguments[0], int(arguments[1]), arguments[2].split(",")
    async with opened(file) as sessions:
        tell("begun")
        sys.stdin.readline()
        for number in range(count):
            for key in keys:
                async with sessions.turn(key, origin="mcp", named=True) as turn:
                    before = len((await turn.history(10**9)).messages)
                    await keep(turn, f"{name}-{number} after {before}")
asyncio.run(main())
"""

HOLD = """
async def main():
    async with opened(file) as sessions:
        async with sessions.turn("k", origin="mcp", named=True) as turn:
            tell("running")
            await asyncio.to_thread(sys.stdin.readline)
            await keep(turn, "held")
        tell("left")
asyncio.run(main())
"""

WAIT = """
async def main():
    async with opened(file) as sessions:
        line = sessions.turn("k", origin="mcp", named=True, on_wait=lambda n: tell(f"behind {n}"))
        async with line as turn:
            tell("running")
            await keep(turn, arguments[0])
asyncio.run(main())
"""

# Stands still with one of two messages written and the transaction open.
HALF = """
from clawkit.assistant.sessions import message_rows
whole = message_rows._add

def half(*values):
    whole(*values)
    tell("half")
    sys.stdin.readline()

async def main():
    async with opened(file) as sessions:
        await say(sessions, "k", "whole")
        message_rows._add = half
        await say(sessions, "k", "one", "two")
asyncio.run(main())
"""

# Writes until it is killed; each message comes with a picture, so that a turn has many rows.
FOREVER = """
async def main():
    async with opened(file) as sessions:
        for number in range(10**6):
            name = f"{arguments[0]}-{number}"
            cat = picture(os.urandom(3000), name)
            await say(sessions, "k", user(f"{name} asks", cat), assistant(f"{name} answers"))
            if not number:
                tell("begun")
asyncio.run(main())
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "data" / "sessions.db"


@pytest.mark.parametrize("count", [2, 4])
def test_processes_take_turns_in_one_session_and_lose_nothing(file: Path, count: int) -> None:
    each = 25
    with ExitStack() as stack:
        processes = [
            stack.enter_context(child(APPEND, file, f"p{number}", str(each), "k,other"))
            for number in range(count)
        ]
        for process in processes:
            process.reaches("begun")
        for process in processes:
            process.go_on()
        for process in processes:
            process.finishes()
    said = texts(SessionStore(file).show("k").messages)
    # Each turn saw everything that was said before it, and nothing came between.
    assert [line.rpartition(" after ")[2] for line in said] == [str(n) for n in range(len(said))]
    expected = {f"p{p}-{n}" for p, n in itertools.product(range(count), range(each))}
    assert {line.partition(" ")[0] for line in said} == expected
    assert len(said) == count * each
    assert SessionStore(file).check() == []


def test_turns_of_many_processes_run_in_the_order_of_arrival(file: Path) -> None:
    with ExitStack() as stack:
        line = [stack.enter_context(child(HOLD, file))]
        line[0].reaches("running")
        for number, name in enumerate(("first", "second", "third"), 1):
            line.append(stack.enter_context(child(WAIT, file, name)))
            line[-1].reaches(f"behind {number}")
        line[0].go_on()
        for process in line:
            process.finishes()
    said = texts(SessionStore(file).show("k").messages)
    assert said == ["held", "first", "second", "third"]


async def test_the_next_one_sees_for_itself_that_a_holder_was_killed(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(async_store, "_CALLED", 600.0)  # nobody is there to call
    with child(HOLD, file) as holder:
        await asyncio.to_thread(holder.reaches, "running")
        async with opened(file) as sessions:
            waits: list[int] = []

            def on_wait(ahead: int) -> None:
                waits.append(ahead)
                holder.kill()

            async with sessions.turn("k", origin="ask", named=True, on_wait=on_wait) as turn:
                assert (await turn.info()).last_reason == "lost"
                await keep(turn, "after")
            assert waits == [1]
            assert await all_texts(sessions, "k") == ["after"]
    assert SessionStore(file).check() == []


async def test_a_waiter_that_is_killed_holds_nobody_up(file: Path) -> None:
    async with opened(file) as sessions:
        async with sessions.turn("k", origin="ask", named=True) as turn:
            with child(WAIT, file, "never") as waiter:
                await asyncio.to_thread(waiter.reaches, "behind 1")
                behind = asyncio.create_task(say(sessions, "k", "behind"))
                await asyncio.sleep(0)
                waiter.kill()
                await keep(turn, "first")
        await behind
        assert await all_texts(sessions, "k") == ["first", "behind"]


def test_half_a_transaction_is_none(file: Path) -> None:
    with child(HALF, file) as victim:
        victim.reaches("half")
        victim.kill()
    store = SessionStore(file)
    assert texts(store.show("k").messages) == ["whole"]
    assert store.check() == []
    assert not store.show("k").info.running


async def test_the_store_goes_on_after_half_a_transaction(file: Path) -> None:
    async with opened(file) as sessions:
        with child(HALF, file) as victim:
            await asyncio.to_thread(victim.reaches, "half")
            victim.kill()
            await say(sessions, "k", "after")
        assert await all_texts(sessions, "k") == ["whole", "after"]


def test_whole_turns_or_none_when_processes_are_killed_at_any_moment(file: Path) -> None:
    chance = random.Random(3)
    for round_ in range(5):
        with (
            child(FOREVER, file, f"a{round_}") as one,
            child(FOREVER, file, f"b{round_}") as two,
        ):
            one.reaches("begun")
            two.reaches("begun")
            time.sleep(chance.random() * 0.1)  # any moment is what this is about
            one.kill()
            two.kill()
    store = SessionStore(file)
    said = texts(store.show("k").messages)
    assert [line.split()[1] for line in said] == ["asks", "answers"] * (len(said) // 2)
    names = [line.split()[0] for line in said]
    assert names[::2] == names[1::2]
    assert len(said) >= 20
    assert store.check() == []


def test_a_forked_child_does_not_keep_its_parent_alive(file: Path) -> None:
    fork = """
async def main():
    sessions = AsyncSessionStore(file)
    async with sessions.turn("k", origin="mcp", named=True):
        if os.fork() == 0:
            os.close(1); os.close(2)  # the pipes are the parent's
            os.read(0, 1)
            os._exit(0)
        tell("running")
        os.read(0, 1)
import warnings
warnings.simplefilter("ignore")
asyncio.run(main())
"""
    with child(fork, file) as parent:
        parent.reaches("running")
        assert SessionStore(file).show("k").info.running
        parent.process.kill()
        parent.process.wait()
        # The child lets go as soon as it runs, which may be a moment after its parent is gone.
        end = time.monotonic() + PATIENCE
        while SessionStore(file).show("k").info.running and time.monotonic() < end:
            time.sleep(0.01)
        assert not SessionStore(file).show("k").info.running
