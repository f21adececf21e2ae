"""Attacks on the line: what two parsers read differently, and what none should read at all."""

from __future__ import annotations

import json

from clawkit.guard.selftest import categories
from clawkit.guard.selftest.bench import Bench
from clawkit.guard.selftest.registry import attack, attacks_each
from clawkit.guard.selftest.verdicts import Leaked

_REFUSED = "refused with a clear error, nothing is forwarded"


def _request(members: str) -> str:
    return f'{{"jsonrpc": "2.0", "id": 0, {members}}}'


def _call(params: str) -> str:
    return _request(f'"method": "tools/call", "params": {{{params}}}')


_SHELL = '"name": "tool_shell", "arguments": {}'
_GOOD = _call('"name": "echo", "arguments": {"text": "fine"}')
_BAD = _call(_SHELL)

_BATCHES = {
    "one": f"[{_GOOD}]",
    "good-and-bad": f"[{_GOOD}, {_BAD}]",
    "empty": "[]",
    "nested": f"[[{_BAD}]]",
    "notification": '[{"jsonrpc": "2.0", "method": "notifications/initialized"}]',
}


@attacks_each("batch", categories.BATCH, "refused with -32600", _BATCHES)
def batch(bench: Bench, line: str) -> None:
    bench.refuses_line(line.encode(), code=-32600)


_FINE = '"path": "{root}/work/plain.txt"'
_DUPLICATES = {
    "method": _request(f'"method": "ping", "method": "tools/call", "params": {{{_SHELL}}}'),
    "method-first": _request(f'"method": "tools/call", "method": "ping", "params": {{{_SHELL}}}'),
    "params": _request(f'"method": "tools/call", "params": {{}}, "params": {{{_SHELL}}}'),
    "name": _call('"name": "tool_shell", "name": "echo", "arguments": {}'),
    "arguments": _call(
        '"name": "echo", "arguments": {"text": "{root}/secret"}, "arguments": {"text": "fine"}'
    ),
    "path": _call(f'"name": "read_file", "arguments": {{"path": "{{root}}/secret", {_FINE}}}'),
    "escaped": _call(
        f'"name": "read_file", "arguments": {{"p\\u0061th": "{{root}}/guards", {_FINE}}}'
    ),
    "deep": _call('"name": "echo", "arguments": {"text": [{"a": {"b": 1, "b": 2}}]}'),
    "id": _request('"id": "x", "method": "tools/call", "params": {"name": "echo"}'),
    "same-value": _call('"name": "echo", "name": "echo", "arguments": {}'),
    "method-in-another-case": _request(
        f'"method": "ping", "Method": "tools/call", "params": {{{_SHELL}}}'
    ),
    "params-with-a-space": _request(
        f'"method": "tools/call", "params": {{"name": "echo"}}, "params ": {{{_SHELL}}}'
    ),
    "method-with-a-hidden-character": _request(
        f'"method": "ping", "meth\\u200bod": "tools/call", "params": {{{_SHELL}}}'
    ),
    "name-in-another-case": _call('"name": "echo", "NAME": "tool_shell", "arguments": {}'),
    "arguments-in-another-case": _call(
        '"name": "tool_port", "arguments": {}, "Arguments": {"port": 22}'
    ),
}


@attacks_each("duplicate", categories.DUPLICATES, _REFUSED, _DUPLICATES)
def duplicate_key(bench: Bench, line: str) -> None:
    bench.refuses_line(bench.fill_in(line).encode())


def _with_text(text: str) -> bytes:
    return _GOOD.replace('"fine"', text).encode()


_VALUES = {
    "nan": _with_text("NaN"),
    "infinity": _with_text("Infinity"),
    "minus-infinity": _with_text("-Infinity"),
    "number-too-large": _with_text("1e999"),
    "lone-surrogate": _with_text('"\\ud800"'),
    "lone-surrogate-as-key": _with_text('{"\\udfff": 1}'),
    "surrogates-swapped": _with_text('"\\udc00\\ud800"'),
    "invalid-utf8": _GOOD.encode().replace(b"fine", b"fi\xffne"),
    "overlong-utf8": _GOOD.encode().replace(b"fine", b"\xc0\xafetc"),
    "utf8-surrogate": _GOOD.encode().replace(b"fine", b"\xed\xa0\x80"),
    "utf16": _GOOD.encode("utf-16"),
    "byte-order-mark": b"\xef\xbb\xbf" + _BAD.encode(),
    "nul-before": b"\x00" + _GOOD.encode(),
    "raw-control-character": _with_text('"a\x01b"'),
    "raw-tab-in-string": _with_text('"a\tb"'),
    "trailing-comma": _with_text('"fine",'),
    "comment": b"/* */" + _GOOD.encode(),
    "single-quotes": _BAD.replace('"', "'").encode(),
    "leading-zero": _with_text("007"),
    "two-on-a-line": f"{_GOOD} {_BAD}".encode(),
    "junk-after": f"{_GOOD}x".encode(),
    "carriage-return-between": f"{_GOOD}\r{_BAD}".encode(),
    "no-end": _BAD[:-1].encode(),
    "bare-string": b'"tools/call"',
    "bare-number": b"5",
    "bare-null": b"null",
    "text": b"GET / HTTP/1.1",
    "header": b"Content-Length: 120\r",
    "digits": _with_text("1" * 6000),
}


@attacks_each("malformed", categories.MALFORMED, _REFUSED, _VALUES)
def malformed(bench: Bench, line: bytes) -> None:
    bench.refuses_line(line)


_ENVELOPES = {
    "no-jsonrpc": _GOOD.replace('"jsonrpc": "2.0", ', ""),
    "jsonrpc-1": _GOOD.replace('"2.0"', '"1.0"'),
    "jsonrpc-number": _GOOD.replace('"2.0"', "2.0"),
    "id-null": _GOOD.replace('"id": 0', '"id": null'),
    "id-true": _GOOD.replace('"id": 0', '"id": true'),
    "id-list": _GOOD.replace('"id": 0', '"id": [1]'),
    "id-object": _GOOD.replace('"id": 0', '"id": {}'),
    "id-fraction": _GOOD.replace('"id": 0', '"id": 1.5'),
    "method-number": _GOOD.replace('"tools/call"', "7"),
    "method-null": _GOOD.replace('"tools/call"', "null"),
    "method-and-result": _GOOD.replace('"method"', '"result": {}, "method"'),
    "method-with-space": _BAD.replace("tools/call", "tools/call "),
    "method-in-another-case": _BAD.replace("tools/call", "Tools/Call"),
    "method-zero-width": _BAD.replace("tools/call", "tools/\N{ZERO WIDTH SPACE}call"),
    "method-slashes": _BAD.replace("tools/call", "tools//call"),
}


@attacks_each("envelope", categories.MALFORMED, _REFUSED, _ENVELOPES)
def envelope(bench: Bench, line: str) -> None:
    bench.refuses_line(line.encode())


@attack(
    "malformed-last-line", categories.MALFORMED, "a last line without a newline is judged as well"
)
def last_line_without_newline(bench: Bench) -> None:
    """Sent by a guard of its own, because its input ends with it."""
    other = bench.beside()
    try:
        token = other.token()
        call = {"name": "tool_shell", "arguments": {"text": token}}
        other.write(json.dumps(other.message("tools/call", call, other.new_id())).encode())
        other.guard.close_input()
        other.guard.wait_for_end(other.patience)
        if token.encode() in other.journal():
            raise Leaked("reached the server: the last line, a denied call without a newline")
    finally:
        other.stop()


def _hiding(hidden: str, around: str) -> str:
    """A harmless message in which, for some readers, another has a line of its own."""
    return around.replace("@", f"\r{hidden}\r")


_AROUND = {
    "in-meta": _request('"method": "ping", "params": {"_meta": {"x": @}}'),
    "in-a-list": _request('"method": "ping", "params": {"_meta": {"x": [1, @, 2]}}'),
    "in-a-notification": '{"jsonrpc": "2.0", "method": "notifications/initialized", '
    '"params": {"_meta": {"x": @}}}',
}


@attacks_each(
    "carriage-return", categories.LINES, "nothing hidden in it reaches the server", _AROUND
)
def carriage_return(bench: Bench, around: str) -> None:
    since = bench.mark()
    line = _hiding(_BAD, around).replace('"id": 0,', f'"id": {bench.new_id()},', 1)
    bench.write(line.encode() + b"\n")
    bench.nothing_passed(since)


@attack(
    "carriage-return-in-an-answer",
    categories.LINES,
    "nothing hidden in it reaches the client as a line",
)
def carriage_return_in_an_answer(bench: Bench) -> None:
    asking = '{"jsonrpc": "2.0", "id": "hidden", "method": "sampling/createMessage", "params": {}}'
    answer = _hiding(asking, '{"jsonrpc": "2.0", "id": ID, "result": {"_meta": {"x": @}}}')
    since = bench.mark()
    bench.reply(bench.start_act("write", answer.replace("ID", "@ID@").encode(), silent=True))
    bench.one_line_each(since)


_SEPARATORS = {"u2028": "\u2028", "u2029": "\u2029", "u0085": "\u0085"}


@attacks_each("separator", categories.LINES, "one line for every reader, both ways", _SEPARATORS)
def separator(bench: Bench, separator: str) -> None:
    """In a string it is allowed, and some readers end a line at it all the same."""
    since = bench.mark()
    call = _GOOD.replace('"fine"', f'"a{separator}b"').replace('"id": 0', f'"id": {bench.new_id()}')
    bench.write(call.encode() + b"\n")
    notice = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": separator}}
    bench.act("write", json.dumps(notice, ensure_ascii=False).encode())
    bench.one_line_each(since)
