"""Activity: what passed the guard and what it stopped, as a table, charts and single calls."""

from __future__ import annotations

import threading
from contextlib import ExitStack

from msgspec import Struct

from clawkit.console.api import MOST_ROWS, ApiError, ConsolePage, NoParameters, get
from clawkit.console.audit_index import (
    ActivitySummary,
    AuditIndex,
    OpenedRecord,
    RowFilter,
    RowPage,
)
from clawkit.guard.audit.verification import Verdict
from clawkit.guard.locations import audit_directory
from clawkit.guard.status import verify_log


class RowsWanted(RowFilter, frozen=True):
    """Which rows are wanted, and which part of them."""

    before: int = 0
    limit: int = 50


class RecordNumber(Struct, frozen=True):
    """One record of the log."""

    seq: int


class Chain(Struct, frozen=True):
    """What the hash chain says."""

    directory: str
    verdict: Verdict


def page(_: ExitStack) -> ConsolePage:
    activity = Activity(AuditIndex(audit_directory()))
    return ConsolePage(
        routes=(
            get("/api/activity/rows", RowsWanted, activity.rows),
            get("/api/activity/summary", RowFilter, activity.summary),
            get("/api/activity/record", RecordNumber, activity.record),
            get("/api/activity/servers", NoParameters, activity.servers),
            get("/api/activity/chain", NoParameters, activity.chain),
        ),
        topics={"activity": activity.changes},
    )


class Activity:
    """The log as the page asks for it."""

    def __init__(self, index: AuditIndex) -> None:
        self._index = index
        self._verifying = threading.Lock()
        self._verified: tuple[int, Chain] | None = None

    def changes(self) -> int:
        return self._index.refresh()

    def rows(self, wanted: RowsWanted) -> RowPage:
        return self._index.page(wanted, wanted.before, max(1, min(wanted.limit, MOST_ROWS)))

    def summary(self, wanted: RowFilter) -> ActivitySummary:
        return self._index.summary(wanted)

    def record(self, which: RecordNumber) -> OpenedRecord:
        found = self._index.opened(which.seq)
        if found is None:
            raise ApiError(f"The log has no record {which.seq} any more: it was rotated out", 404)
        return found

    def servers(self, _: NoParameters) -> list[str]:
        return self._index.servers()

    def chain(self, _: NoParameters) -> Chain:
        """Whether the log is whole, as far as it goes now."""
        with self._verifying:
            changes = self._index.refresh()
            if self._verified is None or self._verified[0] != changes:
                self._verified = (changes, Chain(str(audit_directory()), verify_log()))
            return self._verified[1]
