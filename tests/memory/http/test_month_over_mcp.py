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
    result = await client.client.call_tool(
        "recall", {"user_message": asked}, meta={META_CONVERSATION: conversation}
    )
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
        assert "345 Euro" not in await client.text("search_memory", query=asked)


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


async def test_what_is_newest_of_a_matter_comes_first_and_a_day_has_its_times(
    server: Served, clock: Clock
) -> None:
    async with client_of(server, person="Lena") as lena:
        for number in ("0761 55501", "0761 88820", "0761 99990"):
            await lena.tell(f"Das Labor hat schon wieder eine neue Nummer: {number}.")
            clock.now += 1200
        told = await lena.text("recall", user_message="Welche Nummer hat das Labor?")
    newest, before, first = (
        "2026-11-16 12:40, Lena: ",
        "2026-11-16 12:20 (earlier), Lena: ",
        "2026-11-16 12:00 (earlier), Lena: ",
    )
    assert told.index(newest) < told.index(before) < told.index(first)
    assert " / " not in told


async def test_no_plan_that_was_moved_or_cancelled_is_ahead(server: Served, clock: Clock) -> None:
    async with client_of(server, person="Jonas") as jonas, client_of(server, person="Eva") as eva:
        for client, told in (
            (jonas, "Nächsten Donnerstag bin ich auf Fortbildung in Basel."),
            (jonas, "Die Fortbildung in Basel wurde abgesagt."),
            (eva, "Der Techniker von Kopp kommt am Freitag."),
            (eva, "Nein, der Techniker kommt doch nicht am Freitag, sondern erst am Samstag."),
            (eva, "Frau Okafor ist die neue Auszubildende, sie fängt am 1. Dezember an."),
            (jonas, "Frau Okafor fängt doch erst im Januar an."),
            (eva, "Am Donnerstag ist Elternabend in der Schule."),
        ):
            await client.tell(told)
            clock.now += 60
        snapshot = (await eva.json("get_context"))["snapshot"]
    ahead = snapshot.partition("### Ahead\n")[2].partition("###")[0].splitlines()
    assert [line.partition(": ")[2][:20] for line in ahead if line] == [
        "Am Donnerstag (2026-",
        "Nein, der Techniker ",
        "Frau Okafor fängt do",
    ]
    now = "\n".join(line.partition(" · before: ")[0] for line in snapshot.splitlines())
    assert "bin ich auf Fortbildung" not in now
    assert "· before: 2026-11-16, Eva: Frau Okafor ist die neue" in snapshot


async def test_as_of_a_day_is_what_was_so_then_as_dated_memories_tell(server: Served) -> None:
    asked = "Which foods must Anna avoid?"
    async with client_of(server) as client:
        dated = scene("Anna is allergic to peanuts", actors=["Anna"], when=["2026-01-02"])
        await client.json("update_notes", scenes=[dated])
        for day in ("2026-01-02", "2026-06-01", "2026-11-16"):
            assert "peanuts" in await client.text("recall", user_message=asked, as_of=day)
            assert "peanuts" in await client.text("search_memory", query=asked, as_of=day)
        assert "peanuts" not in await client.text("recall", user_message=asked, as_of="2026-01-01")
        await client.tell("Anna is allergic to kiwis.")
        then = await client.text("recall", user_message=asked, as_of="2026-11-15")
        assert "peanuts" in then
        assert "kiwis" not in then


async def test_the_history_of_a_shared_being_says_who_spoke(server: Served) -> None:
    said = "Ich habe am 5. Mai Geburtstag."
    async with client_of(server, person="Lena") as lena, client_of(server, person="Jonas") as jonas:
        for client in (lena, jonas):
            await client.tell(said)
        history = await jonas.text("search_history", query="5. Mai")
        assert f"user (Lena): {said}" in history
        assert f"user (Jonas): {said}" in history
    async with client_of(server) as nobody:
        await nobody.tell("Der Rasen ist gemäht.")
        assert "] user: Der Rasen" in await nobody.text("search_history", query="Rasen")


async def test_a_day_that_is_asked_for_brings_what_was_told_of_it(
    server: Served, clock: Clock
) -> None:
    async with client_of(server) as client:
        clock.now = moment("2026-11-14T10:00:00")
        await client.tell("Mum has moved into the dining room.")
        clock.now = moment("2026-11-15T10:00:00")
        await client.tell("The stairs are too steep for her.", "What happened last week?")
        clock.now = moment("2026-11-18T10:00:00")
        for asked in ("What happened on 14 November?", "Was war am 14. November los?"):
            told = await client.text("recall", user_message=asked)
            assert "2026-11-14: Mum has moved into the dining room." in told
        last_week = await client.text("recall", user_message="What happened last week?")
        assert "dining room" in last_week
        assert "2026-11-15: What happened last week?" not in last_week
        assert "No relevant" in await client.text("recall", user_message="What happened in June?")


async def test_a_reader_is_told_in_the_context_what_it_may_not_get_with_a_write_tool(
    server: Served,
) -> None:
    async with client_of(server) as client:
        entry = {"target": "knowledge", "key": "lab", "content": "The lab closes at four"}
        await client.json("update_memory", action="append", **entry)
        await client.json("update_notes", notes=["buy milk"])
    async with client_of(server, scope="read-only") as reader:
        snapshot = (await reader.json("get_context"))["snapshot"]
        assert "lab: The lab closes at four" in snapshot
        assert "buy milk" in snapshot
