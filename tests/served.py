"""Servers on a real socket, in a thread of the test."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer

from clawkit.wire.http.uvicorn_server import UvicornServer
from tests.processes import PATIENCE


@contextmanager
def running(server: UvicornServer, listening: socket.socket) -> Iterator[None]:
    """Run a server until the block ends."""
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.stop()
        thread.join(PATIENCE)
        assert not thread.is_alive()


@contextmanager
def in_a_thread(server: ThreadingHTTPServer) -> Iterator[None]:
    """Serve in a thread of the test until the block ends."""
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
