"""English words without their endings, and past forms as their verb; light, and by hand.

Two words that get the same stem by mistake cost little; a verb that is not found in its past
form costs the answer.
"""

from __future__ import annotations

from functools import lru_cache

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
