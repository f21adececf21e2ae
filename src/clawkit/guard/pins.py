"""Pins what each server offers (trust on first use); changes are quarantined until accepted.

Tools, prompts, resources and their templates, and the instructions for the model. One file a
server. Proxies and the command line share them: who changes one holds the lock, and everybody looks
whether the file is still the one that was read.
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
from typing import Any, NamedTuple

import msgspec

from clawkit.errors import PinError
from clawkit.guard.policy.paths import normal, slashed
from clawkit.guard.policy.spellings import every_stage
from clawkit.settings import is_there
from clawkit.system.files import json_files, make_private, write_whole
from clawkit.system.locks import locked
from clawkit.text.normalization import plain, visible

Definition = dict[str, Any]
_Stamp = tuple[int, int, int]
_Others = Callable[[str], Iterable[tuple[str, str]]]
_LOCK = "pins.lock"
_PATIENCE = 5.0
"""Seconds for others who hold the lock; without it, nothing passes that has to be looked up."""
_MOMENT = 1.0
_BRACES = re.compile(r"\{[^{}]*\}")
_FILLED = "qvz-filled-qvz"


class Kind(NamedTuple):
    """A kind of thing that servers offer: what it is called, and how one is told from another."""

    noun: str
    section: str
    """Its place in the file."""
    member: str
    """Its place in the result of a list."""
    key: str
    """The member of a definition that names it."""
    poses: bool = False
    """Whether names that look alike are one name to a reader."""
    shared: bool = False
    """Whether the names of all servers stand side by side."""
    changing: tuple[str, ...] = ()
    """Members that may change without a person's word."""
    most: int = 0
    """How many are pinned at most, where servers may list any number; 0 is all."""


TOOLS = Kind("tool", "tools", "tools", "name", poses=True, shared=True)
PROMPTS = Kind("prompt", "prompts", "prompts", "name", poses=True)
TEMPLATES = Kind("template", "templates", "resourceTemplates", "uriTemplate")
RESOURCES = Kind(
    "resource", "resources", "resources", "uri", changing=("size", "annotations"), most=1000
)
INSTRUCTIONS = Kind("instructions", "instructions", "", "method")
KINDS = (TOOLS, PROMPTS, TEMPLATES, RESOURCES, INSTRUCTIONS)

LISTS = {
    "tools/list": TOOLS,
    "prompts/list": PROMPTS,
    "resources/templates/list": TEMPLATES,
    "resources/list": RESOURCES,
}


def label(kind: Kind, name: str) -> str:
    """What people call it: a tool by its name, the rest with what it is."""
    return name if kind is TOOLS else f"{kind.noun}:{name}"


class CheckedList(msgspec.Struct, frozen=True):
    """A list after the check: kept, quarantined (and why), new, and suspected of poisoning."""

    kept: list[Definition]
    quarantined: tuple[tuple[str, str], ...] = ()
    new: tuple[str, ...] = ()
    suspect: tuple[tuple[str, tuple[str, ...]], ...] = ()


class Pin(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A definition as it was accepted, and as it waits for a person, if it does."""

    accepted: Definition | None = None
    pending: Definition | None = None
    reason: str = ""
    reviewed: bool = False
    """Whether a person has looked at what was accepted."""


class Pinned(msgspec.Struct, frozen=True):
    """A server in short: what it offers, and what of it is in quarantine or steers the model."""

    server: str
    tools: int
    quarantined: tuple[str, ...] = ()
    prompts: int = 0
    templates: int = 0
    resources: int = 0
    suspect: tuple[str, ...] = ()


_Section = dict[str, Pin]


class _Document(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The file. A section that is missing was never listed; earlier files have tools only."""

    server: str
    tools: _Section | None = None
    prompts: _Section | None = None
    templates: _Section | None = None
    resources: _Section | None = None
    instructions: _Section | None = None

    def section(self, kind: Kind) -> _Section | None:
        return getattr(self, kind.section)


class _KindPins:
    """The pins of one kind as they were read, and what is looked up in them."""

    def __init__(self, kind: Kind, pins: _Section) -> None:
        self.kind = kind
        self.pins = pins

    @cached_property
    def accepted(self) -> dict[str, str]:
        definitions = ((name, pin.accepted) for name, pin in self.pins.items())
        return {n: compared(self.kind, found) for n, found in definitions if found is not None}

    @cached_property
    def reasons(self) -> dict[str, str]:
        """Why something is refused, by each name that may be taken for its own."""
        waiting = [(name, pin.reason) for name, pin in self.pins.items() if pin.pending]
        return {taken: reason for name, reason in waiting for taken in self._taken_for(name)}

    @cached_property
    def templates(self) -> dict[tuple[str, ...], str]:
        """Why a template is refused, by what stands between its braces."""
        waiting = [
            (_BRACES.sub(_FILLED, t), pin.reason) for t, pin in self.pins.items() if pin.pending
        ]
        return {tuple(a.split(_FILLED)): reason for t, reason in waiting for a in _addresses(t)}

    def _taken_for(self, name: str) -> frozenset[str]:
        return _addresses(name) if self.kind is RESOURCES else frozenset((_taken(name),))

    def refusal(self, name: str) -> str | None:
        pin = self.pins.get(name)
        if pin is not None:
            return pin.reason if pin.pending else None
        if not self.reasons:
            return None
        if self.kind is not TEMPLATES:
            found = (self.reasons.get(taken) for taken in self._taken_for(name))
            return next((reason for reason in found if reason is not None), None)
        return next(
            (
                reason
                for address in _addresses(name)
                for parts, reason in self.templates.items()
                if _covers(parts, address)
            ),
            None,
        )


class _ServerPins:
    """The pins of one server as they were read."""

    def __init__(self, document: _Document) -> None:
        self.document = document
        self._sections: dict[Kind, _KindPins] = {}

    def __getitem__(self, kind: Kind) -> _KindPins:
        if kind not in self._sections:
            self._sections[kind] = _KindPins(kind, self.document.section(kind) or {})
        return self._sections[kind]


class Pins:
    """The pins of one server. Every method raises PinError if they cannot be read."""

    def __init__(self, directory: Path, server: str) -> None:
        self.server = server
        self._directory = directory
        self._file = pin_file(directory, server)
        self._read: tuple[_Stamp, _ServerPins] | None = None
        self._looked = 0.0
        self._first_listings: set[Kind] = set()

    def check_list(
        self,
        listed: list[Definition],
        first_page: bool = True,
        kind: Kind = TOOLS,
        *,
        looks: bool = True,
        blocks: bool = False,
    ) -> CheckedList:
        """Compare one page of a list with the pins, and pin what is new.

        With `looks`, poisoned definitions are reported; with `blocks`, quarantined as well.
        """
        self._looked = 0.0
        current = self._current()
        # All pages of the first list are first sight.
        is_first = current is None or current.document.section(kind) is None
        if is_first:
            self._first_listings.add(kind)
        elif first_page:
            self._first_listings.discard(kind)
        scan = _ScanMode(looks, blocks)
        check = self._checked(current, listed, kind, scan)
        if check.changes or is_first:
            with self._changing() as current:
                check = self._checked(current, listed, kind, scan)
                before = _Document(self.server) if current is None else current.document
                changed = {**(before.section(kind) or {}), **check.changes}
                self._write(msgspec.structs.replace(before, **{kind.section: changed}))
        return CheckedList(
            check.kept, tuple(check.quarantined), tuple(check.new), tuple(check.suspect)
        )

    def quarantined(self, name: str, kind: Kind = TOOLS) -> str | None:
        """Why a tool, or something of another kind, is refused, if it is.

        That it is free is believed for a moment; that it is not, never.
        """
        now = time.monotonic()
        if now - self._looked < _MOMENT and self._free(name, kind):
            return None
        current = self._current()
        self._looked = now
        return None if current is None else current[kind].refusal(name)

    def _free(self, name: str, kind: Kind) -> bool:
        return self._read is None or self._read[1][kind].refusal(name) is None

    def accepted(self, name: str, kind: Kind) -> Definition | None:
        """A definition as it was accepted, if it was."""
        current = self._current()
        pin = None if current is None else current[kind].pins.get(name)
        return None if pin is None else pin.accepted

    def digest(self, tool: str) -> str:
        """The SHA-256 of the accepted definition, in hexadecimal; empty if there is none."""
        current = self._current()
        definition = None if current is None else current[TOOLS].accepted.get(tool)
        return "" if definition is None else hashlib.sha256(definition.encode()).hexdigest()

    def tools(self) -> dict[str, Pin]:
        """Every tool of the server; raises PinError if the server was never seen."""
        return self._known()[TOOLS].pins

    def everything(self) -> list[tuple[Kind, str, Pin]]:
        """All that is pinned of the server; raises PinError if it was never seen."""
        current = self._known()
        return [(kind, name, pin) for kind in KINDS for name, pin in current[kind].pins.items()]

    def _known(self) -> _ServerPins:
        current = self._current()
        if current is None:
            raise PinError(f"no server named {self.server!r} is pinned; `claw pins` lists those")
        return current

    def accept(self, name: str, definition: Definition, kind: Kind = TOOLS) -> None:
        """Let a definition pass as it was shown to a person; not if it has changed again since."""
        self._known()
        with self._changing() as current:
            pin = None if current is None else current[kind].pins.get(name)
            shown = None if pin is None else pin.pending or pin.accepted
            if current is None or pin is None or shown is None or _is_settled(pin):
                raise PinError(f"nothing waits for {name!r} of {self.server!r} to be accepted")
            if canonical(shown) != canonical(definition):
                raise PinError(
                    f"{name!r} of {self.server!r} has just changed again; look once more"
                )
            changed = {**current[kind].pins, name: Pin(accepted=definition, reviewed=True)}
            self._write(msgspec.structs.replace(current.document, **{kind.section: changed}))

    def forget(self) -> bool:
        """Drop all that is known of a server, readable or not; its next list is its first."""
        if not is_there(self._file):
            return False
        with locked(self._directory / _LOCK, _PATIENCE):
            self._file.unlink(missing_ok=True)
        return True

    def _checked(
        self, current: _ServerPins | None, listed: list[Definition], kind: Kind, scan: _ScanMode
    ) -> _ListCheck:
        others = None if kind in self._first_listings else self._elsewhere
        known = _KindPins(kind, {}) if current is None else current[kind]
        check = _ListCheck(self.server, known, others, scan)
        check.take(listed)
        return check

    def _elsewhere(self, folded: str) -> Iterator[tuple[str, str]]:
        """The other servers that have a tool of this name, each with its definition."""
        for file in pin_files(self._directory):
            if file != self._file and (document := _read_document(file)) is not None:
                for name, definition in _ServerPins(document)[TOOLS].accepted.items():
                    if _taken(name) == folded:
                        yield document.server, definition

    def _current(self) -> _ServerPins | None:
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
            self._read = (stamp, _ServerPins(document))
        return self._read[1]

    @contextmanager
    def _changing(self) -> Generator[_ServerPins | None]:
        try:
            make_private(self._directory)
            with locked(self._directory / _LOCK, _PATIENCE):
                yield self._current()
        except OSError as error:
            raise PinError(f"{self._file}: cannot be written: {error}") from error

    def _write(self, document: _Document) -> None:
        write_whole(self._file, json.dumps(msgspec.to_builtins(document), indent=1).encode())


class _ScanMode(NamedTuple):
    """Whether definitions are scanned for tool poisoning, and quarantined for it."""

    looks: bool
    blocks: bool

    def at(self, definition: Definition) -> tuple[str, ...]:
        if not self.looks:
            return ()
        from clawkit.guard.scan.poisoning import suspicions

        return suspicions(definition)


class _ListCheck:
    """The check of one page of a list against the pins."""

    def __init__(
        self, server: str, known: _KindPins, others: _Others | None, scan: _ScanMode
    ) -> None:
        self.kept: list[Definition] = []
        self.quarantined: list[tuple[str, str]] = []
        self.new: list[str] = []
        self.suspect: list[tuple[str, tuple[str, ...]]] = []
        self.changes: dict[str, Pin] = {}
        self.listed: set[str] = set()
        self._server = server
        self._known = known
        self._kind = known.kind
        self._others = others
        self._scan = scan
        self._names = {_taken(name): name for name in known.pins} if self._kind.poses else {}

    def take(self, listed: list[Definition]) -> None:
        texts = [compared(self._kind, definition) for definition in listed]
        present = set(texts)
        unchanged = {n for n, text in self._known.accepted.items() if text in present}
        for definition, text in zip(listed, texts, strict=True):
            name = definition.get(self._kind.key)
            if not isinstance(name, str):
                self.quarantined.append(("", f"A {self._kind.noun} without a name."))
                continue
            changed = text != self._known.accepted.get(name)
            if name in self.listed or (name in unchanged and changed):
                reason = f"A second {self._kind.noun} of the same name in one list."
                self.quarantined.append((name, reason))
                continue
            self.listed.add(name)
            self._take(name, definition, text)

    def _take(self, name: str, definition: Definition, text: str) -> None:
        pin = self._known.pins.get(name)
        if pin is None:
            self._take_new(name, definition, text)
        elif self._was_accepted(name, text):
            if not self._steers(name, definition, pin):
                self.kept.append(definition)
                if pin.pending is not None:
                    self.changes[name] = Pin(accepted=definition, reviewed=pin.reviewed)
        else:
            reason = pin.reason or self._reason(name, "has changed since it was accepted")
            self._quarantine(name, reason, Pin(pin.accepted, definition, reason), pin)

    def _was_accepted(self, name: str, text: str) -> bool:
        accepted = self._known.accepted
        # Instructions are one text, whatever asks for them.
        same = accepted.values() if self._kind is INSTRUCTIONS else (accepted.get(name),)
        return text in same

    def _take_new(self, name: str, definition: Definition, text: str) -> None:
        what = self._imitation(name, text)
        if what:
            reason = self._reason(name, what)
            self._quarantine(name, reason, Pin(None, definition, reason), None)
        elif not self._steers(name, definition, None):
            self.kept.append(definition)
            if not self._kind.most or len(self._known.pins) + len(self.changes) < self._kind.most:
                self.changes[name] = Pin(accepted=definition)
            if self._others is not None and not self._kind.most:
                self.new.append(name)

    def _steers(self, name: str, definition: Definition, pin: Pin | None) -> bool:
        """Whether a definition is quarantined as poisoned; one that a person reviewed is not."""
        found = () if pin is not None and pin.reviewed else self._scan.at(definition)
        if found:
            self.suspect.append((name, found))
        if not found or not self._scan.blocks:
            return False
        reason = self._reason(name, f"tries to steer the model ({', '.join(found)})")
        accepted = None if pin is None else pin.accepted
        self._quarantine(name, reason, Pin(accepted, definition, reason), pin)
        return True

    def _imitation(self, name: str, text: str) -> str:
        """How something new is like something else that it must not be taken for."""
        if self._kind is INSTRUCTIONS:
            said = self._known.accepted.values()
            return "is another than before" if said and text not in said else ""
        folded = _taken(name)
        same = self._names.setdefault(folded, name) if self._kind.poses else name
        if same != name:
            return f"has a name that looks like that of {_quoted(same)}"
        rival = self._rival(folded, text)
        return f"has the name of another tool, of the server {_quoted(rival)}" if rival else ""

    def _rival(self, folded: str, text: str) -> str | None:
        """Another server whose tool of this name is another one; not looked for at first sight."""
        named = self._others(folded) if self._others is not None and self._kind.shared else ()
        return next((server for server, definition in named if definition != text), None)

    def _quarantine(self, name: str, reason: str, pin: Pin, before: Pin | None) -> None:
        self.quarantined.append((name, reason))
        if before is None or _differ(before.pending, pin.pending):
            self.changes[name] = pin

    def _reason(self, name: str, what: str) -> str:
        called = _quoted(label(self._kind, name))
        subject = f"The {self._kind.noun} {_quoted(name)}"
        if self._kind is INSTRUCTIONS:
            subject = "The server's text of instructions"
        return (
            f"{subject} {what}. "
            "It is in quarantine until a person has looked at it: "
            f"`claw pins accept {_quoted(self._server)} {called}`."
        )


def _differ(one: Definition | None, other: Definition | None) -> bool:
    """Whether two definitions differ as JSON: to `!=`, 1 and true are the same."""
    return one is None or other is None or canonical(one) != canonical(other)


def _is_settled(pin: Pin) -> bool:
    """Whether there is nothing that a person could still look at."""
    if pin.pending is not None or pin.accepted is None:
        return pin.pending is None
    return pin.reviewed or not suspicions_of(pin)


def suspicions_of(pin: Pin) -> tuple[str, ...]:
    """What steers the model in a definition that passes and that no person has looked at."""
    if pin.reviewed or pin.accepted is None:
        return ()
    from clawkit.guard.scan.poisoning import suspicions

    return suspicions(pin.accepted)


def _taken(name: str) -> str:
    """A name as a reader takes it: what differs by white space only looks the same."""
    return " ".join(plain(name).split())


def _addresses(uri: str) -> frozenset[str]:
    """An address in every spelling that a server may take for the same one."""
    whole = dict.fromkeys((uri, uri.partition("#")[0]))
    stages = {_taken(stage) for text in whole for stage in every_stage(text)}
    return frozenset(form for stage in stages for form in _without_detours(stage))


def _without_detours(uri: str) -> Iterator[str]:
    """An address as it stands, and without dots; what follows `//` is a host or a folder."""
    yield uri
    scheme, mark, rest = uri.partition("://")
    if mark:
        rest = slashed(rest)
        host, slash, path = rest.partition("/")
        yield f"{scheme}://{normal(rest)}"
        yield f"{scheme}://{host}{normal(slash + path)}"


def _covers(template: tuple[str, ...], uri: str) -> bool:
    """Whether an address has the parts of a URI template, whatever stands between them."""
    first, *rest = template
    if not rest:
        return uri == first
    if not uri.startswith(first) or not uri[len(first) :].endswith(rest[-1]):
        return False
    at, end = len(first), len(uri) - len(rest[-1])
    for part in rest[:-1]:
        found = uri.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True


def compared(kind: Kind, definition: Definition) -> str:
    """A definition as the text that is compared, without what may change."""
    left_out = (*kind.changing, "method") if kind is INSTRUCTIONS else kind.changing
    if not left_out:
        return canonical(definition)
    return canonical({k: v for k, v in definition.items() if k not in left_out})


def canonical(definition: Definition) -> str:
    """A definition as the text that is compared: all of it, whatever the order of its members."""
    return json.dumps(definition, sort_keys=True, separators=(",", ":"))


def pin_file(directory: Path, server: str) -> Path:
    """Where the pins of a server are: a readable name, and what keeps it apart from others."""
    slug = re.sub(r"[^a-z0-9]+", "-", server.lower()).strip("-")[:40] or "server"
    digest = hashlib.sha256(server.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return directory / f"{slug}-{digest}.json"


def pin_files(directory: Path) -> list[Path]:
    """The files of all servers that have pins; PinError where nobody may look for them."""
    try:
        return json_files(directory)
    except OSError as error:
        raise PinError(f"{directory}: cannot be read: {error.strerror}") from error


def pinned_servers(directory: Path) -> tuple[Pinned, ...]:
    """All servers that have pins, by name."""
    documents = [_read_document(file) for file in pin_files(directory)]
    found = sorted((d for d in documents if d), key=lambda document: document.server)
    return tuple(map(_summary, found))


def _summary(document: _Document) -> Pinned:
    everything = [
        (label(kind, name), pin)
        for kind in KINDS
        for name, pin in (document.section(kind) or {}).items()
    ]
    return Pinned(
        document.server,
        tools=len(document.tools or {}),
        quarantined=tuple(name for name, pin in everything if pin.pending),
        prompts=len(document.prompts or {}),
        templates=len(document.templates or {}),
        resources=len(document.resources or {}),
        suspect=tuple(name for name, pin in everything if not pin.pending and suspicions_of(pin)),
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
