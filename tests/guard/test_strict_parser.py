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


@pytest.mark.parametrize(
    "number",
    [
        *("0.1", "0.10", "1e5", "1E+05", "-0.0", "0.0e7", "2.50000000000000000000000", "1e22"),
        *("1e-7", "0.0000001", "1.7976931348623157e308", "5e-324", "1180591620717411303424"),
        "9007199254740993",  # as a whole number it is shown as it was written
        *("0.30000000000000004", "0.10000000000000001", "1.0999999999999999E23"),  # %.17g
        *("9007199254740992.0", "100000000000000000000000.0", "1234567.125"),
    ],
)
@pytest.mark.parametrize("space", [b"", b" "])
def test_numbers_that_programs_write_are_taken(number: str, space: bytes) -> None:
    line = message(space + number.encode())
    assert parse(line, 200, exact=True)["params"]["arguments"]["a"] == json.loads(number)


@given(st.floats(-1e308, 1e308), st.integers(15, 17))
def test_every_float_is_taken_in_the_digits_that_programs_give_it(
    number: float, digits: int
) -> None:
    for text in (repr(number), f"{number:.{digits - 1}e}"):
        assert parse(message(text.encode()), 200, exact=True)


@pytest.mark.parametrize(
    "number",
    [
        "0.1000000000000000055511151231257827",
        "0.1" + "0" * 20 + "7" * 20_000,
        *("9007199254740993.0", "123456789012345678.5", "-1.0000000000000000001", "1e-400"),
        *("0.1234567890123456789", "1.2345678901234567891e-5", "1.23456e-320"),
    ],
    ids=lambda number: number[:40],
)
@pytest.mark.parametrize("text", [b'""', LONG], ids=["short", "long"])
def test_digits_that_a_float_drops_are_refused_where_somebody_is_to_see_them(
    number: str, text: bytes
) -> None:
    line = message(b"[" + text + b"," + number.encode() + b"]")
    with pytest.raises(ParseError, match="more digits than a float keeps: send it as a string"):
        parse(line, 200, exact=True)
    assert parse(line, 200)["params"]["arguments"]["a"][1] == float(number)
