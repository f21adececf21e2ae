"""Runs uvicorn for Beings until a signal, then drains requests, bridges and background work.

On SIGTERM or Ctrl-C no new connection is taken, requests at hand are answered, bridges and streams
are closed, and the background worker finishes its job.

Behind a proxy the caller's address is what that says in `X-Forwarded-For`, if it is trusted.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

from clawkit.errors import SettingsError
from clawkit.memory.bridges.bridge_messages import LONGEST_FRAME
from clawkit.memory.http.app import BeingApp
from clawkit.memory.http.client_limits import RequestLimits
from clawkit.memory.http.request_log import Log, LogHandler
from clawkit.wire.http.request_checks import LOOPBACK
from clawkit.wire.http.uvicorn_server import UvicornServer, is_loopback, listen

if TYPE_CHECKING:
    from clawkit.memory.being_store import BeingStore

DRAIN_SECONDS = 10

_log = logging.getLogger("clawkit.memory")
_LOGGERS = ("asyncio", "clawkit", "uvicorn")


def serve(
    keeper: BeingStore,
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    on_ready: Callable[[str], None] | None = None,
    limits: RequestLimits | None = None,
    hosts: Collection[str] | None = None,
    origins: Collection[str] = (),
    log_requests: bool = True,
    per_being: bool = False,
    trusted_proxies: Collection[str] = (),
) -> None:
    """Serve the Beings of a store at `http://host:port/mcp` until interrupted.

    `on_ready` gets that address. `hosts` are the names the server may be reached by: by default
    those of this machine where only it can connect, and any elsewhere. `trusted_proxies` are
    addresses or networks whose `X-Forwarded-For` counts.
    """
    _need_websockets()
    listening = listen(host, port)
    address = listening.getsockname()
    shown = f"[{address[0]}]" if ":" in address[0] else address[0]
    if hosts is None and is_loopback(address[0]):
        hosts = (*LOOPBACK, shown)
    with _logging() as log:
        app = BeingApp(
            keeper,
            hosts=hosts,
            origins=origins,
            limits=limits,
            log=log if log_requests else None,
            per_being=per_being,
            trusted_proxies=trusted_proxies,
        )
        if on_ready is not None:
            on_ready(f"http://{shown}:{address[1]}/mcp")
        uvicorn_for(app, log).run(sockets=[listening])


def uvicorn_for(app: BeingApp, log: Log) -> UvicornServer:
    """The HTTP server of an app, about to run."""
    return UvicornServer(
        app.asgi,
        limits=app.limits.http,
        on_stop=app.stop,
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
def _logging() -> Generator[Log]:
    """Every line of the log is JSON while the server runs."""
    log = Log()
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
