"""A summary without a language model: the sentences that carry something, as they were said.

What people state comes first, then names, numbers, refusals, decisions and open questions, then
what the assistant said of that kind; small talk goes. Of equal sentences the newest stay. The lines
come out in the order of the conversation, so that the last word on a matter is still the last.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Struct

from clawkit.assistant import tokens
from clawkit.assistant.offline.attachments import receive
from clawkit.assistant.offline.facts import Fact, is_negative
from clawkit.assistant.offline.hearing import take
from clawkit.assistant.offline.memory import Memory
from clawkit.assistant.offline.sentences import Sentence, read_sentence
from clawkit.assistant.offline.words import sentences
from clawkit.models.protocol import Message, Text, ToolCall

_TOLD, _TELLING, _NOTED, _SAID, _STALE, _NOTHING = range(6)
"""How much a line is worth, best first."""

_LONGEST = 300
_MOST_OF_ONE = 80
"""Sentences of one message that are looked at: a pasted log is not a talk."""

_LINE = re.compile(r"^- (User|Assistant|Tool|Open question): (.+)$")
_NAME = re.compile(r"(?<=[\w,;:(] )(?!I\b)[^\W\d_a-z][\w’'-]+")
_WEIGHTY = re.compile(
    r"\b(?:decid\w+|agree[ds]?|chose|chosen|choose|must|never|always|deadline|prefer\w*|important|"
    r"to-?do|still need|open|waiting|because|instead|plan\w*|promise\w*|will|won't|let's|"
    r"entschieden|beschlossen|décidé|decidido)\b",
    re.IGNORECASE,
)
_NO_ANSWER = re.compile(
    r"haven['’]t told me|i don['’]t know|i can['’]t answer|not sure|let me (?:check|look)|"
    r"I(?: wi|['’])ll (?:check|look|find out|get back)",
    re.IGNORECASE,
)


class _Line(Struct):
    worth: int
    text: str
    said: str = ""
    """The person's own words, which they may take back."""
    fact: Fact | None = None


def summarise_mechanically(earlier: str, messages: Sequence[Message], max_tokens: int) -> str:
    """The lines worth keeping that fit, oldest first; the same every time."""
    memory = Memory()
    lines = [*_of_earlier(earlier, memory), *_of_messages(messages, memory)]
    _grade_again(lines, memory)
    # Said twice, it counts once, where it was said last.
    unique = {line.text: at for at, line in enumerate(lines)}
    kept: list[int] = []
    left = max_tokens
    for at in sorted(unique.values(), key=lambda at: (lines[at].worth, -at)):
        cost = tokens.count(lines[at].text) + 1
        if lines[at].worth < _NOTHING and cost <= left:
            kept.append(at)
            left -= cost
    return "\n".join(lines[at].text for at in sorted(kept))


def _grade_again(lines: list[_Line], memory: Memory) -> None:
    """What was replaced or taken back later is worth little now."""
    holding = {id(told.fact) for told in memory.told}
    for line in lines:
        if line.said and not memory.heard(line.said):
            line.worth = _NOTHING
        elif line.fact is not None and id(line.fact) not in holding:
            line.worth = _STALE


def _of_earlier(earlier: str, memory: Memory) -> Iterator[_Line]:
    for raw in earlier.splitlines():
        match = _LINE.match(raw.strip())
        if match is None:
            yield from (_Line(_TELLING, f"- {text}") for text in sentences(raw))
        elif match[1] == "User":
            yield from _of_person(match[2], memory)
        else:
            worth = _TELLING if match[1] == "Open question" else _SAID
            yield _Line(worth, raw.strip())


def _of_messages(messages: Sequence[Message], memory: Memory) -> Iterator[_Line]:
    for at, message in enumerate(messages):
        if message.role == "user":
            received = receive(message)
            came = [file.described for file in received.files]
            came += [image.name for image in received.images]
            yield from (_Line(_NOTED, f"- User: [sent {name}]") for name in came)
            answered = _is_answered(messages, at)
            yield from _of_person(received.text, memory, answered=answered)
        elif message.role == "assistant":
            yield from _of_assistant(message, last=at == len(messages) - 1)


def _of_person(text: str, memory: Memory, *, answered: bool = True) -> Iterator[_Line]:
    for original in sentences(text, _MOST_OF_ONE):
        sentence = read_sentence(original)
        told, _ = take(memory, sentence, original)
        for fact in (item.fact for item in told):
            memory.hear(fact.text)
            yield _Line(_worth_of(fact, sentence), _line("User", fact.text), fact.text, fact)
        if told:
            continue
        if sentence.act == "ask" and not answered:
            yield _Line(_TELLING, _line("Open question", original))
        else:
            said = original if sentence.act in ("tell", "request") else ""
            yield _Line(_worth_of_words(sentence, original), _line("User", original), said)


def _worth_of(fact: Fact, sentence: Sentence) -> int:
    if sentence.remember or fact.first_person or fact.slot:
        return _TOLD
    return _TELLING if _carries(fact.text) else _NOTED


def _worth_of_words(sentence: Sentence, original: str) -> int:
    match sentence.act:
        case "forget":
            return _TOLD
        case "tell":
            return _NOTED if _carries(original) else _SAID
        case "request":
            return _SAID
        case "ask":
            return _STALE
        case _:
            return _NOTHING


def _of_assistant(message: Message, *, last: bool) -> Iterator[_Line]:
    for part in message.parts:
        if isinstance(part, ToolCall):
            arguments = msgspec.json.encode(part.arguments).decode()
            yield _Line(_STALE, _line("Tool", f"{part.name} {arguments}"))
        elif isinstance(part, Text):
            for sentence in sentences(part.text, _MOST_OF_ONE):
                if last and sentence.endswith("?"):
                    yield _Line(_TELLING, _line("Open question", f"(asked of the user) {sentence}"))
                else:
                    worth = _SAID if _carries(sentence) else _NOTHING
                    yield _Line(worth, _line("Assistant", sentence))


def _is_answered(messages: Sequence[Message], at: int) -> bool:
    """Whether the assistant said something to it that was not `I don't know`."""
    for message in messages[at + 1 :]:
        if message.role == "user":
            return False
        said = " ".join(part.text for part in message.parts if isinstance(part, Text))
        if message.role == "assistant" and said:
            return _NO_ANSWER.search(said) is None
    return False


def _carries(text: str) -> bool:
    """Names, numbers, refusals, decisions; Chinese and Japanese have no capitals to go by."""
    return (
        any(char.isdigit() for char in text)
        or _NAME.search(text) is not None
        or is_negative(text)
        or _WEIGHTY.search(text) is not None
    )


def _line(who: str, text: str) -> str:
    text = " ".join(text.split())
    if len(text) > _LONGEST:
        text = text[:_LONGEST].rstrip() + " …"
    return f"- {who}: {text}"
