from __future__ import annotations

from collections.abc import Sequence

import pytest

from clawkit.errors import ProviderDownError
from clawkit.memory.patrol.new_memories import remember
from clawkit.memory.patrol.replacement import retract
from clawkit.memory.patrol.vectors import Embed, catch_up
from clawkit.memory.records import MemorySource, Note, Scene
from clawkit.memory.store import clusters, nodes, notes, reads
from clawkit.store.arrays import Floats
from tests.memory.patrol.minds import NOW, TODAY, Mind, WordEmbedder


def test_a_note_becomes_a_fresh_node_with_its_provenance(mind: Mind) -> None:
    scene = Scene("planted tomatoes", ("Ben",), (TODAY,), "garden", "proud", ("plants",), 0.7)
    mind.note(scene, conversation="talk-1")
    mind.patrol()
    (node,) = mind.nodes()
    assert (node.seq, node.scene, node.status, node.fresh) == (1, scene, "active", True)
    assert node.source == MemorySource("Anna", "token-1", "talk-1")
    assert node.created == node.last_activated == NOW


def test_a_node_is_found_by_all_its_words_and_by_its_vector(mind: Mind) -> None:
    mind.remember(Scene("planted tomatoes", ("Ben",), (TODAY,), "garden", "proud", ("plants",)))
    assert mind.embedder
    with mind.database.read(mind.being) as unit:
        for word in ("plant", "tomato", "ben", "garden", "proud"):
            assert nodes.having_all(unit, [word]).tolist() == [1], word
        vector = mind.embedder.embed(["garden — planted tomatoes — proud"])[0]
        seqs, cosines = unit.vectors.nearest("words", vector, 1)
    assert seqs == [1]
    assert cosines[0] > 0.99


def test_a_note_is_taken_once_and_knows_its_node(mind: Mind) -> None:
    (note,) = mind.note("bought a red bicycle")
    assert mind.patrol().nodes_created == 1
    assert mind.patrol().nodes_created == 0
    with mind.database.read(mind.being) as unit:
        assert notes.nodes_of(unit, [note]) == {note: 1}
        assert notes.count(unit, "scene") == 0


def test_what_is_near_joins_the_cluster_and_what_is_not_goes_to_a_root(mind: Mind) -> None:
    mind.remember("the tomatoes in the garden are ripe", "the sprint meeting moved to Monday")
    found = mind.clusters()
    assert set(found) == {"Business", "Private"}
    assert [node.cluster for node in mind.nodes()] == [found["Private"].n, found["Business"].n]
    # A work word alone sends it to Business; near to the garden it stays with the garden.
    (near,) = mind.remember("the tomatoes in the garden of the office are ripe")
    assert near.cluster == found["Private"].n
    (far,) = mind.remember("quarterly revenue doubled")
    assert far.cluster == found["Business"].n


@pytest.mark.parametrize(("shared", "joins"), [(9, True), (8, False)])
def test_a_node_joins_at_a_cosine_of_045(mind: Mind, shared: int, joins: bool) -> None:
    """Twenty words each; the cosine is the share of words in common."""
    mind.embedder = WordEmbedder(dimensions=1 << 16)
    first = [f"wordone{n}" for n in range(20)]
    seqs = [node.seq for node in mind.remember(Scene(" ".join(first)))]
    topic = mind.topic("Words", "Business", seqs)
    second = first[:shared] + [f"wordtwo{n}" for n in range(20 - shared)]
    with mind.database.write(mind.being) as unit:
        note = Note("n", NOW, Scene(" ".join(second)))
        (node,) = remember(unit, [note], Embed("words", mind.embedder.embed), NOW, "t")
    assert (node.cluster == topic) is joins


def test_the_middle_of_a_cluster_is_the_mean_of_its_active_nodes(mind: Mind) -> None:
    one, two, three = mind.remember("red apples", "green pears", "sweet cherries")
    mind.forget(three.seq, status="dead")
    mind.remember("ripe plums")
    with mind.database.read(mind.being) as unit:
        vectors = unit.vectors.fetch("words", [one.seq, two.seq, 4])
        middle = clusters.centroids(unit, "words")[one.cluster]
    assert abs(middle - sum(vectors.values()) / 3).max() < 1e-6


def test_the_same_scene_twice_is_one_node_that_is_more_alive(mind: Mind) -> None:
    mind.remember("Anna likes green tea")
    ids = mind.note("anna likes  GREEN tea", "Anna likes green tea!")
    outcome = mind.patrol(now=NOW + 60)
    assert outcome.nodes_created == 0
    (node,) = mind.nodes()
    assert (node.reactivation_count, node.last_activated) == (2, NOW + 60)
    with mind.database.read(mind.being) as unit:
        assert notes.nodes_of(unit, ids) == dict.fromkeys(ids, 1)


def test_the_same_scene_twice_in_one_batch_is_one_node(mind: Mind) -> None:
    assert len(mind.remember("we saw a heron", "We saw a heron.", "we saw an owl")) == 2


@pytest.mark.parametrize(
    "other",
    [
        Scene("went running", ("Ben",), ("2026-09-22",)),
        Scene("went running", ("Anna",), (TODAY,)),
        Scene("did not go running", ("Ben",), (TODAY,)),
        Scene("went running 5 miles", ("Ben",), (TODAY,)),
        Scene("will go running", ("Ben",), (TODAY,)),
    ],
)
def test_another_day_person_number_or_a_negation_is_another_memory(
    mind: Mind, other: Scene
) -> None:
    mind.remember(Scene("went running", ("Ben",), (TODAY,)))
    assert len(mind.remember(other)) == 1


HEARD = reads.conversation_of("token-1", "Anna", "talk")
"""Under which name it is kept what a mind's own notes were told in the conversation "talk"."""


def test_what_recall_told_a_conversation_is_not_stored_again_as_new(mind: Mind) -> None:
    (node,) = mind.remember(
        Scene("Ben moved to Lisbon", ("Ben",), ("2026-01-05",), "by train", "excited")
    )
    with mind.database.write(mind.being) as unit:
        reads.tell(unit, HEARD, [node.seq], NOW)
    again = [
        Scene("Ben moved to Lisbon", ("user",), (TODAY,)),
        Scene("2026-01-05 — by train — Ben moved to Lisbon — (excited)", (), (TODAY,)),
        Scene("Ben moved to Lisbon / excited", ("Ben",), (TODAY,)),
    ]
    mind.note(*again, conversation="talk")
    assert mind.patrol().nodes_created == 0
    mind.note(
        Scene("Ben moved to Lisbon and then to Porto", ("Ben",), (TODAY,)), conversation="talk"
    )
    assert mind.patrol().nodes_created == 1


def test_what_was_retracted_does_not_come_back_through_the_conversation_that_heard_it(
    mind: Mind,
) -> None:
    (node,) = mind.remember("Ben moved to Lisbon")
    with mind.database.write(mind.being) as unit:
        reads.tell(unit, HEARD, [node.seq], NOW)
        retract(unit, [node], now=NOW + 1, token="t")
    mind.note(Scene("Ben moved to Lisbon", when=("2026-09-22",)), conversation="talk")
    assert mind.patrol(now=NOW + 2).nodes_created == 0
    mind.note(Scene("Ben moved to Lisbon", when=("2026-09-22",)), conversation="another")
    assert mind.patrol(now=NOW + 3).nodes_created == 1


def test_a_recall_block_in_a_scene_is_cut_out(mind: Mind) -> None:
    block = "<memory-recall>\nBen likes tea / happy\n</memory-recall>"
    made = mind.remember(Scene(f"{block} talked about boats", when=(TODAY,)), Scene(block))
    assert [node.scene.action for node in made] == ["talked about boats"]


def test_text_that_no_store_can_hold_is_made_holdable(mind: Mind) -> None:
    hostile = "null \x00 and a lone \ud800 surrogate'; DROP TABLE nodes; --"
    with mind.database.write(mind.being) as unit:
        note = Note("n", NOW, Scene(hostile, ("\x00",), importance=float("nan")))
        (node,) = remember(unit, [note], None, NOW, "t")
    assert "\x00" not in node.scene.action
    assert node.scene.importance == 0.5
    assert mind.node(1).scene == node.scene


def test_a_long_scene_is_remembered_whole(mind: Mind) -> None:
    text = "word " * 200_000
    (node,) = mind.remember(Scene(text))
    assert len(mind.node(node.seq).scene.action) == len(text.strip())


def test_without_an_embedder_memories_are_kept_and_get_their_vectors_later(mind: Mind) -> None:
    mind.remember("we planted an apple tree", embedder=None)
    with mind.database.read(mind.being) as unit:
        assert unit.vectors.counts() == {}
        assert clusters.centroids(unit, "words") == {}
    assert mind.embedder
    assert catch_up(mind.database, mind.being, mind.embedder) == 1
    with mind.database.read(mind.being) as unit:
        assert unit.vectors.counts() == {"words": 1}
        assert list(clusters.centroids(unit, "words")) == [1]


def test_an_embedder_that_fails_costs_vectors_and_nothing_else(mind: Mind) -> None:
    class Away(WordEmbedder):
        def embed(self, texts: Sequence[str]) -> Floats:
            raise ProviderDownError("away", f"it is away with its {len(texts)} texts")

    assert len(mind.remember("we planted an apple tree", embedder=Away())) == 1
    with mind.database.read(mind.being) as unit:
        assert unit.vectors.missing("words", 10) == [1]


def test_a_clock_that_goes_back_makes_no_memory_of_the_future(mind: Mind) -> None:
    mind.remember("the first thing")
    mind.note("the second thing", at=NOW + 3600)
    mind.patrol(now=NOW - 3600)
    first, second = mind.nodes()
    assert (first.seq, second.seq) == (1, 2)
    assert second.created == NOW - 3600
    mind.note("the first thing")
    mind.patrol(now=NOW - 7200)
    assert mind.node(1).last_activated == NOW


def test_notes_that_are_no_scenes_stay_as_they_are(mind: Mind) -> None:
    with mind.database.write(mind.being) as unit:
        notes.add(unit, [Note("memo", NOW, text="call the plumber")])
    mind.patrol()
    with mind.database.read(mind.being) as unit:
        assert notes.count(unit, "note") == 1
        assert nodes.top(unit) == 0


def test_the_same_words_in_another_order_say_something_else(mind: Mind) -> None:
    made = [mind.remember(text) for text in ("Bob owes Ann ten euros", "Ann owes Bob ten euros")]
    assert [len(nodes) for nodes in made] == [1, 1]
