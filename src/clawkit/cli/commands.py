"""Shared by all commands: errors as lines, Ctrl-C, checked output, JSON, options."""

from __future__ import annotations

import inspect
import io
import json
import os
import re
import signal
import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from functools import wraps
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, cast, get_type_hints

import typer
from typer.core import TyperGroup

from clawkit.errors import ClawError
from clawkit.system.processes import program
from clawkit.text.normalization import visible
from clawkit.version import __version__

if TYPE_CHECKING:
    import asyncio

    from _typeshed import ReadableBuffer

INTERRUPTED = 130
MAX_CONNECTIONS = 1000
_LONGEST_SHOWN = 80
_UNDECODED = re.compile("[\ud800-\udfff]")
_OPTIONS = {
    "as_of": "--as-of",
    "query": "QUERY",
    "scene.action": "TEXT",
    "scene.actors": "--about",
    "scene.feeling": "--feeling",
    "scene.setting": "--where",
    "scene.themes": "--theme",
    "scene.when": "--when",
    "user_message": "TEXT",
}
"""The option or argument that a person gives for a field that an error of memory names."""

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Project = Annotated[
    Path, typer.Option("--project", metavar="DIR", help="Whose project files to look at, too.")
]
Overwrite = Annotated[bool, typer.Option("--yes", "-y", help="Overwrite FILE if it exists.")]
Target = Annotated[
    str,
    typer.Argument(metavar="FILE[:SERVER]", help="A Python file, and the variable of its server."),
]
Host = Annotated[
    str, typer.Option(help="Address to listen on. Anything but loopback opens it to others.")
]
AllowHost = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="A host name it may be reached by; can be given again. "
        "Without, loopback names only, or any if --host is not loopback.",
    ),
]
MaxConnections = Annotated[
    int,
    typer.Option(
        min=1,
        metavar="N",
        help="Connections at a time. When there are more, those that wait for their client "
        "are closed; further requests get 503.",
    ),
]
TrustedProxy = Annotated[
    list[str] | None,
    typer.Option(
        metavar="CIDR",
        help="A proxy whose X-Forwarded-For says who asks: an address or a network; can be "
        "given again. Without, none.",
    ),
]


def print_version(wanted: bool) -> None:
    if wanted:
        print(f"clawkit {__version__}")
        raise typer.Exit


def port_option(help: str) -> Any:
    return typer.Option(metavar="PORT", min=0, max=65535, help=help)


class CommandFailure(ClawError):
    """What ends a command with a line on stderr and this exit status."""

    def __init__(self, problem: str, code: int = 1) -> None:
        super().__init__(problem)
        self.code = code


def refuse_guarded_servers() -> None:
    """End a command that is for a person, where a guarded server runs it."""
    from clawkit.system.watchdog import in_guarded_server

    if in_guarded_server():
        problem = "a guarded server may not answer for a person: use a terminal of your own"
        raise CommandFailure(problem)


def status_of(error: ClawError) -> int:
    """The exit status of a command that ends with an error."""
    return error.code if isinstance(error, CommandFailure) else 1 + error.is_usage


class CommandGroup(TyperGroup):
    """Ends commands without a traceback: on our errors, Ctrl-C, or a closed pipe."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _without_flag_types(super().get_params(ctx))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None:
            command = self.loaded(name or "", command)
            _without_flag_types(command.get_params(ctx))
            _take_text(command)
        return name, command, rest

    def loaded(self, name: str, command: Any) -> Any:  # noqa: ARG002 - for groups that load late
        """The command itself, where the list has only a stand-in for it."""
        return command

    def invoke(self, ctx: Any) -> Any:
        # What is shown is what somebody wrote, and not every terminal can print it.
        cast("io.TextIOWrapper", sys.stdout).reconfigure(errors="backslashreplace")
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except ClawError as error:
            complain(_in_options(str(error)), ctx)
            raise typer.Exit(status_of(error)) from None
        except (KeyboardInterrupt, typer.Abort) as error:
            # A question is ended by Ctrl-C, or by the end of input.
            by_input = not isinstance(error.__context__, KeyboardInterrupt)
            if isinstance(error, typer.Abort) and by_input:
                raise
            complain("interrupted", ctx)
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            # Whoever read it has seen enough; what is left in the buffer has nowhere to go.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None
        return result


def with_options(
    name: str, make: Callable[..., object]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Gives a command the options of a function or Struct; what that makes is its `name`."""
    types = get_type_hints(make, include_extras=True)
    made_of = {
        one.name: one.replace(annotation=types[one.name])
        for one in inspect.signature(make).parameters.values()
    }

    def add(command: Callable[..., None]) -> Callable[..., None]:
        del command.__annotations__[name]  # which is no option, and may be imported later
        own = inspect.signature(command, eval_str=True)

        @wraps(command)
        def run(**given: Any) -> None:
            made = make(**{one: given.pop(one) for one in made_of})
            command(**given, **{name: made})

        groups = (
            made_of.values() if one.name == name else (one,) for one in own.parameters.values()
        )
        run.__signature__ = own.replace(parameters=[*chain(*groups)])  # pyright: ignore[reportAttributeAccessIssue]
        return run

    return add


def _take_text(command: Any) -> None:
    """Gives a command its arguments as text; a Path stays the bytes that the system has for it."""
    run = command.invoke

    def with_text(ctx: Any) -> Any:
        ctx.params = {name: _as_text(value) for name, value in ctx.params.items()}
        return run(ctx)

    command.invoke = with_text


def _as_text(value: Any) -> Any:
    if isinstance(value, list | tuple):
        many = cast("list[Any] | tuple[Any, ...]", value)
        return type(many)(map(_as_text, many))
    # What Python could not decode is half a surrogate pair, which nothing of ours can store.
    if not isinstance(value, str) or not _UNDECODED.search(value):
        return value
    data = os.fsencode(value)
    shown = visible(data.decode(errors="backslashreplace"), _LONGEST_SHOWN)
    return text_of(data, f"the argument '{shown}'", "utf-8")


def text_of(data: bytes, where: str, encoding: str) -> str:
    """Bytes of a person as text: in the locale's encoding, else in UTF-8; others are refused."""
    for one in (encoding, "utf-8"):
        with suppress(UnicodeDecodeError):
            return data.decode(one)
    raise CommandFailure(f"{where} is not UTF-8 text", 2)


def read_stdin() -> str:
    return text_of(sys.stdin.buffer.read(), "stdin", sys.stdin.encoding)


def _without_flag_types(parameters: list[Any]) -> list[Any]:
    """Hides the value type in the help of flags."""
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    return parameters


def command_group(help: str, *, invoke_without_command: bool = False) -> typer.Typer:
    """An app of several verbs; without a verb it prints its help, or runs its callback."""
    return typer.Typer(
        cls=CommandGroup,
        add_completion=False,
        help=help,
        invoke_without_command=invoke_without_command,
        no_args_is_help=not invoke_without_command,
    )


def pass_on(context: typer.Context) -> None:
    """Options before the verb count for the verb, unless they stand behind it too."""
    group = cast("TyperGroup", context.command)
    context.default_map = dict.fromkeys(group.commands, context.params)


def on_termination(loop: asyncio.AbstractEventLoop, end: Callable[[int], object]) -> None:
    """Call `end` with the number of a signal that ends programs, where there are such signals."""
    if sys.platform != "win32":
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, end, number)


def say(text: str) -> None:
    """A remark on stderr, at once: stdout has the result only."""
    print(text, file=sys.stderr, flush=True)


def complain(problem: str, context: Any) -> None:
    """A problem on stderr, each line with the command that has it."""
    verb = context.command_path.partition(" ")[2]
    words = ("claw", verb, context.invoked_subcommand or "")
    for line in problem.split("\n"):
        print(f"{' '.join(filter(None, words))}: {visible(line)}", file=sys.stderr)


def _in_options(problem: str) -> str:
    """What is wrong with an argument of a tool, said of the option that a person gave."""
    field, colon, rest = problem.partition(": ")
    option = _OPTIONS.get(re.sub(r"\[\d+\]", "", field))
    return f"{option}{colon}{rest}" if colon and option else problem


def print_lines(lines: Iterable[str], value: object = None, *, as_json: bool = False) -> None:
    """The lines, or the value that they tell of as JSON."""
    if as_json:
        print_json(value)
        return
    for line in lines:
        print(line)


def print_ascii_json(value: object) -> None:
    """JSON of what servers say, in ASCII: whatever is in it does nothing to a terminal."""
    import msgspec

    print(json.dumps(msgspec.to_builtins(value), indent=2))


def require_new(file: Path | None, *, yes: bool) -> None:
    """A file that is there is only overwritten if that was said."""
    if file is not None and os.path.lexists(file) and not yes:
        raise CommandFailure(f"{file} is already there: give --yes to overwrite it")


@contextmanager
def output_file(file: Path | None) -> Generator[BinaryIO]:
    """Opens a file for its owner only, which appears when it is whole; stdout without a file."""
    if file is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    beside = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    try:
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
            yield out
        beside.replace(file)
    except OSError as error:
        raise CommandFailure(f"{file} cannot be written: {error.strerror}") from None
    finally:
        beside.unlink(missing_ok=True)


def confirm(question: str, nothing: str, advice: str, lines: Iterable[str]) -> None:
    """Show what is at stake and ask; without a terminal to ask in, `advice` names the option."""
    if not sys.stdin.isatty():
        raise CommandFailure(f"nobody is there to be asked: {advice}", 2)
    print_lines(lines)
    if not typer.confirm(question, default=False):
        print(nothing)
        raise typer.Exit(1)


class _Output(io.FileIO):
    """Standard output that discards everything after its first write error."""

    problem: OSError | None = None
    left = False
    """Whether its reader has gone."""

    def write(self, b: ReadableBuffer, /) -> int:
        if self.problem is not None:
            return memoryview(b).nbytes
        try:
            return cast("int", super().write(b))
        except BrokenPipeError:  # a reader may leave; commands know that
            self.left = True
            raise
        except OSError as error:
            self.problem = error
            raise


@contextmanager
def checked_stdout() -> Generator[None]:
    """Run a command; where its output cannot be written, say so and exit with status 1.

    Where its reader has gone it has seen enough: that is status 0, whoever noticed it.
    """
    usual = cast("io.TextIOWrapper", sys.stdout)
    if usual.isatty():
        yield
        return
    output = _Output(usual.fileno(), "w", closefd=False)
    stream = sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(output),
        encoding=usual.encoding,
        errors=usual.errors,
        line_buffering=usual.line_buffering or usual.write_through,
    )
    try:
        yield
    except (OSError, SystemExit) as error:
        if output.left:
            sys.exit(0)
        if output.problem is None or isinstance(error, SystemExit):
            raise
    finally:
        _flush(stream)
        if output.problem is not None:
            _fail(output.problem)


def _flush(stream: io.TextIOWrapper) -> None:
    """Flush before Python exits, while an error can still be reported."""
    try:
        stream.flush()
    except BrokenPipeError:
        # Whoever read it has seen enough; what is left in the buffer has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except OSError:
        pass  # it is kept as the problem


def _fail(problem: OSError) -> None:
    why = problem.strerror or type(problem).__name__
    print(f"{program()}: cannot write to stdout: {why}", file=sys.stderr)
    sys.exit(1)


def print_json(value: object) -> None:
    import msgspec

    print(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def has_screen() -> bool:
    """Whether a browser that is started here can be seen."""
    if "SSH_CONNECTION" in os.environ:
        return False
    graphical = "DISPLAY" in os.environ or "WAYLAND_DISPLAY" in os.environ
    return graphical or sys.platform in ("darwin", "win32")


def open_privately(link: str, name: str) -> bool:
    """Open a link by way of a private file: a command line can be read by every user."""
    import webbrowser
    from html import escape

    from clawkit.settings import settings
    from clawkit.system.files import make_private, write_whole

    page = settings().data / name
    make_private(page.parent)
    write_whole(page, _FORWARD.format(escape(link)).encode())
    return webbrowser.open(page.as_uri())


_FORWARD = '<!doctype html><meta http-equiv="refresh" content="0; url={}"><title>claw</title>\n'
