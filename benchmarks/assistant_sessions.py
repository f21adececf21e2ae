"""Many sessions at once in one process, and one session that has gone on for very long."""

import asyncio
import json
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.assistant_model import TOOL, assistant, thinking_model
from benchmarks.assistant_order import Caller, Times, order
from benchmarks.measure import Child, Command, running
from benchmarks.messages import WrongReply, call, check_opening, opening, ready
from benchmarks.report import Bar, Report, Row, at_most
from benchmarks.rounds import Samples, interleaved

MANY_COLUMNS = ("first wave s", "second wave s", "beyond the model s", "growth MB", "KB a session")
LONG_COLUMNS = ("p50 ms", "p99 ms", "CPU ms", "first ms", "times a new one", "resident MB")
THINKING_SECONDS = 1.0
TIMES_ONE = 2
TIMES_NEW = 2
NEW = "a new session"
SENTENCE = "We talked about bed {}: the tomatoes want water, and the shed wants paint. "
FULL_WINDOW = 400
"""Messages that fill what a prompt holds of a session: what is longer must cost no more."""


@dataclass(frozen=True)
class Waves:
    """Two orders in each session, all sessions at once each time."""

    first_seconds: float
    second_seconds: float
    growth_mb: float


def send_wave(child: Child, sessions: int, first_id: int) -> float:
    """One order in every session at once; each must get the answer to its own words."""
    words = {first_id + number: f"This is order {first_id + number}." for number in range(sessions)}
    lines = b"".join(
        call("legacy", number, TOOL, message=text, sessionKey=f"bench-{number - first_id}")
        for number, text in words.items()
    )
    exchange = child.exchange(lines, replies=sessions)
    answers = {reply["id"]: _text(reply) for reply in map(json.loads, exchange.output.splitlines())}
    if answers != words:
        wrong = next(number for number in words if answers.get(number) != words[number])
        raise WrongReply(f"order {wrong} was answered with {answers.get(wrong)!r}")
    return exchange.seconds


def _text(reply: dict) -> str:
    return "".join(block.get("text", "") for block in reply.get("result", {}).get("content", ()))


def send_waves(command: Command, sessions: int) -> Waves:
    """A process of its own; one order before, so that what is loaded once is not counted."""
    with running(command) as child:
        check_opening(child.exchange(opening("legacy"), replies=1).output)
        child.exchange(ready("legacy"), replies=0)
        send_wave(child, 1, first_id=1)
        resident = child.resident_mb()
        first = send_wave(child, sessions, first_id=1_000)
        second = send_wave(child, sessions, first_id=2_000)
        return Waves(first, second, child.peak_mb() - resident)


@dataclass(frozen=True)
class Crowd:
    """So many sessions at once."""

    sessions: int
    installed: bool = True

    @property
    def name(self) -> str:
        """As the table has it."""
        return f"{self.sessions} sessions at once" if self.sessions > 1 else "1 session"


def many_sessions(sessions: int, rounds: int) -> Report:
    """As many sessions as that beside a single one."""
    one, many = Crowd(1), Crowd(sessions)

    def measure(crowd: Crowd) -> Waves:
        with assistant(url) as command:
            return send_waves(command, crowd.sessions)

    with thinking_model(THINKING_SECONDS) as url:
        samples = interleaved((one, many), rounds, measure)
    answered = bool(samples.by_name[many.name])
    slower = _slower_wave(samples, many) / _slower_wave(samples, one)
    return Report(
        name="assistant_sessions",
        title=f"sessions at once in one process, the model thinks {THINKING_SECONDS:g} s a turn, "
        f"median of {rounds}",
        columns=MANY_COLUMNS,
        rows=tuple(_many_row(samples, crowd) for crowd in (one, many)),
        bars=(
            Bar(
                f"{sessions} sessions, each answered with its own words, twice",
                "yes" if answered else "no",
                answered or None,
            ),
            at_most(f"≤ {TIMES_ONE} × the time of one", slower, TIMES_ONE),
        ),
        notes=samples.notes,
    )


def _slower_wave(samples: Samples[Waves], crowd: Crowd) -> float:
    return samples.median(crowd.name, lambda run: max(run.first_seconds, run.second_seconds))


def _many_row(samples: Samples[Waves], crowd: Crowd) -> Row:
    growth = samples.median(crowd.name, lambda run: run.growth_mb)
    cells = (
        samples.median(crowd.name, lambda run: run.first_seconds),
        samples.median(crowd.name, lambda run: run.second_seconds),
        _slower_wave(samples, crowd) - THINKING_SECONDS,
        growth,
        growth * 1024 / crowd.sessions,
    )
    return Row(crowd.name, cells)


async def talk_long(file: Path, key: str, messages: int) -> None:
    """Fill one session, a turn of two messages at a time, as orders would."""
    from clawkit.assistant.sessions.async_store import AsyncSessionStore
    from clawkit.models.protocol import Message, Text, Usage

    sessions = AsyncSessionStore(file)
    try:
        for number in range(messages // 2):
            said = SENTENCE.format(number)
            async with sessions.turn(key, origin="mcp", named=True) as turn:
                spoken = (
                    Message("user", (Text(said),)),
                    Message("assistant", (Text(said * 3),)),
                )
                await turn.save(spoken, usage=Usage(), model="llamacpp/scripted", reason="end")
    finally:
        await sessions.close()


def long_session(messages: int, calls: int, rounds: int) -> Report:
    """Orders in a session of so many messages beside orders in new ones."""
    full, old = (f"a session of {count:,} messages" for count in (FULL_WINDOW, messages))
    with thinking_model(0) as url, assistant(url) as command:
        began = time.perf_counter()
        file = Path(command.environment["CLAW_HOME"]) / "data" / "claw" / "sessions.db"
        asyncio.run(talk_long(file, full, FULL_WINDOW))
        asyncio.run(talk_long(file, old, messages))
        filled = time.perf_counter() - began
        field = [
            Caller(NEW, lambda: order(command, calls)),
            Caller(full, lambda: order(command, calls, sessionKey=full)),
            Caller(old, lambda: order(command, calls, sessionKey=old)),
        ]
        samples = interleaved(field, rounds, lambda caller: caller.run())
    fresh = samples.median(NEW, lambda run: run.p50)
    ratio = samples.median(old, lambda run: run.p50) / fresh
    return Report(
        name="assistant_sessions",
        title=f"{calls} orders one after the other, the model answers at once, median of {rounds}",
        columns=LONG_COLUMNS,
        rows=tuple(_long_row(samples, caller.name, fresh) for caller in field),
        bars=(at_most(f"{messages:,} messages ≤ {TIMES_NEW} × a new session", ratio, TIMES_NEW),),
        notes=(*samples.notes, f"{FULL_WINDOW + messages:,} messages were saved in {filled:.1f} s"),
    )


def _long_row(samples: Samples[Times], name: str, fresh: float) -> Row:
    p50 = samples.median(name, lambda run: run.p50)
    cells = (
        p50 * 1000,
        samples.median(name, lambda run: run.p99) * 1000,
        samples.median(name, lambda run: run.cpu) * 1000,
        samples.median(name, lambda run: run.first) * 1000,
        p50 / fresh,
        samples.median(name, lambda run: run.resident_mb),
    )
    return Row(name, cells)


def run(quick: bool) -> list[Report]:
    """Measure both."""
    rounds = 3 if quick else 5
    return [
        many_sessions(100, rounds),
        long_session(1_000 if quick else 10_000, 100 if quick else 200, rounds),
    ]
