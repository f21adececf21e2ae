"""`claw tools`: what a Python file would offer to a client."""

from __future__ import annotations

import shlex
import sys
from contextlib import redirect_stdout
from typing import Annotated, Any

import typer

from clawkit.cli.commands import AsJson, Target, print_json
from clawkit.text.normalization import visible
from clawkit.tools.loader import load_server
from clawkit.tools.parameters import parameters_of, takes
from clawkit.wire.http.page import PagePart, PasteText, ServerPage, render
from clawkit.wire.server import ServerCore


def tools(
    target: Target,
    page: Annotated[
        bool,
        typer.Option("--page", help="Print a web page of it, as `claw serve --http` has at /."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List what a Python file would offer: its tools, resources and prompts."""
    with redirect_stdout(sys.stderr):
        server = load_server(target)
    if page:
        print(_page(server, target), end="")
        return
    offered = _offered(server)
    if as_json:
        print_json(offered)
    else:
        _print_tables(server, offered)


def _page(server: ServerCore, target: str) -> str:
    """The page for clients that start the file themselves."""
    from clawkit.hosts.installation import file_order
    from clawkit.hosts.paste import pastes_for_command

    order = file_order(target)
    started = f"started with: claw {shlex.join(order.argv[-2:])}"
    return render(server_page(server, started, pastes_for_command(order)))


def _offered(server: ServerCore) -> dict[str, list[dict[str, Any]]]:
    return {
        "tools": [item.definition for item in server.tools.values()],
        "resources": [item.definition for item in server.resources.values()],
        "resourceTemplates": [item.definition for item in server.templates.values()],
        "prompts": [item.definition for item in server.prompts.values()],
    }


def _print_tables(server: ServerCore, offered: dict[str, list[dict[str, Any]]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    console.print(Text(visible(f"{server.name} {server.version}"), style="bold"))
    if not any(offered.values()):
        console.print("It offers nothing yet: decorate a function with @claw_tool.")
    for kind, items in offered.items():
        if not items:
            continue
        table = Table(
            title=kind, title_justify="left", box=None, header_style="dim", padding=(0, 2)
        )
        for column in ("name", "takes", "description"):
            table.add_column(column, overflow="fold")
        for item in items:
            name = item.get("uri") or item.get("uriTemplate") or item["name"]
            first_line = str(item.get("description", "")).partition("\n")[0]
            cells = [visible(str(text)) for text in (name, _takes(item), first_line)]
            table.add_row(Text(cells[0], style="bold"), Text(cells[1]), Text(cells[2]))
        console.print(table)


def _takes(item: dict[str, Any]) -> str:
    """The parameters of a tool or prompt, the optional ones with a question mark."""
    if "arguments" in item:
        return ", ".join(a["name"] + ("" if a["required"] else "?") for a in item["arguments"])
    return takes(item.get("inputSchema", {}))


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
        (one.name, one.kind, one.presence, one.description)
        for one in parameters_of(definition["inputSchema"])
    )
    return PagePart(definition["name"], str(definition.get("description", "")), tuple(rows))
