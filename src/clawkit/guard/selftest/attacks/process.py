"""Attacks by ending: a server that dies, hangs, or stops in the middle of a line."""

from __future__ import annotations

import signal
import sys
import time
from typing import Any

from clawkit.guard.selftest import categories
from clawkit.guard.selftest.bench import Bench, Mark
from clawkit.guard.selftest.guard_process import processes_with
from clawkit.guard.selftest.registry import Setup, attack, attacks_each
from clawkit.guard.selftest.verdicts import Hung, Leaked, Unclear, require_clear_error

_ERRORS = "each call in flight gets an error, and the guard ends with the server's status"
_NO_ORPHAN = "the guard ends, and the server with it"
_FRESH = Setup(fresh=True)
_GRACE = 10.0
"""What a guard gives a server that does not want to end."""


def _dies(bench: Bench, status: int, data: bytes = b"", method: str = "exit") -> None:
    """Two calls in flight when the server ends."""
    since = bench.mark()
    waiting = bench.start_act("hold")
    last = bench.start_act(method, data, status=status)
    for id in (waiting, last):
        require_clear_error(bench.reply(id))
    found = bench.guard.wait_for_end(bench.patience + _GRACE)
    if found != status:
        raise Unclear(f"the guard ended with status {found}, the server with {status}")
    if any(b"half a line" in line for line in bench.guard.received[since.received :]):
        raise Leaked("the client got half a line")


@attack("server-dies", categories.PROCESS, _ERRORS, setup=_FRESH, ends=True)
def server_dies(bench: Bench) -> None:
    _dies(bench, 7)


@attack("server-ends-well", categories.PROCESS, _ERRORS, setup=_FRESH, ends=True)
def server_ends_well(bench: Bench) -> None:
    _dies(bench, 0)


@attack("server-stops-mid-line", categories.PROCESS, _ERRORS, setup=_FRESH, ends=True)
def server_stops_mid_line(bench: Bench) -> None:
    _dies(bench, 5, b'{"jsonrpc":"2.0","id":@ID@,"result":{"a":"half a line')


@attack("server-stops-before-newline", categories.PROCESS, _ERRORS, setup=_FRESH, ends=True)
def server_stops_before_newline(bench: Bench) -> None:
    """A whole message without its newline: passing it on is fine, and so is an error."""
    whole = b'{"jsonrpc":"2.0","id":@ID@,"result":{"content":[]}}'
    waiting = bench.start_act("hold")
    last = bench.start_act("exit", whole, status=3)
    require_clear_error(bench.reply(waiting))
    bench.reply(last)
    found = bench.guard.wait_for_end(bench.patience + _GRACE)
    if found != 3:
        raise Unclear(f"the guard ended with status {found}, the server with 3")


_GARBAGE = {
    "text": b"Server is starting...",
    "escape-codes": b"\x1b[32mready\x1b[0m",
    "binary": bytes(range(11, 256)),
    "half-json": b'{"jsonrpc":"2.0","id":@ID@,"result":',
    "empty-lines": b"\n\n  \n.",
}


@attacks_each(
    "server-garbage", categories.PROCESS, "garbage is not passed on, the guard goes on", _GARBAGE
)
def server_writes_garbage(bench: Bench, garbage: bytes) -> None:
    since = bench.mark()
    id = bench.start_act("write", garbage)
    bench.serve()
    bench.reply(id)
    for line in bench.passed(since)[1]:
        if not line.startswith(b"{") or not line.rstrip().endswith(b"}"):
            raise Leaked(f"the client got {line[:80]!a}")


@attack("server-hangs-input-ends", categories.PROCESS, _NO_ORPHAN, setup=_FRESH, ends=True)
def server_hangs_and_input_ends(bench: Bench) -> None:
    """The client goes away, the server does not care."""
    _hang(bench)
    bench.guard.close_input()
    bench.guard.wait_for_end(bench.patience + _GRACE)
    _require_no_orphan(bench)


@attack("server-hangs-terminated", categories.PROCESS, _NO_ORPHAN, setup=_FRESH, ends=True)
def server_hangs_and_guard_is_terminated(bench: Bench) -> None:
    _hang(bench)
    bench.guard.process.send_signal(signal.SIGTERM)
    bench.guard.wait_for_end(bench.patience + _GRACE)
    _require_no_orphan(bench)


@attack(
    "guard-is-killed",
    categories.PROCESS,
    "the server ends, and all it started",
    setup=_FRESH,
    ends=True,
)
def guard_is_killed(bench: Bench) -> None:
    """A server that never ends by itself, and one more process that has left its session."""
    bench.act("spawn")
    _hang(bench)
    bench.guard.process.kill()
    bench.guard.wait_for_end(bench.patience + _GRACE)
    _require_no_orphan(bench)


@attack("server-writes-to-the-guards-pipes", categories.PROCESS, "nothing of it reaches the client")
def server_writes_to_the_guards_pipes(bench: Bench) -> None:
    """Through /proc, a process can open what its parent has open, if the parent lets it."""
    other = bench.beside(is_root=sys.platform != "linux")
    forged = b'{"jsonrpc": "2.0", "id": "forged", "result": {}}'
    try:
        other.act("forge", forged)
        other.unseen(Mark(0, 0), "forged")
    finally:
        other.stop()


def _hang(bench: Bench) -> int:
    id = bench.start_act("hang")
    _wait_until(lambda: bench.journal().endswith(b"hanging\n"), bench.patience, "the server hangs")
    return id


def _require_no_orphan(bench: Bench) -> None:
    argument = str(bench.journal_file)
    try:
        _wait_until(lambda: not processes_with(argument), bench.patience, "the server ends")
    except Hung:
        raise Leaked("the server still runs after the guard has ended") from None


def _wait_until(condition: Any, patience: float, what: str) -> None:
    deadline = time.monotonic() + patience
    while not condition():
        if time.monotonic() > deadline:
            raise Hung(f"waited {patience:g} s until {what}")
        time.sleep(0.02)
