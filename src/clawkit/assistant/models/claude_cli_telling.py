"""What the Claude CLI is told: a conversation as the one message that it takes."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable, Iterator
from typing import Any

from clawkit.assistant.models.protocol import Image, Message, Part, Text, ToolCall, ToolOutcome

_WHO = {"user": "User", "assistant": "Assistant", "tool": "Tool"}


def message_of(messages: tuple[Message, ...]) -> dict[str, Any]:
    """The conversation as a message of the user."""
    return {
        "type": "user",
        "message": {"role": "user", "content": _content(messages)},
        "parent_tool_use_id": None,
        "session_id": "default",
    }


def _content(messages: tuple[Message, ...]) -> list[dict[str, Any]]:
    """What was said before, then the newest message, part by part and as it is."""
    *earlier, newest = messages
    if newest.role == "tool":  # another model, or another CLI, had these tools called
        return _blocks([*_story(messages), "\n\nGo on from here."])
    told = _blocks([*_story(earlier), "\n\nThe message now:"]) if earlier else []
    for part in newest.parts:
        told += _blocks(_said(part))
    return told


def _story(messages: Iterable[Message]) -> Iterator[str | Image]:
    yield "The conversation so far:"
    for message in messages:
        yield f"\n\n{_WHO[message.role]}: "
        for number, part in enumerate(message.parts):
            yield " " if number else ""
            yield from _said(part)


def _said(part: Part) -> Iterator[str | Image]:
    if isinstance(part, Text):
        yield part.text
    elif isinstance(part, Image):
        yield part
    elif isinstance(part, ToolCall):
        yield f"[called {part.name} with {json.dumps(part.arguments, ensure_ascii=False)}]"
    else:
        yield from _came(part)


def _came(outcome: ToolOutcome) -> Iterator[str | Image]:
    yield "[failed: " if outcome.is_error else "["
    for part in outcome.parts:
        yield from _said(part)
    yield "]"


def _blocks(pieces: Iterable[str | Image]) -> list[dict[str, Any]]:
    """Words that follow each other are one block."""
    blocks: list[dict[str, Any]] = []
    words = ""
    for piece in pieces:
        if isinstance(piece, str):
            words += piece
            continue
        blocks += _text(words)
        blocks.append(_image(piece))
        words = ""
    return blocks + _text(words)


def _text(words: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": words}] if words else []


def _image(image: Image) -> dict[str, Any]:
    data = b64encode(image.data).decode()
    return {
        "type": "image",
        "source": {"type": "base64", "media_type": image.mime_type, "data": data},
    }
