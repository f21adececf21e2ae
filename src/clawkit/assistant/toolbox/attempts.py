"""The ways to reach a server, and when one that failed leaves hope for the next."""

from __future__ import annotations

from collections.abc import Sequence

from clawkit.assistant.config import McpServer
from clawkit.assistant.toolbox.troubles import KEY_WANTED, leaves
from clawkit.errors import ClawError

Attempt = tuple[str, str]
"""A transport, and the era to speak: `auto` asks the server."""


def attempts(server: McpServer) -> list[Attempt]:
    """What to try, the likeliest first."""
    if server.command:
        # Some older servers end when the first thing they hear is not `initialize`.
        return [("stdio", "auto"), ("stdio", "legacy")]
    if server.transport == "sse":
        return [("sse", "legacy")]
    if server.transport == "http":
        return [("http", "auto")]
    both: list[Attempt] = [("http", "auto"), ("sse", "legacy")]
    return both[::-1] if server.url.partition("?")[0].rstrip("/").endswith("/sse") else both


def is_worth_another(error: BaseException, refusals: Sequence[int]) -> bool:
    """Whether the same server may be reached in another way; `refusals` are HTTP's status codes."""
    reasons = list(leaves(error))
    if any(isinstance(reason, OSError | ClawError) for reason in reasons):
        return False
    if refusals:
        return refusals[-1] < 500 and refusals[-1] not in KEY_WANTED
    return all(type(reason).__name__ == "MCPError" for reason in reasons)
