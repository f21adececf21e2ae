"""Secrets that a conversation tells apart from their names, on either store."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from clawkit.memory.being_store import BeingStore
from clawkit.memory.memory import Memory
from clawkit.memory.patrol.transcript import ConversationMessage
from clawkit.memory.tokens import Caller
from clawkit.store.database import Database

BEN = Caller(person="Ben")


@pytest.fixture
def memory(database: Database) -> Iterator[Memory]:
    store = BeingStore(database, "none")
    yield store.open(store.create("team"))
    store.close()


def kept(memory: Memory) -> str:
    """The messages as they are kept; memories are made of them."""
    return "\n".join(one.text for one in memory.history(limit=50))


@pytest.mark.parametrize(
    ("asked", "answered", "secret"),
    [
        ("What's the router password again?", "It's Tulip88", "Tulip88"),
        ("What's the router password again?", "Tulip88", "Tulip88"),
        ("Wie ist das WLAN-Passwort?", "Es ist Tulpe88, glaube ich", "Tulpe88"),
        ("Quel est le mot de passe du wifi ?", "C'est Tulipe88", "Tulipe88"),
        ("New wifi password", "Tulip88", "Tulip88"),
        ("And Mum's PIN?", "2290", "2290"),
    ],
)
@pytest.mark.parametrize("asking", ["user", "assistant"])
def test_the_answer_to_a_question_for_a_secret_is_not_kept(
    memory: Memory, asked: str, answered: str, secret: str, asking: str
) -> None:
    talk = [ConversationMessage(asking, asked), ConversationMessage("user", answered)]
    memory.patrol(BEN, talk)
    assert asked in kept(memory)
    assert secret not in kept(memory)


def test_an_answer_in_a_later_call_is_not_kept(memory: Memory) -> None:
    for said in ("What's the router password again?", "It's Tulip88"):
        memory.patrol(BEN, [ConversationMessage("user", said)])
    assert "Tulip88" not in kept(memory)


def test_what_is_said_after_a_question_for_a_secret_stays(memory: Memory) -> None:
    for said in ("What's the router password again?", "It's on the back of the FritzBox7590."):
        memory.patrol(BEN, [ConversationMessage("user", said)])
    assert "FritzBox7590" in kept(memory)
