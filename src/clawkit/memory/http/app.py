"""The ASGI app of a store's Beings: MCP, the bridges' WebSocket, health, metrics; and `serve`.

`/mcp`, `/mcp/{being_id}`: MCP over Streamable HTTP, stateless in both eras; `/bridge/{being_id}`:
the WebSocket of bridges; `/healthz` and `/metrics` for whoever runs the server; `/`: a page that
says how to connect. Health and metrics
are open: they name no Being and no token, and are logged only when they fail. For `/healthz`,
writing to the store is tried every few seconds at most, however often somebody asks.

`serve` runs it under uvicorn until a signal. On SIGTERM or Ctrl-C no new connection is taken,
requests at hand are answered, bridges and streams are closed, and the background worker finishes
its job.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import AsyncGenerator, Callable, Collection, Generator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route, WebSocketRoute

from clawkit.errors import ClawError, SettingsError, StoreError
from clawkit.memory.bridges import LONGEST_FRAME, Bridges
from clawkit.memory.http.authentication import (
    Authenticator,
    CallerCounters,
    RequestLimits,
)
from clawkit.memory.http.bridge_socket import BridgeEndpoint
from clawkit.memory.http.request_log import (
    CONTENT_TYPE,
    LineOf,
    Log,
    LogHandler,
    Metrics,
    TracedEndpoint,
    TraceOutputs,
    store_gauges,
)
from clawkit.memory.mcp_server import BeingServer
from clawkit.system.addresses import is_loopback_host
from clawkit.wire.http.endpoint import RECHECK_SECONDS, Endpoint, allow_origins, open_to_pages
from clawkit.wire.http.page import PageEndpoint, ServerPage
from clawkit.wire.http.request_checks import ANY_ORIGIN, LOOPBACK, Origins, TrustedProxies
from clawkit.wire.http.response import Receive
from clawkit.wire.http.uvicorn_server import UvicornServer, listening

if TYPE_CHECKING:
    from clawkit.login.options import LoginOptions
    from clawkit.memory.being_store import BeingStore
    from clawkit.memory.http.logins import GateMaker
    from clawkit.wire.server import ServerCore

PROBE_EVERY = 5.0

_log = logging.getLogger("clawkit.memory")


class Health:
    """Looks after one store."""

    def __init__(self, store: BeingStore, probe_every: float = PROBE_EVERY) -> None:
        self._store = store
        self._probe_every = probe_every
        self._probing = threading.Lock()
        self._next = 0.0
        self._problem = ""

    def look(self) -> dict[str, Any]:
        """What `/healthz` says. It is open to all: nothing says where the store is."""
        try:
            with self._store.database.registry() as connection:
                connection.rows("SELECT n FROM beings LIMIT 1")
        except StoreError as error:
            _log.error("the store cannot be reached: %s", error)
            return unavailable("not reachable", error.reason)
        problem = self._probed()
        if problem:
            return unavailable("not writable", problem)
        return {"status": "ok", "store": "reachable", "writable": True}

    def _probed(self) -> str:
        """Why nothing can be written, as of a moment ago; empty if it can."""
        with self._probing:
            if time.monotonic() >= self._next:
                self._problem = self._probe()
                self._next = time.monotonic() + self._probe_every
            return self._problem

    def _probe(self) -> str:
        try:
            self._store.database.probe()
        except StoreError as error:
            _log.error("the store cannot be written to: %s", error)
            return error.reason or "it cannot be written to"
        return ""


def unavailable(store: str, reason: str) -> dict[str, Any]:
    told = {"status": "unavailable", "store": store, "writable": False, "reason": reason}
    return {name: value for name, value in told.items() if value != ""}


MCP_PATHS = ("/mcp", "/mcp/", "/mcp/{being_id}", "/mcp/{being_id}/")
HEALTH_SECONDS = 5.0


class BeingApp:
    """The parts of one server, put together; `asgi` is the app."""

    def __init__(
        self,
        store: BeingStore,
        *,
        hosts: Collection[str] | None = LOOPBACK,
        origins: Collection[str] = (),
        limits: RequestLimits | None = None,
        log: Log | None = None,
        per_being: bool = False,
        recheck_every: float = RECHECK_SECONDS,
        probe_every: float = PROBE_EVERY,
        trusted_proxies: Collection[str] = (),
        logins: GateMaker | None = None,
    ) -> None:
        """`hosts` and `origins` are the core's; `per_being` names Beings in the figures.

        Of `trusted_proxies` it is believed for whom they ask. `logins` let people log in.
        """
        self.limits = limits = limits or RequestLimits()
        allowed = Origins(hosts, origins)
        self._store = store
        self._per_being = per_being
        self._metrics = Metrics(per_being=per_being)
        self._look_after = Health(store, probe_every)
        proxies = TrustedProxies(trusted_proxies)
        gate = None if logins is None else logins(allowed, proxies)
        self._gate = Authenticator(
            store,
            CallerCounters(limits),
            recheck_every=recheck_every,
            proxies=proxies,
            logins=gate,
        )
        self.bridges = Bridges(store.clock)
        self.server: ServerCore = BeingServer(
            store,
            capabilities=self.bridges.capabilities,
            senses=self.bridges.senses,
            act=self.bridges.act,
        )
        record = TraceOutputs(self._metrics, log)
        endpoint = Endpoint(
            self.server,
            allowed if gate is None else Origins(hosts, (ANY_ORIGIN,)),
            sessions=False,
            max_body=limits.body,
            authenticate=self._gate.principal,
            admit=self._gate.let_in,
            recheck_every=recheck_every,
        )
        traced = TracedEndpoint(endpoint, record)
        door = traced if gate is None else open_to_pages(traced)
        bridge = BridgeEndpoint(self._gate, self.bridges, origins=allowed, record=record)
        self.asgi = Starlette(
            routes=[
                *(Route(path, door) for path in MCP_PATHS),
                WebSocketRoute("/bridge/{being_id}", bridge),
                Route("/healthz", self._health),
                Route("/metrics", self._figures),
                Route("/", PageEndpoint(_page if gate is None else _login_page, allowed, _nobody)),
                *(() if gate is None else gate.server.routes),
            ],
            lifespan=self._lifespan,
        )
        self.asgi.router.redirect_slashes = False
        allow_origins(self.asgi, origins)

    def stop(self) -> None:
        """End what would wait for ever; the requests at hand are still answered."""
        self.server.hub.close()

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncGenerator[None]:
        self._store.worker.start()
        threading.Thread(target=self._warm_up, name="being-warm-up", daemon=True).start()
        yield
        self.stop()
        await asyncio.to_thread(self._store.worker.stop)

    def _warm_up(self) -> None:
        """Load what the first recall needs while nobody waits for it."""
        try:
            import_module("clawkit.memory.memory")  # with numpy, and what stands on it
            embedder = self._store.embedder
            if embedder is not None:
                embedder.embed(["Good morning."])
        except ClawError as error:
            _log.warning("only keywords are searched: %s", error)
        except Exception:  # noqa: BLE001 - a server without it still answers
            _log.exception("the embedder cannot be loaded")

    async def _health(self, _: Request) -> JSONResponse:
        try:
            async with asyncio.timeout(HEALTH_SECONDS):
                found = await self._gate.away(self._look_after.look)
        except TimeoutError:
            _log.error("the store cannot be reached: it takes too long")
            found = unavailable("not reachable", "it takes too long")
        if found["status"] == "ok":
            return JSONResponse(found)
        return JSONResponse(found, 503, {"retry-after": "5"})

    async def _figures(self, _: Request) -> PlainTextResponse:
        gauges = {
            "bridges": ("Bridges that are connected.", {(): float(self.bridges.connected)}),
        }
        try:
            async with asyncio.timeout(HEALTH_SECONDS):
                gauges |= await self._gate.away(
                    store_gauges, store=self._store, per_being=self._per_being
                )
        except (StoreError, TimeoutError) as error:
            _log.error("the store cannot be counted: %s", str(error) or "it takes too long")
        return PlainTextResponse(self._metrics.text(gauges), media_type=CONTENT_TYPE)


_ABOUT = """A memory: what an agent is told here it recalls later, in any MCP client.

It needs a token of a Being. For whoever runs this server, `claw being share NAME` prints what to
paste, with a token, into any of these clients."""


def _page(origin: str, may_see: bool) -> ServerPage:  # noqa: ARG001 - nobody sees more
    """What a browser is shown without a token: how to connect, and nothing of any Being."""
    from clawkit.hosts.paste import pastes_for_url

    url = f"{origin}/mcp/BEING_ID"
    pastes = pastes_for_url("memory", url, "brt_…")
    return ServerPage("Beings", f"at {url}", _ABOUT, pastes=pastes, note="Made with Clawkit.")


_LOGIN = """A memory: what an agent is told here it recalls later, in any MCP client.

Give a client this address: it opens a browser, in which you sign in and choose a Being."""


def _login_page(origin: str, may_see: bool) -> ServerPage:  # noqa: ARG001 - nobody sees more
    """The same where people log in: an address is all that a client needs."""
    from clawkit.hosts.paste import pastes_for_url

    url = f"{origin}/mcp"
    pastes = pastes_for_url("memory", url, "")
    return ServerPage("Beings", f"at {url}", _LOGIN, pastes=pastes, note="Made with Clawkit.")


async def _nobody(_scope: Any, _receive: Receive) -> bool:
    return False


DRAIN_SECONDS = 10

_LOGGERS = ("asyncio", "clawkit", "uvicorn")


def serve(
    store: BeingStore,
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    on_ready: Callable[[str], None] | None = None,
    limits: RequestLimits | None = None,
    hosts: Collection[str] | None = None,
    origins: Collection[str] = (),
    log_requests: bool = True,
    log_line: LineOf | None = None,
    per_being: bool = False,
    trusted_proxies: Collection[str] = (),
    login: LoginOptions | None = None,
) -> None:
    """Serve the Beings of a store at `http://host:port/mcp` until interrupted.

    `on_ready` gets that address. `hosts` are the names the server may be reached by: by default
    those of this machine where only it can connect, and any elsewhere. `trusted_proxies` are
    addresses or networks whose `X-Forwarded-For` counts. `log_line` writes a line of the log, which
    is JSON without it. `login` says how people log in.
    """
    _need_websockets()
    with listening(host, port) as sockets, _logging(log_line) as log:
        address = sockets[0].getsockname()
        shown = f"[{address[0]}]" if ":" in address[0] else address[0]
        if hosts is None and is_loopback_host(address[0]):
            hosts = (*LOOPBACK, shown)
        if hosts is not None and login is not None and login.public_url:
            hosts = (*hosts, _public_host(login))
        app = BeingApp(
            store,
            hosts=hosts,
            origins=origins,
            limits=limits,
            log=log if log_requests else None,
            per_being=per_being,
            trusted_proxies=trusted_proxies,
            logins=None if login is None else _logins(store, login, (address[0], address[1])),
        )
        url = f"http://{shown}:{address[1]}/mcp"
        ready = partial(on_ready, url) if on_ready is not None else None
        uvicorn_for(app, log, ready).run(sockets=sockets)


def _public_host(options: LoginOptions) -> str:
    from clawkit.login.resources import checked_origin

    return urlsplit(checked_origin(options.public_url)).netloc


def _logins(store: BeingStore, options: LoginOptions, listens: tuple[str, int]) -> GateMaker:
    from clawkit.login.resources import address_of
    from clawkit.memory.http.logins import login_gate

    address = address_of(options.public_url, *listens)
    return partial(login_gate, store, address, options=options)


def uvicorn_for(
    app: BeingApp, log: Log, on_ready: Callable[[], None] | None = None
) -> UvicornServer:
    """The HTTP server of an app, about to run."""
    return UvicornServer(
        app.asgi,
        limits=app.limits.http,
        on_stop=app.stop,
        on_ready=on_ready,
        on_end=log.close,
        ws="websockets-sansio",
        ws_max_size=LONGEST_FRAME,
        ws_per_message_deflate=False,
        proxy_headers=False,
        log_config=None,
        log_level="warning",
        lifespan="on",
        timeout_graceful_shutdown=DRAIN_SECONDS,
    )


@contextmanager
def _logging(line_of: LineOf | None = None) -> Generator[Log]:
    """Whatever is logged goes through one log while the server runs."""
    log = Log(written=line_of)
    handler = LogHandler(log)
    hook, threading.excepthook = threading.excepthook, _thread_failed
    before = [(logger.handlers, logger.propagate, logger.level) for logger in _loggers()]
    for logger in _loggers():
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.WARNING)
    try:
        yield log
    finally:
        threading.excepthook = hook
        for logger, (handlers, propagate, level) in zip(_loggers(), before, strict=True):
            logger.handlers, logger.propagate = handlers, propagate
            logger.setLevel(level)
        log.close()


def _thread_failed(failed: threading.ExceptHookArgs) -> None:
    name = failed.thread.name if failed.thread is not None else "unknown"
    _log.error("the thread %s failed", name, exc_info=failed.exc_value)


def _loggers() -> list[logging.Logger]:
    return [logging.getLogger(name) for name in _LOGGERS]


def _need_websockets() -> None:
    """Without it uvicorn would start and refuse every bridge."""
    if find_spec("websockets") is None:
        raise SettingsError("bridges need the package websockets: pip install websockets")
