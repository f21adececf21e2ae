"""Finds one person in texts by the name as it was given, and what may be that person's.

Only the given names count. A first or last name alone, or a longer name around the given one, may
be somebody else's: it is told apart, and nothing is done about it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from itertools import pairwise

from msgspec import Struct

from clawkit.errors import BeingError
from clawkit.text.words import WORDS_THAT_SAY_LITTLE

PERSON = "[erased person]"
"""Stands where a name was, in labels, and in texts that must stay."""

OWNER = frozenset(("user", "assistant", "i", "me", "myself", "we", "you", "human", "ai", "system"))
"""Who is nobody else: the memory's own person, and the assistant."""

Span = tuple[int, int]
Places = range | list[int]

_CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_UNSPACED = re.compile(f"[{_CJK}]")
_LETTER = rf"[^\W_{_CJK}]"  # a Japanese particle may follow a name at once
_SHORTEST_PART = 2
_FORMAL_TITLES = """
dr doctor doktor prof professor mr mrs ms miss mister sir madam frau herr herrn fräulein hr fr mme
mlle madame monsieur signor signora sig senor senora sr sra dott ing rev pastor pfarrer
"""
_FAMILY = "oma omi opa opi tante onkel aunt auntie uncle grandma grandpa granny"
_FORMAL = frozenset(_FORMAL_TITLES.split())
_TITLES = frozenset((*_FORMAL, *_FAMILY.split()))
_TITLE = rf"(?:{'|'.join(sorted(_TITLES))})(?:\.\s*|\s+)"
_POSSESSIVES = """
a the my our your his her their
mein meine meinen meinem meiner dein deine deiner unser unsere unserer der die
"""
_NOBODYS = frozenset((*_FORMAL, *OWNER, *_POSSESSIVES.split()))
# With a capital letter some of them are names, such as Mia.
_ROMANCE = """
das den dem des ein eine einen einer sein seine ihr ihre euer eure an this that
mon ma mes notre nos votre son sa ses le la les un une mi mis tu tus su sus el los las una il lo gli
mio mia miei meu minha mijn onze het een de
"""
_BEFORE_NOUNS = frozenset((*_POSSESSIVES.split(), *_ROMANCE.split()))
# As names they have a capital letter.
_CAPITALISED = """
april art august autumn baker ball banks bauer baum bell berg best bill bird bishop black blum
bond braun brown bush busch butler carter chance chase chip christian cliff cook cross daisy dawn
day dean drew engel faith field fischer fisher ford fox frank frei french fuchs gene german gold
grace grant green gross hall hand herbst hill holly hope house hunter iris ivy jack joy june jung
kaiser kern king klein knight koch kurz lake lamb lang law lily little long love mark mason max
may mercy miles moon north olive page parker pat pearl penny price reich rice rich rob robin rose
ruby sandy schneider schwarz sharp short silver sky small snow sommer star stark stein stone
street strong summer sunny swift taylor violet vogel wade wald walker weiss west white will winter
wise wolf wood young
"""
_WORDS_TOO = frozenset(_CAPITALISED.split())
# Andreas is somebody else than Andrea.
_WITH_S = """
adams agnes alexis andreas carlos charles chris daniels demetrios denis dennis doris edwards elias
evans floris francis hans harris ines james jans jens jonas jones joris jules lars louis lucas
lukas marius markus martins mathias matthias morris niklas nicolas nikolas peters phillips richards
roberts rogers silas stephens thomas tobias tomas williams
"""
_NAMES_WITH_S = frozenset(_WITH_S.split())
# Words with a capital letter beside a name that are no part of it.
_BESIDE_NAMES = """
monday tuesday wednesday thursday friday saturday sunday january february march april may june
july august september october november december today yesterday tomorrow
montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag januar februar märz mai
juni juli oktober dezember heute gestern morgen
ask asked bring call called email give gave help helped invite invited meet meeting met message
remind saw see tell text thank thanks told visit visited dear hello hi hey
besuche besuch bringe erinnere frag frage hol hole liebe lieber ruf rufe sag sage treffe triff
hallo danke erased person
"""
_NO_NAMES = frozenset(_BESIDE_NAMES.split())
_WORD_AFTER = re.compile(r"(?: |(?=[-.]))([-.]?)([^\W\d_][\w'’]*)")
_WORD_BEFORE = re.compile(r"(?:(?<=[\W\d_])|^)([^\W\d_][\w'’]*|[^\W\d_]\.)( |-)$")
_APOSTROPHES = str.maketrans(dict.fromkeys("’‘ʼ´`′＇", "'"))  # noqa: RUF001 - what people type
_UMLAUTS = {"a": "ä", "o": "ö", "u": "ü"}
_PLAIN = {umlaut: letter for letter, umlaut in _UMLAUTS.items()}
_OTHER_LETTERS = {"ø": "ö", "æ": "ä", "œ": "ö", "ł": "l", "đ": "d"}
_LAST_WITH_ACCENTS = 0x2000


class Person(Struct, frozen=True):
    """Who is meant: the name as it was given, and the other names that were given with it."""

    name: str
    also: tuple[str, ...] = ()

    @property
    def forms(self) -> tuple[str, ...]:
        return (self.name, *self.also)


def person(name: str, also: Collection[str] = ()) -> Person:
    """The person of these names; an error where one of them is nobody's."""
    forms = tuple(dict.fromkeys(" ".join(one.split()) for one in (name, *also)))
    for form in forms:
        if not set(_words(form)).difference(_NOBODYS):
            raise BeingError("say whose: a name, such as `claw memory person 'Ben Whitaker'`")
    return Person(forms[0], forms[1:])


def is_common(word: str) -> bool:
    """Whether a word with a capital letter is no name: it begins a sentence, or is a day."""
    plain, _ = _folded(word)
    return plain in WORDS_THAT_SAY_LITTLE or plain in _NO_NAMES


class Matcher:
    """Finds the given names in texts, and what may be one of them."""

    def __init__(self, forms: Iterable[str]) -> None:
        self._forms = [_Form(form) for form in dict.fromkeys(forms)]
        parts = dict.fromkeys(part for form in self._forms for part in form.parts)
        self._parts = [_Form(part) for part in parts]

    def spans(self, text: str) -> list[Span]:
        """Where the names stand, in their order."""
        plain, places = _folded(text)
        found = sorted(span for form in self._forms for span in form.sure(text, plain, places))
        apart: list[Span] = []
        for start, end in found:
            if apart and start < apart[-1][1]:
                apart[-1] = (apart[-1][0], max(end, apart[-1][1]))
            else:
                apart.append((start, end))
        return apart

    def mentions(self, text: str) -> bool:
        return bool(self.spans(text))

    def is_name(self, text: str) -> bool:
        """Whether a text is such a name and nothing else."""
        text = text.strip()
        return self.spans(text) == [(0, len(text))]

    def without(self, text: str, instead: str = PERSON) -> str:
        """A text with something else in the place of each name."""
        for start, end in reversed(self.spans(text)):
            text = text[:start] + instead + text[end:]
        return text

    def maybe(self, text: str) -> list[str]:
        """The names in a text that may be this person's, as they stand there."""
        plain, places = _folded(text)
        found = [span for part in self._parts for span in part.loose(text, plain, places)]
        apart = self.spans(text)
        names: dict[Span, str] = {}
        for start, end in sorted(found, key=lambda span: span[0] - span[1]):
            if not any(first < end and start < last for first, last in apart):
                apart.append((start, end))
                names[start, end] = " ".join(text[start:end].split())
        return list(dict.fromkeys(names[span] for span in sorted(names)))


class _Form:
    """One name: `parts` are what may be the same person's, the name within a longer one too."""

    def __init__(self, form: str) -> None:
        words = _words(form)
        titles: list[str] = []
        while len(words) > 1 and words[0] in _TITLES:
            titles.append(words.pop(0))
        self._is_word = len(words) == 1 and words[0] in _WORDS_TOO
        self._alone = len(words) == 1 and not titles and not _UNSPACED.search(form)
        ends = () if _is_phrase(form, words) else dict.fromkeys((words[0], words[-1]))
        self.parts = [word for word in ends if len(word) >= _SHORTEST_PART]
        # Frau Albrecht is not Herr Albrecht, but Dr. Kim Nguyen is Kim Nguyen.
        needed = titles if len(words) == 1 else []
        self._pattern = re.compile(_way(form, words, needed))

    def sure(self, text: str, plain: str, places: Places) -> Iterator[Span]:
        """Where this name stands and nobody else's can."""
        for match in self._pattern.finditer(plain):
            start, end = _place(match.span(), places)
            ending = match["ending"]
            if not self._is_written_as_name(text, match, places):
                continue
            if ending == "s" and not _is_genitive(text, match, end):
                continue
            whole = _longer(text, start, end, spaced=self._alone, after=not ending)
            if whole == (start, end) or text.isupper():
                yield start, end

    def loose(self, text: str, plain: str, places: Places) -> Iterator[Span]:
        """Where it stands, with the longer name that it is a part of."""
        for match in self._pattern.finditer(plain):
            if self._is_written_as_name(text, match, places):
                start, end = _place(match.span(), places)
                after = not match["ending"] or match["ending"] == "s"
                yield _longer(text, start, end, spaced=True, after=after)

    def _is_written_as_name(self, text: str, match: re.Match[str], places: Places) -> bool:
        first = text[_place(match.span("name"), places)[0]]
        return first == first.upper() or not (self._is_word or match["ending"] == "s")


def _folded(text: str) -> tuple[str, Places]:
    """A text as names are compared, and where each of its letters was.

    Small letters without accents; umlauts stay, as they can be written as two letters.
    """
    if text.isascii():
        return text.lower().replace("`", "'"), range(len(text) + 1)
    letters: list[str] = []
    places: list[int] = []
    for at, letter in enumerate(text.translate(_APOSTROPHES)):
        for one in _decomposed(letter):
            if "\u0300" <= one <= "\u036f":
                if one == "\u0308" and letters:
                    letters[-1] = _UMLAUTS.get(letters[-1], letters[-1])
                continue
            letters.append(_OTHER_LETTERS.get(one, one))
            places.append(at)
    return "".join(letters), [*places, len(text)]


def _decomposed(letter: str) -> str:
    if ord(letter) < _LAST_WITH_ACCENTS or "\uff01" <= letter <= "\uff5e":
        return unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", letter).casefold())
    return letter.casefold()


def _place(span: Span, places: Places) -> Span:
    return places[span[0]], places[span[1]]


def _words(form: str) -> list[str]:
    return [word for word in re.split(r"[\s.\-]+", _folded(form)[0]) if re.search(r"\w", word)]


def _is_phrase(form: str, words: list[str]) -> bool:
    """Whether it is no name but a phrase, such as "my mother", of which no part is one."""
    first = words[0]
    return first in _BEFORE_NOUNS and (first in _NOBODYS or form[0].islower())


def _way(form: str, words: list[str], titles: list[str]) -> str:
    """The pattern of a name in a folded text."""
    if _UNSPACED.search(form):
        kinds = dict.fromkeys(unicodedata.normalize(kind, form) for kind in ("NFC", "NFD"))
        ways = (r"\s*".join(map(re.escape, _folded(one)[0].split())) for one in kinds)
        return rf"(?P<name>{'|'.join(ways)})(?P<ending>)"
    name = _letters(words[0])
    for last, word in pairwise(words):
        between = r"\.?\s*" if len(last) == 1 else r"\s*"  # J. R. Smith
        name += rf"(?:{between}|[._-]){_letters(word)}"
    before = rf"(?<!{_LETTER})(?:{_TITLE})*"
    if titles:
        before += rf"(?:{'|'.join(titles)})(?:\.\s*|\s+)(?:{_TITLE})*"
    return rf"{before}(?P<name>{name})(?P<ending>'s|s|')?(?!{_LETTER})(?!'{_LETTER}{{2}})"


def _letters(word: str) -> str:
    """A word in the ways it can be spelled: ü as ue, with accents or without."""
    found: list[str] = []
    at = 0
    while at < len(word):
        letter = word[at]
        if letter in _UMLAUTS and word[at + 1 : at + 2] == "e":
            found.append(f"(?:{letter}e|{_UMLAUTS[letter]})")
            at += 1
        elif letter in _PLAIN:
            found.append(f"(?:{letter}|{_PLAIN[letter]}e?)")
        elif letter in _UMLAUTS:
            found.append(f"[{letter}{_UMLAUTS[letter]}]")
        else:
            found.append("'?" if letter == "'" else re.escape(letter))
        at += 1
    return "".join(found)


def _is_genitive(text: str, match: re.Match[str], end: int) -> bool:
    """Whether an s is a genitive, as in Leas Hund; Andreas is another name."""
    next_letter = text[end + 1 : end + 2]
    name = f"{match['name']}s".rpartition(" ")[2]
    return text[end : end + 1] == " " and next_letter.isupper() and name not in _NAMES_WITH_S


def _longer(text: str, start: int, end: int, *, spaced: bool, after: bool) -> Span:
    """The whole of a name of which a part was found; `spaced`: words beside it belong to it."""
    found = _WORD_BEFORE.search(text, max(0, start - 60), start)
    if found and found[1][0].isupper():
        joined = found[2] == "-"
        if joined or (spaced and not is_common(found[1]) and not _is_title(found[1])):
            start = found.start(1)
    if after and (found := _WORD_AFTER.match(text, end)):
        sign, word = found.groups()
        joined = sign == "." or (sign == "-" and word[0].isupper())
        if joined or (spaced and not sign and word[0].isupper() and not is_common(word)):
            end = found.end()
    return start, end


def _is_title(word: str) -> bool:
    return _folded(word)[0].rstrip(".") in _TITLES
