"""Where the Beings of a store are served on this machine, and the address of one of them."""

from __future__ import annotations

import os
import re
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from clawkit.errors import UNREADABLE_JSON
from clawkit.settings import settings
from clawkit.system.addresses import trusted
from clawkit.system.files import make_private, write_whole
from clawkit.system.locks import try_lock

if TYPE_CHECKING:
    from clawkit.memory.records import Being

PORT = 8765
"""Where Beings are served, unless another port is named."""

_PATIENCE = 2.0
_PLAIN = re.compile(r"[A-Za-z0-9_~-][A-Za-z0-9._~-]*")


def address_for(url: str, being: Being) -> str:
    """By its name where that can stand in an address as it is, else by its id."""
    return f"{url}/{being.name if _PLAIN.fullmatch(being.name) else being.id}"


class ServedAddress(msgspec.Struct, frozen=True):
    """A running server: its store, the address that clients use, and one that answers here."""

    store: str
    url: str
    local: str


@contextmanager
def noted(address: ServedAddress) -> Generator[None]:
    """Known to others while it is served."""
    file = _folder() / f"{os.getpid()}.json"
    with ExitStack() as until_end:
        with suppress(OSError):  # it serves without being known, too
            make_private(file.parent)
            if until_end.enter_context(_held(file)):
                until_end.callback(_forget, file)
                write_whole(file, msgspec.json.encode(address))
        yield


def served_url(store: str) -> str:
    """The address of a server that answers for this store now; empty if none does."""
    for file in sorted(_folder().glob("*.json")):
        with suppress(OSError, *UNREADABLE_JSON):
            found = msgspec.json.decode(file.read_bytes(), type=ServedAddress)
            if found.store == store and _is_alive(file) and _answers(found.local):
                return found.url
    return ""


@contextmanager
def _held(note: Path) -> Generator[bool]:
    """Whether the lock beside a note is ours, for as long as that is asked.

    It ends with the process, however that ends. Its port may be another program's then.
    """
    with note.with_suffix(".lock").open("ab") as file:
        yield try_lock(file.fileno())


def _is_alive(note: Path) -> bool:
    """Whether the process that wrote a note still runs; a killed one left it."""
    if not note.with_suffix(".lock").exists():
        return False
    with _held(note) as ours:
        return not ours


def _forget(note: Path) -> None:
    with suppress(OSError):
        note.unlink(missing_ok=True)
        note.with_suffix(".lock").unlink(missing_ok=True)


def _folder() -> Path:
    return settings().data / "serving"


def _answers(url: str) -> bool:
    import httpx2

    try:
        place = f"{url.removesuffix('/mcp')}/healthz"
        health = httpx2.get(place, timeout=_PATIENCE, verify=trusted(url))
    except httpx2.HTTPError:
        return False
    return health.status_code in (200, 503)
