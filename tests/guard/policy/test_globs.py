from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawkit.guard.policy.globs import Glob, GlobIndex, is_any
from tests.work_counter import calls

PATTERNS = st.text(alphabet="ab/?*", max_size=10)
TEXTS = st.text(alphabet="ab/", max_size=14)


@pytest.mark.parametrize(
    ("pattern", "text", "matched"),
    [
        ("shell_execute", "shell_execute", True),
        ("shell_execute", "shell_execute2", False),
        ("filesystem_*", "filesystem_read", True),
        ("filesystem_*", "filesystem_", True),
        ("filesystem_*", "filesystem_a/b", False),
        ("/etc/**", "/etc/ssl/certs/x", True),
        ("/etc/**", "/etc/", True),
        ("/etc/**", "/etc", False),
        ("**/x", "x", False),
        ("**/x", "/a/x", True),
        ("a?c", "abc", True),
        ("a?c", "a/c", True),
        ("a?c", "a\nc", True),
        ("a?c", "ac", False),
        ("/a/*/c", "/a/b/c", True),
        ("/a/*/c", "/a/b/b/c", False),
        ("a**b*c", "a/x/b-c", True),
        ("a**b*c", "a/x/b/c", False),
        ("***", "a/b", True),
        ("[a]", "[a]", True),
        ("[a]", "a", False),
        ("a.c", "abc", False),
        ("", "", True),
        ("*", "", True),
    ],
)
def test_a_glob_matches_the_whole_text(pattern: str, text: str, matched: bool) -> None:
    assert Glob(pattern).matches(text) is matched


@given(pattern=PATTERNS, text=TEXTS)
def test_a_glob_means_what_the_regular_expression_means(pattern: str, text: str) -> None:
    assert Glob(pattern).matches(text) is _means(pattern, text)


@given(prefix=st.text(alphabet="a?*/", max_size=4), pattern=PATTERNS, text=TEXTS)
def test_stars_in_a_prefix_are_letters(prefix: str, pattern: str, text: str) -> None:
    assert Glob(pattern, prefix).matches(prefix + text) is _means(pattern, text)


@given(patterns=st.lists(PATTERNS, max_size=12), text=TEXTS)
def test_many_globs_at_once_find_what_each_finds(patterns: list[str], text: str) -> None:
    index = GlobIndex((Glob(pattern), number) for number, pattern in enumerate(patterns))
    alone = {number for number, pattern in enumerate(patterns) if Glob(pattern).matches(text)}
    assert index.find(text) == alone


@pytest.mark.parametrize(
    "pattern", ["**a**a**a**b", "*a*a*a*a*b", "**?a?**?a?**b", "**/*.pem", "**a*b*c**d"]
)
@pytest.mark.parametrize("text", ["a" * 8_000_000, "a" * 7_999_999 + "c"])
def test_no_pattern_makes_a_long_text_slow(pattern: str, text: str) -> None:
    # Steps in the square of its length would not end within a test's time.
    assert not Glob(pattern).matches(text)


def test_many_stars_stay_linear_in_many_folders() -> None:
    glob = Glob("**/a*b*c/**x")

    def cost(folders: int) -> int:
        return calls(lambda: glob.matches("/aab" * folders))

    assert cost(4000) < 2.2 * cost(2000)
    assert not glob.matches("/aab" * 100_000)
    assert glob.matches("/aab" * 100_000 + "/abc/x")


def test_a_lone_star_is_everything() -> None:
    assert is_any("*")
    assert is_any("**")
    assert not is_any("a*")


def _means(pattern: str, text: str) -> bool:
    parts = re.split(r"(\*+|\?)", pattern)
    wild = {"*": "[^/]*", "?": "."}
    expression = "".join(
        wild.get(part, ".*" if part.startswith("*") else re.escape(part)) for part in parts
    )
    return re.fullmatch(expression, text, re.DOTALL) is not None
