"""Stands in for mcp-server-fetch: the same tool, over stdio; pages come over real HTTP."""

from __future__ import annotations

from urllib.request import urlopen

from clawkit import Server, claw_tool


@claw_tool(name="fetch")
def fetch(url: str, max_length: int = 5000, start_index: int = 0, raw: bool = False) -> str:
    """Fetches a URL from the internet and extracts its contents as markdown."""
    with urlopen(url) as response:
        text = response.read().decode()
    return text[start_index : start_index + max_length] + ("" if raw else "\n")


server = Server("mcp-fetch", "1.0.0")
server.register_tool(fetch)

if __name__ == "__main__":
    server.serve_stdio()
