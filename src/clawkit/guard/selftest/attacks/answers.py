"""Attacks with answers: those that nobody asked for, come twice, or belong to another question."""

from __future__ import annotations

import json
from typing import Any

from clawkit.guard.selftest.bench import Bench
from clawkit.guard.selftest.verdicts import Leaked, Unclear, short, text_of


def _answer(id: Any, token: str) -> dict[str, Any]:
    roots = {"roots": [{"uri": f"file:///{token}", "name": token}]}
    return {"jsonrpc": "2.0", "id": id, "result": roots}


def _asked(bench: Bench) -> Any:
    """Have the server ask something harmless; the id that the client must answer to."""
    since = bench.mark()
    bench.server_sends({"jsonrpc": "2.0", "id": bench.new_id(), "method": "roots/list"})
    return bench.asked("roots/list", since)["id"]


def answer_unasked(bench: Bench, id: str) -> None:
    bench.drops(json.dumps(_answer(json.loads(id), bench.token())).encode())


def error_unasked(bench: Bench, id: str) -> None:
    error = {"code": -1, "message": bench.token()}
    bench.drops(json.dumps({"jsonrpc": "2.0", "id": json.loads(id), "error": error}).encode())


def answer_twice(bench: Bench) -> None:
    id = _asked(bench)
    first, second = bench.token(), bench.token()
    bench.send(_answer(id, first))
    bench.serve()
    if first.encode() not in bench.journal():
        raise Unclear("the answer to a question of the server does not arrive")
    bench.drops(json.dumps(_answer(id, second)).encode())


def answer_other_type(bench: Bench, kind: str) -> None:
    id = _asked(bench)
    number = isinstance(id, int)
    others = {
        "string": str(id) if number else f" {id}",
        "fraction": float(id) if number else [id],
        "list": [id],
    }
    bench.drops(json.dumps(_answer(others[kind], bench.token())).encode())
    bench.send(_answer(id, bench.token()))


def answer_id_in_use(bench: Bench) -> None:
    held = bench.start_act("hold")
    token = bench.token()
    call = {"name": "echo", "arguments": {"text": token}}
    bench.send(bench.message("tools/call", call, held))
    bench.serve()
    bench.act("release")
    if token.encode() in bench.journal():
        raise Leaked("a second call with the id of one in flight reached the server")


def _line(id: str, token: str) -> bytes:
    content = f'{{"content":[{{"type":"text","text":"{token}"}}]}}'
    return f'{{"jsonrpc":"2.0","id":{id},"result":{content}}}'.encode()


def server_answer(bench: Bench, id: str) -> None:
    """The server's true answer comes after the stray one: it, or an error, is what counts."""
    token, since = bench.token(), bench.mark()
    answer = bench.act("write", _line(id, token))
    if text_of(answer) is None and "written" not in json.dumps(answer):
        raise Leaked(f"the call was answered with {short(answer)}")
    bench.unseen(since, token)


def server_error(bench: Bench, id: str) -> None:
    token, since = bench.token(), bench.mark()
    error = f'{{"code":-1,"message":"{token}"}}'
    answer = bench.act("write", f'{{"jsonrpc":"2.0","id":{id},"error":{error}}}'.encode())
    if token in json.dumps(answer):
        raise Leaked(f"the call was answered with {short(answer)}")
    bench.unseen(since, token)


def server_answer_twice(bench: Bench) -> None:
    token, since = bench.token(), bench.mark()
    first = _line("@ID@", "first")
    bench.act("write", first + b"\n" + _line("@ID@", token), silent=True)
    bench.unseen(since, token)


def server_answer_early(bench: Bench) -> None:
    token, since = bench.token(), bench.mark()
    later = bench.new_id()
    bench.act("write", _line(str(later), token))
    call = {"name": "echo", "arguments": {"text": "later"}}
    bench.send(bench.message("tools/call", call, later))
    bench.reply(later)
    bench.unseen(since, token)


def server_line(bench: Bench, line: str) -> None:
    token, since = bench.token(), bench.mark()
    id = bench.start_act("write", line.replace("TOKEN", token).encode("latin-1"))
    bench.unseen(since, token)
    bench.reply(id)
