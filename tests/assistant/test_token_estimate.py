from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawkit.assistant import token_estimate
from clawkit.models.protocol import Image, Message, Prompt, Text, ToolCall, ToolOutcome, ToolSpec


def test_nothing_is_no_token() -> None:
    assert token_estimate.count("") == 0


def test_prose_is_about_a_token_for_four_characters() -> None:
    prose = "the quick brown fox jumps over the lazy dog and runs into the forest. " * 50
    assert len(prose) / 4 <= token_estimate.count(prose) <= len(prose) / 3.5


@pytest.mark.parametrize("text", ["你好世界", "こんにちは", "안녕하세요"])
def test_a_character_of_chinese_japanese_or_korean_is_a_token(text: str) -> None:
    assert token_estimate.count(text * 10) == len(text) * 10


def test_accents_and_cyrillic_are_denser_than_ascii() -> None:
    assert token_estimate.count("й" * 100) == 50
    assert token_estimate.count("é" * 100) == 50


def test_emoji_are_two_tokens() -> None:
    assert token_estimate.count("🦀" * 10) == 20


def test_json_and_base64_are_denser_than_prose() -> None:
    rows = json.dumps([{"id": n, "ok": True, "name": f"row_{n}"} for n in range(100)])
    packed = base64.b64encode(bytes(range(256)) * 20).decode()
    assert token_estimate.count(rows) > len(rows) / 3.2
    assert token_estimate.count(packed) > len(packed) / 3


@given(st.text(), st.text())
def test_more_text_is_never_fewer_tokens(start: str, rest: str) -> None:
    assert token_estimate.count(start + rest) >= token_estimate.count(start)
    assert token_estimate.count(start + rest) <= token_estimate.count(start) + token_estimate.count(
        rest
    )


def test_a_lone_surrogate_can_be_counted() -> None:
    assert token_estimate.count("a\ud800b") >= 1


def test_a_picture_has_its_price_whatever_its_size() -> None:
    small, large = (Image(b"x" * size, "image/png") for size in (1, 100_000))
    assert (
        token_estimate.of_part(small)
        == token_estimate.of_part(large)
        == token_estimate.IMAGE
        == 1600
    )


def test_calls_and_outcomes_count_with_what_is_in_them() -> None:
    call = ToolCall("1", "read_file", {"path": "a" * 400})
    outcome = ToolOutcome("1", (Text("b" * 4000), Image(b"", "image/png")))
    assert token_estimate.of_message(Message("assistant", (call,))) > 100
    assert token_estimate.of_message(Message("tool", (outcome,))) > 1000 + token_estimate.IMAGE


def test_a_prompt_is_its_instructions_tools_and_messages() -> None:
    messages = (Message("user", (Text("hello there"),)),)
    tool = ToolSpec("look", "Looks at things.", {"type": "object", "properties": {}})
    bare = token_estimate.of_prompt(Prompt("", messages))
    assert bare > token_estimate.of_messages(messages)
    assert token_estimate.of_prompt(Prompt("Be kind. " * 40, messages)) >= bare + 90
    assert token_estimate.of_prompt(Prompt("", messages, (tool,))) > bare + 10
