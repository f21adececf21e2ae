"""Files that go out with an answer: which may, which are too large, and their blocks.

Limits count bytes before they are encoded. Pictures of the four types that models take, and audio
of any, have blocks of their own; everything else is a resource with the name that it has.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from msgspec import Struct

from clawkit.assistant.media.filetypes import type_of
from clawkit.assistant.media.folder import CallFolder
from clawkit.assistant.media.kinds import (
    IMAGE_TYPES,
    MAX_SENT,
    MAX_SENT_ITEM,
    MEGABYTE,
    megabytes,
)
from clawkit.assistant.media.names import Names, safe_name
from clawkit.assistant.media.opening import RefusedError, is_below, is_there, read_below
from clawkit.text.hidden import visible

_LONGEST_PATH = 200


class Outgoing(Struct, frozen=True):
    """A file on its way out."""

    name: str
    mime_type: str
    data: bytes

    def __repr__(self) -> str:
        return f"Outgoing({self.name}, {self.mime_type}, {len(self.data)} bytes)"


class Picked(Struct, frozen=True):
    """What is sent, and a sentence for each thing that is not."""

    media: tuple[Outgoing, ...]
    omissions: tuple[str, ...]


def pick(
    paths: Sequence[str], offered: Sequence[Outgoing], folder: CallFolder, workspace: Path
) -> Picked:
    """The files that the model named, media of tools, then what lies in the outbox; each once."""
    picking = _Picking(folder, workspace)
    for path in paths:
        picking.add_path(path)
    for item in offered:
        picking.add(safe_name(item.name), item.data, item.mime_type)
    for path in _files_in(folder.outbox) if folder.is_made else ():
        picking.add_path(path)
    return Picked(tuple(picking.media), tuple(picking.omissions))


def problem_with(path: str, folder: CallFolder, workspace: Path) -> str:
    """Why a file could not be sent, as a sentence; empty if it can."""
    picking = _Picking(folder, workspace)
    picking.add_path(path)
    return " ".join(picking.omissions)


def to_blocks(media: Sequence[Outgoing]) -> list[dict[str, Any]]:
    """The content blocks of an answer."""
    return [_block(item) for item in media]


def _block(item: Outgoing) -> dict[str, Any]:
    encoded = base64.b64encode(item.data).decode()
    if item.mime_type in IMAGE_TYPES:
        return {"type": "image", "data": encoded, "mimeType": item.mime_type}
    if item.mime_type.startswith("audio/"):
        return {"type": "audio", "data": encoded, "mimeType": item.mime_type}
    uri = f"attachment://{quote(item.name, safe='')}"
    resource = {"uri": uri, "mimeType": item.mime_type, "blob": encoded}
    return {"type": "resource", "resource": resource}


def _files_in(outbox: Path) -> Iterator[str]:
    """All that is no directory, links too: they are refused or not when they are opened."""
    for directory, directories, files in os.walk(outbox):
        directories.sort()
        links = [name for name in directories if (Path(directory) / name).is_symlink()]
        for name in sorted((*files, *links)):
            yield str(Path(directory) / name)


class _Picking:
    """Files as they are taken, one after the other, within the limits."""

    def __init__(self, folder: CallFolder, workspace: Path) -> None:
        self._roots = (workspace, folder.outbox) if folder.is_made else (workspace,)
        self._names = Names()
        self._seen: set[tuple[str, str]] = set()
        self._refused: set[str] = set()
        self._total = 0
        self.media: list[Outgoing] = []
        self.omissions: list[str] = []

    def add_path(self, path: str) -> None:
        try:
            root = self._root_of(path)
            found = read_below(root, path, MAX_SENT_ITEM)
        except RefusedError as error:
            self._omit(path, str(error))
            return
        self.add(safe_name(path), found.data, "", size=found.size, shown=self._relative(path))

    def add(
        self, name: str, data: bytes, stated: str, *, size: int | None = None, shown: str = ""
    ) -> None:
        """`size` is larger than the data where that was not read to its end."""
        size = len(data) if size is None else size
        identity = (name, hashlib.sha256(data).hexdigest())
        if identity in self._seen:
            return
        self._seen.add(identity)
        if size > MAX_SENT_ITEM:
            most = MAX_SENT_ITEM // MEGABYTE
            problem = f"{megabytes(size)} is more than the {most} MB that one item may have"
            self._omit(shown or name, problem)
        elif self._total + size > MAX_SENT:
            most = MAX_SENT // MEGABYTE
            problem = f"with its {megabytes(size)} there would be more than {most} MB in all"
            self._omit(shown or name, problem)
        else:
            self._total += size
            given = self._names.give(name)
            self.media.append(Outgoing(given, type_of(name, data, stated), data))

    def _root_of(self, path: str) -> Path:
        """The directory that a path belongs to: the workspace, else the outbox."""
        if not path.strip():
            raise RefusedError("there is no name")
        if Path(path).is_absolute():
            for root in self._roots:
                if is_below(root, path):
                    return root
            raise RefusedError("only files in the workspace and the outbox may be sent")
        return next((root for root in self._roots if is_there(root, path)), self._roots[0])

    def _relative(self, path: str) -> str:
        """A path as it is shown: the temporary folder's own name tells nobody anything."""
        for root in self._roots:
            if Path(path).is_absolute() and is_below(root, path):
                return (
                    str(Path(path).relative_to(root)) if Path(path).is_relative_to(root) else path
                )
        return path

    def _omit(self, path: str, reason: str) -> None:
        sentence = f"{visible(self._relative(path), _LONGEST_PATH)} was left out: {reason}"
        if sentence not in self._refused:
            self._refused.add(sentence)
            self.omissions.append(sentence)
