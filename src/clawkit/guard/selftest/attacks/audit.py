"""Attacks on the log: full, unwritable, and written by several guards at once."""

from __future__ import annotations

import hashlib
import json
import threading
from typing import Any

from clawkit.guard.selftest import categories
from clawkit.guard.selftest.bench import Bench
from clawkit.guard.selftest.guard_process import parsed
from clawkit.guard.selftest.registry import Setup, attack
from clawkit.guard.selftest.verdicts import Leaked, NotHeld, Unclear, require_clear_error, text_of

_CALLS = 400
_SHELL_LIMIT = "ulimit -S -f 64"
"""Files of at most 64 blocks: 32 or 64 KB, as the shell counts."""
_GUARDS = 3
_CALLS_EACH = 20
_NAMES = 70
_FRESH = Setup(fresh=True)


@attack("log-of-a-denial", categories.AUDIT, "what was denied is on record, with what decided")
def denial_is_recorded(bench: Bench) -> None:
    token = bench.token()
    bench.call("tool_shell", text=token)
    bench.serve()
    if not _records(bench, token):
        raise Leaked("nothing on record about a denied call")


@attack("log-of-a-drop", categories.AUDIT, "what was dropped is on record", setup=_FRESH)
def drop_is_recorded(bench: Bench) -> None:
    before = _drops(bench)
    call = {"name": "tool_shell", "arguments": {"text": bench.token()}}
    bench.send({"jsonrpc": "2.0", "method": "tools/call", "params": call})
    bench.serve()
    if _drops(bench) == before:
        raise Leaked("nothing on record about a dropped notification")


def _drops(bench: Bench) -> int:
    return sum(b"drop" in line for line in bench.place.recorded())


@attack("log-holds-no-secret", categories.AUDIT, "secrets in arguments are redacted on record")
def secret_in_the_log(bench: Bench) -> None:
    token, secret = bench.token(), "gh" + "p_" + "Zq7" * 12
    command = f"DB_PASSWORD=hunter2-{token} run --api-key hunter2"
    note = f"use {secret}"
    bench.call("echo", text=token, note=note, password="hunter2-" + token, command=command)
    bench.serve()
    records = _records(bench, token)
    if not records:
        raise Leaked("nothing on record about an allowed call")
    for record in records:
        if secret.encode() in record or b"hunter2" in record:
            raise Leaked("a secret of the arguments is in the log")


def _records(bench: Bench, token: str) -> list[bytes]:
    return [line for line in bench.place.recorded() if token.encode() in line]


@attack("log-of-a-late-argument", categories.AUDIT, "no argument pushes another off the record")
def argument_after_many(bench: Bench) -> None:
    token = bench.token()
    junk = {f"a{number}": "x" * 100 for number in range(_NAMES)}
    bench.call("read_file", **junk, path=bench.fill_in("{root}/secret/") + token)
    bench.serve()
    if not _records(bench, token):
        raise Leaked("the path that was decided on is not on record")


@attack(
    "log-of-what-is-outside", categories.AUDIT, "what stands outside the arguments is on record"
)
def outside_is_recorded(bench: Bench) -> None:
    token = bench.token()
    params = {"name": "echo", "arguments": {"text": "a"}, "input": token}
    bench.reply(bench.request("tools/call", params))
    bench.serve()
    if not _records(bench, token):
        raise Leaked("a parameter that the server got is not on record")


@attack(
    "log-of-a-question",
    categories.AUDIT,
    "invented names do not hide what a server asks",
    setup=_FRESH,
)
def question_after_many_names(bench: Bench) -> None:
    token = bench.token()
    ask: dict[str, Any] = {
        "message": token,
        "requestedSchema": {"type": "object", "properties": {}},
    }
    sent: list[tuple[str, dict[str, Any]]] = [(f"invented/{n}", {}) for n in range(_NAMES)]
    for number, (method, params) in enumerate([*sent, ("elicitation/create", ask)]):
        id = f"{token}-{number}"
        bench.server_sends({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
    bench.serve()
    if not any(b"elicitation/create" in record for record in _records(bench, token)):
        raise Leaked("a question of the server is not on record")


@attack("log-full", categories.AUDIT, "fails closed with a clear error", setup=_FRESH)
def log_full(bench: Bench) -> None:
    """A guard of its own whose files cannot grow beyond a few KB, as on a disk that is full."""
    limited = Bench(bench.options, bench.scratch, bench.place, shell=_SHELL_LIMIT)
    try:
        limited.open()
        _call_until_refused(limited)
    finally:
        limited.stop()


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


@attack("log-shared", categories.AUDIT, "one line is one record, and the chain holds", setup=_FRESH)
def log_shared(bench: Bench) -> None:
    others = [bench.beside() for _ in range(_GUARDS - 1)]
    try:
        tokens = _call_at_once([bench, *others])
    finally:
        for other in others:
            other.stop()
    lines = [line for line in bench.place.recorded() if b'"prev"' in line or b"token" in line]
    for token in tokens:
        if not any(token.encode() in line for line in lines):
            raise Leaked("a call is not on record")
    _require_chain(lines)


def _call_at_once(benches: list[Bench]) -> list[str]:
    tokens = [[bench.token() for _ in range(_CALLS_EACH)] for bench in benches]
    failures: list[NotHeld] = []

    def work(bench: Bench, mine: list[str]) -> None:
        try:
            for token in mine:
                bench.call("echo", text=token)
        except NotHeld as error:
            failures.append(error)

    threads = [
        threading.Thread(target=work, args=pair) for pair in zip(benches, tokens, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
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
