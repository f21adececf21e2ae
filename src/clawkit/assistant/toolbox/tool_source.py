"""A source of tools as the toolbox sees it: what it offers, how to call it, what came of a call."""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Protocol, cast

from msgspec import Struct

from clawkit.errors import ToolExecutionError
from clawkit.models.protocol import Text, ToolCall, ToolOutcome

if TYPE_CHECKING:
    from clawkit.assistant.media.outbound import Outgoing
    from clawkit.wire.input_requests import InputRequest

_SURROGATES = re.compile("[\ud800-\udfff]")

Tell = Callable[[str], None]
"""Hears how far a call is, in words."""
Ask = Callable[["InputRequest"], Awaitable[dict[str, Any]]]
"""Passes a server's question to the client; raises ClawError where it cannot answer."""


class UnreachableError(ToolExecutionError):
    """There is no connection, or it ended."""


class NotTakenError(ToolExecutionError):
    """The server refused a call before it looked at it: it does not know the session any more."""


class OfferedTool(Struct, frozen=True):
    """A tool under the name that its own server gives it."""

    name: str
    description: str
    input_schema: dict[str, Any]


class ServerWording(Struct, frozen=True):
    """What errors call a server, and which setting they advise to change."""

    subject: str
    timeout: str
    key: str
    login: str
    """What `claw login` takes for it."""


def wording_in_config(name: str) -> ServerWording:
    return ServerWording(
        f"mcp.servers.{name}: ",
        f"`timeout` under [mcp.servers.{name}] is how long it may take",
        'headers = { Authorization = "Bearer ${NAME}" }',
        name,
    )


class CallResult(Struct, frozen=True):
    """What came of a call: the outcome for the model, its words, and media to send along."""

    outcome: ToolOutcome
    text: str
    media: tuple[Outgoing, ...]
    seconds: float


def own_result(call: ToolCall, text: str, started: float, *, is_error: bool) -> CallResult:
    """What came of a tool of our own: words for the model alone."""
    outcome = ToolOutcome(call.id, (Text(text),), is_error=is_error)
    return CallResult(outcome, "", (), time.monotonic() - started)


class ToolSource(Protocol):
    """A server, in this process or not."""

    async def call(
        self, tool: str, arguments: dict[str, Any], tell: Tell, ask: Ask | None = None
    ) -> dict[str, Any]:
        """The result as `tools/call` has it; a call that has none raises ToolExecutionError."""
        ...


def as_answer(answer: Any) -> dict[str, Any]:
    """A client's answer to a question, as the server gets it."""
    if not isinstance(answer, dict):
        raise ValueError("expected an object")
    return cast("dict[str, Any]", answer)


def progress_text(progress: float, total: float | None, message: str | None) -> str:
    """A progress notification as a person reads it."""
    if message:
        return valid_text(message)
    return f"{progress:g} of {total:g}" if total is not None else f"{progress:g}"


def valid_text(value: Any) -> str:
    """A value as text; lone surrogates, which no JSON takes, are replaced."""
    return _SURROGATES.sub("\ufffd", str(value))
