"""Serves an ASGI app under uvicorn on a free loopback port, and says which; the same for all."""

import socket
import sys
from typing import Any

import uvicorn


def serve_on_free_port(app: Any) -> None:
    """Bind, print the port as the first line of stdout, serve until killed."""
    # asyncio turns Nagle's delay off only where the protocol is named: without it, an answer
    # written in two parts waits 40 ms for the client's acknowledgement.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        sys.stdout.write(f"{listener.getsockname()[1]}\n")
        sys.stdout.flush()
        config = uvicorn.Config(app, log_level="warning", access_log=False, lifespan="on")
        uvicorn.Server(config).run(sockets=[listener])
