"""What the offline model says: short, honest, and only from what it was told."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from msgspec import Struct

from clawkit.assistant.offline.attachments import Attached, best_sentence
from clawkit.assistant.offline.hearing import take
from clawkit.assistant.offline.memory import Found, Memory, Told
from clawkit.assistant.offline.sentences import Sentence, read_question, read_sentence
from clawkit.assistant.offline.words import content, language_of, sentences

INTRODUCTION = (
    "(I am Clawkit's offline assistant, not a language model: I remember what you tell me "
    "and answer from it. For a real model, run `claw setup`.)"
)
UNKNOWN = "You haven't told me that, so I don't know."

_ABLE = (
    "Tell me something to remember (“My favorite color is blue”), ask me about it later, ask "
    "“What do you know about me?”, or say “forget …”. I can also look things up in a text you "
    "attach."
)
_NOT_A_MODEL = (
    "I'm Clawkit's offline assistant: not a language model, just a memory for what you tell me. "
    "`claw setup` connects a real model."
)
_SMALL_TALK = {
    "greet": "Hello! Tell me something to remember, or ask me about what you told me.",
    "thank": "You're welcome.",
    "bye": "Goodbye! What you told me stays in this session.",
    "agree": "All right.",
    "help": _ABLE,
}
_REQUEST = "I can't do that: I only remember what I'm told and answer from it."
_KEPT = "I've kept that word for word; ask me what you said about it whenever you like."

_EVERYTHING = re.compile(
    r"^(?:what (?:else )?(?:do|can) you (?:know|remember|recall)(?: so far| about (?:me|us))?|"
    r"what (?:have|did) i "
    r"(?:tell|told|say|said)(?: to)?(?: you)?(?: so far)?|everything you (?:know|remember)(?: "
    r"about me)?|"
    r"all you know(?: about me)?|about me(?:self)?|what you know(?: about me)?|who am i|"
    r"was weißt du (?:alles )?über mich|que sais-tu (?:de|sur) moi|qué sabes (?:de|sobre) mí)$",
    re.IGNORECASE,
)
_SAID_ABOUT = re.compile(
    r"^(?:what (?:exactly )?(?:did|have|had) (?:i|we) (?:say|said|tell|told|mention|mentioned|"
    r"write|wrote|ask)"
    r"(?: to)?(?: you)?(?: earlier| before)? (?:about|of|on|regarding) |what (?:do|can) you "
    r"(?:know|remember) (?:about|of) "
    r"|what about |about |everything (?:you know )?about |what i (?:said|told you) about |"
    r"did i (?:ever )?(?:mention|say anything about|tell you about) |was habe ich über |was "
    r"weißt du über )(.+)$",
    re.IGNORECASE,
)
_WHO_ARE_YOU = re.compile(
    r"^(?:who|what)(?: exactly)? are you\b|^what(?:['’]s| is) your name|^are you (?:an? |the "
    r")?(?:\w+ )?(?:ai|bot|"
    r"robot|human|person|real|language model|llm|chatgpt|gpt|claude|assistant|model|machine|"
    r"offline|there)\b|"
    r"^(?:what|which) (?:model|llm)\b|^wer bist du|^qui es-tu|^quién eres",
    re.IGNORECASE,
)
_WHAT_CAN_YOU_DO = re.compile(
    r"^what can (?:you|i) (?:do|ask)|^how (?:do(?:es)? (?:you|this|it) work|can you help|do i "
    r"use)|^can you help|"
    r"^what are you (?:able|good)|^help",
    re.IGNORECASE,
)
_HOW_ARE_YOU = re.compile(
    r"^how(?:['’]s it going|['’]re you| are (?:you|things))|^wie geht", re.IGNORECASE
)

_SWAPS = {
    "i": "you", "me": "you", "my": "your", "mine": "yours", "myself": "yourself", "am": "are",
    "i'm": "you're", "i've": "you've", "i'd": "you'd", "i'll": "you'll", "we": "you", "us": "you",
    "our": "your", "ours": "yours", "we're": "you're", "we've": "you've", "we'll": "you'll",
    "you": "I", "your": "my", "yours": "mine", "you're": "I'm", "yourself": "myself",
}  # fmt: skip
_SWAP = re.compile(
    r"\b(?:i was|you are|you were|(?:i|we)['’](?:m|ve|d|ll|re)|you['’]re|[a-z]+)\b", re.IGNORECASE
)
_PHRASES = {"i was": "you were", "you are": "I am", "you were": "I was"}


_MOST_LISTED = 30


class Conversation(Struct, frozen=True):
    """What the offline model answers: the last message, and what was told before, oldest first."""

    text: str
    images: tuple[str, ...] = ()
    attached: tuple[Attached, ...] = ()
    attached_before: tuple[Attached, ...] = ()
    first: bool = False


def respond(conversation: Conversation, memory: Memory) -> str:
    """The whole answer. `memory` has everything before the last message."""
    parts = [_received(conversation)]
    said = sentences(conversation.text)
    read = [read_sentence(sentence) for sentence in said]
    parts.append(_acknowledge(memory, read, said))
    asked = [sentence.text for sentence in read if sentence.act == "ask"][:5]
    answers = [_answer(question, memory, conversation) for question in asked]
    parts.extend(dict.fromkeys(answers))
    requested = any(sentence.act == "request" for sentence in read)
    if requested and not conversation.attached:
        parts.append(_REQUEST)
    if not any(parts):
        acts = [sentence.act for sentence in read]
        parts.append(next((_SMALL_TALK[act] for act in acts if act in _SMALL_TALK), _ABLE))
    if conversation.first and _NOT_A_MODEL not in parts:
        parts.append("\n\n" + INTRODUCTION)
    return " ".join(filter(None, parts)).replace(" \n\n", "\n\n").strip()


def _acknowledge(memory: Memory, read: Sequence[Sentence], originals: Sequence[str]) -> str:
    told: list[Told] = []
    gone: list[Told] = []
    forgot = kept = False
    for sentence, original in zip(read, originals, strict=True):
        new, taken = take(memory, sentence, original)
        told += new
        gone += taken
        forgot = forgot or sentence.act == "forget"
        kept = kept or (sentence.act == "tell" and not new)
    said = [_got(told)] if told else []
    if forgot:
        said.append(_forgotten(gone))
    if kept and not said and all(sentence.act != "ask" for sentence in read):
        said.append(_KEPT)
    return " ".join(said)


def _got(told: Sequence[Told]) -> str:
    if len(told) == 1 and told[0].again and not told[0].before:
        return f"Yes, I have that: {_inline(told[0])}."
    got = list(dict.fromkeys(_inline(item) + _was(item) for item in told))
    more = f", and {len(got) - 5} more" if len(got) > 5 else ""
    return f"Got it: {'; '.join(got[:5])}{more}."


def _was(told: Told) -> str:
    return f" (before: {_previous(told)})" if told.before else ""


def _previous(told: Told) -> str:
    return in_second_person(told.before[-1]) or told.before[-1]


def _forgotten(gone: Sequence[Told]) -> str:
    if not gone:
        return "There was nothing like that to forget."
    shown = "; ".join(_inline(told) for told in gone[:5])
    more = f", and {len(gone) - 5} more" if len(gone) > 5 else ""
    return (
        f"I won't use that any more: {shown}{more}. "
        "(The session's record still has the words; `claw sessions delete` erases them.)"
    )


def _answer(text: str, memory: Memory, conversation: Conversation) -> str:
    bare = text.strip().strip("¿?\uff1f!. ")
    for form, answer in _SPECIAL:
        match = form.match(bare)
        if match:
            found = answer(match, memory, conversation)
            if found:
                return found
    question = read_question(text)
    for attached in conversation.attached:
        quote = best_sentence(attached, question)
        if quote:
            return quote
    found = memory.find(question)
    if found:
        return _stated(found, question.asks)
    for attached in reversed(conversation.attached_before):
        quote = best_sentence(attached, question)
        if quote:
            return quote
    if conversation.attached or conversation.images:
        if conversation.images:
            return ""
        read = any(attached.text for attached in conversation.attached)
        return "I found nothing about that in it." if read else "I cannot tell what is in it."
    if question.first_person or not question.needed:
        return UNKNOWN
    return "I can't answer that: I only know what you have told me here."


def _stated(found: Found, asks: str) -> str:
    if found.close:
        lines = "; ".join(_inline(told) for told in found.told[:2])
        what = {"when": "when", "where": "where", "count": "how much"}.get(asks, "that")
        return f"You haven't told me {what}, only this: {lines}."
    return " ".join(_sentence(told) for told in found.told)


def _sentence(told: Told) -> str:
    restated = in_second_person(told.fact.text)
    if restated and not told.fact.subject and not told.fact.of_speaker:
        stated = f"You asked me to remember: {restated}."
    elif restated is None:
        stated = f"You told me: “{told.fact.text}”."
    else:
        stated = f"{restated[:1].upper()}{restated[1:]}."
    if told.before:
        stated += f" Before that you had told me: {_previous(told)}."
    return stated


def _inline(told: Told) -> str:
    text = in_second_person(told.fact.text)
    if text is None:
        return f"“{told.fact.text}”"
    first, _, rest = text.partition(" ")
    if not content(first, "en") and first not in ("I", "I'm"):
        first = first.lower()
    return f"{first} {rest}".strip()


def in_second_person(text: str) -> str | None:
    """`My cat likes me` is `Your cat likes you`; None in languages where this is not so easy."""
    if language_of(text) != "en":
        return None

    def swap(match: re.Match[str]) -> str:
        word = match.group()
        plain = word.lower().replace("’", "'")
        swapped = _PHRASES.get(plain) or _SWAPS.get(plain)
        # US and I are not US and i: a capital word inside a sentence is a name.
        if swapped is None or (word.isupper() and len(word) > 1):
            return word
        return (
            swapped[:1].upper() + swapped[1:] if word[0].isupper() and plain[0] != "i" else swapped
        )

    return _SWAP.sub(swap, text)


def _everything(_: re.Match[str], memory: Memory, __: Conversation) -> str:
    if not memory.told:
        return "Nothing yet: you haven't told me anything to remember in this conversation."
    mine = [told for told in memory.told if told.fact.first_person]
    others = [told for told in memory.told if not told.fact.first_person]
    # What people tell of themselves goes before the rest, and the newest before the oldest.
    kept = mine[-_MOST_LISTED:]
    room = _MOST_LISTED - len(kept)
    kept += others[len(others) - room :] if room < len(others) else others
    left = len(memory.told) - len(kept)
    more = [f"- … and {left} things more; ask me about one of them"] if left else []
    return "\n".join(["You told me:", *(f"- {_sentence(told)}" for told in kept), *more])


def _said_about(match: re.Match[str], memory: Memory, conversation: Conversation) -> str:
    topic = match.group(1)
    if topic.lower() in ("me", "myself", "us"):
        return _everything(match, memory, conversation)
    words = content(topic)
    if not words:
        return ""
    said = [sentence for sentence in memory.said if words <= content(sentence)]
    if said:
        return "You said: " + " ".join(f"“{sentence}”" for sentence in said[-5:])
    about = memory.about(words)
    if about:
        return " ".join(_sentence(told) for told in about[-5:])
    quotes = (conversation.attached, conversation.attached_before)
    return "" if any(quotes) else f"You haven't said anything about {topic} that I have."


def _who_am_i(match: re.Match[str], memory: Memory, _: Conversation) -> str:
    named = memory.find(read_question(match.string))
    return _stated(named, "") if named else _NOT_A_MODEL


def _always(text: str) -> Callable[[re.Match[str], Memory, Conversation], str]:
    return lambda _match, _memory, _conversation: text


_SPECIAL: tuple[
    tuple[re.Pattern[str], Callable[[re.Match[str], Memory, Conversation], str]], ...
] = (
    (_EVERYTHING, _everything),
    (_SAID_ABOUT, _said_about),
    (_HOW_ARE_YOU, _always("Fine, thank you. What should I remember?")),
    (_WHO_ARE_YOU, _who_am_i),
    (_WHAT_CAN_YOU_DO, _always(_ABLE)),
)


def _received(conversation: Conversation) -> str:
    came = [*conversation.images, *(attached.described for attached in conversation.attached)]
    if not came:
        return ""
    text = f"I received {', '.join(came)}."
    if conversation.images:
        it = "it" if len(conversation.images) == 1 else "them"
        text += f" I cannot see what is in {it}."
    return text
