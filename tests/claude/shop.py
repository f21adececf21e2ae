"""A policy over a project and a shop, and the shop."""

from __future__ import annotations

from pathlib import Path

from clawkit import SdkMcpServerImpl
from tests.assistant.providers.scripted import Call

RULES = """
[[rule]]
action = "deny"
tool = "*"
args."*" = ["**/secret*"]
description = "Secrets stay where they are"

[[rule]]
action = "allow"
server = "claude"
tool = ["Read", "Write"]
args.file_path = "{project}/**"

[[rule]]
action = "allow"
server = "claude"
tool = "Bash"
args.command = "echo *"

[[rule]]
action = "allow"
server = "shop"
tool = "look"

[[rule]]
action = "prompt"
server = "shop"
tool = "buy"
description = "Buying needs a person"
"""


class Shop:
    """A server whose tools remember how they were called."""

    def __init__(self, name: str = "shop") -> None:
        self.calls: list[str] = []
        self.server = SdkMcpServerImpl(name, "1.0.0")
        self.server.tool(name="look", always_load=True)(self.look)
        self.server.tool(name="buy", always_load=True)(self.buy)

    async def look(self, what: str) -> str:
        self.calls.append(f"look {what}")
        return f"saw {what}"

    async def buy(self, what: str) -> str:
        self.calls.append(f"buy {what}")
        return f"bought {what}"


def rewrite(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def look(what: str, id: str) -> Call:
    return Call("mcp__shop__look", {"what": what}, id=id)


def buy(what: str, id: str) -> Call:
    return Call("mcp__shop__buy", {"what": what}, id=id)
