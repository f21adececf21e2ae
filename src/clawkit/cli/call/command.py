"""`claw call`: one call of one tool, of a Python file or of any MCP server, and its result."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import sys
from collections.abc import AsyncGenerator, Generator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec import Struct
from typer.core import TyperCommand

from clawkit.cli.call.arguments import ArgumentError, read_arguments, typed
from clawkit.cli.commands import (
    AsJson,
    CommandFailure,
    print_ascii_json,
    print_lines,
    say,
    with_options,
)
from clawkit.cli.tables import print_table, table_lines, terminal_width
from clawkit.errors import MissingCapabilityError, ToolExecutionError, ToolTimeoutError
from clawkit.text.counts import counted
from clawkit.text.normalization import visible
from clawkit.tools.parameters import (
    ShownParameter,
    nested_parameters,
    objects_in,
    parameters_of,
    properties,
    takes,
)
from clawkit.tools.schema.converter import either
from clawkit.wire.calls import INVALID, Workers
from clawkit.wire.input_requests import InputRequest
from clawkit.wire.jsonrpc import as_object

if TYPE_CHECKING:
    from clawkit.assistant.api_keys import Keys
    from clawkit.assistant.toolbox.tool_results import SortedResult
    from clawkit.assistant.toolbox.tool_source import OfferedTool, ToolSource


TIMEOUT = 300.0
_USAGE = 2
_SERVER = "call-server"
_USAGE_WANTED = "call-usage"
_HEADER = re.compile(r"(?P<name>[!#$%&'*+.^_`|~0-9A-Za-z-]+):\s*(?P<value>.*)")
_VARIABLE = re.compile(r"\$\{([^}]*)\}")


class _CallCommand(TyperCommand):
    """Tells what stands before `--` from the command behind it, and whose help is wanted."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if "--" in args:
            end = args.index("--")
            ctx.meta[_SERVER] = tuple(args[end + 1 :])
            args = args[:end]
        words = [word for word in args if not word.startswith("-")]
        if len(words) > 1 or (words and (_SERVER in ctx.meta or "--url" in args)):
            ctx.meta[_USAGE_WANTED] = any(word in args for word in ("-h", "--help"))
            args = [word for word in args if word not in ("-h", "--help")]
        return super().parse_args(ctx, args)


app = typer.Typer(add_completion=False)


class _ServerPlace(Struct, frozen=True):
    """Where the tools are: in a Python file, at an address, or behind a command."""

    file: str = ""
    url: str = ""
    command: tuple[str, ...] = ()
    headers: dict[str, str] = {}
    timeout: float = TIMEOUT

    @property
    def typed(self) -> str:
        """As it was given, for the next command line."""
        return f"--url {self.url}" if self.url else self.file


class _Opened(Struct, frozen=True):
    tools: Sequence[OfferedTool]
    source: ToolSource


class CallOptions(Struct, frozen=True):
    """What was said on the command line."""

    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE TOOL NAME=VALUE…",
            help="A Python file, one of its tools, and its arguments: NAME=VALUE by the tool's "
            "schema, NAME:=JSON, NAME=@FILE, or one JSON object. With --url or -- COMMAND there "
            "is no FILE. Without TOOL, the tools are listed; TOOL --help shows one.",
            show_default=False,
        ),
    ] = None
    url: Annotated[str, typer.Option(help="An MCP server's address.")] = ""
    token_env: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="With --url: the variable that holds the server's bearer token."
        ),
    ] = ""
    header: Annotated[
        list[str] | None,
        typer.Option(
            metavar="'NAME: VALUE'",
            help="With --url: a header; ${NAME} in it is taken from the environment.",
        ),
    ] = None
    given: Annotated[
        str,
        typer.Option(
            "--input", metavar="FILE", help="Arguments as a JSON object in a file; - for stdin."
        ),
    ] = ""
    timeout: Annotated[float, typer.Option(metavar="SECONDS", help="How long it may take.")] = (
        TIMEOUT
    )
    save: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Keep pictures, sounds and files of the result there."),
    ] = None
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose", "-v", help="Show tracebacks, and what a server writes to stderr."
        ),
    ] = False
    as_json: AsJson = False


@app.command(cls=_CallCommand, context_settings={"ignore_unknown_options": True})
@with_options("options", CallOptions)
def call(context: typer.Context, options: CallOptions) -> None:
    """Call one tool: `claw call weather.py forecast city=Oslo`, or any MCP server's.

    The server's command stands behind `--`, the tool and its arguments before it:
    `claw call forecast city=Oslo -- uvx weather-server`.
    """
    command: tuple[str, ...] = context.meta.get(_SERVER, ())
    rest = list(options.words or ())
    headers = _headers(options.header or [], options.token_env)
    place = _place(rest, options.url, command, headers, options.timeout)
    if place.headers and not options.url:
        raise typer.BadParameter("--header and --token-env need --url")
    if not options.timeout > 0:
        raise typer.BadParameter("--timeout takes seconds, more than 0")
    if _SERVER in context.meta and not command:
        raise typer.BadParameter("there is no command behind --")
    wants_usage = bool(context.meta.get(_USAGE_WANTED))
    name = rest.pop(0) if rest else ""
    _log(verbose=options.verbose)
    with _own_stdout():
        told = asyncio.run(_ask(place, _Wanted(name, rest, options.given, wants_usage)))
    if isinstance(told, dict):
        _print_result(told, name, options.save, as_json=options.as_json)
    elif name:
        if options.as_json:
            print_ascii_json(_definition(told[0]))
        else:
            print_lines(_usage(told[0], place))
    elif options.as_json:
        print_ascii_json([_definition(tool) for tool in told])
    else:
        _print_tools(told, place)


class _Wanted(Struct, frozen=True):
    """What is asked of a server: a call of a tool, its usage, or all of its tools."""

    tool: str
    words: list[str]
    given: str
    usage: bool


def _place(
    rest: list[str], url: str, command: tuple[str, ...], headers: dict[str, str], timeout: float
) -> _ServerPlace:
    if url and command:
        raise typer.BadParameter("give --url URL or -- COMMAND, not both")
    if url and not url.startswith(("http://", "https://")):
        raise typer.BadParameter("--url takes an address that starts with http:// or https://")
    if url or command:
        return _ServerPlace(url=url, command=command, headers=headers, timeout=timeout)
    if not rest:
        raise typer.BadParameter("give a Python file, --url URL or -- COMMAND")
    return _ServerPlace(file=rest.pop(0), headers=headers, timeout=timeout)


def _headers(given: list[str], token_env: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in given:
        header = _HEADER.fullmatch(text)
        if header is None:  # its text may be a secret
            raise typer.BadParameter("a --header is written 'NAME: VALUE'")
        found[header["name"]] = header["value"]
    if token_env:
        found["Authorization"] = f"Bearer ${{{token_env}}}"
    return found


async def _ask(place: _ServerPlace, asked: _Wanted) -> dict[str, Any] | Sequence[OfferedTool]:
    """The result of the call; or the tool whose usage is wanted, or all tools."""
    async with _opened(place) as opened:
        if not asked.tool:
            return opened.tools
        tool = _find(opened.tools, asked.tool)
        if asked.usage:
            return [tool]
        try:
            arguments = read_arguments(asked.words, tool.input_schema, asked.given)
        except ArgumentError as error:
            help = f"`{_typed(place, tool.name, '--help')}` shows how it is called"
            raise CommandFailure(f"{tool.name}: {error}; {help}", _USAGE) from None
        try:
            async with asyncio.timeout(place.timeout):
                return await opened.source.call(
                    tool.name, arguments, _tell(tool.name), ask if can_ask() else None
                )
        except ToolExecutionError as error:
            raise _failure(tool.name, str(error)) from None
        except TimeoutError:
            problem = f"{tool.name} took longer than {place.timeout:g} s"
            raise ToolTimeoutError(f"{problem}: --timeout SECONDS says how long it may") from None


def _find(tools: Sequence[OfferedTool], name: str) -> OfferedTool:
    known = {tool.name: tool for tool in tools}
    # A function `next_train` is the tool `next-train`.
    found = known.get(name) or known.get(name.replace("_", "-"))
    if found is not None:
        return found
    near = get_close_matches(name, known, n=3)
    listed = f"did you mean {either(near)}?" if near else f"there is {', '.join(known) or 'none'}"
    raise CommandFailure(f"there is no tool {name!r}: {listed}", _USAGE)


@asynccontextmanager
async def _opened(place: _ServerPlace) -> AsyncGenerator[_Opened]:
    if place.file:
        yield _from_file(place.file)
        return
    try:
        from clawkit.assistant.toolbox.mcp_connection import McpConnection
    except ImportError as error:
        raise CommandFailure(
            f"tools of other servers need the package `mcp` ({error}): "
            "pip install 'clawkit[servers]'"
        ) from None
    from clawkit.assistant.api_keys import Keys
    from clawkit.assistant.config import Config, McpServer
    from clawkit.assistant.toolbox.tool_source import ServerWording
    from clawkit.settings import settings

    keys = Keys(Config(places=settings()))
    _check_variables(place.headers, keys)
    program, *arguments = place.command or ("",)
    server = McpServer(
        command=program,
        args=tuple(arguments),
        url=place.url,
        headers=place.headers,
        timeout=place.timeout,
    )
    wording = ServerWording(
        "", "--timeout SECONDS says how long it may", "--token-env NAME", place.url
    )
    name = place.url or program
    # It is the person's own command: it gets what any command of this shell gets.
    connection = McpConnection(
        name,
        server,
        keys,
        environment=os.environ,
        wording=wording,
        answers=frozenset({"elicitation"} if can_ask() else ()),
    )
    try:
        await connection.open()
        tools, left_out = await connection.offers()
        for tool, reason in left_out.items():
            print(f"claw call: {visible(tool)} is left out: {visible(reason)}", file=sys.stderr)
        yield _Opened(tools, connection)
    finally:
        await connection.close()


def _from_file(target: str) -> _Opened:
    from clawkit.assistant.toolbox.python_tools import InProcess
    from clawkit.tools.loader import load_server

    source = InProcess(load_server(target), approved=True)
    return _Opened(source.offers(), source)


def _check_variables(headers: dict[str, str], keys: Keys) -> None:
    for value in headers.values():
        for name in _VARIABLE.findall(value):
            if keys.find(name) is None:
                raise CommandFailure(f"${{{name}}} is not set in the environment", _USAGE)


def _tell(tool: str) -> Any:
    last = ""

    def tell(text: str) -> None:
        nonlocal last
        if text != last:
            say(f"{tool}: {visible(text)}")
        last = text

    return tell


@contextmanager
def _own_stdout() -> Generator[None]:
    """What a file or its tools print, in whatever way, goes to stderr: stdout is the result's."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    usual, sys.stdout = sys.stdout, sys.stderr
    try:
        yield
    finally:
        sys.stdout = usual
        os.dup2(kept, 1)
        os.close(kept)


def _log(*, verbose: bool) -> None:
    """A tool that fails says why in its result; without a handler Python adds a traceback."""
    if not verbose:
        logging.getLogger("clawkit").addHandler(logging.NullHandler())
        return
    from clawkit.assistant.redaction import log_to_stderr

    log_to_stderr(everything=True)


def _print_result(result: dict[str, Any], tool: str, save: Path | None, *, as_json: bool) -> None:
    from clawkit.assistant.toolbox.tool_results import sort_result

    found = sort_result(result, tool, longest=None)
    kept = _saved(found, save) if save is not None else ()
    failure = _failure(tool, found.text.rstrip(), f"{tool}: ") if found.is_error else None
    if as_json:
        print_ascii_json(result)
    elif failure is not None:
        raise failure
    else:
        _print_text(found.text)
    if not as_json:
        for line in kept if save is not None else _unsaved(found):
            print(line, file=sys.stderr)
    raise typer.Exit(failure.code if failure else 0)


def _failure(tool: str, problem: str, named: str = "") -> CommandFailure:
    """The error of a tool, for who called it."""
    if _ASKS in problem and not can_ask():
        return CommandFailure(f"{tool} asks whoever calls it: run it in a terminal, to answer")
    status = _USAGE if problem.startswith(INVALID) else 1
    return CommandFailure(f"{named}{problem or 'failed without a reason'}", status)


def _print_text(text: str) -> None:
    """Prints a result: without control characters on a terminal, unchanged otherwise."""
    if sys.stdout.isatty():
        from clawkit.cli.reply_screen import harmless

        text = harmless(text)
    if text:
        print(text, end="" if text.endswith("\n") else "\n")


def _unsaved(found: SortedResult) -> list[str]:
    return [
        f"[{visible(one.name)}: {visible(one.mime_type)}, {counted(len(one.data), 'byte')}; "
        "--save DIR keeps it]"
        for one in found.media
    ]


def _saved(found: SortedResult, folder: Path) -> list[str]:
    from clawkit.assistant.media.file_names import UniqueNames, safe_name

    names = UniqueNames()
    lines: list[str] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in folder.iterdir():
            names.give(path.name)
        for one in found.media:
            path = folder / names.give(safe_name(one.name))
            with path.open("xb") as file:
                file.write(one.data)
            lines.append(f"saved {path} ({visible(one.mime_type)}, {len(one.data):,} bytes)")
    except OSError as error:
        raise CommandFailure(f"--save {folder}: {error.strerror}") from None
    return lines


def _definition(tool: OfferedTool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": tool.input_schema,
    }


def _print_tools(tools: Sequence[OfferedTool], place: _ServerPlace) -> None:
    if not tools:
        print("It offers no tools.")
        return
    rows = [
        (tool.name, takes(tool.input_schema), tool.description.partition("\n")[0]) for tool in tools
    ]
    print_table([("tool", "takes", "description"), *rows])
    print(f"\n`{_typed(place, tools[0].name, '--help')}` shows how one is called.")


def _typed(place: _ServerPlace, *words: str) -> str:
    """The command line for a tool of this place."""
    behind = ("--", "…") if place.command else ()
    return " ".join(filter(None, ("claw call", place.typed, *words, *behind)))


def _words(schema: dict[str, Any]) -> Iterator[str]:
    """Each parameter as it is typed: an object as JSON."""
    parts = properties(schema)
    for one in parameters_of(schema):
        ways = [way for _, way in objects_in(parts[one.name], schema)]
        value = f":='{'[…]' if ways[0] else '{…}'}'" if ways else "=…"
        yield f"{one.name}{value}" if one.required else f"[{one.name}{value}]"


def _usage(tool: OfferedTool, place: _ServerPlace) -> list[str]:
    found = list(nested_parameters(tool.input_schema))
    words = list(_words(tool.input_schema))
    where = [place.typed] if place.typed else []
    command = ["--", *place.command] if place.command else []
    lines = [f"Usage: {' '.join(['claw call', *where, tool.name, *words, *command])}"]
    lines += ["", *(visible(line) for line in tool.description.rstrip().split("\n"))]
    if found:
        rows = [(f"  {one.name}", one.kind, one.presence, one.description) for one in found]
        lines += ["", *table_lines(rows, terminal_width())]
    if any(":=" in word for word in words):
        lines += ["", "What is written with := is JSON, or a file of it: NAME:=@FILE."]
    return [visible(lines[0]), *lines[1:]]


_ASKS = "capability 'elicitation'"
_NEEDED = object()
_asking = Workers(1)
"""One question at a time. It is a daemon: Ctrl-C does not wait for a line to be typed."""


def can_ask() -> bool:
    """Whether somebody is there to be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


async def ask(question: InputRequest) -> dict[str, Any]:
    """The answer to an elicitation as MCP has it; the end of input cancels."""
    if question.capability != "elicitation":
        raise MissingCapabilityError("there is no model here to ask", {question.capability: {}})
    return await _asking.start(_answer, {"question": question.params}).outcome


def _answer(question: dict[str, Any]) -> dict[str, Any]:
    first, *more = str(question.get("message", "")).splitlines() or [""]
    say("\n".join((f"? {visible(first)}", *(f"  {visible(line)}" for line in more))))
    schema = as_object(question.get("requestedSchema")) or {}
    fields = parameters_of(schema)
    try:
        if "url" in question:
            say(f"  {visible(str(question['url']))}")
        if not fields:
            agreed = _until_typed(
                "  Go on? [yes/no] [no]: ", "answer", {"type": "boolean"}, {}, False
            )
            return {"action": "accept", "content": {}} if agreed else {"action": "decline"}
        found = {field.name: _value(field, schema) for field in fields}
    except EOFError:
        return {"action": "cancel"}
    return {"action": "accept", "content": {k: v for k, v in found.items() if v is not None}}


def _value(field: ShownParameter, schema: dict[str, Any]) -> Any:
    part = properties(schema)[field.name]
    about = field.description or str(part.get("title", "")) or field.name
    default = f" [{field.default}]" if field.default else ""
    kind = "[yes/no]" if field.kind == "boolean" else f"({field.kind})"
    prompt = f"  {visible(about)} {visible(kind)}{visible(default)}: "
    usual = part.get("default") if field.default or not field.required else _NEEDED
    return _until_typed(prompt, field.name, part, schema, usual)


def _until_typed(
    prompt: str, name: str, part: dict[str, Any], root: dict[str, Any], usual: Any
) -> Any:
    """Ask until the answer fits; `usual` is what an empty line means."""
    while True:
        text = _read(prompt)
        if not text and usual is not _NEEDED:
            return usual
        try:
            return typed(name, text, part, root)
        except ArgumentError as error:
            say(f"  {visible(str(error))}")


def _read(prompt: str) -> str:
    print(prompt, end="", file=sys.stderr, flush=True)
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.strip()
