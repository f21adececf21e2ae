"""Prompt injections: text that gives orders to the model which reads it, found and removed.

The phrases are patterns over folded text, in which words are small letters and every white space is
one space. A phrase is only looked for around a word that each of its wordings has, and only where
others of its words are near: ordinary text costs little.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from clawkit.text.keyword_search import KeywordSearch
from clawkit.text.normalization import plain_content

_ = r"\W{0,4}"  # nothing at all where a hidden character held two words apart
_WORDS = r"(?:\w{1,14}\W{1,4})"

_DROP = r"\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget(?:ting)?)"
_EARLIER = (
    r"(?:previous|prior|above|earlier|preceding|existing|original|initial|former|foregoing|system)"
)
_ORDERS = (
    r"(?:instruction|prompt|rule|guideline|directi(?:on|ve)|command|message|context|constraint"
    r"|programming|training)"
)
_TOLD = (
    rf"(?:above|before{_}this|that{_}came{_}before"
    rf"|(?:you{_}(?:were|have{_}been|ve{_}been)|i{_}(?:have)?){_}(?:told|said|taught))"
)
_WHOSE = r"(?:your|all|any|these|every|my|our)"

_OVERRIDE_EN = (
    rf"{_DROP}{_}{_WORDS}{{0,4}}{_EARLIER}{_}{_WORDS}{{0,2}}{_ORDERS}",
    rf"{_DROP}{_}{_WHOSE}{_}(?:of{_})?(?:the{_}|your{_})?(?:instruction|prompt|guideline|programming)",
    rf"{_DROP}{_}{_WORDS}{{0,4}}instructions?{_}(?:above|before|you{_}(?:were|have))",
    rf"{_DROP}{_}(?:everything|anything|all){_}(?:{_WORDS}{{0,2}}){_TOLD}",
)
_EARLIER_DE = r"(?:vorherig|bisherig|vorangegangen|vorhergehend|obig|früher|vorig)\w{0,3}"
_ORDERS_DE = r"(?:anweisung|instruktion|befehl|vorgabe|regel|prompt|aufforderung)"
_DROP_DE = r"(?:ignorier|vergiss|vergess)\w{0,4}"
_OVERRIDE_DE = (
    rf"\b{_DROP_DE}{_}{_WORDS}{{0,4}}{_EARLIER_DE}{_}{_WORDS}{{0,1}}{_ORDERS_DE}",
    rf"\b{_EARLIER_DE}{_}{_WORDS}{{0,1}}{_ORDERS_DE}\w{{0,3}}{_}{_WORDS}{{0,2}}{_DROP_DE}",
)
_OVERRIDE_FR = (
    rf"\b(?:ignore[zr]?|oublie[zr]?){_}{_WORDS}{{0,4}}(?:instruction|consigne|directive)s?"
    rf"{_}{_WORDS}{{0,2}}(?:pr[eé]c[eé]dent|ant[eé]rieur|ci{_}dessus|initial)"
)
_OVERRIDE_ES = (
    rf"\b(?:ignor(?:a|e|ar|ad)|olvid(?:a|e|ar|ad)){_}{_WORDS}{{0,4}}instrucci(?:ones|[oó]n)"
    rf"{_}{_WORDS}{{0,2}}(?:anterior|previa|inicial|de{_}arriba)"
)
_OVERRIDE_ZH = (
    r"(?:忽略|无视|無視|忘记|忘記|忘掉|不要理会|不要理會)[^。!?]{0,12}"
    r"(?:之前|以上|先前|前面|上述|此前|所有)[^。!?]{0,8}"
    r"(?:指令|指示|说明|說明|提示|规则|規則|命令|要求)"
)
_TELL = r"(?:tell|mention|inform|reveal|disclos|notify)(?:ing|e)?"
_PERSON = r"(?:user|human)s?\b"
_CONCEAL = (
    rf"(?:\bnot|\bnever|n{_}t|\bwithout){_}(?:ever{_}|to{_})?{_TELL}{_}{_WORDS}{{0,5}}{_PERSON}",
    rf"\b(?:hid(?:e|ing)|conceal(?:ing)?|secret){_}{_WORDS}{{0,4}}from{_}(?:the{_})?{_PERSON}",
)
_ROLE = (
    rf"\byou{_}are{_}now{_}(?:an?\b|acting|playing|pretending|dan\b|evil|unrestricted|jailbroken)",
    rf"\byou{_}are{_}now{_}(?:free{_}from|in{_}(?:developer|debug|god|admin|jailbreak|dan)\b)",
    rf"\byou{_}are{_}no{_}longer{_}(?:bound|restricted|limited|an?{_}(?:ai|assistant|language))",
    rf"\bfrom{_}now{_}on{_}you{_}(?:are|will|must|shall|should|act|answer|respond|behave)\b",
)
_ASSETS = (
    rf"(?:password|credential|api{_}key|secret|private{_}key|ssh{_}key|access{_}(?:key|token)|token"
    rf"|conversation|chat{_}history|environment{_}variable|system{_}prompt|\w{{0,20}}\.env\b)"
)
_EXFILTRATE = (
    rf"\b(?:send|post|upload|forward|transmit|submit|leak|exfiltrat|e{_}?mail)\w{{0,3}}{_}"
    rf"{_WORDS}{{0,5}}(?:your|user){_}{_WORDS}{{0,4}}{_ASSETS}\w{{0,3}}{_}{_WORDS}{{0,6}}"
    rf"to{_}(?:\w{{1,14}}{_}){{0,3}}(?:https?\W|www\W|[\w.+-]{{1,40}}@)"
)
_PROMPT_LEAK = (
    rf"\b(?:reveal|print|repeat|output|show|display|leak|tell{_}me|give{_}me){_}"
    rf"{_WORDS}{{0,3}}your{_}(?:system|initial|hidden|original|secret){_}(?:prompt|instruction|message)"
)
_ROLE_TAGS = (
    r"<\|(?:im_start|im_end|system|user|assistant|endoftext|start_header_id|begin_of_text|eot_id)",
    r"</?(?:system|assistant)(?:[ _-](?:prompt|message|instructions?|reminder))? ?>",
    r"(?<![\w\]])\[/?inst\]",
    r"<</?sys>>",
)
_ORDER_TAG = r"<(?:important|critical|urgent|secret|hidden)(?:[ _-]instructions?)? ?>"

_PHRASES = {
    "override": (*_OVERRIDE_EN, *_OVERRIDE_DE, _OVERRIDE_FR, _OVERRIDE_ES, _OVERRIDE_ZH),
    "conceal": _CONCEAL,
    "new-role": _ROLE,
    "exfiltrate": (_EXFILTRATE,),
    "prompt-leak": (_PROMPT_LEAK,),
    "role-tag": _ROLE_TAGS,
    "order-tag": (_ORDER_TAG,),
}
NAMES = tuple(_PHRASES)


@cache
def phrase(name: str) -> re.Pattern[str]:
    """All wordings of a phrase. Compiled when first needed: most processes never do."""
    return re.compile("|".join(_PHRASES[name]))


_SEAM = 4
_AROUND = 320
_MOST_BYTES = 4  # to a character
_FEW_CHECKS = 16
_MOST_CHECKS = 512  # in a text that is full of such words it is cheaper to read all of it
_SENTENCE = r".+?(?:(?<=[.!?])\s+|(?<=[.!?][\"')\]])\s+|[\u3002\uff01\uff1f]|\n+|\Z)"

_Near = tuple[int, int, tuple[bytes, ...]]  # so far before, so far after, one of these words
_Hints = tuple[tuple[str, tuple[_Near, ...]], ...]  # the phrase, and all that must be near


def _near(before: int, after: int, words: str) -> _Near:
    return before, after, tuple(words.encode().split(b"|"))


_ORDER_STEMS = (
    "instru|prompt|rule|guideline|directi|command|message|context|constraint|programming|training"
    "|told|said|taught|above|before|anweis|befehl|vorgabe|regel|aufforderung|consigne"
)
_OVERRIDE_HINTS: _Hints = (("override", (_near(120, 200, _ORDER_STEMS),)),)
_OVERRIDE_FR_HINTS: _Hints = (("override", (_near(0, 160, "instruction|consigne|directive"),)),)
_OVERRIDE_ES_HINTS: _Hints = (("override", (_near(120, 0, "olvid"),)),)
_OVERRIDE_ZH_HINTS: _Hints = (("override", ()),)
_EXFILTRATE_HINT = (
    "exfiltrate",
    (
        _near(
            0, 120, "password|credential|key|secret|token|conversation|history|variable|prompt|.env"
        ),
        _near(160, 0, "send|post|upload|forward|transmit|submit|leak|exfiltrat|mail"),
        _near(0, _AROUND, "http|www|@"),
    ),
)
_CONCEAL_HINT = (
    "conceal",
    (
        _near(120, 0, "tell|mention|inform|reveal|disclos|notify|hid|conceal|secret"),
        _near(160, 0, "not|never|n't|n\u2019t|without|from"),
    ),
)
_PROMPT_LEAK_HINT = (
    "prompt-leak",
    (
        _near(0, 40, "prompt|instruction|message"),
        _near(100, 0, "reveal|print|repeat|output|show|display|leak|tell|give"),
    ),
)
_YOU: _Hints = (("new-role", (_near(60, 80, "now|longer"),)),)
_TAGS: _Hints = (("role-tag", ()), ("order-tag", ()))

# Words in small letters, of which each phrase has one, and what they hint at. In a line of JSON
# a slash may have a backslash before it.
_HINTS: tuple[tuple[str, _Hints], ...] = (
    ("ignor disregard forget vergiss vergess", _OVERRIDE_HINTS),
    ("oublie", _OVERRIDE_FR_HINTS),
    ("instrucci", _OVERRIDE_ES_HINTS),
    ("忽略 无视 無視 忘记 忘記 忘掉 不要理会 不要理會", _OVERRIDE_ZH_HINTS),
    ("user", (_CONCEAL_HINT, _EXFILTRATE_HINT)),
    ("human", (_CONCEAL_HINT,)),
    ("your", (_EXFILTRATE_HINT, _PROMPT_LEAK_HINT)),
    ("you", _YOU),
    ("<system </system <\\/system <assistant </assistant <\\/assistant", _TAGS),
    ("<<sys <</sys <<\\/sys [inst] [/inst] [\\/inst]", _TAGS),
    ("<important <critical <urgent <secret <hidden", _TAGS),
    ("<|", _TAGS),
)
_HINTING = [(word.encode(), hints) for words, hints in _HINTS for word in words.split()]
_FOLLOWED = {b"user": re.compile(rb"s?(?![a-z0-9_])"), b"you": re.compile(rb"[^a-z]")}


def _places(content: bytes) -> list[tuple[int, int, int]]:
    """Where the words are in a text in small letters."""
    found = _words().places(content)
    if b"|" in content:
        last = len(_HINTING) - 1
        found += [(last, start, end) for _, start, end in _short_word().places(content)]
    return found


@cache
def _words() -> KeywordSearch:
    return KeywordSearch(word for word, _ in _HINTING[:-1])


@cache
def _short_word() -> KeywordSearch:
    # Among the others, it would make the search for all of them take four times as long.
    return KeywordSearch([_HINTING[-1][0]])


def may_hold_injection(line: bytes) -> bool:
    """Whether to look closer: never False for a line of ASCII JSON with a phrase in it."""
    # In JSON a character may be written with two, of which the first is a backslash.
    prose = b" " in line or b"\\" in line
    low = line.lower()
    found = _places(low)
    return bool(found) and next(_candidates(low, found, 2, prose=prose), None) is not None


def find_injections(text: str) -> tuple[str, ...]:
    """The names of the patterns that a text contains."""
    content = plain_content(text)
    found = _places(content)
    if not found:
        return ()
    scale = 1 if content.isascii() else _MOST_BYTES
    candidates = list(_candidates(content, found, scale, prose=_is_prose(text)))
    return tuple(
        name
        for name in NAMES
        if any(
            phrase(name).search(part)
            for part in _parts(content, [at for of, at in candidates if of == name], scale)
        )
    )


def remove_injections(text: str) -> str:
    """A text without the sentences in which there is a pattern; nothing, if it cannot be had."""
    kept = "".join(_purge(re.findall(_SENTENCE, text, re.DOTALL)))
    return "" if find_injections(kept) else kept


def _purge(sentences: list[str]) -> list[str]:
    if not find_injections("".join(sentences)):
        return sentences
    if len(sentences) < 2:
        return []
    middle = len(sentences) // 2
    left, right = _purge(sentences[:middle]), _purge(sentences[middle:])
    while left and right and find_injections("".join((*left[-_SEAM:], *right[:_SEAM]))):
        left, right = left[:-1], right[1:]
    return left + right


def _is_prose(text: str) -> bool:
    """Words that nothing holds apart, seen or unseen, are a name or data."""
    return " " in text or not (text.isascii() and text.isprintable())


def _candidates(
    content: bytes, found: list[tuple[int, int, int]], scale: int, *, prose: bool
) -> Iterator[tuple[str, int]]:
    """The phrases that could be in a text in small letters with these words, and where."""
    likely = _Likely(content)
    for number, start, end in found:
        word, hints = _HINTING[number]
        if not prose and hints is not _TAGS:
            continue
        if (rest := _FOLLOWED.get(word)) is not None and not rest.match(content, end):
            continue
        for name, needed in likely.hints(number):
            if likely.are_many or all(_is_near(content, start, end, scale, n) for n in needed):
                yield name, start


class _Likely:
    """What the words of a text hint at; if they are many, only what all words are there for."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._checked = 0
        self._kept: dict[int, _Hints] = {}

    @property
    def are_many(self) -> bool:
        return self._checked > _MOST_CHECKS

    def hints(self, word: int) -> _Hints:
        hints = _HINTING[word][1]
        self._checked += 1
        if self._checked <= _FEW_CHECKS:
            return hints
        if word not in self._kept:
            self._kept[word] = tuple(hint for hint in hints if all(map(self._has, hint[1])))
        return self._kept[word]

    def _has(self, near: _Near) -> bool:
        return any(word in self._content for word in near[2])


def _is_near(content: bytes, start: int, end: int, scale: int, near: _Near) -> bool:
    before, after, words = near
    around = content[max(0, start - before * scale) : end + after * scale]
    return any(word in around for word in words)


def _parts(content: bytes, places: list[int], scale: int) -> Iterator[str]:
    """What stands around these places, with one space between words; overlapping, it is one."""
    around = _AROUND * scale
    start = end = 0
    for at in sorted(places):
        if at - around > end:
            yield _spaced(content[start:end])
            start = at - around
        end = at + around
    if end:
        yield _spaced(content[start:end])


def _spaced(content: bytes) -> str:
    return " ".join(content.decode("utf-8", "ignore").split())
