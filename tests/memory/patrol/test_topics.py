"""❻: topics are found without a model, named by their telling words, and stay what they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from clawkit.memory import undo as history
from clawkit.memory.embed.embedder import shared
from clawkit.memory.patrol import topics
from clawkit.memory.patrol.vectors import catch_up
from clawkit.memory.records import Cluster, Scene
from clawkit.memory.store import nodes
from tests.memory.patrol.minds import DAY, NOW, TODAY, Mind, open_mind

CHOIR = (
    "The choir rehearses on Tuesdays in the Methodist hall",
    "Choir was hard today, we sang the Messiah without a break",
    "Gareth is the new conductor of the choir",
    "The choir sings its Christmas concert in St Botolph's church",
    "I am an alto in the choir, next to Beryl",
    "Our choir has bought new folders for the concert",
)
PLOT = (
    "The tomatoes on the allotment are ripe",
    "Stan has the allotment next to mine and grows potatoes",
    "I dug over the allotment and planted garlic",
    "Slugs have eaten the lettuce on my allotment",
    "The shed on the allotment has a new padlock",
    "I made chutney from the green tomatoes of the allotment",
)
PILLS = (
    "I take 75 micrograms of levothyroxine every morning",
    "The levothyroxine goes up to 100 micrograms",
    "Doctor Osei checks my thyroid and the levothyroxine dose",
    "Levothyroxine must be taken on an empty stomach",
    "The pharmacy has no levothyroxine this time",
    "My thyroid is fine with the new levothyroxine dose",
)
CHAT = ("ok, thanks", "good night", "what a day", "ha, well", "is it raining?")
LIFE = (*CHOIR, *PLOT, *PILLS, *CHAT)
GERMAN = (
    "Die Wärmepumpe wird Ende Oktober geliefert",
    "Das Wärmepumpenangebot von Dressel liegt bei 31.400 Euro",
    "Der Heizungsbauer schließt die Wärmepumpe im Keller an",
    "Die neue Wärmepumpe ist leiser als die alte Gastherme",
    "Für die Wärmepumpenförderung fehlt noch ein Antrag",
    "Die Wärmepumpe steht jetzt hinter dem Haus",
    "Lotte geht freitags zum Ballett",
    "Lotte braucht neue Ballettschuhe in Größe 31",
    "Die Ballettlehrerin lobt Lotte sehr",
    "Lottes Ballettaufführung ist im Dezember",
    "Ballett macht Lotte mehr Spaß als Turnen",
    "Nach dem Ballett hole ich Lotte in der Musikschule ab",
)
JAPANESE = (
    "家庭菜園のトマトが赤くなった",
    "家庭菜園にきゅうりを植えた",
    "家庭菜園の土を新しくした",
    "家庭菜園でなすがたくさん採れた",
    "家庭菜園に水をやるのは朝がいい",
    "家庭菜園の大根はまだ小さい",
    "合唱団の練習は火曜日です",
    "合唱団に新しい指揮者が来た",
    "合唱団でクリスマスの歌を歌う",
    "合唱団の仲間と食事をした",
    "合唱団の発表会は十二月だ",
    "合唱団の楽譜を忘れてしまった",
)
CHINESE = (
    "我的菜园里番茄红了",
    "今天在菜园种了黄瓜",
    "菜园的土要换新的",
    "菜园里的茄子长得很好",
    "早上给菜园浇水",
    "菜园的萝卜还很小",
    "合唱团星期二排练",
    "合唱团来了新指挥",
    "我们合唱团要唱圣诞歌",
    "和合唱团的朋友吃饭",
    "合唱团的演出在十二月",
    "我忘了带合唱团的乐谱",
)


@pytest.fixture
def real(mind: Mind) -> Mind:
    """A Being with the vectors that everybody has."""
    mind.embedder = shared  # pyright: ignore[reportAttributeAccessIssue] - any embedder will do
    return mind


@pytest.fixture
def either(address: str) -> Iterator[Mind]:
    mind = open_mind(address)
    mind.embedder = shared  # pyright: ignore[reportAttributeAccessIssue] - any embedder will do
    yield mind
    mind.database.close()


def _topics(mind: Mind) -> dict[str, Cluster]:
    return {name: c for name, c in mind.clusters().items() if c.parent is not None}


def _named(mind: Mind, word: str) -> Cluster:
    """The only topic with this word in its name."""
    (found,) = [c for name, c in _topics(mind).items() if word.casefold() in name.casefold()]
    return found


def _members(mind: Mind, cluster: Cluster) -> list[str]:
    return [node.scene.action for node in mind.nodes() if node.cluster == cluster.n]


def _topic_of_each(mind: Mind) -> dict[int, int]:
    return {node.seq: node.cluster for node in mind.nodes()}


def test_topics_are_found_without_a_model_and_named_by_their_telling_words(either: Mind) -> None:
    either.note(*LIFE)
    outcome = either.patrol()
    assert outcome.steps["split"] == 3
    for word, said in (("choir", CHOIR), ("allotment", PLOT), ("levothyroxine", PILLS)):
        members = _members(either, _named(either, word))
        assert len(set(members) & set(said)) >= 5
        assert not set(members) & {*LIFE} - {*said, *CHAT}
    assert all(1 <= len(name.split(", ")) <= 3 for name in _topics(either))


def test_small_talk_is_no_topic(real: Mind) -> None:
    real.remember(*LIFE)
    home = {node.scene.action: node.cluster for node in real.nodes()}
    root = real.clusters()["Private"].n
    assert [home[said] for said in CHAT].count(root) >= 4


def test_a_patrol_right_after_another_changes_no_topic(real: Mind) -> None:
    real.remember(*LIFE)
    before, homes, entries = real.rows()["clusters"], _topic_of_each(real), len(real.history())
    outcome = real.patrol(now=NOW + DAY)
    assert [outcome.steps[step] for step in ("split", "joined", "described", "repeated")] == [0] * 4
    assert (real.rows()["clusters"], _topic_of_each(real)) == (before, homes)
    assert {entry.kind for entry in real.history()[entries:]} <= {"aged"}


def test_new_memories_join_the_topics_that_are_there_which_keep_id_and_name(real: Mind) -> None:
    real.remember(*LIFE)
    before = {c.id: c.name for c in _topics(real).values()}
    more = [
        f"The choir {does} for the concert" for does in ("rehearses", "learns carols", "sings more")
    ]
    made = real.remember(*more, *(f"The choir needs {n} more basses to sing" for n in range(4)))
    assert {node.cluster for node in made} == {_named(real, "choir").n}
    assert {c.id: c.name for c in _topics(real).values()} == before


def test_what_a_later_look_finds_goes_to_the_topic_that_has_its_word(real: Mind) -> None:
    real.remember(*LIFE)
    choir = _named(real, "choir")
    other = ("coach", "fee", "heater", "keys", "toilets", "flu", "flowers", "biscuits", "car park")
    made = real.remember(
        *(f"About the choir: the {what}" for what in other), "What choir?", "Choir tonight."
    )
    with real.database.write(real.being) as unit:
        root = real.clusters()["Private"].n
        for node in made:
            nodes.change(unit, node.seq, {"cluster": root})
    real.settle()
    real.patrol(now=NOW + DAY)
    assert {real.node(node.seq).cluster for node in made} == {choir.n}
    assert _named(real, "choir").id == choir.id


def test_topics_can_be_undone_and_are_not_made_again_at_once(either: Mind) -> None:
    either.note(*LIFE)
    either.patrol()
    (split,) = [entry for entry in either.history() if entry.kind == "split"]
    assert "new topics: " in split.why
    for entry in reversed([one for one in either.history() if one.n >= split.n]):
        with either.database.write(either.being) as unit:
            history.undo(unit, entry.n, NOW + 1, "t")
    assert set(either.clusters()) == {"Private"}
    assert either.patrol(now=NOW + DAY).steps["split"] == 0
    assert set(either.clusters()) == {"Private"}


def test_without_vectors_nothing_is_split(mind: Mind) -> None:
    mind.note(*LIFE)
    outcome = mind.patrol(embedder=None)
    assert (outcome.status, outcome.steps["split"]) == ("ok", "skipped: no vectors")
    assert set(mind.clusters()) == {"Private"}


def test_ten_memories_are_not_too_many(real: Mind) -> None:
    real.note(*CHOIR[:5], *PLOT[:5])
    assert real.patrol().steps["split"] == 0
    real.note(CHOIR[5], PLOT[5])
    assert real.patrol().steps["split"] == 2


def test_memories_of_one_kind_are_not_split(real: Mind) -> None:
    real.note(*(f"The choir sings song number {n}" for n in range(30)))
    assert real.patrol().steps["split"] == 0


def test_a_dry_run_says_how_many_topics_there_would_be(real: Mind) -> None:
    real.remember(*LIFE[:9])
    real.remember(*LIFE[9:], embedder=shared, cap=0)
    for entry in reversed([one for one in real.history() if one.kind in ("split", "described")]):
        with real.database.write(real.being) as unit:
            history.undo(unit, entry.n, NOW + 1, "t")
    with real.database.write(real.being) as unit:
        unit.run("DELETE FROM marks WHERE being = $being AND name = 'topics'")
    dry = real.patrol(dry_run=True)
    assert set(real.clusters()) == {"Private"}
    assert dry.steps["split"] == real.patrol().steps["split"] == 3


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (GERMAN, ("Wärmepumpe", "Ballett")),
        (JAPANESE, ("家庭菜園", "合唱団")),
        (CHINESE, ("菜园", "合唱团")),
    ],
)
def test_topics_are_named_in_their_own_language(
    real: Mind, said: Sequence[str], words: tuple[str, str]
) -> None:
    real.remember(*said, *CHAT)
    assert len(_topics(real)) == 2
    for word, own in zip(words, (said[:6], said[6:]), strict=True):
        members = _members(real, _named(real, word))
        assert len(set(members) & set(own)) >= 5


def test_from_a_topic_that_has_grown_large_others_split_off_and_it_stays(real: Mind) -> None:
    trips = (
        "We flew to Lisbon and ate custard tarts",
        "The hotel in Lisbon was loud but cheap",
        "The tram in Lisbon climbs the steepest hills",
        "In Lisbon we listened to fado in a cellar",
        "Our flight back from Lisbon was four hours late",
        "I lost my sunglasses on the beach near Lisbon",
    )
    made = real.remember(*PILLS, *PLOT, *(f"{said} this year" for said in PLOT), *trips)
    every = [node.seq for node in real.nodes()]
    for cluster in _topics(real).values():
        with real.database.write(real.being) as unit:
            unit.run("UPDATE clusters SET gone = 1 WHERE being = $being AND n = ?", cluster.n)
    pills = [node.seq for node in made[:6]]
    all_in_one = real.topic("Garden", "Private", [seq for seq in every if seq not in pills])
    real.topic("Pills", "Private", pills)
    assert real.patrol(now=NOW + DAY).steps["split"] in (1, 2)
    lisbon = _named(real, "Lisbon")
    assert set(_members(real, lisbon)) == set(trips)
    garden = real.clusters()["Garden"]
    assert garden.n == all_in_one
    assert lisbon.parent == garden.parent == real.clusters()["Private"].n


def test_a_topic_of_both_roots_is_under_the_one_that_has_more_of_it(real: Mind) -> None:
    work = tuple(f"{said}, says my boss" for said in CHOIR[:2])
    real.remember(*work, *CHOIR[2:], *PLOT, *PILLS)
    assert set(work) <= set(_members(real, _named(real, "choir")))
    assert _named(real, "choir").parent == real.clusters()["Private"].n


def test_a_large_memory_is_looked_at_by_a_sample_and_the_rest_is_assigned(
    real: Mind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topics, "_SAMPLE", 24)
    older = [f"{said} again" for said in (*CHOIR, *PLOT, *PILLS)]
    real.remember(*older, *LIFE)
    homes = {node.scene.action: node.cluster for node in real.nodes()}
    for word, said in (("choir", CHOIR), ("allotment", PLOT), ("levothyroxine", PILLS)):
        topic = _named(real, word).n
        assert [homes[f"{one} again"] for one in said].count(topic) >= 5


def test_a_name_given_by_words_changes_only_when_the_topic_has_become_another(real: Mind) -> None:
    real.remember(*LIFE)
    choir = _named(real, "choir")
    root = real.clusters()["Private"].n
    made = real.remember(*(f"The {w} bakes fresh bread and rye loaves" for w in "abcdefghijklm"))
    bread = [node.seq for node in made]
    for node in real.nodes():
        if node.seq in bread:
            real.change(node.seq, cluster=choir.n)
        elif node.cluster == choir.n:
            real.change(node.seq, cluster=root)
    real.settle()
    real.patrol(now=NOW + DAY)
    found = next(c for c in _topics(real).values() if c.id == choir.id)
    assert "choir" not in found.name
    assert "bread" in found.name or "loaves" in found.name
    assert [entry.kind for entry in real.history()].count("named") == 1


def test_memories_without_a_vector_are_left_where_they_are(real: Mind) -> None:
    real.remember(Scene("The choir has no vector yet", when=(TODAY,)), embedder=None)
    real.remember(*LIFE)
    assert real.nodes()[0].cluster == real.clusters()["Private"].n


def test_memories_that_get_their_vectors_late_are_sorted_then(real: Mind) -> None:
    real.remember(*LIFE, embedder=None)
    assert real.patrol(now=NOW + DAY).steps["split"] == 0
    catch_up(real.database, real.being, shared)
    assert real.patrol(now=NOW + 2 * DAY).steps["split"] == 3
