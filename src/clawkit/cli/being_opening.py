"""What commands about memory have in common: which store and Being is meant, how they end."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Generator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

if TYPE_CHECKING:
    from io import TextIOWrapper

    from clawkit.assistant.config import Config
    from clawkit.memory.keeper import Keeper
    from clawkit.memory.records import Being

_EMBEDDING_KEY = "OPENAI_API_KEY"
_INTERRUPTED = 130
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

StoreOption = Annotated[
    str,
    typer.Option(
        "--store",
        metavar="sqlite:PATH|postgresql://…",
        help="Where Beings are kept; CLAW_STORE, or the config, or the data directory, without.",
    ),
]
EmbedderOption = Annotated[
    str,
    typer.Option(
        "--embedder",
        metavar="NAME",
        help="What makes vectors of texts: use-multilingual-v3, the default, minilm-int8, "
        "text-embedding-3-small, openai:URL#MODEL; `none` for words only. CLAW_EMBEDDER or the "
        "config, without.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
BeingArgument = Annotated[
    str, typer.Argument(metavar="BEING", help="Its id, or its name if no other has it.")
]
BeingOption = Annotated[
    str,
    typer.Option("--being", metavar="BEING", help="Another Being than your own, by id or name."),
]


class Place:
    """Where memories are: what was said on the command line, in the environment, in the config."""

    def __init__(self, store: str = "", embedder: str = "") -> None:
        self._store = store
        self._embedder = embedder

    @cached_property
    def config(self) -> Config:
        from clawkit.assistant.config import read_config

        return read_config()

    @property
    def address(self) -> str:
        from clawkit.memory.store.opening import default_address

        return self._store or self.config.memory.store or default_address()

    @property
    def embedder(self) -> str:
        from clawkit.memory.embed.choosing import DEFAULT

        return self._embedder or self.config.memory.embedder or DEFAULT

    @property
    def remote(self) -> str:
        """The address of the Being elsewhere that the assistant uses, if the config names one."""
        return "" if self._store else self.config.memory.url

    def is_begun(self) -> bool:
        """Whether there is a store; a database server is asked when it is opened."""
        scheme, _, rest = self.address.partition(":")
        return scheme != "sqlite" or os.path.lexists(Path(rest.removeprefix("//")).expanduser())

    def open(self) -> Keeper:
        from clawkit.memory.keeper import Keeper
        from clawkit.memory.store.opening import open_store

        name = self.embedder
        key = self._embedding_key() if name.startswith(("text-embedding", "openai:")) else ""
        return Keeper(open_store(self.address), name, embedding_key=key)

    def _embedding_key(self) -> str:
        from clawkit.assistant.secrets import Keys

        found = Keys(self.config).find(_EMBEDDING_KEY)
        return found.value if found else ""

    def own(self, keeper: Keeper, called: str = "") -> Being:
        """The Being that is called so; without a name, the person's own."""
        called = called or ("" if self._store else self.config.memory.being)
        return keeper.find(called) if called else keeper.default()


@contextmanager
def reported(verb: str) -> Generator[None]:
    """Errors on purpose, Ctrl-C and a reader that went away end a command without a traceback."""
    from clawkit.errors import ClawError

    # What is remembered is what somebody wrote, and not every terminal can print it.
    cast("TextIOWrapper", sys.stdout).reconfigure(errors="backslashreplace")
    try:
        yield
        sys.stdout.flush()
    except ClawError as error:
        from clawkit.cli.rows import shown

        for line in _in_options(str(error)).split("\n"):
            print(f"claw {verb}: {shown(line)}", file=sys.stderr)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        print(f"claw {verb}: interrupted", file=sys.stderr)
        raise typer.Exit(_INTERRUPTED) from None
    except BrokenPipeError:
        # Whoever read it has seen enough; what is left in the buffer has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None


def _in_options(problem: str) -> str:
    """What is wrong with an argument of a tool, said of the option that a person gave."""
    field, colon, rest = problem.partition(": ")
    option = _OPTIONS.get(re.sub(r"\[\d+\]", "", field))
    return f"{option}{colon}{rest}" if colon and option else problem


@contextmanager
def opened(verb: str, place: Place) -> Generator[Keeper]:
    """The Beings of a store, for one command."""
    with reported(verb):
        keeper = place.open()
        try:
            yield keeper
        finally:
            keeper.close()


def fail(verb: str, problem: str, code: int = 1) -> typer.Exit:
    """Say what is wrong; the caller raises what this gives."""
    print(f"claw {verb}: {problem}", file=sys.stderr)
    return typer.Exit(code)


class Progress:
    """One line on a terminal that says how far a long work is; nothing anywhere else."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._shown = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._length = 0

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._length:
            print(f"\r{' ' * self._length}\r", end="", file=sys.stderr, flush=True)

    def show(self, done: int, total: int) -> None:
        self._put(f"{self._what}: {done:,} of {total:,}")

    def begin(self) -> None:
        """Say only that it goes on: nobody knows how much there is to do."""
        self._put(f"{self._what} …")

    def _put(self, line: str) -> None:
        if not self._shown:
            return
        print(f"\r{line:<{self._length}}", end="", file=sys.stderr, flush=True)
        self._length = len(line)


def say_removed(said: str) -> None:
    """Tell the person which secrets were left out of what is kept, if any were."""
    if said:
        from clawkit.cli.rows import shown

        print(shown(said))
