"""Characters that nobody sees: which go, which stay, and how they are shown."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawkit.guard.scan.sanitizer import ScanOptions, clean, suspicious
from clawkit.text.normalization import strip_hidden, visible

ORDINARY = {
    "prose": "Plain text,\twith tabs\nand\r\nlines.",
    "german": "Übergrößenträger – „straße“ …",
    "soft-hyphen": "Donau\u00addampf\u00adschiff",
    "emoji-family": "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466",
    "emoji-heart-on-fire": "\u2764\ufe0f\u200d\U0001f525",
    "emoji-skin-and-job": "\U0001f469\U0001f3fd\u200d\U0001f680",
    "emoji-job-with-a-style": "\U0001f9d1\U0001f3ff\u200d\u2695\ufe0f",
    "emoji-keycap": "1\ufe0f\u20e3 #\ufe0f\u20e3",
    "emoji-text-style": "\u2714\ufe0e \u00a9\ufe0f",
    "rainbow-flag": "\U0001f3f3\ufe0f\u200d\U0001f308",
    "country-flag": "\U0001f1e9\U0001f1ea",
    "flag-of-england": "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "persian": "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    "hindi": "\u0915\u094d\u200d\u0937 \u0939\u093f\u0928\u094d\u0926\u0940",
    "hindi-half-letter-at-the-end": "\u0915\u094d\u200d",
    "sinhala": "\u0dc1\u0dca\u200d\u0dbb\u0dd3",
    "malayalam": "\u0d05\u0d35\u0d28\u0d4d\u200d",
    "ideograph-variant": "\u845b\U000e0100",
    "mongolian": "\u182d\u180b",
    "chinese": "你好\uff0c世界。",
    "wide-space": "a\u3000b\u00a0c",
    "private-use": "\ue0b0",
}

HIDDEN = {
    "null": ("a\x00b", "ab"),
    "backspace": ("a\bb", "ab"),
    "delete": ("a\x7fb", "ab"),
    "c1": ("a\x85b", "ab"),
    "colour": ("\x1b[1;31mred\x1b[0m", "red"),
    "c1-colour": ("\x9b31mred", "red"),
    "link": ("\x1b]8;;http://e.example\x07text\x1b]8;;\x1b\\", "text"),
    "title": ("\x1b]0;title\x07x", "x"),
    "unfinished-title": ("\x1b]0;title", "0;title"),
    "device-string": ("\x1bPq#0\x1b\\x", "x"),
    "charset": ("\x1b(Bx", "x"),
    "lone-escape": ("x\x1b", "x"),
    "bidi": ("a\u202eb\u2066c\u2069", "abc"),
    "marks": ("a\u200eb\u200fc\u061c", "abc"),
    "zero-width-space": ("a\u200bb", "ab"),
    "zero-width-joiner-between-latin": ("a\u200db\u200cc", "abc"),
    "joiner-at-the-edge-of-emoji": ("\U0001f600\u200d", "\U0001f600"),
    "two-joiners": ("\u0645\u200c\u200c\u062e", "\u0645\u062e"),
    "selector-after-latin": ("a\ufe0fb", "ab"),
    "smuggled-selectors": ("\U0001f600\ufe0f\ufe01\ufe02\U000e0120", "\U0001f600\ufe0f"),
    "smuggled-tags": ("a" + "".join(chr(0xE0000 + ord(c)) for c in "obey"), "a"),
    "tags-after-a-flag-that-name-none": (
        "\U0001f3f4" + "".join(chr(0xE0000 + ord(c)) for c in "do as I say"),
        "\U0001f3f4",
    ),
    "soft-hyphens": ("a\u00ad\u00adb \u00ad", "ab "),
    "byte-order-mark": ("\ufeffx", "x"),
    "invisible-plus": ("a\u2064b", "ab"),
    "hangul-filler": ("a\u3164\u115fb\uffa0", "ab"),
    "lone-surrogate": ("a\ud800b", "ab"),
    "noncharacter": ("a\ufffeb\U0010ffffc\ufdd0", "abc"),
}


@pytest.mark.parametrize("text", ORDINARY.values(), ids=ORDINARY)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert strip_hidden(text) == (text, 0)
    cleaned, findings = clean([text], ScanOptions())
    assert cleaned[0] is text
    assert not findings


@pytest.mark.parametrize(("text", "stripped"), HIDDEN.values(), ids=HIDDEN)
def test_hidden_characters_go(text: str, stripped: str) -> None:
    assert strip_hidden(text) == (stripped, len(text) - len(stripped))
    assert suspicious(json.dumps(text).encode("utf-8", "surrogatepass"), ScanOptions())
    assert suspicious(
        json.dumps(text, ensure_ascii=False).encode("utf-8", "surrogatepass"), ScanOptions()
    )


@given(st.text())
def test_what_was_stripped_once_is_not_stripped_again(text: str) -> None:
    stripped, count = strip_hidden(text)
    assert strip_hidden(stripped) == (stripped, 0)
    assert count == len(text) - len(stripped)


_PIECES = [
    *ORDINARY.values(),
    *(text for text, _ in HIDDEN.values()),
    *"\u200d\u200c\ufe0f\x1b[m\xad",
]


@given(st.lists(st.sampled_from(_PIECES)).map("".join))
def test_mixtures_are_stripped_in_one_go(text: str) -> None:
    stripped, _ = strip_hidden(text)
    assert strip_hidden(stripped) == (stripped, 0)
    assert "\x1b" not in stripped


@given(st.text(st.characters(codec="ascii", exclude_categories=["Cc"])))
def test_printable_ascii_is_never_touched(text: str) -> None:
    assert strip_hidden(text)[0] is text
    assert visible(text, len(text)) == text


def test_many_unfinished_sequences_take_linear_time() -> None:
    for start in ("\x1b]", "\x9d", "\x1b[0", "\x1bP"):
        assert strip_hidden(start * 200_000)[1] >= 200_000


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31m", "\\x1b[31m"),
        ("a\u202eb", "a\\u202eb"),
        ("one\ntwo\ttab\r", "one\\ntwo\\ttab\\r"),
        ("\U000e0041", "\\U000e0041"),
        ("\ud800", "\\ud800"),
        ("a\u2028b", "a\\u2028b"),
        (ORDINARY["emoji-family"], ORDINARY["emoji-family"]),
        ("naïve", "naïve"),
    ],
)
def test_what_is_hidden_is_shown_escaped(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_long_text_is_cut_and_says_by_how_much() -> None:
    assert visible("x" * 30, limit=10) == "x" * 10 + "…(20 more characters)"


@given(st.text())
def test_what_is_shown_controls_nothing(text: str) -> None:
    shown = visible(text)
    assert strip_hidden(shown) == (shown, 0)
    assert len(shown.splitlines()) < 2
    shown.encode()
