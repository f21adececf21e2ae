"""A client of a Being on another server: its MCP tools, one request a call.

Nothing is opened and nothing is kept: a Being's server is stateless.
"""

from __future__ import annotations

import itertools
from typing import Any, TypeVar

import httpx2
import msgspec

from clawkit.errors import UNREADABLE_JSON, BeingError
from clawkit.memory.details import META_DETAILS, DetailsRequest
from clawkit.memory.tokens import META_CONVERSATION
from clawkit.system.addresses import trusted
from clawkit.text.sse import SseParser
from clawkit.wire.revisions import NEWEST_LEGACY

T = TypeVar("T")
_CONNECT = 5.0
_ANSWER = 30.0


class _Block(msgspec.Struct, frozen=True):
    text: str = ""


class _Result(msgspec.Struct, frozen=True):
    content: list[_Block] = []
    is_error: bool = msgspec.field(name="isError", default=False)
    meta: dict[str, msgspec.Raw] = msgspec.field(name="_meta", default_factory=dict)


class _Error(msgspec.Struct, frozen=True):
    message: str = ""


class _RpcReply(msgspec.Struct, frozen=True):
    """What of an answer is looked at; one that is not like this counts as none."""

    result: _Result | None = None
    error: _Error | None = None


class RemoteBeing:
    """A Being that another process or machine serves. Safe to use from any thread."""

    def __init__(self, url: str, token: str, *, timeout: float = _ANSWER) -> None:
        self.url = url
        self._timeout = timeout
        self._ids = itertools.count(1)
        self._client = httpx2.Client(
            timeout=httpx2.Timeout(timeout, connect=_CONNECT),
            verify=trusted(url),
            headers={
                "Authorization": f"Bearer {token}",
                "Accept": "application/json, text/event-stream",
                "Content-Type": "application/json",
                "MCP-Protocol-Version": NEWEST_LEGACY,
            },
        )

    def close(self) -> None:
        self._client.close()

    def call(self, tool: str, arguments: dict[str, Any], conversation: str = "") -> str:
        """The text that a tool answers with; raises BeingError with what went wrong."""
        return self._called(
            tool, arguments, {META_CONVERSATION: conversation} if conversation else {}
        )[0]

    def details(
        self, tool: str, arguments: dict[str, Any], wanted: DetailsRequest, records: type[T]
    ) -> tuple[str, T | None]:
        """The text that a read tool answers with, and the records behind it where they are told."""
        text, result = self._called(tool, arguments, {META_DETAILS: wanted})
        try:
            told = result.meta.get(META_DETAILS)
            return text, msgspec.json.decode(told, type=records) if told is not None else None
        except UNREADABLE_JSON:  # of another version
            return text, None

    def _called(
        self, tool: str, arguments: dict[str, Any], meta: dict[str, Any]
    ) -> tuple[str, _Result]:
        params: dict[str, Any] = {"name": tool, "arguments": arguments}
        result = self._ask("tools/call", {**params, "_meta": meta} if meta else params)
        text = "\n".join(block.text for block in result.content)
        if result.is_error:
            raise BeingError(f"{self.url}: {tool}: {text}")
        return text, result

    def _ask(self, method: str, params: dict[str, Any]) -> _Result:
        message = {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params}
        try:
            response = self._client.post(self.url, content=msgspec.json.encode(message))
        except (httpx2.ReadTimeout, httpx2.WriteTimeout):
            raise BeingError(
                f"{self.url}: the Being did not answer within {self._timeout:g} s: "
                "check `url` under [memory], and what is served there"
            ) from None
        except httpx2.HTTPError as error:
            raise BeingError(
                f"{self.url}: the Being is not reachable ({type(error).__name__}): "
                "check `url` under [memory], and that it is served there"
            ) from None
        except httpx2.InvalidURL:
            raise BeingError(f"{self.url}: this is no URL: check `url` under [memory]") from None
        answer = _read(response)
        if answer.result is not None:
            return answer.result
        raise BeingError(f"{self.url}: {_reason(response, answer)}")


def _read(response: httpx2.Response) -> _RpcReply:
    """The message in a response, which may be an event stream with one event."""
    data = response.text.encode()
    if response.headers.get("content-type", "").startswith("text/event-stream"):
        # The last event counts, also where the stream ends without an empty line.
        events = [event.data for event in SseParser(len(data) + 1).feed(data + b"\n\n")]
        data = next((found for found in reversed(events) if found), b"")
    try:
        return msgspec.json.decode(data, type=_RpcReply)
    except UNREADABLE_JSON:
        return _RpcReply()


def _reason(response: httpx2.Response, answer: _RpcReply) -> str:
    said = answer.error.message if answer.error is not None else ""
    if response.status_code in (401, 403):
        return f"the Being refuses this token ({response.status_code}): {said or 'no reason given'}"
    return f"the Being answered {response.status_code}: {said or 'nothing that is an MCP answer'}"
