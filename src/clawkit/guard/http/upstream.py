"""The remote server as an HTTP client sees it: asked, never followed elsewhere, read in bounds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpx2

from clawkit.errors import ClawError
from clawkit.guard.http.target import Target
from clawkit.text.sse import Event, Events

CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 600.0
"""How long a server may take to begin an answer: a tool may work that long."""
NOTICE_SECONDS = 30.0

EVENT_STREAM = "text/event-stream"
JSON = "application/json"

Response = httpx2.Response


class UpstreamError(ClawError):
    """The remote server could not be asked, or its answer cannot be used; with an HTTP status."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


class Upstream:
    """One remote server. Its headers go to its own origin only."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._client = httpx2.AsyncClient(
            # Clients share this one, and one's cookies are nothing to the others.
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
            follow_redirects=False,
            # Unpacked, a small answer can be a very large one.
            headers={"user-agent": "clawkit", "accept-encoding": "identity"},
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=20),
            timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),
        )

    async def close(self) -> None:
        await self._client.aclose()

    @asynccontextmanager
    async def ask(
        self,
        method: str,
        headers: Mapping[str, str],
        body: bytes | None = None,
        *,
        url: str | None = None,
        patience: float = ANSWER_SECONDS,
    ) -> AsyncGenerator[Response]:
        """The beginning of an answer; leaving the context closes the connection it comes over.

        A body is a message, and of the one type that the guard has read it as.
        """
        ours = {} if body is None else {"content-type": JSON}
        request = self._client.build_request(
            method,
            url or self.target.url,
            content=body,
            headers=_encoded({**headers, **self.target.headers, **ours}),
        )
        response = await self._begun(request, patience)
        try:
            self._refuse(response)
            yield response
        except httpx2.HTTPError as error:
            raise UpstreamError(502, self._said(error)) from None
        finally:
            await response.aclose()

    async def _begun(self, request: httpx2.Request, patience: float) -> Response:
        try:
            async with asyncio.timeout(patience):
                return await self._client.send(request, stream=True)
        except TimeoutError:
            reason = f"{self.target.origin} did not begin to answer within {patience:.0f} s"
            raise UpstreamError(504, reason) from None
        except httpx2.ConnectTimeout:
            reason = f"{self.target.origin} cannot be reached within {CONNECT_SECONDS:.0f} s"
            raise UpstreamError(504, reason) from None
        except httpx2.HTTPError as error:
            raise UpstreamError(502, self._said(error)) from None

    def _said(self, error: httpx2.HTTPError) -> str:
        """What went wrong. Only for a connection are the library's words free of what was sent."""
        if isinstance(error, httpx2.ConnectError):
            return f"{self.target.origin} cannot be reached: {error}"
        return f"the connection to {self.target.origin} broke ({type(error).__name__})"

    def _refuse(self, response: Response) -> None:
        if response.is_redirect or response.status_code in (300, 304, 305, 306):
            raise UpstreamError(
                502,
                f"{self.target.origin} answered with a redirect ({response.status_code}), "
                "and redirects are not followed: use the address it leads to, if you trust it",
            )
        packed = response.headers.get("content-encoding", "identity")
        if packed != "identity":
            reason = f"{self.target.origin} answered in an encoding nobody asked for: {packed[:40]}"
            raise UpstreamError(502, reason)


def _encoded(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]


def kind_of(response: Response) -> str:
    """The type of its content, without parameters."""
    said: str = response.headers.get("content-type", "")
    return said.partition(";")[0].strip().lower()


async def whole(response: Response, limit: int) -> bytes | None:
    """All of it; None if that is more than `limit` bytes."""
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            async for chunk in response.aiter_raw():
                size += len(chunk)
                if size > limit:
                    return None
                parts.append(chunk)
    except TimeoutError:
        raise UpstreamError(504, "The server's answer does not come to an end") from None
    return b"".join(parts)


async def events_of(response: Response, limit: int) -> AsyncGenerator[Event]:
    """Its events, one after the other as they arrive."""
    events = Events(limit)
    async for chunk in response.aiter_raw():
        for event in events.feed(chunk):
            yield event
