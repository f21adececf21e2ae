"""Texts as vectors: what an embedder is, and what each does to texts and vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from clawkit.store.arrays import Floats

DEFAULT = "use-multilingual-v3"

LONGEST_TEXT = 2_000
"""Characters of a text that count; models read little more of it anyway."""


class Embedder(Protocol):
    """Turns texts into vectors of length one. It may be called from any thread."""

    @property
    def name(self) -> str:
        """Which model this is; vectors of different names are never compared."""
        ...

    @property
    def dimensions(self) -> int:
        """How long its vectors are; 0 while a server has not said so yet."""
        ...

    def embed(self, texts: Sequence[str]) -> Floats:
        """One row for each text."""
        ...


def rows_for(texts: Sequence[str], dimensions: int, encode: Callable[[list[str]], Any]) -> Floats:
    """One row of length one for each text; an empty text, which is not encoded, has zeros."""
    import numpy as np

    shortened = [_cut(text) for text in texts]
    filled = [at for at, text in enumerate(shortened) if text]
    if not filled:
        return np.zeros((len(texts), dimensions), np.float32)
    rows = _normalised(encode([shortened[at] for at in filled]))
    out = np.zeros((len(texts), rows.shape[1]), np.float32)
    out[filled] = rows
    return out


def _cut(text: str) -> str:
    """The part of a text that is embedded, as a model can take it."""
    text = text[:LONGEST_TEXT].encode("utf-8", "ignore").decode()
    return " ".join(text.replace("\x00", " ").split())


def _normalised(raw: Any) -> Floats:
    """Rows of length one; a row that has no direction is all zeros, and near to nothing."""
    import numpy as np

    rows = np.nan_to_num(np.asarray(raw, np.float32), nan=0.0, posinf=0.0, neginf=0.0)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 1e-9)
