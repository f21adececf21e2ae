from __future__ import annotations

import re
from typing import Any

import pytest

from clawkit.assistant.order import read_order
from clawkit.assistant.server import CLAWDBOT, OPENCLAW
from clawkit.assistant.sessions.turn_queue import new_session_key
from clawkit.errors import InvalidArgumentsError, MediaError


def test_a_generated_key_has_the_documented_form_and_is_never_the_same() -> None:
    keys = {new_session_key("mcp") for _ in range(1000)}
    assert len(keys) == 1000
    assert all(re.fullmatch(r"mcp-\d{13}-[0-9a-f]{16}", key) for key in keys)


def test_a_message_is_taken_as_it_is() -> None:
    message = "  tab\there\r\n \u202e\U0001f600 'quoted' {\"json\": 1}\n"
    order = read_order(OPENCLAW, {"message": message, "sessionKey": "k"})
    assert (order.text, order.session_key, order.named) == (message, "k", True)


@pytest.mark.parametrize("key", [None, "", "  "])
def test_without_a_key_each_order_has_its_own(key: str | None) -> None:
    arguments = {"message": "hi"} if key is None else {"message": "hi", "sessionKey": key}
    one, other = read_order(OPENCLAW, arguments), read_order(OPENCLAW, arguments)
    assert one.session_key != other.session_key
    assert not one.named


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "message: a text is required"),
        ({"message": 5}, "message: a text is required"),
        ({"message": " \n"}, "message: is empty"),
        ({"message": "hi", "sessionKey": 5}, "sessionKey: must be a text"),
        ({"message": "hi", "mesage": 1}, "order_openclaw takes only message, sessionKey, images"),
    ],
)
def test_arguments_that_cannot_be_used_are_named(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidArgumentsError, match=said):
        read_order(OPENCLAW, arguments)


def test_the_first_version_of_the_tool_takes_no_media() -> None:
    with pytest.raises(InvalidArgumentsError, match="order_clawdbot takes only message, session"):
        read_order(CLAWDBOT, {"message": "hi", "images": []})


def test_a_bad_attachment_is_named() -> None:
    with pytest.raises(MediaError, match=r"images\[0\]"):
        read_order(OPENCLAW, {"message": "hi", "images": [{"data": "", "mimeType": "image/png"}]})


def test_an_attachment_needs_no_words() -> None:
    note = {"data": "aGVsbG8=", "mimeType": "text/plain", "filename": "note.txt"}
    order = read_order(OPENCLAW, {"message": "", "files": [note]})
    assert [found.name for found in order.attachments] == ["note.txt"]
