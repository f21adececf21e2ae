"""Adds servers of ours to clients' files and removes them; records exactly what was added."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, cast

import msgspec

from clawkit.errors import HostError
from clawkit.hosts.clients import (
    CLIENTS,
    ClientApp,
    Machine,
    project_files,
    this_machine,
    user_directory,
    user_files,
)
from clawkit.hosts.discovery import HostFile
from clawkit.hosts.documents.edits import (
    Added,
    Piece,
    add_entry,
    dialect_of,
    take_entry,
    take_pieces,
)
from clawkit.hosts.documents.nodes import data_at
from clawkit.hosts.entries import (
    Data,
    RemoteLaunch,
    StdioLaunch,
    is_guarded,
    launch_of,
    our_server,
    served_file,
)
from clawkit.hosts.guarded_entry import launcher
from clawkit.hosts.ledger import alone, write_records
from clawkit.hosts.wrap import ATTEMPTS, SHARED, back_up, now
from clawkit.settings import settings
from clawkit.system.files import (
    FileChangedError,
    FileSnapshot,
    is_open_to_others,
    make_source,
    read_records,
    read_source,
    remove_source,
    replace_source,
)
from clawkit.tools.loader import split_target


class Installed(msgspec.Struct, frozen=True, omit_defaults=True):
    """One added entry: the pieces it consists of, and the hash of the file that has just them.

    `depth` of its keys were there before; `made` is what had to be made for it, the file itself
    or its directory, too.
    """

    client: str
    file: str
    keys: tuple[str, ...]
    pieces: tuple[Piece, ...]
    depth: int
    sha256: str
    time: str
    made: tuple[str, ...] = ()

    @property
    def place(self) -> tuple[str, tuple[str, ...]]:
        return self.file, self.keys


def installed_file() -> Path:
    return settings().data / "installed.json"


def records() -> tuple[Installed, ...]:
    advice = "Move it away: entries can be removed without it"
    return read_records(installed_file(), tuple[Installed, ...], advice)


def add_record(new: Installed) -> None:
    """Records an added entry, in place of an older record of it."""
    write_records(installed_file(), (*_others(new), new))


def remove_record(old: Installed) -> None:
    kept = _others(old)
    if len(kept) < len(records()):
        write_records(installed_file(), kept)


def _others(one: Installed) -> tuple[Installed, ...]:
    return tuple(other for other in records() if other.place != one.place)


Action = Literal["installed", "removed", "unchanged", "failed"]
State = Literal["installed", "not installed", "something else", "cannot be read", "no such client"]


class InstallOrder(msgspec.Struct, frozen=True):
    """What is to be installed: the server's name and command; in a project's files, if given.

    `about` is for clients that show a description. A server elsewhere has a `url` and a `token`
    instead of a command.
    """

    name: str
    argv: tuple[str, ...] = ()
    about: str = "Your assistant"
    project: Path | None = None
    machine: Machine | None = None
    dry_run: bool = False
    url: str = ""
    token: str = ""


def file_order(
    target: str, name: str = "", project: Path | None = None, *, dry_run: bool = False
) -> InstallOrder:
    """The order for the server of a Python file, which is called like the file."""
    path, server = split_target(target)
    place = ":".join(filter(None, (str(Path(path).absolute()), server)))
    usual = re.sub(r"\s+", "-", "-".join(filter(None, (Path(path).stem, server))))
    about = f"The tools of {Path(path).name}"
    argv = (*launcher("claw"), "serve", place)
    return InstallOrder(name or usual, argv, about, project, dry_run=dry_run)


def assistant_order(
    name: str = "", brand: str = "openclaw", project: Path | None = None, *, dry_run: bool = False
) -> InstallOrder:
    """The order for the assistant; the brand is the program that is started."""
    argv = (*launcher(brand), "mcp-server")
    return InstallOrder(name or brand, argv, project=project, dry_run=dry_run)


def memory_order(
    being: str, name: str, project: Path | None = None, *, dry_run: bool = False
) -> InstallOrder:
    argv = (*launcher("claw"), "being", "stdio", being)
    return InstallOrder(name, argv, project=project, dry_run=dry_run)


class InstallOutcome(msgspec.Struct, frozen=True):
    """What was, or would be, done for one client; `text` is what came or went."""

    client: str
    file: str
    action: Action
    text: str = ""
    line: int = 0
    note: str = ""


class Presence(msgspec.Struct, frozen=True):
    """How things stand for one client."""

    client: str
    title: str
    state: State
    file: str
    note: str = ""


def install(client: ClientApp, order: InstallOrder) -> InstallOutcome:
    """The entry in the client's file; an entry that starts the same already is left alone."""
    return _attempt(client, order, _install)


def remove(client: ClientApp, order: InstallOrder) -> InstallOutcome:
    """The client's file without the entry, as it was before if nothing else changed in it."""
    return _attempt(client, order, _remove)


def survey(order: InstallOrder) -> tuple[Presence, ...]:
    """Every client that keeps servers where the order looks, and whether it has the entry."""
    places = (
        client for client in CLIENTS if order.project is None or project_files(client, Path())
    )
    return tuple(_presence(client, order) for client in places)


def entry_for(client: ClientApp, order: InstallOrder) -> Data:
    if order.url:
        headers = {"Authorization": f"Bearer {order.token}"}
        return remote_entry(client, order.name, order.url, headers)
    form = client.form
    entry: Data = {}
    if form.stdio is not None:
        entry[form.kinds[0]] = form.stdio
    if client.id == "goose":
        entry["name"] = order.name
    if form.args:
        entry |= {form.command: order.argv[0], form.args: list(order.argv[1:])}
    else:
        entry[form.command] = list(order.argv)
    about = {"description": order.about} if "description" in client.also else {}
    return {**entry, **client.also, **about}


def take_out(file: HostFile, keys: tuple[str, ...], *, dry_run: bool) -> InstallOutcome:
    """One entry of ours out of a file, whatever it starts, as if it had never been added."""

    def act() -> InstallOutcome:
        source = read_source(file.path)
        data = dialect_of(file.client.format).open(source.text, str(file.path)).data
        place = _ClientFile(file.client, keys, file.path, source, source.text, data, file.shared)
        return _remove_entry(place, dry_run=dry_run)

    try:
        return act() if dry_run else _until_unchanged(file.client, act)
    except HostError as error:
        return InstallOutcome(file.client.id, str(file.path), "failed", note=str(error))


def remote_entry(client: ClientApp, name: str, url: str, headers: dict[str, str]) -> Data:
    """The entry of a server over HTTP as this client writes one."""
    form = client.form
    keys = [key for key, transport in form.urls if transport != "sse"]
    if not keys:  # It only starts commands: this is the usual one between it and an address.
        more = [part for key, value in headers.items() for part in ("--header", f"{key}:{value}")]
        return {form.command: "npx", form.args: ["-y", "mcp-remote", url, *more]}
    entry: Data = {} if form.http is None else {form.kinds[0]: form.http}
    if client.id == "goose":
        entry["name"] = name
    entry[keys[0]] = url
    if headers:
        entry[form.headers] = headers
    also = ("enabled", "timeout")
    return {**entry, **{key: value for key, value in client.also.items() if key in also}}


class _ClientFile(msgspec.Struct, frozen=True):
    """A client's file, read if it is there."""

    client: ClientApp
    keys: tuple[str, ...]
    path: Path
    source: FileSnapshot | None
    text: str
    data: Any
    shared: bool

    @property
    def entry(self) -> Any:
        return data_at(self.data, self.keys)

    @property
    def real(self) -> str:
        return str(self.path.resolve())

    def outcome(
        self, action: Action, text: str = "", line: int = 0, note: str = ""
    ) -> InstallOutcome:
        return InstallOutcome(self.client.id, str(self.path), action, text, line, note)


def _attempt(
    client: ClientApp,
    order: InstallOrder,
    act: Callable[[_ClientFile, InstallOrder], InstallOutcome],
) -> InstallOutcome:
    """Acts on a client's file, again if the client changes it meanwhile."""
    try:
        if order.dry_run:
            return act(_look(client, order), order)
        return _until_unchanged(client, lambda: act(_look(client, order), order))
    except HostError as error:
        return InstallOutcome(client.id, str(_file(client, order)), "failed", note=str(error))


def _until_unchanged(client: ClientApp, act: Callable[[], InstallOutcome]) -> InstallOutcome:
    with alone():
        for _ in range(ATTEMPTS):
            try:
                return act()
            except FileChangedError:
                continue
    raise HostError(f"{client.title} keeps changing its file: close it and try again")


def _look(client: ClientApp, order: InstallOrder) -> _ClientFile:
    path = _file(client, order)
    source = read_source(path) if path.is_file() else None
    text = source.text if source else ""
    data = dialect_of(client.format).open(text, str(path)).data
    keys = (*client.keys[0], order.name)
    return _ClientFile(client, keys, path, source, text, data, order.project is not None)


def _file(client: ClientApp, order: InstallOrder) -> Path:
    """The first of the client's files that is there, else the first that may be made."""
    machine = order.machine or this_machine()
    if order.project is None:
        found = user_files(client, machine)
    else:
        found = project_files(client, order.project.absolute())
    if not found:
        raise HostError(f"{client.title} keeps no servers in a project: leave --project out")
    paths = [Path(path) for path in found]
    return next((path for path in paths if path.is_file()), paths[0])


def _install(place: _ClientFile, order: InstallOrder) -> InstallOutcome:
    if place.entry is not None:
        return place.outcome("unchanged", note=_there_already(place, order))
    if place.source is None:
        _must_be_there(place, order)
    dialect = dialect_of(place.client.format)
    entry = entry_for(place.client, order)
    added = add_entry(dialect, place.text, str(place.path), place.keys, entry)
    notes = [SHARED] if place.shared else []
    if order.token and place.source and is_open_to_others(place.path):
        notes.append("it holds a token now: others on this machine can no longer read the file")
    if not order.dry_run:
        _write(place, added, private=bool(order.token))
    text = "".join(piece.text for piece in added.pieces[-1:]).strip("\r\n")
    text = text.replace(order.token, "…") if order.token else text
    return place.outcome("installed", text, added.line, "; ".join(notes))


def _write(place: _ClientFile, added: Added, *, private: bool) -> None:
    """The record never knows less than the file, so a crash between the two loses nothing."""
    made = [] if place.source else [str(place.path)]
    made += [] if place.path.parent.is_dir() else [str(place.path.parent)]
    digest = hashlib.sha256(added.text.encode()).hexdigest()
    add_record(
        Installed(
            client=place.client.id,
            file=place.real,
            keys=place.keys,
            pieces=added.pieces,
            depth=added.depth,
            sha256=digest,
            time=now(),
            made=tuple(made),
        )
    )
    if place.source is None:
        make_source(place.path, added.text, 0o644 if place.shared and not private else 0o600)
    else:
        back_up(place.source)
        replace_source(place.source, added.text, private=private)


def _there_already(place: _ClientFile, order: InstallOrder) -> str:
    """What to say about an entry of this name that starts such a server; anything else raises."""
    launch = launch_of(place.client.form, place.entry)
    name = ".".join(place.keys)
    if isinstance(launch, str) or not _is_such(launch, order):
        raise HostError(
            f"{place.path}: {name} is there and is something else: take it out, or give another "
            "name with --name"
        )
    if isinstance(launch, RemoteLaunch):
        return "already installed"
    if is_guarded(launch.argv):
        return "already installed, behind the guard"
    if launch.argv == order.argv or order.url:
        return "already installed"
    if "being" in order.argv and launch.argv[-1:] != order.argv[-1:]:
        raise HostError(
            f"{place.path}: {name} is the memory of another Being, {launch.argv[-1]}: give this "
            "one another name with --name"
        )
    return (
        f"already installed as `{' '.join(launch.argv)}`; "
        f"to have `{' '.join(order.argv)}`, --remove it and install it again"
    )


def _must_be_there(place: _ClientFile, order: InstallOrder) -> None:
    if not _is_here(place.client, order):
        directory = user_directory(place.client, order.machine or this_machine())
        raise HostError(
            f"{place.client.title} is not installed here: there is no {directory}. "
            "Start it once, then try again"
        )
    if order.project is not None and not order.project.is_dir():
        raise HostError(f"{order.project}: there is no such directory")
    if place.path.is_symlink() or place.path.exists():
        raise HostError(f"{place.path}: is not a file: put it right and try again")


def _is_here(client: ClientApp, order: InstallOrder) -> bool:
    machine = order.machine or this_machine()
    files = (Path(file) for file in user_files(client, machine))
    return Path(user_directory(client, machine)).is_dir() or any(file.is_file() for file in files)


def _remove(place: _ClientFile, order: InstallOrder) -> InstallOutcome:
    if place.entry is not None:
        _must_be_such(place, order)
    return _remove_entry(place, dry_run=order.dry_run)


def _remove_entry(place: _ClientFile, *, dry_run: bool) -> InstallOutcome:
    record = next((one for one in records() if one.place == (place.real, place.keys)), None)
    if place.entry is None:
        if record is not None and not dry_run:
            remove_record(record)
        return place.outcome("unchanged", note="not installed")
    source = cast("FileSnapshot", place.source)
    if record is not None and hashlib.sha256(source.data).hexdigest() == record.sha256:
        text, note = take_pieces(place.text, record.pieces), ""
        gone = record.made
    else:
        text = _cut_out(place, record)
        note = "the file changed since: only the entry was taken out"
        gone = ()
    if not dry_run:
        _take(source, text, gone)
        if record is not None:
            remove_record(record)
    return place.outcome("removed", note=note)


def _is_such(launch: StdioLaunch | RemoteLaunch, order: InstallOrder) -> bool:
    """Whether an entry starts or calls what is to be installed, maybe in another way."""
    if isinstance(launch, RemoteLaunch):
        return launch.url == order.url
    if order.url:
        return order.url in launch.argv
    ours = our_server(order.argv)
    file = Path(served_file(order.argv)).resolve()
    return our_server(launch.argv) == ours and (
        ours != "tools" or Path(served_file(launch.argv)).resolve() == file
    )


def _must_be_such(place: _ClientFile, order: InstallOrder) -> None:
    launch = launch_of(place.client.form, place.entry)
    name = ".".join(place.keys)
    if isinstance(launch, str) or not _is_such(launch, order):
        ours = "memory" if order.url else our_server(order.argv)
        what = f"server of {served_file(order.argv)}" if ours == "tools" else ours
        raise HostError(f"{place.path}: {name} is not the {what}: take it out by hand")
    if isinstance(launch, StdioLaunch) and is_guarded(launch.argv):
        raise HostError(
            f"{place.path}: {name} stands behind the guard: "
            f"`claw unwrap {place.keys[-1]}` first, then remove it"
        )


def _cut_out(place: _ClientFile, record: Installed | None) -> str:
    depth = record.depth if record else len(place.keys) - 1
    dialect = dialect_of(place.client.format)
    return take_entry(dialect, place.text, str(place.path), place.keys, depth)


def _take(source: FileSnapshot, text: str, made: tuple[str, ...]) -> None:
    back_up(source)
    if str(source.path) in made:
        remove_source(source)
    else:
        replace_source(source, text)
    if str(source.path.parent) in made:
        with suppress(OSError):  # somebody else keeps something there
            source.path.parent.rmdir()


def _presence(client: ClientApp, order: InstallOrder) -> Presence:
    path = _file(client, order)

    def found(state: State, note: str = "") -> Presence:
        return Presence(client.id, client.title, state, str(path), note)

    if not path.is_file() and not _is_here(client, order):
        return found("no such client")
    try:
        place = _look(client, order)
    except HostError as error:
        return found("cannot be read", str(error))
    if place.entry is None:
        return found("not installed")
    try:
        note = _there_already(place, order)
    except HostError:
        return found("something else", f"its `{order.name}` is another server")
    return found("installed", "" if note == "already installed" else note)
