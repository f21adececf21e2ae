"""A store of memories that cannot be reached takes nothing else of the console away."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

from playwright.sync_api import Browser, expect

from clawkit.assistant.memory.place import MemoryPlace, opened
from clawkit.console.api import ENDS, _changes
from clawkit.guard.locations import policy_file
from clawkit.memory.tokens import Caller
from tests.console.browser import running_console, visiting
from tests.guard.guarded_server import guarded
from tests.memory import postgres
from tests.processes import PATIENCE

ASK = '[[rule]]\naction = "prompt"\ntool = "*"\n'


async def test_a_topic_that_waits_keeps_no_other_back() -> None:
    released, stopping = threading.Event(), asyncio.Event()
    topics = {"memory": lambda: released.wait(PATIENCE), "approvals": lambda: "asked"}
    stream = _changes(topics, stopping)
    try:
        first = await asyncio.wait_for(anext(stream), PATIENCE)
        assert b'"approvals"' in first
        assert not released.is_set()
        stopping.set()
        assert [each async for each in stream] == [ENDS]
    finally:
        released.set()
        await stream.aclose()


def test_calls_are_answered_and_the_console_ends_while_the_database_server_is_away(
    claw_home: Path, browser: Browser, tmp_path: Path
) -> None:
    assert claw_home.is_dir()
    policy_file().parent.mkdir(parents=True)
    policy_file().write_text(ASK)
    with postgres.server() as server, server.database() as address:
        with opened(MemoryPlace(address, "none")) as store:
            store.open(store.default()).remember("The boss is Renate", Caller())
        with (
            visiting(browser) as visitor,  # whose page is open when the console ends
            running_console(CLAW_STORE=address, CLAW_EMBEDDER="none") as console,
        ):
            page = visitor.open(console.link, "memory")
            expect(page.get_by_label("Memories", exact=True)).to_contain_text("The boss is Renate")
            server.stop()
            visitor.go("approvals")
            with guarded(tmp_path, ASK, "--name", "files") as guard:
                guard.initialize()
                asked = threading.Thread(target=guard.tool, args=("read_file", 1))
                asked.start()
                page.get_by_role("button", name="Allow once").click()
                asked.join(PATIENCE)
                assert not asked.is_alive()
                assert b"read_file" in b"".join(guard.heard())
            expect(page.locator("#connection")).to_have_text("Live")
        server.start()
