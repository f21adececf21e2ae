"""Attacks by a client: paths, values, lines and methods that a rule must see through."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

from clawkit.guard.selftest.bench import Bench
from clawkit.guard.selftest.guard_process import cpu_seconds, peak_memory
from clawkit.guard.selftest.scratch import BAD, CANARY, GOOD
from clawkit.guard.selftest.verdicts import (
    Leaked,
    Unclear,
    is_answer_to,
    require_clear_error,
    short,
    text_of,
)

_MEGABYTE = 1 << 20
_BOUND = 48 * _MEGABYTE
"""How much a guard with a limit of 16 MB may grow, whatever is sent."""
_MOST_FROM_SERVER = 256
_LINEAR = 8.0
"""Seconds of computing, which are the same on a busy machine."""


def text(bench: Bench, value: str, tool: str = "echo", argument: str = "text") -> None:
    bench.refuses_call(tool, {argument: value})


def arguments(bench: Bench, value: str, tool: str, code: int | None = None) -> None:
    bench.refuses_call(tool, json.loads(value), code)


def tool_name(bench: Bench, name: str) -> None:
    """Its neighbours `tool_*` are allowed."""
    bench.refuses_call(name, {})


def request(bench: Bench, value: str, code: int | None = None) -> None:
    method, params = json.loads(value)
    bench.refuses(method, params, code)


def notice(bench: Bench, value: str) -> None:
    method, params = json.loads(value)
    bench.drops(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode())


def line(bench: Bench, line: str, code: int | None = None, encoding: str = "utf-8") -> None:
    bench.refuses_line(line.encode(encoding), code=code)


def value(bench: Bench, value: str, encoding: str = "utf-8") -> None:
    """A call of `echo` in which only this value is wrong."""
    bench.refuses_line(GOOD.replace('"fine"', value).encode(encoding))


def denied_and_not_allowed(bench: Bench, path: str) -> None:
    """The call is refused both where only a deny stands in the way and where an allow is needed."""
    bench.refuses_call("echo", {"text": path})
    bench.refuses_call("read_file", {"path": path})


def not_allowed(bench: Bench, path: str) -> None:
    """Allowed for one folder only; and a guard that refuses everything withstands nothing."""
    answer = bench.call("read_file", path=bench.fill_in("{root}/work/plain.txt"))
    if text_of(answer) is not None or "plain" not in short(answer):
        raise Unclear(f"a read that the policy allows was answered with {short(answer)}")
    bench.refuses_call("read_file", {"path": path})


def link_through_proc(bench: Bench) -> None:
    """Where the system has such a door, it leads to the same files."""
    door = "/proc/self/root" if Path("/proc/self/root").exists() else ""
    bench.refuses_call("echo", {"text": f"{door}{bench.secret}"})


def link_made_meanwhile(bench: Bench) -> None:
    """Two calls at once: one makes a link, the other reads through it."""
    since = bench.mark()
    link = bench.fill_in(f"{{root}}/work/made-{bench.token()}")
    making = {"do": "link", "data": b64encode(f"../secret\n{link}".encode()).decode()}
    calls = [("act", making), ("read_file", {"path": f"{link}/key.txt"})]
    lines: list[bytes] = []
    ids = [bench.new_id() for _ in calls]
    for id, (name, arguments) in zip(ids, calls, strict=True):
        params = {"name": name, "arguments": arguments}
        lines.append(json.dumps(bench.message("tools/call", params, id)).encode())
    bench.write(b"\n".join([*lines, b""]))
    answer = bench.reply(ids[-1])
    bench.unseen(since, CANARY)
    require_clear_error(answer)


def hidden_json_in_escapes(bench: Bench) -> None:
    escaped = "".join(f"\\u{ord(letter):04x}" for letter in bench.secret)
    bench.refuses_call("echo", {"text": f'{{"path": "{escaped}"}}'})


def malformed_utf16(bench: Bench) -> None:
    bench.refuses_line(GOOD.encode("utf-16"))


def malformed_last_line(bench: Bench) -> None:
    """Sent by a guard of its own, because its input ends with it."""
    with bench.beside() as other:
        token = other.token()
        call = {"name": "tool_shell", "arguments": {"text": token}}
        other.write(json.dumps(other.message("tools/call", call, other.new_id())).encode())
        other.guard.close_input()
        other.guard.wait_for_end(other.patience)
        if token.encode() in other.journal():
            raise Leaked("reached the server: the last line, a denied call without a newline")


def carriage_return(bench: Bench, around: str) -> None:
    """A harmless message in which, for some readers, another has a line of its own."""
    since = bench.mark()
    line = around.replace("@", f"\r{BAD}\r").replace('"id": 0,', f'"id": {bench.new_id()},', 1)
    bench.write(line.encode() + b"\n")
    bench.nothing_passed(since)


def carriage_return_in_an_answer(bench: Bench) -> None:
    asking = '{"jsonrpc": "2.0", "id": "hidden", "method": "sampling/createMessage", "params": {}}'
    answer = f'{{"jsonrpc": "2.0", "id": @ID@, "result": {{"_meta": {{"x": \r{asking}\r}}}}}}'
    since = bench.mark()
    bench.reply(bench.start_act("write", answer.encode(), silent=True))
    bench.one_line_each(since)


def separator(bench: Bench, separator: str) -> None:
    """In a string it is allowed, and some readers end a line at it all the same."""
    since = bench.mark()
    call = GOOD.replace('"fine"', f'"a{separator}b"').replace('"id": 0', f'"id": {bench.new_id()}')
    bench.write(call.encode() + b"\n")
    notice = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": separator}}
    bench.act("write", json.dumps(notice, ensure_ascii=False).encode())
    bench.one_line_each(since)


def endless_line(bench: Bench) -> None:
    before = _memory(bench)
    since = bench.mark()
    for _ in range(bench.options.megabytes):
        bench.write(b"x" * _MEGABYTE)
        if len(bench.journal()) > since.journal:
            raise Leaked("the server got part of a line without end")
    bench.write(b"\n")
    bench.nothing_passed(since)
    _require_bounded(bench, before)
    answer = bench.guard.wait_for(
        lambda message: is_answer_to(message, None), since.received, bench.patience, "answer"
    )
    require_clear_error(answer)


def endless_line_of_the_server(bench: Bench) -> None:
    before = _memory(bench)
    since = bench.mark()
    bench.start_act("stream", megabytes=min(bench.options.megabytes, _MOST_FROM_SERVER))
    bench.unseen(since, "x" * 1000)
    _require_bounded(bench, before)


def many_values(bench: Bench) -> None:
    """Empty lists: three bytes each on the wire, many more in memory."""
    before = _memory(bench)
    bench.refuses_call("echo", {"a": [[]] * 3_500_000, "z": bench.secret})
    _require_bounded(bench, before, 4 * _BOUND)


def _memory(bench: Bench) -> int | None:
    """The memory of a guard that has served a call."""
    bench.serve()
    return peak_memory(bench.guard.process.pid)


def _require_bounded(bench: Bench, before: int | None, bound: int = _BOUND) -> None:
    after = peak_memory(bench.guard.process.pid)
    if before is not None and after is not None and after - before > bound:
        raise Unclear(f"the guard grew by {(after - before) // _MEGABYTE} MB for one line")


def long_line(bench: Bench, value: str) -> None:
    given: dict[str, Any] = json.loads(value)
    before = cpu_seconds(bench.guard.process.pid)
    bench.refuses_call("echo", given)
    after = cpu_seconds(bench.guard.process.pid)
    if before is not None and after is not None and after - before > _LINEAR:
        raise Unclear(f"denied, but it took {after - before:.1f} s of computing")
