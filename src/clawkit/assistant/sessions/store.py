"""The sessions for commands (sync): list, show, export, delete, check.

Every method opens the file and closes it again. Where there is no file there are no sessions, and
none is made.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from clawkit.assistant.sessions import session_rows, turn_queue
from clawkit.assistant.sessions.database import (
    SessionDatabase,
    empty_store,
    explained_os,
    is_damage,
)
from clawkit.assistant.sessions.message_rows import (
    COLUMNS,
    Row,
    StoredFile,
    StoredImage,
    decode_parts,
    image_data,
    saved,
)
from clawkit.assistant.sessions.records import LAST, Saved, SessionInfo, Transcript
from clawkit.assistant.sessions.repair import left_problem
from clawkit.assistant.sessions.session_rows import (
    SessionPage,
    StoredMedia,
    forget,
    give_back_space,
)
from clawkit.errors import SessionError, StoreError
from clawkit.models.protocol import File, Image, Text
from clawkit.settings import is_there
from clawkit.store.salvage import is_emptied, missing_parts

T = TypeVar("T")
_AT_ONCE = 10  # each may have pictures
_SESSION = "key, origin, named, created, updated, chosen_model, epoch, summary, floor"
_TURN = "id, began, ended, reason, model, input, output, cached"


class SessionStore:
    """The store in one file, for one command at a time."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._is_alive = partial(turn_queue.is_alive, turn_queue.directory_for(file))

    def list_sessions(self, active_minutes: float | None = None) -> tuple[SessionInfo, ...]:
        """All sessions, the last used first; with a number, those used within so many minutes."""
        since = 0 if active_minutes is None else time.time() - 60 * active_minutes
        return self._read(lambda found: session_rows.every(found, self._is_alive, since), ())

    def show(self, key: str) -> Transcript:
        """One session with all that was said in it; raises SessionError if there is none."""
        return self.last(key, -1)

    def last(self, key: str, count: int) -> Transcript:
        """The same with the newest `count` messages only."""

        def work(connection: sqlite3.Connection, info: SessionInfo) -> Transcript:
            id_, summary, model = connection.execute(
                "SELECT id, summary, chosen_model FROM sessions WHERE key = ?", (key,)
            ).fetchone()
            rows = connection.execute(
                f"SELECT {COLUMNS} FROM messages WHERE session = ? ORDER BY id DESC LIMIT ?",
                (id_, count),
            )
            messages = [saved(row, _named) for row in rows]
            return Transcript(info, summary, tuple(reversed(messages)), model)

        return self._read_one(key, work)

    def page(self, key: str, before: int = LAST, count: int = 50) -> SessionPage:
        """The newest messages of a session before one of that number, with the turns they are of.

        Pictures are without their bytes: `picture` has these.
        """
        return self._read_one(key, partial(session_rows.page, before=before, count=count))

    def media(self, key: str, digest: str) -> StoredMedia | None:
        """A picture or a file that came or was sent in a session."""
        return self._read(lambda found: session_rows.media(found, key, digest), None)

    def export(self, keys: Iterable[str] | None = None) -> Iterator[dict[str, Any]]:
        """Everything about some sessions, or about all: a record for each session, each of its
        turns and each of its messages, in this order and always the same.

        Raises SessionError, before anything else, if there is no session of one of the keys.
        """
        keys = None if keys is None else tuple(keys)
        if not is_there(self.file):
            if keys:
                raise _no_such_session()
            return
        database = SessionDatabase(self.file)
        try:
            _end_what_died(database)
            for id_ in database.read(lambda connection: _chosen(connection, keys)):
                yield from _exported(database, id_)
        finally:
            database.close()

    def delete(self, key: str) -> bool:
        """Delete a session and everything in it; whether there was one."""

        def work(connection: sqlite3.Connection) -> bool:
            row = connection.execute("SELECT id FROM sessions WHERE key = ?", (key,)).fetchone()
            if row is not None:
                forget(connection, row[0])
            return row is not None

        def job(database: SessionDatabase) -> bool:
            gone = database.write(work)
            if gone:
                _erase(database)
            return gone

        return self._with(job, False)

    def check(self) -> list[str]:
        """What is damaged in the file, in words; nothing if it is sound or not begun.

        Raises StoreError if that cannot be found out: the rights, a newer version, a full disk.
        Setting the file aside would not help then.
        """
        try:
            if is_emptied(self.file):
                return [f"{self.file}: it is empty, so whatever was in it is lost"]
            if problem := left_problem(self.file):
                return [problem]
            return self._with(_problems, [])
        except StoreError as error:
            if not is_damage(error):
                raise
            return [str(error)]

    def _read_one(self, key: str, work: Callable[[sqlite3.Connection, SessionInfo], T]) -> T:
        """What `work` finds of one session; raises SessionError if there is none."""

        def find(connection: sqlite3.Connection) -> T | None:
            info = session_rows.find(connection, key, self._is_alive)
            return None if info is None else work(connection, info)

        found = self._read(find, None)
        if found is None:
            raise _no_such_session()
        return found

    def _read(self, work: Callable[[sqlite3.Connection], T], missing: T) -> T:
        def job(database: SessionDatabase) -> T:
            _end_what_died(database)
            return database.read(work)

        return self._with(job, missing)

    def _with(self, job: Callable[[SessionDatabase], T], missing: T) -> T:
        try:
            if not is_there(self.file):
                return missing
        except OSError as error:
            raise explained_os(self.file, error) from error
        database = SessionDatabase(self.file)
        try:
            return job(database)
        finally:
            database.close()


def _end_what_died(database: SessionDatabase) -> None:
    """Turns of dead processes are shown with their end, if it can be written."""
    with suppress(StoreError):  # a full disk hides nothing of what is there
        turn_queue.clear_all_dead(database)


def _erase(database: SessionDatabase) -> None:
    """Let nothing of what was deleted stay in the index, in free pages, or in the journal."""
    database.write(lambda found: found.execute("INSERT INTO said (said) VALUES ('optimize')"))
    give_back_space(database)
    database.plainly(lambda found: found.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall())


def _problems(database: SessionDatabase) -> list[str]:
    def look(connection: sqlite3.Connection) -> list[str]:
        with closing(empty_store()) as sound:
            found = missing_parts(connection, sound)
        found += [text for (text,) in connection.execute("PRAGMA quick_check") if text != "ok"]
        for table, row, parent, _ in connection.execute("PRAGMA foreign_key_check"):
            found.append(f"{table}: row {row} belongs to a row of {parent} that is missing")
        return found

    problems = database.read(look)
    if not problems:
        check = "INSERT INTO said (said, rank) VALUES ('integrity-check', 0)"
        database.write(lambda found: found.execute(check))
    return [f"{database.file}: {problem}" for problem in problems]


def _chosen(connection: sqlite3.Connection, keys: Iterable[str] | None) -> list[int]:
    if keys is None:
        return [id_ for (id_,) in connection.execute("SELECT id FROM sessions ORDER BY id")]
    chosen: dict[int, None] = {}
    for key in keys:
        row = connection.execute("SELECT id FROM sessions WHERE key = ?", (key,)).fetchone()
        if row is None:
            raise _no_such_session()
        chosen[row[0]] = None
    return list(chosen)


def _exported(database: SessionDatabase, session: int) -> Iterator[dict[str, Any]]:
    """Reads a few messages at a time, so that a slow reader does not lock the store."""
    key, about, turns = database.read(lambda connection: _head(connection, session))
    if about is None:
        return  # deleted since
    yield about
    yield from turns
    last = 0
    while rows := database.read(partial(_page, session=session, after=last)):
        for one in rows:
            yield _message(key, one)
        last = rows[-1].id


def _head(
    connection: sqlite3.Connection, session: int
) -> tuple[str, dict[str, Any] | None, list[dict[str, Any]]]:
    row = connection.execute(f"SELECT {_SESSION} FROM sessions WHERE id = ?", (session,)).fetchone()
    if row is None:
        return "", None, []
    about = {"type": "session", **dict(zip(_SESSION.split(", "), row, strict=True))}
    about["named"] = bool(about["named"])
    about["summary_up_to"] = about.pop("floor")
    turns = connection.execute(
        f"SELECT {_TURN} FROM turns WHERE session = ? AND (ended IS NOT NULL"
        " OR EXISTS (SELECT 1 FROM messages WHERE turn = turns.id)) ORDER BY id",
        (session,),
    )
    head, names = {"type": "turn", "session": about["key"]}, _TURN.split(", ")
    return about["key"], about, [{**head, **dict(zip(names, turn, strict=True))} for turn in turns]


def _page(connection: sqlite3.Connection, session: int, after: int) -> list[Saved]:
    rows: list[Row] = connection.execute(
        f"SELECT {COLUMNS} FROM messages WHERE session = ? AND id > ? ORDER BY id LIMIT ?",
        (session, after, _AT_ONCE),
    ).fetchall()

    def whole(image: StoredImage) -> Text | Image:
        data = image_data(connection, image)
        return _named(image) if data is None else Image(data, image.mime_type, image.name)

    return [_with_files(connection, saved(row, whole), row) for row in rows]


def _with_files(connection: sqlite3.Connection, one: Saved, row: Row) -> Saved:
    files = tuple(
        File(data, part.mime_type, part.name)
        for part in decode_parts(row[-1])
        if isinstance(part, StoredFile) and (data := image_data(connection, part)) is not None
    )
    return replace(one, message=replace(one.message, files=files)) if files else one


def _message(key: str, one: Saved) -> dict[str, Any]:
    return {
        "type": "message",
        "session": key,
        "id": one.id,
        "turn": one.turn,
        "epoch": one.epoch,
        "created": one.created,
        "tokens": one.tokens,
        "role": one.message.role,
        "parts": list(msgspec.to_builtins(one.message.parts)),
        **({"files": list(msgspec.to_builtins(files))} if (files := one.message.files) else {}),
    }


def _named(image: StoredImage) -> Text:
    return Text(f"[image {image.name}, {image.mime_type}, {image.size} bytes]")


def _no_such_session() -> SessionError:
    return SessionError("there is no session of this key: `claw sessions` lists those there are")
