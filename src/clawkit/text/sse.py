"""Server-sent events: parsed from chunks of any size, and encoded."""

from __future__ import annotations

import re

import msgspec

_MARK = b"\xef\xbb\xbf"
_PLAIN = re.compile(rb"[ -~]*")
_LONGEST_ID = 1024
_MOST_LINES = 250_000
_REMAINS = b"?"
"""What is kept of a line of which there is too much: it is not an empty one."""


class SseEvent(msgspec.Struct, frozen=True):
    """One event. `data` is None if there was more of it than may be kept."""

    data: bytes | None = b""
    kind: bytes = b""
    id: bytes | None = None
    retry: bytes | None = None
    comments: tuple[bytes, ...] = ()

    @property
    def is_message(self) -> bool:
        """Whether it carries a message; one without data only keeps a stream alive or resumable."""
        return self.kind in (b"", b"message") and self.data != b""


class SseParser:
    """Reads a stream of events; keeps at most `limit` bytes of the one that is not complete."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._line: list[bytes] = []
        self._fields: list[tuple[bytes, bytes]] = []
        self._too_long = False
        self._first = True
        self._after_return = False

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """The events that this chunk completes."""
        if self._after_return and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        self._after_return = chunk.endswith(b"\r")
        *ended, rest = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        found: list[SseEvent] = []
        for piece in ended:
            self._add(piece)
            event = self._end_line()
            if event is not None:
                found.append(event)
        self._add(rest)
        return found

    def _add(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > self._limit or len(self._fields) > _MOST_LINES:
            self._too_long = True
        if self._too_long and piece:
            self._fields.clear()
            self._line = [_REMAINS]
        elif piece:
            self._line.append(piece)

    def _end_line(self) -> SseEvent | None:
        line = b"".join(self._line)
        self._line = []
        if self._first:
            line = line.removeprefix(_MARK)
            self._first = False
        if not line:
            return self._end_event()
        if not self._too_long:
            name, _, value = line.partition(b":")
            self._fields.append((name, value.removeprefix(b" ")))
        return None

    def _end_event(self) -> SseEvent | None:
        fields, too_long = self._fields, self._too_long
        self._fields, self._too_long, self._size = [], False, 0
        if too_long:
            return SseEvent(data=None)
        if not fields:
            return None
        last = dict(fields)
        return SseEvent(
            data=b"\n".join(value for name, value in fields if name == b"data"),
            kind=last.get(b"event", b""),
            id=_usable_id(last.get(b"id")),
            retry=_number(last.get(b"retry")),
            comments=tuple(value for name, value in fields if not name),
        )


def encode(event: SseEvent, data: bytes) -> bytes:
    """The event with this data, one line, written in the one way that every reader takes alike."""
    lines = [b": " + text if _PLAIN.fullmatch(text) else b":" for text in event.comments]
    if event.id is not None:
        lines.append(b"id: " + event.id)
    if event.retry is not None:
        lines.append(b"retry: " + event.retry)
    if data or event.id is not None:
        lines += [b"event: message", b"data: " + data]
    return b"\n".join(lines) + b"\n\n"


def message_event(line: bytes) -> bytes:
    return encode(SseEvent(), line)


def _usable_id(value: bytes | None) -> bytes | None:
    """An id goes into a header when a stream is resumed."""
    usable = value is not None and len(value) <= _LONGEST_ID and _PLAIN.fullmatch(value)
    return value if usable else None


def _number(value: bytes | None) -> bytes | None:
    return value if value is not None and value.isdigit() and len(value) < 10 else None
