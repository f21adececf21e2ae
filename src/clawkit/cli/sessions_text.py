"""What `claw sessions` prints: the list as a table, one session as a conversation."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size

from clawkit.guard.scan import visible

if TYPE_CHECKING:
    from clawkit.assistant.models.protocol import Part
    from clawkit.assistant.sessions.records import SessionInfo, Transcript

_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_WIDEST_KEY = 40
_WIDEST_MODEL = 28
_USUAL_TITLE = 60
_SHORTEST_TITLE = 12
_LONGEST_TITLE = 400
_LONGEST_ARGUMENTS = 200
_NAMES = {"user": "you", "assistant": "assistant", "tool": "tool"}


def ago(seconds: float) -> str:
    """How long ago something was, as one would say it."""
    if seconds < _MINUTE:
        return "just now"
    if seconds < _HOUR:
        return f"{int(seconds // _MINUTE)} min ago"
    if seconds < 2 * _DAY:
        return f"{int(seconds // _HOUR)} h ago"
    return f"{int(seconds // _DAY)} days ago"


def state(session: SessionInfo) -> str:
    """What a session does, or how its last turn ended if that was not well."""
    if session.running:
        return "running"
    return "idle" if session.last_reason in ("", "end") else session.last_reason


def table(sessions: Sequence[SessionInfo], now: float, width: int | None) -> Iterator[str]:
    """A line for each session, cut at `width` for eyes; for programs keys are whole."""
    rows = [("session", "messages", "last used", "model", "state", "begins with")]
    rows += [
        (
            _one_line(one.key, _WIDEST_KEY if width else None),
            str(one.messages),
            ago(now - one.updated),
            _one_line(one.model or "-", _WIDEST_MODEL if width else None),
            _one_line(state(one), None),
            _one_line(one.title, _LONGEST_TITLE if width else _USUAL_TITLE),
        )
        for one in sessions
    ]
    widths = [max(cell_len(row[column]) for row in rows) for column in range(5)]
    taken = sum(widths) + 2 * len(widths)
    for row in rows:
        cells = [set_cell_size(cell, widths[at]) for at, cell in enumerate(row[:5])]
        title = row[5]
        if width is not None:
            title = _one_line(title, max(width - taken, _SHORTEST_TITLE))
        yield "  ".join((*cells, title)).rstrip()


def transcript(found: Transcript, now: float) -> Iterator[str]:
    """What is known about a session, and who said what in it."""
    yield from _heading(found.info, now)
    if found.summary:
        yield ""
        yield "summary of what came first"
        yield from _indented(found.summary)
    epoch = 0
    for saved in found.messages:
        if saved.epoch != epoch:
            epoch = saved.epoch
            yield ""
            yield "begun anew: what stands above is no longer remembered"
        yield ""
        yield f"{_NAMES[saved.message.role]}, {_when(saved.created)}"
        for part in saved.message.parts:
            yield from _indented(_part(part))


def _heading(session: SessionInfo, now: float) -> Iterator[str]:
    from clawkit.cli.log_text import plural

    yield _one_line(session.key, None)
    parts = [
        f"{plural(session.messages, 'message')} in {plural(session.turns, 'turn')}",
        f"begun {_when(session.created)}",
        f"last used {ago(now - session.updated)}",
        session.model,
        state(session),
        "" if session.named else "goes after 30 days without use",
    ]
    yield f"  {', '.join(_one_line(part, None) for part in parts if part)}"


def _indented(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        yield f"  {_one_line(line, None)}".rstrip()


def _part(part: Part) -> str:
    from clawkit.assistant.models.protocol import Image, Text, ToolCall

    if isinstance(part, Text):
        return part.text
    if isinstance(part, Image):
        return f"[{part.name}: {part.mime_type}, {max(1, len(part.data) // 1000)} KB]"
    if isinstance(part, ToolCall):
        arguments = json.dumps(part.arguments, ensure_ascii=False)
        return f"[calls {part.name} {visible(arguments, _LONGEST_ARGUMENTS)}]"
    inner = "\n".join(_part(one) for one in part.parts)
    return f"[failed] {inner}" if part.is_error else inner


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M")


def _one_line(text: str, width: int | None) -> str:
    """A text as it may be shown, all of it or as much as fits."""
    if width is None:
        return visible(text, len(text))
    shown = visible(text[: width + 1], width + 1)
    return shown if cell_len(shown) <= width else f"{set_cell_size(shown, width - 1).rstrip()}…"
