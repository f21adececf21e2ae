"""Merges memories that say the same in the same words, without a model.

The same means: the same words in the same order but for case and punctuation, of the same people,
from the same speaker. Nearness is not enough: who lent whom is in the order of the words. What has
a day of its own is another event on another day, and what was otherwise in between is news; what
was only told again is one memory with all the days on which it was told.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from clawkit.memory.patrol.changes import counted
from clawkit.memory.patrol.dying import cap_of
from clawkit.memory.patrol.merging import merge
from clawkit.memory.records import Node
from clawkit.memory.store import marks, nodes, postings
from clawkit.memory.store.database import Unit
from clawkit.text.calendar import day_of, resolved
from clawkit.text.words import folded, terms

if TYPE_CHECKING:
    from clawkit.memory.arrays import Floats
    from clawkit.memory.patrol.embedding import Embed

_MARK = "compared"
_MOST = 1000
_RAREST = 3
_MOST_COMPARED = 50
_TOO_FREQUENT = 1000
_MOST_BETWEEN = 10
_ALIKE = 0.5
_WORD = re.compile(r"\w+")
_FIRST_PERSON = """
i my me we our ich mein meine wir unser je mon ma mes nous yo mi nosotros io mio mia noi eu meu
minha nós ik mijn wij я мой моя мы ben benim biz
"""
_THIRD_PERSON = """
he she it they him her his hers its their them this that these those there er sie es ihn ihm ihr
ihre das dies diese dieser dort il elle ils elles lui leur ce cela ça él ella ellos eso esto lei
loro questo quello ele ela eles isso isto hij zij het dat dit он она оно они это o onu bu
"""
_SELF = frozenset(folded(_FIRST_PERSON).split())
_OTHERS = frozenset(folded(_THIRD_PERSON).split())


def merge_repeated(unit: Unit, *, model: str, cap: int | None, now: float, token: str) -> int:
    """Merge what says the same; gives how many memories were merged into others.

    Each patrol looks at what is new since the last, at so much at most, and what is above the cap
    waits for the next.
    """
    after = int(marks.get(unit, _MARK) or 0)
    new = nodes.page(unit, statuses=("active",), order="seq", limit=_MOST, after=after)
    left, done, merged = cap_of(unit, cap), after, 0
    for node, same in _same(unit, new):
        if same and (not left or (len(same) > left and merged)):
            break
        if same:
            absorbed = same[-left:]
            _merge(unit, [*absorbed, node], model, now, token)
            merged += len(absorbed)
            left -= len(absorbed)
        done = node.seq
    if done != after:
        marks.put(unit, _MARK, str(done))
    return merged


def _same(unit: Unit, new: Sequence[Node]) -> list[tuple[Node, list[Node]]]:
    """Each new memory, and the older ones that say the same; each memory is there once."""
    frequencies = postings.frequencies(
        unit, sorted({word for node in new for word in terms(node.scene.action)})
    )
    groups: dict[object, list[Node]] = defaultdict(list)
    for node in new:
        groups[_key(node)].append(node)
    found: dict[int, list[Node]] = {}
    for key, group in groups.items():
        newest = group[-1]
        older = _older(unit, group[0], key, frequencies)
        found[newest.seq] = [one for one in (*older, *group[:-1]) if _may_merge(unit, one, newest)]
    return [(node, found.get(node.seq, [])) for node in new]


def _older(unit: Unit, node: Node, key: object, frequencies: Mapping[str, int]) -> list[Node]:
    """Current memories before this one with the same key, found by its rarest words."""
    words = sorted(terms(node.scene.action), key=lambda word: (frequencies.get(word, 0), word))
    rarest = words[:_RAREST]
    if not rarest or not 1 < frequencies.get(rarest[0], 0) <= _TOO_FREQUENT:
        return []
    seqs = [int(seq) for seq in postings.having_all(unit, rarest) if seq < node.seq]
    found = nodes.fetch(unit, seqs[-_MOST_COMPARED:])
    return [
        found[seq] for seq in sorted(found) if found[seq].ended is None and _key(found[seq]) == key
    ]


def _key(node: Node) -> object:
    """The same for two memories that say the same of the same people."""
    scene = node.scene
    return (
        _words(scene.action) or (scene.action,),
        _words(scene.setting),
        _words(scene.feeling),
        frozenset(folded(name).strip() for name in scene.actors),
        folded(node.source.speaker),
    )


def _may_merge(unit: Unit, old: Node, new: Node) -> bool:
    if old.status != "active":
        return False
    if not _stands_alone(new) and (not new.scene.context or old.scene.context != new.scene.context):
        return False
    if old.scene.when == new.scene.when:
        return True
    return not (_has_day(unit, old) or _has_day(unit, new) or _was_otherwise(unit, old, new))


def _was_otherwise(unit: Unit, old: Node, new: Node) -> bool:
    """Whether nearly the same was told between them: then the new one is news, not a repetition."""
    words = terms(new.scene.action)
    first = old.seq + 1
    scores = postings.find(unit, dict.fromkeys(words, 1.0)).scores[first : new.seq]
    best = (-scores).argsort(kind="stable")[:_MOST_BETWEEN] + first
    for node in nodes.fetch(unit, best.tolist()).values():
        other = terms(node.scene.action)
        alike = len(words.keys() & other.keys()) >= _ALIKE * len(words.keys() | other.keys())
        if alike and _words(node.scene.action) != _words(new.scene.action):
            return True
    return False


def _has_day(unit: Unit, node: Node) -> bool:
    """Whether it names a day, or its days are others than those on which it was told."""
    _, named = resolved(node.scene.action, day_of(node.created))
    return bool(named) or not set(node.scene.when) <= _days_told(unit, node)


def _days_told(unit: Unit, node: Node) -> set[str]:
    """The day on which a memory was told, and those of the memories that were merged into it."""
    days = {day_of(node.created).isoformat()}
    if len(node.scene.when) > 1:
        rows = unit.rows(
            "SELECT seq FROM nodes WHERE being = $being AND ended IS NOT NULL AND successor = ?",
            node.seq,
        )
        for merged in nodes.fetch(unit, [seq for (seq,) in rows]).values():
            days |= _days_told(unit, merged)
    return days


def _stands_alone(node: Node) -> bool:
    """Whether it says whom it is about; a remark may go on about what was said before it."""
    if not node.source.message:
        return True
    words = set(_words(node.scene.action))
    named = {word for name in node.scene.actors for word in _words(name)}
    return bool(words & (_SELF | named)) and not words & _OTHERS


def _merge(unit: Unit, same: Sequence[Node], model: str, now: float, token: str) -> None:
    newest = same[-1]
    why = f"{counted(len(same), 'memory', 'memories')} that said the same became one"
    embed = _vector_of(unit, newest, model)
    merge(unit, same, newest.scene.action, now=now, token=token, embed=embed, model=model, why=why)


def _vector_of(unit: Unit, node: Node, model: str) -> Embed | None:
    """What says the same has the same vector: none need be made."""
    found = unit.vectors.fetch(model, [node.seq]).get(node.seq) if model else None
    if found is None:
        return None
    vector: Floats = found
    return lambda texts: vector[None, :].repeat(len(texts), axis=0)


def _words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(folded(text)))
