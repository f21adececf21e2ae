"""A summary without a language model: the sentences that carry something, as they were said.

What people state comes first, then open questions, then what the assistant said with a name or a
number in it; small talk goes. Of equal sentences the newest stay. The lines come out in the order
of the conversation, so that the last word on a matter is still the last.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Struct

from clawkit.assistant.media.prompt_parts import receive
from clawkit.assistant.offline.statements import is_taken_back, read
from clawkit.models.protocol import Message, Text, ToolCall, count_tokens
from clawkit.text.tokenizer import sentences

_TOLD, _OPEN, _NOTED, _SAID, _STALE, _NOTHING = range(6)
"""How much a line is worth, best first."""

_LONGEST = 300
_MOST_OF_ONE = 80
"""Sentences of one message that are looked at: a pasted log is not a talk."""

_LINE = re.compile(r"^- (User|Assistant|Tool|Open question): (.+)$")
_OWN = re.compile(
    r"\b(?:i|i['’]m|my|our|we|remember|ich|mein\w*|wir|je|mon|ma|mi|forget)\b|[我私僕]",
    re.IGNORECASE,
)
# A number, a name inside a sentence, a refusal or decision, a script without capitals.
_CARRIES = re.compile(
    r"\d|(?<=[\w,;:(] )(?!I\b)[^\W\d_a-z][\w’'-]+|[\u3040-\u9fff\uac00-\ud7af]"
    r"|\b(?i:not|never|no|must|decid\w+|agreed|deadline)\b"
)
_NO_ANSWER = re.compile(
    r"found nothing about|i don['’]t know|i can['’]t|not sure|let me (?:check|look)"
    r"|I(?: wi|['’])ll (?:check|look|find out|get back)",
    re.IGNORECASE,
)
_CHATTER = 3
"""Words of a sentence that says nothing by itself."""


class _Line(Struct, frozen=True):
    worth: int
    text: str
    stated: str = ""
    """What the person stated, and may take back."""


def summarise_by_extract(earlier: str, messages: Sequence[Message], max_tokens: int) -> str:
    """The lines worth keeping that fit, oldest first; the same every time."""
    lines: list[_Line] = []
    for line, taken_back in (*_of_earlier(earlier), *_of_messages(messages)):
        if taken_back:
            lines = [one for one in lines if not is_taken_back(one.stated, taken_back)]
        lines.append(line)
    # Said twice, it counts once, where it was said last.
    unique = {line.text: at for at, line in enumerate(lines)}
    kept: list[int] = []
    left = max_tokens
    for at in sorted(unique.values(), key=lambda at: (lines[at].worth, -at)):
        cost = count_tokens(lines[at].text) + 1
        if lines[at].worth < _NOTHING and cost <= left:
            kept.append(at)
            left -= cost
    return "\n".join(lines[at].text for at in sorted(kept))


def _of_earlier(earlier: str) -> Iterator[tuple[_Line, str]]:
    for raw in earlier.splitlines():
        match = _LINE.match(raw.strip())
        if match is None:
            yield from ((_Line(_OPEN, f"- {text}"), "") for text in sentences(raw))
        elif match[1] == "User":
            yield from _of_person(match[2])
        else:
            yield _Line(_OPEN if match[1] == "Open question" else _SAID, raw.strip()), ""


def _of_messages(messages: Sequence[Message]) -> Iterator[tuple[_Line, str]]:
    for at, message in enumerate(messages):
        if message.role == "user":
            received = receive(message)
            came = [file.described for file in received.files]
            came += [image.name for image in received.images]
            yield from ((_Line(_SAID, f"- User: [sent {name}]"), "") for name in came)
            yield from _of_person(received.text, answered=_is_answered(messages, at))
        elif message.role == "assistant":
            is_last = at == len(messages) - 1
            yield from ((line, "") for line in _of_assistant(message, last=is_last))


def _of_person(text: str, *, answered: bool = True) -> Iterator[tuple[_Line, str]]:
    """Each line, and what it takes back."""
    for said in sentences(text)[:_MOST_OF_ONE]:
        sentence = read(said)
        line = _line("User", said)
        match sentence.kind:
            case "forget":
                yield _Line(_TOLD, line), sentence.text
            case "ask" if not answered:
                yield _Line(_OPEN, _line("Open question", said)), ""
            case "ask" | "request":
                yield _Line(_STALE, line, said), ""
            case _:
                yield _Line(_worth(said), line, said), ""


def _worth(said: str) -> int:
    if _OWN.search(said):
        return _TOLD
    if _CARRIES.search(said):
        return _NOTED
    return _NOTHING if len(said.split()) <= _CHATTER else _SAID


def _of_assistant(message: Message, *, last: bool) -> Iterator[_Line]:
    for part in message.parts:
        if isinstance(part, ToolCall):
            arguments = msgspec.json.encode(part.arguments).decode()
            yield _Line(_STALE, _line("Tool", f"{part.name} {arguments}"))
        elif isinstance(part, Text):
            for said in sentences(part.text)[:_MOST_OF_ONE]:
                if last and said.endswith("?"):
                    yield _Line(_OPEN, _line("Open question", f"(asked of the user) {said}"))
                else:
                    worth = _STALE if _CARRIES.search(said) else _NOTHING
                    yield _Line(worth, _line("Assistant", said))


def _is_answered(messages: Sequence[Message], at: int) -> bool:
    """Whether the assistant said something to it that was not `I don't know`."""
    for message in messages[at + 1 :]:
        if message.role == "user":
            return False
        said = " ".join(part.text for part in message.parts if isinstance(part, Text))
        if message.role == "assistant" and said:
            return _NO_ANSWER.search(said) is None
    return False


def _line(who: str, text: str) -> str:
    text = " ".join(text.split())
    return f"- {who}: {text if len(text) <= _LONGEST else f'{text[:_LONGEST].rstrip()} …'}"
