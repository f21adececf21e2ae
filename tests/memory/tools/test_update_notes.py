from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from clawkit.memory.being_store import BeingStore
from clawkit.memory.memory import Memory
from clawkit.memory.store import jobs, notes
from tests.memory.tools.being_client import FULL, BeingClient, scene

FULL_SCENE = {
    "action": "Rika adopted a grey kitten",
    "actors": ["Rika", "the vet"],
    "when": ["2026-05-01", "2026-05-02"],
    "setting": "animal shelter",
    "feeling": "warm",
    "themes": ["pets"],
    "importance": 0.9,
}


def jobs_of(store: BeingStore, memory: Memory) -> list[str]:
    with store.database.registry() as connection:
        return [kind for kind, _, _ in jobs.waiting(connection, memory.being.n)]


async def test_a_scene_keeps_all_its_parts_and_where_it_came_from(
    client: BeingClient, memory: Memory, store: BeingStore
) -> None:
    client.conversation = "monday"
    answer = await client.json("update_notes", scenes=[FULL_SCENE])
    with store.database.read(memory.being.n) as unit:
        (note,) = notes.waiting(unit, "scene")
    assert answer["scene_ids"] == [note.id]
    assert note.scene is not None
    assert {name: getattr(note.scene, name) for name in FULL_SCENE} == {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in FULL_SCENE.items()
    }
    assert (note.source.token, note.source.conversation) == ("token-full", "monday")


async def test_importance_is_a_half_by_default(
    client: BeingClient, memory: Memory, store: BeingStore
) -> None:
    await client.call("update_notes", scenes=[scene("Rika called")])
    with store.database.read(memory.being.n) as unit:
        (note,) = notes.waiting(unit, "scene")
    assert note.scene is not None
    assert note.scene.importance == 0.5


async def test_notes_stay_as_they_are_through_a_patrol(client: BeingClient, memory: Memory) -> None:
    answer = await client.json("update_notes", notes=["buy milk", "call the vet"])
    assert len(answer["note_ids"]) == 2
    memory.patrol_due()
    snapshot = (await client.json("get_context"))["snapshot"]
    assert "buy milk" in snapshot
    assert "call the vet" in snapshot


async def test_scenes_or_notes_are_needed(client: BeingClient) -> None:
    assert "at least one of scenes or notes" in await client.error("update_notes")
    assert "at least one" in await client.error("update_notes", scenes=[], notes=[])


async def test_ten_waiting_scenes_start_a_patrol_in_the_background(
    client: BeingClient, memory: Memory, store: BeingStore
) -> None:
    nine = [scene(f"Rika read chapter {n}") for n in range(9)]
    answer = await client.json("update_notes", scenes=nine, notes=["not a scene"])
    assert answer["waiting_scenes"] == 9
    assert "patrol" not in answer
    assert jobs_of(store, memory) == []
    answer = await client.json("update_notes", scenes=[scene("Rika read chapter 9")])
    assert "patrol" in answer
    assert jobs_of(store, memory) == ["patrol"]
    store.worker.work_off()
    assert memory.figures()["waiting_scenes"] == 0
    assert memory.figures()["active"] == 10


async def test_update_replaces_scenes_that_still_wait(client: BeingClient, memory: Memory) -> None:
    first = await client.json("update_notes", scenes=[scene("Rika lives in Kyoto")])
    answer = await client.json(
        "update_notes",
        action="update",
        scene_ids=first["scene_ids"],
        scenes=[scene("Rika lives in Osaka")],
    )
    assert answer["deleted"] == 1
    assert answer["not_found"] == []
    assert answer["waiting_scenes"] == 1
    memory.patrol_due()
    found = await client.call("search_memory", query="Rika lives")
    assert "Osaka" in found
    assert "Kyoto" not in found


async def test_update_replaces_scenes_that_have_become_memories(
    client: BeingClient, memory: Memory
) -> None:
    first = await client.json("update_notes", scenes=[scene("Rika lives in Kyoto")])
    memory.patrol_due()
    answer = await client.json(
        "update_notes",
        action="update",
        scene_ids=first["scene_ids"],
        scenes=[scene("Rika lives in Osaka")],
    )
    assert answer["deleted"] == 1
    memory.patrol_due()
    found = await client.call("search_memory", query="Rika lives")
    assert "Osaka" in found
    assert "Kyoto" not in found


async def test_ids_that_are_not_there_are_named(client: BeingClient) -> None:
    unknown = str(uuid4())
    answer = await client.json(
        "update_notes", action="update", scene_ids=[unknown], scenes=[scene("Rika called")]
    )
    assert answer["deleted"] == 0
    assert answer["not_found"] == [unknown]


async def test_ids_are_deleted_only_by_an_update(client: BeingClient) -> None:
    text = await client.error(
        "update_notes", scene_ids=[str(uuid4())], scenes=[scene("Rika called")]
    )
    assert "scene_ids" in text
    await client.call("update_notes", scene_ids=[], scenes=[scene("Rika called")])


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"action": None}, "scenes[0].action"),
        ({"action": " "}, "scenes[0].action"),
        ({"action": "x" * 20_001}, "20,000"),
        ({"actors": "Rika"}, "scenes[0].actors"),
        ({"when": ["2026-02-30"]}, "scenes[0].when[0]"),
        ({"when": ["20260201"]}, "scenes[0].when[0]"),
        ({"when": ["2026-W05-1"]}, "scenes[0].when[0]"),
        ({"when": ["yesterday"]}, "YYYY-MM-DD"),
        ({"when": "2026-01-01"}, "scenes[0].when"),
        ({"importance": 1.5}, "scenes[0].importance"),
        ({"importance": -0.1}, "scenes[0].importance"),
        ({"importance": "high"}, "scenes[0].importance"),
        ({"themes": ["x" * 201]}, "scenes[0].themes[0]"),
        ({"actors": ["x"] * 101}, "scenes[0].actors"),
    ],
)
async def test_a_scene_that_is_not_right_is_refused_by_name(
    client: BeingClient, memory: Memory, change: dict[str, Any], named: str
) -> None:
    assert named in await client.error("update_notes", scenes=[{**scene("Rika called"), **change}])
    assert memory.figures()["waiting_scenes"] == 0


@pytest.mark.parametrize("missing", ["action", "actors", "when"])
async def test_required_parts_of_a_scene_are_required(client: BeingClient, missing: str) -> None:
    given = scene("Rika called")
    del given[missing]
    assert missing in await client.error("update_notes", scenes=[given])


async def test_one_megabyte_and_too_many_are_refused_clearly(client: BeingClient) -> None:
    assert "at most 20,000" in await client.error("update_notes", scenes=[scene("x" * 1_000_000)])
    assert "at most 20,000" in await client.error("update_notes", notes=["x" * 1_000_000])
    many = [scene(f"Rika read chapter {n}") for n in range(101)]
    assert "at most 100" in await client.error("update_notes", scenes=many)


async def test_one_bad_scene_keeps_the_others_out(client: BeingClient, memory: Memory) -> None:
    good, bad = scene("Rika called"), scene("Rika left", when=["never"])
    assert "scenes[1].when[0]" in await client.error("update_notes", scenes=[good, bad])
    assert memory.figures()["waiting_scenes"] == 0


async def test_null_stands_for_what_is_left_out(client: BeingClient) -> None:
    given = scene("Rika called", setting=None, feeling=None, themes=None, importance=None)
    answer = await client.json("update_notes", action=None, scenes=[given], notes=None)
    assert answer["waiting_scenes"] == 1


async def test_an_empty_note_is_refused_by_its_place(client: BeingClient) -> None:
    assert "notes[1]" in await client.error("update_notes", notes=["buy milk", " "])
    assert 'entries":[]' in await client.call("update_memory", target="notes", action="get")


async def test_an_update_with_a_memorys_id_corrects_it(client: BeingClient, memory: Memory) -> None:
    wrong = memory.remember("Rika adopted a grey kitten", FULL)
    answer = await client.json(
        "update_notes",
        action="update",
        scene_ids=[wrong.id],
        scenes=[scene("Rika adopted a brown kitten")],
    )
    (corrected,) = answer["corrected"]
    assert (corrected["old"], corrected["was"]) == (wrong.id, "Rika adopted a grey kitten")
    told = await client.call("recall", user_message="Which kitten did Rika adopt?")
    assert "brown" in told
    assert "grey" not in told
    before = await client.call("recall_memory", node_id=wrong.id)
    assert "corrected" in before


async def test_an_update_without_scenes_forgets_memories_and_can_be_undone(
    client: BeingClient, memory: Memory
) -> None:
    node = memory.remember("Rika adopted a grey kitten", FULL)
    noted = await client.json("update_notes", scenes=[scene("Rika called the vet")])
    ids = [node.id, noted["scene_ids"][0], "00000000-0000-0000-0000-000000000000"]
    answer = await client.json("update_notes", action="update", scene_ids=ids, notes=[])
    assert node.id in answer["forgotten"]
    assert len(answer["forgotten"]) == 2
    assert answer["not_found"] == ids[2:]
    assert memory.figures()["nodes"] == 0
    (entry,) = [one for one in memory.ledger() if one.kind == "retracted"]
    memory.undo(entry.n, FULL)
    assert memory.figures()["nodes"] == 2


async def test_an_undone_correction_leaves_only_what_was_there_before(
    client: BeingClient, memory: Memory
) -> None:
    wrong = memory.remember("Rika adopted a grey kitten", FULL)
    brown = [scene("Rika adopted a brown kitten")]
    await client.json("update_notes", action="update", scene_ids=[wrong.id], scenes=brown)
    (entry,) = [one for one in memory.ledger() if one.kind == "corrected"]
    memory.undo(entry.n, FULL)
    told = await client.call("recall", user_message="Which kitten did Rika adopt?")
    assert "grey" in told
    assert "brown" not in told
    memory.undo(memory.ledger()[0].n, FULL)
    again = await client.call("recall", user_message="Which kitten did Rika adopt?")
    assert "brown" in again
    assert "grey" not in again
