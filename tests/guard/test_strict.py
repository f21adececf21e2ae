"""What is too much to be read, or can be read in two ways, is refused."""

from __future__ import annotations

import pytest

from clawkit.errors import InvalidRequestError, ParseError
from clawkit.guard.strict import MOST_VALUES, parse

HEAD = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"a":'


def message(value: bytes) -> bytes:
    return HEAD + value + b"}}}"


@pytest.mark.parametrize("value", [b"[]", b"{}", b'""', b"1", b'{"a":"b"}', b"[[[]]]"], ids=repr)
def test_a_message_of_too_many_values_is_refused(value: bytes) -> None:
    line = message(b"[" + b",".join([value] * (MOST_VALUES + 1)) + b"]")
    with pytest.raises(ParseError, match="more than 1000000 values"):
        parse(line, 200)


@pytest.mark.parametrize("text", [b",[{", b'\\",', b"\\\\,,", b'\\\\\\",'], ids=repr)
def test_what_stands_in_a_string_is_no_value(text: bytes) -> None:
    line = message(b'["' + text * (MOST_VALUES + 1) + b'",1]')
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
