"""Finds one person's names in a text, and takes them out of it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from itertools import pairwise
from typing import Any, Literal, cast

import msgspec
from msgspec import Struct

from clawkit.errors import BeingError
from clawkit.memory.people import speaks_of_self
from clawkit.memory.records import Scene
from clawkit.store.database import folded
from clawkit.text.tables import word_lists
from clawkit.text.tokenizer import sentence_spans, words_that_say_little

PERSON = "[erased person]"
"""Stands where a name was, in labels, and in texts that must stay."""

OWNER = frozenset(("user", "assistant", "i", "me", "myself", "we", "you", "human", "ai", "system"))
"""Who is nobody else: the memory's own person, and the assistant."""

Span = tuple[int, int]
Places = range | list[int]
After = Literal["", "person", "other"]

_CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_UNSPACED = re.compile(f"[{_CJK}]")
_LETTER = rf"[^\W_{_CJK}]"  # a Japanese particle may follow a name at once
_SHORTEST_PART = 2
_WORDS = word_lists("names")
_FORMAL = _WORDS["formal_titles"]
_TITLES = _FORMAL | _WORDS["family"]
_TITLE = rf"(?:{'|'.join(sorted(_TITLES))})(?:\.\s*|\s+)"
_NOBODYS = _FORMAL | OWNER | _WORDS["possessives"]
_BEFORE_NOUNS = _WORDS["possessives"] | _WORDS["also_names"]
_WORD_AFTER = re.compile(r"(?: |(?=[-.]))([-.]?)([^\W\d_][\w'’]*)")
_WORD_BEFORE = re.compile(r"(?:(?<=[\W\d_])|^)([^\W\d_][\w'’]*|[^\W\d_]\.)( |-)$")
_APOSTROPHES = str.maketrans(dict.fromkeys("’‘ʼ´`′＇", "'"))  # noqa: RUF001 - what people type
_UMLAUTS = {"a": "ä", "o": "ö", "u": "ü"}
_PLAIN = {umlaut: letter for letter, umlaut in _UMLAUTS.items()}
_OTHER_LETTERS = {"ø": "ö", "æ": "ä", "œ": "ö", "ł": "l", "đ": "d"}
_LAST_WITH_ACCENTS = 0x2000
# Of folded texts, which have no й and no ё.
_RUSSIAN_NAME = re.compile("(?P<stem>[а-я]{2,}?)[аеиоуыэюяь]?")  # noqa: RUF001 - Russian
_CASES = "[аеиоуыюяь]|[ое][ию]|[оеыи]м|[ое]го|[ое]му|[ыи]х|[ыи]ми|"  # noqa: RUF001 - Russian


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
    return plain in words_that_say_little() or plain in _WORDS["beside_names"]


class PersonMatcher:
    """Finds the given names in texts, and what may be one of them."""

    def __init__(self, forms: Iterable[str]) -> None:
        self._forms = [_Form(form) for form in dict.fromkeys(forms)]
        parts = dict.fromkeys(part for form in self._forms for part in form.parts)
        self._parts = [_Form(part) for part in parts]

    def spans(self, text: str) -> list[Span]:
        """Where the names stand, in their order."""
        plain, places = _folded(text)
        found = sorted(span for form in self._forms for span in form.exact(text, plain, places))
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

    def without(self, text: str) -> str:
        """A text with `PERSON` in the place of each name."""
        for start, end in reversed(self.spans(text)):
            text = text[:start] + PERSON + text[end:]
        return text

    def maybe(self, text: str) -> list[str]:
        """The names in a text that may be this person's, as they stand there."""
        plain, places = _folded(text)
        found = [span for part in self._parts for span in part.partial(text, plain, places)]
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
        self._is_word = len(words) == 1 and words[0] in _WORDS["words_too"]
        self._alone = len(words) == 1 and not titles and not _UNSPACED.search(form)
        ends = () if _is_phrase(form, words) else dict.fromkeys((words[0], words[-1]))
        self.parts = [word for word in ends if len(word) >= _SHORTEST_PART]
        # Frau Albrecht is not Herr Albrecht, but Dr. Kim Nguyen is Kim Nguyen.
        needed = titles if len(words) == 1 else []
        self._pattern = re.compile(_name_pattern(form, words, needed))
        self._inflected = _inflected_pattern(words[-1]) if self._alone else None

    def exact(self, text: str, plain: str, places: Places) -> Iterator[Span]:
        """Where this name stands and nobody else's can."""
        for match in self._pattern.finditer(plain):
            start, end = _original_span(match.span(), places)
            ending = match["ending"]
            if not self._is_written_as_name(text, match, places):
                continue
            if ending == "s" and not _is_genitive(text, match, end):
                continue
            whole = _whole_name(text, start, end, spaced=self._alone, after=not ending)
            if whole == (start, end) or text.isupper():
                yield start, end

    def partial(self, text: str, plain: str, places: Places) -> Iterator[Span]:
        """Where it stands, with the longer name that it is a part of."""
        for match in self._pattern.finditer(plain):
            if self._is_written_as_name(text, match, places):
                start, end = _original_span(match.span(), places)
                after = not match["ending"] or match["ending"] == "s"
                yield _whole_name(text, start, end, spaced=True, after=after)
        for match in self._inflected.finditer(plain) if self._inflected else ():
            start, end = _original_span(match.span(), places)
            if text[start].isupper():
                yield _whole_name(text, start, end, spaced=True, after=True)

    def _is_written_as_name(self, text: str, match: re.Match[str], places: Places) -> bool:
        first = text[_original_span(match.span("name"), places)[0]]
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


def _original_span(span: Span, places: Places) -> Span:
    return places[span[0]], places[span[1]]


def _words(form: str) -> list[str]:
    return [word for word in re.split(r"[\s.\-]+", _folded(form)[0]) if re.search(r"\w", word)]


def _is_phrase(form: str, words: list[str]) -> bool:
    """Whether it is no name but a phrase, such as "my mother", of which no part is one."""
    first = words[0]
    return first in _BEFORE_NOUNS and (first in _NOBODYS or form[0].islower())


def _name_pattern(form: str, words: list[str], titles: list[str]) -> str:
    """The pattern of a name in a folded text."""
    if _UNSPACED.search(form):
        kinds = dict.fromkeys(unicodedata.normalize(kind, form) for kind in ("NFC", "NFD"))
        ways = (r"\s*".join(map(re.escape, _folded(one)[0].split())) for one in kinds)
        return rf"(?P<name>{'|'.join(ways)})(?P<ending>)"
    name = _spelling_pattern(words[0])
    for last, word in pairwise(words):
        between = r"\.?\s*" if len(last) == 1 else r"\s*"  # J. R. Smith
        name += rf"(?:{between}|[._-]){_spelling_pattern(word)}"
    before = rf"(?<!{_LETTER})(?:{_TITLE})*"
    if titles:
        before += rf"(?:{'|'.join(titles)})(?:\.\s*|\s+)(?:{_TITLE})*"
    return rf"{before}(?P<name>{name})(?P<ending>'s|s|')?(?!{_LETTER})(?!'{_LETTER}{{2}})"


def _inflected_pattern(word: str) -> re.Pattern[str] | None:
    """A Russian name in the cases that it can stand in, which may be another's, too: "Валентина"
    is a name of her own, and he in the genitive.
    """
    name = _RUSSIAN_NAME.fullmatch(word)
    if name is None:
        return None
    return re.compile(rf"(?<!{_LETTER}){name['stem']}(?:{_CASES})(?!{_LETTER})")


def _spelling_pattern(word: str) -> str:
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
    return text[end : end + 1] == " " and next_letter.isupper() and name not in _WORDS["with_s"]


def _whole_name(text: str, start: int, end: int, *, spaced: bool, after: bool) -> Span:
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


ERASED = "[erased]"
"""Stands where sentences were, in a message or an entry of which other sentences stay."""

_GOES_ON = re.compile(
    r"\W*(?:(?:he|she|it|they|his|her|hers|their|him|them|er|sie|es|ihr|ihm|ihn|sein|seine[rnms]?"
    r"|ihre[rnms]?|il|elle|son|sa|ses|lui|él|ella|su|sus|lei|ele|ela|seu|sua|hij|zij|он|она)\b"
    r"|彼|それ|他|她)",
    re.IGNORECASE,
)
_IS_ABOUT_SOMEBODY = re.compile(
    r"\W*(?:(?:then|later|afterwards|and|but|so|dann|danach|später|und|aber|puis|ensuite|luego|después"
    r"|poi|dopo|depois|daarna|toen|потом)\s+)?"
    r"(?:(?:he|she|they|his|her|hers|their|him|them|er|sie|ihr|ihm|ihn|sein|seine[rnms]?|ihre[rnms]?"
    r"|il|elle|él|ella|lui|lei|ele|ela|hij|zij|он|она)\b|彼|他|她)",
    re.IGNORECASE,
)
_LONGEST_MEANT = 3  # sentences about others, after which "he" is rather somebody else
_LINKED = re.compile(
    r"(?:and|but|or|so|too|then|because|und|aber|oder|sondern|denn|weil|dann|et|mais|ou|y|pero|ma"
    r"|e|mas|en|maar|и|но)\b",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(r";\s+")
_WORD = re.compile(r"\w+")
_SPELLED = re.compile(r"[^\W\d_][\w'’]*")
_AFTER_SUBJECTS = "is was are were has had will can hat hatte ist war wird kann est a è es"
_VERBS = frozenset(_AFTER_SUBJECTS.split())
_END_MARKS = ".!?…"
_SHORTEST_SENTENCE = 12
_ENOUGH_OF_IT = 60  # characters; what is put together from memories is cut


class RedactedScene(Struct, frozen=True):
    """What stays of a scene, who said it, and where."""

    scene: Scene
    speaker: str
    conversation: str


class Editor(PersonMatcher):
    """Takes one person out of texts: sentences that name them, and that go on about it."""

    def __init__(
        self, person: Person, known: Collection[str], owners: Collection[str] = ()
    ) -> None:
        super().__init__(person.forms)
        self._owners = frozenset(word for name in owners for word in words_of(name))
        others = {word for name in known if not self.is_name(name) for word in words_of(name)}
        own = {word for form in person.forms for word in words_of(form)}
        self._others = others.difference(own, OWNER, words_of(PERSON), self._owners)
        self._gone: set[str] = set()

    def forget(self, text: str) -> None:
        """The sentences of a text that is erased: they go wherever they stand."""
        said = (folded(text[start:end].strip()) for start, end in sentence_spans(text))
        self._gone.update(one for one in said if len(one) >= _SHORTEST_SENTENCE)

    def is_in(self, text: str) -> bool:
        """Whether a text names this person, or has something of what is erased in it."""
        if self.mentions(text):
            return True
        plain = folded(text) if self._gone else ""
        return any(one[:_ENOUGH_OF_IT] in plain for one in self._gone)

    def names_others(self, text: str) -> bool:
        """Whether a text names somebody who is known here."""
        return bool(words_of(text) & self._others)

    def edited(self, text: str) -> str | None:
        """A text with a mark in the place of what is about this person; None if nothing stays."""
        return self._cut(text, ERASED)

    def data(self, value: Any) -> Any:
        """Plain data with the name taken out of its texts."""
        if isinstance(value, str):
            return self.without(value)
        if isinstance(value, dict):
            items = cast("dict[str, Any]", value).items()
            return {self.without(name): self.data(one) for name, one in items}
        if isinstance(value, list):
            return [self.data(one) for one in cast("list[Any]", value)]
        return value

    def redacted(
        self, scene: Scene, speaker: str, conversation: str, *, own: bool
    ) -> RedactedScene | None:
        """What stays of a scene, if anything; `own` where this person said it."""
        said = own or self.is_name(speaker)
        rest = self._rest(scene, said=said)
        speaker = PERSON if said else self.without(speaker)
        return RedactedScene(rest, speaker, self.without(conversation)) if rest else None

    def _rest(self, scene: Scene, *, said: bool) -> Scene | None:
        """What stays of a scene; None where that is nothing, or nothing about anybody else."""
        beside = (scene.setting, scene.feeling, *scene.themes)
        named = said or self.mentions(scene.action) or any(map(self.mentions, beside))
        takes_part = any(map(self.mentions, scene.actors))
        if not named and not takes_part:
            return self._without_context(scene)
        if takes_part and not self.mentions(scene.action):
            return None
        action = self._cut(scene.action, "", said=said)
        if action is None or not self._is_of_others(action):
            return None
        return msgspec.structs.replace(
            scene,
            action=action,
            actors=tuple(name for name in scene.actors if not self.mentions(name)),
            setting="" if self.mentions(scene.setting) else scene.setting,
            feeling="" if self.mentions(scene.feeling) else scene.feeling,
            themes=tuple(theme for theme in scene.themes if not self.mentions(theme)),
            context="" if self.mentions(scene.context) else scene.context,
        )

    def _without_context(self, scene: Scene) -> Scene | None:
        """A scene that only what was said before it names: "She is ill" is about that person."""
        if not self.mentions(scene.context):
            return scene
        after = "other" if self.names_others(scene.context) else "person"
        action = self._cut(scene.action, "", after=after)
        if action is None or not (action == scene.action or self._is_of_others(action)):
            return None
        return msgspec.structs.replace(scene, action=action, context="")

    def _cut(self, text: str, mark: str, *, said: bool = False, after: After = "") -> str | None:
        """A text without what is about this person; None where no sentence is left of it."""
        about = list(self._pieces(text, said=said, after=after))
        if not any(goes for _, goes in about):
            return text
        kept = ""
        dropped = False
        for piece, goes in about:
            if goes:
                kept = _closed(kept, piece) if not mark else kept
                kept += mark + _space_after(piece) if mark and not dropped else ""
            else:
                kept += piece[:1].upper() + piece[1:] if dropped else piece
            dropped = goes
        rest = "".join(piece for piece, goes in about if not goes)
        return kept.strip() if _says_something(rest) else None

    def _pieces(self, text: str, *, said: bool, after: After) -> Iterator[tuple[str, bool]]:
        """The sentences and clauses of a text, and whether each is about this person.

        `after` is whether one about this person was said before them, perhaps of others, too.
        """
        names = self.spans(text)
        dropped = after == "person"
        since = (
            0 if after else _LONGEST_MEANT
        )  # of a name it cannot be known whether "he" is said of it
        for start, end in sentence_spans(text):
            whole = folded(text[start:end].strip()) in self._gone
            for at, (first, last) in enumerate(_clauses(text, start, end)):
                piece = text[first:last]
                goes = whole or any(here < last and first < there for here, there in names)
                goes = goes or (said and speaks_of_self(piece))
                goes = goes or (dropped and _continues(piece, within=at > 0))
                goes = goes or (since < _LONGEST_MEANT and bool(_IS_ABOUT_SOMEBODY.match(piece)))
                yield piece, goes
                since = 0 if goes else since + bool(piece.strip())
                dropped = goes or (dropped and not piece.strip())

    def _is_of_others(self, text: str) -> bool:
        """Whether a text is about the memory's own person, or names somebody."""
        if speaks_of_self(text) or words_of(text) & (self._others | self._owners):
            return True
        return any(_names_somebody(text[start:end]) for start, end in sentence_spans(text))


def words_of(text: str) -> set[str]:
    """The words of a text, in small letters."""
    return set(_WORD.findall(folded(text)))


def _clauses(text: str, start: int, end: int) -> Iterable[Span]:
    for match in _CLAUSE_END.finditer(text, start, end):
        yield start, match.end()
        start = match.end()
    if start < end:
        yield start, end


def _continues(piece: str, *, within: bool) -> bool:
    """Whether words make no sense, or go on about the same person, without those before them."""
    return bool(_GOES_ON.match(piece) or (within and _LINKED.match(piece)))


def _closed(kept: str, dropped: str) -> str:
    """What is kept before a clause that goes, with the end that its sentence had."""
    if not kept.rstrip().endswith(";") or _CLAUSE_END.search(dropped):
        return kept
    end = dropped.rstrip()[-1:]
    end = end if end in _END_MARKS else ""
    return kept.rstrip().removesuffix(";") + end + _space_after(dropped)


def _space_after(piece: str) -> str:
    return piece[len(piece.rstrip()) :]


def _says_something(text: str) -> bool:
    """Whether a text can be a sentence: two words, or a script without spaces between them."""
    return len(_WORD.findall(text)) > 1 or (bool(text.strip()) and not text.isascii())


def _names_somebody(sentence: str) -> bool:
    """Whether a word in a sentence can be a name; "Due in May" has none, "Tom baked" has one."""
    words: list[str] = _SPELLED.findall(sentence)
    for at, word in enumerate(words):
        if not word[0].isupper() or is_common(word):
            continue
        following = words[at + 1] if at + 1 < len(words) else ""
        if at > 0 or (following and (following in _VERBS or not is_common(following))):
            return True
    return False
