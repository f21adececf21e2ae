"""Names that strangers chose."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clawkit.assistant.media.file_names import UniqueNames, safe_name, split_suffix


@pytest.mark.parametrize(
    ("name", "left"),
    [
        ("cat.png", "cat.png"),
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\me\\cat.png", "cat.png"),
        ("a\x00b\n\x1b[31m.txt", "ab[31m.txt"),
        ("invoice\u202efdp.exe", "invoicefdp.exe"),
        ("..", "file"),
        ("...", "file"),
        ("", "file"),
        ("a/", "file"),
        (" . ", "file"),
        (".bashrc", ".bashrc"),
        ("name. . ", "name"),
        ("con", "_con"),
        ("NUL.txt", "_NUL.txt"),
        ("com1.tar.gz", "_com1.tar.gz"),
        ("console.txt", "console.txt"),
        ('a<b>:"c|d?*.txt', "a_b___c_d__.txt"),
        ("日本語.pdf", "日本語.pdf"),
    ],
)
def test_what_is_left_of_a_name(name: str, left: str) -> None:
    assert safe_name(name) == left


def test_a_long_name_is_cut_and_keeps_its_suffix() -> None:
    assert safe_name("é" * 300 + ".tar.gz") == "é" * 86 + ".tar.gz"
    assert len(safe_name("x" * 300)) == 180
    assert len(safe_name("a." + "x" * 300)) == 180


@settings(max_examples=3 * settings().max_examples)
@given(st.text(max_size=400))
def test_whatever_a_name_is_what_is_left_is_harmless(name: str) -> None:
    left = safe_name(name)
    assert left
    assert Path(left).name == left
    assert len(left.encode()) <= 181
    assert not any(unicodedata.category(c) in ("Cc", "Cf", "Cs") for c in left)
    assert left.strip(".")
    assert not left.endswith((".", " "))
    assert safe_name(left) == left


@settings(max_examples=2 * settings().max_examples)
@given(st.lists(st.sampled_from(["a", "A", "a-2", "a.txt", "a-2.txt", "a.tar.gz"]), max_size=12))
def test_names_that_are_given_out_never_collide(wanted: list[str]) -> None:
    names = UniqueNames()
    given_out = [names.give(name).casefold() for name in wanted]
    assert len(set(given_out)) == len(given_out)


def test_a_suffix() -> None:
    assert split_suffix("a.tar.gz") == ("a", ".tar.gz")
    assert split_suffix("a.b.c") == ("a.b", ".c")
    assert split_suffix(".bashrc") == (".bashrc", "")
    assert split_suffix("a") == ("a", "")
