"""A patrol with a model that answers over the real wire, by script, also badly."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from clawkit.memory.model import llm
from clawkit.memory.patrol.answers import decoded
from clawkit.memory.patrol.consolidating import Merge
from clawkit.memory.patrol.conversation import Message
from clawkit.memory.patrol.merging import retract
from clawkit.memory.patrol.round import Outcome
from clawkit.memory.records import Scene
from clawkit.memory.store import entries
from tests.assistant.providers.scripted import Request, Say, Status, scripted_anthropic
from tests.memory.patrol.minds import NOW, TODAY, Mind
from tests.memory.patrol.test_model import ANTHROPIC_KEY

Answers = dict[str, Any]
_MARKS = {
    "take notes": "scenes",
    "the same thing": "merges",
    "Find the topics": "topics",
    "what they are about": "digest",
    "keep the diary": "diary",
}


def _kind(request: Request) -> str:
    system = str(request.json["system"])
    return next(kind for mark, kind in _MARKS.items() if mark in system)


def _patrol(
    mind: Mind,
    answers: Answers,
    *messages: Message,
    asked: list[Request] | None = None,
    **options: Any,
) -> Outcome:
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
        model = llm(ANTHROPIC_KEY, url=server.url, first_pause=0.01)
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
        mind.change(node.seq, session_count=100)
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


def test_merges_beyond_the_cap_stop_the_patrol_and_change_nothing(mind: Mind) -> None:
    mind.note(*(f"heron number {n}" for n in range(25)))
    outcome = _patrol(mind, _merges(list(range(1, 23))))
    assert outcome.status == "stopped"
    assert "21 memories would die or be merged into others" in outcome.stopped
    assert len(mind.nodes()) == 25
    assert all(node.fresh for node in mind.nodes())
    outcome = _patrol(mind, _merges(list(range(1, 23))), cap=21)
    assert (outcome.status, outcome.steps["merged"]) == ("ok", 21)


def test_what_ended_while_the_model_was_thinking_is_not_merged(mind: Mind) -> None:
    mind.note("saw a heron", "saw the same heron")

    def thinking(_: Request) -> Answers:
        with mind.database.write(mind.being) as unit:
            retract(unit, [mind.nodes()[0]], now=NOW + 1, token="t")
        return _merges([1, 2])["merges"]

    outcome = _patrol(mind, {"merges": thinking})
    assert outcome.steps["merged"] == 0
    assert [node.scene.action for node in mind.nodes()] == ["saw the same heron"]


def _topics(*groups: Sequence[int]) -> Answers:
    found = [
        {"name": f"Topic {n}", "digest": f"About {n}.", "nodes": list(group)}
        for n, group in enumerate(groups)
    ]
    return {"topics": {"topics": found}, "digest": {"digest": ""}}


def test_a_model_finds_topics_in_a_root_that_has_grown_and_the_root_stays(mind: Mind) -> None:
    mind.note(*(f"heron number {n}" for n in range(11)))
    outcome = _patrol(mind, _topics([1, 2, 3, 4], [5, 6, 7]))
    assert outcome.steps["split"] == 2
    found = mind.clusters()
    assert set(found) == {"Private", "Topic 0", "Topic 1"}
    root = found["Private"].n
    assert {found["Topic 0"].parent, found["Topic 1"].parent} == {root}
    homes = [node.cluster for node in mind.nodes()]
    assert homes == [found["Topic 0"].n] * 4 + [found["Topic 1"].n] * 3 + [root] * 4


def test_a_topic_is_split_at_more_than_ten_active_memories(mind: Mind) -> None:
    made = mind.remember(*(f"heron number {n}" for n in range(11)))
    mind.topic("Herons", "Private", [node.seq for node in made[:10]])
    asked: list[Request] = []
    _patrol(mind, {}, asked=asked)
    assert "topics" not in [_kind(request) for request in asked]
    mind.topic("More herons", "Private", [node.seq for node in made])
    outcome = _patrol(mind, _topics([1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]))
    assert (outcome.steps["split"], outcome.steps["joined"]) == (2, 2)
    found = mind.clusters()
    assert "More herons" not in found
    assert found["Topic 0"].parent == found["Private"].n


def test_topics_of_two_or_fewer_are_not_made(mind: Mind) -> None:
    mind.note(*(f"heron number {n}" for n in range(11)))
    assert _patrol(mind, _topics([1, 2], [3], [99, 100, 101])).steps["split"] == 0
    assert set(mind.clusters()) == {"Private"}


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


def test_scenes_are_found_by_the_model_with_their_provenance(mind: Mind) -> None:
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
    said = [Message("user", "hello"), Message("user", "I moved to Oslo.", speaker="Ben")]
    outcome = _patrol(mind, {"scenes": found}, *said, conversation="talk")
    assert (outcome.steps["heard"], outcome.scenes_created) == ("by model", 2)
    first, second = mind.nodes()
    assert first.scene == Scene(
        "Ben moved to Oslo", ("Ben",), ("2026-09-01",), "", "happy", ("moves",), 0.9
    )
    assert (first.source.speaker, first.source.conversation) == ("Ben", "talk")
    assert (second.scene.actors, second.scene.when) == (("Ben",), (TODAY,))


def test_the_model_is_not_shown_what_recall_put_into_a_message(mind: Mind) -> None:
    asked: list[Request] = []
    block = "<memory-recall>\nthe secret garden\n</memory-recall>"
    _patrol(mind, {}, Message("user", f"{block} I love fjords."), asked=asked)
    assert "secret garden" not in asked[0].last_text
    assert "fjords" in asked[0].last_text


@pytest.mark.parametrize("answer", ["sorry, no", Status(401), Status(500), '{"scenes": 1}'])
def test_where_the_model_fails_rules_find_the_scenes(mind: Mind, answer: object) -> None:
    outcome = _patrol(mind, {"scenes": answer}, Message("user", "I love fjords."))
    assert (outcome.status, outcome.steps["heard"]) == ("ok", "by rules")
    assert [node.scene.action for node in mind.nodes()] == ["I love fjords."]


def test_a_model_that_always_fails_costs_only_what_needs_it(mind: Mind) -> None:
    mind.note(*(f"heron number {n}" for n in range(12)))
    kinds = ("scenes", "merges", "topics", "digest", "diary")
    outcome = _patrol(mind, dict.fromkeys(kinds, Status(401)), Message("user", "I love fjords."))
    assert (outcome.status, outcome.nodes_created) == ("ok", 13)
    for step in ("merged", "split", "diary"):
        assert str(outcome.steps[step]).startswith("failed: ")
        assert ANTHROPIC_KEY not in str(outcome.steps[step])
    assert mind.clusters()["Private"].digest


def test_a_dry_run_asks_no_model(mind: Mind) -> None:
    mind.note("saw a heron", "saw the same heron")
    asked: list[Request] = []
    outcome = _patrol(mind, {}, Message("user", "I love fjords."), asked=asked, dry_run=True)
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
