"""Small HTTP requests to servers that a stranger named: where to, how much and how long.

Only HTTPS is used, and plain HTTP on this machine. A server on the internet cannot send us into a
private network, and none that is elsewhere to this machine. A redirect leads to the same origin.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlencode, urljoin, urlsplit

import httpx2

from clawkit.errors import LoginError
from clawkit.login.oauth import Document, decoded
from clawkit.system.addresses import Reach, is_loopback, origin_of, reach_of, trusted

LONGEST = 256 * 1024
SECONDS = 20.0
_MOST_REDIRECTS = 3
_JSON = "application/json"
_FORM = "application/x-www-form-urlencoded"


class WebReply(NamedTuple):
    """What a server answered."""

    url: str
    status: int
    headers: httpx2.Headers
    body: bytes


def document(reply: WebReply, kind: type[Document], what: str) -> Document:
    """The JSON of an answer; LoginError says what is not as it must be."""
    try:
        return decoded(reply.body, kind)
    except LoginError as error:
        raise LoginError(f"{what} of {origin_of(reply.url)} cannot be used: {error}") from None


def check_place(url: str, what: str) -> str:
    """The address, if it has HTTPS or is on this machine, and hides nothing."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        parts, usable = urlsplit(""), False
    if not usable or "@" in parts.netloc or "#" in url or not url.isascii():
        raise LoginError(f"{what} is not an address that can be used")
    if not url.isprintable() or " " in url:
        raise LoginError(f"{what} is not an address that can be used")
    if parts.scheme == "http" and not is_loopback(url):
        raise LoginError(f"{what} is at {origin_of(url)}, without https://: it is not used")
    return url


class Web:
    """The requests that a login to one server takes."""

    def __init__(self, server: str) -> None:
        # A name that is here and elsewhere is elsewhere: whoever gave it could be anywhere.
        self._reach = min(_reaches(server))

    def check_browser_place(self, url: str) -> None:
        """Raise LoginError if a server elsewhere would lead a browser to this machine."""
        if self._reach != Reach.MACHINE and is_loopback(url):
            raise LoginError(
                f"the authorization endpoint is at {origin_of(url)}, and would lead your browser "
                "to this machine, where the server is not: it is not used"
            )

    def get(self, url: str, what: str) -> WebReply:
        """A document; a redirect within its origin is followed."""
        for _ in range(_MOST_REDIRECTS):
            reply = self._ask("GET", url, what, {"accept": _JSON})
            place = reply.headers.get("location", "")
            if not 300 <= reply.status < 400 or not place:
                return reply
            onward = _joined(url, place)
            if origin_of(onward) != origin_of(url):
                raise LoginError(
                    f"{what}: {origin_of(url)} leads to another host, which is not followed"
                )
            url = onward
        raise LoginError(f"{what}: {origin_of(url)} leads round in circles")

    def post_form(
        self, url: str, what: str, form: Mapping[str, str], headers: Mapping[str, str]
    ) -> WebReply:
        sent = {"accept": _JSON, "content-type": _FORM, **headers}
        return self._ask("POST", url, what, sent, urlencode(form).encode())

    def post_json(self, url: str, what: str, value: Mapping[str, Any]) -> WebReply:
        sent = {"accept": _JSON, "content-type": _JSON}
        return self._ask("POST", url, what, sent, json.dumps(value).encode())

    def head_of(
        self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]
    ) -> WebReply:
        """What a server begins to answer; the answer itself is not read."""
        return self._ask(method, url, "the server", headers, body, read=False)

    def _ask(
        self,
        method: str,
        url: str,
        what: str,
        headers: Mapping[str, str],
        body: bytes | None = None,
        *,
        read: bool = True,
    ) -> WebReply:
        check_place(url, what)
        if max(_reaches(url)) > self._reach:
            raise LoginError(_too_far_inside(url, what))
        try:
            return asyncio.run(self._send(method, url, what, headers, body, read=read))
        except TimeoutError:
            reason = f"did not answer within {SECONDS:.0f} s"
        except httpx2.ConnectError as error:
            reason = f"cannot be reached: {error}"
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            reason = f"cannot be asked ({type(error).__name__})"
        raise LoginError(f"{what}: {origin_of(url)} {reason}") from None

    async def _send(
        self,
        method: str,
        url: str,
        what: str,
        headers: Mapping[str, str],
        body: bytes | None,
        *,
        read: bool,
    ) -> WebReply:
        ours = {"user-agent": "clawkit", "accept-encoding": "identity", **headers}
        told = {"trace": self._connection_check(url, what)}
        async with (
            asyncio.timeout(SECONDS),
            httpx2.AsyncClient(
                follow_redirects=False, timeout=SECONDS, verify=trusted(url)
            ) as client,
            client.stream(method, url, headers=ours, content=body, extensions=told) as response,
        ):
            found = await _read(response) if read else b""
            return WebReply(url, response.status_code, response.headers, found)

    def _connection_check(
        self, url: str, what: str
    ) -> Callable[[str, Mapping[str, Any]], Awaitable[None]]:
        """Refuses a connection before a byte is sent: its name may be another's meanwhile."""
        to = ""

        async def check(event: str, told: Mapping[str, Any]) -> None:
            nonlocal to
            if event.endswith("connect_tcp.started"):
                to = told["host"]
            elif event.endswith("connect_tcp.complete") and to == httpx2.URL(url).raw_host.decode():
                stream = told["return_value"]  # to a proxy, it has another host
                if reach_of(stream.get_extra_info("server_addr")[0]) > self._reach:
                    await stream.aclose()
                    raise LoginError(_too_far_inside(url, what))

        return check


def _joined(url: str, place: str) -> str:
    try:
        return urljoin(url, place)
    except ValueError:  # it is no address
        return ""


def _too_far_inside(url: str, what: str) -> str:
    return (
        f"{what} is at {origin_of(url)}, in a network that the server itself is not in: "
        "it is not asked"
    )


async def _read(response: httpx2.Response) -> bytes:
    if response.headers.get("content-encoding", "identity") != "identity":
        raise LoginError(f"{origin_of(str(response.url))} answered in an encoding nobody asked for")
    body = b""
    async for part in response.aiter_raw():
        body += part
        if len(body) > LONGEST:
            raise LoginError(
                f"{origin_of(str(response.url))} answered with more than {LONGEST} bytes"
            )
    return body


def _reaches(url: str) -> set[Reach]:
    """Where an address is, by all that its name stands for."""
    if is_loopback(url):
        return {Reach.MACHINE}
    host = urlsplit(url).hostname or ""
    try:
        entries = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):  # a proxy may know it; else the request says so
        return {Reach.INTERNET}
    return {reach_of(str(entry[4][0])) for entry in entries} or {Reach.INTERNET}
