"""fastmcp: one tool, `add`, over stdio, without its banner."""

from fastmcp import FastMCP

server = FastMCP("bench", version="1.0.0")


@server.tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


if __name__ == "__main__":
    server.run(show_banner=False)
