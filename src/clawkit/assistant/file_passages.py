"""Passages of a text that is too long for a model: those that a question is about."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

from msgspec import Struct

from clawkit.assistant.media.prompt_parts import frame_of
from clawkit.assistant.toolbox.tool_source import CallResult, own_result
from clawkit.models.protocol import (
    Message,
    Part,
    Text,
    ToolCall,
    ToolSpec,
    count_tokens,
    message_tokens,
    part_tokens,
)
from clawkit.text.tokenizer import asked, folded

SEARCH_ATTACHMENTS = ToolSpec(
    "search_attachments",
    "Search the attached files that are too long to be shown whole. Gives the passages that have "
    "the most of these words, in their order.",
    {
        "type": "object",
        "properties": {"query": {"type": "string", "description": "Words to look for."}},
        "required": ["query"],
    },
)
SHOWN_TOKENS = 40_000
"""What is shown at most of a message that the model has no room for."""
FOUND_TOKENS = 4000
"""What one search of an attachment gives."""

_PASSAGE = 1200
"""Characters of one, about a dozen lines."""
_SATURATION = 1.2
_RELEVANT = 0.25
"""Of the best passage's score: less are words that every text has."""
_ENDS = ("\n\n", "\n", ". ", " ")


class FilePassage(Struct, frozen=True):
    """A piece of a text, and where it begins."""

    start: int
    text: str


def shown_in_part(message: Message, question: str, room: int) -> Message:
    """A message in about `room` tokens: of its long files only what the question is about.

    What the person wrote is never cut.
    """
    spare = message_tokens(message) - room
    if spare <= 0:
        return message
    sizes = dict(_files(message))
    # What is to go is taken from each long file by its share.
    share = 1 - spare / max(1, sum(sizes.values()))
    if share <= 0:
        return message

    def shown(index: int, part: Part) -> Part:
        if index not in sizes or not isinstance(part, Text):
            return part
        return Text(_cut(part.text, question, int(sizes[index] * share)))

    return Message(message.role, tuple(shown(*each) for each in enumerate(message.parts)))


def search_attachments(message: Message, call: ToolCall) -> CallResult:
    """The tool: the passages of the files of a message that have the most of the words."""
    started = time.monotonic()
    query = call.arguments.get("query")
    known = isinstance(query, str) and bool(query.strip())
    said = _found(message, str(query)) if known else f"{call.name} needs a query"
    return own_result(call, said, started, is_error=not known)


def _found(message: Message, query: str) -> str:
    found: list[str] = []
    for part in message.parts:
        frame = frame_of(part.text) if isinstance(part, Text) else None
        if frame is not None:
            text = passages(frame.text, query, FOUND_TOKENS, only_found=True)
            found.append(f"{frame.name}:\n{text}")
    return "\n\n".join(found) or "nothing was attached that could be searched"


def passages(text: str, question: str, room: int, *, only_found: bool = False) -> str:
    """The beginning of a text and what a question is about, in its order, in so many tokens.

    Where no word of the question is in the text, passages from all over it, unless `only_found`.
    """
    pieces = list(_pieces(text)) or [FilePassage(0, "")]
    scores = _scores(pieces, question)
    least = max(scores) * _RELEVANT
    ranked = [at for at in range(len(pieces)) if scores[at] > 0 and scores[at] >= least]
    ranked.sort(key=lambda at: -scores[at])
    if only_found and not ranked:
        return "[none of these words is in it]"
    if not only_found:
        ranked = [0, *(ranked or _spread(len(pieces)))]
    chosen: set[int] = set()
    for at in ranked:
        cost = count_tokens(pieces[at].text)
        if cost <= room and at not in chosen:
            chosen.add(at)
            room -= cost
    return _joined([pieces[at] for at in sorted(chosen)], len(text))


def _files(message: Message) -> Iterator[tuple[int, int]]:
    """The parts that are texts of files, with their sizes."""
    for index, part in enumerate(message.parts):
        if isinstance(part, Text) and frame_of(part.text) is not None:
            yield index, part_tokens(part)


def _cut(framed: str, question: str, room: int) -> str:
    frame = frame_of(framed)
    if frame is None:
        return framed
    note = (
        f"[{len(frame.text):,} characters are too long for the model: what follows are its "
        f"beginning and the passages that the message is about; `{SEARCH_ATTACHMENTS.name}` finds "
        "others]"
    )
    return f"{frame.opening}{note}\n{passages(frame.text, question, room)}\n{frame.closing}"


def _pieces(text: str) -> Iterator[FilePassage]:
    start = 0
    while start < len(text):
        end = _end(text, start)
        yield FilePassage(start, text[start:end])
        start = end


def _end(text: str, start: int) -> int:
    """Where a passage ends: after a paragraph, a line, a sentence or a word, if there is one."""
    limit = start + _PASSAGE
    if limit >= len(text):
        return len(text)
    for mark in _ENDS:
        at = text.rfind(mark, start + _PASSAGE // 2, limit)
        if at >= 0:
            return at + len(mark)
    return limit


def _scores(pieces: list[FilePassage], question: str) -> list[float]:
    """How much each has of what is asked; words that few have count more."""
    scores = [0.0] * len(pieces)
    plain = [folded(piece.text) for piece in pieces]
    for term, weight in asked(question).items():
        counts = [text.count(term) for text in plain]
        having = sum(map(bool, counts))
        if not having:
            continue
        rarity = weight * math.log(1 + len(pieces) / having)
        for at, count in enumerate(counts):
            scores[at] += rarity * count / (count + _SATURATION)
    return scores


def _spread(count: int) -> Iterator[int]:
    """Places all over a text: the last, the middle, the quarters, and so on."""
    yield count - 1
    step = count / 2
    while step >= 1:
        at = step
        while at < count:
            yield int(at)
            at += 2 * step
        step /= 2


def _joined(chosen: list[FilePassage], length: int) -> str:
    """The passages, with how much is left out between them."""
    found: list[str] = []
    at = 0
    for passage in (*chosen, FilePassage(length, "")):
        gap = passage.start - at
        if gap:
            found.append(f"\n[… {gap:,} characters left out …]\n")
        found.append(passage.text)
        at = passage.start + len(passage.text)
    return "".join(found).strip("\n")
