"""What can be said of an attachment: what it is, which of its sentences answers, an extract."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from clawkit.assistant.media.dimensions import dimensions
from clawkit.assistant.media.framed import Attached
from clawkit.models.protocol import Image
from clawkit.text.tokenizer import content, sentences, terms

_SEARCHED = 2_000_000
"""Characters of a file in which answers are looked for."""
_EXTRACTED = 5
"""Sentences of an extract."""
_LONGEST = 400


def quoted(attached: Attached, question: str) -> str:
    """The sentence of a text that has the words of a question, quoted; or nothing."""
    words = [set(word) for word in content(question)]
    best, most = "", 0
    for sentence in sentences(attached.text[:_SEARCHED]) if words else ():
        found = terms(sentence).keys()
        shared = sum(word <= found for word in words)
        if shared > most:
            best, most = sentence, shared
    # A single word in common is no answer to a question that has three.
    if most * 3 < len(words) * 2:
        return ""
    quote = best if len(best) <= _LONGEST else f"{best[:_LONGEST].rstrip()} …"
    return f"{attached.name} says: “{quote}”" if quote else ""


def extract(attached: Attached) -> str:
    """The sentences of a text whose words occur in it most, in their order."""
    said = sentences(attached.text[:_SEARCHED])
    common = Counter(word for one in said for (word, *_) in content(one))

    def weight(at: int) -> float:
        words = content(said[at])
        return sum(common[word[0]] for word in words) / (len(words) + 3)

    # What a text begins with mostly says what it is about.
    best = sorted(range(1, len(said)), key=weight, reverse=True)[: _EXTRACTED - 1]
    chosen = [0, *sorted(best)] if said else []
    if not chosen:
        return ""
    gaps = {at for at, after in pairwise(chosen) if after > at + 1}
    quotes = " ".join(f"{said[at][:_LONGEST]}{' […]' if at in gaps else ''}" for at in chosen)
    return f"An extract, {len(chosen)} of {len(said):,} sentences: “{quotes}”"


def describe_image(image: Image) -> str:
    """`cat.png (image/png, 12,345 bytes, 640 × 480 pixels)`."""
    size = dimensions(image.data)
    pixels = f", {size[0]} × {size[1]} pixels" if size else ""
    return f"{image.name} ({image.mime_type}, {len(image.data):,} bytes{pixels})"
