"""Which transports to try for a server, and why a connection failed, in words."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, cast

from clawkit.assistant.config import McpServer
from clawkit.errors import ClawError, ToolExecutionError

if TYPE_CHECKING:
    from clawkit.assistant.toolbox.server_process import ServerProcess

KEY_WANTED = (401, 403)


class UnreachableError(ToolExecutionError):
    """There is no connection, or it ended."""


class NotTakenError(ToolExecutionError):
    """The server refused a call before it looked at it: it does not know the session any more."""


def explain(
    error: BaseException, server: McpServer, child: ServerProcess | None, refusals: Sequence[int]
) -> str:
    """Why a connection could not be opened."""
    reasons = list(leaf_errors(error))
    for reason in reasons:
        if isinstance(reason, OSError) and server.command and child is None:
            return _not_started(reason, server)
        if isinstance(reason, ClawError):
            return str(reason)
    if child is not None and not child.was_stopped:
        ended = "ended at once" if child.exit_code is not None else "closed its output"
        return f"`{_shown(server)}` {ended}{end_of(child)}"
    if refusals:
        return _refused(server, refusals[-1])
    kinds = {type(reason).__name__ for reason in reasons}
    text = next((str(reason) for reason in reasons if str(reason)), "no reason given")
    if "ConnectError" in kinds:
        return f"{server.url} cannot be reached ({text}); is it running, and is `url` right?"
    if kinds & {"ConnectTimeout", "ReadTimeout", "PoolTimeout"}:
        return f"{server.url} did not answer in time"
    return f"{_shown(server)}: {text}"


def end_of(child: ServerProcess | None) -> str:
    """How a process ended, as the end of a sentence."""
    if child is None:
        return ""
    code = "" if child.exit_code is None else f" (exit code {child.exit_code})"
    return f"{code}: {child.last_words}" if child.last_words else code


def _not_started(error: OSError, server: McpServer) -> str:
    if server.cwd and not Path(server.cwd).expanduser().is_dir():
        return f"`cwd = {server.cwd!r}`: there is no such folder"
    if error.errno in (None, errno.ENOENT):
        return (
            f"command not found: {server.command!r}; install it, or write its full path "
            "as `command`"
        )
    return f"{server.command!r} cannot be run: {error.strerror or error}"


def _refused(server: McpServer, status: int) -> str:
    known = {int(code): code.phrase for code in HTTPStatus}
    answer = f"{server.url} answered {status} {known.get(status, '')}".rstrip()
    if status in KEY_WANTED:
        return f'{answer}; give it a key: headers = {{ Authorization = "Bearer ${{NAME}}" }}'
    if status == HTTPStatus.NOT_FOUND:
        return f"{answer}; is `url` right?"
    return answer


def _shown(server: McpServer) -> str:
    return server.command or server.url


def leaf_errors(error: BaseException) -> Iterator[BaseException]:
    """The errors in a group, however deep."""
    if isinstance(error, BaseExceptionGroup):
        for inner in cast("BaseExceptionGroup[BaseException]", error).exceptions:
            yield from leaf_errors(inner)
    else:
        yield error


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
    reasons = list(leaf_errors(error))
    if any(isinstance(reason, OSError | ClawError) for reason in reasons):
        return False
    if refusals:
        return refusals[-1] < 500 and refusals[-1] not in KEY_WANTED
    return all(type(reason).__name__ == "MCPError" for reason in reasons)
