"""Recall: a search, a second look from its best, and the text that is told; what it leaves behind.

The second look is at those whom the best memory introduces, and at what became of it. "Where does
Stan's daughter work?" finds that his daughter is Ivy, and only then what Ivy does. What is near to
the best and later may have replaced it, unless it only asks. Both choose what is told beside what
fits the question itself; only what says that the matter has changed comes before it.

What a full caller is told counts as recalled at once; the counters of a read-only caller wait for a
patrol, where no other reader looks. What a conversation was told is kept under its own token.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from clawkit.errors import StoreError
from clawkit.memory.display_text import MemoryTexts
from clawkit.memory.people import names_of
from clawkit.memory.portrait import Told, best_of, is_of, portrait
from clawkit.memory.recall.search import Hit, SearchResult, search
from clawkit.memory.recall.signals import RecallQuestion, mentioned
from clawkit.memory.records import Node
from clawkit.memory.store import nodes, reads
from clawkit.memory.tokens import Caller
from clawkit.store.database import Database, Unit
from clawkit.text.cues import says_change, tells_home
from clawkit.text.tokenizer import telling_words, terms

if TYPE_CHECKING:
    from clawkit.memory.embed.embedder import Embedder
    from clawkit.store.arrays import Bools, Floats

NOTHING = "No relevant memories found."
NOTHING_NEW = (
    "No relevant memories found that this conversation was not told already; search_memory shows "
    "them again."
)
_OF_ACTIVE, _OF_DEAD = 1, 2
_LOOKED_AT = 36
"""How many memories are looked at again, to choose what is told beside the best."""

_BESIDE = 9
"""How many memories at most are told beside those that were asked for."""

_OF_ASKER = 24
"""How many memories at most tell somebody what is known of them."""

_ONE_MATTER = 0.5
"""How near in meaning two of the best are that are told together, the newer first."""

_log = logging.getLogger("clawkit.memory")


class Recollection(msgspec.Struct, frozen=True):
    """What came to mind: the hits that are worth telling."""

    kind: str
    hits: tuple[Hit, ...]
    """The best first, but what has changed after what it has become, unless the past is asked."""

    beside: tuple[Hit, ...]
    """What is told beside them: the next best, which may be on the same matter."""

    text: str


def recollect(
    database: Database,
    being: int,
    message: str,
    embedder: Embedder | None,
    caller: Caller,
    *,
    limit: int,
    now: float,
    as_of: float | None = None,
    apart_from: str = "",
    explain: bool = False,
    counts: bool = True,
) -> Recollection:
    """What is worth telling about a message, which this conversation has not been told.

    The conversation `apart_from` knows what was said in it and need not be reminded. What only
    somebody looks at, who wants to know what would be told, does not count as recalled.
    """
    most = limit + _BESIDE
    with database.read(being) as unit:
        before = [seq for seq in told_to(unit, caller) if seq > 0]
        find = partial(
            search,
            unit,
            message,
            embedder=embedder,
            limit=_LOOKED_AT,
            as_of=as_of,
            asker=caller.person,
            now=now,
            explain=explain,
            only_telling=True,
        )
        known = find(exclude=before)
        hits = known.hits if known.relevant else ()
        nothing = NOTHING_NEW if before and not hits and find().relevant else NOTHING
        if apart_from:
            hits = tuple(hit for hit in hits if hit.node.source.conversation != apart_from)
        hits = tuple(hit for hit in hits if hit.node.seq not in known.only_asking)
        cosines = Cosines(_vectors(unit, embedder, hits))
        hits, replaced = look_again(known, hits, limit, cosines)
        hits = hits[:most]
        of_asker: list[Told] = []
        if as_of is None and known.question.is_about_self_only:
            of_asker = _of_asker(unit, embedder, caller, apart_from, now)
            hits = _with(of_asker, hits, caller.person)[: max(most, len(of_asker))]
        current = [hit.node for hit in hits if hit.node.seq not in replaced]
        told = {hit.node.seq for hit in hits}
        best = () if of_asker else current[:limit]
        since = _since([hit.node for hit in hits], cosines)
        texts = MemoryTexts(known.question.people.own, _around(unit, best, told), since)
    if hits and counts:
        hits = _told_now(database, being, hits, caller, now)
    found = [hit.node for hit in hits]
    if of_asker:
        earlier = {told.node.seq: told.before for told in of_asker}
        matters = [[node, *filter(None, (earlier.get(node.seq),))] for node in found]
    else:
        matters = _matters(found, limit, cosines, replaced)
    block = texts.block(message, matters, [node.seq for node in best]) if matters else nothing
    hits = tuple(msgspec.structs.replace(hit, earlier=hit.node.seq in since) for hit in hits)
    if not known.question.is_about_past:
        hits = _current_first(hits, since)
    return Recollection(known.kind, hits[:limit], hits[limit:], block)


class Cosines:
    """How near memories are to each other in meaning: 0 where one has no vector."""

    def __init__(self, vectors: Mapping[int, Floats]) -> None:
        self._vectors = vectors

    def between(self, one: Node, other: Node) -> float:
        first, second = self._vectors.get(one.seq), self._vectors.get(other.seq)
        return 0.0 if first is None or second is None else float(first @ second)


def _current_first(hits: Sequence[Hit], since: Mapping[int, int]) -> tuple[Hit, ...]:
    """The best first, but what has changed after what it has become."""
    by_seq = {hit.node.seq: hit for hit in hits}
    order: dict[int, None] = {}
    for seq in by_seq:
        became = [seq]
        while (newer := since.get(became[-1])) in by_seq:
            became.append(newer)
        order.update(dict.fromkeys(reversed(became)))
    return tuple(by_seq[seq] for seq in order)


_INTRODUCED, _NEAR, _LATER = 0.6, 0.3, 0.6
"""As shares of how far behind the best one may be; chosen on the made lives."""

_FIRST_FEW, _SAME_MATTER = 4, 0.4
"""Who is among so many, so near to the best and later may say what is so now."""

_REPLACING, _REPLACED = 12, 0.5
"""Who is among so many, so near to the best, later, and says that it has changed, is so now."""


_MARKED = 0.55
"""How near two are of which the later, that says what has changed, makes the other `earlier`."""


def look_again(
    found: SearchResult, hits: tuple[Hit, ...], first: int, cosines: Cosines
) -> tuple[tuple[Hit, ...], frozenset[int]]:
    """Which of these hits are told, and the numbers of those that the first of them replaced.

    The first so many as they are, then those that the best leads to; nobody else far behind. One of
    those with a rare word that was asked for is among the first, and all are told. Where one
    of the others replaced the best, that one is first, unless the past is asked for.
    """
    if not hits:
        return (), frozenset()
    nodes, best, question = [hit.node for hit in hits], hits[0].node, found.question
    names = names_of(question.people.names - question.people.own)
    introduced = names.named(best.scene.action) - names.named(question.text)
    tells = np.array([node.seq not in found.only_asking for node in nodes])
    leads = tells & (mentioned(nodes, introduced) > 0)
    times = [node.told_at for node in nodes]
    later = np.array([time > times[0] for time in times], np.float32)
    leads |= tells & _ends(best, nodes, later > 0, question)
    near = tells * _nearness(best, nodes, cosines)
    gain = _INTRODUCED * leads + near * (_NEAR + _LATER * later)
    scores = np.array([hit.score for hit in hits]) + found.far_behind * gain
    scores[:first] = [hit.score for hit in hits[:first]]
    rare = tells & np.array([node.seq in found.rare for node in nodes])
    rest = sorted(range(first, len(hits)), key=lambda at: (not rare[at], -scores[at]))
    order = [*range(min(first, len(hits))), *rest]
    if first > 1 and rare.any() and not rare[:first].any():
        order[first - 1], order[first] = order[first], order[first - 1]
    newer = None if question.is_about_past else _replacing(nodes, near * later, question)
    if newer is not None:
        order = [newer, *(at for at in order if at not in (0, newer))]
        order.insert(first, 0)
    behind = hits[0].score - scores
    on_matter = near >= _ONE_MATTER
    kept = leads | rare | (behind <= found.not_far_behind)
    kept |= on_matter & (behind <= found.far_behind)
    kept[:_FIRST_FEW] |= (near * later)[:_FIRST_FEW] >= _SAME_MATTER
    told = tuple(hits[at] for at in order if kept[at] or at == newer)
    if question.is_about_past:
        return told, frozenset()
    first_told = newer or 0
    before = [node for node, time in zip(nodes, times, strict=True) if time < times[first_told]]
    return told, _replaced(nodes[first_told], before, cosines)


def _ends(best: Node, nodes: Sequence[Node], later: Bools, question: RecallQuestion) -> Bools:
    """Which of the later ones may end what the best tells: they say that something has changed, and
    share a word with it that was not asked for, no name: "I drive a Jazz", "I sold the Jazz".
    """
    ends = np.zeros(len(nodes), bool)
    looked_at = enumerate(nodes[:_REPLACING])
    changed = [at for at, node in looked_at if later[at] and says_change(node.scene.action)]
    if changed:
        usual = {*question.telling_words.values(), *terms(" ".join(question.people.names))}
        own = {*telling_words(best.scene.action).values()} - usual
        said = [{*telling_words(nodes[at].scene.action).values()} for at in changed]
        ends[changed] = [not own.isdisjoint(words) for words in said]
    return ends


def _replacing(nodes: Sequence[Node], near: Floats, question: RecallQuestion) -> int | None:
    """The place of what its speaker later said to have become of the best, if anything.

    Two are nearer where both name somebody. What says of the same thing that it has changed, and
    leaves out whose it is, may be less near: "Mila swims on Wednesday", "swimming moved to Friday".
    """
    best, whose = nodes[0].scene.action, nodes[0].source.voice
    names = names_of(question.people.names)
    topic: set[str] = set()
    if names.named(question.text):
        topic = {*question.telling_words.values()} & {*telling_words(best).values()}

    def is_on_matter(at: int, text: str) -> bool:
        if at < _REPLACING and near[at] >= _REPLACED:
            return True
        if not topic or near[at] < _SAME_MATTER or names.named(text):
            return False
        return topic <= {*telling_words(text).values()}

    found = [
        at
        for at, node in enumerate(nodes)
        if node.source.voice == whose
        and is_on_matter(at, node.scene.action)
        and says_change(node.scene.action)
    ]
    return max(found, key=lambda at: near[at], default=None)


def _replaced(
    first: Node, before: Sequence[Node], cosines: Cosines, enough: float = _REPLACED
) -> frozenset[int]:
    """What its speaker said before on the matter of the first, which says that it has changed."""
    if not before or not says_change(first.scene.action):
        return frozenset()
    voice = first.source.voice
    own = [node for node in before if node.source.voice == voice]
    near = _nearness(first, own, cosines)
    return frozenset(node.seq for node, each in zip(own, near, strict=True) if each >= enough)


def _since(nodes: Sequence[Node], cosines: Cosines) -> dict[int, int]:
    """For those that another of these says to have changed, the number of the newest that does."""
    ordered = sorted(nodes, key=lambda node: node.told_at)
    return {
        seq: newer.seq
        for at, newer in enumerate(ordered)
        for seq in _replaced(newer, ordered[:at], cosines, _MARKED)
    }


def _nearness(best: Node, nodes: Sequence[Node], cosines: Cosines) -> Floats:
    """The cosine of each with the best; where both tell where their speaker lives, enough to be on
    one matter.
    """
    home = tells_home(best.scene.action)

    def near(node: Node) -> float:
        least = _MARKED if home and tells_home(node.scene.action) else 0.0
        return max(least, cosines.between(best, node))

    return np.array([near(node) for node in nodes], np.float32)


def _of_asker(
    unit: Unit, embedder: Embedder | None, caller: Caller, apart_from: str, now: float
) -> list[Told]:
    """What is known of the one who asks, as the start of a session has it; nothing told before."""
    before = told_to(unit, caller)
    parts = portrait(unit, embedder, now, caller.person)
    return [
        told
        for told in best_of(parts, caller.person, _OF_ASKER)
        if told.node.seq not in before
        and not (apart_from and told.node.source.conversation == apart_from)
    ]


def _with(of_asker: Sequence[Told], hits: Sequence[Hit], asker: str) -> tuple[Hit, ...]:
    """These first, then what else was found of the one who asks."""
    first = {told.node.seq: Hit(told.node, 0.0, {}) for told in of_asker}
    rest = (hit for hit in hits if not asker or is_of(hit.node, asker))
    return (*first.values(), *(hit for hit in rest if hit.node.seq not in first))


def _vectors(unit: Unit, embedder: Embedder | None, hits: Sequence[Hit]) -> Mapping[int, Floats]:
    if embedder is None or not hits:
        return {}
    return unit.vectors.fetch(embedder.name, [hit.node.seq for hit in hits])


def _matters(
    found: Sequence[Node], count: int, cosines: Cosines, replaced: frozenset[int]
) -> list[list[Node]]:
    """The best so many by what they are about, each with those of the others nearest to it.

    What was replaced stands beside what replaced it, the first.
    """
    current = [node for node in found if node.seq not in replaced]
    matters: list[list[Node]] = []

    for at, node in enumerate(current):
        nearest = max(matters, key=lambda one: cosines.between(one[0], node), default=None)
        if nearest is None or (at < count and cosines.between(nearest[0], node) < _ONE_MATTER):
            matters.append([node])
        else:
            nearest.append(node)
    ended = [node for node in found if node.seq in replaced]
    if matters:
        matters[0] += ended
    return matters or [ended] * bool(ended)


def _around(unit: Unit, best: Sequence[Node], told: Collection[int]) -> dict[int, Node]:
    """What was said around the best, apart from what is told itself."""
    in_talk = [node.seq for node in best if node.source.is_talk]
    seqs = {seq + step for seq in in_talk for step in (-1, 1)} - {0, *told}
    return nodes.fetch(unit, sorted(seqs))


def told_to(unit: Unit, caller: Caller) -> frozenset[int]:
    return reads.told(unit, _conversation(caller)) if caller.conversation else frozenset()


def count_reads(unit: Unit, read: Sequence[Node], caller: Caller, now: float) -> None:
    """Count that nodes came to mind: at once, or where only a patrol sees it."""
    times = {
        node.seq: _OF_DEAD if node.status == "dead" else _OF_ACTIVE for node in read if node.seq > 0
    }
    if caller.may_write:
        nodes.touch(unit, times, now)
    else:
        reads.queue(unit, caller.token, times, now)


def _told_now(
    database: Database, being: int, hits: tuple[Hit, ...], caller: Caller, now: float
) -> tuple[Hit, ...]:
    """Write down what is told; another call of the same conversation may have told some of it.

    Where nothing can be written, memories are told all the same.
    """
    try:
        with database.write_counters(being) as unit:
            told = told_to(unit, caller)
            new = tuple(hit for hit in hits if hit.node.seq not in told)
            count_reads(unit, [hit.node for hit in new], caller, now)
            if caller.conversation:
                reads.tell(unit, _conversation(caller), [hit.node.seq for hit in new], now)
            return new
    except StoreError as error:
        _log.warning("what was recalled cannot be counted: %s", error)
        return hits


def _conversation(caller: Caller) -> str:
    return reads.conversation_of(caller.token, caller.person, caller.conversation)
