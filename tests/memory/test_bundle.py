"""A Being's memory as one file: the same bytes for the same memory, all of it or nothing."""

from __future__ import annotations

import hashlib
import io
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from clawkit.errors import BeingError
from clawkit.memory import bundle
from clawkit.memory.being_store import BeingStore
from clawkit.memory.recall.index_text import words_of_node
from clawkit.memory.records import (
    Being,
    Change,
    Cluster,
    Entry,
    HistoryMessage,
    MemorySource,
    Node,
    Note,
    Scene,
)
from clawkit.memory.store import beings, clusters, entries, ledger, messages, nodes, notes
from clawkit.store import open_store
from clawkit.store.database import Database
from tests.processes import PATIENCE

HOSTILE = '\'; DROP TABLE nodes; -- \u2028 "quoted" \\ 東京 🦀 \x7f'


@pytest.fixture
def store(database: Database) -> BeingStore:
    return BeingStore(database, "none")


def node(seq: int, action: str, **more: Any) -> Node:
    scene = Scene(action, ("Anna", "Ben"), ("2026-01-02",), "home", "glad", ("tea",), 0.7)
    usual: dict[str, Any] = {"scene": scene, "created": 1000.1 + seq, "cluster": 1}
    return Node(seq=seq, id=f"00000000-0000-4000-8000-{seq:012}", **{**usual, **more})


def filled(store: BeingStore, name: str = "anna", count: int = 3) -> Being:
    """A Being with something of everything."""
    being = store.create(name)
    with store.database.write(being.n) as unit:
        clusters.add(unit, Cluster(1, "c1", "Private", None, "all there is"))
        clusters.add(unit, Cluster(2, "c2", "Tea", 1))
        clusters.set_gone(unit, 2, 1234.5)
        some = [node(seq, f"drank tea number {seq}") for seq in range(1, count + 1)]
        source = MemorySource("Anna", "token-id", "a conversation")
        some += [
            node(count + 1, HOSTILE, source=source, status="dead", pinned=True, fresh=False),
            node(count + 2, "old", ended=2000.25, ending="superseded", successor=1),
        ]
        nodes.reserve(unit, len(some))
        nodes.add(unit, some)
        nodes.index_words(unit, {one.seq: words_of_node(one) for one in some})
        nodes.change(unit, 1, {"importance": 0.95})
        notes.add(unit, [Note("n2", 5.0, text="buy milk"), Note("n1", 5.0, Scene("saw a fox"))])
        notes.add(unit, [Note("n0", 9.0, Scene("became a node"))])
        notes.take(unit, [("n0", 1)])
        entries.add(unit, Entry("e1", "souls", "anna", HOSTILE, 7.0, {"enabled": True}), "token-id")
        said = [
            HistoryMessage(f"m{at}", 10.0 + at % 2, "user", f"hello {at}", "talk")
            for at in range(5)
        ]
        messages.add(unit, said, "token-id")
        change = Change("nodes", "5", None, {"ended": 2000.25})
        ledger.add(unit, 2000.25, "supersede", "it was wrong", "local", [change])
        ledger.add(unit, 2001.0, "undo", "", "local", [])
        unit.set_mark("marker", "m4")
    return being


def exported(store: BeingStore, being: Being) -> bytes:
    return b"".join(bundle.export(store.database, being))


def load(store: BeingStore, data: bytes, into: Being | str = "copy") -> Being:
    return bundle.load(store, io.BytesIO(data), "b.jsonl", into=into)[0]


def signed(lines: list[bytes]) -> bytes:
    """Lines with an end that fits them."""
    body = b"".join(line + b"\n" for line in lines)
    end = {"kind": "end", "lines": len(lines), "sha256": hashlib.sha256(body).hexdigest()}
    return body + json.dumps(end).encode() + b"\n"


def test_the_same_memory_gives_the_same_bytes(store: BeingStore) -> None:
    being = filled(store)
    assert exported(store, being) == exported(store, being)


def test_an_imported_bundle_is_the_same_memory_and_exports_to_the_same_bytes(
    store: BeingStore, tmp_path: Path
) -> None:
    being = filled(store)
    data = exported(store, being)
    copy = load(store, data)
    assert copy.name == "copy"
    assert copy.id != being.id
    assert exported(store, copy) == data
    with store.database.read(being.n) as one, store.database.read(copy.n) as other:
        assert nodes.page(one, ended=True) == nodes.page(other, ended=True)
        assert notes.waiting(one, "scene") == notes.waiting(other, "scene")
        words = {"tea": 1.0}
        assert (
            nodes.by_words(one, words).scores.tolist()
            == nodes.by_words(other, words).scores.tolist()
        )
        assert ledger.latest(one) == ledger.latest(other)
    with store.database.write(copy.n) as unit:
        assert nodes.reserve(unit, 1) == 6
        assert ledger.add(unit, 1.0, "pin", "", "", []) == 3
    elsewhere = BeingStore(open_store(f"sqlite:{tmp_path / 'other.db'}"), "none")
    assert exported(elsewhere, load(elsewhere, data)) == data
    elsewhere.close()


def test_a_bundle_has_no_tokens_no_keys_and_nothing_of_other_beings(store: BeingStore) -> None:
    from clawkit.memory.tokens import issue

    being = filled(store)
    data = exported(store, being)
    other = filled(store, "secret-other")
    secret, token = issue(store, being)
    with store.database.registry(write=True) as connection:
        beings.set_key(connection, being.n, b"sealed-key")
    assert exported(store, being) == data
    for hidden in (secret, token.id, "sealed-key", being.id, other.id, "secret-other"):
        assert hidden.encode() not in data


def test_a_bundle_of_a_being_that_remembers_nothing_can_be_imported(store: BeingStore) -> None:
    data = exported(store, store.create("nobody"))
    assert len(data.splitlines()) == 2
    assert exported(store, load(store, data)) == data


def test_a_being_that_is_there_and_empty_takes_a_bundle(store: BeingStore) -> None:
    data = exported(store, filled(store))
    empty = store.create("empty")
    with store.database.write(empty.n) as unit:
        clusters.add(unit, Cluster(1, "root", "Business"))
    assert load(store, data, empty) == empty
    assert exported(store, empty) == data


def test_a_being_that_remembers_something_takes_no_bundle(store: BeingStore) -> None:
    data = exported(store, filled(store))
    other = store.create("other")
    with store.database.write(other.n) as unit:
        notes.add(unit, [Note("n1", 1.0, text="mine")])
    before = exported(store, other)
    with pytest.raises(BeingError, match="other remembers something already"):
        load(store, data, other)
    assert exported(store, other) == before


def test_many_memories_are_exported_in_their_order(store: BeingStore) -> None:
    being = filled(store, count=2500)
    data = exported(store, being)
    seqs = [json.loads(line)["node"]["seq"] for line in data.splitlines() if b'"node":{' in line]
    assert seqs == list(range(1, 2503))
    assert exported(store, load(store, data)) == data


def damaged(lines: list[bytes], line: int, old: bytes, new: bytes) -> bytes:
    """A bundle in which one line was changed, and whose end fits it."""
    assert old in lines[line - 1]
    return signed([*lines[: line - 1], lines[line - 1].replace(old, new), *lines[line:-1]])


def test_a_damaged_bundle_is_refused_with_the_line_and_nothing_is_written(
    store: BeingStore,
) -> None:
    data = exported(store, filled(store))
    lines = data.splitlines()
    cases = {
        "line 5: this is no line of a bundle": damaged(lines, 5, b"{", b""),
        "line 4: this is no line of a bundle: .*seq": damaged(lines, 4, b'"seq":1', b'"seq":"1"'),
        "line 5: memory 2 is missing": signed([*lines[:4], *lines[5:-1]]),
        "line 5: .* is there twice": damaged(lines, 5, b"0002", b"0001"),
        "line 4: there is no cluster 7": damaged(lines, 4, b'"cluster":1', b'"cluster":7'),
        "line 8: there is no memory 99": damaged(lines, 8, b'"successor":1', b'"successor":99'),
        "line 3: the lines are not in their order": signed([lines[0], lines[-2], *lines[1:-2]]),
        "line 5: a second bundle begins here": signed([*lines[:4], *lines[:-1]]),
        r"line 6: .*cut off": b"".join(line + b"\n" for line in lines[:6]),
        f"line {len(lines)}: the checksum": data.replace(b"number 2", b"number 3"),
        f"line {len(lines) - 1}: .* should stand before": b"\n".join((*lines[:-2], lines[-1])),
        f"line {len(lines) + 1}: .*behind the end": data + b"{}\n",
        "line 1: a bundle begins otherwise": b"\n".join(lines[1:]),
        "the file is empty": b"",
        "line 1: .*version 2, .*install a newer": damaged(lines, 1, b'ion":1', b'ion":2'),
        "line 1: there is no version 0": damaged(lines, 1, b'ion":1', b'ion":0'),
        "line 3: there is no cluster 9": damaged(lines, 3, b'"parent":1', b'"parent":9'),
        "line 3: a cluster cannot be 2, or in": damaged(lines, 3, b'"parent":1', b'"parent":2'),
        "line 5: cluster 2 is gone": damaged(lines, 5, b'"cluster":1', b'"cluster":2'),
        "line 4: `importance` is between": damaged(lines, 4, b"0.95", b"1e9"),
        "line 4: .*2147483647": damaged(
            lines, 4, b'"session_count":0', b'"session_count":%d' % 2**70
        ),
        "line 4: .*created": damaged(lines, 4, b'"created":', b'"created":1e300,"_":'),
        "line .*: there is no memory 77": damaged(lines, 11, b'"taken":1', b'"taken":77'),
        "line .*: such changes are not": data.replace(b'"table":"nodes"', b'"table":"tokens"'),
        "line 5: .*nested too deeply": damaged(lines, 5, b"{", b'{"_":' + b"[" * 1_000_000),
    }
    before = [being.id for being in store.every()]
    for problem, given in cases.items():
        with pytest.raises(BeingError, match=problem):
            load(store, given)
    assert [being.id for being in store.every()] == before


def test_a_bundle_that_is_cut_anywhere_is_refused(store: BeingStore) -> None:
    data = exported(store, filled(store))
    for length in range(0, len(data) - 1, 97):
        with pytest.raises(BeingError):
            load(store, data[:length])
    assert len(store.every()) == 1


_IMPORTING = """
import os, signal, sys
from clawkit.memory import bundle
from clawkit.memory.being_store import BeingStore
from clawkit.store.database import Database
from clawkit.store import open_store

def stop(lines):
    if lines > 2000:
        os.kill(os.getpid(), signal.SIGKILL)

store = BeingStore(open_store(sys.argv[1]), "none")
with open(sys.argv[2], "rb") as file:
    bundle.load(store, file, "b.jsonl", into="copy", advance=stop)
"""


def test_an_import_that_is_killed_leaves_nothing(
    store: BeingStore, address: str, tmp_path: Path
) -> None:
    file = tmp_path / "b.jsonl"
    file.write_bytes(exported(store, filled(store, count=3000)))
    done = subprocess.run(
        [sys.executable, "-c", _IMPORTING, address, file],
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL
    assert [being.name for being in store.every()] == ["anna"]
    assert exported(store, load(store, file.read_bytes())) == file.read_bytes()
