"""The options of commands about memory, their progress, and missing vectors."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from clawkit.errors import ModelError
from clawkit.text.normalization import visible

if TYPE_CHECKING:
    from clawkit.memory.being_store import BeingStore
    from clawkit.memory.embed.embedder import Embedder
    from clawkit.memory.records import Being
    from clawkit.store.arrays import Floats

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

    def begin(self) -> ProgressLine:
        """Say only that it goes on: nobody knows how much there is to do."""
        self._put(f"{self._what} …")
        return self

    def _put(self, line: str) -> None:
        if not self._shown:
            return
        print(f"\r{line:<{self._length}}", end="", file=sys.stderr, flush=True)
        self._length = len(line)


def say_removed(said: str) -> None:
    """Tell the person which secrets were left out of what is kept, if any were."""
    if said:
        print(visible(said))


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
    """Makes the missing vectors before a search, if only a few memories lack them."""
    from clawkit.memory.statistics import lacks_few_vectors

    if store.embedder is not None and lacks_few_vectors(store.database, being, store.embedder.name):
        make_vectors(store, being)


def missing_vectors(store: BeingStore, being: Being, kind: str) -> str:
    """Why a search went by words alone, if it need not have."""
    if kind != "keyword" or store.embedder is None:
        return ""
    with store.database.read(being.n) as unit:
        missing = bool(unit.vectors.missing(store.embedder.name, 1))
    note = "searched by words alone, as vectors are missing: `claw memory tidy` makes them"
    return note if missing else ""
