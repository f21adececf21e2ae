"""The words of a text, as they are indexed and as they are asked for.

Case and accents do not matter, English endings little. Scripts without spaces are cut into pairs
of characters, and single ones beside them; katakana and hiragana are the same. An emoji is a word.
What is asked for has weights: a word that says little by itself weighs little.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator

from clawkit.memory.recall.stems import stem
from clawkit.memory.recall.stops import PAIRS_THAT_SAY_LITTLE, WORDS_THAT_SAY_LITTLE

LONGEST_INDEXED = 100_000
"""Characters of one text that can be found by their words."""

MOST_ASKED = 64
_LONGEST_WORD = 48
_LITTLE = 0.05
_KANA_PAIR = 0.35
_MIXED_PAIR = 0.7
_SINGLE = 0.45

_UNSPACED = (
    "\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u30ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
# Marks of scripts where they are part of the word; `\w` has none of them.
_MARKS = "\u0591-\u05bd\u064b-\u065f\u0900-\u0963\u0966-\u0e3e\u0e40-\u109f\u1780-\u17d3"
_WORD = re.compile(rf"(?:[^\W_]|[{_MARKS}])+|[^\w\s\x00-\x7f]")
_RUN = re.compile(f"[{_UNSPACED}]+")
_ACCENTS = re.compile("[\u0300-\u036f]")
_CLITIC = re.compile(r"(?<=\w)[’'](?:s|t|m|re|ve|ll|d)\b|(?<=\w)n[’']t\b")
_ORDINAL = re.compile(r"^(\d+)(?:st|nd|rd|th)$")
_HIRAGANA = re.compile("^[\u3041-\u309f\u30fc]+$")
_KANJI = re.compile("[\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
# ァ to ヶ, 96 code points above ぁ to ゖ.
_TO_HIRAGANA = {code: code - 0x60 for code in range(0x30A1, 0x30F7)}


def terms(text: str) -> Counter[str]:
    """What a text can be found by, with how often it is there."""
    found: Counter[str] = Counter()
    for word, unspaced in _words(text[:LONGEST_INDEXED]):
        if not unspaced:
            found[stem(word)] += 1
            continue
        run = word.translate(_TO_HIRAGANA)
        found.update(run)
        found.update(_pairs(run))
    return found


def asked(text: str) -> dict[str, float]:
    """What is looked for, with its weight between 0 and 1; of a long text, the first words."""
    found: dict[str, float] = {}
    for word, unspaced in _words(text[:LONGEST_INDEXED]):
        weights = _asked_run(word) if unspaced else {stem(word): _weight(word)}
        for term, weight in weights.items():
            found[term] = max(weight, found.get(term, 0.0))
        if len(found) >= MOST_ASKED:
            break
    return found


def content(text: str) -> list[list[str]]:
    """The words that carry what is asked, each as the terms that must all be in a text."""
    found: dict[tuple[str, ...], None] = {}
    for word, unspaced in _words(text[:LONGEST_INDEXED]):
        if unspaced:
            for run in _runs_of_content(word):
                pairs = _pairs(run.translate(_TO_HIRAGANA))
                found[tuple(pairs) or (run.translate(_TO_HIRAGANA),)] = None
        elif _weight(word) > _LITTLE:
            found[(stem(word),)] = None
    return [list(word) for word in found][:MOST_ASKED]


def folded(text: str) -> str:
    """A text without what does not matter to its words: case, accents, width."""
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFKD", text).casefold()
    text = unicodedata.normalize("NFC", _ACCENTS.sub("", text))
    return text.encode("utf-8", "ignore").decode()


def _words(text: str) -> Iterator[tuple[str, bool]]:
    for match in _WORD.finditer(_CLITIC.sub(" ", folded(text))):
        word = match[0]
        if len(word) == 1 and not word.isalnum() and unicodedata.category(word)[0] != "S":
            continue
        yield from _pieces(word)


def _pieces(word: str) -> Iterator[tuple[str, bool]]:
    """The parts of a word with and without spaces around its words: `第2回go` is four parts."""
    end = 0
    for run in _RUN.finditer(word):
        if run.start() > end:
            yield _plain(word[end : run.start()]), False
        yield run[0], True
        end = run.end()
    if end < len(word):
        yield _plain(word[end:]), False


def _plain(word: str) -> str:
    if word[0].isdigit():
        ordinal = _ORDINAL.match(word)
        word = (ordinal[1] if ordinal else word).lstrip("0") or "0"
    return word[:_LONGEST_WORD]


def _weight(word: str) -> float:
    return _LITTLE if word in WORDS_THAT_SAY_LITTLE else 1.0


def _asked_run(run: str) -> dict[str, float]:
    """Kanji and katakana carry the sense of a sentence, hiragana mostly its grammar."""
    found: dict[str, float] = {}
    for at, character in enumerate(run):
        if _KANJI.match(character) or len(run) == 1:
            found[character.translate(_TO_HIRAGANA)] = _SINGLE
        pair = run[at : at + 2]
        if len(pair) == 2:
            term = pair.translate(_TO_HIRAGANA)
            found[term] = max(_pair_weight(pair), found.get(term, 0.0))
    return found


def _pair_weight(pair: str) -> float:
    if pair in PAIRS_THAT_SAY_LITTLE:
        return _LITTLE
    kana = sum(bool(_HIRAGANA.match(character)) for character in pair)
    return (1.0, _MIXED_PAIR, _KANA_PAIR)[kana]


def _runs_of_content(run: str) -> list[str]:
    """The parts of a run without hiragana; the run itself where there is nothing else."""
    parts = [part for part in re.split("[\u3041-\u309f]+", run) if part]
    return parts or ([run] if run not in PAIRS_THAT_SAY_LITTLE else [])


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)]
