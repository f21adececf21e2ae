"""MCP tasks in the sessions' database, so that clients can ask for them after a restart.

What this process works on is answered from memory; the file is written by a thread, because the
event loop must not wait for a disk. Only the first word of a task is waited for, and not for long:
whoever holds a task's name is to find it again after a crash. A task goes with its session.
"""

from __future__ import annotations

import atexit
import sqlite3
import threading
import time
from pathlib import Path

import msgspec

from clawkit.assistant.sessions.database import PATIENCE, DatabaseThread, SessionDatabase, log
from clawkit.assistant.sessions.turn_queue import directory_for, is_alive, owner_here
from clawkit.errors import InternalError, StoreError
from clawkit.settings import is_there
from clawkit.wire.jsonrpc import error_object
from clawkit.wire.tasks import CUT_OFF, ENDED, TaskRecord

_FIRST_WORD = 0.25
_SHORT = 1.0
_AT_EXIT = 5.0
_MOST_NOTED = 10_000

_sessions: dict[str, str] = {}
"""The session of each of the last calls that are tasks, or may become some, in this process."""


def note_session(task_id: str, key: str) -> None:
    """Tell to which session a task will belong: it may become one at any moment, or never."""
    _sessions[task_id] = key
    if len(_sessions) > _MOST_NOTED:
        del _sessions[next(iter(_sessions))]


class StoredTasks:
    """The TaskStore of `wire.tasks`, kept in the store of sessions."""

    def __init__(self, file: Path, *, patience: float = PATIENCE) -> None:
        self._file = file
        self._worker = DatabaseThread(SessionDatabase(file, patience=patience))
        self._reading = SessionDatabase(file, patience=_SHORT)
        self._turn = threading.Lock()
        self._here: dict[str, TaskRecord] = {}
        atexit.register(self.close)

    def save(self, record: TaskRecord) -> None:
        """Note how a task stands. Returns at once, but for a task that was not known before."""
        task_id = record.id
        with self._turn:
            known = task_id in self._here
            self._here[task_id] = msgspec.structs.replace(record)
        written = threading.Event()
        self._worker.do_eventually(lambda database: self._write(database, task_id), written.set)
        if not known:
            written.wait(_FIRST_WORD)

    def load(self, task_id: str) -> TaskRecord | None:
        """The task as it stands; `failed` if the process that worked on it is dead."""
        with self._turn:
            record = self._here.get(task_id)
            if record is not None:
                return None if record.is_over else record
            if not is_there(self._file):
                return None
            return self._find(task_id)

    def close(self) -> None:
        """Write what is pending, and close the file."""
        atexit.unregister(self.close)
        thread = self._worker.stop()
        if thread is not None:
            thread.join(_AT_EXIT)
        with self._turn:
            self._reading.close()

    def _write(self, database: SessionDatabase, task_id: str) -> None:
        """Write how the task stands now: what was to be written earlier may come late."""
        with self._turn:
            record = self._here.get(task_id)
        if record is None:
            return
        process, session = owner_here(database.file), _sessions.get(task_id)
        data = msgspec.json.encode(record)

        def work(connection: sqlite3.Connection) -> None:
            now = time.time()
            connection.execute("DELETE FROM tasks WHERE expires < ?", (now,))
            connection.execute(
                "INSERT OR REPLACE INTO tasks (id, process, status, expires, record, session)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (record.id, process, record.status, record.expires, data, session),
            )

        ended = record.status in ENDED
        database.write(work, lasting=ended)
        if ended:
            with self._turn:
                self._here.pop(task_id, None)

    def _find(self, task_id: str) -> TaskRecord | None:
        row = self._reading.read(
            lambda connection: connection.execute(
                "SELECT process, record FROM tasks WHERE id = ?", (task_id,)
            ).fetchone()
        )
        if row is None:
            return None
        record = msgspec.json.decode(row[1], type=TaskRecord)
        if record.is_over:
            self._try_to_write("DELETE FROM tasks WHERE id = ?", task_id)
            return None
        if record.status in ENDED or is_alive(directory_for(self._file), row[0]):
            return record
        _fail(record)
        self._try_to_write(
            "UPDATE tasks SET status = ?, record = ? WHERE id = ? AND process = ?",
            record.status,
            msgspec.json.encode(record),
            task_id,
            row[0],
        )
        return record

    def _try_to_write(self, statement: str, *values: object) -> None:
        """Write; a failure is logged, and the next reader finds the old record."""
        try:
            self._reading.write(lambda connection: connection.execute(statement, values))
        except StoreError as error:
            log.warning("%s", error)


def _fail(record: TaskRecord) -> None:
    record.status = "failed"
    record.message = CUT_OFF
    record.error = error_object(InternalError(CUT_OFF))
    record.updated = time.time()
