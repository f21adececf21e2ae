"""Ours: the tools that carry weight, `size` (a long argument) and `pause` (a slow call)."""

import asyncio

from clawkit import SdkMcpServerImpl, claw_tool


@claw_tool
async def size(text: str) -> int:
    """Count the characters of a text."""
    return len(text)


@claw_tool
async def pause(seconds: float) -> str:
    """Wait, then answer."""
    await asyncio.sleep(seconds)
    return "done"


server = SdkMcpServerImpl("bench", "1.0.0")
server.register_tool(size)
server.register_tool(pause)

if __name__ == "__main__":
    server.serve_stdio()
