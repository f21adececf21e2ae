"""Reads what a person states: who or what a sentence is about, and what it says about it.

A `Fact` is one clause. Its `slot` is what it fills: a later fact with the same slot replaces it,
as `My favorite color is green` replaces `My favorite color is blue`. Most facts have none, for
`I like tea` and `I like coffee` are both true.
"""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

from clawkit.assistant.offline.words import WORD, Language, content, key, language_of, listed

Kind = Literal["time", "number", "place", "other"]
Slot = tuple[str, ...]


class Fact(Struct, frozen=True):
    """Something that was told, as it was told."""

    text: str
    language: Language
    words: frozenset[str]
    subject: str = ""
    """What it is about, as written; empty where the clause could not be taken apart."""
    about: frozenset[str] = frozenset()
    head: str = ""
    """The word of the subject that must be asked for: `color` in `my favorite color`."""
    owners: frozenset[str] = frozenset()
    """Whose it is, when not the speaker's: `anna` in `Anna's number`."""
    value: str = ""
    kind: Kind = "other"
    of_speaker: bool = False
    """The subject is I or we."""
    first_person: bool = False
    second_person: bool = False
    negative: bool = False
    slot: Slot = ()
    core: frozenset[str] = frozenset()
    """Its words without the negation, to find what it takes back."""


_TIME = re.compile(
    r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\b(?:january|february|march|april|june|july|"
    r"august|september|october|november|december|may \d|\d+(?:st|nd|rd|th)? (?:of )?may)\b|"
    r"\b(?:today|tonight|tomorrow|yesterday|noon|midnight|morning|afternoon|evening|weekend)\b|"
    r"\b(?:next|last|this|every) (?:week|month|year|spring|summer|autumn|fall|winter)\b|"
    r"\b\d{1,2}(?::\d\d)?\s?[ap]\.?m\b|\b\d{1,2}:\d\d\b|o['’]clock|\b(?:19|20)\d\d\b|"
    r"\b\d{4}-\d\d-\d\d\b|\b\d{1,2}[./]\d{1,2}\b|\b(?:in|for|since) \d+ (?:minute|hour|day|week|"
    r"mon|year)|"
    r"\b(?:jan|feb|mar|apr|jun|jul|aug|sep|sept|oct|nov|dec)\.? \d",
    re.IGNORECASE,
)
_PLACE = re.compile(
    r"\b(?:in|at|on|under|near|behind|inside|beside|between|from|to|above|below|outside|opposite|"
    r"next to|around|by) (?:the |my |our |a |an )?[^\W\d_]",
    re.IGNORECASE,
)
_NUMBERS = listed(
    """zero one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty
    sixty seventy eighty ninety hundred thousand million"""
)
_NUMBER = re.compile(rf"\d|\b(?:{'|'.join(sorted(_NUMBERS))})\b", re.IGNORECASE)
_NEGATION = re.compile(
    r"\b(?:not|never|no longer|no|none|cannot|nicht|kein\w*|pas|jamais|nunca)\b|n['’]t\b|"
    r"不|没|ない",
    re.IGNORECASE,
)

_BE = listed("is are was were am be ist sind war est sont était es son era became become becomes")
_HELPERS = listed(
    """isn't aren't wasn't weren't has have had hasn't haven't will won't can can't cannot must
    should shouldn't does doesn't did didn't do don't would could might may"""
)
_VERBS = _BE | _HELPERS
_PLAIN_VERBS = listed(
    """lives live works work likes like loves love hates hate prefers prefer wants want needs need
    owns own drives speaks speak plays play studies study uses use leaves leave starts start begins
    begin ends arrives arrive costs cost weighs knows know eats eat drinks comes come goes go takes
    take runs run meets meet opens open closes close happens means contains belongs moved owes sells
    buys bought met says thinks changed measures turns stands sits keeps lived worked started ended
    decided got wohnt heißt arbeitet mag habite travaille s'appelle vive trabaja"""
)
_PAST = frozenset({"was", "were", "had", "did", "war", "était", "era", "wasn't", "weren't"})
_IS = re.compile(r"^(it|that|there|here|he|she|this)['’]s$", re.IGNORECASE)

_ATTRIBUTES = frozenset(
    map(
        key,
        listed(
            """color name number address birthday age job email password code pin city town country
            size height weight deadline budget price title status version capital date time salary
            anniversary username id passphrase codename word hometown zip farbe nummer adresse
            geburtstag couleur nom numéro nombre número dirección"""
        ),
    )
)
_FAVORITE = re.compile(r"^(?:favorit|liebling|prefer|preferid)")
_RENEWED = frozenset(map(key, ("new", "current", "latest", "updated", "real")))

_FIRST = listed(
    """i me my mine myself we us our ours i'm i've i'd i'll we're we've ich mich mir mein meine
    meinen meiner wir uns je j'ai j'habite mon ma mes moi nous yo mi mis mí soy vivo"""
)
_SECOND = listed("you your yours yourself you're you've dein deine du ton ta tu tes tus")

_SPEAKER = re.compile(
    r"^(?:i|we|ich|wir|je|yo)\b(?:['’](?:m|re|ve|d|ll))?|^j['’](?=\w)|^(?=vivo |soy )",
    re.IGNORECASE,
)
_ADVERBS = re.compile(
    r"^(?:(?:now|also|really|currently|actually|always|usually|still|just|often|mostly|only|both|"
    r"definitely|probably|recently)\s+)+",
    re.IGNORECASE,
)
_CALLED = re.compile(r"^(?:now )?(?:called|named)\s+", re.IGNORECASE)
_NOW = re.compile(
    r"^(?:(?:now|actually|going to be|been|be|changed to)\s+)+|,?\s+now$", re.IGNORECASE
)
_AND = re.compile(
    r"(?:,\s*|\s+)(?:and|but)\s+(?=(?:I|i|we|We|my|our|the|he|she|they|his|her|their|"
    r"[A-Z]\w+(?:['’]s)?)"
    r"(?:['’]\w+)?\s)"
)


def clauses(sentence: str) -> list[str]:
    """`My name is Anna and I live in Lisbon` states two things."""
    pieces = _AND.split(sentence)
    if len(pieces) == 1:
        return pieces
    found = [pieces[0]]
    for piece in pieces[1:]:
        if _verb_at(piece) is not None and _verb_at(found[-1]) is not None:
            found.append(piece)
        else:
            found[-1] = sentence[sentence.index(found[-1]) : sentence.index(piece) + len(piece)]
    return found


def read_fact(clause: str) -> Fact:
    """What a clause says, taken apart as far as it goes."""
    text = clause.strip(" \t,;:").rstrip(".!\u3002\uff01…").strip()
    language = language_of(text)
    if language == "cjk":
        return _read_cjk(text)
    words = frozenset(word.replace("’", "'") for word in WORD.findall(text.lower()))
    first, second = not words.isdisjoint(_FIRST), not words.isdisjoint(_SECOND)
    negative = _NEGATION.search(text) is not None
    found = _verb_at(text)
    if found is None:
        loose = content(text, language)
        return Fact(text, language, loose, first_person=first, second_person=second,
                    negative=negative, core=loose)  # fmt: skip
    start, end = found
    verb = text[start:end].strip()
    subject = text[:start].strip(" ,")
    value = _NOW.sub("", text[end:].strip())
    speaker = _SPEAKER.match(text) is not None
    about = frozenset[str]() if speaker else content(subject, language)
    owners = _owners(subject)
    kind = kind_of(value)
    relation, value, implied = _relation(verb, value, kind, speaker)
    all_words = content(text, language) | implied
    return Fact(
        text=text,
        language=language,
        words=all_words,
        subject=subject,
        about=about,
        head="" if speaker else _head(subject, language),
        owners=owners,
        value=value,
        kind=kind,
        of_speaker=speaker,
        first_person=first,
        second_person=second,
        negative=negative,
        slot=()
        if negative
        else _slot(relation, about, kind, value, speaker=speaker, second=second),
        core=all_words - {"longer", "never", "anymore", "any"},
    )


def kind_of(value: str) -> Kind:
    if _TIME.search(value):
        return "time"
    if _PLACE.search(value):
        return "place"
    return "number" if _NUMBER.search(value) else "other"


def has_time(text: str) -> bool:
    return _TIME.search(text) is not None


def has_place(text: str) -> bool:
    """Somewhere is named, beyond `on Friday`."""
    return _PLACE.search(_TIME.sub("", text)) is not None


def has_number(text: str) -> bool:
    return _NUMBER.search(text) is not None


def is_negative(text: str) -> bool:
    return _NEGATION.search(text) is not None


def _verb_at(text: str) -> tuple[int, int] | None:
    """Where the verb of an English, German, French or Spanish clause stands."""
    speaker = _SPEAKER.match(text)
    if speaker:
        return _verb_of_speaker(text, speaker.end())
    matches = list(WORD.finditer(text))[:12]
    for at, match in enumerate(matches):
        word = match.group().lower().replace("’", "'")
        if at == 0:
            if _IS.match(word):
                return match.start() + word.index("'"), match.end()
            continue
        if word in _VERBS:
            return match.start(), match.end()
    # `The cost is 5`: a word that can be a noun is the verb only where there is no other.
    plain = (match for match in matches[1:6] if match.group().lower() in _PLAIN_VERBS)
    contracted = _contracted_is(text)
    return contracted or next(((match.start(), match.end()) for match in plain), None)


def _verb_of_speaker(text: str, end: int) -> tuple[int, int] | None:
    pronoun = text[:end]
    if "'" in pronoun[1:] or "’" in pronoun[1:]:
        cut = max(pronoun.rfind("'"), pronoun.rfind("’"))
        if pronoun[cut + 1 :].lower() in ("m", "re"):
            return cut, end
    rest = text[end:]
    lead = len(rest) - len(rest.lstrip())
    adverbs = _ADVERBS.match(rest[lead:])
    start = end + lead + (adverbs.end() if adverbs else 0)
    verb = WORD.match(text, start)
    return (verb.start(), verb.end()) if verb else None


def _contracted_is(text: str) -> tuple[int, int] | None:
    """`The deploy's on Friday`: an 's that is not a possessive, since no other verb follows."""
    match = re.match(r"^(?:[^\W_]+ ){0,4}?[^\W_]+(['’]s) (?:on|in|at|not|a|an|the|called)\b", text)
    return (match.start(1), match.end(1)) if match else None


def _relation(verb: str, value: str, kind: Kind, speaker: bool) -> tuple[str, str, frozenset[str]]:
    """What the verb says, the value without it, and words that are meant but not written."""
    name = verb.lower().replace("’", "'").lstrip("'")
    past = "past " if name in _PAST or value.lower().startswith("used to") else ""
    stem = key(name)
    if name in ("s", "m", "re") or name in _BE or stem == key("changed") or name == "will":
        called = _CALLED.match(value)
        if called:
            return past + "name", value[called.end() :], frozenset({key("name")})
        if speaker and re.fullmatch(r"[A-Z][\w-]+(?: [A-Z][\w-]+)?", value):
            return past + "name", value, frozenset({key("name")})
        if speaker and kind == "number" and re.match(r"\d{1,3}\b", value):
            return past + "age", value, frozenset({"old", "age", "ag"})
        return past + "be", value, frozenset()
    if stem in (key("live"), key("wohne"), key("habite"), key("vivo")):
        return past + "live", value, frozenset()
    if stem in map(key, ("heiße", "m'appelle", "llamo")):
        return past + "name", value, frozenset({key("name")})
    return past + stem, value, frozenset()


def _slot(
    relation: str, about: frozenset[str], kind: Kind, value: str, *, speaker: bool, second: bool
) -> Slot:
    subject = (*sorted(about - _RENEWED), *(["your"] if second else []))
    if relation.removeprefix("past ") in ("name", "live", "age") and (subject or speaker):
        return (relation, *subject)
    if relation.endswith((key("have"), key("has"))):
        counted = content(value, "en") - {key(word) for word in _NUMBERS}
        numbered = kind == "number" and len(counted) <= 3
        return (
            (relation, *subject, *sorted(w for w in counted if not w.isdigit())) if numbered else ()
        )
    if not relation.endswith("be") or not subject:
        return ()
    if any(word in _ATTRIBUTES or _FAVORITE.match(word) for word in subject):
        return (relation, *subject)
    return (relation, *subject, kind) if kind in ("time", "number") else ()


def _owners(subject: str) -> frozenset[str]:
    """`Anna's sister's`, and `of my cat`."""
    found = re.findall(r"([^\W_]+)['’]s?(?=\s)", subject)
    found += re.findall(r"\bof (?:(?:my|our|his|her|their) |(?=[A-Z]))([^\W_]+)", subject)
    return frozenset(map(key, found))


def _head(subject: str, language: Language) -> str:
    before = re.split(r"\s(?:of|for|in|with|from|at|on|to|by|de|del|du|von)\s", subject)[0]
    words = [word for word in WORD.findall(before) if content(word, language)]
    if not words:
        return ""
    # The noun comes last in English and German, first in French and Spanish.
    return key(words[-1] if language in ("en", "de") else words[0])


def _read_cjk(text: str) -> Fact:
    words = content(text, "cjk")
    first = re.search("我|私|僕|俺|わたし|ぼく|나|내", text) is not None
    parts = re.split("是|は|叫|住在", text, maxsplit=1)
    subject, value = (parts[0], parts[1]) if len(parts) == 2 else ("", "")
    value = re.sub("(?:です|だ|でした)$", "", value).strip()
    about = content(subject, "cjk")
    negative = _NEGATION.search(text) is not None
    slot = ("be", *sorted(about)) if about and not negative and re.search("的|の", subject) else ()
    return Fact(text, "cjk", words, subject=subject, about=about, value=value, kind=kind_of(value),
                first_person=first, negative=negative, slot=slot, core=words)  # fmt: skip
