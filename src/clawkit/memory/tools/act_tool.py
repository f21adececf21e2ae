"""The tool `act`: has a connected bridge do something; listed only while one can."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from clawkit.memory.display_text import shown
from clawkit.memory.store.storable_text import written
from clawkit.memory.tools.being_tool import ACT, ToolDoor, check_names, check_scope, choice
from clawkit.tools.results import ToolResult
from clawkit.tools.schema.converter import converter_for
from clawkit.tools.tool import SdkMcpTool, ToolOptions

if TYPE_CHECKING:
    from clawkit.wire.context import Context

Act = Callable[[int, str, dict[str, Any]], Awaitable[Any]]


class ActArguments(msgspec.Struct, frozen=True):
    """What `act` takes."""

    name: str
    arguments: dict[str, Any] | None = None


_WHAT_IT_DOES = (
    "Have a device or program that is connected to this Being do something; it answers within "
    "five seconds. There are:"
)
_convert = converter_for(ActArguments, where=ACT).convert


def act_tool(door: ToolDoor, act: Act, able: Sequence[dict[str, Any]]) -> SdkMcpTool:
    """The tool for a Being whose bridges can do this."""

    async def call(arguments: dict[str, Any], context: Context) -> ToolResult:
        access = door.asked(context)
        check_scope(ACT, access.caller)
        check_names(arguments, schema["properties"])
        given: ActArguments = _convert(arguments)
        await context.run_in_thread(door.open(access.being).count_call, {})
        answer = await act(access.being.n, given.name, given.arguments or {})
        return ToolResult.text(answer if isinstance(answer, str) else written(answer))

    names = tuple(str(one["name"]) for one in able)
    schema = {
        "type": "object",
        "properties": {
            "name": choice(names, "What to do"),
            "arguments": {"type": "object", "description": "What the capability takes"},
        },
        "required": ["name"],
    }
    options = ToolOptions(read_only=False, open_world=True)
    return SdkMcpTool(ACT, _description(able), schema, call, options=options)


def _description(able: Sequence[dict[str, Any]]) -> str:
    lines = [_WHAT_IT_DOES]
    for one in able:
        takes = one.get("input_schema")
        arguments = f" Arguments: {shown(written(takes))}" if takes else ""
        lines.append(f"- {one['name']}: {shown(str(one.get('description', '')))}{arguments}")
    return "\n".join(lines)
