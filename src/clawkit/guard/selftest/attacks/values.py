"""Attacks with values: where a denied one hides in the arguments, and arguments of other shapes."""

from __future__ import annotations

import json
from typing import Any

from clawkit.guard.selftest import categories
from clawkit.guard.selftest.bench import Bench
from clawkit.guard.selftest.registry import attack, attacks_each

_FOUND = "the value is found wherever it stands"
_PATH = "{root}/secret/key.txt"


def _nested(value: Any, levels: int) -> Any:
    for _ in range(levels):
        value = {"a": [value]}
    return value


_PLACES: dict[str, Any] = {
    "another-name": {"whatever": _PATH},
    "empty-name": {"": _PATH},
    "in-a-list": {"text": ["fine", _PATH]},
    "in-an-object": {"text": {"options": {"file": _PATH}}},
    "deep": {"text": _nested(_PATH, 40)},
    "as-a-key": {"text": {_PATH: True}},
    "as-a-top-key": {_PATH: "fine"},
    "json-in-a-string": {"text": json.dumps({"path": _PATH})},
    "json-list-in-a-string": {"text": json.dumps([1, [_PATH]])},
    "json-string-in-a-string": {"text": json.dumps(_PATH)},
    "json-twice": {"text": json.dumps({"inner": json.dumps({"path": _PATH})})},
    "json-with-space": {"text": f"\n  {json.dumps({'path': _PATH})}\t "},
    "beside-a-good-one": {"text": "{root}/work/plain.txt", "other": _PATH},
    "after-many": {"text": ["fine"] * 3000 + [_PATH]},
}


@attacks_each("hidden", categories.HIDING, _FOUND, _PLACES)
def hidden_value(bench: Bench, arguments: dict[str, Any]) -> None:
    bench.refuses_call("echo", _filled(bench, arguments))


def _filled(bench: Bench, value: Any) -> Any:
    return json.loads(bench.fill_in(json.dumps(value)))


@attack("hidden-json-in-escapes", categories.HIDING, _FOUND)
def hidden_in_escapes(bench: Bench) -> None:
    escaped = "".join(f"\\u{ord(letter):04x}" for letter in bench.secret)
    bench.refuses_call("echo", {"text": f'{{"path": "{escaped}"}}'})


_NUMBERS: dict[str, Any] = {
    "number": {"port": 22},
    "float": {"port": 22.0},
    "string": {"port": "22"},
    "string-with-fraction": {"port": "22.0"},
    "string-with-sign": {"port": "+22"},
    "string-with-zero": {"port": "022"},
    "string-with-spaces": {"port": " 22\n"},
    "fullwidth": {"port": "\N{FULLWIDTH DIGIT TWO}" * 2},
    "in-a-list": {"port": [80, 22]},
    "nested": {"port": {"value": 22}},
    "name-in-another-case": {"Port": 22},
    "name-with-a-look-alike": {"p\N{CYRILLIC SMALL LETTER O}rt": 22},
    "json-in-a-string": {"port": "[22]"},
}


@attacks_each("number", categories.HIDING, _FOUND, _NUMBERS)
def number(bench: Bench, arguments: dict[str, Any]) -> None:
    bench.refuses_call("tool_port", arguments)


@attack("number-with-an-exponent", categories.HIDING, _FOUND)
def number_with_an_exponent(bench: Bench) -> None:
    call = bench.message("tools/call", {"name": "tool_port", "arguments": {"port": 0.5}}, 0)
    bench.refuses_line(json.dumps(call).replace("0.5", "2.2E+1").encode())


_TARGETS: dict[str, Any] = {
    "plain": {"options": {"target": "forbidden"}},
    "in-a-list": {"options": [{"target": "forbidden"}]},
    "json-in-a-string": {"options": '{"target": "forbidden"}'},
    "list-at-the-end": {"options": {"target": ["fine", "forbidden"]}},
    "case": {"Options": {"TARGET": "Forbidden"}},
}


@attacks_each("nested-name", categories.HIDING, _FOUND, _TARGETS)
def nested_name(bench: Bench, arguments: dict[str, Any]) -> None:
    bench.refuses_call("tool_nested", arguments)


_NO_SCALARS: dict[str, Any] = {
    "list": {"path": ["{root}/work/plain.txt"]},
    "object": {"path": {"value": "{root}/work/plain.txt"}},
    "good-and-bad": {"path": ["{root}/work/plain.txt", "{root}/guards"]},
    "json-in-a-string": {"path": '["{root}/work/plain.txt"]'},
    "null": {"path": None},
    "true": {"path": True},
    "number": {"path": 7},
    "absent": {},
    "other-name": {"file": "{root}/work/plain.txt"},
    "other-case": {"Path": "{root}/work/plain.txt"},
}


@attacks_each(
    "not-a-scalar",
    categories.HIDING,
    "an allow needs the argument itself, as one value",
    _NO_SCALARS,
)
def no_scalar_for_allow(bench: Bench, arguments: dict[str, Any]) -> None:
    bench.refuses_call("read_file", _filled(bench, arguments))


_BESIDE: dict[str, Any] = {
    "case": {"path": "{root}/work/plain.txt", "Path": "{root}/guards"},
    "upper-case": {"PATH": "{root}/guards", "path": "{root}/work/plain.txt"},
    "zero-width": {"path": "{root}/work/plain.txt", "pa\N{ZERO WIDTH SPACE}th": "{root}/guards"},
    "look-alike": {
        "path": "{root}/work/plain.txt",
        "p\N{CYRILLIC SMALL LETTER A}th": "{root}/guards",
    },
}


@attacks_each(
    "beside",
    categories.BESIDE,
    "an allow needs a name that no server can mistake another for",
    _BESIDE,
)
def beside_the_named(bench: Bench, arguments: dict[str, Any]) -> None:
    bench.refuses_call("read_file", _filled(bench, arguments))


_MORE: dict[str, Any] = {
    "another": {"force": True},
    "with-an-allowed-value": {"force": "main"},
    "null": {"force": None},
    "nested": {"options": {"force": True}},
    "case": {"Branch": "other"},
}


@attacks_each("more", categories.BESIDE, "an allow of exactly these arguments has no others", _MORE)
def more_arguments(bench: Bench, more: dict[str, Any]) -> None:
    bench.refuses_call("push", {"branch": "main", "dry_run": True, **more})


_NO_ROUND: dict[str, Any] = {
    "answers": {"inputResponses": {"k": {"action": "accept", "content": {"force": True}}}},
    "state": {"requestState": "force"},
    "at-the-message": {},
}


@attacks_each(
    "round", categories.BESIDE, "only a round that the server asked for has answers", _NO_ROUND
)
def round_that_never_was(bench: Bench, more: dict[str, Any]) -> None:
    params = {"name": "push", "arguments": {"branch": "main", "dry_run": True}, **more}
    beside = {} if more else {"requestState": "force"}
    message = {"jsonrpc": "2.0", "id": 0, "method": "tools/call", "params": params, **beside}
    bench.refuses_line(json.dumps(message).encode())


_OUTSIDE: dict[str, Any] = {
    "input": {"input": {"path": _PATH}},
    "parameter": {"path": _PATH},
    "key": {_PATH: 1},
    "task": {"task": {"ttl": 1, "path": _PATH}},
    "list": {"context": ["fine", {"file": _PATH}]},
}


@attacks_each("outside", categories.BESIDE, "the rules look outside the arguments too", _OUTSIDE)
def outside_the_arguments(bench: Bench, params: dict[str, Any]) -> None:
    bench.refuses_call("echo", {"text": "x"}, **_filled(bench, params))


@attack("outside-meta", categories.BESIDE, "the rules look outside the arguments too")
def outside_in_meta(bench: Bench) -> None:
    message = bench.message("tools/call", {"name": "echo", "arguments": {"text": "x"}}, 0)
    message["params"]["_meta"] = {**message["params"].get("_meta", {}), "x": bench.secret}
    bench.refuses_line(json.dumps(message).encode())


@attack("outside-message", categories.BESIDE, "the rules look outside the arguments too")
def outside_the_parameters(bench: Bench) -> None:
    message = bench.message("tools/call", {"name": "echo", "arguments": {"text": "x"}}, 0)
    bench.refuses_line(json.dumps({**message, "context": {"path": bench.secret}}).encode())


@attack("outside-notice", categories.BESIDE, "the rules look into notices too")
def outside_in_a_notice(bench: Bench) -> None:
    params = {"progressToken": 1, "progress": 1, "message": bench.secret}
    notice = {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
    bench.drops(json.dumps(notice).encode())


@attack("outside-listing", categories.BESIDE, "the rules look into lists too")
def outside_in_a_list(bench: Bench) -> None:
    bench.refuses("tools/list", {"cursor": bench.secret})


_INTEGERS: dict[str, Any] = {"large": 2**53 + 1, "negative": -(2**53) - 1, "float": float(2**53)}


@attacks_each(
    "integer", categories.BESIDE, "an allow matches no number that JavaScript rounds", _INTEGERS
)
def rounded_integer(bench: Bench, number: float) -> None:
    bench.refuses_call("account", {"id": number})


_HOSTS: dict[str, Any] = {
    "port": "https://evil.example:x.good.example/",
    "user": "https://a.good.example@evil.example/",
    "two-users": "https://evil.example@@a.good.example/",
    "backslash": "https://evil.example\\.good.example/",
    "path": "https://evil.example/.good.example/",
    "query": "https://evil.example?.good.example/",
    "fragment": "https://evil.example#.good.example/",
    "percent": "https://evil.example%2f.good.example/",
    "other-port": "https://a.good.example:8443/",
    "no-slashes": "https:a.good.example/",
}


@attacks_each("host", categories.BESIDE, "an allow of hosts covers those hosts alone", _HOSTS)
def another_host(bench: Bench, url: str) -> None:
    bench.refuses_call("fetch", {"url": url})


_SHAPES: dict[str, Any] = {
    "string": "{root}/work/plain.txt",
    "json-string": '{"path": "{root}/work/plain.txt"}',
    "array": ["{root}/work/plain.txt"],
    "null": None,
    "number": 5,
    "true": True,
}


@attacks_each("arguments", categories.ARGUMENTS, "refused with -32602, never a crash", _SHAPES)
def arguments_of_another_shape(bench: Bench, arguments: Any) -> None:
    """For a tool that takes anything: nothing but the shape is wrong."""
    bench.refuses_call("echo", _filled(bench, arguments), -32602)


@attack(
    "arguments-missing", categories.ARGUMENTS, "a rule that needs an argument does not allow it"
)
def arguments_missing(bench: Bench) -> None:
    bench.refuses("tools/call", {"name": "read_file"})


_CALLS: dict[str, Any] = {
    "no-name": {"arguments": {}},
    "name-null": {"name": None, "arguments": {}},
    "name-list": {"name": ["echo"], "arguments": {}},
    "name-number": {"name": 1, "arguments": {}},
    "name-object": {"name": {"echo": 1}, "arguments": {}},
}


@attacks_each("call", categories.ARGUMENTS, "refused with -32602, never a crash", _CALLS)
def call_without_a_name(bench: Bench, params: dict[str, Any]) -> None:
    bench.refuses("tools/call", params, -32602)


_PARAMS: dict[str, Any] = {"string": '"echo"', "array": '["echo"]', "null": "null", "number": "1"}


@attacks_each("params", categories.ARGUMENTS, "refused, never a crash", _PARAMS)
def params_of_another_shape(bench: Bench, params: str) -> None:
    line = f'{{"jsonrpc": "2.0", "id": 0, "method": "tools/call", "params": {params}}}'
    bench.refuses_line(line.encode())
