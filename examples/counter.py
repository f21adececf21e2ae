"""A tool that keeps state, by a handler of its own: `claw serve examples/counter.py`."""

from typing import Any

from clawkit import SdkMcpServerImpl, SdkMcpTool, ToolResult


class Counter:
    """Counts how often each thing was seen."""

    def __init__(self) -> None:
        self.seen: dict[str, int] = {}

    async def call(self, args: dict[str, Any]) -> ToolResult:
        thing = args.get("thing")
        if not isinstance(thing, str):
            return ToolResult.error("thing: say what was seen")
        self.seen[thing] = self.seen.get(thing, 0) + 1
        return ToolResult.text(f"{thing}: seen {self.seen[thing]} times")


server = SdkMcpServerImpl("counter", "1.0.0")
server.register_tool(
    SdkMcpTool(
        "count",
        "Count one more of a thing",
        {"type": "object", "properties": {"thing": {"type": "string"}}, "required": ["thing"]},
        Counter(),
    )
)

if __name__ == "__main__":
    server.serve_stdio()
