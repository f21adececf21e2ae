"""Attacks by a process: a server that dies, hangs, writes garbage, or reads its environment."""

from __future__ import annotations

import json
import signal
import sys
import time
from typing import Any

from clawkit.guard.selftest.bench import Bench, Mark
from clawkit.guard.selftest.guard_process import processes_with
from clawkit.guard.selftest.verdicts import Hung, Leaked, Unclear, require_clear_error

_GRACE = 10.0
"""What a guard gives a server that does not want to end."""


def environment_narrowed(bench: Bench) -> None:
    found = json.dumps(bench.act("environment"))
    if "SELFTEST_API_KEY" in found:
        raise Leaked("the server has the variable SELFTEST_API_KEY")
    if "SELFTEST_SEEN" not in found:
        raise Unclear("the server has not got the variable that the policy allows")


def _dies(bench: Bench, status: int, data: bytes = b"") -> dict[str, Any]:
    """Two calls in flight when the server ends; the answer to the one that ends it."""
    since = bench.mark()
    waiting = bench.start_act("hold")
    last = bench.start_act("exit", data, status=status)
    require_clear_error(bench.reply(waiting))
    answer = bench.reply(last)
    found = bench.guard.wait_for_end(bench.patience + _GRACE)
    if found != status:
        raise Unclear(f"the guard ended with status {found}, the server with {status}")
    if any(b"half a line" in line for line in bench.guard.received[since.received :]):
        raise Leaked("the client got half a line")
    return answer


def server_dies(bench: Bench) -> None:
    require_clear_error(_dies(bench, 7))


def server_ends_well(bench: Bench) -> None:
    require_clear_error(_dies(bench, 0))


def server_stops_mid_line(bench: Bench) -> None:
    half = b'{"jsonrpc":"2.0","id":@ID@,"result":{"a":"half a line'
    require_clear_error(_dies(bench, 5, half))


def server_stops_before_newline(bench: Bench) -> None:
    """A whole message without its newline: passing it on is fine, and so is an error."""
    _dies(bench, 3, b'{"jsonrpc":"2.0","id":@ID@,"result":{"content":[]}}')


def server_garbage(bench: Bench, garbage: str) -> None:
    since = bench.mark()
    id = bench.start_act("write", garbage.encode("latin-1"))
    bench.serve()
    bench.reply(id)
    for line in bench.passed(since)[1]:
        if not line.startswith(b"{") or not line.rstrip().endswith(b"}"):
            raise Leaked(f"the client got {line[:80]!a}")


def server_hangs_input_ends(bench: Bench) -> None:
    """The client goes away, the server does not care."""
    _hang(bench)
    bench.guard.close_input()
    _require_no_orphan(bench)


def server_hangs_terminated(bench: Bench) -> None:
    _hang(bench)
    bench.guard.process.send_signal(signal.SIGTERM)
    _require_no_orphan(bench)


def guard_is_killed(bench: Bench) -> None:
    """A server that never ends by itself, and one more process that has left its session."""
    bench.act("spawn")
    _hang(bench)
    bench.guard.process.kill()
    _require_no_orphan(bench)


def server_writes_to_the_guards_pipes(bench: Bench) -> None:
    """Through /proc, a process can open what its parent has open, if the parent lets it."""
    with bench.beside(is_root=sys.platform != "linux") as other:
        other.act("forge", b'{"jsonrpc": "2.0", "id": "forged", "result": {}}')
        other.unseen(Mark(0, 0), "forged")


def _hang(bench: Bench) -> None:
    bench.start_act("hang")
    _wait_until(lambda: bench.journal().endswith(b"hanging\n"), bench.patience, "the server hangs")


def _require_no_orphan(bench: Bench) -> None:
    """The guard ends, and whatever has the journal's name among its arguments."""
    bench.guard.wait_for_end(bench.patience + _GRACE)
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
