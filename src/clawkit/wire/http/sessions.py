"""Sessions of the handshake era over HTTP, for servers that ask for them."""

from __future__ import annotations

import secrets
import time
from collections import deque

from clawkit.wire.http.answer import Notices
from clawkit.wire.jsonrpc import Message
from clawkit.wire.session import Principal, Session
from clawkit.wire.subscriptions import Hub

IDLE_SECONDS = 3600.0
MOST = 10_000
_KEPT = 100


class HttpSession(Session):
    """A session whose notices wait for the client's GET stream."""

    def __init__(self, principal: Principal | None) -> None:
        super().__init__(self.post, id=secrets.token_urlsafe(24), principal=principal)
        self.used = time.monotonic()
        self.stream: Notices | None = None
        self._kept: deque[Message] = deque(maxlen=_KEPT)

    def post(self, message: Message) -> None:
        if self.stream is not None and not self.stream.closed:
            self.stream.put(message)
        else:
            self._kept.append(message)

    def attach(self) -> Notices | None:
        """A new GET stream; None while another one is open."""
        if self.stream is not None and not self.stream.closed:
            return None
        self.stream = Notices()
        while self._kept:
            self.stream.put(self._kept.popleft())
        return self.stream


class Sessions:
    """The sessions that are open; one that is not used for an hour is forgotten."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._open: dict[str, HttpSession] = {}

    def create(self, principal: Principal | None) -> HttpSession:
        self._forget()
        session = HttpSession(principal)
        self._open[str(session.id)] = session
        return session

    def find(self, session_id: str, principal: Principal | None) -> HttpSession | None:
        session = self._open.get(session_id)
        if session is None or _owner(session.principal) != _owner(principal):
            return None
        session.used = time.monotonic()
        return session

    def end(self, session: HttpSession) -> None:
        self._open.pop(str(session.id), None)
        self._hub.leave(session)
        session.close()
        if session.stream is not None:
            session.stream.close()

    def _forget(self) -> None:
        limit = time.monotonic() - IDLE_SECONDS
        idle = [s for s in self._open.values() if s.used < limit and not s.running]
        if len(self._open) - len(idle) >= MOST:
            idle.append(min(self._open.values(), key=lambda s: s.used))
        for session in idle:
            self.end(session)


def _owner(principal: Principal | None) -> str | None:
    return None if principal is None else principal.id
