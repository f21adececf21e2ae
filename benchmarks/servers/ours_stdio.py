"""Ours: one tool, `add`, over stdio."""

from clawkit import SdkMcpServerImpl, claw_tool


@claw_tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


server = SdkMcpServerImpl("bench", "1.0.0")
server.register_tool(add)

if __name__ == "__main__":
    server.serve_stdio()
