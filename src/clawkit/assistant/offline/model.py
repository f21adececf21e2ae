"""The embedded default: no key, no network, and no language model, which it says.

It remembers what it is told in the session and answers from that. Nothing is kept between two
prompts: everything it knows is in the messages, and in the lines that recall and compaction put
into the system prompt.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator, Sequence

from clawkit.assistant import tokens
from clawkit.assistant.offline.answers import Conversation, respond
from clawkit.assistant.offline.attachments import Received, describe_image, receive
from clawkit.assistant.offline.hearing import is_correction, take_in, tells
from clawkit.assistant.offline.memory import Memory
from clawkit.assistant.offline.sentences import read_sentence
from clawkit.assistant.offline.words import content, hints, sentences
from clawkit.models.protocol import Event, Finished, Prompt, TextDelta, Usage

EARLIER = "Earlier in this conversation:"
"""The line of the system prompt under which stands what was said before the messages."""
REMEMBERED = "What you remember from other conversations"
"""How the line begins under which stands what was said elsewhere."""

_FEW_WORDS = re.compile(r"(?:\S+\s*){1,3}|\s+")
_LINE = re.compile(r"^- (User: |Assistant: |Tool: |Open question: |)(?!<attachment)(.+)$")

_UNDATED = re.compile(r"^[\d, -]+ — ")

# These may speak of something that they do not name.
_REFERRING = ("it's", "it’s", "it is", "i meant", "i mean ", "make it", "make that", "it should be")
_FORGETTING = ("forget", "disregard", "vergiss", "oublie", "olvida")


class Offline:
    """Answers from what it was told, and only from that."""

    @property
    def name(self) -> str:
        return "offline"

    @property
    def context(self) -> int:
        return 1_000_000

    async def stream(self, prompt: Prompt) -> AsyncIterator[Event]:
        answer = answer_to(prompt)
        for piece in _FEW_WORDS.findall(answer):
            yield TextDelta(piece)
        usage = Usage(input=tokens.of_prompt(prompt), output=tokens.count(answer))
        yield Finished("end", usage, self.name)

    async def close(self) -> None:
        """There is nothing to let go of."""


def answer_to(prompt: Prompt) -> str:
    """The answer to the last message of the person."""
    said = [message for message in prompt.messages if message.role == "user"]
    earlier = _earlier_lines(prompt.system)
    last = receive(said.pop()) if said else Received("")
    before = list(map(receive, said))
    memory = Memory()
    for sentence in _relevant([*earlier, *(message.text for message in before)], last.text):
        take_in(memory, sentence)
    spoke = any(message.role == "assistant" for message in prompt.messages)
    conversation = Conversation(
        text=last.text,
        images=tuple(map(describe_image, last.images)),
        attached=last.files,
        attached_before=tuple(file for message in before for file in message.files),
        first=not spoke and EARLIER not in prompt.system,
    )
    return respond(conversation, memory)


def _earlier_lines(system: str) -> list[str]:
    """What the person said before the messages; lines that say whose they are, are believed."""
    before, _, section = system.rpartition(f"{EARLIER}\n")
    lines = _lines(section) if before else []
    signed = any(who for who, _ in lines)
    earlier = [text for who, text in lines if who == ("User: " if signed else "")]
    _, _, elsewhere = (before or section).rpartition(f"\n{REMEMBERED}")
    remembered = [_UNDATED.sub("", text) for who, text in _lines(elsewhere) if who == "User: "]
    return [*remembered, *earlier]


def _lines(section: str) -> list[tuple[str, str]]:
    matches = (_LINE.match(line) for line in section.splitlines())
    return [(match[1], match[2]) for match in matches if match]


def _relevant(texts: Sequence[str], last: str) -> Iterator[str]:
    """The sentences that can matter to the last message, in their order.

    Taking a sentence apart is dear, so most of a long conversation is passed over by a look for
    words.
    """
    words = _words_of(last)
    if words is None:
        yield from (sentence for text in texts for sentence in sentences(text))
        return
    pieces = (*hints(words), *_FORGETTING)
    chosen: dict[tuple[int, int], str] = {}
    for at, text in enumerate((*texts, last)):
        if not _has(text, pieces) and not _has(text, _REFERRING):
            continue
        for number, sentence in enumerate(sentences(text)):
            if _has(sentence, pieces):
                chosen[at, number] = sentence
            if _has(sentence, _REFERRING) and is_correction(sentence):
                chosen[at, number] = sentence
                chosen.update(_back_to_what_was_told(texts, at, number))
    for at, number in sorted(chosen):
        if at < len(texts):
            yield chosen[at, number]


def _has(text: str, pieces: Sequence[str]) -> bool:
    low = text.lower()
    return not text.isascii() or any(piece in low for piece in pieces)


def _back_to_what_was_told(
    texts: Sequence[str], at: int, number: int
) -> Iterator[tuple[tuple[int, int], str]]:
    """Everything from before a sentence back to the last one that told something."""
    for earlier in range(min(at, len(texts) - 1), -1, -1):
        found = list(enumerate(sentences(texts[earlier])))
        for place, sentence in reversed(found[:number] if earlier == at else found):
            yield (earlier, place), sentence
            if tells(sentence):
                return


def _words_of(text: str) -> frozenset[str] | None:
    """The words a message is about; None when it asks for everything."""
    found: set[str] = set()
    for sentence in sentences(text):
        read = read_sentence(sentence)
        words = content(read.text)
        if read.act in ("ask", "forget") and not words:
            return None
        found |= words
    everything = re.search(
        r"everything|know about me|remember about me|told you|tell you|say to you", text
    )
    return None if everything else frozenset(found)
