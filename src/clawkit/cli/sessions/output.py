"""What `claw sessions` prints: the list as a table, one session as a conversation."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size

from clawkit.cli.output import ago
from clawkit.guard.scan import visible

if TYPE_CHECKING:
    from clawkit.assistant.sessions.records import SessionInfo, Transcript
    from clawkit.models.protocol import Part

_USUAL_TITLE = 60
_LONGEST_KEY = 40
_SHORTEST_KEY = 12
_SHORTEST_TITLE = 12
_DISPENSABLE = ("model", "messages", "state", "last used")
"""Columns that a narrow terminal does without, the first ones first."""
_LONGEST_ARGUMENTS = 200
_NAMES = {"user": "you", "assistant": "assistant", "tool": "tool"}


_STATES = {
    "": "idle",
    "end": "idle",
    "command": "idle",
    "length": "cut short",
    "refusal": "declined",
    "lost": "interrupted",
}


def state(session: SessionInfo) -> str:
    """What a session does, or how its last turn ended if that was not well."""
    if session.running:
        return "running"
    how = session.last_reason.partition(":")[0]
    return _STATES.get(how, how)


def is_begun(session: SessionInfo) -> bool:
    """Whether there is anything in it: a first message that failed leaves nothing but a name."""
    return session.running or session.messages > 0


def table(sessions: Sequence[SessionInfo], now: float, width: int | None) -> Iterator[str]:
    """A line for each session that fits into `width`, for eyes; for programs keys are whole."""
    columns = {
        "session": [_one_line(one.key, None) for one in sessions],
        "messages": [str(one.messages) for one in sessions],
        "last used": [ago(now - one.updated) for one in sessions],
        "model": [_one_line(one.model or "-", None) for one in sessions],
        "state": [_one_line(state(one), None) for one in sessions],
        "begins with": [_one_line(one.title, width or _USUAL_TITLE) for one in sessions],
    }
    widths = {name: max(map(cell_len, (name, *cells))) for name, cells in columns.items()}
    if width is not None:
        widths = _fitted(widths, width)
    for row in zip(*((name, *columns[name]) for name in widths), strict=True):
        cells = (
            set_cell_size(_one_line(cell, wide), wide)
            for cell, wide in zip(row, widths.values(), strict=True)
        )
        yield "  ".join(cells).rstrip()


def _fitted(widths: dict[str, int], width: int) -> dict[str, int]:
    """The columns that have room beside the key, which one may want to copy, and the title."""
    key = whole = widths["session"]
    if key + widths["last used"] + _SHORTEST_TITLE + 4 > width:
        key = min(key, _SHORTEST_KEY)
    fitted = {**widths, "session": key, "begins with": _SHORTEST_TITLE}
    for name in _DISPENSABLE:
        if _spare(fitted, width) < 0:
            del fitted[name]
    fitted["session"] = min(whole, max(key, _LONGEST_KEY), key + max(0, _spare(fitted, width)))
    fitted["begins with"] = max(1, _SHORTEST_TITLE + _spare(fitted, width))
    return fitted


def _spare(widths: dict[str, int], width: int) -> int:
    return width - sum(widths.values()) - 2 * (len(widths) - 1)


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
    from clawkit.cli.output import plural

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
    from clawkit.models.message_history import unknown_outcome
    from clawkit.models.protocol import Image, Text, ToolCall

    if isinstance(part, Text):
        return part.text
    if isinstance(part, Image):
        return f"[{part.name}: {part.mime_type}, {max(1, len(part.data) // 1000)} KB]"
    if isinstance(part, ToolCall):
        arguments = json.dumps(part.arguments, ensure_ascii=False)
        return f"[calls {part.name} {visible(arguments, _LONGEST_ARGUMENTS)}]"
    inner = "\n".join(_part(one) for one in part.parts)
    if part == unknown_outcome(part.call_id):
        return f"[outcome not known] {inner}"
    return f"[failed] {inner}" if part.is_error else inner


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M")


def _one_line(text: str, width: int | None) -> str:
    """A text as it may be shown, all of it or as much as fits."""
    if width is None:
        return visible(text, len(text))
    shown = visible(text[: width + 1], width + 1)
    return shown if cell_len(shown) <= width else f"{set_cell_size(shown, width - 1).rstrip()}…"
