"""Files sent with an answer: opened safely, held to the limits, turned into content blocks.

What a name leads to can change between a look and a read. So each part of the path is opened from
the directory before it, without following links, and what is judged is what was opened.

Limits count bytes before they are encoded. Pictures of the four types that models take, and audio
of any, have blocks of their own; everything else is a resource with the name that it has. The
model sends a file with the tool `send_file`, or with a line `MEDIA: path` in its answer.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import stat
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

from msgspec import Struct

from clawkit.assistant.media.accepted_types import (
    IMAGE_TYPES,
    MAX_SENT,
    MAX_SENT_ITEM,
    MEGABYTE,
    megabytes,
    too_large,
)
from clawkit.assistant.media.call_folder import CallFolder
from clawkit.assistant.media.detection import type_of
from clawkit.assistant.media.file_names import UniqueNames, safe_name
from clawkit.assistant.toolbox.tool_source import CallResult, own_result
from clawkit.errors import ClawError
from clawkit.models.protocol import ToolCall, ToolSpec
from clawkit.text.normalization import visible


class RefusedError(Exception):
    """The file is not to be sent; the message says why."""


class OpenedFile(Struct, frozen=True):
    """What a file held, at most one byte more than was asked for, and how much there was."""

    data: bytes
    size: int


def read_below(root: Path, path: str, most: int) -> OpenedFile:
    """Read a file below `root`; a relative path is taken from there."""
    try:
        fd = _open_below(root, path)
    except FileNotFoundError:
        raise RefusedError("there is no such file") from None
    except PermissionError:
        raise RefusedError("it may not be read") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise RefusedError(f"it cannot be opened ({reason})") from None
    with os.fdopen(fd, "rb") as file:
        try:
            data = file.read(most + 1)
        except OSError as error:
            raise RefusedError(f"it cannot be read ({error.strerror or error})") from None
        return OpenedFile(data, max(len(data), os.fstat(fd).st_size))


def is_there(root: Path, path: str) -> bool:
    """Whether a directory has something under a name, a link that leads nowhere too."""
    try:
        (root / path).lstat()
    except (OSError, ValueError):
        return False
    return True


def is_below(root: Path, path: str) -> bool:
    """Whether a path is written as one below a directory, by either of the directory's names."""
    return any(Path(path).is_relative_to(each) for each in (root, Path(os.path.realpath(root))))


def _open_below(root: Path, path: str) -> int:
    if ".." in Path(path).parts:
        raise RefusedError("`..` may not be part of its path")
    real_root = Path(os.path.realpath(root))
    real = Path(os.path.realpath(root / path, strict=True))
    if not real.is_relative_to(real_root):
        raise RefusedError("it leads out of the workspace and the outbox")
    if sys.platform == "win32":
        return _open_and_compare(real)
    return _walk(real_root, real.relative_to(real_root).parts)


def _walk(root: Path, parts: tuple[str, ...]) -> int:
    with ExitStack() as stack:
        directory = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
        stack.callback(os.close, directory)
        for part in parts[:-1]:
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
            directory = os.open(part, flags, dir_fd=directory)
            stack.callback(os.close, directory)
        last = parts[-1] if parts else "."
        # Before it is opened too, since opening a device can do something.
        _check(os.stat(last, dir_fd=directory, follow_symlinks=False))
        # A pipe is not waited for.
        fd = os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=directory)
    return _checked(fd)


def _open_and_compare(real: Path) -> int:
    """Opens a file where directories cannot be opened; its name must still lead to it."""
    fd = os.open(real, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    if os.path.realpath(real) != str(real) or not os.path.samestat(os.fstat(fd), real.stat()):
        os.close(fd)
        raise RefusedError("it was replaced while it was opened")
    return _checked(fd)


def _checked(fd: int) -> int:
    try:
        _check(os.fstat(fd))
    except RefusedError:
        os.close(fd)
        raise
    return fd


def _check(found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise RefusedError("it is a directory")
    if stat.S_ISLNK(found.st_mode):
        raise RefusedError("it was replaced by a link while it was opened")
    if not stat.S_ISREG(found.st_mode):
        raise RefusedError("it is not a regular file")


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
    """All files below a folder, with links: opening one decides whether it may be sent."""
    for directory, directories, files in os.walk(outbox):
        directories.sort()
        links = [name for name in directories if (Path(directory) / name).is_symlink()]
        for name in sorted((*files, *links)):
            yield str(Path(directory) / name)


class _Picking:
    """Files as they are taken, one after the other, within the limits."""

    def __init__(self, folder: CallFolder, workspace: Path) -> None:
        self._roots = (workspace, folder.outbox) if folder.is_made else (workspace,)
        self._names = UniqueNames()
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
            self._omit(shown or name, too_large(size, MAX_SENT_ITEM))
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


SEND_FILE = ToolSpec(
    "send_file",
    "Send a file with your answer: one in your workspace, or a new one with the text you give.",
    {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The file, relative to your workspace"},
            "text": {"type": "string", "description": "What to write into a new file"},
        },
        "required": ["path"],
    },
)
_MEDIA_LINE = re.compile(r"^[ \t]*MEDIA:[ \t]*(\S[^\n]*)$", re.MULTILINE)


class FileOutbox:
    """The files that go out with one answer."""

    def __init__(self, folder: CallFolder, workspace: Path) -> None:
        self._folder = folder
        self._workspace = workspace
        self._paths: list[str] = []
        self._offered: list[Outgoing] = []

    @cached_property
    def _names(self) -> UniqueNames:
        return UniqueNames()

    def send_file(self, call: ToolCall) -> CallResult:
        """The tool: what cannot be sent is said at once, so that the model can do better."""
        started = time.monotonic()
        path, text = call.arguments.get("path"), call.arguments.get("text")
        if not isinstance(path, str) or not path:
            problem = "send_file needs a path"
        elif isinstance(text, str):
            problem = self._write(path, text)
        else:
            problem = self._add(path)
        said = problem or f"{path} will be sent with the answer"
        return own_result(call, said, started, is_error=bool(problem))

    def _add(self, path: str) -> str:
        problem = problem_with(path, self._folder, self._workspace)
        if not problem:
            self._paths.append(path)
        return problem

    def _write(self, path: str, text: str) -> str:
        """Everything in the outbox is sent, so a new file only has to be there."""
        name = self._names.give(safe_name(path))
        try:
            (self._folder.outbox / name).write_bytes(text.encode("utf-8", "replace"))
        except (OSError, ClawError) as error:
            return f"{name} cannot be written: {error}"
        return ""

    def offer(self, media: Sequence[Outgoing]) -> None:
        """Take media that a tool gave."""
        self._offered.extend(media)

    def take_lines(self, text: str) -> str:
        """The text without its `MEDIA:` lines; what they name will be sent."""
        self._paths += [_unquoted(found[1].rstrip()) for found in _MEDIA_LINE.finditer(text)]
        return re.sub(r"\n{3,}", "\n\n", _MEDIA_LINE.sub("", text)) if "MEDIA:" in text else text

    def close(self) -> Picked:
        """Everything to send, and what could not be."""
        if not (self._paths or self._offered or self._folder.is_made):
            return Picked((), ())
        return pick(self._paths, self._offered, self._folder, self._workspace)


def _unquoted(path: str) -> str:
    return path[1:-1] if len(path) > 1 and path[0] == path[-1] and path[0] in "\"'`" else path
