from __future__ import annotations

from typing import Any

import pytest

from clawkit.errors import StoreError
from clawkit.memory import relationships
from clawkit.memory.being_store import BeingStore
from clawkit.memory.records import Being
from clawkit.wire.server import ServerCore
from tests.memory.tools.being_client import BeingClient

HELLO = {"target": "party_message", "action": "append", "content": "Hello from Hana", "to": "Sora"}


@pytest.fixture
def hana(server: ServerCore, being: Being) -> BeingClient:
    return BeingClient(server, being)


@pytest.fixture
def friend(store: BeingStore) -> Being:
    return store.create("Sora")


@pytest.fixture
def sora(server: ServerCore, friend: Being) -> BeingClient:
    return BeingClient(server, friend)


async def know(client: BeingClient, name: str, content: str) -> None:
    await client.call(
        "update_relation", entity_name=name, relation_type="ai", content=content, action="upsert"
    )


async def messages(client: BeingClient) -> list[dict[str, Any]]:
    answer = await client.json("update_memory", target="party_message", action="get")
    return answer["entries"]


async def test_a_message_needs_a_recipient(hana: BeingClient) -> None:
    text = await hana.error(
        "update_memory", target="party_message", action="append", content="Hello"
    )
    assert "to" in text


async def test_beings_that_know_each_other_by_id_reach_each_other(
    hana: BeingClient, sora: BeingClient, being: Being, friend: Being
) -> None:
    await know(hana, "Sora", f"my sister, {friend.id}, messages: yes")
    await know(sora, "Hana", f"my sister, {being.id}. Messages: Yes")
    answer = await hana.json("update_memory", **HELLO)
    assert answer["delivered"] is True
    (sent,) = await messages(hana)
    assert sent["to"] == "Sora"
    (got,) = await messages(sora)
    assert (got["from"], got["from_id"], got["content"]) == ("Hana", being.id, "Hello from Hana")
    assert "from Hana" in (await sora.json("get_context"))["snapshot"]
    assert "Hello from Hana" not in (await hana.json("get_context"))["snapshot"]


async def test_the_same_words_can_be_sent_twice(
    hana: BeingClient, sora: BeingClient, being: Being, friend: Being
) -> None:
    await know(hana, "Sora", f"{friend.id} messages: yes")
    await know(sora, "Hana", f"{being.id} messages: yes")
    await hana.call("update_memory", **HELLO)
    await hana.call("update_memory", **HELLO)
    assert len(await messages(sora)) == 2


async def test_nobody_writes_into_the_memory_of_a_stranger(
    hana: BeingClient, sora: BeingClient, friend: Being
) -> None:
    await know(hana, "Sora", f"{friend.id} messages: yes")
    await know(sora, "Hana", "my sister, whose id I do not know; messages: yes")
    assert (await hana.json("update_memory", **HELLO))["delivered"] is False
    assert await messages(sora) == []
    assert len(await messages(hana)) == 1


async def test_a_being_of_almost_the_same_name_is_a_stranger(
    store: BeingStore, server: ServerCore, sora: BeingClient, being: Being, friend: Being
) -> None:
    await know(sora, "Hana", f"{being.id} messages: yes")
    impostor = BeingClient(server, store.create("Hanna"))
    await know(impostor, "Sora", f"{friend.id} messages: yes")
    assert (await impostor.json("update_memory", **HELLO))["delivered"] is False
    assert await messages(sora) == []


async def test_a_being_that_is_not_there_looks_like_one_that_does_not_listen(
    hana: BeingClient, friend: Being
) -> None:
    await know(hana, "Sora", f"{friend.id} messages: yes")
    await know(hana, "Nobody", "00000000-0000-4000-8000-000000000000 messages: yes")
    silent = await hana.json("update_memory", **HELLO)
    missing = await hana.json("update_memory", **{**HELLO, "to": "Nobody"})
    unknown = await hana.json("update_memory", **{**HELLO, "to": "Somebody"})
    assert silent["delivered"] is missing["delivered"] is unknown["delivered"] is False
    assert silent.keys() == missing.keys() == unknown.keys()


@pytest.mark.parametrize(
    ("of_hana", "of_sora"),
    [
        ("", ""),
        ("messages: yes", ""),
        ("", "messages: yes"),
        ("messages: yes", "she sends messages, yes"),
        ("messages: yes", "messages: no"),
        ("messages: no", "messages: yes"),
        ("messages: yes", "messages: yes, on Sundays messages: no"),
    ],
)
async def test_a_relationship_is_consent_only_if_both_say_so(
    hana: BeingClient, sora: BeingClient, being: Being, friend: Being, of_hana: str, of_sora: str
) -> None:
    await know(hana, "Sora", f"my sister {friend.id} {of_hana}")
    await know(sora, "Hana", f"my sister {being.id} {of_sora}")
    answer = await hana.json("update_memory", **HELLO)
    assert answer["delivered"] is False
    assert "`messages: yes`" in answer["why"]
    assert await messages(sora) == []


async def test_consent_ends_with_a_relationship_that_takes_it_back(
    hana: BeingClient, sora: BeingClient, being: Being, friend: Being
) -> None:
    await know(hana, "Sora", f"{friend.id} messages: yes")
    await know(sora, "Hana", f"{being.id} messages: yes")
    assert (await hana.json("update_memory", **HELLO))["delivered"] is True
    await know(sora, "a pest", f"{being.id} messages: no")
    assert (await hana.json("update_memory", **HELLO))["delivered"] is False


async def test_a_message_that_cannot_be_delivered_now_is_still_kept(
    hana: BeingClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> bool:
        raise StoreError("the disk is full")

    monkeypatch.setattr(relationships, "deliver", away)
    sent = await hana.json("update_memory", **HELLO)
    assert (sent["status"], sent["delivered"]) == ("ok", False)
    kept = await hana.json("update_memory", target="party_message", action="get")
    assert [entry["content"] for entry in kept["entries"]] == ["Hello from Hana"]
