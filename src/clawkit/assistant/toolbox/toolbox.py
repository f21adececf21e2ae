"""The tools of the assistant's model: gathered from files and servers, named, and called."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
import time
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from clawkit.assistant.toolbox.tool_source import Ask, CallResult, OfferedTool, Tell, ToolSource
from clawkit.errors import ClawError, ToolExecutionError
from clawkit.models.protocol import ToolCall, ToolOutcome, ToolSpec

if TYPE_CHECKING:
    from clawkit.assistant.api_keys import Keys
    from clawkit.assistant.config import Config
    from clawkit.assistant.toolbox.tool_results import SortedResult

LONGEST = 64
_SERVER_PART = 24
_REFUSED = re.compile(r"[^a-zA-Z0-9_-]")
_SHOWN = 5


def assign_names(tools: Sequence[tuple[str, str]]) -> list[str]:
    """A name for each (server, tool), in their order; tools without a server keep their own name.

    Names that need no change come first, so that a tool which had to be renamed never takes the
    name of one that is called so.
    """
    found: dict[int, str] = {}
    taken: set[str] = set()
    plain = {i for i, pair in enumerate(tools) if _safe(*pair) == _full(*pair)}
    for i in (*sorted(plain), *(i for i in range(len(tools)) if i not in plain)):
        name = _safe(*tools[i])
        if name in taken:
            name = _marked(*tools[i])
        taken.add(name)
        found[i] = name
    return [found[i] for i in range(len(tools))]


def near_names(wanted: str, known: Iterable[str]) -> list[str]:
    """The names that may have been meant; a model often leaves out `mcp__{server}__`."""
    by_end: dict[str, list[str]] = {}
    for name in known:
        for key in {name.lower(), name.rpartition("__")[2].lower()}:
            by_end.setdefault(key, []).append(name)
    wanted = wanted.lower()
    found: dict[str, None] = {}
    for sought in (wanted, wanted.rpartition("__")[2]):
        for key in get_close_matches(sought, by_end, n=_SHOWN, cutoff=0.6):
            found.update(dict.fromkeys(by_end[key]))
    return list(found)[:_SHOWN]


def _full(server: str, tool: str) -> str:
    return f"mcp__{server}__{tool}" if server else tool


def _safe(server: str, tool: str) -> str:
    name = _REFUSED.sub("_", _full(server, tool))
    return name if name and len(name) <= LONGEST else _marked(server, tool)


def _marked(server: str, tool: str) -> str:
    """A name that is cut where it must be, and ends in a mark of the whole."""
    mark = hashlib.sha256(f"{server}\0{tool}".encode("utf-8", "surrogatepass")).hexdigest()[:8]
    name = _REFUSED.sub("_", _full(server[:_SERVER_PART], tool))
    return f"{name[: LONGEST - len(mark) - 1]}_{mark}"


log = logging.getLogger("clawkit.assistant.toolbox")

_LISTED = 20


class _Entry(Struct, frozen=True):
    """A tool that the model can call: whose it is, and under which name."""

    source: ToolSource
    tool: str
    spec: ToolSpec


class Toolbox:
    """Tools from Python files and other MCP servers. Nothing is loaded or started before `specs`.

    What fails is a line of `problems`; everything else works.
    """

    def __init__(self, config: Config, keys: Keys) -> None:
        from clawkit.assistant.toolbox.external_server import ExternalServer
        from clawkit.assistant.toolbox.python_tools import ToolFiles

        self._keys = keys
        self._files = ToolFiles(config.tools_directory)
        self._servers = [
            ExternalServer(name, server, keys)
            for name, server in config.mcp.servers.items()
            if server.enabled
        ]
        self._entries: dict[str, _Entry] | None = None
        self._is_closed = False

    @property
    def problems(self) -> tuple[str, ...]:
        """What could not be loaded or started, as of the last `specs`."""
        servers = (problem for server in self._servers for problem in server.problems)
        return (*self._files.problems(), *servers)

    async def specs(self, answers: frozenset[str] = frozenset()) -> tuple[ToolSpec, ...]:
        """Every tool there is now, always in the same order; servers are started if need be.

        `answers` are the kinds of questions that a server which is started now may ask.
        """
        entries = await self._gather(answers)
        return tuple(entry.spec for entry in entries.values())

    async def call(
        self,
        call: ToolCall,
        *,
        progress: Callable[[str], None] | None = None,
        ask: Ask | None = None,
        beside: Sequence[str] = (),
    ) -> CallResult:
        """Run one call. A tool that fails has an outcome too; only cancellation passes through.

        `beside` are the names of tools that the model has from elsewhere.
        """
        from clawkit.assistant.toolbox.tool_results import sort_result

        started = time.monotonic()
        try:
            result = await self._run(call, _careful(progress), ask, beside)
            found = sort_result(result, call.name.rpartition("__")[2])
        except ToolExecutionError as error:
            found = _failure(str(error))
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            found = _failure(f"{call.name} was cancelled")
        except Exception as error:  # no tool may break the reply
            if not isinstance(error, ClawError):
                log.debug("%s failed", call.name, exc_info=True)
            found = _failure(self._redacted(f"{type(error).__name__}: {error}"))
        outcome = ToolOutcome(call.id, found.parts, found.is_error)
        return CallResult(outcome, found.text, found.media, time.monotonic() - started)

    async def close(self) -> None:
        """Stop every server. The toolbox is of no use afterwards."""
        from clawkit.assistant.toolbox.external_server import stop_all

        self._is_closed = True
        await stop_all(self._servers)

    async def _run(
        self, call: ToolCall, tell: Tell, ask: Ask | None, beside: Sequence[str]
    ) -> dict[str, Any]:
        if self._is_closed:
            raise ToolExecutionError("the toolbox is closed")
        entries = self._entries if self._entries is not None else await self._gather()
        entry = entries.get(call.name)
        if entry is None:
            raise ToolExecutionError(_unknown(call.name, [*beside, *entries]))
        arguments: Any = call.arguments
        if not isinstance(arguments, dict):
            kind = type(arguments).__name__
            raise ToolExecutionError(
                f"the arguments of {call.name} must be a JSON object, not a {kind}: "
                "write them by name, as in its schema"
            )
        return await entry.source.call(entry.tool, call.arguments, tell, ask)

    async def _gather(self, answers: frozenset[str] = frozenset()) -> dict[str, _Entry]:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._files.refresh())
            listing = [
                (server, group.create_task(server.offers(answers))) for server in self._servers
            ]
        found: list[tuple[str, ToolSource, OfferedTool]] = []
        for name, source in self._files.sources():
            found += [(name, source, offer) for offer in source.offers()]
        for server, offered in listing:
            found += [(server.name, server, offer) for offer in offered.result()]
        names = assign_names([(server, offer.name) for server, _, offer in found])
        self._entries = {
            name: _Entry(source, offer.name, _spec(name, offer))
            for name, (_, source, offer) in zip(names, found, strict=True)
        }
        return self._entries

    def _redacted(self, text: str) -> str:
        from clawkit.assistant.redaction import redact

        return redact(text, self._keys)


def _spec(name: str, offer: OfferedTool) -> ToolSpec:
    """Providers want an object with properties, which some servers leave out."""
    schema: dict[str, Any] = {"type": "object", "properties": {}, **offer.input_schema}
    return ToolSpec(name, offer.description or f"Tool: {offer.name}", schema)


def _unknown(name: str, known: list[str]) -> str:
    near = near_names(name, known)
    if near:
        return f"There is no tool called {name!r}. Did you mean {' or '.join(near)}?"
    if not known:
        return f"There is no tool called {name!r}; there are no tools at all"
    more = f" and {len(known) - _LISTED} more" if len(known) > _LISTED else ""
    return f"There is no tool called {name!r}. There are {', '.join(known[:_LISTED])}{more}"


def _failure(text: str) -> SortedResult:
    from clawkit.assistant.toolbox.tool_results import sort_result

    return sort_result({"content": [{"type": "text", "text": text}], "isError": True}, "")


def _careful(progress: Callable[[str], None] | None) -> Tell:
    """Errors in a progress callback do not fail the call."""

    def tell(text: str) -> None:
        if progress is None:
            return
        try:
            progress(text)
        except Exception:
            log.warning("a progress callback failed", exc_info=True)

    return tell
