"""What every tool of a Being has: name, schema, scope check, a place in the queue of calls."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Collection
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from clawkit.errors import ClawError, InvalidArgumentsError, StoreError, ToolExecutionError
from clawkit.memory.caller import Caller
from clawkit.memory.store.storable_text import written
from clawkit.tools.results import ToolResult
from clawkit.tools.schema.converter import converter_for
from clawkit.tools.schema.problems import unknown_argument
from clawkit.tools.tool import SdkMcpTool, ToolOptions

if TYPE_CHECKING:
    from clawkit.memory.caller import Access
    from clawkit.memory.memory import Memory
    from clawkit.memory.records import Being
    from clawkit.wire.context import Context

READ_TOOLS = frozenset(
    (
        *("recall", "recall_memory", "search_memory", "search_history"),
        *("get_context", "get_current_time"),
    )
)
WRITE_TOOLS = frozenset(
    ("update_memory", "update_notes", "merge_nodes", "update_relation", "trigger_patrol")
)
"""`update_memory` is one of these whatever its action is."""

ACT = "act"
"""Calls a capability of a connected bridge; there only while one is connected. It is a write."""

AT_ONCE = 16
WAITING = 1_000


class CallQueue:
    """Lets a number of calls of each Being work; the others of it wait in order, in no thread."""

    def __init__(self, at_once: int = AT_ONCE, waiting: int = WAITING) -> None:
        self._at_once = at_once
        self._most_waiting = waiting
        self._working: dict[int, int] = {}
        self._waiting: dict[int, deque[asyncio.Future[None]]] = {}

    async def enter(self, being: int) -> None:
        """Wait for a turn; whoever has one must `leave`."""
        working = self._working.get(being, 0)
        if working < self._at_once:
            self._working[being] = working + 1
            return
        waiting = self._waiting.setdefault(being, deque())
        if len(waiting) >= self._most_waiting:
            raise ToolExecutionError("too many calls of this Being wait already: try again later")
        turn = asyncio.get_running_loop().create_future()
        waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                waiting.remove(turn)
            else:
                self.leave(being)
            raise

    def leave(self, being: int) -> None:
        """Give the turn to the next of the Being, or back."""
        waiting = self._waiting.get(being)
        while waiting:
            turn = waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._waiting.pop(being, None)
        self._working[being] -= 1
        if not self._working[being]:
            del self._working[being]


Schema = dict[str, Any]
_NOT_NOW = "this memory cannot be reached right now: nothing was changed; try again in a moment"
_log = logging.getLogger("clawkit.memory")


class ToolDoor(Protocol):
    """Finds out whom a call is for."""

    def asked(self, context: Context) -> Access:
        """Which Being this call may use, and who asks."""
        ...

    def open(self, being: Being) -> Memory: ...


class BeingTool(msgspec.Struct, frozen=True):
    """A tool before it stands in a server.

    `arguments` is the type of what `run` gets; what `run` gives is sent as it is if it is a text,
    and as JSON otherwise.
    """

    name: str
    description: str
    properties: dict[str, Schema]
    required: tuple[str, ...]
    arguments: type[Any]
    run: Callable[[Memory, Caller, Any], Any]
    destructive: bool = False
    """Whether it can delete or overwrite what is there, and not only add to it."""

    @property
    def schema(self) -> Schema:
        shape: Schema = {"type": "object", "properties": self.properties}
        return {**shape, "required": list(self.required)} if self.required else shape


def tool(work: BeingTool, door: ToolDoor, turns: CallQueue) -> SdkMcpTool:
    """The tool of a server whose calls come through this door and take turns."""
    convert = converter_for(work.arguments, where=work.name).convert

    def run(access: Access, arguments: dict[str, Any]) -> str:
        check_names(arguments, work.properties)
        memory = door.open(access.being)
        memory.count_call()
        answer = work.run(memory, access.caller, convert(arguments))
        return answer if isinstance(answer, str) else written(answer)

    async def call(arguments: dict[str, Any], context: Context) -> ToolResult:
        access = door.asked(context)
        check_scope(work.name, access.caller)
        being = access.being.n
        values = {"access": access, "arguments": arguments}
        await turns.enter(being)
        try:
            return ToolResult.text(await context.run_in_thread(run, values))
        except Exception as error:
            if context.principal is None:
                raise
            raise _told(work.name, error) from None
        finally:
            context.when_idle(partial(turns.leave, being))

    reads = work.name in READ_TOOLS
    destructive = None if reads else work.destructive
    options = ToolOptions(read_only=reads, destructive=destructive, open_world=False)
    return SdkMcpTool(work.name, work.description, work.schema, call, options=options)


def _told(name: str, error: Exception) -> ClawError:
    """What a caller elsewhere is told; what is wrong here is for those who run the server."""
    if isinstance(error, StoreError):
        _log.error("%s: %s", name, error)
        return ToolExecutionError(_NOT_NOW)
    if isinstance(error, ClawError):
        return error
    _log.error("%s failed", name, exc_info=error)
    return ToolExecutionError(f"{name} failed here; whoever runs this server finds why in its log")


def check_scope(name: str, caller: Caller) -> None:
    """The doors refuse this earlier, with what their protocol has for it."""
    if not caller.may_write and name not in READ_TOOLS:
        raise ToolExecutionError(f"{name} changes memory, and this token is read-only")


def check_names(arguments: dict[str, Any], taken: Collection[str]) -> None:
    """Refuse arguments that a tool does not have: a misspelt one would change nothing, silently."""
    for name in arguments:
        if name not in taken:
            raise InvalidArgumentsError(str(name), unknown_argument(taken))


def text(description: str, **more: Any) -> Schema:
    return {"type": "string", "description": description, **more}


def number(description: str, **more: Any) -> Schema:
    return {"type": "number", "description": description, **more}


def flag(description: str) -> Schema:
    return {"type": "boolean", "description": description}


def texts(description: str) -> Schema:
    return {"type": "array", "items": {"type": "string"}, "description": description}


def choice(values: tuple[str, ...], description: str) -> Schema:
    return {"type": "string", "enum": list(values), "description": description}
