"""The MCP server of Beings: eleven tools, and `act` where a bridge is connected.

One server serves every Being of a store. Which one a call is for, the door has found out and put
into the principal as `Access`; over stdio it is always the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from clawkit.errors import InvalidParamsError, ToolExecutionError
from clawkit.memory.caller import LONGEST_CONVERSATION, META_CONVERSATION, Access
from clawkit.memory.tools.act_tool import Act, act_tool
from clawkit.memory.tools.being_tool import ACT, CallQueue, tool
from clawkit.memory.tools.memory_tools import (
    MERGE_NODES,
    RECALL,
    RECALL_MEMORY,
    SEARCH_MEMORY,
    UPDATE_MEMORY,
    UPDATE_NOTES,
    UPDATE_RELATION,
)
from clawkit.memory.tools.session_tools import (
    GET_CURRENT_TIME,
    SEARCH_HISTORY,
    TRIGGER_PATROL,
    Offered,
    get_context,
)
from clawkit.version import __version__
from clawkit.wire.server import ServerCore
from clawkit.wire.session import Principal

if TYPE_CHECKING:
    from clawkit.memory.being_store import BeingStore
    from clawkit.memory.memory import Memory
    from clawkit.memory.records import Being
    from clawkit.wire.context import Context
    from clawkit.wire.features import Tool

NAME = "being"
INSTRUCTIONS = (
    "This is a long-term memory. Call get_context once at the start of a session and recall with "
    "each user message. Record what is worth remembering with update_notes."
)


class BeingDoor:
    """Finds out which Being a call is for: the principal's, or the one that is served."""

    def __init__(self, keeper: BeingStore, being: Being | None) -> None:
        self._keeper = keeper
        self._fixed = None if being is None else Access(being)

    def find(self, principal: Principal | None) -> Access | None:
        found = self._fixed if principal is None else principal.data
        return found if isinstance(found, Access) else None

    def asked(self, context: Context) -> Access:
        access = self.find(context.principal)
        if access is None:
            raise ToolExecutionError("this call has no access to a Being")
        conversation = _conversation(context.meta)
        if not conversation:
            return access
        caller = msgspec.structs.replace(access.caller, conversation=conversation)
        return Access(access.being, caller)

    def open(self, being: Being) -> Memory:
        return self._keeper.open(being)


class BeingServer(ServerCore):
    """A server whose callers each have their own Being."""

    def __init__(
        self, door: BeingDoor, capabilities: Offered, act: Act | None, **options: Any
    ) -> None:
        super().__init__(NAME, __version__, instructions=INSTRUCTIONS, **options)
        self._door = door
        self._capabilities = capabilities
        self._act = act

    def tools_for(self, principal: Principal | None) -> dict[str, Tool]:
        """All tools, and `act` with what the Being's bridges can do, if they can do anything."""
        access = self._door.find(principal)
        able = self._capabilities(access.being.n) if self._act is not None and access else []
        if self._act is None or not able:
            return self.tools
        return {**self.tools, ACT: act_tool(self._door, self._act, able)}


def being_server(
    keeper: BeingStore,
    *,
    being: Being | None = None,
    capabilities: Offered = lambda _: [],
    senses: Offered = lambda _: [],
    act: Act | None = None,
    **options: Any,
) -> ServerCore:
    """The server of a store's Beings, or of one; `options` are those of the core's `Server`."""
    door = BeingDoor(keeper, being)
    server = BeingServer(door, capabilities, act, **options)
    works = (
        *(RECALL, get_context(capabilities, senses), RECALL_MEMORY, SEARCH_MEMORY, MERGE_NODES),
        *(UPDATE_MEMORY, UPDATE_NOTES, SEARCH_HISTORY, UPDATE_RELATION, TRIGGER_PATROL),
        GET_CURRENT_TIME,
    )
    turns = CallQueue()
    for work in works:
        server.add_tool(tool(work, door, turns))
    return server


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
