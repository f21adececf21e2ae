"""Who may use the console: whoever has its one-time link, in one browser, from its own page.

Every local program can reach a loopback port, and so can every web page that a person visits. So a
link is good for one exchange and a few minutes, what it is exchanged for is a cookie that no other
site sends, and the `Host` and `Origin` must be this machine's.

Cookies know no ports: whatever listens on another port of this machine gets ours. So the cookie
alone opens nothing: every request brings a token, too, which the browser keeps for our port only.

Whoever had our port before us may have left a service worker in the browser, which answers for
us. So a console has a name of its own below `localhost` at each start, which nobody could prepare.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable
from typing import Any

from msgspec import Struct
from starlette.types import ASGIApp

from clawkit.errors import ProtocolError
from clawkit.wire import jsonrpc
from clawkit.wire.http.request_checks import LOOPBACK, Headers, Origins, read_headers
from clawkit.wire.http.response import Asgi, HeaderList, Receive, SendAsgi, respond

LINK_SECONDS = 600.0
"""How long a link can be used."""
IDLE_SECONDS = 12 * 3600.0
_MOST_LINKS = 16
_MOST_SESSIONS = 32
_TOKEN_HEADER = "x-claw-token"
_SAFE = ("GET", "HEAD")
_API = "/api/"
OPEN_PATH = "/api/open"
"""Where a link is exchanged for a session."""
PROOF_PATH = "/api/proof"
"""Where a page asks whether this is still the console that it is of."""
_NEED_NO_SESSION = (OPEN_PATH, PROOF_PATH)

_CONTENT_RULES = (
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "media-src blob:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
)
HEADERS: HeaderList = [
    (b"content-security-policy", "; ".join(_CONTENT_RULES).encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
"""What every response has."""
_SET_HERE = {name for name, _ in HEADERS}


class BrowserSession(Struct):
    """A browser that has used a link: what its cookie and its requests must bring."""

    cookie: str
    token: str
    used: float


class Refusal(Struct, frozen=True):
    """Why a request may not come in."""

    status: int
    reason: str


FROM_TERMINAL = "press Enter in the terminal where `claw console` runs for another link"
BY_RESTART = "end `claw console` and start it again for another link"
"""How somebody gets a link where nobody can press Enter."""


class ConsoleAccess:
    """The links that can be used, and the browsers that have used one."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, another_link: str = FROM_TERMINAL
    ) -> None:
        """`another_link` says what to do for one."""
        self._clock = clock
        self.another_link = another_link
        self._links: dict[str, float] = {}
        self._sessions: dict[str, BrowserSession] = {}
        own = secrets.token_hex(8)
        self.host = f"claw-{own}.localhost"
        """The name in links. Browsers take every name below `localhost` for this machine."""
        self.secret = secrets.token_bytes(32)
        """What a page knows this console by, and no other program that answers at its port has."""
        self._origins = Origins((*LOOPBACK, self.host), ())
        # Cookies know no port: two consoles must not take each other's away.
        self._name = f"claw_console_{own}"

    def new_link(self) -> str:
        """A token for one exchange; older ones stay good for their time."""
        now = self._clock()
        self._links = {key: end for key, end in self._links.items() if end > now}
        while len(self._links) >= _MOST_LINKS:
            del self._links[next(iter(self._links))]
        token = secrets.token_urlsafe(32)
        self._links[token] = now + LINK_SECONDS
        return token

    def exchange(self, link: str) -> BrowserSession | None:
        """A session for a link's token, once."""
        for token, end in list(self._links.items()):
            if hmac.compare_digest(token.encode(), link.encode(errors="replace")):
                del self._links[token]
                return self._begin() if end > self._clock() else None
        return None

    def proof(self, challenge: str) -> str:
        """That whoever answers has the secret."""
        return hmac.new(self.secret, challenge.encode(), "sha256").hexdigest()

    def cookie_header(self, session: BrowserSession) -> str:
        return f"{self._name}={session.cookie}; Path=/; HttpOnly; SameSite=Strict"

    def session_of(self, headers: Headers) -> BrowserSession | None:
        """The session whose cookie a request brings."""
        # Others' cookies come along, and need not be such as a parser takes.
        sent = (part.strip().partition("=") for part in headers.get("cookie", "").split(";"))
        # Another program may have set one of our name as well, which comes first.
        ours = (self._sessions.get(value) for name, _, value in sent if name == self._name)
        session = next(filter(None, ours), None)
        if session is None or self._clock() - session.used > IDLE_SECONDS:
            return None
        session.used = self._clock()
        return session

    def refusal(self, method: str, path: str, headers: Headers) -> Refusal | None:
        """Why a request may not come in; None when it may."""
        if reason := self._foreign(headers):
            return Refusal(403, reason)
        if not path.startswith(_API):
            return None if method in _SAFE else Refusal(405, "Only GET is allowed here")
        if headers.get("sec-fetch-site", "same-origin") != "same-origin":
            return Refusal(403, "Only the console's own page may ask for this")
        if path in _NEED_NO_SESSION:
            return None
        session = self.session_of(headers)
        if session is None:
            return self._no_session()
        sent = headers.get(_TOKEN_HEADER, "").encode()
        if hmac.compare_digest(sent, session.token.encode()):
            return None
        if method in _SAFE:
            return self._no_session()
        return Refusal(403, "The request lacks the page's token: load the page again")

    def _no_session(self) -> Refusal:
        return Refusal(401, f"This page's session is over, or never began: {self.another_link}")

    def _foreign(self, headers: Headers) -> str | None:
        """Why a request is not from this machine's own page.

        The port is the caller's: through a tunnel it is another one than ours.
        """
        if reason := self._origins.refuse(headers):
            return reason
        origin = headers.get("origin")
        if origin is None or origin == f"http://{headers['host']}":
            return None
        return f"Origin {origin[:100]!r} is not the console's own"

    def _begin(self) -> BrowserSession:
        now = self._clock()
        live = [one for one in self._sessions.values() if now - one.used <= IDLE_SECONDS]
        latest = sorted(live, key=lambda one: one.used)[-(_MOST_SESSIONS - 1) :]
        session = BrowserSession(secrets.token_urlsafe(32), secrets.token_urlsafe(32), now)
        self._sessions = {one.cookie: one for one in (*latest, session)}
        return session


class AccessCheck:
    """The ASGI app around the console's: checks each request, and completes each response."""

    def __init__(self, app: ASGIApp, access: ConsoleAccess) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Any, receive: Receive, send: SendAsgi) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def complete(message: Asgi) -> None:
            if message["type"] == "http.response.start":
                own = [pair for pair in message["headers"] if pair[0] not in _SET_HERE]
                message["headers"] = [*own, *HEADERS]
            await send(message)

        try:
            headers = read_headers(scope["headers"])
        except ProtocolError as error:
            refusal = Refusal(400, str(error))
        else:
            refusal = self._access.refusal(scope["method"], scope["path"], headers)
        if refusal is None:
            await self._app(scope, receive, complete)
        else:
            await respond(complete, refusal.status, jsonrpc.encode({"error": refusal.reason}))
