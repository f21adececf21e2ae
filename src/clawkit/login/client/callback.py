"""Waits for the answer that a browser brings: on a port of this machine, or as pasted text."""

from __future__ import annotations

import queue
import socket
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

from clawkit.errors import LoginError
from clawkit.system.addresses import has_no_such_address, is_loopback

DEFAULT_PATH = "/callback"
_LONGEST = 16384
_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">
<title>claw login</title><p>{}</p></html>
"""
_TAKEN = "The answer was taken. You can close this page and go back to the terminal."
_UNKNOWN = "This is not an answer to the login that is going on here."
_HEADERS = {
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; img-src data:",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}

Answer = dict[str, str]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    takes: Callable[[str], bool]

    def handle_error(self, request: object, client_address: object) -> None:
        """A connection that breaks is nothing to whoever looks at the terminal."""


class _Server6(_Server):
    address_family = socket.AF_INET6


class _Handler(BaseHTTPRequestHandler):
    server: _Server  # pyright: ignore[reportIncompatibleVariableOverride]
    timeout = 10

    def do_GET(self) -> None:
        taken = self.server.takes(self.path)
        body = _PAGE.format(_TAKEN if taken else _UNKNOWN).encode()
        self.send_response(200 if taken else 400)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """What is asked for has the code in it, and is nobody's business."""


class Callback:
    """Where a browser is sent back to. Only an answer with our `state` counts."""

    def __init__(self, state: str, redirect_uri: str = "") -> None:
        self._state = state
        self._answers: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        self._servers: list[_Server] = []
        self.redirect_uri = redirect_uri
        parts = urlsplit(redirect_uri or f"http://127.0.0.1:0{DEFAULT_PATH}")
        self._path = parts.path or "/"
        if redirect_uri and not (parts.scheme == "http" and is_loopback(redirect_uri)):
            return  # somebody else's page: its address is pasted
        port = self._listen("127.0.0.1", parts.port or 0)
        host = parts.hostname or "127.0.0.1"
        if host != "127.0.0.1" and socket.has_ipv6:
            self._listen("::1", port)
        shown = f"[{host}]" if ":" in host else host
        self.redirect_uri = redirect_uri if parts.port else f"http://{shown}:{port}{self._path}"

    @property
    def listens(self) -> bool:
        return bool(self._servers)

    def take(self, address: str) -> bool:
        """Take an address that a browser was sent to; whether it answers this login."""
        if len(address) > _LONGEST:
            return False
        try:
            parts = urlsplit(address.strip())
            pairs = parse_qsl(parts.query, max_num_fields=20)
        except ValueError:
            return False
        answer = dict(pairs)
        known = parts.path == self._path and len(answer) == len(pairs)
        if not known or answer.get("state") != self._state or not {"code", "error"} & set(answer):
            return False
        self._answers.put(answer)
        return True

    def wait(self, seconds: float) -> Answer:
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            try:
                return self._answers.get(timeout=min(left, 0.5))  # so that Ctrl-C is heard
            except queue.Empty:
                continue
        raise LoginError(
            f"no answer came within {seconds:.0f} s: log in again, with --timeout for more time"
        )

    def close(self) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def _listen(self, host: str, port: int) -> int:
        kind = _Server6 if ":" in host else _Server
        try:
            server = kind((host, port), _Handler)
        except OSError as error:
            if host == "::1" and has_no_such_address(error):
                return port
            raise LoginError(
                f"{host}:{port} cannot be listened on ({error.strerror}), where "
                f"{self.redirect_uri} leads: end what is there, or choose another redirect address"
            ) from None
        server.takes = self.take
        self._servers.append(server)
        threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True).start()
        return server.server_address[1]
