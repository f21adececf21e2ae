"""How memory's costs grow with one Being: from a thousand memories to a million, as a curve."""

from __future__ import annotations

import itertools
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TypeVar

from benchmarks.contenders import ROOT
from benchmarks.memory_plot import Curve, plot
from benchmarks.memory_serving import Client, Served, our_server
from benchmarks.memory_speed import recalled
from benchmarks.memory_stores import Door, grow, make_being, scenes
from benchmarks.memory_texts import memories, questions
from benchmarks.messages import WrongReply
from benchmarks.report import Bar, Report, Row, at_most
from clawkit.memory.embed.embedder import shared
from clawkit.memory.recall.search import search
from clawkit.memory.store import nodes
from clawkit.store import open_store
from clawkit.store.database import Unit
from clawkit.text.tokenizer import asked

SIZES = (1_000, 10_000, 100_000, 1_000_000)
PICTURE = ROOT / "docs" / "images" / "memory-scale.svg"
USABLE_MS = 1000
"""What a million memories may take: a recall before every answer must not be felt much."""

NOTED = 9
"""Scenes in a note: one less than call for a patrol."""

_COLUMNS = (
    *("recall p50 ms", "p95", "embed ms", "words ms", "vectors ms", "rest ms"),
    *(f"{NOTED} scenes noted ms", "patrol s", "recall in a patrol, worst ms"),
    *("written/s", "file MB", "resident MB"),
)
_WARM_UP = 5

Result = TypeVar("Result")


@dataclass(frozen=True)
class Parts:
    """What a search is made of, each part's median in seconds."""

    embed: float
    words: float
    vectors: float
    rest: float


@dataclass(frozen=True)
class Size:
    """The figures of one size; times in seconds."""

    nodes: int
    recall: float
    recall_p95: float
    parts: Parts
    noting: float
    patrol: float
    meanwhile: float
    filled_a_second: float
    file_mb: float
    resident_mb: float


def parts(address: str, being: int, some: Sequence[str]) -> Parts:
    """The parts of a search, each by itself, in this process."""
    database = open_store(address)
    try:
        with database.read(being) as unit:
            for question in some[:_WARM_UP]:
                _parts(unit, question)
            every = [_parts(unit, question) for question in some[_WARM_UP:]]
    finally:
        database.close()
    return Parts(*(median(column) for column in zip(*every, strict=True)))


def _parts(unit: Unit, question: str) -> tuple[float, float, float, float]:
    (vector,), embed = _timed(lambda: shared.ask([question]))
    _, words = _timed(lambda: nodes.by_words(unit, asked(question)).scores)
    _, vectors = _timed(lambda: unit.vectors.nearest(shared.name, vector, 80))
    now = time.time()
    _, whole = _timed(lambda: search(unit, question, embedder=shared, limit=3, now=now))
    return embed, words, vectors, max(0.0, whole - embed - words - vectors)


def _timed(do: Callable[[], Result]) -> tuple[Result, float]:
    start = time.perf_counter()
    return do(), time.perf_counter() - start


def noting(served: Served, door: Door, start: int, calls: int) -> tuple[float, float]:
    """Seconds to note some scenes, and of a patrol that remembers them, by their medians.

    One scene less than those that call for a patrol: each is started by us alone.
    """
    client = served.client(door.being.id, door.token)
    new = itertools.islice(memories(start + NOTED * calls), start, None)
    noted: list[float] = []
    patrols: list[float] = []
    while batch := scenes(itertools.islice(new, NOTED)):
        seconds, _ = client.timed("update_notes", scenes=batch)
        noted.append(seconds)
        patrols.append(_patrolled(client))
    return median(noted), median(patrols)


def meanwhile(served: Served, door: Door, some: Sequence[str]) -> float:
    """The longest that a recall takes while a patrol is at work."""
    client, patroller = (served.client(door.being.id, door.token) for _ in range(2))
    with ThreadPoolExecutor(1) as pool:
        patrol = pool.submit(_patrolled, patroller)
        worst = 0.0
        for question in itertools.cycle(some):
            worst = max(worst, recalled(client, question)[0])
            if patrol.done():
                break
        patrol.result()
    return worst


def _patrolled(client: Client) -> float:
    seconds, text = client.timed("trigger_patrol", messages=[])
    if json.loads(text)["status"] != "ok":
        raise WrongReply(text)
    return seconds


def measure(folder: Path, door: Door, nodes: int, quick: bool) -> Size:
    """Let the Being grow to a size, and measure there."""
    file = folder / "scale.db"
    address = f"sqlite:{file}"
    filled, seconds = grow(address, door.being.n, nodes)
    some = questions((30 if quick else 100) + _WARM_UP, SIZES[0])
    split = parts(address, door.being.n, some)
    with our_server(address) as served:
        client = served.client(door.being.id, door.token)
        times = [recalled(client, question)[0] for question in some][_WARM_UP:]
        resident = served.child.resident_mb()
        noted, patrol = noting(served, door, SIZES[-1] + nodes, 3 if quick else 5)
        worst = meanwhile(served, door, some)
    return Size(
        nodes=nodes,
        recall=median(times),
        recall_p95=sorted(times)[int(len(times) * 0.95)],
        parts=split,
        noting=noted,
        patrol=patrol,
        meanwhile=worst,
        filled_a_second=filled / seconds,
        file_mb=file.stat().st_size / 1e6,
        resident_mb=resident,
    )


def run(quick: bool) -> list[Report]:
    """Measure every size; a quick run leaves out the million, and draws nothing."""
    sizes = SIZES[:-1] if quick else SIZES
    with tempfile.TemporaryDirectory() as folder:
        door = make_being(f"sqlite:{Path(folder) / 'scale.db'}")
        found = [measure(Path(folder), door, nodes, quick) for nodes in sizes]
    if not quick:
        PICTURE.parent.mkdir(exist_ok=True)
        PICTURE.write_text(picture(found), encoding="utf-8")
    return [
        Report(
            name="memory_scale",
            title="one Being on SQLite; `recall` over HTTP, its parts in process",
            columns=_COLUMNS,
            rows=tuple(_row(size) for size in found),
            bars=_usable(found[-1]) if not quick else (),
            notes=() if quick else (f"the curve is in {PICTURE.relative_to(ROOT)}",),
        )
    ]


def picture(found: Sequence[Size]) -> str:
    """The curves of what a recall costs, and a patrol."""
    nodes = [size.nodes for size in found]
    figures: dict[str, Callable[[Size], float]] = {
        "recall, over HTTP": lambda size: size.recall,
        "of it: vectors": lambda size: size.parts.vectors,
        "of it: words": lambda size: size.parts.words,
        "of it: the question's vector": lambda size: size.parts.embed,
        "of it: nodes, signals, gate": lambda size: size.parts.rest,
        f"{NOTED} scenes noted": lambda size: size.noting,
    }
    curves = [
        Curve(name, nodes, [figure(size) * 1000 for size in found])
        for name, figure in figures.items()
    ]
    return plot("What a recall costs, by how much is remembered", "memories", "ms", curves)


def _usable(size: Size) -> tuple[Bar, ...]:
    times = {"recall": size.recall, "recall in a patrol, at worst,": size.meanwhile}
    return tuple(
        at_most(f"{size.nodes:,} memories: {what} ≤ {USABLE_MS} ms", each * 1000, USABLE_MS, " ms")
        for what, each in times.items()
    )


def _row(size: Size) -> Row:
    times = (
        *(size.recall, size.recall_p95, size.parts.embed, size.parts.words),
        *(size.parts.vectors, size.parts.rest, size.noting),
    )
    cells = (
        *(seconds * 1000 for seconds in times),
        *(size.patrol, size.meanwhile * 1000),
        *(size.filled_a_second, size.file_mb, size.resident_mb),
    )
    return Row(f"{size.nodes:,} memories", cells)
