"""Splits what a person said into pieces small enough to be found one by one; nothing is left out.

A piece is one sentence or several that belong together. A sentence that goes on about the one
before ("it", "she") stays with it, and a date such as "11. November" ends no sentence.
"""

from __future__ import annotations

import re

USUAL = 220
"""Characters up to which sentences are put together."""

LONGEST = 1_000
"""Characters of one piece; a sentence that is longer is cut at a space."""

_ABBREVIATIONS = (
    "mr mrs ms dr prof st sr sra jr rev hr fr mme mlle sig "
    "dott ing av no nr num núm tel str vol fig ca "
    "approx incl excl vs etc bzw usw evtl ggf inkl zzgl max min std tgl jan feb apr aug sept sep "
    "okt oct nov dez dec mo di mi do sa so"
)
_SHORTENED = re.compile(
    rf"(?:\b(?:{'|'.join(_ABBREVIATIONS.split())}|[^\W\d]|[ei]\.[ge]|[zduos]\.\s?[abdhuo])|\d)\.$",
    re.IGNORECASE,
)
_END = re.compile(r"(?<=[.!?…])[\"'”’»)\]]*\s+|(?<=[。\uff01\uff1f])[」』\uff09]*|\s*\n\s*")
_BULLET = re.compile(r"^\s*[-*•・#]+\s+")
_GOES_ON = re.compile(
    r"(?:he|she|it|it's|they|his|her|hers|its|their|that|that's|this|these|those|there|him|them|both"
    r"|er|sie|es|das|dies|diese[rsmn]?|dort|davon|damit|dafür|sein|seine[rnms]?|ihre?[rnms]?"
    r"|il|elle|ils|elles|ce|c'est|cela|ça|son|sa|ses|leurs?"
    r"|él|ella|ellos|ellas|eso|esto|esa|ese|su|sus|lui|lei|questo|quello|ele|ela|eles|elas|isso"
    r"|isto|seu|sua|hij|zij|het|dat|dit|он|она|оно|они|это|o|onu|bu|그|그녀|그것)(?!\w)"
    r"|(?:彼|彼女|それ|これ|その|この|あれ|あの|そこ|他|她|它|这|那)",
    re.IGNORECASE,
)


def pieces(text: str) -> list[str]:
    """The pieces of a message, in their order; together they are all of its words."""
    found: list[str] = []
    for sentence in sentences(text):
        together = found and len(found[-1]) + len(sentence) < USUAL
        goes_on = found and _GOES_ON.match(sentence) and len(found[-1]) + len(sentence) < 2 * USUAL
        if together or goes_on:
            found[-1] = f"{found[-1]} {sentence}"
        else:
            found += _cut(sentence)
    return found


def sentences(text: str) -> list[str]:
    """The sentences of a text, without line breaks and list marks."""
    parts = (text[start:end] for start, end in sentence_spans(text))
    cleaned = (" ".join(_BULLET.sub("", part).split()) for part in parts)
    return [part for part in cleaned if part]


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Where the sentences of a text are, with what is between them; together all of it."""
    found: list[tuple[int, int]] = []
    start = 0
    for end in _END.finditer(text):
        if "\n" not in end[0] and _SHORTENED.search(
            text[max(start, end.start() - 9) : end.start()]
        ):
            continue
        found.append((start, end.end()))
        start = end.end()
    return [*found, (start, len(text))]


def _cut(sentence: str) -> list[str]:
    """A sentence without an end, such as a pasted list, in parts that a search can take."""
    found: list[str] = []
    while len(sentence) > LONGEST:
        at = sentence.rfind(" ", LONGEST // 2, LONGEST)
        at = at if at > 0 else LONGEST
        found.append(sentence[:at].rstrip())
        sentence = sentence[at:].lstrip()
    return [*found, sentence] if sentence else found
