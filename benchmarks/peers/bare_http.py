"""The floor, over HTTP: what uvicorn itself costs. A bare ASGI app with no protocol in it."""

from collections.abc import Awaitable, Callable
from typing import Any

from benchmarks.peers.bare_stdio import reply_to
from benchmarks.serve_http import serve_on_free_port

JSON_HEADERS = [(b"content-type", b"application/json")]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


async def app(scope: dict[str, Any], receive: Receive, send: Send) -> None:
    """Answer one POST, or the lifespan's two questions."""
    message = await receive()
    while scope["type"] == "lifespan":
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
        message = await receive()
    body = reply_to(message["body"]).encode()
    headers = [*JSON_HEADERS, (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


if __name__ == "__main__":
    serve_on_free_port(app)
