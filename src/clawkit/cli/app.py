"""The command line: the table of commands, each imported when it is run."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any, cast

import typer
from typer.core import TyperCommand
from typer.main import get_command

from clawkit.cli.commands import CommandGroup, print_version

COMMANDS = {
    "ask": "Ask the assistant one question.",
    "chat": "Talk with the assistant. In a pipe: one message a line, plain answers.",
    "remember": 'Remember something, from now on: `claw remember "Anna is allergic to nuts"`.',
    "recall": "Recall what is relevant to a sentence, as the assistant would, or nothing.",
    "setup": "Find what could answer, choose it, try it; then add it to MCP clients.",
    "install": "Add the assistant, a memory or your tools to a client; without CLIENT, list where.",
    "console": "Show on one local page what your agents did, remember and ask for.",
    "ui": "The same as `claw console`.",
    "login": "Log in to a server of others, for guards and the assistant: in a browser, anywhere.",
    "logout": "Forget the login to a server, and revoke it there if that can be done.",
    "status": "Show assistant, memory, guard, logins: model, tools; Beings; servers, policy, pins.",
    "doctor": "Check the installation, the config and the store; without --deep, nothing is sent.",
    "wrap": "Put the guard before a server in the clients' files that start it.",
    "unwrap": "Take the guard away again and put the entry back as it was.",
    "call": "Call one tool: `claw call weather.py forecast city=Oslo`, or any MCP server's.",
    "new": "Write a Python file with one tool and its test, and say what to do next.",
    "tools": "List what a Python file would offer: its tools, resources and prompts.",
    "serve": "Run the tools in a Python file as an MCP server, over stdio or HTTP.",
    "mcp-server": "Serve the assistant to an MCP client over stdio: one tool that takes a message.",
    "sessions": "List what the assistant was told, session by session.",
    "memory": "What your Being remembers.",
    "being": "Beings: memories that any MCP client can use, each with its own walls.",
    "user": "People who log in to Beings, tools and the assistant, and their logins.",
    "policy": "Make, test and understand the guard's policy.",
    "approvals": "Answer the calls that a `prompt` rule holds, in a live view.",
    "log": "Show what passed the guard and what it stopped.",
    "pins": "Show what each server was seen with, and accept what changed.",
    "guard": "Try the guard out.",
    "proxy": "Stand guard in front of a server: what a wrapped entry starts.",
    "uninstall": "Take everything of ours out of every MCP client again.",
    "completion": "Print the script with which your shell completes this program's commands.",
    "help": "Explain a concept, such as sessions, memory or policy; without TOPIC, list them.",
}
"""What the list of commands says about each; it is imported when it is run."""
GROUPS = {
    "Assistant": ("ask", "chat", "sessions", "mcp-server"),
    "Tools": ("new", "call", "tools", "serve"),
    "Memory": ("remember", "recall", "memory", "being", "user"),
    "Guard": ("wrap", "unwrap", "approvals", "log", "policy", "pins", "guard", "proxy"),
    "Setup": (
        *("setup", "install", "uninstall", "login", "logout", "console", "ui"),
        *("status", "doctor", "completion", "help"),
    ),
}
"""How the list of commands is divided, and its order."""
_GROUP_OF = {name: group for group, names in GROUPS.items() for name in names}
_FILES = {
    "logout": "login",
    "recall": "remember",
    "ui": "console",
    "uninstall": "install",
    "unwrap": "wrap",
    **dict.fromkeys(("serve", "mcp-server", "proxy"), "servers"),
}
_FOLDERS = (
    *("call", "chat", "setup", "status", "memory", "being", "approvals", "completion", "help"),
)


class _LazyGroup(CommandGroup):
    """Imports a command when it is run: the list of commands needs none of them."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - called by click
        return list(_GROUP_OF)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        command = super().get_command(ctx, cmd_name)
        if command is not None:
            cast("TyperCommand", command).rich_help_panel = _GROUP_OF.get(cmd_name)
        return command

    def loaded(self, name: str, command: Any) -> Any:
        command = get_command(imported(name))
        command.name = name
        return command


def imported(name: str) -> typer.Typer:
    """The command of this name, from its file."""
    file = f"{name}.command" if name in _FOLDERS else _FILES.get(name, name)
    module = import_module(f"clawkit.cli.{file}")
    if hasattr(module, "app"):
        return module.app
    one = typer.Typer(add_completion=False)
    one.command()(getattr(module, name.replace("-", "_")))
    return one


app = typer.Typer(
    name="claw",
    cls=_LazyGroup,
    help="Make an agent reachable, capable, remembering and safe over MCP.",
    no_args_is_help=True,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)


def _listed() -> None:
    """Stands in the list for a command that is not imported yet."""


for _name, _help in COMMANDS.items():
    app.command(_name, help=_help)(_listed)


@app.callback()
def common(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Options that stand before the command."""
