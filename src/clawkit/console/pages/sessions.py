"""The page Sessions: what was said to the assistant, with media, steps, tokens and cost."""

from __future__ import annotations

import re
from contextlib import ExitStack
from typing import Any

import msgspec
from msgspec import Struct
from starlette.responses import Response

from clawkit.assistant.config import Config, Price, costs, read_config
from clawkit.assistant.media.prompt_parts import FrameOpening, opening_of
from clawkit.assistant.sessions.message_rows import StoredFile, StoredPart
from clawkit.assistant.sessions.records import LAST
from clawkit.assistant.sessions.session_rows import StoredMessage, StoredTurn
from clawkit.assistant.sessions.store import SessionStore
from clawkit.console import api
from clawkit.console.api import ApiError, ConsolePage
from clawkit.errors import ClawError, SessionError
from clawkit.models.protocol import Text, Usage

_SHOWN = re.compile(r"image/(png|jpeg|gif|webp)|audio/[\w.+-]+")
"""What a browser shows or plays, and what runs nothing; SVG could, and any document."""

_OFFLINE = "offline"
"""The model that is none: what it notes as tokens no provider has counted."""


class ListParameters(Struct, frozen=True):
    """A part of the list of sessions; those that contain a text in their name or beginning."""

    contains: str = ""
    offset: int = 0
    limit: int = 50


class SessionParameters(Struct, frozen=True):
    """A part of a session: the messages before one of that number."""

    key: str
    before: int = LAST
    limit: int = 50


class MediaParameters(Struct, frozen=True):
    """A picture or a file of a session, by its digest."""

    key: str
    digest: str


class SessionKey(Struct, frozen=True):
    """One session."""

    key: str


def page(_: ExitStack) -> ConsolePage:
    return ConsolePage(
        (
            api.get("/api/sessions/list", ListParameters, _list),
            api.get("/api/sessions/show", SessionParameters, _show),
            api.get("/api/sessions/media", MediaParameters, _media),
            api.get("/api/sessions/export", SessionKey, _export),
            api.post("/api/sessions/delete", SessionKey, _delete),
        ),
        topics={"sessions": _stamp},
    )


def _store() -> SessionStore:
    # Where the store is does not depend on the rest of the config, which may be broken.
    return SessionStore(Config().store_file)


def _stamp() -> str:
    """Another text whenever something was written; what is written first stands in the log."""
    file = Config().store_file
    return api.stamp_of(file, file.with_name(f"{file.name}-wal"))


def _prices() -> dict[str, Price]:
    try:
        return read_config().prices
    except ClawError:  # the page Health says what is wrong with the config
        return {}


def _list(given: ListParameters) -> object:
    stamp, wanted = _stamp(), given.contains.casefold()
    found = [
        one
        for one in _store().list_sessions()
        if (one.running or one.messages) and wanted in f"{one.key}\n{one.title}".casefold()
    ]
    end = given.offset + min(given.limit, api.MOST_ROWS)
    return {"total": len(found), "rows": found[given.offset : end], "stamp": stamp}


def _show(given: SessionParameters) -> object:
    stamp, prices = _stamp(), _prices()
    try:
        found = _store().page(given.key, given.before, max(1, min(given.limit, api.MOST_ROWS)))
    except SessionError as error:
        raise ApiError(str(error), 404) from None
    usage = {name: one for name, one in found.usage.items() if name != _OFFLINE}
    return {
        **msgspec.to_builtins(found),
        "stamp": stamp,
        "messages": [_message(one) for one in found.messages],
        "turns": [_turn(one, prices) for one in found.turns],
        "usage": usage,
        "costs": costs(usage, prices),
        "unpriced": [name for name in usage if "/" in name and name not in prices],
    }


def _turn(turn: StoredTurn, prices: dict[str, Price]) -> dict[str, Any]:
    usage = Usage() if turn.model == _OFFLINE else turn.usage
    shown = {"usage": usage, "costs": costs({turn.model: usage}, prices)}
    return {**msgspec.to_builtins(turn), **shown}


def _message(message: StoredMessage) -> dict[str, Any]:
    """A message; what a model got to read of a file stands with the file, not as words."""
    own, read = _taken_apart(message.parts)
    return {**msgspec.to_builtins(message), "parts": [_part(one, read) for one in own]}


_Read = list[tuple[str, list[StoredPart]]]


def _taken_apart(parts: tuple[StoredPart, ...]) -> tuple[list[StoredPart], _Read]:
    """What was said and sent, and what each file that was sent says, by its name."""
    waiting = [part.name for part in parts if isinstance(part, StoredFile)]
    own: list[StoredPart] = []
    read: _Read = []
    frame: FrameOpening | None = None
    for part in parts:
        now = part
        if frame is None and (frame := _frame(part, waiting)):
            waiting.remove(frame.name)
            read.append((frame.name, []))
            now = Text(frame.rest)
        if frame is None or isinstance(part, StoredFile):
            own.append(part)
            continue
        if isinstance(now, Text) and now.text.endswith(frame.closing):
            now, frame = Text(now.text.removesuffix(frame.closing).strip()), None
        read[-1][1].append(now)
    return own, read


def _frame(part: StoredPart, names: list[str]) -> FrameOpening | None:
    """The frame of a file that was sent; a person may have written what looks like one."""
    begun = opening_of(part.text) if isinstance(part, Text) else None
    return begun if begun is not None and begun.name in names else None


def _part(part: StoredPart, read: _Read) -> dict[str, Any]:
    shown: dict[str, Any] = msgspec.to_builtins(part)
    found = next((one for one in read if shown.get("name") == one[0]), None)
    if found is None or not isinstance(part, StoredFile):
        return shown
    read.remove(found)
    return {**shown, "read": found[1]}


def _media(given: MediaParameters) -> object:
    found = _store().media(given.key, given.digest)
    if found is None:
        raise ApiError(f"There is no file {given.digest[:20]!r} in this session", 404)
    if _SHOWN.fullmatch(found.mime_type):
        return Response(found.data, media_type=found.mime_type)
    # Whatever it says that it is, no browser opens it.
    headers = {"content-disposition": "attachment"}
    return Response(found.data, headers=headers, media_type="application/octet-stream")


def _export(given: SessionKey) -> object:
    lines = [msgspec.json.encode(record) for record in _store().export([given.key])]
    headers = {"content-disposition": 'attachment; filename="session.jsonl"'}
    return Response(b"\n".join([*lines, b""]), headers=headers, media_type="application/jsonl")


def _delete(given: SessionKey) -> object:
    if not _store().delete(given.key):
        raise ApiError(f"There is no session {given.key[:60]!r} any more: load the page again", 404)
    return {"deleted": given.key}
