"""A request as it comes in over HTTP: who may send it, and how much of it is read."""

from __future__ import annotations

from typing import NamedTuple

from clawkit.guard.http.reply import Reply
from clawkit.wire.http.answer import Receive
from clawkit.wire.http.endpoint import Refusal

_UTF_8 = ("utf-8", "utf8")


class Incoming(NamedTuple):
    """One HTTP request of a client; its headers by name, in lower case."""

    headers: dict[str, str]
    peer: str
    receive: Receive
    reply: Reply

    @property
    def session_id(self) -> str | None:
        return self.headers.get("mcp-session-id")

    async def body(self, limit: int) -> bytes:
        """All of it. Raises Refusal if that is no JSON, or more than `limit` bytes."""
        kind, *parameters = self.headers.get("content-type", "").lower().split(";")
        if kind.strip() != "application/json":
            raise Refusal(415, "Content-Type must be application/json")
        for name, _, value in (parameter.partition("=") for parameter in parameters):
            if name.strip() == "charset" and value.strip(' \t"') not in _UTF_8:
                raise Refusal(415, f"JSON is UTF-8; charset={value.strip()[:40]} is not understood")
        if "content-encoding" in self.headers:
            raise Refusal(415, "Content-Encoding is not understood; send the body as it is")
        declared = self.headers.get("content-length", "0")
        if len(declared) > 18 or not declared.isdigit() or int(declared) > limit:
            raise _too_large(limit)
        parts: list[bytes] = []
        size = 0
        while True:
            event = await self.receive()
            if event["type"] == "http.disconnect":
                raise Refusal(400, "The request ended early")
            size += len(event.get("body", b""))
            if size > limit:
                raise _too_large(limit)
            parts.append(event.get("body", b""))
            if not event.get("more_body"):
                return b"".join(parts)


def _too_large(limit: int) -> Refusal:
    return Refusal(413, f"A message may have at most {limit} bytes")
