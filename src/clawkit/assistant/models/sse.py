"""The events of a model's stream: each one JSON, out of bytes that may be split anywhere."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

from clawkit.assistant.models.fields import decoded, fields
from clawkit.errors import ClawError
from clawkit.guard.http.sse import Events

LONGEST_EVENT = 32 * 1024 * 1024
DONE: dict[str, Any] = {"type": "[DONE]"}
"""What OpenAI's streams end with, which is not JSON."""


class MalformedEventError(ClawError):
    """What came is not an event as models send them; the text says what it is instead."""


async def json_events(chunks: AsyncIterator[bytes]) -> AsyncGenerator[dict[str, Any]]:
    """The objects in a stream, as they arrive; comments and empty events only keep it alive."""
    events = Events(LONGEST_EVENT)
    async for chunk in chunks:
        for event in events.feed(chunk):
            if event.data != b"":
                yield _object(event.data)
    # Some servers leave out the empty line after the last event. A part of one is no JSON.
    for event in events.feed(b"\n\n"):
        if event.data and (last := _last(event.data)) is not None:
            yield last


def _last(data: bytes) -> dict[str, Any] | None:
    try:
        return _object(data)
    except MalformedEventError:
        return None


def _object(data: bytes | None) -> dict[str, Any]:
    if data is None:
        raise MalformedEventError(f"an event of more than {LONGEST_EVENT // 1024**2} MB")
    if data.strip() == b"[DONE]":
        return DONE
    try:
        value = decoded(data, halves=True)
    except ValueError as error:
        raise MalformedEventError(f"an event that is not JSON to be read ({error})") from None
    if not isinstance(value, dict):
        raise MalformedEventError("an event that is not a JSON object")
    return fields(value)
