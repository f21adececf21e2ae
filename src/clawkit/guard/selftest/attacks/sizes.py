"""Attacks with sizes: lines without end, nesting without bottom, and work that must stay linear."""

from __future__ import annotations

from typing import Any

from clawkit.guard.selftest import categories
from clawkit.guard.selftest.bench import Bench
from clawkit.guard.selftest.guard_process import cpu_seconds, peak_memory
from clawkit.guard.selftest.registry import Setup, attack, attacks_each
from clawkit.guard.selftest.verdicts import Leaked, Unclear, is_answer_to, require_clear_error

_MEGABYTE = 1 << 20
_BOUND = 48 * _MEGABYTE
"""How much a guard with a limit of 16 MB may grow, whatever is sent."""
_MOST_FROM_SERVER = 256
_LINEAR = 8.0
"""Seconds of computing, which are the same on a busy machine."""
_TIGHT = Setup(policy="tight")

_DEEP = {
    "lists": b"[" * 100_000 + b"]" * 100_000,
    "objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "lists-never-closed": b"[" * 100_000,
    "mixed": b'[{"a":' * 50_000 + b"1" + b"}]" * 50_000,
}


@attacks_each("deep", categories.MALFORMED, "100,000 levels of nesting are refused", _DEEP)
def deep_nesting(bench: Bench, value: bytes) -> None:
    head = b'{"jsonrpc": "2.0", "id": 0, "method": "tools/call", "params": {"name": "echo", '
    bench.refuses_line(head + b'"arguments": {"text": ' + value + b"}}}")


@attack(
    "endless-line",
    categories.MALFORMED,
    "refused while it comes, in bounded memory",
    setup=Setup(policy="tight", fresh=True),
)
def endless_line(bench: Bench) -> None:
    bench.serve()
    before = peak_memory(bench.guard.process.pid)
    since = bench.mark()
    for _ in range(bench.options.megabytes):
        bench.write(b"x" * _MEGABYTE)
        if len(bench.guard.journal()) > since.journal:
            raise Leaked("the server got part of a line without end")
    bench.write(b"\n")
    bench.nothing_passed(since)
    _require_bounded(bench, before)
    answer = bench.guard.wait_for(
        lambda message: is_answer_to(message, None), since.received, bench.patience, "answer"
    )
    require_clear_error(answer)


@attack(
    "endless-line-of-the-server",
    categories.MALFORMED,
    "dropped while it comes, in bounded memory",
    setup=Setup(policy="tight", fresh=True),
)
def endless_line_of_the_server(bench: Bench) -> None:
    bench.serve()
    before = peak_memory(bench.guard.process.pid)
    since = bench.mark()
    bench.start_act("stream", megabytes=min(bench.options.megabytes, _MOST_FROM_SERVER))
    bench.unseen(since, "x" * 1000)
    _require_bounded(bench, before)


def _require_bounded(bench: Bench, before: int | None, bound: int = _BOUND) -> None:
    after = peak_memory(bench.guard.process.pid)
    if before is not None and after is not None and after - before > bound:
        raise Unclear(f"the guard grew by {(after - before) // _MEGABYTE} MB for one line")


@attack(
    "many-values",
    categories.MALFORMED,
    "refused, in memory that a message of this size may take",
    setup=Setup(policy="tight", fresh=True),
)
def many_values(bench: Bench) -> None:
    """Empty lists: three bytes each on the wire, many more in memory."""
    bench.serve()
    before = peak_memory(bench.guard.process.pid)
    bench.refuses_call("echo", {"a": [[]] * 3_500_000, "z": bench.secret})
    _require_bounded(bench, before, 4 * _BOUND)


def _long(text: str, megabytes: int) -> str:
    return (text * (megabytes * _MEGABYTE // len(text))) + "/"


_LONG: dict[str, Any] = {
    "after-plain-text": lambda: {"a": "x" * (8 * _MEGABYTE), "z": "@"},
    "after-many-values": lambda: {"a": [f"value {n}" for n in range(50_000)], "z": "@"},
    "after-many-keys": lambda: {**{f"key{n}": n for n in range(50_000)}, "z": "@"},
    "after-dotdots": lambda: {"a": "@/" + _long("a/../", 2)},
    "after-slashes": lambda: {"a": _long("/", 2) + "@"},
    "after-percents": lambda: {"a": _long("%25", 2), "z": "@"},
    "after-brackets": lambda: {"a": "[" * _MEGABYTE, "z": "@"},
    "after-quotes": lambda: {"a": '["' * (_MEGABYTE // 2), "z": "@"},
    "after-backslashes": lambda: {"a": "\\" * _MEGABYTE, "z": "@"},
    "after-links": lambda: {"a": "/proc/self/root" * 20_000, "z": "@"},
}


@attacks_each("long", categories.LONG, "the rule applies, in linear time", _LONG, setup=_TIGHT)
def long_line(bench: Bench, arguments: Any) -> None:
    given = {
        name: value.replace("@", bench.secret) if isinstance(value, str) else value
        for name, value in arguments().items()
    }
    before = cpu_seconds(bench.guard.process.pid)
    bench.refuses_call("echo", given)
    after = cpu_seconds(bench.guard.process.pid)
    if before is not None and after is not None and after - before > _LINEAR:
        raise Unclear(f"denied, but it took {after - before:.1f} s of computing")
