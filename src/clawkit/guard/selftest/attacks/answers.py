"""Attacks with answers: those that nobody asked for, come twice, or belong to another question."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from clawkit.guard.selftest import categories
from clawkit.guard.selftest.bench import Bench
from clawkit.guard.selftest.registry import attack, attacks_each
from clawkit.guard.selftest.verdicts import Leaked, Unclear, short, text_of

_DROPPED = "the stray answer is dropped"
_REFUSED = "a line of the server that two parsers could read differently is not passed on"


def _answer(id: Any, token: str) -> dict[str, Any]:
    roots = {"roots": [{"uri": f"file:///{token}", "name": token}]}
    return {"jsonrpc": "2.0", "id": id, "result": roots}


def _asked(bench: Bench) -> Any:
    """Have the server ask something harmless; the id that the client must answer to."""
    since = bench.mark()
    bench.server_sends({"jsonrpc": "2.0", "id": bench.new_id(), "method": "roots/list"})
    return bench.asked("roots/list", since)["id"]


_NOBODY: dict[str, Any] = {
    "number": 990017,
    "string": "nobody",
    "zero": 0,
    "null": None,
    "list": [1],
    "object": {"a": 1},
    "true": True,
}


@attacks_each("answer-unasked", categories.ANSWERS, _DROPPED, _NOBODY)
def answer_nobody_asked_for(bench: Bench, id: Any) -> None:
    bench.drops(json.dumps(_answer(id, bench.token())).encode())


@attacks_each("error-unasked", categories.ANSWERS, _DROPPED, _NOBODY)
def error_nobody_asked_for(bench: Bench, id: Any) -> None:
    error = {"code": -1, "message": bench.token()}
    bench.drops(json.dumps({"jsonrpc": "2.0", "id": id, "error": error}).encode())


@attack("answer-twice", categories.ANSWERS, "only the first answer to a question arrives")
def second_answer(bench: Bench) -> None:
    id = _asked(bench)
    first, second = bench.token(), bench.token()
    bench.send(_answer(id, first))
    bench.serve()
    if first.encode() not in bench.journal():
        raise Unclear("the answer to a question of the server does not arrive")
    bench.drops(json.dumps(_answer(id, second)).encode())


_OTHER_TYPES: dict[str, Callable[[Any], Any]] = {
    "string": lambda id: str(id) if isinstance(id, int) else f" {id}",
    "fraction": lambda id: float(id) if isinstance(id, int) else [id],
    "list": lambda id: [id],
}


@attacks_each(
    "answer-other-type", categories.ANSWERS, "1, 1.0 and “1” are different ids", _OTHER_TYPES
)
def answer_with_another_type(bench: Bench, change: Callable[[Any], Any]) -> None:
    id = _asked(bench)
    bench.drops(json.dumps(_answer(change(id), bench.token())).encode())
    bench.send(_answer(id, bench.token()))


@attack("answer-id-in-use", categories.ANSWERS, "an id that is in flight cannot be used again")
def id_in_use(bench: Bench) -> None:
    held = bench.start_act("hold")
    token = bench.token()
    call = {"name": "echo", "arguments": {"text": token}}
    bench.send(bench.message("tools/call", call, held))
    bench.serve()
    bench.act("release")
    if token.encode() in bench.journal():
        raise Leaked("a second call with the id of one in flight reached the server")


def _line(id: str, token: str) -> bytes:
    return b'{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s"}]}}' % (
        id.encode(),
        token.encode(),
    )


_STRAYS = {
    "unasked": "990019",
    "unasked-string": '"nobody"',
    "other-type": "@OTHER@",
    "fraction": "@ID@.0",
    "null": "null",
    "true": "true",
    "list": "[@ID@]",
    "object": '{"a":@ID@}',
}


@attacks_each("server-answer", categories.ANSWERS, _DROPPED, _STRAYS)
def answer_of_the_server(bench: Bench, id: str) -> None:
    """The server's true answer comes after the stray one: it, or an error, is what counts."""
    token, since = bench.token(), bench.mark()
    answer = bench.act("write", _line(id, token))
    if text_of(answer) is None and "written" not in json.dumps(answer):
        raise Leaked(f"the call was answered with {short(answer)}")
    bench.unseen(since, token)


@attacks_each("server-error", categories.ANSWERS, _DROPPED, _STRAYS)
def error_of_the_server(bench: Bench, id: str) -> None:
    token, since = bench.token(), bench.mark()
    error = b'{"code":-1,"message":"%s"}' % token.encode()
    answer = bench.act("write", b'{"jsonrpc":"2.0","id":%s,"error":%s}' % (id.encode(), error))
    if token in json.dumps(answer):
        raise Leaked(f"the call was answered with {short(answer)}")
    bench.unseen(since, token)


@attack("server-answer-twice", categories.ANSWERS, "only the first answer to a call arrives")
def second_answer_of_the_server(bench: Bench) -> None:
    token, since = bench.token(), bench.mark()
    first = _line("@ID@", "first")
    bench.act("write", first + b"\n" + _line("@ID@", token), silent=True)
    bench.unseen(since, token)


@attack("server-answer-early", categories.ANSWERS, "an answer cannot come before its call")
def early_answer_of_the_server(bench: Bench) -> None:
    token, since = bench.token(), bench.mark()
    later = bench.new_id()
    bench.act("write", _line(str(later), token))
    call = {"name": "echo", "arguments": {"text": "later"}}
    bench.send(bench.message("tools/call", call, later))
    bench.reply(later)
    bench.unseen(since, token)


_TWO_READINGS = {
    "result-and-error": b'{"jsonrpc":"2.0","id":@ID@,"result":{"a":"TOKEN"},'
    b'"error":{"code":1,"message":"x"}}',
    "duplicate-result": b'{"jsonrpc":"2.0","id":@ID@,"result":{},"result":{"a":"TOKEN"}}',
    "duplicate-deep": b'{"jsonrpc":"2.0","id":@ID@,"result":{"content":[],"content":["TOKEN"]}}',
    "duplicate-id": b'{"jsonrpc":"2.0","id":1,"id":@ID@,"result":{"a":"TOKEN"}}',
    "nan": b'{"jsonrpc":"2.0","id":@ID@,"result":{"a":NaN,"b":"TOKEN"}}',
    "invalid-utf8": b'{"jsonrpc":"2.0","id":@ID@,"result":{"a":"\xff TOKEN"}}',
    "lone-surrogate": b'{"jsonrpc":"2.0","id":@ID@,"result":{"a":"\\ud800 TOKEN"}}',
    "batch": b'[{"jsonrpc":"2.0","id":@ID@,"result":{"a":"TOKEN"}}]',
    "two-on-a-line": b'{"jsonrpc":"2.0","id":@ID@,"result":{}}{"a":"TOKEN"}',
    "carriage-return": b'{"jsonrpc":"2.0","method":"notifications/x"}\r{"a":"TOKEN"}',
    "garbage": b"Listening on TOKEN",
    "deep": b'{"jsonrpc":"2.0","id":@ID@,"result":{"a":' + b"[" * 100_000 + b'"TOKEN"',
}


@attacks_each("server-line", categories.MALFORMED, _REFUSED, _TWO_READINGS)
def line_of_the_server(bench: Bench, line: bytes) -> None:
    token, since = bench.token(), bench.mark()
    id = bench.start_act("write", line.replace(b"TOKEN", token.encode()))
    bench.unseen(since, token)
    bench.reply(id)
