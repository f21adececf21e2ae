"""The embedder that is there without key or network."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

from clawkit.errors import SettingsError
from clawkit.memory.embed import table_cache
from clawkit.memory.embed.embedder import BuiltinEmbedder, shared
from clawkit.memory.embed.factory import embedder
from clawkit.settings import settings


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tables")


@pytest.fixture(autouse=True)
def one_copy(tables: Path, home: Path) -> None:  # noqa: ARG001 - the folder is in this home
    """A fresh embedder reads the tables that the first one copied, as it does for a person."""
    data = settings().data
    data.mkdir(parents=True)
    (data / "cache").symlink_to(tables)


def test_the_default_is_the_one_of_this_process():
    assert embedder() is shared
    assert embedder("use-multilingual-v3") is shared


def test_none_means_keywords_only():
    assert embedder("none") is None


@pytest.mark.parametrize("name", ["word2vec", "openai:ftp://x#m", "openai:http://x/v1", ""])
def test_an_unknown_name_is_refused_with_those_that_exist(name: str):
    with pytest.raises(SettingsError, match="use-multilingual-v3"):
        embedder(name)


def test_vectors_have_length_one_and_the_dimensions_that_were_said():
    vectors = shared.embed(["The cat sleeps.", "猫が寝ている。", "x" * 50_000])
    assert vectors.shape == (3, shared.dimensions)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-4)


def test_empty_and_broken_texts_have_vectors_without_nan():
    vectors = shared.embed(["", "   ", "\x00\x00", "\ud800", "🙂", "\u200b"])
    assert vectors.shape == (6, shared.dimensions)
    assert np.isfinite(vectors).all()
    assert not vectors[:3].any()


def test_nothing_to_embed_is_no_rows():
    assert shared.embed([]).shape == (0, shared.dimensions)


def test_a_text_is_cut_behind_two_thousand_characters():
    text = "word " * 400
    assert np.array_equal(shared.embed([text]), shared.embed([text + "something else entirely"]))


def test_a_question_is_nearer_to_its_answer_than_to_another_question():
    (question,) = shared.ask(["What animal did I adopt?"])
    answer, other = shared.embed(["We brought home a kitten.", "Which film did we watch?"])
    assert question @ answer > question @ other


def test_a_question_finds_its_answer_in_another_language():
    (question,) = shared.ask(["What pet do I have?"])
    near, far = shared.embed(["猫を飼い始めた。", "電気代が高かった。"])
    assert question @ near > question @ far


def test_many_threads_load_it_once_and_get_the_same():
    fresh = BuiltinEmbedder()
    found: list[np.ndarray] = []
    threads = [
        threading.Thread(target=lambda: found.append(fresh.embed(["hello"])[0])) for _ in range(4)
    ]
    fresh.warm().join()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    # How many threads share the arithmetic decides its last bits.
    assert all(np.allclose(one, found[0], atol=1e-5) for one in found)


def test_a_failure_in_the_background_reaches_who_needs_a_vector(monkeypatch: pytest.MonkeyPatch):
    def broken(_groups: object) -> None:
        raise ImportError("no weights here")

    fresh = BuiltinEmbedder()
    with monkeypatch.context() as patch:
        patch.setattr(table_cache, "load", broken)
        fresh.warm().join()
    with pytest.raises(ImportError, match="no weights here"):
        fresh.embed(["hello"])
    assert fresh.embed(["hello"]).any()


def test_words_are_near_by_what_they_mean_alone_in_any_language():
    dog, hund, salary, dentist, again = shared.words(["dog", "hund", "salary", "dentist", "dog"])
    assert dog @ hund > 0.6
    assert dog @ salary < 0.3
    assert dentist @ salary < 0.4
    assert np.array_equal(dog, again)
    assert shared.words([]).shape == (0, shared.dimensions)


def test_more_words_than_are_kept_are_still_answered(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("clawkit.memory.embed.embedder._MOST_WORDS", 3)
    model = BuiltinEmbedder()
    first = model.words(["red", "green"])
    both = model.words(["blue", "green", "yellow"])
    assert both.shape == (3, shared.dimensions)
    assert np.allclose(both[1], first[1], atol=1e-3)


def test_everyday_questions_are_nearer_to_what_people_tell_than_others():
    everyday, other = shared.ask(["When is my appointment?", "Which element has the symbol Hg?"])
    assert shared.ordinary(everyday) > shared.ordinary(other)
