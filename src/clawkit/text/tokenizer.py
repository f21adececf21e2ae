"""Splits text into sentences, and into words, stems and pairs for the word index.

`pieces` leaves nothing out: each is one sentence or several that belong together. A sentence that
goes on about the one before ("it", "she") stays with it, and a date such as "11. November" ends no
sentence.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

USUAL = 220
"""Characters up to which sentences are put together."""

LONGEST = 1_000
"""Characters of one piece; a sentence that is longer is cut at a space."""

_ABBREVIATIONS = (
    "mr mrs ms dr prof st sr sra jr rev hr fr mme mlle sig "
    "dott ing av no nr num núm tel str vol fig ca "
    "approx incl excl vs etc bzw usw evtl ggf inkl zzgl max min std tgl jan feb apr aug sept sep "
    "okt oct nov dez dec mo di mi do sa so"
)
_SHORTENED = re.compile(
    rf"(?:\b(?:{'|'.join(_ABBREVIATIONS.split())}|[^\W\d]|[ei]\.[ge]|[zduos]\.\s?[abdhuo])|\d)\.$",
    re.IGNORECASE,
)
_END = re.compile(r"(?<=[.!?…])[\"'”’»)\]]*\s+|(?<=[。\uff01\uff1f])[」』\uff09]*|\s*\n\s*")
_BULLET = re.compile(r"^\s*[-*•・#]+\s+")
_GOES_ON = re.compile(
    r"(?:he|she|it|it's|they|his|her|hers|its|their|that|that's|this|these|those|there|him|them|both"
    r"|er|sie|es|das|dies|diese[rsmn]?|dort|davon|damit|dafür|sein|seine[rnms]?|ihre?[rnms]?"
    r"|il|elle|ils|elles|ce|c'est|cela|ça|son|sa|ses|leurs?"
    r"|él|ella|ellos|ellas|eso|esto|esa|ese|su|sus|lui|lei|questo|quello|ele|ela|eles|elas|isso"
    r"|isto|seu|sua|hij|zij|het|dat|dit|он|она|оно|они|это|o|onu|bu|그|그녀|그것)(?!\w)"
    r"|(?:彼|彼女|それ|これ|その|この|あれ|あの|そこ|他|她|它|这|那)",
    re.IGNORECASE,
)


def pieces(text: str) -> list[str]:
    """The pieces of a message, in their order; together they are all of its words."""
    found: list[str] = []
    for sentence in sentences(text):
        together = found and len(found[-1]) + len(sentence) < USUAL
        goes_on = found and _GOES_ON.match(sentence) and len(found[-1]) + len(sentence) < 2 * USUAL
        if together or goes_on:
            found[-1] = f"{found[-1]} {sentence}"
        else:
            found += _cut(sentence)
    return found


def sentences(text: str) -> list[str]:
    """The sentences of a text, without line breaks and list marks."""
    parts = (text[start:end] for start, end in sentence_spans(text))
    cleaned = (" ".join(_BULLET.sub("", part).split()) for part in parts)
    return [part for part in cleaned if part]


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Where the sentences of a text are, with what is between them; together all of it."""
    found: list[tuple[int, int]] = []
    start = 0
    for end in _END.finditer(text):
        if "\n" not in end[0] and _SHORTENED.search(
            text[max(start, end.start() - 9) : end.start()]
        ):
            continue
        found.append((start, end.end()))
        start = end.end()
    return [*found, (start, len(text))]


def _cut(sentence: str) -> list[str]:
    """A sentence without an end, such as a pasted list, in parts that a search can take."""
    found: list[str] = []
    while len(sentence) > LONGEST:
        at = sentence.rfind(" ", LONGEST // 2, LONGEST)
        at = at if at > 0 else LONGEST
        found.append(sentence[:at].rstrip())
        sentence = sentence[at:].lstrip()
    return [*found, sentence] if sentence else found


LONGEST_INDEXED = 100_000
"""Characters of one text that can be found by their words."""

MOST_ASKED = 64
_LONGEST_WORD = 48
_LITTLE = 0.05
_KANA_PAIR = 0.35
_MIXED_PAIR = 0.7
_SINGLE = 0.45

_UNSPACED = (
    "\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u30ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
# Marks of scripts where they are part of the word; `\w` has none of them.
_MARKS = "\u0591-\u05bd\u064b-\u065f\u0900-\u0963\u0966-\u0e3e\u0e40-\u109f\u1780-\u17d3"
_WORD = re.compile(rf"(?:[^\W_]|[{_MARKS}])+|[^\w\s\x00-\x7f]")
_RUN = re.compile(f"[{_UNSPACED}]+")
_ACCENTS = re.compile("[\u0300-\u036f]")
_CLITIC = re.compile(r"(?<=\w)[’'](?:s|t|m|re|ve|ll|d)\b|(?<=\w)n[’']t\b")
_ORDINAL = re.compile(r"^(\d+)(?:st|nd|rd|th)$")
_HIRAGANA = re.compile("^[\u3041-\u309f\u30fc]+$")
_KANJI = re.compile("[\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
# ァ to ヶ, 96 code points above ぁ to ゖ.
_TO_HIRAGANA = {code: code - 0x60 for code in range(0x30A1, 0x30F7)}


def terms(text: str) -> Counter[str]:
    """What a text can be found by, with how often it is there."""
    found: Counter[str] = Counter()
    for word, unspaced in _words(text[:LONGEST_INDEXED]):
        if not unspaced:
            found[stem(word)] += 1
            continue
        run = word.translate(_TO_HIRAGANA)
        found.update(run)
        found.update(_pairs(run))
    return found


def asked(text: str) -> dict[str, float]:
    """What is looked for, with its weight between 0 and 1; of a long text, the first words."""
    found: dict[str, float] = {}
    for word, unspaced in _words(text[:LONGEST_INDEXED]):
        weights = _asked_run(word) if unspaced else {stem(word): _weight(word)}
        for term, weight in weights.items():
            found[term] = max(weight, found.get(term, 0.0))
        if len(found) >= MOST_ASKED:
            break
    return found


def content(text: str) -> list[list[str]]:
    """The words that carry what is asked, each as the terms that must all be in a text."""
    found: dict[tuple[str, ...], None] = {}
    for word, unspaced in _words(text[:LONGEST_INDEXED]):
        if unspaced:
            for run in _runs_of_content(word):
                pairs = _pairs(run.translate(_TO_HIRAGANA))
                found[tuple(pairs) or (run.translate(_TO_HIRAGANA),)] = None
        elif _weight(word) > _LITTLE:
            found[(stem(word),)] = None
    return [list(word) for word in found][:MOST_ASKED]


def folded(text: str) -> str:
    """A text without what does not matter to its words: case, accents, width."""
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFKD", text).casefold()
    text = unicodedata.normalize("NFC", _ACCENTS.sub("", text))
    return text.encode("utf-8", "ignore").decode()


def _words(text: str) -> Iterator[tuple[str, bool]]:
    for match in _WORD.finditer(_CLITIC.sub(" ", folded(text))):
        word = match[0]
        if len(word) == 1 and not word.isalnum() and unicodedata.category(word)[0] != "S":
            continue
        yield from _pieces(word)


def _pieces(word: str) -> Iterator[tuple[str, bool]]:
    """The parts of a word with and without spaces around its words: `第2回go` is four parts."""
    end = 0
    for run in _RUN.finditer(word):
        if run.start() > end:
            yield _plain(word[end : run.start()]), False
        yield run[0], True
        end = run.end()
    if end < len(word):
        yield _plain(word[end:]), False


def _plain(word: str) -> str:
    if word[0].isdigit():
        ordinal = _ORDINAL.match(word)
        word = (ordinal[1] if ordinal else word).lstrip("0") or "0"
    return word[:_LONGEST_WORD]


def _weight(word: str) -> float:
    return _LITTLE if word in WORDS_THAT_SAY_LITTLE else 1.0


def _asked_run(run: str) -> dict[str, float]:
    """Kanji and katakana carry the sense of a sentence, hiragana mostly its grammar."""
    found: dict[str, float] = {}
    for at, character in enumerate(run):
        if _KANJI.match(character) or len(run) == 1:
            found[character.translate(_TO_HIRAGANA)] = _SINGLE
        pair = run[at : at + 2]
        if len(pair) == 2:
            term = pair.translate(_TO_HIRAGANA)
            found[term] = max(_pair_weight(pair), found.get(term, 0.0))
    return found


def _pair_weight(pair: str) -> float:
    if pair in PAIRS_THAT_SAY_LITTLE:
        return _LITTLE
    kana = sum(bool(_HIRAGANA.match(character)) for character in pair)
    return (1.0, _MIXED_PAIR, _KANA_PAIR)[kana]


def _runs_of_content(run: str) -> list[str]:
    """The parts of a run without hiragana; the run itself where there is nothing else."""
    parts = [part for part in re.split("[\u3041-\u309f]+", run) if part]
    return parts or ([run] if run not in PAIRS_THAT_SAY_LITTLE else [])


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)]


_PAST = """
be am is are was were been being|have has had having|do does did done doing|go goes went gone
buy bought|bring brought|think thought|teach taught|catch caught|seek sought|fight fought
get got gotten|give gave given|take took taken|make made|come came|become became|see saw seen
say said|tell told|know knew known|grow grew grown|throw threw thrown|fly flew flown
draw drew drawn|show shown|write wrote written|ride rode ridden|drive drove driven
rise rose risen|choose chose chosen|speak spoke spoken|break broke broken|wake woke woken
steal stole stolen|freeze froze frozen|wear wore worn|tear tore torn|bear bore born
begin began begun|drink drank drunk|sing sang sung|ring rang rung|swim swam swum|run ran
sit sat|win won|find found|feel felt|keep kept|sleep slept|leave left|meet met|lose lost
send sent|spend spent|lend lent|build built|bend bent|hear heard|hold held|stand stood
understand understood|pay paid|sell sold|fall fell fallen|eat ate eaten|hide hid hidden
forget forgot forgotten|lead led|feed fed|read|mean meant|learn learnt|dream dreamt
shoot shot|hang hung|stick stuck|strike struck|dig dug|spin spun|bake|light lit|shake shook
forgive forgave forgiven|bite bit bitten|blow blew blown|swear swore sworn|deal dealt
child children|man men|woman women|foot feet|tooth teeth|mouse mice|person people
life lives|wife wives|knife knives|leaf leaves|half halves|wolf wolves|shelf shelves
mom mum mother mommy mama|dad father daddy papa|grandma grandmother granny
grandpa grandfather|bike bicycle|photo photograph picture pic
tv television|movie film|uni university|vet veterinarian|fridge refrigerator
phone telephone smartphone|plane airplane|doc doctor
january jan|february feb|april apr|june jun|july jul|august aug
september sep sept|october oct|november nov|december dec
tuesday tue tues|thursday thu thurs|friday fri
"""
_VOWELS = frozenset("aeiouy")
_SHORTEST = 4


def _irregular() -> dict[str, str]:
    """Each form as the first of its group."""
    found: dict[str, str] = {}
    for group in _PAST.replace("\n", "|").split("|"):
        forms = group.split()
        for form in forms:
            found.setdefault(form, _regular(forms[0]))
    return found


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """What a word has in common with its other forms."""
    known = _IRREGULAR.get(word)
    if known is not None:
        return known
    if len(word) < _SHORTEST or not word.isascii() or word[0].isdigit():
        return word
    return _IRREGULAR.get(_without_plural(word)) or _regular(word)


def _regular(word: str) -> str:
    word = _without_plural(word)
    word = _without_tense(word)
    for ending, left in (("ly", 4), ("ness", 4), ("ful", 4), ("ment", 5), ("ation", 4)):
        if word.endswith(ending) and len(word) - len(ending) >= left:
            word = word.removesuffix(ending)
            break
    if word.endswith("e") and len(word) > 3:
        word = word[:-1]
    return word[:-1] + "i" if word.endswith("y") and len(word) > 2 else word


def _without_plural(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        return word[:-1]
    return word


def _without_tense(word: str) -> str:
    if word.endswith("ied") and len(word) > 4:
        return word[:-3] + "y"
    for ending in ("ing", "ed"):
        if not word.endswith(ending):
            continue
        left = word.removesuffix(ending)
        if len(left) < 3 or not _VOWELS.intersection(left):
            return word
        if left[-1] == left[-2] and left[-1] not in "lsz":
            left = left[:-1]
        return left
    return word


_IRREGULAR = _irregular()

_ENGLISH = """
a an the this that these those there here it its he him his she her hers they them their theirs
we us our ours you your yours i me my mine myself himself herself themselves
and or but nor so if then than as of to in on at by for from with without about into onto over
under after before between during until while because since through against within
am is are was were be been being do does did done doing have has had having will would shall
should can could may might must not no yes don didn doesn isn wasn won couldn wouldn
what which who whom whose when where why how many much often long old kind type sort
some any all both each every other another such more most very too just also only even
up out off down again once ever never still yet already
hey hi hello oh wow yeah yep okay ok well really thanks thank please
tell remember know say said mention mentioned according
s t m re ve ll d
"""
_GERMAN = """
der die das ein eine einer einen einem und oder aber ich du er sie es wir ihr mein dein sein ist
sind war waren hat haben hatte habe wird werden nicht mit von zu im am auf für fur in den dem des
was wer wie wo wann warum welche welcher welches auch noch nur schon
"""
_FRENCH = """
le la les un une des du de et ou mais je tu il elle nous vous ils elles mon ma mes ton ta tes son
sa ses est sont etait a ont avait avec sans pour dans sur au aux ce cette ces qui que quoi quel
quelle quand comment pourquoi ne pas plus aussi
"""
_SPANISH = """
el la los las un una unos unas de del y o pero yo tu el ella nosotros ellos mi su sus es son era
fue ha han habia con sin para por en al que quien cual cuando como donde porque no muy mas tambien
"""
_ITALIAN_PORTUGUESE = """
il lo gli uno della dei e ed ma io lui lei noi voi loro suo sono ho hai abbiamo con per che chi
quando come dove perche non o os as um uma do da dos das em no na nos nas eu ele ela eles meu seu
foi tem com sem para por qual quem onde nao
"""

WORDS_THAT_SAY_LITTLE = frozenset(
    f"{_ENGLISH} {_GERMAN} {_FRENCH} {_SPANISH} {_ITALIAN_PORTUGUESE}".split()
)

# Grammar of Japanese, Chinese and Korean, as pairs of characters.
_PAIRS = """
です ます した まし ませ せん んか すか たか して いる
いた って てい から まで ので のは のが のを のに には
では とは との とか ない なか かっ った たの たん んで
だっ なん なに 何を 何が 何で 何の 何か いつ どこ どん
んな どう だれ 誰が 誰と 誰の 誰に いく くつ どの どれ
なぜ こと もの もう よう ため ある あり あっ れる られ
れた さん ちゃ ゃん くん よね かな だよ だね でし しょ
ょう すが けど これ それ あれ この その あの ここ そこ
私は 私の 僕は 僕の 俺は 彼は 彼女 は何 はど はい が好
什么 怎么 谁的 哪里 哪个 为什 我的 你的 他的 她的 我们
你们 他们 是不 不是 没有 有没 的是 了吗 的吗 一个 这个
那个 습니 니다 니까 했어 었어 였어 는데 에서 에게 으로
무엇 언제 어디 누구 어떤 그리 하고 했나 나요 어요
"""
PAIRS_THAT_SAY_LITTLE = frozenset(_PAIRS.split())
