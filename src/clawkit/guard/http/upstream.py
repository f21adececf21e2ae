"""The remote server: address and headers, its judge, requests within limits, HTTP errors."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from http.cookiejar import CookieJar, DefaultCookiePolicy
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple
from urllib.parse import SplitResult, urljoin, urlsplit

import httpx2
import msgspec

from clawkit.errors import ClawError, HostError, InternalError, LoginError, ProtocolError
from clawkit.guard.judge import Judge, open_judge
from clawkit.guard.passages import failure
from clawkit.guard.policy.paths import Paths
from clawkit.guard.profiles.profile import profile_at
from clawkit.guard.strict_parser import has_too_many_values
from clawkit.settings import settings
from clawkit.system.addresses import trusted
from clawkit.text.sse import SseEvent, SseParser
from clawkit.wire import jsonrpc
from clawkit.wire.calls import Workers
from clawkit.wire.jsonrpc import Message, RequestId, as_object

if TYPE_CHECKING:
    from clawkit.login.client.bearer import Bearer

_VARIABLE = "CLAW_HEADER_"
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t -~\x80-\xff]*")
_TEMPLATE = re.compile(r"[${}%]")
_PORTS = {"http": 80, "https": 443}


class Target(msgspec.Struct, frozen=True):
    """A remote server. `headers` have their names in lower case."""

    name: str
    url: str
    headers: dict[str, str]
    transport: Literal["http", "sse"] = "http"
    source: str = ""
    """Where its headers were configured, for a person whom it refuses."""
    entry: str = ""
    """What a wrapped entry is called, which `claw login` takes in place of the address."""

    @property
    def origin(self) -> str:
        """What may be said of the address: the rest may be a secret."""
        return origin_of(self.url)

    @property
    def path(self) -> str:
        return urlsplit(self.url).path or "/"

    def at_home(self, reference: str) -> str | None:
        """The address that the server means by a reference, if it is one of its own."""
        try:
            address = urljoin(self.url, reference)
            check_address(address)
        except (ValueError, HostError):
            return None
        return address if origin_of(address) == self.origin else None


def find_target(
    url: str, entry: str = "", name: str = "", environment: Mapping[str, str] | None = None
) -> Target:
    """What the command line, the ledger and the environment say together."""
    values = os.environ if environment is None else environment
    if not entry:
        check_address(url)
        host = urlsplit(url).hostname or ""
        return Target(name or host, url, _checked(_given(values, {})), source=_source(""))
    from clawkit.hosts.ledger import remote

    wrapped = remote(entry, values)
    check_address(wrapped.url)
    _check_same_place(url, wrapped.url, wrapped.name)
    headers = {key.lower(): value for key, value in wrapped.headers.items()}
    headers = _checked(_given(values, headers) | headers)
    source = _source(wrapped.name)
    called = name or wrapped.name
    return Target(called, wrapped.url, headers, wrapped.transport, source, wrapped.name)


def check_address(url: str) -> None:
    """Raise HostError unless this is an address that can be called as it stands."""
    try:
        parts = urlsplit(url)
        known = parts.scheme in _PORTS and parts.hostname and parts.port != 0
    except ValueError:
        known, parts = False, SplitResult("", "", "", "", "")
    if not known:
        raise HostError("--url takes an address that starts with http:// or https://").of_usage()
    if "@" in parts.netloc:
        raise HostError(
            "an address with a user or password in it is not used: put them into a header, "
            f"as {_VARIABLE}AUTHORIZATION in the environment"
        ).of_usage()


def origin_of(url: str) -> str:
    """Scheme, host and port, written in one way only."""
    parts = urlsplit(url)
    host = (parts.hostname or "").rstrip(".")
    shown = f"[{host}]" if ":" in host else host
    port = parts.port or _PORTS.get(parts.scheme)
    return f"{parts.scheme}://{shown}" + ("" if port == _PORTS.get(parts.scheme) else f":{port}")


def _check_same_place(given: str, wrapped: str, name: str) -> None:
    """The entry's headers go where the entry led when it was wrapped, and nowhere else."""
    if not given or _TEMPLATE.search(given):
        return
    check_address(given)
    if origin_of(given) != origin_of(wrapped):
        raise HostError(
            f"`{name}` was wrapped for {origin_of(wrapped)}, and --url says {origin_of(given)}: "
            "its headers are not sent there; unwrap the entry, change it, and wrap it again"
        )


def _given(environment: Mapping[str, str], known: Mapping[str, str]) -> dict[str, str]:
    """The headers in the environment, without those that the ledger has put in their place."""
    placed = {re.sub(r"[^A-Z0-9]", "_", name.upper()) for name in known}
    found: dict[str, str] = {}
    for variable, value in environment.items():
        name = variable.removeprefix(_VARIABLE)
        if name != variable and name and name not in placed:
            found[name.replace("_", "-").lower()] = value
    return found


def _checked(headers: dict[str, str]) -> dict[str, str]:
    for name, value in headers.items():
        if not _TOKEN.fullmatch(name):
            raise HostError(f"{name!r} cannot be the name of a header")
        if not _VALUE.fullmatch(value):
            raise HostError(f"the value of the header {name} has control characters")
    return headers


def _source(entry: str) -> str:
    environment = f"`{_VARIABLE}<NAME>` in the environment"
    if not entry:
        return environment
    return f"the client's entry `{entry}` as it was when it was wrapped, or {environment}"


class Guarded(NamedTuple):
    """A remote server, and who judges what is sent to it."""

    target: Target
    judge: Judge


def open_guarded(url: str, entry: str = "", name: str = "", policy: Path | None = None) -> Guarded:
    """A remote server and its judge, from what the command line says."""
    target = find_target(url, entry, name)
    # A file of the server's is on another machine: a path can be compared as text only.
    judge = open_judge(policy, (target.name,), Paths(), profile=profile_at(target.url))
    return Guarded(target, judge)


CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 600.0
"""How long a server may take to begin an answer: a tool may work that long."""
NOTICE_SECONDS = 30.0

EVENT_STREAM = "text/event-stream"
JSON = "application/json"
BOTH = {"accept": f"{JSON}, {EVENT_STREAM}"}

Response = httpx2.Response


class UpstreamError(ClawError):
    """The remote server could not be asked, or its answer cannot be used; with an HTTP status."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


class StoredLogin:
    """The login that a person made with `claw login`, looked for with each request."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._folder = settings().logins
        self._bearer: Bearer | None = None
        self._thread = Workers(1)

    async def token(self) -> str:
        """An access token; empty where nobody has logged in."""
        if self._bearer is None:
            if not self._folder.is_dir():
                return ""
            from clawkit.login.client.bearer import Bearer

            self._bearer = Bearer(self._target.url)
        found = self._bearer.at_hand()
        return await self._ask(self._bearer.get) if found is None else found

    async def renewed(self, refused: str) -> str:
        """Another token than one that was refused; empty if only a person can get one."""
        bearer = self._bearer
        return "" if bearer is None else await self._ask(lambda: bearer.renew(refused))

    async def _ask(self, find: Callable[[], str]) -> str:
        try:
            return await self._thread.start(find, {}).outcome
        except LoginError as error:
            raise UpstreamError(502, f"{self._target.origin}: {error}") from None


class Upstream:
    """One remote server. Its headers, or the login to it, go to its own origin only."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._login = StoredLogin(target)
        self._client = httpx2.AsyncClient(
            # Clients share this one, and one's cookies are nothing to the others.
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
            follow_redirects=False,
            # Unpacked, a small answer can be a very large one.
            headers={"user-agent": "clawkit", "accept-encoding": "identity"},
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=20),
            timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),
            verify=trusted(target.url),
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
        sent = {**headers, **self.target.headers, **ours}

        def begin(token: str) -> Awaitable[Response]:
            login = {"authorization": f"Bearer {token}"} if token else {}
            request = self._client.build_request(
                method, url or self.target.url, content=body, headers=_encoded(sent | login)
            )
            return self._begun(request, patience)

        token = "" if "authorization" in sent else await self._login.token()
        response = await begin(token)
        try:
            if (
                token
                and response.status_code == 401
                and (another := await self._login.renewed(token))
            ):
                await response.aclose()
                response = await begin(another)
            self._refuse(response)
            yield response
        except httpx2.HTTPError as error:
            raise UpstreamError(502, self._said(error)) from None
        finally:
            await response.aclose()

    async def tell(
        self,
        headers: Mapping[str, str],
        line: bytes,
        *,
        url: str | None = None,
        patience: float = NOTICE_SECONDS,
    ) -> str:
        """Post a message to which no answer belongs; why the server did not take it, if so."""
        try:
            async with self.ask("POST", headers, line, url=url, patience=patience) as response:
                return refusal(response, self.target) if response.status_code >= 400 else ""
        except UpstreamError as error:
            return error.reason

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


async def whole(response: Response, limit: int) -> bytes:
    """All of it. Raises UpstreamError if that is more than `limit` bytes, or takes too long."""
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            async for chunk in response.aiter_raw():
                size += len(chunk)
                if size > limit:
                    reason = f"The server's answer has more than {limit} bytes"
                    raise UpstreamError(502, reason)
                parts.append(chunk)
    except TimeoutError:
        raise UpstreamError(504, "The server's answer does not come to an end") from None
    return b"".join(parts)


async def events_of(response: Response, limit: int) -> AsyncGenerator[SseEvent]:
    """Its events, one after the other as they arrive."""
    events = SseParser(limit)
    async for chunk in response.aiter_raw():
        for event in events.feed(chunk):
            yield event


BROKEN = "Internal error: the guard could not do this; its stderr says where"


def rpc_error(body: bytes) -> Message | None:
    """The JSON-RPC error that a response consists of, if it does."""
    if has_too_many_values(body):
        return None
    try:
        found = jsonrpc.decode(body)
    except ProtocolError:
        return None
    return found if "error" in found else None


def answer_in(body: bytes, response: Response, request_id: RequestId, target: Target) -> bytes:
    """What a whole response says to a request. Raises UpstreamError if that is nothing.

    An error can be about no other request, in HTTP.
    """
    status = response.status_code
    if not body.strip() and status < 400:
        raise UpstreamError(502, f"The server answered {status} and nothing else")
    if status < 400:
        return body
    found = rpc_error(body)
    if found is None:
        return failure(request_id, InternalError(refusal(response, target)))
    if status in (401, 403) and (wanted := _login_wanted(response, target)):
        error = as_object(found["error"]) or {}
        told = f"{error.get('message')}: {wanted}"
        return jsonrpc.encode(found | {"id": request_id, "error": error | {"message": told}})
    return body if found.get("id") == request_id else jsonrpc.encode(found | {"id": request_id})


def refusal(response: Response, target: Target) -> str:
    """What a person is told of a status that is an error; never what was sent."""
    status = response.status_code
    if status in (401, 403):
        wanted = _login_wanted(response, target) or "it wants other credentials"
        return (
            f"{target.origin} refused the request ({status}): {wanted}. "
            f"The guard takes its headers from {target.source}"
        )
    if status == 404 and "mcp-session-id" in response.request.headers:
        return f"{target.origin} does not know this session any more ({status}): connect again"
    return f"{target.origin} answered with the status {status}"


def _login_wanted(response: Response, target: Target) -> str:
    """Which command helps; nothing for who has a key of their own, or a login through us."""
    if "authorization" in target.headers:
        return ""
    from clawkit.hosts.guarded_entry import shown_address
    from clawkit.login.client.discovery import login_advice

    called = target.entry or shown_address(target.url)
    challenges = response.headers.get_list("www-authenticate")
    return login_advice(called, target.url, response.status_code, challenges)
