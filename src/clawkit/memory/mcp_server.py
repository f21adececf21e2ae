"""The MCP server of Beings: eleven tools, and `act` where a bridge is connected.

One server serves every Being of a store. Which one a message is for, and that its caller may send
it, the door has found out (`principal_of`); over stdio it is always the same.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import msgspec

from clawkit.errors import (
    ClawError,
    InvalidArgumentsError,
    InvalidParamsError,
    StoreError,
    ToolExecutionError,
)
from clawkit.memory import tokens
from clawkit.memory.details import DETAILED, META_DETAILS, DetailsRequest
from clawkit.memory.display_text import shown
from clawkit.memory.mcp_app import META_VIEW, VIEWS, MemoryApp
from clawkit.memory.tokens import LONGEST_CONVERSATION, META_CONVERSATION, Access
from clawkit.memory.tools import (
    ACT,
    DEFINITIONS,
    WRITE_TOOLS,
    BeingTool,
    Offered,
    ToolDefinition,
    being_tools,
)
from clawkit.store.database import written
from clawkit.tools.schema.converter import Converter, unknown_argument
from clawkit.tools.schema.reader import converter_for
from clawkit.version import __version__
from clawkit.wire.calls import CallSemaphore, Workers
from clawkit.wire.server import ServerCore
from clawkit.wire.session import Principal, shows_apps

if TYPE_CHECKING:
    from clawkit.memory.being_store import BeingStore
    from clawkit.memory.records import Being
    from clawkit.wire.features import TaskUse, Tool
    from clawkit.wire.session import Context

NAME = "being"
INSTRUCTIONS = (
    "This is a long-term memory. Call get_context once at the start of a session and recall with "
    "each user message. Record what is worth remembering with update_notes."
)
AT_ONCE = 16
PATROLS_AT_ONCE = 4
PATROL_THREADS = 64
WAITING = 1_000
_NOT_NOW = "this memory cannot be reached right now: nothing was changed; try again in a moment"
_WHAT_ACT_DOES = (
    "Have a device or program that is connected to this Being do something; it answers within "
    "five seconds. There are:"
)
_log = logging.getLogger("clawkit.memory")

Act = Callable[[int, str, dict[str, Any]], Awaitable[Any]]


class ActArguments(msgspec.Struct, frozen=True):
    """What `act` takes."""

    name: str
    arguments: dict[str, Any] | None = None


_act_arguments = converter_for(ActArguments, where=ACT).convert


@cache
def _converter(arguments: type, tool: str) -> Converter:
    """The converter of a tool's arguments, which is the same in every server."""
    return converter_for(arguments, where=tool)


class CallQueue:
    """Lets a number of calls of each Being work; the others of it wait in order, in no thread."""

    def __init__(self, at_once: int = AT_ONCE, waiting: int = WAITING) -> None:
        self._at_once = at_once
        self._waiting = waiting
        self._turns: dict[int, CallSemaphore] = {}

    async def enter(self, being: int) -> None:
        """Wait for a turn; whoever has one must `leave`."""
        turns = self._turns.get(being)
        if turns is None:
            turns = self._turns[being] = CallSemaphore(self._at_once, self._waiting)
        if turns.try_enter():
            return
        if turns.is_full:
            raise ToolExecutionError("too many calls of this Being wait already: try again later")
        await turns.enter()

    def leave(self, being: int) -> None:
        """Give the turn to the next of the Being, or back."""
        turns = self._turns[being]
        turns.leave()
        if turns.is_idle:
            del self._turns[being]


class BeingServer(ServerCore):
    """A server whose callers each have their own Being: the principal's, or the one served."""

    def __init__(
        self,
        store: BeingStore,
        *,
        being: Being | None = None,
        capabilities: Offered = lambda _: [],
        senses: Offered = lambda _: [],
        act: Act | None = None,
        **options: Any,
    ) -> None:
        """`options` are those of the core's `Server`."""
        super().__init__(NAME, __version__, instructions=INSTRUCTIONS, **options)
        self.store = store
        self._fixed = None if being is None else Access(being)
        self._capabilities = capabilities
        self._act = act
        self.turns = CallQueue()
        # A patrol may wait long for a model: nobody who asks for something waits behind it.
        self.patrols = CallQueue(PATROLS_AT_ONCE)
        self.patrol_threads = Workers(PATROL_THREADS)
        for work in being_tools(capabilities, senses):
            self.add_tool(QueuedTool(self, work))
        self.add_app(MemoryApp(), *VIEWS)

    def tools_for(self, principal: Principal | None) -> dict[str, Tool]:
        """All tools, and `act` with what the Being's bridges can do, if they can do anything."""
        access = self._access(principal)
        able = self._capabilities(access.being.n) if self._act is not None and access else []
        if self._act is None or not able:
            return self.tools
        return {**self.tools, ACT: ActTool(self, self._act, able)}

    def _access(self, principal: Principal | None) -> Access | None:
        found = self._fixed if principal is None else principal.data
        return found if isinstance(found, Access) else None

    def access_of(self, context: Context) -> Access:
        """Which Being a call may use, and who asks, in which conversation."""
        access = self._access(context.principal)
        if access is None:
            raise ToolExecutionError("this call has no access to a Being")
        conversation = _conversation(context.meta)
        if not conversation:
            return access
        caller = msgspec.structs.replace(access.caller, conversation=conversation)
        return Access(access.being, caller)


class _ServedTool:
    """What all tools of the server have in common."""

    timeout: float | None = None
    concurrency: int | None = None
    requires_approval = False
    task: TaskUse = "never"
    task_after: float | None = None
    headers: dict[str, tuple[str, ...]] = {}  # noqa: RUF012 - never changed; the core reads it

    def __init__(self, name: str, definition: ToolDefinition) -> None:
        self.name = name
        self.parameters: dict[str, Any] = definition.input_schema["properties"]
        self.definition = {
            "name": name,
            "description": definition.description,
            "inputSchema": definition.input_schema,
            "annotations": definition.annotations,
        }


class QueuedTool(_ServedTool):
    """A tool of a Being; its calls take turns and work in threads."""

    def __init__(self, server: BeingServer, work: BeingTool) -> None:
        super().__init__(work.name, DEFINITIONS[work.name])
        self._server = server
        self._work = work
        self._convert = _converter(work.arguments, work.name).convert
        slow = work.name == "trigger_patrol"
        self._turns = server.patrols if slow else server.turns
        self._threads = server.patrol_threads if slow else None

    async def invoke(self, arguments: dict[str, Any], context: Context) -> dict[str, Any]:
        """The result of one call, which the caller's own Being gives."""
        meta = context.meta
        access = self._server.access_of(context)
        being = access.being.n
        values = {
            "access": access,
            "arguments": arguments,
            "wanted": DetailsRequest.read(meta) if META_DETAILS in meta else None,
            "is_shown": self.name in VIEWS and shows_apps(context.capabilities),
        }
        await self._turns.enter(being)
        try:
            return await context.run_in_thread(self._run, values, self._threads)
        except Exception as error:
            if context.principal is None:
                raise
            raise _told(self.name, error) from None
        finally:
            context.when_idle(partial(self._turns.leave, being))

    def _run(
        self,
        access: Access,
        arguments: dict[str, Any],
        wanted: DetailsRequest | None,
        is_shown: bool,
    ) -> dict[str, Any]:
        check_names(arguments, self.parameters)
        store, caller = self._server.store, access.caller
        store.calls.count(access.being)
        memory = store.open(access.being)
        given = self._convert(arguments)
        if wanted is not None and self.name in DETAILED:
            found = DETAILED[self.name](store, memory, caller, given, wanted)
            return _answered(found.text, {META_DETAILS: msgspec.to_builtins(found.records)})
        answer = self._work.run(memory, caller, given)
        if not is_shown:
            return _answered(answer)
        return _answered(answer, {META_VIEW: VIEWS[self.name](store, memory, caller, given)})


class ActTool(_ServedTool):
    """Has a connected bridge do something; for a Being whose bridges can do this."""

    def __init__(self, server: BeingServer, act: Act, able: Sequence[dict[str, Any]]) -> None:
        names = [str(one["name"]) for one in able]
        properties = {
            "name": {"type": "string", "enum": names, "description": "What to do"},
            "arguments": {"type": "object", "description": "What the capability takes"},
        }
        schema = {"type": "object", "properties": properties, "required": ["name"]}
        hints = {"readOnlyHint": False, "openWorldHint": True}
        super().__init__(ACT, ToolDefinition(_description(able), hints, schema))
        self._server = server
        self._act = act

    async def invoke(self, arguments: dict[str, Any], context: Context) -> dict[str, Any]:
        """What the bridge answers."""
        access = self._server.access_of(context)
        check_names(arguments, self.parameters)
        given: ActArguments = _act_arguments(arguments)
        await context.run_in_thread(self._server.store.calls.count, {"being": access.being})
        return _answered(await self._act(access.being.n, given.name, given.arguments or {}))


def _answered(answer: Any, meta: dict[str, Any] | None = None) -> dict[str, Any]:
    """A result of one text: the answer as it is if it is one, and as JSON otherwise."""
    text = answer if isinstance(answer, str) else written(answer)
    result: dict[str, Any] = {"content": [{"type": "text", "text": text}]}
    return result if meta is None else {**result, "_meta": meta}


def principal_of(access: Access, tool: str = "") -> Principal:
    """Who sends one message; refused where a read-only token may not call its tool."""
    caller = access.caller
    if not caller.may_write and (tool in WRITE_TOOLS or tool == ACT):
        raise tokens.forbidden(f"A read-only token may not call {tool}", "full")
    return Principal(caller.token, frozenset({caller.scope}), access)


def check_names(arguments: dict[str, Any], taken: Collection[str]) -> None:
    """Refuse arguments that a tool does not have: a misspelt one would change nothing, silently."""
    for name in arguments:
        if name not in taken:
            raise InvalidArgumentsError(str(name), unknown_argument(taken))


def _told(name: str, error: Exception) -> ClawError:
    """What a caller elsewhere is told; what is wrong here is for those who run the server."""
    if isinstance(error, StoreError):
        _log.error("%s: %s", name, error)
        return ToolExecutionError(_NOT_NOW)
    if isinstance(error, ClawError):
        return error
    _log.error("%s failed", name, exc_info=error)
    return ToolExecutionError(f"{name} failed here; whoever runs this server finds why in its log")


def _description(able: Sequence[dict[str, Any]]) -> str:
    lines = [_WHAT_ACT_DOES]
    for one in able:
        takes = one.get("input_schema")
        arguments = f" Arguments: {shown(written(takes))}" if takes else ""
        lines.append(f"- {one['name']}: {shown(str(one.get('description', '')))}{arguments}")
    return "\n".join(lines)


def _conversation(meta: dict[str, Any]) -> str:
    """The name of the conversation that a client is in, if it says so."""
    name = meta.get(META_CONVERSATION)
    if name is None:
        return ""
    if not isinstance(name, str) or len(name) > LONGEST_CONVERSATION or not name.isprintable():
        raise InvalidParamsError(
            f"Invalid params: _meta[{META_CONVERSATION!r}] must be one line of at most "
            f"{LONGEST_CONVERSATION} characters"
        )
    return name
