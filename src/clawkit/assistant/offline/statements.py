"""What a person stated, asked or took back, and which statement answers a question.

Sentences are told apart by how they begin and end. Answers are found by the words they share with
the question, so this works in every language; only English statements are turned to the reader. A
statement is a whole piece of a message, as memory keeps it: the sentence that has the words of a
question need not be the one that has the answer.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from clawkit.assistant.offline.phrases import ENGLISH, Phrases, is_english
from clawkit.text.cues import says_change, tells_while_asking
from clawkit.text.remarks import to_forget, told_beside_orders
from clawkit.text.tables import word_lists
from clawkit.text.tokenizer import (
    asked,
    content,
    folded,
    pieces,
    sentences,
    stem,
    terms,
    words_that_say_little,
)

if TYPE_CHECKING:
    from clawkit.store.arrays import Floats

Kind = Literal["state", "ask", "forget", "request"]


class Sentence(Struct, frozen=True):
    """One sentence: `text` is what it states, asks or takes back, `said` how it was put."""

    kind: Kind
    text: str
    said: str


class Statement(Struct, frozen=True):
    """Something that was said; `text` is what it states, the others are as memory tells."""

    text: str
    said: str
    days: tuple[str, ...] = ()
    """The day on which it was said, and those that it is about; none where it was said just now."""

    own: bool = True
    speaker: str = ""
    """Who said it; empty for the person."""

    @property
    def when(self) -> str:
        """The day on which it was said."""
        return self.days[0] if self.days else ""


def _pattern(*pieces: str) -> re.Pattern[str]:
    return re.compile("".join(pieces), re.IGNORECASE)


_LEAD = _pattern(
    r"^(?:(?:no|yes|yeah|oh|well|so|and|also|but|now|right|wait|sorry|by the way|nein|ja|ach|also",
    r"|übrigens|non|oui|sí|correction|that(?:['’]s| is| was) (?:wrong|not (?:right|true))|falsch",
    r"|korrektur|das (?:ist|war) falsch|corrección|correção|correzione|correctie)[,:!]\s+",
    r"|(?:please|bitte|actually|hey|hi|hello|hallo|okay|ok|btw)\b[,:!]?\s+)+",
)
_POLITE = _pattern(r"^(?:(?:can|could|would|will) you|kannst du(?: dir)?)(?: please| bitte)?\s+")
_REMEMBER = _pattern(
    r"^(?:(?:remember|note|memori[sz]e|keep in mind|(?:don['’]?t|do not|never) forget",
    r"|merke?(?: dir)?(?: bitte)?|vergiss nicht|retiens|n['’]oublie pas|souviens-toi|recuerda",
    r"|no olvides)\b(?: this)?|请?记住|請?記住|覚えて(?:おいて)?)",
    r"\s*[:,\uff1a\uff0c]?\s*(?:(?:that|dass|que)\s+|qu['’])?",
)
_ALL = _pattern(r"^(?:it all|all(?: of it)?|everything|alles|tout|todo|tudo|tutto|всё|一切)\W*$")
_AUX = (
    r"(?:is|are|was|were|am|do|does|did|can|could|will|would|should|has|have|ist|sind|war|heißt)\b"
)
_PRONOUN = r"(?:i|we|you|he|she|they|ich|wir|du|er|sie|je)\b"
_ASK = _pattern(
    rf"^(?:what|who|whose|whom|where|when|why|which|how)(?:['’](?:s|re)\b| (?!{_PRONOUN})",
    rf"(?:\w+ ){{0,3}}?{_AUX})|^(?:wer|was|wo|wann|wie|welche\w?|warum|wem|wen) (?!{_PRONOUN})\w+",
    rf"|^{_AUX} (?:{_PRONOUN}|(?:my|our|his|her|their|the|there|it|that|this|mein)\b)",
    r"|^(?:quel(?:le)?s?|où|qui|quand|comment|combien|¿|cuál|dónde|quién|cuándo|qué|cómo)\b",
    r"|^(?:do you (?:still )?(?:know|remember|recall)|(?:tell|remind) me (?!to\b|that\b)|weißt du",
    r"|what about|i (?:forgot|don['’]t (?:know|remember)|can['’]t remember|want to know|wonder)",
    r" (?=what|who|where|when|which|how)|sag mir|dis-moi|dime)|[?\uff1f][\"'”’)\s]*$",
)
_ASK_UNSPACED = re.compile(
    "什么时候|什么|什麼|哪里|哪裡|哪儿|谁|几点|多少|吗|嗎|何ですか|何|どこ|いつ|だれ|誰|ですか|ますか"
    "|무엇|뭐|어디|언제|누구|인가요|나요"
)
_REQUEST = _pattern(
    r"^(?!\w+(?: \w+){0,2} (?:is|are|was|were)\b)(?:write|make|create|translate|summari[sz]e|list",
    r"|explain|give|show|draw|generate|help me|fix|find|search|open|send|run|calculate|compute",
    r"|read|look|describe|compare|analy[sz]e|convert|book|order|play|delete|check|review|build",
    r"|suggest|recommend|print|repeat|say|count|sort|rewrite|remind me to|ignor\w+|pretend|schreib",
    r"|erkläre?|übersetze?|fasse?|zeige?|mach|suche?|écris|explique|traduis|escribe|explica|traduce)\b(?!:)",
)
_GOES_ON = _pattern(r"^(?:it|he|she|they|er|sie|es|il|elle|él|ella)\b|^(?:c['’]est|i meant?)\b")
_LONGEST_GOING_ON = 400


def read(sentence: str) -> Sentence:
    """Tell a sentence apart by how it begins and ends."""
    text = _LEAD.sub("", sentence) or sentence
    polite = _POLITE.match(text)
    bare = text[polite.end() :] if polite else text
    is_asked = _ASK.search(bare) is not None or _ASK_UNSPACED.search(bare) is not None
    if (remember := _REMEMBER.match(bare)) and (polite or not bare.rstrip().endswith("?")):
        return Sentence("state", bare[remember.end() :].rstrip("?") or bare, sentence)
    if (named := to_forget(text)) is not None:
        return Sentence("forget", named, sentence)
    if _REQUEST.match(bare):
        return Sentence("request", bare, sentence)
    return Sentence("ask" if is_asked else "state", text, sentence)


def orders_to_forget(text: str) -> list[str]:
    """What a message wants forgotten, each as the message names it."""
    return [one.text for one in read_all(text) if one.kind == "forget"]


def read_all(text: str) -> list[Sentence]:
    """The sentences of a text; what is told beside an order to forget is one by itself."""
    return [read(part) for one in sentences(text) for part in told_beside_orders(one)]


def statements(messages: Iterable[Statement]) -> list[Statement]:
    """What messages state and do not take back, oldest first; of the same, what was said last."""
    found: list[Statement] = []
    for message in messages:
        for piece in pieces(message.text):
            told: list[Sentence] = []
            for sentence in read_all(piece):
                if sentence.kind == "forget":
                    found = [one for one in found if not is_taken_back(one.text, sentence.text)]
                elif _tells(sentence) and content(sentence.text):
                    told.append(sentence)
            if told:
                text, said = (" ".join(words) for words in zip(*map(_words, told), strict=True))
                _add(found, replace(message, text=text, said=said))
    return found


def _tells(one: Sentence) -> bool:
    return one.kind != "ask" or tells_while_asking(one.said)


def _words(one: Sentence) -> tuple[str, str]:
    return one.text, one.said


def _add(found: list[Statement], new: Statement) -> None:
    last = found[-1] if found else None
    # Each memory is a quote of its own: who "she" is was said beside it, and not in the one before.
    is_talk = last is not None and not (last.when or new.when)
    if last and is_talk and _GOES_ON.match(new.text) and len(last.said) < _LONGEST_GOING_ON:
        text = f"{last.text.rstrip('.')}. {new.said}"
        found[-1] = replace(last, text=text, said=f"{last.said} {new.said}")
        return
    found[:] = [one for one in found if _same(one.text) != _same(new.text)]
    found.append(new)


def _same(text: str) -> str:
    return text.casefold().strip(" .!")


def is_everything(named: str) -> bool:
    return _ALL.match(named) is not None


def is_taken_back(text: str, named: str) -> bool:
    """Whether a statement has all the words by which something is to be forgotten."""
    if is_everything(named):
        return True
    words = {term for term, weight in asked(named).items() if weight > _LITTLE}
    words = words - _possessives() or words
    return bool(words) and {_uninflected(one) for one in words} <= _terms(text)


def _uninflected(word: str) -> str:
    """A Russian word without the ending of its case: of names nobody says it in the first."""
    return _ENDING.sub("", word)


@cache
def _possessives() -> frozenset[str]:
    lists = word_lists("names")
    return lists["possessives"] | lists["also_names"]


_LITTLE = 0.05
_ENDING = re.compile("(?<=[а-яё]{3})(?:[аеёиоуыэюяйь]|[оеы][мй]|[ео]ю|[ая]ми|[ая]х)$")  # noqa: RUF001 - Russian
_ASKING = "what which who whom whose when where why how time day date city place wer wo wann wie"
_OF_SPEAKER = "i me my mine we us our ich mich mir mein wir unser"
_PEOPLE = f"{_OF_SPEAKER} you your du dein"
_SUBJECTS = "i we ich wir je j nous yo nosotros io noi eu ik wij"
_QUESTION_WORDS = frozenset(map(stem, _ASKING.split()))
_PERSONS = frozenset(map(stem, _PEOPLE.split()))
_SPEAKER = frozenset(map(stem, _OF_SPEAKER.split()))
_ACTING = frozenset(map(stem, _SUBJECTS.split()))
# Words for the same, as the stems that are compared.
_ALIKE = {
    "call": "nam", "heiss": "nam", "heisst": "nam", "lif": "liv", "mov": "liv", "job": "work",
    "birthdai": "bear", "favourit": "favorit", "colour": "color",
}  # fmt: skip
_NAME = re.compile(r"^(?:I['’]m|I am|[Ii]ch bin|[Jj]e suis|[Ss]oy) [^\W\d_a-z]\w+\W*$")
_OWNER = _pattern(
    r"^(?:my|our|mein\w*) (?!new\b|current\b|neu)(\w+)",
    r"|(?!(?:it|that|he|she|there)['’])\b(\w+)['’]s\s",
)
_FILLER = _pattern(
    r"\b(?:(?:do|can|could) you|i forgot|did i (?:tell|say)(?: you)?(?: to remember)?)\b|",
    _ASK_UNSPACED.pattern,
)
_WORD = re.compile(r"[^\W\d_](?:\w|-(?=\w)|['’](?=\w)(?!s\b))*")
_ARTICLE = _pattern(
    r"(?:the|an?|my|our|your|his|her|their|d(?:er|ie|as|en|em|es)|[mdsk]?ein\w*|unse?r\w*|eu(?:er|re)\w*",
    r"|ihr\w*|(?:dies|jed|welch)e\w?|[ai]m|ins|zu[mr]|beim|vom)",
)
_SURE = 0.8
_NEAR, _NEARER = 0.31, 0.028
"""How near a statement has to be to a question, and how much less among fewer, as recall has it."""
_AS_NEAR = 0.12
_BY_WORDS, _MOST_WORDS = 0.5, 0.5
"""How much nearer the words of a question make a statement, and which share is near by itself."""
_LONG = 120
"""Characters from which a statement may be about several things."""
_CLAUSE_END = re.compile(r"[.,:;!?()]\s+")
_SAME_MATTER = 0.4
"""How near two statements on one matter are to each other, as recall has it."""


class AskedQuestion(Struct, frozen=True):
    """What is asked: its words with their weights, and the names among them."""

    weights: dict[str, float]
    names: frozenset[str]

    def fit(self, one: Statement) -> tuple[float, int]:
        """The share of the words that a statement has, and how far it is about the same people."""
        texts = [text for text in (one.text, *sentences(one.text)) if self._is_about(text)]
        return max((_fit(text, self.weights) for text in texts), default=(0.0, 0))

    def is_answered(self, one: Statement) -> bool:
        """Whether a statement has the words, and is of nobody else."""
        share, persons = self.fit(one)
        return bool(self.weights) and share >= _SURE and persons >= 0

    def has_words(self, one: Statement) -> bool:
        """Whether a statement has the words, whoever it is about."""
        return bool(self.weights) and _fit(one.text, self.weights)[0] >= _SURE

    def may_concern(self, one: Statement) -> bool:
        """Whether a statement has one of the names, or none at all."""
        return not self.names or self._names_one(one.text) or not _names(one.text)

    def _is_about(self, text: str) -> bool:
        """Whether a text tells of those who are named, and not of what its speaker does."""
        if not self.names:
            return True
        speaker_acts = _ACTING & _terms(text) and not _ACTING & self.weights.keys()
        return self._names_one(text) and not speaker_acts

    def _names_one(self, text: str) -> bool:
        return not _terms(" ".join(self.names)).isdisjoint(_terms(text))


def parse_question(question: str) -> AskedQuestion:
    weights = {
        _same_word(term): weight
        for term, weight in asked(_FILLER.sub(" ", question)).items()
        if term not in _QUESTION_WORDS
    }
    # What a sentence begins with has a capital letter in any case.
    return AskedQuestion(weights, frozenset(_names(question.strip(" ¿¡").partition(" ")[2])))


def _names(text: str) -> set[str]:
    """The words that may be names; behind an article, German writes every noun so.

    Portuguese puts the same `a` before a name.
    """
    from clawkit.memory.erasure.redaction import is_common

    words = [match[0] for match in _WORD.finditer(text)]
    return {
        word
        for before, word in pairwise(("", *words))
        if word[0].isupper()
        and not is_common(word)
        and (not _ARTICLE.fullmatch(before) or (before == "a" and not is_english(text)))
    }


def find(question: str, known: Sequence[Statement]) -> list[Statement]:
    """The statements that have the words of a question, the newest first."""
    wanted = parse_question(question)
    fits = [wanted.fit(one) for one in known]
    if not wanted.weights or not fits:
        return []
    share, persons = best = max(fits)
    if share < _SURE or persons < (1 if wanted.weights.keys() & _PERSONS else 0):
        return []
    return [one for one, fit in zip(known, fits, strict=True) if fit == best][::-1]


def nearest(question: str, known: Sequence[Statement], most: int) -> list[Statement]:
    """The statements nearest to a question, by what they mean and by its words, the newest first.

    A long one that tells of several things is near to none of them by what it means; its words say
    what it has. With them is what its speaker said to have become of the nearest.
    """
    from clawkit.memory.embed.embedder import shared
    from clawkit.memory.recall.search import few

    if not known:
        return []
    cosines: Floats = shared.embed([one.text for one in known]) @ shared.ask([question])[0]
    shares = _shares(question, [_terms(one.text) for one in known])
    near = cosines + np.float32(_BY_WORDS) * shares
    is_near = (cosines >= _NEAR - _NEARER * few(len(known))) | (shares >= _MOST_WORDS)
    if not is_near.any():
        return []
    enough = near[is_near].max() - _AS_NEAR
    order = map(int, np.argsort(-near, kind="stable"))
    best = [at for at in order if is_near[at] and near[at] >= enough]
    first = known[best[0]]
    became = [
        at
        for at in map(known.index, later(question, first, known))
        if shares[at] >= shares[best[0]] / 2 > 0 and leads(question, first, known[at])
    ]
    told = list(dict.fromkeys((*best, *became[:1])))[:most]
    return [known[at] for at in sorted(told, reverse=True)]


def _shares(question: str, texts: Sequence[set[str]]) -> Floats:
    """The share of a question's words that each text has, rare words counting for more."""
    weights = {
        term: weight * math.log(1 + (len(texts) + 1) / (1 + sum(term in text for text in texts)))
        for term, weight in parse_question(question).weights.items()
        if weight > _LITTLE
    }
    whole = sum(weights.values()) or 1.0
    found = [sum(weights[term] for term in weights.keys() & text) / whole for text in texts]
    return np.array(found, np.float32)


def later(question: str, found: Statement, known: Sequence[Statement]) -> list[Statement]:
    """What its speaker said after a statement on the same matter, the newest first.

    Two statements are near because both name somebody; only what says that something has changed
    need not be near without the name.
    """
    from clawkit.memory.embed.embedder import shared
    from clawkit.memory.people import names_of

    wanted = parse_question(question)
    since = [
        one
        for one in known[known.index(found) + 1 :]
        if one.speaker == found.speaker and wanted.may_concern(one)
    ]
    if not since:
        return []
    names = names_of(wanted.names)
    texts = [found.text, *(one.text for one in since)]
    found_as_said, *as_said = shared.embed(texts)
    found_masked, *masked = shared.embed([names.masked(text) for text in texts])
    return [
        one
        for one, vector, without_name in zip(since, as_said, masked, strict=True)
        if found_masked @ without_name >= _SAME_MATTER
        or (
            says_change(one.text)
            and (found_as_said @ vector >= _SAME_MATTER or wanted.has_words(one))
        )
    ][::-1]


def leads(question: str, before: Statement, one: Statement) -> bool:
    """Whether what was said later is what is so now: it says so, or has the words itself.

    A long statement says of one thing that it has changed, and tells of others beside.
    """
    if parse_question(question).is_answered(one):
        return True
    if not says_change(one.text):
        return False
    if max(len(before.text), len(one.text)) < _LONG:
        return True
    asked_for = {term for word in content(question) for term in word}
    said = [_terms(clause) for clause in _CLAUSE_END.split(before.text)]
    matter = asked_for.union(*(words for words in said if words & asked_for)) - _little()
    clauses = _CLAUSE_END.split(one.text)
    return any(matter & _terms(clause) for clause in clauses if says_change(clause))


@cache
def _little() -> frozenset[str]:
    return frozenset(map(stem, words_that_say_little()))


def _fit(text: str, weights: dict[str, float]) -> tuple[float, int]:
    """The share of the words that a statement has, and how far it is about the same people."""
    found = _terms(text)
    counted = {term for term in weights if weights[term] > _LITTLE} or weights.keys() - _PERSONS
    whole = sum(weights[term] for term in counted)
    share = sum(weights[term] for term in counted & found) / whole if whole else 0.0
    persons = weights.keys() & _PERSONS
    same = persons | _SPEAKER if persons & _SPEAKER else persons
    # `My cat is called Miso` is no answer to `What's my name?`.
    owners = {_stem(name) for pair in _OWNER.findall(text) for name in pair if name and persons}
    return round(share, 2), len(same & found) - 2 * len(owners - weights.keys())


def _stem(word: str) -> str:
    return _same_word(stem(folded(word)))


def _same_word(term: str) -> str:
    return _ALIKE.get(term) or _uninflected(term)


def _terms(text: str) -> set[str]:
    found = {_same_word(term) for term in terms(text)}
    return found | {"nam", "my"} if _NAME.match(text) else found


_SWAPS = {
    "i am": "you are", "i was": "you were", "i'm": "you're", "i've": "you've", "i'd": "you'd",
    "i'll": "you'll", "i": "you", "me": "you", "my": "your", "mine": "yours", "am": "are",
    "myself": "yourself", "we": "you", "our": "your", "ours": "yours",
    "we're": "you're", "we've": "you've", "we'll": "you'll",
}  # fmt: skip
_SWAP = _pattern(r"(?<![\w-])(?:i (?:am|was)|(?:i|we)['’](?:m|ve|d|ll|re)|[a-z]+)(?![\w-])")
# "God help us", "I shall": turned, they say something else.
_UNSAFE = _pattern(r"\b(?:you|your|yours|yourself|us|shall)\b|[\"“”„«»]")


def to_reader(text: str) -> str | None:
    """`My cat likes me` as `Your cat likes you`; None where that is not safe."""
    if not is_english(text) or _UNSAFE.search(text) or _REQUEST.match(text):
        return None
    return _SWAP.sub(_swapped, text).strip().rstrip(".!").strip()


def _swapped(match: re.Match[str]) -> str:
    word = match[0]
    swapped = _SWAPS.get(word.lower().replace("’", "'"))
    # `US` is a country: only `I` is written with capitals alone.
    if swapped is None or (word.isupper() and len(word) > 1):
        return word
    begins = match.string[: match.start()].rstrip().endswith((".", "!", "?"))
    return swapped.capitalize() if begins or (word[0].isupper() and word[0] != "I") else swapped


def inline(one: Statement | Sentence, phrases: Phrases) -> str:
    """A statement inside a sentence: turned to the reader, else quoted."""
    turned = to_reader(one.text) if phrases.language == ENGLISH else None
    if turned is None:
        return f"“{_cut(one.said.rstrip('.'))}”"
    first, space, rest = turned.partition(" ")
    return _cut(
        f"{first.lower() if first.lower() in words_that_say_little() else first}{space}{rest}"
    )


def told(one: Statement, phrases: Phrases, *, dated: bool = False) -> str:
    """A statement as a sentence; what is not the person's own, or no English, is quoted.

    So is what has to be `dated`, where its day is known.
    """
    is_turned = one.own and phrases.language == ENGLISH and not (dated and one.when)
    if is_turned and (turned := to_reader(one.text)):
        return f"{turned[:1].upper()}{turned[1:]}."
    if one.own:
        phrase = phrases.said_on if one.when else phrases.said
    elif one.speaker:
        phrase = phrases.said_by_on if one.when else phrases.said_by
    else:
        phrase = phrases.noted_on if one.when else phrases.noted
    return phrase.format(name=one.speaker, day=one.when, quote=f"“{one.said}”")


def _cut(text: str, longest: int = 200) -> str:
    return text if len(text) <= longest else f"{text[:longest].rstrip()} …"
