from __future__ import annotations

import pytest

from clawkit.errors import BeingError
from clawkit.memory.patrol.replacement import merge, retract, supersede
from clawkit.memory.patrol.vectors import Embed
from clawkit.memory.records import Node, Scene
from clawkit.memory.store import clusters, nodes
from clawkit.text.tokenizer import terms
from tests.memory.patrol.minds import NOW, TODAY, Mind


def _three(mind: Mind) -> list[Node]:
    return mind.remember(
        Scene(
            "met Ben at the station", ("Ben",), ("2026-03-02",), "station", "glad", ("trips",), 0.5
        ),
        Scene("had lunch with Ben", ("Ben", "Eva"), ("2026-03-01",), "", "", ("food",), 0.9),
        Scene("bought a blue kite", ("Eva",), ("2026-04-01",)),
    )


def _merge(mind: Mind, merged: list[Node], **options: object) -> Node:
    assert mind.embedder
    with mind.database.write(mind.being) as unit:
        return merge(
            unit,
            merged,
            "a day with Ben: the station, then lunch",
            now=NOW + 5,
            token="token-2",
            embed=Embed("words", mind.embedder.embed),
            **options,  # pyright: ignore[reportArgumentType]
        )


def test_merged_memories_end_and_have_one_successor(mind: Mind) -> None:
    one, two, three = _three(mind)
    new = _merge(mind, [one, two])
    for old in (mind.node(one.seq), mind.node(two.seq)):
        assert (old.ended, old.ending, old.successor) == (NOW + 5, "merged", new.seq)
        assert old.scene in (one.scene, two.scene)
    assert mind.node(three.seq).ended is None
    assert [node.seq for node in mind.nodes()] == [three.seq, new.seq]


def test_the_merged_memory_keeps_the_dates_people_and_themes_of_all(mind: Mind) -> None:
    one, two, _ = _three(mind)
    scene = _merge(mind, [one, two]).scene
    assert scene.when == ("2026-03-01", "2026-03-02")
    assert scene.actors == ("Ben", "Eva")
    assert scene.themes == ("trips", "food")
    assert (scene.setting, scene.feeling) == ("station", "glad")


def test_the_merged_memory_is_five_hundredths_more_important_but_never_above_one(
    mind: Mind,
) -> None:
    one, two, three = _three(mind)
    new = _merge(mind, [one, two])
    assert new.scene.importance == pytest.approx(0.95)
    newer = _merge(mind, [new, three])
    assert newer.scene.importance == 1.0


def test_the_merged_memory_is_found_by_its_words_and_vector(mind: Mind) -> None:
    one, two, _ = _three(mind)
    new = _merge(mind, [one, two], feeling="tired")
    assert new.scene.feeling == "tired"
    with mind.database.read(mind.being) as unit:
        assert new.seq in nodes.having_all(unit, list(terms("lunch tired")))
        assert new.seq in unit.vectors.fetch("words", [new.seq])


def test_a_merge_moves_the_middle_of_the_cluster(mind: Mind) -> None:
    one, two, three = _three(mind)
    new = _merge(mind, [one, two])
    with mind.database.read(mind.being) as unit:
        vectors = unit.vectors.fetch("words", [new.seq, three.seq])
        middle = clusters.centroids(unit, "words")[new.cluster]
    assert abs(middle - sum(vectors.values()) / 2).max() < 1e-6


def test_what_was_known_before_a_merge_can_still_be_asked(mind: Mind) -> None:
    one, two, _ = _three(mind)
    new = _merge(mind, [one, two])
    with mind.database.read(mind.being) as unit:
        assert nodes.hidden(unit).tolist() == [one.seq, two.seq]
        assert nodes.hidden(unit, NOW + 1).tolist() == [new.seq]


def test_a_pinned_memory_stays_pinned_when_merged(mind: Mind) -> None:
    one, two, _ = _three(mind)
    mind.change(one.seq, pinned=1)
    assert _merge(mind, [one, two]).pinned


def test_to_merge_takes_two_that_are_current(mind: Mind) -> None:
    one, two, three = _three(mind)
    with pytest.raises(BeingError, match="at least two different"):
        _merge(mind, [one, one])
    _merge(mind, [one, two])
    with pytest.raises(BeingError, match=f"{one.id} is merged already"):
        _merge(mind, [one, three])
    assert len(mind.nodes()) == 2


def test_a_superseded_memory_gives_way_to_what_is_so_now(mind: Mind) -> None:
    (old,) = mind.remember(Scene("Ben lives in Lisbon", ("Ben",), ("2026-01-01",)))
    with mind.database.write(mind.being) as unit:
        new = supersede(
            unit, old, Scene("Ben lives in Porto", ("Ben",), (TODAY,)), now=NOW + 5, token="t"
        )
    ended = mind.node(old.seq)
    assert (ended.ending, ended.successor, ended.ended) == ("superseded", new.seq, NOW + 5)
    assert new.source.speaker == "Anna"
    assert new.cluster == old.cluster
    assert old.scene == ended.scene


def test_a_retracted_memory_is_hidden_and_stays_in_the_store(mind: Mind) -> None:
    one, two, _ = _three(mind)
    with mind.database.write(mind.being) as unit:
        retract(unit, [one, two], now=NOW + 5, token="t", why="it was a joke")
    assert [node.ending for node in mind.nodes(ended=True)] == ["retracted", "retracted", ""]
    assert mind.history()[-1].why == "it was a joke"


def test_a_clock_that_went_back_ends_nothing_before_it_began(mind: Mind) -> None:
    one, two, _ = _three(mind)
    with mind.database.write(mind.being) as unit:
        new = merge(unit, [one, two], "a day with Ben", now=NOW - 3600, token="t")
    ended = mind.node(one.seq)
    assert ended.ended is not None
    assert ended.ended >= ended.created
    assert new.created == ended.ended
