"""Conversations and the official memory server's file, read line by line."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from clawkit.errors import BeingError
from clawkit.memory.imports.readers import (
    ImportedRelation,
    format_of,
    read,
    read_conversations,
    read_graph,
)
from tests.nodejs import node_program
from tests.processes import ROOT, stdio_server

SERVER = ROOT / "tests/node/node_modules/@modelcontextprotocol/server-memory/dist/index.js"


def lines(file: Path, *objects: Any) -> Path:
    file.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in objects))
    os.utime(file, (1_772_366_400, 1_772_366_400))
    return file


def test_messages_have_their_time_speaker_and_conversation(tmp_path: Path) -> None:
    file = lines(
        tmp_path / "talk.jsonl",
        {"role": "user", "content": "Hello", "timestamp": "2026-01-02T10:00:00Z"},
        {"role": "assistant", "content": [{"type": "text", "text": "Hi"}, {"type": "image"}]},
        {"role": "user", "content": "x", "timestamp": 1767434400, "conversation": "c2"},
        {"role": "user", "content": "y", "timestamp": 1767434400000, "speaker": "Anna"},
        {"role": "user", "content": "  "},
    )
    found = read_conversations(file).messages
    assert [(one.text, one.at, one.conversation, one.speaker) for one in found] == [
        ("Hello", 1767348000.0, "talk.jsonl", ""),
        ("Hi", 1767348000.0, "talk.jsonl", ""),
        ("x", 1767434400.0, "c2", ""),
        ("y", 1767434400.0, "talk.jsonl", "Anna"),
    ]


def test_messages_without_any_time_have_that_of_the_file(tmp_path: Path) -> None:
    file = lines(tmp_path / "talk.jsonl", {"role": "user", "content": "Hello"})
    assert read_conversations(file).messages[0].at == 1_772_366_400.0
    (kept,) = read_conversations(file, as_memories=True).memories
    assert kept.scene.when == ("2026-03-01",)
    assert not kept.dated


def test_days_in_a_message_that_is_a_memory_are_counted_from_its_own(tmp_path: Path) -> None:
    said = {"role": "user", "content": "The plumber comes tomorrow", "timestamp": "2026-11-15"}
    (kept,) = read_conversations(lines(tmp_path / "a.jsonl", said), as_memories=True).memories
    assert kept.scene.action == "The plumber comes tomorrow (2026-11-16)"
    assert kept.scene.when == ("2026-11-15", "2026-11-16")
    undated = {"role": "user", "content": "The plumber comes tomorrow"}
    (kept,) = read_conversations(lines(tmp_path / "b.jsonl", undated), as_memories=True).memories
    assert kept.scene.action == "The plumber comes tomorrow"


def test_each_message_can_be_a_memory(tmp_path: Path) -> None:
    said = {"role": "user", "content": "I like tea", "speaker": "Anna", "timestamp": "2026-01-02"}
    file = lines(tmp_path / "talk.jsonl", said)
    (kept,) = read_conversations(file, as_memories=True).memories
    assert kept.scene.action == "I like tea"
    assert (kept.scene.actors, kept.scene.when) == (("Anna",), ("2026-01-02",))
    assert (kept.speaker, kept.place) == ("Anna", "talk.jsonl")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "this is no JSON object"),
        ("[]", "this is no JSON object"),
        pytest.param('{"_":' * 1_000_000, "this is no JSON object: nested too deeply", id="deep"),
        ('{"content": "x"}', "`role` must be one of user, assistant, system, tool, not None"),
        ('{"role": "user"}', "`content` must be a text, or a list of parts with texts"),
        ('{"role": "user", "content": "x", "timestamp": "soon"}', "`timestamp` must be"),
        ('{"role": "user", "content": "x", "timestamp": 1e300}', "`timestamp` must be"),
        ('{"role": "user", "content": "x", "timestamp": true}', "`timestamp` must be"),
        ('{"role": "user", "content": "x", "speaker": 1}', "`speaker` must be a text"),
    ],
)
def test_a_bad_message_is_named_with_its_line(tmp_path: Path, line: str, problem: str) -> None:
    file = tmp_path / "talk.jsonl"
    file.write_text(f'\n{{"role": "user", "content": "fine"}}\n{line}\n')
    found = read_conversations(file)
    (named,) = found.problems
    assert (named.file, named.line) == ("talk.jsonl", 3)
    assert named.what.startswith(problem)
    assert len(found.messages) == 1


def test_observations_are_memories_and_relations_are_relationships(tmp_path: Path) -> None:
    file = lines(
        tmp_path / "memory.json",
        {
            "type": "entity",
            "name": "Anna",
            "entityType": "person",
            "observations": ["likes tea", "Anna is allergic to nuts", ""],
        },
        {"type": "relation", "from": "Anna", "to": "Acme", "relationType": "works at"},
        {"type": "relation", "from": "Anna", "to": "Ben", "relationType": "knows"},
        {"type": "relation", "from": "Rex", "to": "Anna", "relationType": "belongs to"},
    )
    found = read_graph(file)
    assert [one.scene.action for one in found.memories] == [
        "Anna: likes tea",
        "Anna is allergic to nuts",
    ]
    assert found.memories[0].scene.actors == ("Anna",)
    assert found.memories[0].scene.themes == ("person",)
    assert found.memories[0].scene.when == ()
    assert found.relations == (
        ImportedRelation("Anna", "person", ("works at Acme", "knows Ben")),
        ImportedRelation("Rex", "entity", ("belongs to Anna",)),
    )


def test_a_bad_entity_is_named_with_its_line(tmp_path: Path) -> None:
    file = lines(
        tmp_path / "memory.json",
        {"type": "entity", "name": "", "entityType": "person", "observations": []},
        {"type": "entity", "name": "A", "entityType": "person", "observations": [1]},
        {"type": "relation", "from": "A", "to": "B"},
        {"type": "other"},
    )
    found = [str(one) for one in read_graph(file).problems]
    assert found == [
        "memory.json, line 1: `name` must be a text",
        "memory.json, line 2: `observations` must be a list of texts",
        "memory.json, line 3: `relationType` must be a text",
        'memory.json, line 4: `type` must be "entity" or "relation"',
    ]


def test_what_the_official_memory_server_writes_is_read(tmp_path: Path) -> None:
    file = tmp_path / "memory.jsonl"
    entities = [{"name": "Anna", "entityType": "person", "observations": ["likes 緑茶"]}]
    relations = [{"from": "Anna", "to": "Acme", "relationType": "works at"}]
    environment = {"MEMORY_FILE_PATH": str(file)}
    with stdio_server(node_program(), str(SERVER), env=environment) as server:
        info = {"name": "test", "version": "1"}
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
        server.call("initialize", hello)
        server.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        for tool, arguments in (
            ("create_entities", {"entities": entities}),
            ("create_relations", {"relations": relations}),
        ):
            answer = server.call("tools/call", {"name": tool, "arguments": arguments})
            assert not answer["result"].get("isError"), answer
    assert format_of(file) == "server-memory"
    found = read(file, "server-memory")
    assert [one.scene.action for one in found.memories] == ["Anna: likes 緑茶"]
    assert found.relations == (ImportedRelation("Anna", "person", ("works at Acme",)),)
    assert found.problems == ()


def test_formats_are_told_by_the_first_line(tmp_path: Path) -> None:
    said = lines(tmp_path / "a", {"role": "user", "content": "x"})
    graph = lines(tmp_path / "b", {"type": "entity", "name": "A", "observations": []})
    bundle = lines(tmp_path / "c", {"kind": "bundle", "format": "clawkit-memory", "version": 9})
    found = [format_of(file) for file in (said, graph, bundle, tmp_path)]
    assert found == ["jsonl", "server-memory", "bundle", "markdown"]
    for nothing in ("", "words", "[1]", '{"a": 1}'):
        (tmp_path / "d").write_text(nothing)
        with pytest.raises(BeingError, match="say --format bundle, markdown, jsonl or server-mem"):
            format_of(tmp_path / "d")
    with pytest.raises(BeingError, match="is a folder"):
        read(tmp_path, "jsonl")
