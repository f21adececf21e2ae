"""`recall` and `update_notes` over HTTP, beside mcp-memory-service with the same texts."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from benchmarks.measure import ChildFailed
from benchmarks.memory_serving import PEER, PEER_PYTHON, Client, Served, our_server, peer_server
from benchmarks.memory_stores import Door, grow, make_being, scenes
from benchmarks.memory_texts import memories, questions
from benchmarks.messages import WrongReply
from benchmarks.report import MISSING, Bar, Report, Row, at_least, at_most, times_better
from benchmarks.rounds import Samples, interleaved

SMALL, LARGE = 10_000, 100_000
NOTED_AT_ONCE = 10
TOLD, NOTHING = "<memory-recall>", "No relevant memories found."
TIMES_FASTER, MOST_MS, TIMES_LARGE, MOST_NOTES_MS = 4, 15, 2, 20 * NOTED_AT_ONCE

_OURS, _OURS_LARGE = f"recall, {SMALL:,} memories", f"recall, {LARGE:,} memories"
_SEARCH = f"search_memory, {SMALL:,} memories"
_PEERS = f"{PEER}, {SMALL:,} memories"
_NOTES, _PEER_NOTES = "update_notes of 10 scenes", f"{PEER}, memory_store 10 times"
_COLUMNS = ("p50 ms", "p95 ms", "CPU ms", "first ms", "resident MB", "told %")
_WARM_UP = 10


@dataclass(frozen=True)
class Times:
    """Some calls one after the other, in seconds."""

    first: float
    p50: float
    p95: float
    cpu: float
    resident_mb: float
    told: float = 1.0
    """The share of questions at which something came to mind."""


@dataclass(frozen=True)
class Asker:
    """One server, and how it is asked."""

    name: str
    ask: Callable[[str], tuple[float, bool]]
    served: Served | None

    @property
    def installed(self) -> bool:
        """Whether it runs here."""
        return self.served is not None


class Asking:
    """Gives every asker the same questions, and never the same twice."""

    def __init__(self, askers: Sequence[Asker], rounds: int, calls: int) -> None:
        """Every round has its own questions."""
        each = calls + _WARM_UP
        every = questions(rounds * each, SMALL)
        self._left = {
            asker.name: iter([every[at * each : (at + 1) * each] for at in range(rounds)])
            for asker in askers
        }

    def run(self, asker: Asker) -> Times:
        """One round."""
        assert asker.served is not None
        some = next(self._left[asker.name])
        child = asker.served.child
        answers = [asker.ask(question) for question in some[:_WARM_UP]]
        before = child.cpu_seconds()
        answers += [asker.ask(question) for question in some[_WARM_UP:]]
        spent = child.cpu_seconds() - before
        times = summed_up([seconds for seconds, _ in answers], spent, child.resident_mb())
        return replace(times, told=sum(told for _, told in answers) / len(answers))


def summed_up(
    measured: list[float], cpu: float, resident_mb: float, warm_up: int = _WARM_UP
) -> Times:
    """The times without the warming up."""
    warm = sorted(measured[warm_up:])
    p95 = warm[int(len(warm) * 0.95)]
    return Times(measured[0], median(warm), p95, cpu / len(warm), resident_mb)


def recalled(client: Client, question: str) -> tuple[float, bool]:
    """The seconds until the answer is there, and whether anything came to mind."""
    seconds, text = client.timed("recall", user_message=question)
    if TOLD not in text and text != NOTHING:
        raise WrongReply(text)
    return seconds, TOLD in text


def searched(client: Client, question: str) -> tuple[float, bool]:
    """The same without a trace."""
    seconds, text = client.timed("search_memory", query=question, limit=3)
    if "hybrid" not in text.split("\n", 1)[0]:
        raise WrongReply(f"this is no hybrid search: {text}")
    return seconds, True


def peer_searched(client: Client, question: str) -> tuple[float, bool]:
    """The peer's search for as many memories as `recall` tells."""
    seconds, text = client.timed("memory_search", query=question, limit=3)
    if not text.startswith("Found 3"):
        raise WrongReply(text)
    return seconds, True


def take_notes(served: Served, door: Door, calls: int) -> Times:
    """Ten scenes a call; after each the server patrols in the background, as it always does."""
    client = served.client(door.being.id, door.token)
    new = itertools.islice(memories(LARGE + NOTED_AT_ONCE * (calls + 3)), LARGE, None)
    measured: list[float] = []
    before = served.child.cpu_seconds()
    while batch := scenes(itertools.islice(new, NOTED_AT_ONCE)):
        seconds, text = client.timed("update_notes", scenes=batch)
        if "waiting_scenes" not in text:
            raise WrongReply(text)
        measured.append(seconds)
    cpu = served.child.cpu_seconds() - before
    return summed_up(measured, cpu, served.child.resident_mb(), warm_up=3)


def peer_stores(served: Served, calls: int) -> Times:
    """Ten memories, which its tools take one by one."""
    client = served.client()
    new = itertools.islice(memories(LARGE + NOTED_AT_ONCE * (calls + 1)), LARGE, None)
    measured: list[float] = []
    before = served.child.cpu_seconds()
    while batch := list(itertools.islice(new, NOTED_AT_ONCE)):
        one = [client.timed("memory_store", content=n.text, conversation_id="b") for n in batch]
        measured.append(sum(seconds for seconds, _ in one))
    cpu = served.child.cpu_seconds() - before
    return summed_up(measured, cpu, served.child.resident_mb(), warm_up=1)


@contextmanager
def being_of(folder: Path, size: int) -> Iterator[tuple[Served, Door]]:
    """A server with one Being that remembers so much."""
    address = f"sqlite:{folder / f'{size}.db'}"
    door = make_being(address)
    grow(address, door.being.n, size)
    with our_server(address) as served:
        yield served, door


def run(quick: bool) -> list[Report]:
    """Measure ours with two sizes, the peer with the smaller one."""
    rounds, calls = (3, 30) if quick else (5, 100)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        small, small_door = stack.enter_context(being_of(folder, SMALL))
        large, large_door = stack.enter_context(being_of(folder, LARGE))
        peer, problem = _peer(stack)
        askers = [
            Asker(_OURS, _by(small, small_door, recalled), small),
            Asker(_OURS_LARGE, _by(large, large_door, recalled), large),
            Asker(_SEARCH, _by(small, small_door, searched), small),
            Asker(_PEERS, _by(peer, None, peer_searched), peer),
        ]
        samples = interleaved(askers, rounds, Asking(askers, rounds, calls).run)
        samples.by_name[_NOTES] = [take_notes(small, small_door, calls)]
        if peer is not None:
            samples.by_name[_PEER_NOTES] = [peer_stores(peer, 3 if quick else 10)]
    return [_report(samples, rounds, calls, problem)]


def _peer(stack: ExitStack) -> tuple[Served | None, tuple[str, ...]]:
    """The peer with the same texts, or why it is not there."""
    if not PEER_PYTHON.exists():
        return None, ("`make build/memory-peer/.ready` installs the peer",)
    texts = list(dict.fromkeys(noted.text for noted in memories(SMALL)))
    try:
        return stack.enter_context(peer_server(texts)), ()
    except ChildFailed as error:
        return None, (f"{PEER}: {error}",)


def _by(
    served: Served | None, door: Door | None, ask: Callable[[Client, str], tuple[float, bool]]
) -> Callable[[str], tuple[float, bool]]:
    if served is None:
        return lambda _: (MISSING, False)
    client = served.client(door.being.id, door.token) if door else served.client()
    return lambda question: ask(client, question)


def _report(samples: Samples[Times], rounds: int, calls: int, notes: tuple[str, ...]) -> Report:
    rows = (_OURS, _OURS_LARGE, _SEARCH, _PEERS, _NOTES, _PEER_NOTES)
    return Report(
        name="memory_speed",
        title=f"over HTTP, one call after the other, {rounds} rounds of {calls} questions",
        columns=_COLUMNS,
        rows=tuple(_row(samples, name) for name in rows),
        bars=_bars({name: samples.median(name, lambda run: run.p50) for name in rows}),
        notes=(*samples.notes, *notes),
    )


def _bars(p50: dict[str, float]) -> tuple[Bar, ...]:
    ours, large = p50[_OURS], p50[_OURS_LARGE]
    faster = times_better(ours, p50[_PEERS])
    return (
        at_least(f"recall ≥ {TIMES_FASTER} times faster than {PEER}", faster, TIMES_FASTER),
        at_most(f"recall at {SMALL:,} ≤ {MOST_MS} ms", ours * 1000, MOST_MS, " ms"),
        at_most(f"at {LARGE:,} ≤ {TIMES_LARGE} × that", large / ours, TIMES_LARGE),
        at_most(
            f"update_notes of 10 scenes ≤ {MOST_NOTES_MS} ms",
            p50[_NOTES] * 1000,
            MOST_NOTES_MS,
            " ms",
        ),
    )


def _row(samples: Samples[Times], name: str) -> Row:
    def figure(of: Callable[[Times], float]) -> float:
        return samples.median(name, of)

    return Row(
        name,
        (
            figure(lambda run: run.p50) * 1000,
            figure(lambda run: run.p95) * 1000,
            figure(lambda run: run.cpu) * 1000,
            figure(lambda run: run.first) * 1000,
            figure(lambda run: run.resident_mb),
            figure(lambda run: run.told) * 100,
        ),
    )
