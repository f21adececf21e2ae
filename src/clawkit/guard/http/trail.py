"""Where a stream of events broke off, and whether and when to ask for the rest."""

from __future__ import annotations

import time

from clawkit.text.sse import Event
from clawkit.wire.jsonrpc import RequestId

_PAUSE = 1.0
_LONGEST_PAUSE = 60.0
_ATTEMPTS = 3
_LASTED = 5.0
"""A stream that lived this long was not refused."""


class Trail:
    """Follows one request, or with None the notices of a session."""

    def __init__(self, request_id: RequestId | None) -> None:
        self.answered = False
        self.pause = _PAUSE
        self._request_id = request_id
        self._last: str | None = None
        self._attempts = 0
        self._began = time.monotonic()

    def note(self, event: Event) -> None:
        self._attempts = 0
        if event.id is not None:
            self._last = event.id.decode()
        if event.retry is not None:
            self.pause = min(int(event.retry) / 1000, _LONGEST_PAUSE)

    def began(self) -> None:
        """One more attempt, which only counts if the last one brought nothing."""
        if time.monotonic() - self._began > _LASTED:
            self._attempts = 0
        self._began = time.monotonic()
        self._attempts += 1

    def refused(self) -> None:
        self._attempts = _ATTEMPTS

    def can_go_on(self) -> bool:
        """Whether there is something to ask for; a request needs to know where it was."""
        known = self._request_id is None or self._last is not None
        return known and self._attempts < _ATTEMPTS

    def headers(self) -> dict[str, str]:
        return {} if self._last is None else {"last-event-id": self._last}
