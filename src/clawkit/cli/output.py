"""Standard output of commands: JSON, text that is safe to show, a full disk in one line."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

import typer

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class _Output(io.FileIO):
    """Standard output, which fails once: what comes after that has nowhere to go."""

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
    """Now, and not when Python ends: then it is too late to say anything."""
    try:
        stream.flush()
    except BrokenPipeError:
        # Whoever read it has seen enough; what is left in the buffer has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except OSError:
        pass  # it is kept as the problem


def _fail(problem: OSError) -> None:
    from clawkit.cli.mcp_server import program

    why = problem.strerror or type(problem).__name__
    print(f"{program()}: cannot write to stdout: {why}", file=sys.stderr)
    sys.exit(1)


class ExitOnError:
    """An error on purpose ends the command with a line, not with a traceback."""

    def __init__(self, verb: str) -> None:
        self._verb = verb

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        from clawkit.errors import ClawError

        if isinstance(error, ClawError):
            for line in str(error).split("\n"):
                print(f"claw {self._verb}: {shown(line)}", file=sys.stderr)
            raise typer.Exit(1 + error.is_usage) from None


def print_json(value: object) -> None:
    import msgspec

    print(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def shown(text: str) -> str:
    from clawkit.text.normalization import visible

    return visible(text)
