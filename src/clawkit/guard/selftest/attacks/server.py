"""Attacks by what a server says: questions to the client, and text that hides something."""

from __future__ import annotations

import json
import time
from base64 import b64encode
from collections.abc import Collection
from typing import Any

from clawkit.guard.selftest.bench import Bench, Mark
from clawkit.guard.selftest.guard_process import parsed
from clawkit.guard.selftest.scratch import EVIL_PARTS, INJECTION, SECRETS
from clawkit.guard.selftest.verdicts import Hung, Leaked, Unclear, require_clear_error, strings

_RECORDED_WITHIN = 2.0


def _filled(value: str, token: str) -> dict[str, Any]:
    """The question that a value describes: how it is asked, and with what."""
    shape, *given = json.loads(value.replace("TOKEN", token))
    more: dict[str, Any] = given.pop() if isinstance(given[-1], dict) else {}
    if shape == "sampling":
        content = {"type": "text", "text": f"{token} {given[0]}"}
        messages = [{"role": "user", "content": content}]
        return _asking("sampling/createMessage", messages=messages, maxTokens=9, **more)
    if shape == "form":
        properties = {given[1]: {"type": "string", **more}}
        return _form(f"{given[0]} {token}", properties)
    if shape == "field":
        return _form(f"Please answer {token}", {"answer": more})
    if shape == "link":
        message = f"{(*given, 'Please sign in')[1]} {token}"
        link = {"mode": "url", "url": given[0], "elicitationId": token, "message": message}
        return _asking("elicitation/create", **link)
    return _asking(given[0], **more)


def _asking(method: str, **params: Any) -> dict[str, Any]:
    return {"method": method, "params": params}


def _form(message: str, properties: dict[str, Any]) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties}
    return _asking("elicitation/create", message=message, requestedSchema=schema)


def asks(bench: Bench, question: str) -> None:
    token, since = bench.token(), bench.mark()
    id = f"asked-{token}"
    bench.server_sends({"jsonrpc": "2.0", "id": id, **_filled(question, token)})
    bench.unseen(since, token)
    for line in bench.journal().split(b"\n"):
        message = parsed(line)
        if message is not None and message.get("id") == id and "method" not in message:
            require_clear_error(message)
            return
    raise Hung("the server got no answer to its question")


def _input_required(requests: Any) -> str:
    return json.dumps(
        {"resultType": "input_required", "inputRequests": requests, "requestState": "s"}
    )


def _asks_beside_another(question: str, token: str) -> str:
    colour = _form("Your favourite colour? TOKEN", {"colour": {"type": "string"}})
    return _input_required({"first": colour, "second": _filled(question, token)})


def _require_kept(bench: Bench, token: str, member: str, since: Mark) -> None:
    """The server's answer to a call, of which the client gets nothing but an error."""
    line = f'{{"jsonrpc":"2.0","id":@ID@,{member}}}'
    id = bench.start_act("write", line.encode(), silent=True)
    bench.unseen(since, token)
    require_clear_error(bench.reply(id))


def asks_inside(bench: Bench, question: str) -> None:
    token, since = bench.token(), bench.mark()
    _require_kept(bench, token, f'"result":{_asks_beside_another(question, token)}', since)


def asks_inside_shape(bench: Bench, requests: str) -> None:
    token, since = bench.token(), bench.mark()
    result = _input_required(json.loads(requests.replace("TOKEN", token)))
    _require_kept(bench, token, f'"result":{result}', since)


def asks_inside_other(bench: Bench, request: str) -> None:
    """The results of every method can ask, not only those of calls."""
    method, params = json.loads(request)
    token, since = bench.token(), bench.mark()
    asking = _asks_beside_another(json.dumps(["sampling", INJECTION]), token)
    with bench.answering(method, asking):
        answer = bench.reply(bench.request(method, params))
    bench.unseen(since, token)
    require_clear_error(answer)


def asks_in_an_error(bench: Bench, question: str) -> None:
    """An error can ask a person to open an address first, and the call to be made again."""
    token, since = bench.token(), bench.mark()
    links = [_filled(question, token)["params"]]
    error = {"code": -32042, "message": "Not yet", "data": {"elicitations": links}}
    _require_kept(bench, token, f'"error":{json.dumps(error)}', since)


_KEPT = (
    "\N{WOMAN}\N{ZERO WIDTH JOINER}\N{GIRL} "
    "\u0646\u0645\u06cc\N{ZERO WIDTH NON-JOINER}\u062e\u0648\u0627\u0647\u0645"
)
"""A family and a Persian word: joiners that belong there."""


def _strings_seen(bench: Bench, since: Mark) -> list[str]:
    found: list[str] = []
    for line in bench.passed(since)[1]:
        found.extend(strings(parsed(line)))
    return found


def _require_clean(bench: Bench, since: Mark, forbidden: Collection[str]) -> None:
    for text in _strings_seen(bench, since):
        if left := next((piece for piece in forbidden if piece in text), None):
            raise Leaked(f"the client got {left!a} in {text[:80]!a}")


def _invisible(text: str) -> set[str]:
    return {letter for letter in text if not letter.isprintable() or ord(letter) >= 0xE0000} | {
        letter for letter in text if letter in "\N{HANGUL FILLER}\x7f"
    }


def _answers_with(bench: Bench, **content: Any) -> None:
    """Have the server answer a call with this content."""
    result = json.dumps({"content": [content]})
    bench.act("write", f'{{"jsonrpc":"2.0","id":@ID@,"result":{result}}}'.encode(), silent=True)


def result_hidden(bench: Bench, text: str) -> None:
    since = bench.mark()
    _answers_with(bench, type="text", text=text)
    _require_clean(bench, since, _invisible(text))


def result_hidden_among_joiners(bench: Bench) -> None:
    since = bench.mark()
    _answers_with(bench, type="text", text=f"{_KEPT} a\N{ZERO WIDTH SPACE}b")
    _require_clean(bench, since, {"\N{ZERO WIDTH SPACE}"})
    if not any(_KEPT in text for text in _strings_seen(bench, since)):
        raise Unclear("joiners that an emoji and a Persian word need were removed")


def result_secret(bench: Bench, kind: str) -> None:
    since, secret = bench.mark(), SECRETS[kind]
    _answers_with(bench, type="text", text=f"The value is {secret} today.")
    _require_clean(bench, since, {secret, secret[8:]})


def result_secret_in_base64(bench: Bench) -> None:
    blob = b64encode(f"token: {SECRETS['github']}".encode()).decode()
    since = bench.mark()
    _answers_with(bench, type="resource", resource={"uri": "notes://one", "blob": blob})
    _require_clean(bench, since, {blob})


def result_injection_recorded(bench: Bench) -> None:
    _answers_with(bench, type="text", text=INJECTION)
    bench.serve()
    deadline = time.monotonic() + _RECORDED_WITHIN
    while not any(b"inject" in line.lower() for line in bench.place.recorded()):
        if time.monotonic() < deadline:
            time.sleep(0.05)
            continue
        raise Leaked("a result with an injection phrase passed without a word in the log")


def result_injection(bench: Bench, phrase: str) -> None:
    token, since = bench.token(), bench.mark()
    _answers_with(bench, type="text", text=f"{token} {phrase}")
    _require_clean(bench, since, {phrase})


def text_in_a_message(bench: Bench, line: str) -> None:
    since = bench.mark()
    bench.act("write", line.encode(), silent="@ID@" in line)
    _require_clean(bench, since, EVIL_PARTS)


def text_in_a_result(bench: Bench, value: str) -> None:
    method, params, result = json.loads(value)
    since = bench.mark()
    with bench.answering(method, json.dumps(result)):
        bench.reply(bench.request(method, params))
    _require_clean(bench, since, EVIL_PARTS)
