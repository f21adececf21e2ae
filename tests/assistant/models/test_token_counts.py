from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawkit.models.protocol import (
    IMAGE_TOKENS,
    Image,
    Message,
    Prompt,
    Text,
    ToolCall,
    ToolOutcome,
    ToolSpec,
    count_tokens,
    message_tokens,
    messages_tokens,
    part_tokens,
    prompt_tokens,
)


def test_nothing_is_no_token() -> None:
    assert count_tokens("") == 0


def test_prose_is_about_a_token_for_four_characters() -> None:
    prose = "the quick brown fox jumps over the lazy dog and runs into the forest. " * 50
    assert len(prose) / 4 <= count_tokens(prose) <= len(prose) / 3.5


@pytest.mark.parametrize("text", ["你好世界", "こんにちは", "안녕하세요"])
def test_a_character_of_chinese_japanese_or_korean_is_a_token(text: str) -> None:
    assert count_tokens(text * 10) == len(text) * 10


def test_accents_and_cyrillic_are_denser_than_ascii() -> None:
    assert count_tokens("й" * 100) == 50
    assert count_tokens("é" * 100) == 50


def test_emoji_are_two_tokens() -> None:
    assert count_tokens("🦀" * 10) == 20


def test_json_and_base64_are_denser_than_prose() -> None:
    rows = json.dumps([{"id": n, "ok": True, "name": f"row_{n}"} for n in range(100)])
    packed = base64.b64encode(bytes(range(256)) * 20).decode()
    assert count_tokens(rows) > len(rows) / 3.2
    assert count_tokens(packed) > len(packed) / 3


@given(st.text(), st.text())
def test_more_text_is_never_fewer_tokens(start: str, rest: str) -> None:
    assert count_tokens(start + rest) >= count_tokens(start)
    assert count_tokens(start + rest) <= count_tokens(start) + count_tokens(rest)


def test_a_lone_surrogate_can_be_counted() -> None:
    assert count_tokens("a\ud800b") >= 1


def test_a_picture_has_its_price_whatever_its_size() -> None:
    small, large = (Image(b"x" * size, "image/png") for size in (1, 100_000))
    assert part_tokens(small) == part_tokens(large) == IMAGE_TOKENS == 1600


def test_calls_and_outcomes_count_with_what_is_in_them() -> None:
    call = ToolCall("1", "read_file", {"path": "a" * 400})
    outcome = ToolOutcome("1", (Text("b" * 4000), Image(b"", "image/png")))
    assert message_tokens(Message("assistant", (call,))) > 100
    assert message_tokens(Message("tool", (outcome,))) > 1000 + IMAGE_TOKENS


def test_a_prompt_is_its_instructions_tools_and_messages() -> None:
    messages = (Message("user", (Text("hello there"),)),)
    tool = ToolSpec("look", "Looks at things.", {"type": "object", "properties": {}})
    bare = prompt_tokens(Prompt("", messages))
    assert bare > messages_tokens(messages)
    assert prompt_tokens(Prompt("Be kind. " * 40, messages)) >= bare + 90
    assert prompt_tokens(Prompt("", messages, (tool,))) > bare + 10
