"""The words of a text as the offline model compares them: sentences, languages, spelling, endings.

Two words are the same when their keys are: `favourite` and `favorites`, `lives` and `living`,
`called` and `name`. Chinese, Japanese and Korean are cut into pairs of characters.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Literal

Language = Literal["en", "de", "fr", "es", "cjk"]

WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af]+")


def listed(words: str) -> frozenset[str]:
    """A set of words, written as a line of them."""
    return frozenset(words.split())


# A full stop ends a sentence before a space; it does not in `3.5`, `Dr. Ames` or `am 3. Mai`.
_END = re.compile(
    r"(?<=[.!?…])(?<!\bDr\.)(?<!\bMr\.)(?<!\bMs\.)(?<!\bMrs\.)(?<!\bSt\.)(?<!\bNo\.)(?<!\bvs\.)"
    r"(?<!e\.g\.)(?<!i\.e\.)(?<!z\.B\.)[\"'”’)\]]*\s+"
    r"(?!(?<=\d\. )(?:Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez))"
    r"|(?<=[\u3002\uff01\uff1f])|\n+"
)

_LONGEST = 1000
"""Characters of a sentence."""

_FUNCTION_WORDS: dict[Language, frozenset[str]] = {
    "en": listed(
        """a an the this that these those i me my mine myself we us our ours you your yours he him
        his she her hers it its they them their theirs is are am was were be been being do does did
        done has have had having will would shall should can could may might must of to in on at by
        for with about as into and or but if so than then there here what which who whom whose when
        where why how not no any some please tell remember know just also too very really now again
        still ever already let lets s t m re ve d ll don doesn didn isn aren wasn weren can't don't
        doesn't didn't isn't aren't wasn't weren't won't i'm i've i'd i'll you're you've it's that's
        what's who's where's when's how's there's he's she's we're they're actually remind said say
        told mention mentioned much many currently up out get got"""
    ),
    "de": listed(
        """der die das den dem des ein eine einen einem einer eines ich mich mir mein meine meinen
        meinem meiner wir uns unser unsere du dich dir dein deine er ihn ihm sein seine sie ihr ihre
        es ist sind bin bist war waren sei sein haben habe hat hatte werden wird wurde kann können
        von zu in im an am auf mit für über und oder aber wenn so als was welche welcher welches wer
        wen wem wann wo warum wie nicht kein keine bitte sag sage mir merk merke dir dass noch
        nochmal denn heißt heiße heisst heisse weißt weisst du dich erinnerst vergiss ja nein
        """
    ),
    "fr": listed(
        """le la les l un une des du de d je j me m moi mon ma mes nous notre nos tu te t toi ton ta
        tes il elle on lui son sa ses ils elles leur ce cet cette ces c qui que qu quoi quel quelle
        quels quelles où ou quand comment pourquoi combien est es suis sont était étaient sera a ai
        as avoir être et mais si ne n pas dans en à au aux sur avec pour par souviens rappelle dis
        plaît svp retiens note oublie s'il j'ai c'est qu'est-ce est-ce"""
    ),
    "es": listed(
        """el la los las un una unos unas de del yo me mi mis mí nosotros nuestro tú tu tus te él
        ella su sus lo le que qué quién quien cuál cual cuándo cuando dónde donde cómo como por para
        es son soy eres está estoy estar era fue ser hay y o pero si no en a al con sobre recuerda
        dime favor olvida se llama llamo"""
    ),
    "cjk": frozenset(),
}

_MARKERS: dict[Language, frozenset[str]] = {
    "de": listed(
        """ich mein meine meinen meiner ist bin und der das dein deine nicht wie wo wann wer bitte
        merk merke dir wir uns ein eine heiße heißt vergiss welche"""
    ),
    "fr": listed(
        """je j'ai j'habite mon ma mes est suis quelle quel où le la les une des qui que souviens
        retiens m'appelle c'est et habite s'appelle"""
    ),
    "es": listed(
        """mi mis es soy el la los cuál cual dónde donde vivo yo qué que llamo llama recuerda está
        quién cuándo una y olvida"""
    ),
}

_ENGLISH = (
    _FUNCTION_WORDS["en"] - _FUNCTION_WORDS["de"] - _FUNCTION_WORDS["fr"] - _FUNCTION_WORDS["es"]
) | {"live", "like", "favorite", "favourite"}

# Filler of questions in Chinese and Japanese, taken out before the pairs are compared.
_CJK_FILLER = re.compile(
    "什么时候|什么|什麼|哪里|哪裡|哪儿|哪个|谁|誰|几|多少|怎么|吗|嗎|呢|请问|请|告诉我|告訴我|记住|記住|你|知道|"
    "何ですか|なんですか|でしょうか|ですか|ますか|どこ|いつ|だれ|なに|何|覚えて|ください|教えて|"
    "です|ます|でした|ました|か$"
)

_ALIKE = {
    "call": "name", "called": "name", "named": "name", "names": "name", "nickname": "name",
    "telephone": "phone", "cellphone": "phone", "mobile": "phone",
    "birthday": "born", "birthdate": "born", "job": "work", "profession": "work",
    "occupation": "work", "resides": "live", "reside": "live", "lived": "live", "moved": "live",
    "move": "live", "grey": "gray", "programme": "program", "likes": "like", "children": "child",
    "kids": "child", "kid": "child", "mom": "mother", "mum": "mother", "dad": "father",
    "mail": "email", "mails": "email", "left": "leave", "bought": "buy",
    "met": "meet", "went": "go", "goes": "go", "ate": "eat", "drank": "drink",
}  # fmt: skip


def sentences(text: str, most: int = 400) -> list[str]:
    """The sentences of a text, trimmed, none empty.

    Of a very long text those at the start and the end, of a very long sentence the start: nobody
    speaks like that, and a pasted log must not keep anybody waiting.
    """
    found = [piece for part in _END.split(text) if part and (piece := part.strip(" \t\r-*•"))]
    if len(found) > most:
        found = found[: most - most // 2] + found[len(found) - most // 2 :]
    return [piece if len(piece) <= _LONGEST else f"{piece[:_LONGEST]} …" for piece in found]


def language_of(text: str) -> Language:
    """The language a sentence looks like; English when nothing speaks for another."""
    if CJK.search(text):
        return "cjk"
    words = {word.replace("’", "'") for word in WORD.findall(text.lower())}
    best: Language = "en"
    most = len(words & _ENGLISH)
    for language, markers in _MARKERS.items():
        found = len(words & markers)
        if found > most:
            best, most = language, found
    return best


def content(text: str, language: Language | None = None) -> frozenset[str]:
    """The keys of the words that carry meaning."""
    language = language or language_of(text)
    keys = [key(word) for word in WORD.findall(CJK.sub(" ", text)) if not is_filler(word, language)]
    if language == "cjk":
        keys.extend(_pairs(text))
    return frozenset(keys)


def is_filler(word: str, language: Language) -> bool:
    return word.lower().replace("’", "'") in _FUNCTION_WORDS[language]


def _pairs(text: str) -> list[str]:
    found: list[str] = []
    for run in CJK.findall(_CJK_FILLER.sub(" ", text)):
        found.extend(run[at : at + 2] for at in range(max(1, len(run) - 1)))
    return found


@lru_cache(maxsize=8192)
def key(word: str) -> str:
    """What a word is compared by."""
    word = word.casefold().replace("’", "'")
    if not word.isascii():
        decomposed = unicodedata.normalize("NFKD", word)
        word = "".join(char for char in decomposed if not unicodedata.combining(char))
    word = _without_apostrophe(word)
    return _stem(_american(_ALIKE.get(word, word)))


def _without_apostrophe(word: str) -> str:
    before, apostrophe, after = word.partition("'")
    if not apostrophe:
        return word
    # Anna's is Anna; l'adresse and j'habite are what follows.
    return before if len(after) <= 2 else after


def _american(word: str) -> str:
    word = re.sub(r"(?<=[a-z]{2})our(?=$|s$|ed$|ing$|ful|able|hood|it)", "or", word)
    word = re.sub(r"(?<=[a-z]{3})is(?=(?:e|es|ed|ing|ation)$)", "iz", word)
    return re.sub(r"(?<=[a-z]{2})tre(?=s?$)", "ter", word)


def _stem(word: str) -> str:
    if len(word) <= 3 or not word.isalpha():
        return word
    if word.startswith("allerg"):
        return "allerg"
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "ls":
                word = word[:-1]
            break
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


_SPELLINGS: dict[str, tuple[str, ...]] = {}
for _word, _alike in _ALIKE.items():
    _found = _SPELLINGS.get(key(_alike), ())
    _SPELLINGS[key(_alike)] = (*_found, _word)

_I_AM = ("i'm", "i’m", "i am")
_UNSAID = {
    key("name"): (*_I_AM, "heisse", "appelle", "llamo"),
    key("age"): _I_AM,
    "old": _I_AM,
}


def hints(words: frozenset[str]) -> tuple[str, ...]:
    """Pieces of which at least one is in every lower-case ASCII text that shares a word with these.

    Looking for them costs nothing beside taking a text apart.
    """
    found: set[str] = set()
    for word in words:
        found.add(word.removesuffix("y")[:4])
        found.update(_SPELLINGS.get(word, ()))
        found.update(_UNSAID.get(word, ()))
    return tuple(sorted(found))
