"""No search, filter or index of one Being reaches, or starves, another."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import numpy as np

from clawkit.memory import people
from clawkit.memory.records import Being, Cluster, Entry, HistoryMessage, MemorySource, Note, Scene
from clawkit.memory.store import clusters, entries, ledger, messages, nodes, notes, reads
from clawkit.store.database import Database, Unit
from tests.memory.store.records import MODEL, NOW, being, place, remember, vectors

WORDS = ["boat", "house", "tree", "river", "stone", "light", "winter", "bread"]
ASKED = {"boat": 1.0, "winter": 0.5, "bread": 2.0}
STORE = Path(nodes.__file__).parent


def _fill(unit: Unit, one: Being) -> None:
    """Memories that differ from those of the others, in the same words and the same directions."""
    rng = np.random.default_rng(one.n)
    actions = [f"{' '.join(rng.choice(WORDS, 4))} by-{one.name}" for _ in range(20)]
    made = remember(unit, actions, MemorySource(one.name, "", "c"))
    place(unit, made, vectors(20, one.n % 3))
    nodes.change(unit, made[one.n % 20].seq, {"ended": NOW, "ending": "retracted"})
    notes.add(unit, [Note("n", NOW, Scene(one.name)), Note("m", NOW, text=one.name)])
    entries.add(unit, Entry("e", "rule", "k", one.name, NOW), "")
    messages.add(unit, [HistoryMessage("m", NOW, "user", f"boat {one.name}", "c")], "")
    clusters.add(unit, Cluster(1, "c", one.name))
    clusters.set_centroid(unit, 1, MODEL, vectors(1, one.n)[0])
    ledger.add(unit, NOW, "made", one.name, "", [])
    reads.queue(unit, "t", {one.n: 1}, NOW)
    reads.tell(unit, "c", [one.n], NOW)
    unit.set_mark("m", one.name)


def _answers(unit: Unit) -> dict[str, Any]:
    """Everything that can be asked."""
    asked = vectors(1, 77)[0]
    return {
        "scores": nodes.by_words(unit, ASKED).scores.tolist(),
        "all": nodes.having_all(unit, ["boat", "winter"]).tolist(),
        "frequencies": nodes.word_frequencies(unit, WORDS),
        "nearest": unit.vectors.nearest(MODEL, asked, 10),
        "excluding": unit.vectors.nearest(MODEL, asked, 10, range(1, 15)),
        "cosines": unit.vectors.cosines(MODEL, asked, range(1, 40)),
        "vectors": unit.vectors.counts(),
        "missing": unit.vectors.missing("other", 99),
        "nodes": nodes.fetch(unit, range(100)),
        "page": nodes.page(unit, contains="boat"),
        "hidden": nodes.hidden(unit).tolist(),
        "earlier": nodes.hidden(unit, NOW - 1).tolist(),
        "counts": nodes.counts(unit),
        "top": nodes.top(unit),
        "notes": [*notes.waiting(unit, "scene"), *notes.by_ids(unit, ["m", "n"])],
        "waiting": notes.count(unit, "note"),
        "entries": entries.found(unit, "rule"),
        "since": entries.since(unit, "rule", 0.0),
        "messages": messages.search(unit, "boat"),
        "clusters": clusters.every(unit),
        "middles": {n: row.tolist() for n, row in clusters.centroids(unit, MODEL).items()},
        "ledger": ledger.latest(unit),
        "told": reads.told(unit, "c"),
        "names": people.known(unit).names,
        "mark": unit.mark("m"),
    }


def test_fifty_beings_with_the_same_words_and_vectors_never_meet(database: Database) -> None:
    everyone = [being(database, f"B{at}") for at in range(50)]
    alone: dict[int, dict[str, Any]] = {}
    for one in everyone:
        with database.write(one.n) as unit:
            _fill(unit, one)
            alone[one.n] = _answers(unit)
    for one in everyone:
        with database.read(one.n) as unit:
            found = _answers(unit)
        assert found == alone[one.n]
        assert found["names"] == {"Ada", one.name}
        assert {node.source.speaker for node in found["nodes"].values()} == {one.name}
        assert len(found["nodes"]) == found["top"] == 20
        assert len(found["nearest"][0]) == 10
        assert [said.text for said in found["messages"]] == [f"boat {one.name}"]
        assert found["told"] == {one.n}
    with database.write(everyone[7].n) as unit:
        assert reads.take(unit) == {everyone[7].n: NOW}
        unit.vectors.drop(MODEL)
        notes.remove(unit, ["n", "m"])
        entries.remove(unit, "e")
    for one in (everyone[6], everyone[8]):
        with database.read(one.n) as unit:
            assert _answers(unit) == alone[one.n]


def test_a_loud_being_does_not_starve_a_quiet_one(database: Database) -> None:
    quiet, loud = being(database, "Quiet"), being(database, "Loud")
    with database.write(quiet.n) as unit:
        _fill(unit, quiet)
        alone = _answers(unit)
    close = vectors(1, 77) + 0.05 * vectors(20_000, 5)
    close /= np.linalg.norm(close, axis=1, keepdims=True)
    for start in range(0, 20_000, 5000):
        with database.write(loud.n) as unit:
            made = remember(unit, [f"boat winter bread {at % 50}" for at in range(5000)])
            place(unit, made, close[start : start + 5000])
    database.grow()
    with database.read(quiet.n) as unit:
        assert _answers(unit) == alone
    with database.read(loud.n) as unit:
        assert nodes.top(unit) == 20_000
        assert min(unit.vectors.nearest(MODEL, vectors(1, 77)[0], 10)[1]) > 0.99


def test_every_statement_on_a_beings_table_names_the_being() -> None:
    mine = (
        "nodes|postings|clusters|notes|entries|messages|ledger|touches|told|marks"
        "|vectors|sketches|spaces|calls"
    )
    reaches = re.compile(rf"\b(?:FROM|INTO|UPDATE|JOIN)\s+(?:{mine})\b")
    # Of indexes and of copies, for all Beings, out of requests.
    upkeep = {"postgres_vectors.py": {"grow", "_wanted", "_there", "_build"}, "backup.py": {"look"}}
    seen = 0
    for file in sorted(STORE.glob("*.py")):
        for function, text in _strings(ast.parse(file.read_text())):
            if reaches.search(text) and function not in upkeep.get(file.name, ()):
                seen += 1
                assert "$being" in text, f"{file.name}: {text}"
    assert seen > 40


def test_only_the_registry_and_the_drivers_hold_a_bare_connection() -> None:
    holders = {
        file.name for file in STORE.glob("*.py") if re.search(r"\bConnection\b", file.read_text())
    }
    registry = {"beings.py": {"beings", "calls"}, "jobs.py": {"jobs", "runs"}}
    drivers = {"database.py", "sqlite.py", "postgres.py", "postgres_vectors.py"}
    repair = {"salvage.py", "backup.py"}  # of whole files, for no Being
    assert holders - drivers - repair == set(registry)
    for name, own in (*registry.items(), ("../tokens.py", {"tokens"})):
        tables = re.findall(r"\b(?:FROM|INTO|UPDATE)\s+([a-z]+)\b", (STORE / name).read_text())
        assert set(tables) == own


def _strings(tree: ast.AST, function: str = "") -> list[tuple[str, str]]:
    """Every string of a file with the function it is in; what is computed in it is left out."""
    if isinstance(tree, ast.JoinedStr):
        parts = [part.value for part in tree.values if isinstance(part, ast.Constant)]
        return [(function, "".join(map(str, parts)))]
    if isinstance(tree, ast.Constant) and isinstance(tree.value, str | bytes):
        text = tree.value if isinstance(tree.value, str) else tree.value.decode()
        return [(function, text)]
    if isinstance(tree, ast.FunctionDef):
        function = tree.name
    return [pair for child in ast.iter_child_nodes(tree) for pair in _strings(child, function)]
