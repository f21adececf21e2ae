"""❹ Merges memories that say the same, and ends those that newer ones outdate.

Without a model, the same means: the same words in the same order but for case and punctuation, of
the same people, from the same speaker. Nearness is not enough: who lent whom is in the order of the
words. What has a day of its own is another event on another day, and what was otherwise in between
is news; what was only told again is one memory with all the days on which it was told.

Only a model says what is outdated. Without one both stay, each with its day: rules that guess would
hide what is still true.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from clawkit.memory.model import DATA_ONLY, decoded, listed
from clawkit.memory.patrol import PatrolContext
from clawkit.memory.patrol.lifecycle import step_cap
from clawkit.memory.patrol.new_memories import folded_names, sharing_rarest_words
from clawkit.memory.patrol.replacement import end, merge, merged_scene
from clawkit.memory.patrol.transcript import without_recall
from clawkit.memory.patrol.vectors import Embed, ahead
from clawkit.memory.records import Node
from clawkit.memory.store import ledger, nodes
from clawkit.memory.store.ledger import set_nodes
from clawkit.store.database import Unit
from clawkit.text.calendar.named_days import day_of, resolved
from clawkit.text.counts import counted
from clawkit.text.tables import word_lists
from clawkit.text.tokenizer import folded, folded_words, terms

if TYPE_CHECKING:
    from clawkit.memory.model import Llm
    from clawkit.store.arrays import Floats

_LOOKED_AT_REPEATED = "compared"
_MOST_REPEATED = 1000
_MOST_BETWEEN = 10
_ALIKE = 0.5
_PRONOUNS = word_lists("pronouns")
_SELF = frozenset(map(folded, _PRONOUNS["first_person"]))
_OTHERS = frozenset(map(folded, _PRONOUNS["third_person"]))


def merge_repeated(unit: Unit, run: PatrolContext) -> int:
    """Merge what says the same; gives how many memories were merged into others.

    Each patrol looks at what is new since the last, at so much at most, and what is above the cap
    waits for the next.
    """
    after = int(unit.mark(_LOOKED_AT_REPEATED) or 0)
    new = nodes.page(unit, statuses=("active",), order="seq", limit=_MOST_REPEATED, after=after)
    left, done, merged = step_cap(unit, run.cap), after, 0
    for node, same in _same(unit, new):
        if same and (not left or (len(same) > left and merged)):
            break
        if same:
            absorbed = same[-left:]
            _merge(unit, [*absorbed, node], run)
            merged += len(absorbed)
            left -= len(absorbed)
        done = node.seq
    if done != after:
        unit.set_mark(_LOOKED_AT_REPEATED, str(done))
    return merged


def _same(unit: Unit, new: Sequence[Node]) -> list[tuple[Node, list[Node]]]:
    """Each new memory with its older duplicates; each memory is there once."""
    frequencies = nodes.word_frequencies(
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
    found = sharing_rarest_words(unit, terms(node.scene.action), frequencies, node.seq)
    return [one for one in found if one.ended is None and _key(one) == key]


def _key(node: Node) -> object:
    """Equal for two memories that say the same of the same people."""
    scene = node.scene
    return (
        folded_words(scene.action) or (scene.action,),
        folded_words(scene.setting),
        folded_words(scene.feeling),
        folded_names(scene.actors),
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
    scores = nodes.by_words(unit, dict.fromkeys(words, 1.0)).scores[first : new.seq]
    best = (-scores).argsort(kind="stable")[:_MOST_BETWEEN] + first
    for node in nodes.fetch(unit, best.tolist()).values():
        other = terms(node.scene.action)
        alike = len(words.keys() & other.keys()) >= _ALIKE * len(words.keys() | other.keys())
        if alike and folded_words(node.scene.action) != folded_words(new.scene.action):
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
    words = set(folded_words(node.scene.action))
    named = {word for name in node.scene.actors for word in folded_words(name)}
    return bool(words & (_SELF | named)) and not words & _OTHERS


def _merge(unit: Unit, same: Sequence[Node], run: PatrolContext) -> None:
    newest = same[-1]
    why = f"{counted(len(same), 'memory')} that said the same became one"
    embed, words = _same_vector(unit, newest, run.model), newest.scene.action
    merge(unit, same, words, now=run.now, token=run.token, embed=embed, why=why)


def _same_vector(unit: Unit, node: Node, model: str) -> Embed | None:
    """The vector of a duplicate, reused instead of made anew."""
    found = unit.vectors.fetch(model, [node.seq]) if model else {}
    if not found:
        return None

    def make(texts: list[str]) -> Floats:
        return found[node.seq][None, :].repeat(len(texts), axis=0)

    return Embed(model, make)


_MOST_ASKED = 200
_MERGED_TOGETHER = 40
_LONGEST_SUMMARY = 2_000
_MERGE_TOKENS = 4_000
_MERGE_PROMPT = (
    "You keep a memory in order. You get memories of one topic, numbered. Find those that tell of "
    "the same thing: repetitions, or steps of one event. Leave apart what differs in a fact, a "
    "person, a number or a decision; when in doubt, merge nothing. Write each summary so that no "
    "fact of the merged memories is lost, in the language they are written in. "
    'Answer as {"merges": [{"nodes": [1, 4], "summary": "...", "feeling": "..."}]}; '
    '{"merges": []} if there is nothing to merge. ' + DATA_ONLY
)


class Merge(msgspec.Struct, frozen=True):
    """What a model proposes to merge."""

    nodes: list[int]
    summary: str
    feeling: str = ""


_Wanted = tuple[list[Node], Merge]


class _MergeAnswer(msgspec.Struct, frozen=True):
    merges: list[Merge]


def consolidate(run: PatrolContext, llm: Llm) -> int:
    """Merge what a model finds to be the same; gives how many memories were merged into others.

    What is above the cap stays as fresh as it is, so that the next patrol looks at it again.
    """
    with run.database.read(run.being) as unit:
        groups = _groups(unit)
    wanted: list[_Wanted] = []
    for group in groups:
        wanted += _merge_prompt(llm, group)
    scenes = [merged_scene(group, one.summary, one.feeling) for group, one in wanted]
    embed = ahead(run.database, run.being, run.embedder, scenes)
    with run.database.write(run.being) as unit:
        found = [(g, one) for g, one in wanted if _still_there(unit, g)]
        current, later = _within(found, step_cap(unit, run.cap))
        for group, one in current:
            why = f"a patrol merged {len(group)} memories that say the same"
            said = (one.summary, one.feeling)
            merge(unit, group, *said, now=run.now, token=run.token, embed=embed, why=why)
        put_off = {node.seq for group, _ in later for node in group}
        looked_at = [node for group in groups for node in group if node.seq not in put_off]
        _settle(unit, looked_at, run.now, run.token)
    return sum(len(group) - 1 for group, _ in current)


def _within(wanted: list[_Wanted], cap: int) -> tuple[list[_Wanted], list[_Wanted]]:
    """The merges that one patrol may make, and those that are left for the next.

    One that is too large by itself is neither: no patrol would ever make it.
    """
    now: list[_Wanted] = []
    later: list[_Wanted] = []
    left = cap
    for one in wanted:
        absorbed = len(one[0]) - 1
        if absorbed <= left:
            now.append(one)
            left -= absorbed
        elif absorbed <= cap:
            later.append(one)
    return now, later


def _groups(unit: Unit) -> list[list[Node]]:
    """Fresh and dying memories by cluster; alone, none can be merged."""
    order = "seq DESC"
    found = nodes.page(unit, fresh=True, statuses=("active",), order=order, limit=_MOST_ASKED)
    found += nodes.page(unit, statuses=("dying",), order=order, limit=_MOST_ASKED)
    by_cluster: dict[int, list[Node]] = defaultdict(list)
    for node in sorted({node.seq: node for node in found}.values(), key=lambda node: node.seq):
        by_cluster[node.cluster].append(node)
    return [
        members[start : start + _MERGED_TOGETHER]
        for _, members in sorted(by_cluster.items())
        for start in range(0, len(members), _MERGED_TOGETHER)
    ]


def _merge_prompt(llm: Llm, group: list[Node]) -> list[_Wanted]:
    if len(group) < 2:
        return []
    said = llm.complete(_MERGE_PROMPT, listed([node.scene.text for node in group]), _MERGE_TOKENS)
    answer = decoded(said, _MergeAnswer)
    found: list[_Wanted] = []
    used: set[int] = set()
    for one in answer.merges if answer else ():
        numbers = sorted(set(one.nodes))
        usable = len(numbers) > 1 and numbers[0] >= 1 and numbers[-1] <= len(group)
        summary = without_recall(one.summary).strip()[:_LONGEST_SUMMARY]
        if not usable or used & set(numbers) or not summary:
            continue
        used.update(numbers)
        short = Merge(numbers, summary, one.feeling[:_LONGEST_SUMMARY])
        found.append(([group[n - 1] for n in numbers], short))
    return found


def _still_there(unit: Unit, group: Sequence[Node]) -> bool:
    """Whether nobody has ended one of them while the model was thinking."""
    found = nodes.fetch(unit, [node.seq for node in group])
    return len(found) == len(group) and all(node.ended is None for node in found.values())


def _settle(unit: Unit, looked_at: list[Node], now: float, token: str) -> None:
    """Marks the memories that a model has seen as no longer fresh."""
    found = nodes.fetch(unit, [node.seq for node in looked_at])
    fresh = [seq for seq, node in found.items() if node.fresh and node.ended is None]
    if fresh:
        change = set_nodes(unit, fresh, {"fresh": 1}, {"fresh": 0})
        why = f"{counted(len(fresh), 'memory')} looked at"
        ledger.add(unit, now, "settled", why, token, [change])


_LOOKED_AT_OUTDATED = "supersession.seen"
_MOST_NEW = 100
_TOGETHER = 20
_OLDER = 5
_NEAR = 0.4
_LONGEST = 400
_OUTDATED_TOKENS = 2_000
_OUTDATED_PROMPT = (
    "You keep a memory true. Each line has one new statement and older ones on a similar matter, "
    "with their days. Find the older statements that are no longer true because of the new one: "
    "the same thing of the same person has another value now, such as a new dose, boss, address, "
    "date or price. What happened stays true, and so does what only adds to it; when in doubt, "
    'name nothing. Answer as {"outdated": [{"new": 2, "old": [1]}]}, where `new` is the number of '
    'the line; {"outdated": []} if there is nothing. ' + DATA_ONLY
)


class Outdated(msgspec.Struct, frozen=True):
    """The number of a line, and of the older statements in it that it replaces."""

    new: int
    old: list[int]


class _OutdatedAnswer(msgspec.Struct, frozen=True):
    outdated: list[Outdated]


Pair = tuple[Node, list[Node]]


def supersede_outdated(run: PatrolContext, llm: Llm) -> int:
    """End what a model finds to be replaced by newer memories; gives how many ended."""
    with run.database.read(run.being) as unit:
        new = _unseen(unit)
        pairs = [(node, old) for node in new if (old := _similar(unit, run.model, node))]
    ended = 0
    for start in range(0, len(pairs), _TOGETHER):
        found = _found(llm, pairs[start : start + _TOGETHER])
        with run.database.write(run.being) as unit:
            ended += sum(_end(unit, by, old, run.now, run.token) for by, old in found)
    if new:
        with run.database.write(run.being) as unit:
            unit.set_mark(_LOOKED_AT_OUTDATED, str(new[-1].seq))
    return ended


def _unseen(unit: Unit) -> list[Node]:
    """The memories not yet checked for what they outdate, the oldest first."""
    after = int(unit.mark(_LOOKED_AT_OUTDATED) or 0)
    return nodes.page(unit, after=after, order="seq", limit=_MOST_NEW)


def _similar(unit: Unit, model: str, node: Node) -> list[Node]:
    """Older memories similar to a new one, the nearest first."""
    vector = unit.vectors.fetch(model, [node.seq]).get(node.seq) if model else None
    if vector is None:
        return []
    hidden = {int(seq) for seq in nodes.hidden(unit)}
    seqs, cosines = unit.vectors.nearest(model, vector, 3 * _OLDER, hidden)
    near = [seq for seq, cosine in zip(seqs, cosines, strict=True) if cosine >= _NEAR]
    older = [seq for seq in near if seq < node.seq][:_OLDER]
    found = nodes.fetch(unit, older)
    return [found[seq] for seq in older if found[seq].created < node.created]


def _found(llm: Llm, pairs: list[Pair]) -> list[tuple[Node, Node]]:
    """The new memory and the old one, for each that a model says is outdated."""
    lines: list[str] = []
    for n, (node, old) in enumerate(pairs, 1):
        older = {str(at): _said(one) for at, one in enumerate(old, 1)}
        line = {"n": n, "new": _said(node), "older": older}
        lines.append(msgspec.json.encode(line).decode())
    said = llm.complete(_OUTDATED_PROMPT, "\n".join(lines), _OUTDATED_TOKENS)
    answer = decoded(said, _OutdatedAnswer)
    found: list[tuple[Node, Node]] = []
    for one in answer.outdated if answer else ():
        if 1 <= one.new <= len(pairs):
            by, old = pairs[one.new - 1]
            found += [(by, old[at - 1]) for at in one.old if 1 <= at <= len(old)]
    return found


def _end(unit: Unit, by: Node, old: Node, now: float, token: str) -> bool:
    """End the old one, unless either has been ended meanwhile."""
    there = nodes.fetch(unit, [by.seq, old.seq])
    if len(there) < 2 or any(node.ended is not None for node in there.values()):
        return False
    why = f"a newer memory says: {_said(by)[:200]}"
    end(unit, old, by, "superseded", now=now, token=token, why=why)
    return True


def _said(node: Node) -> str:
    context = f" [{node.scene.context}]" if node.scene.context else ""
    who = f"{node.source.speaker}: " if node.source.speaker else ""
    return f"{', '.join(node.scene.when[:1])} {who}{node.scene.action}{context}"[:_LONGEST]
