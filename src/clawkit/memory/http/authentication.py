"""Who asks over HTTP: the bearer token, and the limits of tokens and of addresses.

A lock-out is for what fails: a good token passes, whoever guesses behind the same address. To look
each guess up in the store would let guesses cost the store something, so the digests are read
together, every few seconds at most, and only while somebody is locked out. Each process counts for
itself.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

import msgspec
from starlette.requests import Request as HttpRequest

from clawkit.errors import AccessError, ClawError, SettingsError, StoreError
from clawkit.memory import model_keys, tokens
from clawkit.memory.http.request_log import KEY, RequestTrace
from clawkit.memory.mcp_server import principal_of
from clawkit.memory.tokens import Access
from clawkit.system.addresses import network_of
from clawkit.system.rate_limiter import TokenBuckets
from clawkit.wire.calls import Workers
from clawkit.wire.http.endpoint import RECHECK_SECONDS, HttpRefusal
from clawkit.wire.http.request_checks import Headers, TrustedProxies
from clawkit.wire.http.uvicorn_server import HttpLimits
from clawkit.wire.jsonrpc import Message
from clawkit.wire.session import Principal

if TYPE_CHECKING:
    from clawkit.memory.being_store import BeingStore
    from clawkit.memory.http.logins import LoginGate


class RequestLimits(msgspec.Struct, frozen=True):
    """What a server takes from one caller; a rate of 0 sets no limit.

    `rate` and `burst` are requests a second for each token. An address may fail to authenticate
    `failures` times at once and `failures_a_minute` times in the long run. A token may have
    `at_once` requests and streams open. A message may have `body` bytes. `http` limits connections
    and how long a request may take to arrive.
    """

    rate: float = 100.0
    burst: int = 1000
    failures: int = 20
    failures_a_minute: float = 20.0
    at_once: int = 300
    body: int = 4 * 1024 * 1024
    http: HttpLimits = HttpLimits(body_seconds=30.0)

    def __post_init__(self) -> None:
        if self.rate < 0 or self.failures_a_minute < 0 or self.burst < 1 or self.failures < 1:
            raise SettingsError(f"{self}: rates are at least 0 and bursts at least 1")
        if self.at_once < 1:
            raise SettingsError(f"{self}: at_once must be at least 1")
        if self.body < 1:
            raise SettingsError(f"{self}: body must be at least 1")


class CallerCounters:
    """Counts what tokens ask for and how often addresses fail."""

    def __init__(self, limits: RequestLimits) -> None:
        self._requests = TokenBuckets(limits.rate, limits.burst)
        self._failures = TokenBuckets(limits.failures_a_minute / 60, limits.failures)
        self._at_once = limits.at_once
        self._open: Counter[str] = Counter()

    def locked_for(self, address: str) -> float:
        """For how many seconds nothing but good tokens is taken from an address."""
        return self._failures.wait(address)

    def failed(self, address: str) -> None:
        self._failures.take(address)

    def count(self, token: str) -> None:
        """One more request of a token."""
        seconds = self._requests.take(token)
        if seconds:
            raise too_many("Too many requests with this token", seconds)

    @contextmanager
    def here(self, token: str) -> Generator[None]:
        """While a request of a token is open: streams are, for as long as their reader likes."""
        if self._open[token] >= self._at_once:
            raise too_many("Too many open requests with this token", 1)
        self._open[token] += 1
        try:
            yield
        finally:
            self._open[token] -= 1
            if not self._open[token]:
                del self._open[token]


def too_many(what: str, seconds: float) -> HttpRefusal:
    wait = math.ceil(seconds)
    return HttpRefusal(429, f"{what}: try again in {wait} s", (b"retry-after", str(wait).encode()))


READ_EVERY = 5.0
MOST_WAITING = 100


class GoodTokens:
    """What was good when it was last read."""

    def __init__(self, store: BeingStore, logins: LoginGate | None = None) -> None:
        self._store = store
        self._logins = logins
        self._digests: frozenset[str] = frozenset()
        self._next = 0.0
        self._reading: asyncio.Task[None] | None = None
        self._waiting = 0

    def __contains__(self, digest: str) -> bool:
        return digest in self._digests

    @property
    def may_wait(self) -> bool:
        """Whether one more may wait for what is read next."""
        return self._waiting < MOST_WAITING

    async def renewed(self, away: Callable[..., Awaitable[Any]]) -> None:
        """Wait until the digests have been read once more."""
        if self._reading is None:
            self._reading = asyncio.create_task(self._read(away))
        self._waiting += 1
        try:
            await asyncio.shield(self._reading)
        finally:
            self._waiting -= 1

    async def _read(self, away: Callable[..., Awaitable[Any]]) -> None:
        try:
            await asyncio.sleep(max(0.0, self._next - time.monotonic()))
            self._next = time.monotonic() + READ_EVERY
            self._digests = await away(self._from_store)
        finally:
            self._reading = None

    def _from_store(self) -> frozenset[str]:
        with self._store.database.registry() as connection:
            good = tokens.good_hashes(connection, self._store.clock())
            if self._logins is not None:
                good += self._logins.good_digests(connection, tokens.MOST_GOOD)
            return frozenset(good)


LLM_KEY = "x-llm-api-key"
NOTE_EVERY = 60.0
"""How many seconds pass at least between two notes that a token was used."""

_THREADS = 16
_IN_QUERY = frozenset({"access_token", "token", "api_key", "authorization"})
_log = logging.getLogger("clawkit.memory")


class Authenticator:
    """Lets the holders of good tokens in, each to its own Being."""

    def __init__(
        self,
        store: BeingStore,
        callers: CallerCounters,
        *,
        recheck_every: float = RECHECK_SECONDS,
        proxies: TrustedProxies | None = None,
        logins: LoginGate | None = None,
    ) -> None:
        self._store = store
        self._proxies = proxies or TrustedProxies()
        self._logins = logins
        self._good = GoodTokens(store, logins=logins)
        self._recheck_every = recheck_every
        self.callers = callers
        # Their own threads: tools at work must not keep anybody waiting at the door.
        self._threads = Workers(_THREADS)
        self._noted: dict[str, float] = {}
        self._unnoted: set[str] = set()
        self._noting = False

    async def let_in(self, request: HttpRequest) -> None:
        """The endpoint's hook: let a request in, or refuse it, before its body is read."""
        trace: RequestTrace = request.scope[KEY]
        try:
            trace.access = await self.admit(request.scope, request.headers)
        except AccessError as problem:
            raise self._pointed_out(problem, request) from None
        trace.until_end.enter_context(self.callers.here(trace.access.caller.token))

    async def principal(self, request: HttpRequest, message: Message | None) -> Principal:
        """The endpoint's hook: who sends a message, or still holds a stream open."""
        trace: RequestTrace = request.scope[KEY]
        access = trace.access
        assert access is not None
        try:
            if message is not None:
                return principal_of(access, trace.asks(message))
            path = request.scope["path"]
            await self.recheck(bearer(request.headers), access.being.id, path)
            return principal_of(access)
        except AccessError as problem:
            raise self._pointed_out(problem, request) from None

    def _pointed_out(self, problem: AccessError, request: HttpRequest) -> AccessError:
        """A refusal that says where a login is to be had, where there is one."""
        if self._logins is None:
            return problem
        host = request.headers.get("host", "")
        return self._logins.pointed_out(problem, host, request.scope["path"])

    async def admit(self, scope: Any, headers: Headers) -> Access:
        """The access that a request has; raises Refusal or AccessError if it has none."""
        being_id = _being_id(scope)
        secret = bearer(headers)
        address = network_of(self._proxies.caller(scope))
        locked = self.callers.locked_for(address)
        if locked and not (
            await self._is_signed(secret, scope["path"])
            or await self._is_good(tokens.digest(secret))
        ):
            raise too_many("Too many failed attempts from this address", locked)
        try:
            access = await self.recheck(secret, being_id, scope["path"])
        except AccessError as error:
            if error.status != 400:
                self.callers.failed(address)
            raise
        self.callers.count(access.caller.token)
        self._note(access.caller.token)
        key = _llm_key(headers)
        if not key:
            return access
        return Access(access.being, msgspec.structs.replace(access.caller, llm_key=key))

    async def _is_signed(self, secret: str, path: str) -> bool:
        """Whether a token is known to be good without the store, by its signature."""
        if self._logins is None:
            return False
        return await self.away(self._logins.is_signed, secret=secret, path=path)

    async def _is_good(self, digest: str) -> bool:
        """Whether a token from an address that is locked out is good; one that may be has to wait.

        What is good is known by heart, so that guesses cost the store nothing; what is not known
        waits until that is read again, which is every few seconds, and few wait at a time.
        """
        if digest in self._good:
            return True
        if not self._good.may_wait:
            return False
        try:
            await self._good.renewed(self.away)
        except StoreError as error:
            _log.error("tokens cannot be checked: %s", error)
        return digest in self._good

    async def recheck(self, secret: str, being_id: str, path: str) -> Access:
        """Whether a token is good at this moment, for a Being, at a path."""
        try:
            return await self.away(self._check, secret=secret, being_id=being_id, path=path)
        except StoreError as error:
            _log.error("tokens cannot be checked: %s", error)
            raise HttpRefusal(
                503, "The store of memories is not available now", (b"retry-after", b"5")
            ) from None

    def _check(self, secret: str, being_id: str, path: str) -> Access:
        if self._logins is not None:
            access = self._logins.access(secret, being_id, path)
            if access is not None:
                return access
        return tokens.check(self._store, secret, being_id)

    async def until_bad(self, secret: str, being_id: str, path: str) -> AccessError:
        """Wait until a token is no longer good, for what stays open; gives why it is not."""
        while True:
            await asyncio.sleep(self._recheck_every)
            try:
                await self.recheck(secret, being_id, path)
            except AccessError as problem:
                return problem
            except HttpRefusal:
                continue  # the store is away: it will be asked again
            except Exception:  # noqa: BLE001 - whatever it is, the next look counts
                _log.exception("a token cannot be checked")

    async def away(self, function: Callable[..., Any], **arguments: Any) -> Any:
        """Call what asks the store, in a thread of the gate's own."""
        return await self._threads.start(function, arguments).outcome

    def _note(self, token: str) -> None:
        now = time.monotonic()
        if now - self._noted.get(token, -NOTE_EVERY) < NOTE_EVERY:
            return
        self._noted.pop(token, None)
        self._noted[token] = now
        # They stand in the order of their times: the few that are over are at the beginning.
        while now - self._noted[oldest := next(iter(self._noted))] >= NOTE_EVERY:
            del self._noted[oldest]
        self._unnoted.add(token)
        if not self._noting:
            self._note_all()

    def _note_all(self) -> None:
        """Write down which tokens were used, in one thread at most.

        Nobody waits for it: reading must go on where nothing can be written.
        """
        used, self._unnoted = self._unnoted, set()
        self._noting = True
        job = self._threads.start(tokens.note_use, {"store": self._store, "token_ids": used})
        job.outcome.add_done_callback(self._reported)

    def _reported(self, outcome: asyncio.Future[None]) -> None:
        self._noting = False
        error = None if outcome.cancelled() else outcome.exception()
        if isinstance(error, ClawError):
            _log.warning("the use of tokens cannot be noted: %s", error)
        elif error is not None:
            _log.error("the use of tokens cannot be noted", exc_info=error)
        if self._unnoted:
            self._note_all()


def bearer(headers: Headers) -> str:
    """The token that a request shows; AccessError if it shows none."""
    scheme, _, secret = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not secret.strip():
        raise AccessError("A bearer token is needed", challenge=tokens.challenge())
    return secret.strip()


def _being_id(scope: Any) -> str:
    """The Being that the address names. A token there is refused: addresses end up in logs."""
    try:
        query = parse_qsl(scope.get("query_string", b"").decode("latin-1"), max_num_fields=100)
    except ValueError:
        raise HttpRefusal(400, "The address has too many parameters") from None
    if any(name.lower() in _IN_QUERY or tokens.looks_right(value) for name, value in query):
        raise HttpRefusal(400, "A token may not stand in the address: use the Authorization header")
    named = [value for name, value in query if name == "being_id" and value]
    in_path = scope.get("path_params", {}).get("being_id")
    if in_path:
        named.append(in_path)
    if len({name.lower() for name in named}) > 1:
        raise HttpRefusal(400, "The address names two Beings")
    return named[0] if named else ""


def _llm_key(headers: Headers) -> str:
    key = headers.get(LLM_KEY, "")
    if key and not model_keys.looks_right(key):
        raise HttpRefusal(400, "X-LLM-API-Key is not a key")
    return key
