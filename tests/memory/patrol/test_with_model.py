"""A patrol with a model that answers over the real wire, by script, also badly."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from clawkit.memory.model import decoded, llm
from clawkit.memory.patrol.consolidation import Merge
from clawkit.memory.patrol.replacement import retract
from clawkit.memory.patrol.run import PatrolOutcome
from clawkit.memory.patrol.transcript import ConversationMessage
from clawkit.memory.recall.search import search
from clawkit.memory.records import Scene
from clawkit.memory.store import entries
from clawkit.memory.undo import undo
from tests.assistant.providers.scripted import Request, Say, Status, scripted_anthropic
from tests.memory.patrol.minds import NOW, TODAY, Mind, WordEmbedder
from tests.memory.patrol.test_model import ANTHROPIC_KEY

Answers = dict[str, Any]
_MARKS = {
    "keep a memory true": "outdated",
    "take notes": "scenes",
    "the same thing": "merges",
    "what they are about": "digest",
    "keep the diary": "diary",
}


def _kind(request: Request) -> str:
    system = str(request.json["system"])
    return next(kind for mark, kind in _MARKS.items() if mark in system)


def _patrol(
    mind: Mind,
    answers: Answers,
    *messages: ConversationMessage,
    asked: list[Request] | None = None,
    **options: Any,
) -> PatrolOutcome:
    """A patrol whose model gives these answers, by what it is asked for; else an empty one."""

    def answer(request: Request) -> Say | Status:
        if asked is not None:
            asked.append(request)
        given = answers.get(_kind(request), {_kind(request): []})
        given = given(request) if callable(given) else given
        if isinstance(given, Status):
            return given
        return Say(given if isinstance(given, str) else json.dumps(given))

    with scripted_anthropic(answer) as server:
        model = llm(ANTHROPIC_KEY, url=server.url)
        return mind.patrol(*messages, llm=model, **options)


def _merges(*groups: Sequence[int]) -> Answers:
    found = [
        {"nodes": list(group), "summary": f"merged number {n}", "feeling": "calm"}
        for n, group in enumerate(groups)
    ]
    return {"merges": {"merges": found}}


def test_a_model_merges_fresh_memories(mind: Mind) -> None:
    mind.note("saw a heron", "saw the same heron", "bought a kite")
    outcome = _patrol(mind, _merges([1, 2]))
    assert outcome.steps["merged"] == 1
    kite, merged = mind.nodes()
    assert (kite.scene.action, merged.scene.action) == ("bought a kite", "merged number 0")
    assert merged.scene.importance == pytest.approx(0.55)
    assert merged.scene.feeling == "calm"
    ended = [node for node in mind.nodes(ended=True) if node.ended is not None]
    assert {(node.ending, node.successor) for node in ended} == {("merged", merged.seq)}
    assert not kite.fresh


def test_what_was_looked_at_once_is_not_looked_at_again(mind: Mind) -> None:
    mind.note("saw a heron", "bought a kite")
    _patrol(mind, {})
    asked: list[Request] = []
    _patrol(mind, {}, asked=asked)
    assert "merges" not in [_kind(request) for request in asked]


def test_dying_memories_are_offered_too(mind: Mind) -> None:
    made = mind.remember("saw a heron", "saw a grey heron", "bought a kite")
    for node in made:
        mind.change(node.seq, fresh=0)
    for node in made[:2]:
        mind.forget(node.seq)
    asked: list[Request] = []
    outcome = _patrol(mind, _merges([1, 2]), asked=asked)
    assert (outcome.steps["dying"], outcome.steps["merged"]) == (2, 1)
    merged = mind.nodes()[-1]
    assert (merged.status, merged.session_count) == ("active", 0)


@pytest.mark.parametrize(
    "answer",
    [
        "I could not find anything to merge, sorry!",
        '{"merges": [{"nodes": [1, 2], "summary": "cut off he',
        '{"merges": "none"}',
        '{"merges": [{"nodes": [1, 99], "summary": "out of range"}]}',
        '{"merges": [{"nodes": [0, 1], "summary": "out of range"}]}',
        '{"merges": [{"nodes": [1, 1], "summary": "only one"}]}',
        '{"merges": [{"nodes": [1, 2], "summary": "  "}]}',
        "[" * 10_000,
        "{" * 10_000 + "}" * 10_000,
        "",
    ],
)
def test_an_answer_that_cannot_be_used_changes_nothing(mind: Mind, answer: str) -> None:
    mind.note("saw a heron", "saw the same heron")
    outcome = _patrol(mind, {"merges": answer})
    assert (outcome.status, outcome.steps["merged"]) == ("ok", 0)
    assert len(mind.nodes()) == 2


def test_a_memory_is_merged_once_even_if_the_model_names_it_twice(mind: Mind) -> None:
    mind.note("one heron", "two herons", "three herons")
    _patrol(mind, _merges([1, 2], [2, 3]))
    assert [node.scene.action for node in mind.nodes()] == ["three herons", "merged number 0"]


def test_merges_beyond_the_cap_are_left_for_the_next_patrol_and_block_no_step(mind: Mind) -> None:
    mind.note(*(f"heron number {n}" for n in range(5)))
    outcome = _patrol(mind, _merges([1, 2], [3, 4]), cap=1)
    assert (outcome.status, outcome.steps["merged"]) == ("ok", 1)
    assert {"revived", "split", "joined", "described", "diary"} <= outcome.steps.keys()
    left = [node.scene.action for node in mind.nodes() if node.fresh]
    assert left == ["heron number 2", "heron number 3"]
    outcome = _patrol(mind, _merges([1, 2]), cap=1)
    assert outcome.steps["merged"] == 1
    assert not any(node.fresh for node in mind.nodes())


def test_a_merge_that_alone_is_above_the_cap_is_not_made(mind: Mind) -> None:
    mind.note(*(f"heron number {n}" for n in range(25)))
    outcome = _patrol(mind, _merges(list(range(1, 23))))
    assert (outcome.status, outcome.steps["merged"]) == ("ok", 0)
    assert len(mind.nodes()) == 25
    assert not any(node.fresh for node in mind.nodes())


def test_what_ended_while_the_model_was_thinking_is_not_merged(mind: Mind) -> None:
    mind.note("saw a heron", "saw the same heron")

    def thinking(_: Request) -> Answers:
        with mind.database.write(mind.being) as unit:
            retract(unit, [mind.nodes()[0]], now=NOW + 1, token="t")
        return _merges([1, 2])["merges"]

    outcome = _patrol(mind, {"merges": thinking})
    assert outcome.steps["merged"] == 0
    assert [node.scene.action for node in mind.nodes()] == ["saw the same heron"]


def _grown(mind: Mind) -> None:
    """Two topics, found without the model, in what two patrols have remembered."""
    mind.embedder = WordEmbedder(dimensions=1 << 12)
    herons = (f"the grey heron of pond {n} stood in the reeds" for n in range(7))
    boats = (f"a small boat with sail {n} left the harbour" for n in range(7))
    mind.note(*(scene for pair in zip(herons, boats, strict=True) for scene in pair))


def _by_word(request: Request) -> Answers:
    about = next((word for word in ("heron", "boat") if word in request.last_text), "all")
    return {"name": f"About the {about}", "digest": f"Much is known of the {about}."}


def test_a_model_names_and_describes_the_topics_that_were_found_without_it(mind: Mind) -> None:
    _grown(mind)
    assert _patrol(mind, {"digest": _by_word}).steps["split"] == 2
    found = {c.name: c for c in mind.clusters().values()}
    assert set(found) == {"Private", "About the heron", "About the boat"}
    assert found["About the heron"].digest == "Much is known of the heron."
    assert {found[name].parent for name in found if name != "Private"} == {found["Private"].n}


def test_a_topic_keeps_the_name_that_a_model_gave_it(mind: Mind) -> None:
    _grown(mind)
    _patrol(mind, {"digest": _by_word})
    mind.note("the grey heron of pond 9 stood in the reeds")
    answer = {"name": "Birds", "digest": "Birds stand about."}
    asked: list[Request] = []
    _patrol(mind, {"digest": answer}, asked=asked)
    assert [_kind(request) for request in asked].count("digest") == 1
    assert mind.clusters()["About the heron"].digest == "Birds stand about."
    mind.note(*(f"the grey heron of lake {n} stood in the reeds" for n in range(8)))
    _patrol(mind, {"digest": answer})
    assert set(mind.clusters()) == {"Private", "About the boat", "Birds"}


def test_topics_that_words_named_are_named_by_the_model_that_comes_later(mind: Mind) -> None:
    _grown(mind)
    mind.patrol()
    ids = {c.id for c in mind.clusters().values()}
    assert not {"About the heron", "About the boat"} & mind.clusters().keys()
    _patrol(mind, {"digest": _by_word})
    assert {"About the heron", "About the boat"} <= mind.clusters().keys()
    assert {c.id for c in mind.clusters().values()} == ids
    asked: list[Request] = []
    _patrol(mind, {"digest": _by_word}, asked=asked)
    assert "digest" not in [_kind(request) for request in asked]


@pytest.mark.parametrize("answer", ["no idea", '{"name": 5}', {"name": " ", "digest": ""}])
def test_where_the_model_gives_no_name_that_of_the_words_stays(mind: Mind, answer: object) -> None:
    _grown(mind)
    _patrol(mind, {"digest": answer})
    names = mind.clusters().keys() - {"Private"}
    assert len(names) == 2
    assert any("heron" in name for name in names)
    assert all(mind.clusters()[name].digest for name in names)


def test_digests_come_from_the_model(mind: Mind) -> None:
    mind.note("saw a heron")
    _patrol(mind, {"digest": {"digest": "Herons, mostly."}})
    assert mind.clusters()["Private"].digest == "Herons, mostly."


def test_a_model_writes_the_diary_and_reflections(mind: Mind) -> None:
    mind.note("saw a heron")
    answer = {"diary": "A heron came by.", "reflections": ["Ask about birds.", " "]}
    assert _patrol(mind, {"diary": answer}).steps["diary"] == 2
    with mind.database.read(mind.being) as unit:
        (day,) = entries.found(unit, "diary")
        (reflection,) = entries.found(unit, "reflections")
    assert (day.key, day.content) == (TODAY, "A heron came by.")
    assert reflection.content == "Ask about birds."
    assert mind.history()[-1].kind == "diary"
    assert _patrol(mind, {"diary": answer}).steps["diary"] == 0


def test_the_model_says_what_a_piece_means_and_the_words_stay(mind: Mind) -> None:
    found = {
        "scenes": [
            {
                "message": 2,
                "action": "Ben moved to Oslo",
                "actors": ["Ben"],
                "when": ["2026-09-01", "soon"],
                "setting": None,
                "feeling": "happy",
                "themes": ["moves"],
                "importance": "0.9",
            },
            {"message": 1, "action": 5},
            "not a scene",
            {"action": "Ben has a boat"},
        ]
    }
    said = [
        ConversationMessage("user", "hello"),
        ConversationMessage("user", "I moved to Oslo.", speaker="Ben"),
    ]
    outcome = _patrol(mind, {"scenes": found}, *said, conversation="talk")
    assert (outcome.steps["heard"], outcome.scenes_created) == ("by model", 2)
    hello, moved = mind.nodes()
    assert hello.scene.action == "hello"
    assert moved.scene == Scene(
        "I moved to Oslo.",
        ("Ben",),
        (TODAY, "2026-09-01"),
        "",
        "happy",
        ("moves",),
        0.9,
        "Ben moved to Oslo Ben has a boat",
    )
    assert (moved.source.speaker, moved.source.conversation) == ("Ben", "talk")


def test_the_model_is_not_shown_what_recall_put_into_a_message(mind: Mind) -> None:
    asked: list[Request] = []
    block = "<memory-recall>\nthe secret garden\n</memory-recall>"
    _patrol(mind, {}, ConversationMessage("user", f"{block} I love fjords."), asked=asked)
    assert "secret garden" not in asked[0].last_text
    assert "fjords" in asked[0].last_text


@pytest.mark.parametrize("answer", ["sorry, no", Status(401), Status(500), '{"scenes": 1}'])
def test_where_the_model_fails_rules_find_the_scenes(mind: Mind, answer: object) -> None:
    outcome = _patrol(mind, {"scenes": answer}, ConversationMessage("user", "I love fjords."))
    assert (outcome.status, outcome.steps["heard"]) == ("ok", "by rules")
    assert [node.scene.action for node in mind.nodes()] == ["I love fjords."]


def test_a_model_that_always_fails_costs_only_what_needs_it(mind: Mind) -> None:
    mind.note(*(f"heron number {n}" for n in range(12)))
    kinds = ("scenes", "merges", "digest", "diary")
    outcome = _patrol(
        mind, dict.fromkeys(kinds, Status(401)), ConversationMessage("user", "I love fjords.")
    )
    assert (outcome.status, outcome.nodes_created) == ("ok", 13)
    for step in ("merged", "diary"):
        assert str(outcome.steps[step]).startswith("failed: ")
        assert ANTHROPIC_KEY not in str(outcome.steps[step])
    assert mind.clusters()["Private"].digest


def test_a_dry_run_asks_no_model(mind: Mind) -> None:
    mind.note("saw a heron", "saw the same heron")
    asked: list[Request] = []
    outcome = _patrol(
        mind, {}, ConversationMessage("user", "I love fjords."), asked=asked, dry_run=True
    )
    assert (asked, outcome.steps["merged"]) == ([], "skipped: no model")


@pytest.mark.parametrize(
    "said",
    [
        '{"nodes": [1, 2], "summary": "x"}',
        'Here you are:\n```json\n{"nodes": [1, 2], "summary": "x"}\n```\nAnything else?',
        'I used {braces} first. {"nodes": ["1", 2], "summary": "x"} {done}',
    ],
)
def test_json_is_found_in_what_a_model_says_around_it(said: str) -> None:
    assert decoded(said, Merge) == Merge([1, 2], "x")


def test_a_summary_that_is_nothing_but_recall_merges_nothing(mind: Mind) -> None:
    mind.note("saw a heron", "saw the same heron")
    summary = "<memory-recall>saw a heron</memory-recall>"
    outcome = _patrol(mind, {"merges": {"merges": [{"nodes": [1, 2], "summary": summary}]}})
    assert (outcome.status, outcome.steps["merged"], len(mind.nodes())) == ("ok", 0, 2)


def _dose(mind: Mind) -> None:
    mind.note("I take 75 micrograms of thyroxine", at=NOW)
    mind.patrol()
    mind.note("I take 100 micrograms of thyroxine", at=NOW + 86_400)


def test_a_model_ends_what_is_no_longer_so_and_it_can_be_undone(mind: Mind) -> None:
    _dose(mind)
    asked: list[Request] = []
    answers = {"outdated": {"outdated": [{"new": 1, "old": [1, 7]}, {"new": 9, "old": [1]}]}}
    outcome = _patrol(mind, answers, asked=asked, now=NOW + 90_000)
    assert outcome.steps["superseded"] == 1
    (new,) = mind.nodes()
    old = mind.node(1)
    assert (old.ending, old.successor, old.ended) == ("superseded", new.seq, new.created)
    again = [one for one in asked if "keep a memory true" in str(one.json["system"])]
    assert len(again) == 1
    assert _patrol(mind, answers, now=NOW + 91_000).steps["superseded"] == 0
    (entry,) = [one for one in mind.history() if one.kind == "superseded"]
    with mind.database.write(mind.being) as unit:
        undo(unit, entry.n, NOW + 92_000, "t")
    assert len(mind.nodes()) == 2


def test_what_was_so_is_found_by_questions_about_the_past_and_by_as_of(mind: Mind) -> None:
    _dose(mind)
    _patrol(mind, {"outdated": {"outdated": [{"new": 1, "old": [1]}]}}, now=NOW + 90_000)

    def told(question: str, **options: Any) -> list[str]:
        with mind.database.read(mind.being) as unit:
            found = search(
                unit, question, embedder=mind.embedder, limit=3, now=NOW + 99_000, **options
            )
        return sorted(hit.node.scene.action.split()[2] for hit in found.hits)

    assert told("How much thyroxine do I take?") == ["100"]
    assert told("How much thyroxine did I take before?") == ["100", "75"]
    assert told("How much thyroxine do I take?", as_of=NOW + 10) == ["75"]


def test_where_a_model_says_nothing_of_use_both_stay(mind: Mind) -> None:
    _dose(mind)
    assert _patrol(mind, {"outdated": "no idea"}).steps["superseded"] == 0
    assert len(mind.nodes()) == 2
