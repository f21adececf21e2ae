"""Opens the store and Being a command means: options, errors, progress, missing vectors."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clawkit.assistant.config import Config, read_config
from clawkit.memory.being_store import BeingStore
from clawkit.memory.embed import DEFAULT
from clawkit.store import default_address, embedded_file
from clawkit.text.normalization import visible

if TYPE_CHECKING:
    from clawkit.memory.embed import Embedder
    from clawkit.memory.records import Being
    from clawkit.store.arrays import Floats

_EMBEDDING_KEY = "OPENAI_API_KEY"

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
BeingArgument = Annotated[str, typer.Argument(metavar="BEING", help="Its name or id.")]
BeingOption = Annotated[
    str,
    typer.Option(
        "--being", metavar="BEING", help="Another Being than your own, by name, id or address."
    ),
]


def is_address(being: str) -> bool:
    """Whether a Being is named by where it is served."""
    return being.startswith(("http://", "https://"))


class MemoryPlace:
    """Where memories are: what was said on the command line, in the environment, in the config."""

    def __init__(self, address: str = "", embedder: str = "") -> None:
        self._address = address
        self._embedder = embedder

    @cached_property
    def config(self) -> Config:
        return read_config()

    @property
    def address(self) -> str:
        return self._address or self.config.memory.store or default_address()

    @property
    def embedder(self) -> str:
        return self._embedder or self.config.memory.embedder or DEFAULT

    @property
    def remote(self) -> str:
        """The address of the Being elsewhere that the assistant uses, if the config names one."""
        return "" if self._address else self.config.memory.url

    def address_of(self, being: str) -> str:
        """Where the Being that is meant is served; empty if it is in a store of this machine."""
        if is_address(being):
            return being
        return "" if being else self.remote

    @property
    def file(self) -> Path | None:
        """The file of an embedded store."""
        return embedded_file(self.address)

    def is_begun(self) -> bool:
        """Whether there is a store; a database server is asked when it is opened."""
        return self.file is None or os.path.lexists(self.file)

    def open(self) -> BeingStore:
        from clawkit.store import open_store

        name = self.embedder
        key = self._embedding_key() if name.startswith(("text-embedding", "openai:")) else ""
        return BeingStore(open_store(self.address), name, embedding_key=key)

    def _embedding_key(self) -> str:
        from clawkit.assistant.api_keys import Keys

        found = Keys(self.config).find(_EMBEDDING_KEY)
        return found.value if found else ""

    def own(self, store: BeingStore, called: str = "") -> Being:
        """The Being that is called so; without a name, the person's own."""
        called = called or ("" if self._address else self.config.memory.being)
        return store.find(called) if called else store.default()


@contextmanager
def opened(place: MemoryPlace) -> Generator[BeingStore]:
    """The Beings of a store, for one command."""
    with closing(place.open()) as store:
        yield store


class ProgressLine:
    """One line on a terminal that says how far a long work is; nothing anywhere else."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._shown = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._length = 0

    def __enter__(self) -> ProgressLine:
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
        print(visible(said))


_FEW = 200


class _Shown:
    """An embedder that says how far it is."""

    def __init__(self, embedder: Embedder, progress: ProgressLine, total: int) -> None:
        self.name = embedder.name
        self._embedder = embedder
        self._progress = progress
        self._total = total
        self._done = 0

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions

    def embed(self, texts: Sequence[str]) -> Floats:
        self._progress.show(self._done, self._total)
        vectors = self._embedder.embed(texts)
        self._done += len(texts)
        self._progress.show(self._done, self._total)
        return vectors


def make_vectors(store: BeingStore, being: Being) -> int:
    """Give the memories of a Being the vectors that they lack; gives how many were made.

    An embedder that does not answer is no error: memories are found by their words meanwhile, and
    the next search asks for the vectors again.
    """
    from clawkit.errors import ModelError
    from clawkit.memory.patrol.vectors import catch_up
    from clawkit.memory.store import nodes

    embedder = store.embedder
    if embedder is None:
        return 0
    with store.database.read(being.n) as unit:
        total = nodes.top(unit) - unit.vectors.counts().get(embedder.name, 0)
    try:
        with ProgressLine("Making vectors") as progress:
            return catch_up(store.database, being.n, _Shown(embedder, progress, total))
    except ModelError as error:
        print(f"claw: no vectors for now: {visible(str(error))}", file=sys.stderr)
        return 0


def make_few_vectors(store: BeingStore, being: Being) -> None:
    """Before a search: the vectors that a few memories lack, so that all are found by meaning.

    One memory without a vector would let the whole search go by words. A Being whose vectors are
    of another model is left alone: to change the model is a decision, not a side effect.
    """
    embedder = store.embedder
    if embedder is None:
        return
    with store.database.read(being.n) as unit:
        ours = unit.vectors.counts()
        missing = len(unit.vectors.missing(embedder.name, _FEW + 1))
    if 0 < missing <= _FEW and (embedder.name in ours or not ours):
        make_vectors(store, being)


def say_missing(store: BeingStore, being: Being, kind: str) -> None:
    """Say why a search went by words alone, if it need not have."""
    if kind != "keyword" or store.embedder is None:
        return
    with store.database.read(being.n) as unit:
        missing = bool(unit.vectors.missing(store.embedder.name, 1))
    if missing:
        note = "searched by words alone, as vectors are missing: `claw memory tidy` makes them"
        print(f"claw: {note}", file=sys.stderr)
