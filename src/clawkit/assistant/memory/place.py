"""Where this person's memories are, as the command line, the environment and the config say."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing, contextmanager
from functools import cached_property
from pathlib import Path

from clawkit.assistant.config import Config, read_config
from clawkit.memory.being_store import BeingStore
from clawkit.memory.embed.embedder import DEFAULT
from clawkit.memory.records import Being
from clawkit.store import default_address, embedded_file, open_store

_EMBEDDING_KEY = "OPENAI_API_KEY"


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
        """Whether there is a store; a database server is asked when it is opened.

        A file out of reach is no store to begin: opening it says why it cannot be reached.
        """
        if self.file is None:
            return True
        try:
            self.file.lstat()
        except FileNotFoundError:
            return False
        except OSError:
            pass
        return True

    def open(self) -> BeingStore:
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
    """The Beings of a store, for one command or request."""
    with closing(place.open()) as store:
        yield store
