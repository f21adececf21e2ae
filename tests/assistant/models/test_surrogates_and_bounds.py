"""Answers with halves of characters in them, and calls whose arguments do not end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from clawkit.assistant.callbacks import MessageContext
from clawkit.errors import ModelError
from clawkit.models.json_fields import decoded, joined
from clawkit.models.messages import LONGEST_ARGUMENTS, read_arguments
from tests.assistant.providers.steps import Call, Hang, Raw, Say
from tests.assistant.replies import Heard, get_reply, scripted

WIRES = ("anthropic", "openai")
SMILE = "\N{GRINNING FACE}"


@pytest.mark.parametrize("wire", WIRES)
async def test_a_character_that_is_split_over_two_deltas_is_whole(
    tmp_path: Path, wire: str
) -> None:
    pieces = ("Well done \ud83d", "\ude00! Half: \ud83d", " and \ude00, at the end: \ud83d")
    with scripted(tmp_path, [Say(*pieces)], wire=wire) as (_, config):
        heard = Heard()
        reply = await get_reply(config, MessageContext("go", "k"), heard)
    assert reply.text == f"Well done {SMILE}! Half: \ufffd and \ufffd, at the end: \ufffd"
    assert "".join(heard.of("text")) == reply.text


@pytest.mark.parametrize("wire", WIRES)
async def test_half_a_character_in_the_arguments_of_a_call_does_not_fail_the_answer(
    tmp_path: Path, wire: str
) -> None:
    text = '{"path": "a.txt", "text": "\ud83d\ude00 and \\ud83d"}'
    script = [Call("send_file", text, pieces=len(text)), Say("Sent.")]
    with scripted(tmp_path, script, wire=wire) as (_, config):
        reply = await get_reply(config, MessageContext("go", "k"), Heard())
    assert [item.data.decode() for item in reply.media] == [f"{SMILE} and \ufffd"]
    assert reply.text == "Sent."


def test_halves_are_put_together_and_other_escapes_are_left_alone() -> None:
    assert joined("\ud83d\ude00 \ud83d \ude00\ud83d") == f"{SMILE} \ufffd \ufffd\ufffd"
    assert decoded(rb'["\ud83d", "\\ud83d", "\ud83d\ude00", "\uDE00x"]') == [
        *("\ufffd", "\\ud83d", SMILE, "\ufffdx")
    ]
    assert read_arguments(r'{"a": "\ud83d", "b": 1}') == {"a": "\ufffd", "b": 1}
    for broken in (b'{"a": NaN}', b'{"a": "\\ud83d"', b'{"a": "\\ud83d", "b": Infinity}'):
        with pytest.raises(ValueError):  # noqa: PT011 - the library's own words
            decoded(broken)


def endless(wire: str) -> Iterator[bytes]:
    """The events of a call whose arguments are far too long."""
    begin = {"type": "tool_use", "id": "1", "name": "send_file"}
    if wire == "anthropic":
        first = {"type": "content_block_start", "index": 0, "content_block": begin}
        delta = {"type": "input_json_delta", "partial_json": "x" * 100_000}
        more = {"type": "content_block_delta", "index": 0, "delta": delta}
    else:
        first, more = (
            {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, **call}]}}]}
            for call in (
                {"id": "1", "function": {"name": "send_file", "arguments": ""}},
                {"function": {"arguments": "x" * 100_000}},
            )
        )
    yield b"data: " + json.dumps(first).encode() + b"\n\n"
    for _ in range(LONGEST_ARGUMENTS // 100_000 + 1):
        yield b"data: " + json.dumps(more).encode() + b"\n\n"


@pytest.mark.parametrize("wire", WIRES)
async def test_a_model_that_does_not_stop_writing_arguments_is_stopped(
    tmp_path: Path, wire: str
) -> None:
    flood = [*(Raw(event) for event in endless(wire)), Hang()]
    with (
        scripted(tmp_path, [flood], wire=wire) as (server, config),
        pytest.raises(ModelError, match=f"more than {LONGEST_ARGUMENTS} characters"),
    ):
        await get_reply(config, MessageContext("go", "k"), Heard())
    assert server.open == 0
