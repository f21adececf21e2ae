"""The tools of each server as they were first seen; a tool that changes is kept away until a
person has looked at it.

One file a server. Proxies and the command line share them: who changes one holds the lock, and
everybody looks whether the file is still the one that was read.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from clawkit.errors import PinError
from clawkit.guard.scan.folding import plain
from clawkit.guard.scan.hidden import visible
from clawkit.hosts.locks import locked

Tool = dict[str, Any]
_Stamp = tuple[int, int, int]
_Others = Callable[[str], Iterable[tuple[str, str]]]
_LOCK = "pins.lock"
_MOMENT = 1.0


class Sifted(msgspec.Struct, frozen=True):
    """What is left of a list of tools; what was kept away, and why; what was never seen before."""

    kept: list[Tool]
    quarantined: tuple[tuple[str, str], ...] = ()
    new: tuple[str, ...] = ()


class Pin(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A tool as it was accepted, and as it waits for a person, if it does."""

    accepted: Tool | None = None
    pending: Tool | None = None
    reason: str = ""


class Pinned(msgspec.Struct, frozen=True):
    """A server in short: how many tools it has, and the names of those in quarantine."""

    server: str
    tools: int
    quarantined: tuple[str, ...] = ()


class _Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    server: str
    tools: dict[str, Pin]


class _Book:
    """The pins of one server as they were read, and what is looked up in them."""

    def __init__(self, tools: dict[str, Pin]) -> None:
        self.tools = tools

    @cached_property
    def accepted(self) -> dict[str, str]:
        definitions = ((name, pin.accepted) for name, pin in self.tools.items())
        return {name: canonical(tool) for name, tool in definitions if tool is not None}

    @cached_property
    def reasons(self) -> dict[str, str]:
        """By the folded name, why calls of a tool are refused."""
        return {plain(name): pin.reason for name, pin in self.tools.items() if pin.pending}

    def refusal(self, tool: str) -> str | None:
        pin = self.tools.get(tool)
        if pin is not None:
            return pin.reason if pin.pending else None
        return self.reasons.get(plain(tool)) if self.reasons else None


class Pins:
    """The pins of one server. Every method raises PinError if they cannot be read."""

    def __init__(self, directory: Path, server: str) -> None:
        self.server = server
        self._directory = directory
        self._file = pin_file(directory, server)
        self._read: tuple[_Stamp, _Book] | None = None
        self._looked = 0.0
        self._is_first_listing = False

    def sift(self, tools: list[Tool], first_page: bool = True) -> Sifted:
        """Compare one page of a list of tools with the pins, and pin what is new."""
        self._looked = 0.0
        book = self._book()
        # All pages of the first list are first sight.
        self._is_first_listing = book is None or (self._is_first_listing and not first_page)
        sifting = self._sift(book, tools)
        if sifting.changes or book is None:
            with self._changing() as current:
                sifting = self._sift(current, tools)
                self._write({**(current.tools if current else {}), **sifting.changes})
        return Sifted(sifting.kept, tuple(sifting.quarantined), tuple(sifting.new))

    def quarantined(self, tool: str) -> str | None:
        """Why calls of this tool are refused, if they are.

        That a tool is free is believed for a moment; that it is not, never.
        """
        now = time.monotonic()
        if now - self._looked < _MOMENT and self._free(tool):
            return None
        book = self._book()
        self._looked = now
        return None if book is None else book.refusal(tool)

    def _free(self, tool: str) -> bool:
        return self._read is None or self._read[1].refusal(tool) is None

    def digest(self, tool: str) -> str:
        """The SHA-256 of the accepted definition, in hexadecimal; empty if there is none."""
        book = self._book()
        definition = None if book is None else book.accepted.get(tool)
        return "" if definition is None else hashlib.sha256(definition.encode()).hexdigest()

    def tools(self) -> dict[str, Pin]:
        """Every tool of the server; raises PinError if the server was never seen."""
        book = self._book()
        if book is None:
            raise PinError(f"no server named {self.server!r} is pinned; `claw pins` lists those")
        return book.tools

    def accept(self, tool: str, definition: Tool) -> None:
        """Let a tool pass as it was shown to a person; not if it has changed again since."""
        self.tools()
        with self._changing() as current:
            pin = None if current is None else current.tools.get(tool)
            if current is None or pin is None or pin.pending is None:
                raise PinError(f"nothing waits for {tool!r} of {self.server!r} to be accepted")
            if canonical(pin.pending) != canonical(definition):
                raise PinError(
                    f"{tool!r} of {self.server!r} has just changed again; look once more"
                )
            self._write({**current.tools, tool: Pin(accepted=definition)})

    def forget(self) -> bool:
        """Drop all that is known of a server, readable or not; its next list is its first."""
        if not self._file.exists():
            return False
        with locked(self._directory / _LOCK):
            self._file.unlink(missing_ok=True)
        return True

    def _sift(self, book: _Book | None, tools: list[Tool]) -> _Sifting:
        others = None if self._is_first_listing else self._elsewhere
        sifting = _Sifting(self.server, book or _Book({}), others)
        sifting.take(tools)
        return sifting

    def _elsewhere(self, folded: str) -> Iterator[tuple[str, str]]:
        """The other servers that have a tool of this name, each with its definition."""
        for file in sorted(self._directory.glob("*.json")):
            if file != self._file and (document := _read_document(file)) is not None:
                for name, definition in _Book(document.tools).accepted.items():
                    if plain(name) == folded:
                        yield document.server, definition

    def _book(self) -> _Book | None:
        """What the file says now; None if there is no file."""
        try:
            status = self._file.stat()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise PinError(_unusable(self._file, str(error), self.server)) from error
        stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
        if self._read is None or self._read[0] != stamp:
            document = _read_document(self._file)
            if document is None:
                return None
            if document.server != self.server:
                problem = f"it is about the server {document.server!r}"
                raise PinError(_unusable(self._file, problem, self.server))
            self._read = (stamp, _Book(document.tools))
        return self._read[1]

    @contextmanager
    def _changing(self) -> Generator[_Book | None]:
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            with locked(self._directory / _LOCK):
                yield self._book()
        except OSError as error:
            raise PinError(f"{self._file}: cannot be written: {error}") from error

    def _write(self, tools: dict[str, Pin]) -> None:
        """Write beside and rename, so that nobody ever reads half a file."""
        document = msgspec.to_builtins(_Document(self.server, tools))
        beside = self._file.with_suffix(".new")
        beside.unlink(missing_ok=True)
        beside.touch(0o600, exist_ok=False)
        beside.write_text(json.dumps(document, indent=1))
        beside.replace(self._file)


class _Sifting:
    """One page of a list on its way past the pins."""

    def __init__(self, server: str, book: _Book, others: _Others | None) -> None:
        self.kept: list[Tool] = []
        self.quarantined: list[tuple[str, str]] = []
        self.new: list[str] = []
        self.changes: dict[str, Pin] = {}
        self.listed: set[str] = set()
        self._server = server
        self._book = book
        self._others = others
        self._names = {plain(name): name for name in book.tools}

    def take(self, tools: list[Tool]) -> None:
        texts = [canonical(tool) for tool in tools]
        present = set(texts)
        unchanged = {n for n, text in self._book.accepted.items() if text in present}
        for tool, text in zip(tools, texts, strict=True):
            name = tool.get("name")
            if not isinstance(name, str):
                self.quarantined.append(("", "A tool without a name."))
                continue
            changed = text != self._book.accepted.get(name)
            if name in self.listed or (name in unchanged and changed):
                self.quarantined.append((name, "A second tool of the same name in one list."))
                continue
            self.listed.add(name)
            self._take(name, tool, text)

    def _take(self, name: str, tool: Tool, text: str) -> None:
        pin = self._book.tools.get(name)
        if pin is None:
            self._take_new(name, tool, text)
        elif text == self._book.accepted.get(name):
            self.kept.append(tool)
            if pin.pending is not None:
                self.changes[name] = Pin(accepted=tool)
        else:
            reason = pin.reason or self._reason(name, "has changed since it was accepted")
            self._quarantine(name, reason, Pin(pin.accepted, tool, reason), pin)

    def _take_new(self, name: str, tool: Tool, text: str) -> None:
        folded = plain(name)
        same = self._names.setdefault(folded, name)
        if same != name:
            what = f"has a name that looks like that of {_quoted(same)}"
        elif rival := self._rival(folded, text):
            what = f"has the name of another tool, of the server {_quoted(rival)}"
        else:
            self.kept.append(tool)
            self.changes[name] = Pin(accepted=tool)
            if self._others is not None:
                self.new.append(name)
            return
        reason = self._reason(name, what)
        self._quarantine(name, reason, Pin(None, tool, reason), None)

    def _rival(self, folded: str, text: str) -> str | None:
        """Another server whose tool of this name is another one; not looked for at first sight."""
        named = self._others(folded) if self._others is not None else ()
        return next((server for server, definition in named if definition != text), None)

    def _quarantine(self, name: str, reason: str, pin: Pin, before: Pin | None) -> None:
        self.quarantined.append((name, reason))
        if before is None or _differ(before.pending, pin.pending):
            self.changes[name] = pin

    def _reason(self, name: str, what: str) -> str:
        return (
            f"The tool {_quoted(name)} {what}. "
            "It is in quarantine until a person has looked at it: "
            f"`claw pins accept {_quoted(self._server)} {_quoted(name)}`."
        )


def _differ(one: Tool | None, other: Tool | None) -> bool:
    """Not by `!=`, to which 1 and true are the same."""
    return one is None or other is None or canonical(one) != canonical(other)


def canonical(tool: Tool) -> str:
    """A definition as the text that is compared: all of it, whatever the order of its members."""
    return json.dumps(tool, sort_keys=True, separators=(",", ":"))


def pin_file(directory: Path, server: str) -> Path:
    """Where the pins of a server are: a readable name, and what keeps it apart from others."""
    slug = re.sub(r"[^a-z0-9]+", "-", server.lower()).strip("-")[:40] or "server"
    digest = hashlib.sha256(server.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return directory / f"{slug}-{digest}.json"


def pinned_servers(directory: Path) -> tuple[Pinned, ...]:
    """All servers that have pins, by name."""
    documents = [_read_document(file) for file in sorted(directory.glob("*.json"))]
    return tuple(
        Pinned(
            document.server,
            len(document.tools),
            tuple(name for name, pin in document.tools.items() if pin.pending),
        )
        for document in sorted((d for d in documents if d), key=lambda found: found.server)
    )


def _read_document(file: Path) -> _Document | None:
    """The pins in a file; None if it has just been removed."""
    try:
        return msgspec.convert(json.loads(file.read_bytes()), _Document)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise PinError(_unusable(file, str(error))) from error


def _unusable(file: Path, problem: str, server: str = "") -> str:
    way_out = f"run `claw pins forget {_quoted(server)}`" if server else "delete it"
    return f"{file}: cannot be used: {problem}; repair it, or {way_out} to pin its server anew"


def _quoted(name: str) -> str:
    return f"'{visible(name, 80)}'"
