"""Vectors that are made up for: another model, none before, the real embedder."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
import pytest

from clawkit.errors import ProviderDownError
from clawkit.memory.embed.factory import embedder
from clawkit.memory.patrol.vectors import ahead, catch_up
from clawkit.memory.records import Scene
from clawkit.memory.store import clusters
from clawkit.store.arrays import Floats
from tests.memory.patrol.minds import Mind, WordEmbedder


def _counts(mind: Mind) -> dict[str, int]:
    with mind.database.read(mind.being) as unit:
        return unit.vectors.counts()


def _middles(mind: Mind, model: str) -> dict[int, Floats]:
    with mind.database.read(mind.being) as unit:
        return clusters.centroids(unit, model)


def test_another_model_gets_vectors_for_all_and_then_the_old_ones_go(mind: Mind) -> None:
    mind.remember(*(f"heron number {n}" for n in range(100)))
    other = WordEmbedder("other", dimensions=64)
    assert catch_up(mind.database, mind.being, other, batch=16) == 100
    assert _counts(mind) == {"other": 100}
    (middle,) = _middles(mind, "other").values()
    assert len(middle) == 64
    assert _middles(mind, "words") == {}


def test_there_is_nothing_to_do_twice(mind: Mind) -> None:
    mind.remember("saw a heron")
    assert mind.embedder
    before = mind.rows()
    assert catch_up(mind.database, mind.being, mind.embedder) == 0
    assert mind.rows() == before


def test_a_change_of_model_that_breaks_off_has_cost_nothing(mind: Mind) -> None:
    mind.remember(*(f"heron number {n}" for n in range(50)))

    class Breaking(WordEmbedder):
        left = 2

        def embed(self, texts: Sequence[str]) -> Floats:
            self.left -= 1
            if self.left < 0:
                raise ProviderDownError("other", "it is away")
            return super().embed(texts)

    breaking = Breaking("other")
    with pytest.raises(ProviderDownError):
        catch_up(mind.database, mind.being, breaking, batch=10)
    assert _counts(mind) == {"words": 50, "other": 20}
    assert len(_middles(mind, "words")) == 1
    breaking.left = 99
    assert catch_up(mind.database, mind.being, breaking, batch=10) == 30
    assert _counts(mind) == {"other": 50}


def test_what_is_remembered_meanwhile_gets_its_vector_too(mind: Mind) -> None:
    mind.remember(*(f"heron number {n}" for n in range(30)), embedder=None)
    threads = [
        threading.Thread(target=lambda: mind.remember("saw an owl", embedder=None)),
        *(
            threading.Thread(target=catch_up, args=(mind.database, mind.being, WordEmbedder(), 4))
            for _ in range(2)
        ),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    catch_up(mind.database, mind.being, WordEmbedder())
    assert _counts(mind) == {"words": 31}


def test_speakers_are_masked_before_embedding_and_others_are_not(mind: Mind) -> None:
    asked: list[str] = []

    class Listening(WordEmbedder):
        def embed(self, texts: Sequence[str]) -> Floats:
            asked.extend(texts)
            return super().embed(texts)

    mind.remember(Scene("Anna told Eva about Lisbon", ("Anna", "Eva")), embedder=Listening())
    assert asked == ["I told Eva about Lisbon"]


def test_vectors_made_ahead_are_not_made_again(mind: Mind) -> None:
    calls: list[int] = []

    class Counting(WordEmbedder):
        def embed(self, texts: Sequence[str]) -> Floats:
            calls.append(len(texts))
            return super().embed(texts)

    embed = ahead(mind.database, mind.being, Counting(), [Scene("heron"), Scene("owl")])
    assert embed is not None
    assert embed.make(["owl", "heron"]).shape == (2, 128)
    assert calls == [2]
    embed.make(["owl", "stork"])
    assert calls == [2, 1]


def test_with_the_real_embedder_new_memories_join_the_topics_they_are_about(mind: Mind) -> None:
    real = embedder()
    garden = ["planted tomatoes and beans behind the house", "watered the vegetable beds"]
    music = ["practised the cello sonata", "heard a string quartet at the town hall"]
    made = mind.remember(*garden, *music, embedder=real)
    mind.embedder = real  # pyright: ignore[reportAttributeAccessIssue]
    mind.topic("Garden", "Private", [node.seq for node in made[:2]])
    topic = mind.topic("Music", "Private", [node.seq for node in made[2:]])
    mind.note("rehearsed a violin sonata with the orchestra")
    mind.patrol(dry_run=True)
    with mind.database.read(mind.being) as unit:
        assert real is not None
        middles = clusters.centroids(unit, real.name)
        vector = real.embed(["rehearsed a violin sonata with the orchestra"])[0]
        near = {n: float(vector @ (m / np.linalg.norm(m))) for n, m in middles.items()}
    assert max(near, key=lambda n: near[n]) == topic
