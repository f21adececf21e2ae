"""❼: small topics join their neighbours or their root, and empty ones go."""

from __future__ import annotations

import pytest

from clawkit.memory.records import Scene
from tests.memory.patrol.minds import NOW, Mind, WordEmbedder


def _garden(mind: Mind) -> tuple[int, list[int]]:
    """A topic of four, and two further memories."""
    made = mind.remember(
        *(f"ripe red tomatoes in the garden bed {n}" for n in range(4)),
        "ripe red tomatoes in the garden shed",
        "an opera about a shipwreck",
    )
    topic = mind.topic("Garden", "Private", [node.seq for node in made[:4]])
    return topic, [node.seq for node in made[4:]]


def test_a_small_topic_joins_its_nearest_sibling(mind: Mind) -> None:
    garden, (shed, _) = _garden(mind)
    mind.topic("Shed", "Private", [shed])
    assert mind.patrol().steps["joined"] == 1
    assert "Shed" not in mind.clusters()
    assert mind.node(shed).cluster == garden


def test_a_small_topic_that_is_near_to_none_joins_its_root(mind: Mind) -> None:
    _, (_, opera) = _garden(mind)
    mind.topic("Opera", "Private", [opera])
    mind.patrol()
    assert mind.node(opera).cluster == mind.clusters()["Private"].n


def test_a_small_topic_does_not_join_a_topic_of_the_other_root(mind: Mind) -> None:
    _, (shed, _) = _garden(mind)
    mind.topic("Shed", "Business", [shed])
    mind.patrol()
    assert mind.node(shed).cluster == mind.clusters()["Business"].n


@pytest.mark.parametrize(("size", "stays"), [(2, False), (3, True)])
def test_two_active_memories_are_too_few_for_a_topic(mind: Mind, size: int, stays: bool) -> None:
    made = mind.remember(*(f"heron number {n}" for n in range(5)))
    mind.topic("Herons", "Private", [node.seq for node in made[:size]])
    mind.patrol()
    assert ("Herons" in mind.clusters()) is stays


def test_only_active_memories_count_but_all_of_them_move(mind: Mind) -> None:
    made = mind.remember(*(f"heron number {n}" for n in range(5)))
    mind.topic("Herons", "Private", [node.seq for node in made])
    for node in made[:3]:
        mind.forget(node.seq, status="dead")
    mind.change(made[0].seq, ended=NOW, ending="retracted")
    mind.patrol()
    root = mind.clusters()["Private"].n
    assert {node.cluster for node in mind.nodes(ended=True)} == {root}


def test_an_empty_topic_goes_and_an_empty_root_stays(mind: Mind) -> None:
    mind.remember("saw a heron")
    mind.topic("Nothing", "Business", [])
    mind.patrol()
    assert set(mind.clusters()) == {"Private", "Business"}


@pytest.mark.parametrize(("shared", "joins"), [(10, True), (8, False)])
def test_a_topic_joins_a_sibling_above_a_cosine_of_045(
    mind: Mind, shared: int, joins: bool
) -> None:
    mind.embedder = WordEmbedder(dimensions=1 << 16)
    words = [f"wordone{n}" for n in range(20)]
    other = words[:shared] + [f"wordtwo{n}" for n in range(20 - shared)]
    same = [Scene(" ".join(words), (), (f"2026-01-0{n}",)) for n in range(1, 5)]
    made = mind.remember(*same, Scene(" ".join(other)))
    large = mind.topic("Large", "Private", [node.seq for node in made[:4]])
    mind.topic("Small", "Private", [made[4].seq])
    mind.patrol()
    assert (mind.node(made[4].seq).cluster == large) is joins


def test_without_vectors_small_topics_join_their_root(mind: Mind) -> None:
    _, (shed, _) = _garden(mind)
    mind.topic("Shed", "Private", [shed])
    mind.patrol(embedder=None)
    assert mind.node(shed).cluster == mind.clusters()["Private"].n
