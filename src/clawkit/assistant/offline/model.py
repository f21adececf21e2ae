"""The embedded default: no key, no network, and no language model, which it says.

It answers with what was said in the session and what memory recalls, computes sums and dates, and
describes attachments. Nothing is kept between two prompts: all it knows is in the messages, and in
the lines that recall and compaction put into the system prompt.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec import Struct

from clawkit.assistant.chat_commands import mistyped_command
from clawkit.assistant.media.containers import dimensions
from clawkit.assistant.media.prompt_parts import Attached, Received, receive
from clawkit.assistant.offline.calculator import compute, tell_date
from clawkit.assistant.offline.phrases import (
    ENGLISH,
    Phrases,
    every_language,
    phrases_for,
    phrases_in,
)
from clawkit.assistant.offline.statements import (
    Sentence,
    Statement,
    find,
    inline,
    is_taken_back,
    later,
    leads,
    nearest,
    read_all,
    statements,
    told,
)
from clawkit.assistant.prompt import EARLIER, FORGOTTEN, ONLY_HERE, REMEMBERED
from clawkit.models.protocol import (
    Event,
    Finished,
    Image,
    Prompt,
    TextDelta,
    Usage,
    count_tokens,
    prompt_tokens,
)
from clawkit.text.remarks import is_thanks
from clawkit.text.spoken_secrets import remove_secrets
from clawkit.text.tokenizer import content, sentences, terms

if TYPE_CHECKING:
    from clawkit.memory.recall.signals import RecallQuestion

_SUMMARIZE = re.compile(
    r"summar|tl;?dr|zusammenfass|\bfass\w* .*zusammen|résum|resum|要約|总结|摘要", re.IGNORECASE
)
_LINE = re.compile(r"^- (User: |Noted: |Assistant: |Tool: |Open question: |)(?!<attachment)(.+)$")
_DATED = re.compile(r"^(\d{4}-\d\d-\d\d(?:, \d{4}-\d\d-\d\d)*)(?:, ([^—]+?))? — (.+)$")
_DATED_ELSEWHERE = re.compile(
    r"^(\d{4}-\d\d-\d\d)(?: \d\d:\d\d)?(?: until \d{4}-\d\d-\d\d| \(earlier\))?"
    r"(?:, ([^:]+))?: (.+)$"
)
"""As a Being that is served elsewhere tells it, with what was said around it in brackets."""
_BRACKETS = r"\((?!\d{4}-\d\d-\d\d\))(?:[^()]|\([^()]*\))*\)"
_AROUND = re.compile(rf"^{_BRACKETS} (?=\S)|(?<=\S) {_BRACKETS}$")
_SEARCHED = 2_000_000
"""Characters of a file in which answers are looked for."""
_EXTRACTED = 5
"""Sentences of an extract."""
_LONGEST_QUOTE = 400
_MOST_ACKNOWLEDGED = 5
_MOST_QUESTIONS = 5
_MOST_ASIDE = 2
_MOST_CLOSE = 3
_MOST_LISTED = 30
_MOST_DAYS = 8
"""Of so many days all is told where a question says little beside them."""


class Conversation(Struct, frozen=True):
    """The last message, taken apart, and what came before it: words, and files, newest first."""

    last: Received
    heard: tuple[Statement, ...]
    attached_before: tuple[Attached, ...]
    is_first: bool
    is_all: bool
    """Whether nothing is remembered beyond it."""
    forgotten: str
    """What memory forgot at the last message."""
    phrases: Phrases


class Offline:
    """Answers with what it was told, and computes what can be computed."""

    @property
    def name(self) -> str:
        return "offline"

    @property
    def context(self) -> int:
        return 1_000_000

    async def stream(self, prompt: Prompt) -> AsyncIterator[Event]:
        # In a thread: vectors may have to be loaded, and others are answered meanwhile.
        answer = await asyncio.to_thread(answer_to, prompt)
        yield TextDelta(answer)
        usage = Usage(input=prompt_tokens(prompt), output=count_tokens(answer))
        yield Finished("end", usage, self.name)

    async def close(self) -> None:
        """Nothing to close."""


def answer_to(prompt: Prompt) -> str:
    """The answer to the last message of the person."""
    messages = [receive(message) for message in prompt.messages if message.role == "user"]
    last = messages.pop() if messages else Received("")
    said = (Statement(text, text) for text in map(_without_small_talk, (m.text for m in messages)))
    heard = (*_recalled(prompt.system), *said)
    spoke = any(message.role == "assistant" for message in prompt.messages)
    conversation = Conversation(
        last,
        heard,
        tuple(file for message in reversed(messages) for file in message.files),
        is_first=not spoke and EARLIER not in prompt.system,
        is_all=ONLY_HERE in prompt.system.split("\n\n"),
        forgotten=next(
            (
                part.removeprefix(f"{FORGOTTEN} ")
                for part in prompt.system.split("\n\n")
                if part.startswith(f"{FORGOTTEN} ")
            ),
            "",
        ),
        phrases=phrases_for(
            last.text,
            "\n".join(message.text for message in messages),
            "\n".join(one.text for one in heard if one.own),
        ),
    )
    answer = " ".join(filter(None, _parts(conversation)))
    introduction = conversation.phrases.introduction
    if conversation.is_first and introduction.strip("()") not in answer:
        answer = f"{answer}\n\n{introduction}"
    return answer


def _recalled(system: str) -> Iterator[Statement]:
    """What was said before the messages: elsewhere, then in this conversation."""
    before, earlier, section = f"\n{system}".rpartition(f"\n{EARLIER}\n")
    _, remembered, elsewhere = (before if earlier else section).rpartition(f"\n{REMEMBERED}\n")
    for who, line in _lines(elsewhere) if remembered else ():
        if who in ("User: ", "Noted: "):
            yield _remembered(line, own=who == "User: ")
    lines = _lines(section) if earlier else []
    # Lines that say whose they are, are believed; a summary may have none of them.
    signed = any(who for who, _ in lines)
    yield from (Statement(text, text) for who, text in lines if who == ("User: " if signed else ""))


def _remembered(line: str, *, own: bool) -> Statement:
    """A line of recalled memory as a statement: days, speaker and words."""
    days, speaker, text = "", "", line
    if match := _DATED.match(line):
        days, speaker, text = match.groups(default="")
    elif not own and (match := _DATED_ELSEWHERE.match(line)):
        days, speaker, text = match.groups(default="")
        text = _AROUND.sub("", text)
    text = _without_small_talk(text)
    return Statement(text, text, tuple(filter(None, days.split(", "))), own, speaker)


def _lines(section: str) -> list[tuple[str, str]]:
    matches = (_LINE.match(line) for line in section.splitlines())
    return [(match[1], match[2]) for match in matches if match]


def _parts(conversation: Conversation) -> Iterator[str]:
    last = conversation.last
    yield _received(last)
    whole = last.text.strip()
    phrases = conversation.phrases
    if small := _small_talk(whole, phrases):
        yield small
    elif not whole:
        yield "" if last.files or last.images else phrases.able
    elif answered := mistyped_command(last.text) or compute(whole):
        yield answered
    elif _SUMMARIZE.search(whole) and (extracted := _extract(conversation)):
        yield extracted
    else:
        yield from _to_sentences(whole, conversation)


def _small_talk(text: str, phrases: Phrases) -> str:
    """The answer to thanks, a greeting and the like, in the language that they are in."""
    every = every_language(phrases)
    bare = text.strip("¡¿ !.?,").lower()
    if is_thanks(text):
        return next((one for one in every if re.search(one.on_thanks, bare)), phrases).welcome
    return next(filter(None, (one.small_talk(bare) for one in every)), "")


def _is_small_talk(text: str) -> bool:
    return bool(_small_talk(text, phrases_in(ENGLISH)))


def _without_small_talk(text: str) -> str:
    return "\n".join(one for one in sentences(text) if not _is_small_talk(one))


def _to_sentences(text: str, conversation: Conversation) -> Iterator[str]:
    """Acknowledge what the message states, then answer what it asks."""
    said = _read(text)
    # What an answer repeats may be read by others, and memory takes it out as well.
    shown = remove_secrets(text)[0]
    repeated = said if shown == text else _read(shown)
    yield _acknowledged([one for one in repeated if one.kind == "state"], conversation.phrases)
    for one in said:
        if one.kind == "forget":
            yield conversation.forgotten or _forgotten(one.text, conversation)
    asked = [one.said for one in said if one.kind == "ask"][:_MOST_QUESTIONS]
    known = statements((*conversation.heard, Statement(text, text))) if asked else []
    yield from dict.fromkeys(_answer(one, known, conversation) for one in asked)
    if any(one.kind == "request" for one in said) and not conversation.last.files:
        yield conversation.phrases.needs_a_model
    if not said:
        yield _small_talk(sentences(text)[0], conversation.phrases)


def _read(text: str) -> list[Sentence]:
    return [one for one in read_all(text) if not _is_small_talk(one.said)]


def _acknowledged(stated: Sequence[Sentence], phrases: Phrases) -> str:
    if not stated:
        return ""
    got = list(dict.fromkeys(inline(one, phrases) for one in stated))
    more = len(got) - _MOST_ACKNOWLEDGED
    rest = phrases.more.format(count=more) if more > 0 else ""
    return f"{phrases.got.format(told='; '.join(got[:_MOST_ACKNOWLEDGED]))}{rest}."


def _forgotten(named: str, conversation: Conversation) -> str:
    known, phrases = statements(conversation.heard), conversation.phrases
    gone = [inline(one, phrases) for one in known if is_taken_back(one.text, named)]
    if gone:
        unused = phrases.unused.format(told="; ".join(gone[-_MOST_ACKNOWLEDGED:]))
        where = phrases.still_kept.format(how=phrases.retract)
        return f"{unused} {phrases.said_here if conversation.is_all else where}"
    closest = _closest(nearest(named, known, _MOST_CLOSE), phrases)
    how = "" if conversation.is_all else f" {phrases.retract}"
    return f"{phrases.nothing_to_forget}{f' {closest}{how}' if closest else ''}"


def _answer(question: str, known: Sequence[Statement], conversation: Conversation) -> str:
    last = conversation.last
    if computed := compute(question) or tell_date(question):
        return computed
    if _asks_for_everything(question):
        return _everything(known, conversation)
    return (
        _quoted(last.files, question, conversation.phrases)
        or _told(question, known, conversation.phrases)
        or _quoted(conversation.attached_before, question, conversation.phrases)
        or _not_in(last)
        or _of_days(question, known, conversation.phrases)
        or _nothing_of_day(question, conversation.phrases)
        or (
            ""
            if last.images
            else _closest(nearest(question, known, _MOST_CLOSE), conversation.phrases)
        )
        or _not_found(conversation)
    )


def _of_days(question: str, known: Sequence[Statement], phrases: Phrases) -> str:
    """What was said of the days that a question names; what has no day was said just now.

    Where it asks for more than the days, only what is nearest to it.
    """
    from clawkit.memory.recall.signals import told_beside_days
    from clawkit.text.calendar.named_days import day_of, fit

    now = time.time()
    asked, today = _parsed(question, now), day_of(now).isoformat()
    found = [one for one in known if fit(one.days or (today,), asked.days) >= 1]
    is_short = all((last - first).days < _MOST_DAYS for first, last in asked.days)
    says_more = len(told_beside_days(question, now)) > 1 or not is_short
    if says_more and not asked.asks_for_days:
        return _closest(nearest(question, found, _MOST_CLOSE), phrases)
    lines = (f"- {told(one, phrases, dated=True)}" for one in found)
    return "\n".join((phrases.from_then, *lines)) if found else ""


def _nothing_of_day(question: str, phrases: Phrases) -> str:
    """What to say to a question for nothing but a day of which nothing is known."""
    asked = _parsed(question, time.time())
    if not asked.asks_for_one_day:
        return ""
    return phrases.nothing_of_day.format(days=", ".join(str(first) for first, _ in asked.days))


def _parsed(question: str, now: float) -> RecallQuestion:
    from clawkit.memory.people import KnownPeople
    from clawkit.memory.recall.signals import parse_question

    nobody = KnownPeople(names=frozenset(), own=frozenset(), speakers=None)
    return parse_question(question, now, "", nobody)


def _closest(found: Sequence[Statement], phrases: Phrases) -> str:
    shown = "; ".join(_aside(one, phrases) for one in found)
    return phrases.closest.format(told=shown.rstrip(".")) if shown else ""


def _aside(one: Statement, phrases: Phrases) -> str:
    if one.own:
        return inline(one, phrases)
    quote = f"“{one.said.rstrip('.')}”"
    return phrases.aside_on.format(quote=quote, day=one.when) if one.when else quote


def _told(question: str, known: Sequence[Statement], phrases: Phrases) -> str:
    """The newest that answers or says what became of it, and what was said before and since."""
    found = find(question, known)
    if not found:
        return ""
    since = [one for one in later(question, found[0], known) if one not in found]
    order = [*since, *found]
    newest = next(
        (at for at, one in enumerate(since) if leads(question, found[0], one)), len(since)
    )
    lead, before = order[newest], order[newest + 1 :]
    # What is on the matter of what was said first need not be on that of what came of it.
    after = later(question, lead, order[newest::-1])
    asides = [
        f" ({phrase.format(quotes='; '.join(_dated(one, phrases) for one in some[:_MOST_ASIDE]))})"
        for phrase, some in ((phrases.later, after), (phrases.earlier, before))
        if some
    ]
    return f"{told(lead, phrases, dated=bool(asides))}{''.join(asides)}"


def _dated(one: Statement, phrases: Phrases) -> str:
    quote = f"“{one.said}”"
    return phrases.on.format(quote=quote, day=one.when) if one.when else quote


def _asks_for_everything(question: str) -> bool:
    bare = question.strip(" ¿?!.").lower()
    return any(re.fullmatch(one.on_everything, bare) for one in every_language(phrases_in(ENGLISH)))


def _everything(known: Sequence[Statement], conversation: Conversation) -> str:
    phrases = conversation.phrases
    if not known:
        return f"{phrases.nothing_yet} {_elsewhere(conversation)}"
    lines = [f"- {told(one, phrases)}" for one in known[-_MOST_LISTED:]]
    more = len(known) - len(lines)
    rest = [f"- {phrases.known_more.format(count=more)}"] if more else []
    return "\n".join((phrases.known, *lines, *rest))


def _received(last: Received) -> str:
    came = [*map(describe_image, last.images), *(file.described for file in last.files)]
    text = f"I received {', '.join(came)}." if came else ""
    if last.images:
        text += f" I cannot see what is in {'it' if len(last.images) == 1 else 'them'}."
    return text


def _quoted(files: Sequence[Attached], question: str, phrases: Phrases) -> str:
    return next(filter(None, (quoted(file, question, phrases) for file in files)), "")


def _extract(conversation: Conversation) -> str:
    """An extract of the files of this message, else of the last file before it."""
    if conversation.last.files:
        texts = [file for file in conversation.last.files if file.text]
    else:
        texts = [file for file in conversation.attached_before if file.text][:1]
    return " ".join(map(extract, texts))


def _not_in(last: Received) -> str:
    """What to say where the answer is not in the files that came with the question."""
    if last.files:
        read_any = any(file.text for file in last.files)
        return "I found nothing about that in it." if read_any else "I cannot tell what is in it."
    return ""


def _not_found(conversation: Conversation) -> str:
    if conversation.last.images:
        return ""
    phrases = conversation.phrases
    hint = "" if conversation.is_first else f" {phrases.connects}"
    return f"{phrases.not_found} {_elsewhere(conversation)}{hint}"


def _elsewhere(conversation: Conversation) -> str:
    """The sentence that says where else to look."""
    phrases = conversation.phrases
    return phrases.only_this if conversation.is_all else phrases.lists


def quoted(attached: Attached, question: str, phrases: Phrases) -> str:
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
    quote = best if len(best) <= _LONGEST_QUOTE else f"{best[:_LONGEST_QUOTE].rstrip()} …"
    return phrases.says.format(name=attached.name, quote=f"“{quote}”") if quote else ""


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
    quotes = " ".join(f"{said[at][:_LONGEST_QUOTE]}{' […]' if at in gaps else ''}" for at in chosen)
    return f"An extract, {len(chosen)} of {len(said):,} sentences: “{quotes}”"


def describe_image(image: Image) -> str:
    """`cat.png (image/png, 12,345 bytes, 640 × 480 pixels)`."""
    size = dimensions(image.data)
    pixels = f", {size[0]} × {size[1]} pixels" if size else ""
    return f"{image.name} ({image.mime_type}, {len(image.data):,} bytes{pixels})"
