"""The page of a server: its name, what it says about itself, and its tools."""

from __future__ import annotations

from typing import Any

from clawkit.tools.parameters import parameters_of
from clawkit.wire.http.page import PagePart, PasteText, ServerPage
from clawkit.wire.server import ServerCore

_NOTE = "Made with Clawkit."


def server_page(
    server: ServerCore, address: str, pastes: tuple[PasteText, ...], *, with_tools: bool = True
) -> ServerPage:
    """What a page shows of a server; without its tools, neither its version nor instructions."""
    title = server.info.get("title") or server.name
    about = server.info.get("description", "")
    if not with_tools:
        hint = "Its tools are shown to those who may call it."
        return ServerPage(title, address, about, (), pastes, f"{hint} {_NOTE}")
    about = "\n\n".join(filter(None, (about, server.instructions)))
    tools = tuple(_part(tool.definition) for tool in server.tools.values())
    return ServerPage(title, address, about, tools, pastes, f"Version {server.version}. {_NOTE}")


def _part(definition: dict[str, Any]) -> PagePart:
    rows = (
        (
            one.name,
            one.kind,
            "required" if one.required else one.default and f"default {one.default}",
            one.description,
        )
        for one in parameters_of(definition["inputSchema"])
    )
    return PagePart(definition["name"], str(definition.get("description", "")), tuple(rows))
