"""What is too much to be read, or can be read in two ways, is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawkit.errors import InvalidRequestError, ParseError
from clawkit.guard import strict_parser
from clawkit.guard.strict_parser import parse

HEAD = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"a":'


def message(value: bytes) -> bytes:
    return HEAD + value + b"}}}"


@pytest.fixture
def most(monkeypatch: pytest.MonkeyPatch) -> int:
    """As many values as a message may have: fewer than usual."""
    monkeypatch.setattr(strict_parser, "MOST_VALUES", 1000)
    return strict_parser.MOST_VALUES


@pytest.mark.parametrize("value", [b"[]", b"{}", b'""', b"1", b'{"a":"b"}', b"[[[]]]"], ids=repr)
def test_a_message_of_too_many_values_is_refused(value: bytes, most: int) -> None:
    line = message(b"[" + b",".join([value] * (most + 1)) + b"]")
    with pytest.raises(ParseError, match="more than 1000 values"):
        parse(line, 200)


def test_a_million_values_are_too_many() -> None:
    with pytest.raises(ParseError, match="more than 1000000 values"):
        parse(message(b"[" + b"1," * 1_000_000 + b"1]"), 200)


@pytest.mark.parametrize("text", [b",[{", b'\\",', b"\\\\,,", b'\\\\\\",'], ids=repr)
def test_what_stands_in_a_string_is_no_value(text: bytes, most: int) -> None:
    line = message(b'["' + text * (most + 1) + b'",1]')
    assert parse(line, 200)["params"]["arguments"]["a"][1] == 1


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":1,"method":"notifications/tools/call","params":{"name":"t"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"Notifications/initialized"}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params ":{"name":"t"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","\\tmethod":"tools/call"}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","par\\u200bams":{"name":"t"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","argument\xd1\x95":{}}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t "}}',
        b'{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":" t"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":" demo://x"}}',
        b'{"jsonrpc":"2.0","id":1,"result":{" tools":[]}}',
    ],
    ids=lambda line: line[32:].decode(),
)
def test_what_a_lenient_server_could_read_otherwise_is_refused(line: bytes) -> None:
    with pytest.raises(InvalidRequestError):
        parse(line, 200)


LONG = b'"' + b"x" * 5000 + b'"'
SCALARS = st.sampled_from(
    ["1", "-7", "1.50", "true", "null", '""', '"a"', '"{[,:]}"', '"\u2026"', '"\\n"', "[]", "{}"]
)


def objects(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    member = st.tuples(st.sampled_from(['"a"', '"b"', '"\\u0061"']), values)
    return st.one_of(
        st.lists(member.map(": ".join)).map(lambda members: f"{{{', '.join(members)}}}"),
        st.lists(values).map(lambda items: f"[{','.join(items)}]"),
    )


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("twice")
    return dict(pairs)


@given(st.recursive(SCALARS, objects, max_leaves=12))
def test_a_long_message_is_read_as_a_short_one_is(value: str) -> None:
    try:
        expected = json.loads(value, object_pairs_hook=unique)
    except ValueError:
        for text in (b'""', LONG):
            with pytest.raises(ParseError, match="stands twice"):
                parse(message(b"[" + text + b"," + value.encode() + b"]"), 200)
        return
    line = message(b"[" + LONG + b"," + value.encode() + b"]")
    assert parse(line, 200)["params"]["arguments"]["a"][1] == expected


@pytest.mark.parametrize("text", [b'""', LONG])
def test_a_call_that_stands_in_a_message_twice_is_refused(text: bytes) -> None:
    line = HEAD + text + b'}},"params":{"name":"u","arguments":{}}}'
    with pytest.raises(ParseError, match="stands twice"):
        parse(line, 200)


@pytest.mark.parametrize("text", [b"", b"x" * 5000])
def test_a_message_may_be_nested_as_deeply_as_is_allowed_and_no_deeper(text: bytes) -> None:
    for levels, fits in ((7, True), (8, False)):
        line = message(b"[" * levels + b'"' + text + b'"' + b"]" * levels)
        if fits:
            assert parse(line, 10)
        else:
            with pytest.raises(ParseError, match="nested more than 10 levels"):
                parse(line, 10)
