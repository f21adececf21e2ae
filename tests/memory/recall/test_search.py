"""Search over a real store: what it finds, what it hides, and when it stays silent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from clawkit.memory.embed.embedder import Embedder, shared
from clawkit.memory.recall.index_text import texts_to_embed, words_of
from clawkit.memory.recall.search import SearchResult, search
from clawkit.memory.recall.signals import SIGNALS
from clawkit.memory.records import MemorySource, Node, Scene
from clawkit.memory.store import beings, nodes
from clawkit.store import open_store
from clawkit.store.database import Database

NOW = 1_700_000_000.0


class Mind:
    """One Being, and a short way to ask it."""

    def __init__(self, database: Database, name: str = "mind") -> None:
        self._database = database
        with database.registry(write=True) as connection:
            self.n = beings.create(connection, name, name, NOW).n

    def remember(
        self,
        *scenes: Scene,
        sources: Sequence[MemorySource] = (),
        embedder: Embedder | None = shared,
    ) -> list[int]:
        with self._database.write(self.n) as unit:
            first = nodes.reserve(unit, len(scenes))
            made = [
                Node(
                    seq=first + at,
                    id=f"{self.n}-{first + at}",
                    scene=scene,
                    created=NOW + first + at,
                    source=sources[at] if sources else MemorySource(),
                )
                for at, scene in enumerate(scenes)
            ]
            nodes.add(unit, made)
            nodes.index_words(unit, {node.seq: words_of(node.scene, node.source) for node in made})
            if embedder is not None:
                texts = [texts_to_embed(scene, ())[0] for scene in scenes]
                seqs = [node.seq for node in made]
                unit.vectors.put(embedder.name, seqs, embedder.embed(texts))
        return [node.seq for node in made]

    def end(self, seq: int, at: float, ending: str) -> None:
        with self._database.write(self.n) as unit:
            nodes.change(unit, seq, {"ended": at, "ending": ending})

    def ask(
        self, query: str, embedder: Embedder | None = shared, **options: object
    ) -> SearchResult:
        with self._database.read(self.n) as unit:
            given: dict = {"limit": 5, "now": NOW, **options}
            return search(unit, query, embedder=embedder, **given)


@pytest.fixture
def mind(tmp_path: Path) -> Iterator[Mind]:
    database = open_store(f"sqlite:{tmp_path / 'beings.db'}")
    yield Mind(database)
    database.close()


LIFE = (
    Scene("We adopted a grey kitten from the shelter"),
    Scene("Bought a second-hand bicycle for the commute"),
    Scene("The dentist pulled a wisdom tooth"),
    Scene("祖母と京都のお寺を訪ねた"),
    Scene("My brother moved to Lisbon for work"),
)


def actions(found: SearchResult) -> list[str]:
    return [hit.node.scene.action for hit in found.hits]


def test_a_question_in_other_words_finds_its_memory(mind: Mind):
    mind.remember(*LIFE)
    found = mind.ask("Which pet lives with us?")
    assert actions(found)[0] == LIFE[0].action
    assert found.kind in ("hybrid", "vector")


def test_words_and_meaning_together_are_hybrid(mind: Mind):
    mind.remember(*LIFE)
    assert mind.ask("Where did my brother move?").kind == "hybrid"


def test_japanese_is_found_by_words_without_an_embedder(mind: Mind):
    mind.remember(*LIFE)
    found = mind.ask("京都で何をした?", None)
    assert found.kind == "keyword"
    assert actions(found) == [LIFE[3].action]


def test_without_words_that_are_known_it_is_a_search_by_vectors(mind: Mind):
    mind.remember(*LIFE)
    assert mind.ask("feline?").kind == "vector"


def test_while_vectors_are_missing_words_serve(mind: Mind):
    mind.remember(*LIFE, embedder=None)
    found = mind.ask("bicycle")
    assert found.kind == "keyword"
    assert actions(found) == [LIFE[1].action]


def test_keywords_give_nothing_that_has_none_of_them(mind: Mind):
    mind.remember(*LIFE)
    assert mind.ask("xylophone", None).hits == ()


def test_and_wants_every_word_in_the_keyword_part(mind: Mind):
    mind.remember(Scene("red apples"), Scene("red bicycle"), Scene("green bicycle"))
    assert actions(mind.ask("the red bicycles", None, mode="and")) == ["red bicycle"]
    assert len(mind.ask("the red bicycles", None, mode="or").hits) == 3


@pytest.mark.parametrize(("ending", "known"), [("corrected", True), ("retracted", False)])
def test_what_has_ended_was_known_then_unless_it_was_taken_back(
    mind: Mind, ending: str, known: bool
):
    seqs = mind.remember(*LIFE)
    mind.end(seqs[0], NOW + 1000, ending)
    assert LIFE[0].action not in actions(mind.ask("kitten from the shelter"))
    then = mind.ask("kitten from the shelter", as_of=NOW + 500)
    assert (LIFE[0].action in actions(then)) is known


def test_what_was_not_yet_said_was_not_known(mind: Mind):
    mind.remember(*LIFE)
    assert mind.ask("kitten", as_of=NOW - 1).hits == ()


def test_what_is_excluded_does_not_come(mind: Mind):
    seqs = mind.remember(*LIFE)
    found = mind.ask("kitten from the shelter", exclude=[seqs[0]])
    assert seqs[0] not in [hit.node.seq for hit in found.hits]


def test_the_same_fact_comes_once(mind: Mind):
    mind.remember(*(Scene(text) for text in ("I like tea.", "i like TEA", "I like tea!", "Rain")))
    assert len([text for text in actions(mind.ask("tea")) if "tea" in text.lower()]) == 1


def test_other_numbers_are_another_fact(mind: Mind):
    mind.remember(Scene("The code of the gate is 4711"), Scene("The code of the gate is 4712"))
    assert len(mind.ask("the code of the gate").hits) == 2


def test_the_same_words_of_two_people_are_two_facts(mind: Mind):
    tea = Scene("I like tea")
    mind.remember(tea, tea, sources=[MemorySource("Ann"), MemorySource("Bob")])
    assert len(mind.ask("Who likes tea?").hits) == 2


def test_who_is_named_comes_first(mind: Mind):
    talk = [MemorySource("Ann", conversation="c"), MemorySource("Bob", conversation="c")]
    scenes = [Scene("I play the cello", ("Ann", "Bob")), Scene("I play the drums", ("Bob", "Ann"))]
    mind.remember(*scenes, sources=talk)
    for name, text in (("Ann", "cello"), ("Bob", "drums")):
        assert text in actions(mind.ask(f"What instrument does {name} play?"))[0]


def test_a_day_that_is_asked_for_comes_first(mind: Mind):
    mind.remember(
        Scene("Dinner with old friends at home", when=("2023-02-10",)),
        Scene("Dinner with old friends in town", when=("2023-06-10",)),
    )
    assert "town" in actions(mind.ask("Dinner with old friends in June 2023"))[0]
    assert "home" in actions(mind.ask("Dinner with old friends in February 2023"))[0]


def test_a_hit_says_what_speaks_for_it(mind: Mind):
    mind.remember(*LIFE)
    hit = mind.ask("grey kitten", explain=True).hits[0]
    assert hit.signals["words"] == 1.0
    assert hit.signals.keys() <= set(SIGNALS)


def test_an_empty_mind_finds_nothing_and_says_nothing(mind: Mind):
    found = mind.ask("anything?")
    assert found.hits == ()
    assert not found.relevant


@pytest.mark.parametrize(
    "query", ["", "   ", "\x00", "'; DROP TABLE nodes; --", "\ud800", "?" * 9000]
)
def test_a_query_without_sense_is_no_error(mind: Mind, query: str):
    mind.remember(*LIFE)
    assert len(mind.ask(query).hits) <= 5


def test_the_gate_opens_for_what_is_known_and_not_for_what_is_not(mind: Mind):
    mind.remember(*LIFE)
    assert mind.ask("Did we adopt a grey kitten from the shelter?").relevant
    assert not mind.ask("How does photosynthesis work in algae?").relevant


def test_among_few_memories_a_distant_one_is_told_and_what_is_unknown_is_not(mind: Mind) -> None:
    mind.remember(Scene("I moved to Halle"))
    assert mind.ask("Where do I live?").relevant
    for unknown in ("What is my blood type?", "When is my sister's birthday?", "Who is Tom?"):
        assert not mind.ask(unknown).relevant


def test_who_asks_again_is_not_told_the_question(mind: Mind) -> None:
    mind.remember(Scene("I moved to Halle last week"), Scene("What is my blood type?"))
    assert not mind.ask("What is my blood type?").relevant


@pytest.mark.parametrize(
    "question", ["What do you know about me?", "Was weißt du über mich?", "Que sais-tu sur moi ?"]
)
def test_who_asks_for_everything_is_told_what_is_known(mind: Mind, question: str) -> None:
    mind.remember(*LIFE)
    assert mind.ask(question).relevant


def test_one_mind_never_shows_anothers(tmp_path: Path):
    database = open_store(f"sqlite:{tmp_path / 'beings.db'}")
    try:
        mine, other = Mind(database, "mine"), Mind(database, "other")
        other.remember(*LIFE)
        assert mine.ask("grey kitten").hits == ()
    finally:
        database.close()
