"""Our client of the Claude CLI beside claude-agent-sdk: import, dispatch, a real conversation."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.contenders import ROOT
from benchmarks.measure import Command, running
from benchmarks.report import Report, Row, at_least, times_better
from benchmarks.rounds import Samples, interleaved
from benchmarks.servers.calling_model import CALLS

TIMES_LESS_IMPORT = 5
TIMES_FASTER = 20
TIMEOUT = 180.0
IMPORT = (
    "import time; began = time.process_time_ns(); import {module}; "
    "print((time.process_time_ns() - began) / 1e6)"
)


@dataclass(frozen=True)
class Client:
    """One client of the CLI: what is imported to use it, and our script with it."""

    name: str
    package: str
    module: str
    script: str

    @property
    def installed(self) -> bool:
        """Whether it can run here."""
        return find_spec(self.package) is not None


OURS = Client("ours", "clawkit", "clawkit.claude.client", "benchmarks.servers.ours_claude")
RIVAL = Client(
    "claude-agent-sdk",
    "claude_agent_sdk",
    "claude_agent_sdk",
    "benchmarks.peers.claude_agent_sdk_client",
)
FIELD = (OURS, RIVAL)


def figure(*arguments: str) -> str:
    """What a fresh interpreter prints."""
    with running(Command((sys.executable, *arguments), ROOT)) as child:
        return child.exchange(b"", replies=1, timeout=TIMEOUT).output.decode()


def compared(samples: Samples[float], unit: str, bound: float, promise: str) -> Report:
    """The report on one figure of which less is better."""
    medians = {client.name: samples.median(client.name, float) for client in FIELD}
    ratios = {name: times_better(spent, medians[RIVAL.name]) for name, spent in medians.items()}
    return Report(
        name="claude_sdk",
        title=promise,
        columns=(unit, f"times better than {RIVAL.name}"),
        rows=tuple(Row(name, (medians[name], ratios[name])) for name in medians),
        bars=(at_least(f"{promise}: ≥ {bound:g} times better", ratios[OURS.name], bound),),
        notes=samples.notes,
    )


def importing(rounds: int) -> Report:
    """CPU time of the import alone, in a fresh interpreter."""

    def once(client: Client) -> float:
        return float(figure("-c", IMPORT.format(module=client.module)))

    interleaved(FIELD, 1, once)  # bytecode and page cache
    return compared(interleaved(FIELD, rounds, once), "CPU ms", TIMES_LESS_IMPORT, "import")


def dispatching(calls: int, rounds: int) -> Report:
    """CPU time of a tool call from the control message to the reply."""

    def once(client: Client) -> float:
        return float(figure("-m", "benchmarks.claude_dispatch", client.script, str(calls)))

    samples = interleaved(FIELD, rounds, once)
    return compared(samples, "CPU µs a call", TIMES_FASTER, "tool call, control message to reply")


@contextmanager
def calling_model(folder: Path) -> Iterator[str]:
    """The Messages API behind the CLI, in a process of its own; gives its address."""
    from tests.assistant.providers.serve import provider_process

    function = ("--function", "benchmarks.servers.calling_model:answer")
    with provider_process("anthropic", folder, None, *function) as server:
        yield server.url


def conversing(rounds: int) -> Report:
    """The same CLI and the same conversation through both: for information."""

    def once(client: Client) -> dict[str, float]:
        with (
            TemporaryDirectory(prefix="bench-claude-") as folder,
            calling_model(Path(folder)) as url,
        ):
            arguments = ("-m", "benchmarks.claude_conversation", client.script, url, folder)
            return json.loads(figure(*arguments))

    samples = interleaved(FIELD, rounds, once)
    names = {"connect": "connect ms", "call": "a call, ms", "cpu": "of it CPU of the client, ms"}
    rows = [
        Row(client.name, tuple(samples.median(client.name, lambda s, k=key: s[k]) for key in names))
        for client in FIELD
    ]
    return Report(
        name="claude_sdk",
        title=f"a conversation with the real CLI: {CALLS} tool calls, median of {rounds}",
        columns=tuple(names.values()),
        rows=tuple(rows),
        bars=(),
        notes=("a call is the CLI's and the scripted API's time, nearly all of it", *samples.notes),
    )


def run(quick: bool) -> list[Report]:
    """Measure all three."""
    calls, rounds = (1_000, 3) if quick else (5_000, 7)
    return [importing(rounds + 2), dispatching(calls, rounds), conversing(1 if quick else 3)]
