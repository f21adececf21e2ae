"""A question, read once: its words, the people and days it names, and what kind of question it is.

Whatever a search wants to know of the question it reads here. Each of it is worked out when it is
first read, and then kept.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

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


def is_question(text: str) -> bool:
    return _ASKS.search(text) is not None


def is_sum(text: str) -> bool:
    """Whether it is only to be reckoned; a number, a day or a telephone number is not."""
    return _SUM.match(text) is not None


@dataclass(frozen=True)
class RecallQuestion:
    """What is asked, by whom, and whom the Being knows; `asker` says "I"."""

    text: str
    now: float
    asker: str
    """Casefolded; empty where the Being has one person."""

    people: KnownPeople

    @cached_property
    def named(self) -> frozenset[str]:
        """Who is asked about, casefolded: those named, and the asker where others speak too."""
        named = names_of(self.people.names).named(self.text)
        named -= {name.casefold() for name in self.people.own}
        return named | {self.asker} if self.asker and self.says_self else named

    @cached_property
    def days(self) -> tuple[calendar.Range, ...]:
        """The days that it asks about."""
        return tuple(calendar.ranges(self.text, self.now))

    @cached_property
    def masked(self) -> str:
        """The text with "I" in place of every name that is known."""
        return names_of(self.people.names | self.people.own).masked(self.text)

    @cached_property
    def text_to_embed(self) -> str:
        """The text with "I" in place of whoever speaks here, as memories are embedded."""
        return names_of(self.people.voices).masked(self.text)

    @cached_property
    def terms(self) -> dict[str, float]:
        """What is looked up in the index of words, with its weight between 0 and 1."""
        return asked(self.text)

    @cached_property
    def content(self) -> frozenset[str]:
        """The terms of the words that carry what is asked."""
        return frozenset(term for word in content(self.text) for term in word)

    @cached_property
    def telling_words(self) -> dict[str, str]:
        """The words that say something, names apart, each with its stem."""
        return telling_words(self.masked)

    @cached_property
    def says_self(self) -> bool:
        """Whether it says "I", "my" or "we"."""
        return speaks_of_self(self.text)

    @cached_property
    def is_about_past(self) -> bool:
        """Whether it asks for what was so once."""
        return _PAST.search(self.text) is not None

    @cached_property
    def is_about_self_only(self) -> bool:
        """Whether it says nothing but that it is about the one who asks."""
        return self.says_self and all(map(speaks_of_self, self.content - _ABOUT))

    @cached_property
    def asks_for_everything(self) -> bool:
        """Whether it says nothing but whom it is about: somebody, or the one who asks."""
        topic = self.content - _ABOUT
        if self.named and topic:
            return topic <= terms(" ".join(self.named)).keys()
        return self.is_about_self_only

    @property
    def asks_when(self) -> bool:
        return _WHEN.search(self.text) is not None

    @property
    def asks_for_number(self) -> bool:
        return _NUMBER.search(self.text) is not None

    @property
    def is_about_somebody(self) -> bool:
        """Whether it names a person or a day, or says "I"."""
        return self.masked != self.text or self.says_self or bool(self.days)

    @property
    def named_others(self) -> frozenset[str]:
        """Who is asked about but the asker."""
        return self.named - {self.asker}
