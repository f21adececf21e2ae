"""What recall asks of an embedder, and what every embedder does to its texts and vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vectors: TypeAlias = npt.NDArray[np.float32]

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

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row for each text."""
        ...


def cut(text: str) -> str:
    """The part of a text that is embedded, as a model can take it."""
    text = text[:LONGEST_TEXT].encode("utf-8", "ignore").decode()
    return " ".join(text.replace("\x00", " ").split())


def normalised(raw: Any) -> Vectors:
    """Rows of length one; a row that has no direction is all zeros, and near to nothing."""
    import numpy as np

    rows = np.nan_to_num(np.asarray(raw, np.float32), nan=0.0, posinf=0.0, neginf=0.0)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 1e-9)
