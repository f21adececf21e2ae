"""Texts as vectors: with weights that come in a package, or asked of a server.

Here is what recall asks of an embedder, what each does to its texts and vectors, and the choice of
one by name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from clawkit.errors import SettingsError

if TYPE_CHECKING:
    from clawkit.store.arrays import Floats

DEFAULT = "use-multilingual-v3"
OPENAI_URL = "https://api.openai.com/v1"
OPENAI_MODELS = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072}
KNOWN = (DEFAULT, "minilm-int8", *OPENAI_MODELS, "openai:URL#MODEL", "none")

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


class QuestionEmbedder(ABC):
    """An embedder that also knows questions, small talk and single words: the built-in one."""

    name: str
    dimensions: int

    @abstractmethod
    def embed(self, texts: Sequence[str]) -> Floats:
        """One row for each text; an empty text has a row of zeros."""

    @abstractmethod
    def ask(self, texts: Sequence[str]) -> Floats:
        """The same for questions: near to what answers them."""

    @abstractmethod
    def ordinary(self, question: Floats) -> float:
        """How near a question's vector is to whatever people tell an assistant."""

    @abstractmethod
    def chatter(self, message: Floats) -> float:
        """How near a message's vector is to thanks, greetings, and requests to any assistant."""

    @abstractmethod
    def words(self, words: Sequence[str]) -> Floats:
        """One row for each word, by what it means alone."""


def embedder(name: str = DEFAULT, *, key: str = "") -> Embedder | None:
    """The embedder of that name, ready or getting ready; None for `none`, keywords only."""
    if name == "none":
        return None
    if name == DEFAULT:
        from clawkit.memory.embed.builtin import shared

        return shared
    if name == "minilm-int8":
        from clawkit.memory.embed.minilm import MiniLM

        return MiniLM()
    if name in OPENAI_MODELS:
        return _remote(name, OPENAI_URL, name, key, OPENAI_MODELS[name])
    if name.startswith("openai:") and "#" in name:
        url, _, model = name.removeprefix("openai:").rpartition("#")
        if url.startswith(("http://", "https://")) and model:
            return _remote(name, url, model, key, 0)
    raise SettingsError(f"no embedder is called {name!r}; there are: {', '.join(KNOWN)}")


def _remote(name: str, url: str, model: str, key: str, dimensions: int) -> Embedder:
    from clawkit.memory.embed.remote import RemoteEmbedder
    from clawkit.system.addresses import check_address

    check_address("embedder", url, secret=bool(key))
    return RemoteEmbedder(name, url=url, model=model, key=key, dimensions=dimensions)


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
