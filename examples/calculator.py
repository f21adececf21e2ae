"""The documented calculator and echo. Run it with `claw serve examples/calculator.py`."""

from clawkit import SdkMcpServerImpl, ToolResult, claw_tool


@claw_tool(
    name="calculator",
    description="Perform basic arithmetic operations (add or multiply)",
)
async def calculator(operation: str, a: int, b: int) -> ToolResult:
    match operation:
        case "add":
            return ToolResult.text(f"Result: {a + b}")
        case "multiply":
            return ToolResult.text(f"Result: {a * b}")
        case _:
            return ToolResult.error(f"Unknown operation: {operation}")


@claw_tool(name="echo", description="Echo text back, optionally repeated multiple times")
async def echo(text: str, repeat: int | None) -> ToolResult:
    return ToolResult.text("\n".join([text] * (1 if repeat is None else repeat)))


server = SdkMcpServerImpl("math-tools", "1.0.0")
server.register_tool(calculator())
server.register_tool(echo())

if __name__ == "__main__":
    server.serve_stdio()
