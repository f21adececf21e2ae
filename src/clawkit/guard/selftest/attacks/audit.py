"""Attacks on the log: full, unwritable, and written by several guards at once."""

from __future__ import annotations

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

from clawkit.guard.selftest.bench import Bench
from clawkit.guard.selftest.guard_process import parsed
from clawkit.guard.selftest.verdicts import Leaked, Unclear, require_clear_error, text_of

_CALLS = 400
_SHELL_LIMIT = "ulimit -S -f 64"
"""Files of at most 64 blocks: 32 or 64 KB, as the shell counts."""
_GUARDS = 3
_CALLS_EACH = 20
_NAMES = 70


def log_of_a_denial(bench: Bench) -> None:
    token = bench.token()
    bench.call("tool_shell", text=token)
    _require_recorded(bench, token, "nothing on record about a denied call")


def log_of_a_drop(bench: Bench) -> None:
    before = _drops(bench)
    call = {"name": "tool_shell", "arguments": {"text": bench.token()}}
    bench.send({"jsonrpc": "2.0", "method": "tools/call", "params": call})
    bench.serve()
    if _drops(bench) == before:
        raise Leaked("nothing on record about a dropped notification")


def _drops(bench: Bench) -> int:
    return sum(b"drop" in line for line in bench.place.recorded())


def log_holds_no_secret(bench: Bench) -> None:
    token, secret = bench.token(), "gh" + "p_" + "Zq7" * 12
    command = f"DB_PASSWORD=hunter2-{token} run --api-key hunter2"
    note = f"use {secret}"
    bench.call("echo", text=token, note=note, password="hunter2-" + token, command=command)
    for record in _require_recorded(bench, token, "nothing on record about an allowed call"):
        if secret.encode() in record or b"hunter2" in record:
            raise Leaked("a secret of the arguments is in the log")


def _records(bench: Bench, token: str) -> list[bytes]:
    return [line for line in bench.place.recorded() if token.encode() in line]


def _require_recorded(bench: Bench, token: str, otherwise: str) -> list[bytes]:
    bench.serve()
    if not (records := _records(bench, token)):
        raise Leaked(otherwise)
    return records


def log_of_a_late_argument(bench: Bench) -> None:
    token = bench.token()
    junk = {f"a{number}": "x" * 100 for number in range(_NAMES)}
    bench.call("read_file", **junk, path=bench.fill_in("{root}/secret/") + token)
    _require_recorded(bench, token, "the path that was decided on is not on record")


def log_of_what_is_outside(bench: Bench) -> None:
    token = bench.token()
    params = {"name": "echo", "arguments": {"text": "a"}, "input": token}
    bench.reply(bench.request("tools/call", params))
    _require_recorded(bench, token, "a parameter that the server got is not on record")


def log_of_a_question(bench: Bench) -> None:
    token = bench.token()
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    ask: dict[str, Any] = {"message": token, "requestedSchema": schema}
    sent: list[tuple[str, dict[str, Any]]] = [(f"invented/{n}", {}) for n in range(_NAMES)]
    for number, (method, params) in enumerate([*sent, ("elicitation/create", ask)]):
        id = f"{token}-{number}"
        bench.server_sends({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
    bench.serve()
    if not any(b"elicitation/create" in record for record in _records(bench, token)):
        raise Leaked("a question of the server is not on record")


def log_full(bench: Bench) -> None:
    """A guard of its own whose files cannot grow beyond a few KB, as on a disk that is full."""
    with bench.beside(shell=_SHELL_LIMIT) as limited:
        _call_until_refused(limited)


def _call_until_refused(bench: Bench) -> None:
    """A call that still found room on record may pass; its answer, or the next call, does not."""
    for _ in range(_CALLS):
        token = bench.token()
        answer = bench.call("echo", text=token)
        reached = token.encode() in bench.journal()
        if reached and not _records(bench, token):
            raise Leaked("a call reached the server that is not on record")
        if text_of(answer) is not None:
            require_clear_error(answer)
            if not reached:
                return
    raise Leaked(f"{_CALLS} calls passed with a log that cannot grow")


def log_shared(bench: Bench) -> None:
    with ExitStack() as stack:
        others = [stack.enter_context(bench.beside()) for _ in range(_GUARDS - 1)]
        tokens = _call_at_once([bench, *others])
    lines = [line for line in bench.place.recorded() if b'"prev"' in line or b"token" in line]
    for token in tokens:
        if not any(token.encode() in line for line in lines):
            raise Leaked("a call is not on record")
    _require_chain(lines)


def _call_at_once(benches: list[Bench]) -> list[str]:
    tokens = [[bench.token() for _ in range(_CALLS_EACH)] for bench in benches]

    def work(bench: Bench, mine: list[str]) -> None:
        for token in mine:
            bench.call("echo", text=token)

    with ThreadPoolExecutor(len(benches)) as pool:
        list(pool.map(work, benches, tokens))
    return [token for mine in tokens for token in mine]


def _require_chain(lines: list[bytes]) -> None:
    """Each record carries the hash of what is before it."""
    previous = ""
    for line in lines:
        record = parsed(line)
        if record is None:
            raise Leaked(f"a line of the log is no record: {line[:80]!a}")
        text, _, _ = line.rpartition(b',"hash":')
        if record.get("hash") != hashlib.sha256(text).hexdigest():
            raise Leaked(f"a record does not fit its hash: {json.dumps(record)[:80]}")
        if previous and record.get("prev") != previous:
            raise Unclear("the records of several guards are no chain")
        previous = str(record["hash"])
