"""A question, read once: its words, the people and days it names, and what kind of question it is.

Whatever search, signals, gate and recollection want to know of the question they read here.
"""

from __future__ import annotations

import re

import msgspec

from clawkit.memory.people import KnownPeople, names_of, speaks_of_self
from clawkit.text import calendar
from clawkit.text.tokenizer import asked, content, telling_words, terms

_ASKS = re.compile(
    r"[?\uff1f]|^\s*(?:what|which|who|whom|whose|when|where|why|how|did|does|do|is|are|was|were|can|"
    r"could|would|should|has|have|had)\b|(?:ですか|ますか|の|かな|っけ|だった)[。\s]*$",
    re.IGNORECASE,
)
_WHEN = re.compile(
    r"\bwhen\b|what (?:date|day|year|month)|how long ago|いつ|何月|何日", re.IGNORECASE
)
_NUMBER = re.compile(
    r"\bhow (?:many|much|often|long|old)\b|いくつ|何人|何回|いくら|何歳", re.IGNORECASE
)
_PAST = re.compile(
    r"\b(?:used to|before|previous(?:ly)?|earlier|former(?:ly)?|old|was|were|did|had|originally"
    r"|früher\w*|vorher\w*|zuvor|war|waren|hatten?|damals|ehemalig\w*|alte[rnsm]?"
    r"|avant|était|étaient|ancien\w*|antes|era|eran|anterior|tenía|prima|aveva|vecchi[oa]"
    r"|tinha|vroeger|vorige|oude|раньше|был[аои]?|eskiden|önce)\b|以前|前は|昔|之前|전에",
    re.IGNORECASE,
)
_SUM = re.compile(
    r"\s*(?:(?:what(?:['’]s| is)|how much is|was (?:ist|sind)|wie ?viel ist|cu[aá]nto es"
    r"|combien font)\s)?"
    r"\s*\(*\d[\d\s.,()]*(?:(?:% (?:of|von|de) |[+*×÷^=%]| [-/x] )[\d\s.,()]*)+\??\s*$",
    re.IGNORECASE,
)
_ABOUT = frozenset(
    terms(
        "tell know say everything anything remember heard wer bin "
        "erzähl erzähle weißt weisst weiß über alles "
        "sabes dime cuéntame sobre todo sais dis raconte sur tout sai dimmi raccontami su tutto "
        "sabe conta tudo weet vertel over знаешь расскажи biliyorsun anlat"
    )
)
"""Words of questions that ask for whatever is known about somebody."""

_HAPPENED = telling_words(
    "happen happened happening going told said did done "
    "passiert passierte geschehen geschah los war gemacht gesagt erzählt "
    "pasó pasado ocurrió hice hicimos passé fait successo fatto aconteceu feito "
    "gebeurd gebeurde gedaan случилось было произошло oldu"
).keys()
"""Words of questions that ask for whatever there was on a day."""


def is_question(text: str) -> bool:
    return _ASKS.search(text) is not None


def is_sum(text: str) -> bool:
    """Whether it is only to be reckoned; a number, a day or a telephone number is not."""
    return _SUM.match(text) is not None


class RecallQuestion(msgspec.Struct, frozen=True):
    """What is asked, and by whom."""

    text: str
    now: float
    people: KnownPeople
    """Whom the Being knows."""

    asker: str
    """Who says "I", casefolded; empty where the Being has one person."""

    named: frozenset[str]
    """Who is asked about, casefolded: those named, and the asker where others speak here, too."""

    days: tuple[calendar.Range, ...]
    """The days that it asks about."""

    masked: str
    """The text with "I" in place of every name that is known."""

    text_to_embed: str
    """The text with "I" in place of whoever speaks here, as memories are embedded."""

    terms: dict[str, float]
    """What is looked up in the index of words, with its weight between 0 and 1."""

    content: frozenset[str]
    """The terms of the words that carry what is asked."""

    telling_words: dict[str, str]
    """The words that say something, names apart, each with its stem."""

    is_about_past: bool
    """Whether it asks for what was so once."""

    is_about_somebody: bool
    """Whether it names a person or a day, or says "I"."""

    is_about_self_only: bool
    """Whether it says nothing but that it is about the one who asks."""

    asks_for_everything: bool
    """Whether it says nothing but whom it is about: somebody, or the one who asks."""

    asks_for_days: bool
    """Whether it says nothing but days, as "What happened last week?"."""

    asks_for_one_day: bool
    """Whether it says nothing but one day, which only what is of that day answers."""

    asks_when: bool
    asks_for_number: bool
    is_sum: bool
    """Whether it is only to be reckoned."""


def parse_question(text: str, now: float, asker: str, people: KnownPeople) -> RecallQuestion:
    """Read a question of `asker` to a Being that knows these people."""
    asker = asker.casefold()
    own = {name.casefold() for name in people.own}
    says_self = speaks_of_self(text)
    named = names_of(people.names).named(text) - own
    if asker and says_self:
        named |= {asker}
    masked = names_of(people.names | people.own).masked(text)
    text_to_embed = names_of(people.voices).masked(text)
    days = tuple(calendar.ranges(text, now))
    terms_of_content = frozenset(term for word in content(text) for term in word)
    topic = terms_of_content - _ABOUT
    about_self_only = says_self and all(map(speaks_of_self, topic))
    asks_for_days = bool(days) and masked == text and told_beside_days(text, now) <= _HAPPENED
    return RecallQuestion(
        text=text,
        now=now,
        people=people,
        asker=asker,
        named=named,
        days=days,
        masked=masked,
        text_to_embed=text_to_embed,
        terms=asked(text),
        content=terms_of_content,
        telling_words=telling_words(masked),
        is_about_past=_PAST.search(text) is not None,
        is_about_somebody=masked != text or says_self or bool(days),
        is_about_self_only=about_self_only,
        asks_for_everything=(
            topic <= terms(" ".join(named)).keys() if named and topic else about_self_only
        ),
        asks_for_days=asks_for_days,
        asks_for_one_day=asks_for_days and all(first == last for first, last in days),
        asks_when=_WHEN.search(text) is not None,
        asks_for_number=_NUMBER.search(text) is not None,
        is_sum=is_sum(text),
    )


def told_beside_days(text: str, now: float) -> frozenset[str]:
    """The words of a question that say something, and are not of the days that it names."""
    rest, end = "", 0
    for day in calendar.mentions(text, calendar.day_of(now), asking=True):
        rest += f"{text[end : day.start]} "
        end = day.end
    return frozenset(telling_words(rest + text[end:]))
