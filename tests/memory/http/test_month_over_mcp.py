"""What a month with a Being asks of it: over MCP, on either store."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from clawkit.memory.being_store import BeingStore
from clawkit.memory.records import moment
from clawkit.memory.tokens import META_CONVERSATION
from clawkit.store.database import Database
from tests.memory.http.being_store import Clock
from tests.memory.http.served_beings import Served, served
from tests.memory.http.test_promises_over_mcp import Talker, client_of, scene, undo_newest


@pytest.fixture
def server(database: Database, clock: Clock) -> Iterator[Served]:
    """With the built-in embedder, on Monday, 16 November 2026."""
    clock.now = moment("2026-11-16T12:00:00")
    with served(BeingStore(database, clock=clock)) as found:
        yield found


async def recalled(client: Talker, asked: str, conversation: str) -> str:
    given = {"user_message": asked}
    meta = {META_CONVERSATION: conversation}
    result = await client.client.call_tool("recall", given, meta=meta)
    return result.content[0].text  # pyright: ignore[reportAttributeAccessIssue]


async def test_two_people_may_call_their_conversations_the_same(server: Served) -> None:
    asked = "Welche Nummer hat das Labor?"
    async with client_of(server, person="Lena") as lena, client_of(server, person="Jonas") as jonas:
        await lena.tell("Das Labor hat die Nummer 0761 55501.")
        assert "55501" in await recalled(lena, asked, "chat-1")
        assert "not told already" in await recalled(lena, asked, "chat-1")
        assert "55501" in await recalled(jonas, asked, "chat-1")


async def test_what_is_forgotten_takes_its_earlier_versions_with_it(server: Served) -> None:
    asked = "Wie hoch sind die Nebenkosten?"
    async with client_of(server) as client:
        await client.tell("Die Nebenkosten sind 340 Euro.")
        ids = [await client.id_of(asked)]
        for euros in (345, 350):
            await client.correct(ids[:1], f"Die Nebenkosten sind {euros} Euro.")
            ids.append(await client.id_of(asked))
            for old in ids:
                shown = await client.text("recall_memory", node_id=old)
                assert f"{euros} Euro" in shown
                assert shown.count("Euro") == 1
        await client.forget(ids[0])
        for old in ids:
            assert "Euro" not in await client.text("recall_memory", node_id=old)
        for day in ("2026-11-16T12:00:00Z", "2026-11-20"):
            assert "Euro" not in await client.text("recall", user_message=asked, as_of=day)
        undo_newest(server, "retracted")
        for old in ids:
            assert "350 Euro" in await client.text("recall_memory", node_id=old)
        assert "345" not in await client.text("search_memory", query=asked)


async def test_what_was_merged_is_forgotten_with_what_it_became(server: Served) -> None:
    async with client_of(server) as client:
        noted = await client.json(
            "update_notes", scenes=[scene("Rika has a kitten"), scene("The kitten is grey")]
        )
        ids = noted["node_ids"]
        await client.text("merge_nodes", node_ids=",".join(ids), summary="Rika has a grey kitten")
        await client.forget(await client.id_of("Rika's kitten"))
        for old in ids:
            assert "kitten" not in await client.text("recall_memory", node_id=old)
        undo_newest(server, "retracted")
        assert "grey kitten" in await client.text("recall", user_message="Rika's kitten")
