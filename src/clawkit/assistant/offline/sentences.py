"""What a person does with a sentence: ask, tell, take back, want something done, or be polite."""

from __future__ import annotations

import re
from functools import lru_cache

from msgspec import Struct

from clawkit.assistant.offline import forms
from clawkit.assistant.offline.facts import Fact, clauses, read_fact
from clawkit.assistant.offline.words import WORD, Language, content, language_of


class Sentence(Struct, frozen=True):
    """One sentence: `text` is what is left when `please remember that` is taken away."""

    act: forms.Act
    text: str
    remember: bool = False


class Question(Struct, frozen=True):
    """What is asked for, by its words."""

    text: str
    language: Language
    words: frozenset[str]
    needed: frozenset[str]
    """Without `city` in `which city do I live in`, which an answer need not have."""
    asks: forms.Asks = ""
    first_person: bool = False
    second_person: bool = False
    of_another: bool = False
    """He, she or they, whoever was meant."""
    yes_or_no: bool = False


# A long conversation is read anew for each answer.
@lru_cache(maxsize=2048)
def read_sentence(sentence: str) -> Sentence:
    """What a sentence does. Its words are kept; only polite lead-ins go."""
    bare = sentence.strip().strip("\"'“”").rstrip(".!\u3002\uff01 ").strip()
    for act, form in forms.SMALL_TALK:
        if form.fullmatch(bare.rstrip(",?")):
            return Sentence(act, bare)
    text = forms.LEAD.sub("", sentence.strip())
    text = forms.POLITE.sub("", text)
    asking = text.rstrip("\"'”) ").endswith(("?", "\uff1f")) or text.startswith("¿")
    if match := forms.FORGET.match(text):
        return Sentence("forget", text[match.end() :].rstrip(".!?。 "))
    if match := forms.REMEMBER.match(text):
        return _remembered(
            text[match.end() :], asking=asking, plainly="that" in match.group().lower()
        )
    if match := forms.DO_YOU.match(text):
        return Sentence("ask", text[match.end() :] or text)
    if forms.TOLD_TO_DO.match(text) and not forms.INVERTED.match(text):
        return Sentence("request", text)
    if asking or forms.INVERTED.match(text) or _is_wh(text) or _is_cjk_question(text):
        return Sentence("ask", text)
    return Sentence("tell", text)


def _remembered(rest: str, *, asking: bool, plainly: bool) -> Sentence:
    """`Remember my color?` asks, `Can you remember that my color is blue?` tells."""
    if asking and not plainly and not read_fact(rest.rstrip("?")).subject:
        return Sentence("ask", rest)
    return Sentence("tell", rest.rstrip("? "), remember=True)


def _is_wh(text: str) -> bool:
    return forms.WH.match(text) is not None and not re.match(
        r"what an? |when i |when we ", text, re.IGNORECASE
    )


def _is_cjk_question(text: str) -> bool:
    return language_of(text) == "cjk" and forms.CJK_QUESTION.search(text.rstrip("。 ")) is not None


@lru_cache(maxsize=2048)
def facts_in(sentence: Sentence) -> tuple[Fact, ...]:
    """What a telling sentence says that can be answered from."""
    facts = map(read_fact, clauses(sentence.text))
    return tuple(fact for fact in facts if fact.words and (sentence.remember or _is_worth(fact)))


def _is_worth(fact: Fact) -> bool:
    """`It is raining` is about nothing that could be asked for; `Meow` says nothing."""
    if fact.language == "cjk":
        return bool(fact.subject) or fact.first_person
    if not fact.subject and not fact.of_speaker:
        return fact.language != "en"
    return fact.of_speaker or bool(fact.about)


def read_question(text: str) -> Question:
    language = language_of(text)
    raw = [word.lower().replace("’", "'") for word in WORD.findall(text)]
    text = re.sub(r"\blike (?:the )?(?:best|most)\b", "favorite", text, flags=re.IGNORECASE)
    words = content(text, language)
    if raw and raw[-1] == "from":
        words |= {"from"}
    asks = _asks(text)
    if asks in ("when", "where", "count"):
        words -= frozenset({"long", "tall"})
    return Question(
        text=text,
        language=language,
        words=words,
        needed=words - forms.OPTIONAL or words,
        asks=asks,
        first_person=read_fact(text).first_person,
        second_person=any(word in ("you", "your", "yours", "you're") for word in raw),
        of_another=not forms.THIRD.isdisjoint(raw),
        yes_or_no=forms.INVERTED.match(text) is not None,
    )


def _asks(text: str) -> forms.Asks:
    for asks, form in forms.ASKS:
        if form.search(text):
            return asks
    return ""
