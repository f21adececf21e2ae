"""Asking changes no answer: what only asks is kept and weighs nothing among what tells."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from clawkit.memory.being_store import BeingStore
from clawkit.memory.intake import listen
from clawkit.memory.memory import Memory
from clawkit.memory.patrol.transcript import ConversationMessage
from clawkit.memory.store import clusters
from clawkit.memory.tokens import Caller
from clawkit.store import open_store
from tests.memory.http.being_store import Clock

TOLD = (
    "My granddaughter Poppy got into Plymouth to do marine biology.",
    "The new boiler man is young Lee Tranter, 07700 900456.",
    "Wilf lives in Alderbank now, the home by the river.",
    "Brenda at number nine has the spare key.",
    "I take losartan in the morning, one tablet.",
    "My eye appointment is on 15 December.",
    "Alison is Poppy's mother and teaches in Leeds.",
    "The coal comes on Thursdays.",
    "Biscuit's tablets are only once a day.",
    "Harold kept the lighthouse until he retired.",
    "Jean has gone to live with her son in Canada.",
    "The chemist on Mill Street closes at five.",
)
QUESTIONS = (
    "Who repairs my boiler?",
    "Where does Poppy study?",
    "Where does Wilf live?",
    "Who has my spare key?",
    "When is my eye appointment?",
)


@pytest.fixture
def store(address: str, clock: Clock) -> Iterator[BeingStore]:
    store = BeingStore(open_store(address), clock=clock)
    yield store
    store.close()


def said(store: BeingStore, memory: Memory, *texts: str) -> None:
    for text in texts:
        message = ConversationMessage("user", text, store.clock())
        listen(store, memory.being, [message], Caller(), memory.secret_filter())
    store.worker.work_off()


def test_whoever_asks_again_is_told_the_same(store: BeingStore) -> None:
    memory = store.open(store.create("life"))
    said(store, memory, *TOLD)
    before = [memory.recall(question, Caller()).text for question in QUESTIONS]
    assert all("<memory-recall>" in text for text in before)
    for _ in range(8):
        said(store, memory, *QUESTIONS)
    memory.patrol(Caller())
    assert [memory.recall(question, Caller()).text for question in QUESTIONS] == before


def test_questions_describe_no_topic_and_are_found_by_search(store: BeingStore) -> None:
    memory = store.open(store.create("life"))
    said(store, memory, *TOLD, *QUESTIONS * 3)
    memory.patrol(Caller())
    with store.database.read(memory.being.n) as unit:
        digests = " ".join(cluster.digest for cluster in clusters.every(unit))
    assert "Poppy" in digests
    assert "?" not in digests
    found = [hit.node.scene.action for hit in memory.search("Who repairs my boiler?").hits]
    assert "Who repairs my boiler?" in found
