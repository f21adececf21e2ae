"""What is written about memories: the digest and name of each cluster, and the diary.

A digest is from a model, or from the most important memories of its cluster. A model also gives
topics better names than their distinctive words; once, and again when a topic has become twice as
large. The diary, with reflections for the next session, is only written by a model.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING
from uuid import uuid4

import msgspec

from clawkit.memory.model import DATA_ONLY, decoded, listed
from clawkit.memory.patrol import PatrolContext, topics
from clawkit.memory.patrol.centroids import digest, most_important
from clawkit.memory.patrol.transcript import without_recall
from clawkit.memory.records import REFLECTIONS, Change, Cluster, Entry
from clawkit.memory.store import clusters, entries, ledger, nodes
from clawkit.store.database import Unit, keepable
from clawkit.text.calendar.named_days import day_of
from clawkit.text.counts import counted

if TYPE_CHECKING:
    from clawkit.memory.model import Llm

Sizes = defaultdict[int, tuple[int, int]]

_LONGEST_DIGEST = 600
_MOST_ASKED = 8
_ANSWER_TOKENS = 600
_LONGEST_NAME = 80
_GROWN = 2
_ASKED = (
    "You keep a memory in order. You get the most important memories of one group, numbered. Give "
    "the group a short name, and say in two or three sentences what they are about, with the facts "
    "that matter most; both in their language. "
    'Answer as {"name": "...", "digest": "..."}. ' + DATA_ONLY
)

# Small models have forgotten the form by the time they have read the memories.
_FORM = 'The answer as JSON, with "name" and "digest":'


class _NamedDigest(msgspec.Struct, frozen=True):
    name: str = ""
    digest: str = ""


def _sizes(unit: Unit) -> Sizes:
    """Each cluster's number of active memories and its newest one, to detect changes later."""
    rows = unit.rows(
        "SELECT cluster, count(*), max(seq) FROM nodes "
        "WHERE being = $being AND status = 'active' AND ended IS NULL GROUP BY cluster"
    )
    found = {cluster: (count, newest) for cluster, count, newest in rows}
    return defaultdict(lambda: (0, 0), found)


def describe(run: PatrolContext) -> int:
    """Describe the clusters that are not what they were; gives how many are described anew.

    A model is asked about some of them; the others keep what they say until the next patrol.
    """
    llm = run.llm
    with run.database.read(run.being) as unit:
        now, known = _sizes(unit), topics.known(unit)
        there = clusters.every(unit)
        unnamed = {c.n for c in there if llm and _is_unnamed(c, known[c.n], now[c.n][0])}
        # A cluster has changed when it has other memories than when it was described.
        changed = [c for c in there if not c.digest or known[c.n].described != now[c.n]]
        wanted = [c for c in there if c.n in unnamed]
        wanted += [c for c in changed if c.n not in unnamed]
        texts = {
            c.n: [node.scene.text for node in most_important(unit, c.n)]
            for c in wanted[:_MOST_ASKED]
        }
    asked = {n: _asked(llm, lines) for n, lines in texts.items() if llm and lines}
    done = [c for c in wanted if llm is None or c.n in texts]
    with run.database.write(run.being) as unit:
        _learn(unit, [c.n for c in done], asked.keys() & unnamed, now)
        return _write(unit, [c for c in wanted if c in done or not c.digest], asked, unnamed, run)


def _is_unnamed(cluster: Cluster, state: topics.TopicState, size: int) -> bool:
    """Whether no model has named a topic yet, or not since it became what it is."""
    outgrown = state.by == "model" and size >= _GROWN * state.named
    return cluster.parent is not None and (state.by == "words" or outgrown)


def _learn(unit: Unit, described: Collection[int], named: Collection[int], now: Sizes) -> None:
    known, replace = topics.known(unit), msgspec.structs.replace
    new = {n: replace(known[n], described=now[n]) for n in described}
    new |= {n: replace(new[n], named=now[n][0], by="model") for n in named}
    topics.save_states(unit, new)


def _write(
    unit: Unit,
    wanted: list[Cluster],
    asked: Mapping[int, _NamedDigest],
    unnamed: Collection[int],
    run: PatrolContext,
) -> int:
    there = clusters.by_number(unit)
    changes: list[Change] = []
    for cluster in (there[old.n] for old in wanted if old.n in there):
        answer = asked.get(cluster.n, _NamedDigest())
        name = answer.name if cluster.n in unnamed else ""
        before = {"name": cluster.name, "digest": cluster.digest}
        written = answer.digest or digest(unit, cluster.n)
        after = {"name": name or cluster.name, "digest": written}
        new = {column: value for column, value in after.items() if value != before[column]}
        if new:
            clusters.describe(unit, cluster.n, after["name"], after["digest"])
            old = {column: before[column] for column in new}
            changes.append(Change("clusters", str(cluster.n), old, new))
    if changes:
        why = f"{counted(len(changes), 'topic')} described"
        ledger.add(unit, run.now, "described", why, run.token, changes)
    return len(changes)


def _asked(llm: Llm, lines: list[str]) -> _NamedDigest:
    said = llm.complete(_ASKED, f"{listed(lines)}\n\n{_FORM}", _ANSWER_TOKENS)
    answer = decoded(said, _NamedDigest) or _NamedDigest()
    name, digest = (" ".join(without_recall(text).split()) for text in (answer.name, answer.digest))
    return _NamedDigest(name[:_LONGEST_NAME], digest[:_LONGEST_DIGEST])


DIARY = "diary"

_MOST_TOLD = 80
_MOST_REFLECTIONS = 3
_LONGEST_ENTRY = 2_000
_DIARY_TOKENS = 1_500
_DIARY_ASKED = (
    "You keep the diary of an assistant that remembers. You get what it has learned since the last "
    "entry, numbered. Write an entry of a few sentences about what happened, and up to three short "
    "reflections that will help it in the next session; none if nothing suggests one. Only what "
    "the memories say, in their language. "
    'Answer as {"diary": "...", "reflections": ["..."]}. ' + DATA_ONLY
)


class _DiaryAnswer(msgspec.Struct, frozen=True):
    diary: str
    reflections: list[str] = []


def write_diary(run: PatrolContext, llm: Llm, after: int) -> int:
    """Write the diary about memories after this number; returns how many entries."""
    with run.database.read(run.being) as unit:
        new = nodes.page(unit, after=after, order="seq DESC", limit=_MOST_TOLD)
    if not new:
        return 0
    lines = [node.text for node in reversed(new)]
    answer = decoded(llm.complete(_DIARY_ASKED, listed(lines), _DIARY_TOKENS), _DiaryAnswer)
    if answer is None or not answer.diary.strip():
        return 0
    day = day_of(run.now).isoformat()
    made = [_entry(DIARY, day, answer.diary, run.now)]
    told = [text for text in answer.reflections if text.strip()][:_MOST_REFLECTIONS]
    made += [_entry(REFLECTIONS, day, text, run.now) for text in told]
    with run.database.write(run.being) as unit:
        _add(unit, made, run.now, run.token)
    return len(made)


def _entry(target: str, key: str, text: str, now: float) -> Entry:
    return Entry(str(uuid4()), target, key, keepable(text.strip())[:_LONGEST_ENTRY], now)


def _add(unit: Unit, made: list[Entry], now: float, token: str) -> None:
    for entry in made:
        entries.add(unit, entry, token)
    changes = [Change("entries", one.id, None, ledger.row(unit, "entries", one.id)) for one in made]
    ledger.add(unit, now, "diary", "a patrol wrote the diary", token, changes)
