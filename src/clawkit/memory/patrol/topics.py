"""❻ ❼ Splits topics off what has grown large, and joins those that have become small.

Roots stay what they are, but memories that lie in them move into topics under them; from a large
topic, others split off. A group that no words tell from the rest is no topic: its memories stay
where they are. A cluster is looked at again when it has grown, so what is named stays as it is.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Literal

import msgspec

from clawkit.memory import people
from clawkit.memory.patrol import PatrolContext, centroids
from clawkit.memory.patrol.topic_model import TopicWords, groups, read, similarity
from clawkit.memory.records import Change, Cluster, Node
from clawkit.memory.store import clusters, ledger, nodes
from clawkit.memory.store.ledger import set_nodes
from clawkit.store.database import Unit, written
from clawkit.text.counts import counted

_MARK = "topics"


class TopicState(msgspec.Struct, frozen=True, omit_defaults=True):
    """`seen` is the newest memory when it was last looked at, `named` its size when named.

    `described` is its size, and its newest memory, when its digest was written.
    """

    seen: int = 0
    named: int = 0
    by: Literal["", "words", "model"] = ""
    described: tuple[int, int] = (0, 0)


def known(unit: Unit) -> defaultdict[int, TopicState]:
    """The state of each topic, by cluster number; the default for one never looked at."""
    found = msgspec.json.decode(unit.mark(_MARK) or "{}", type=dict[int, TopicState])
    return defaultdict(TopicState, found)


def save_states(unit: Unit, new: dict[int, TopicState]) -> None:
    """Save changed states, and drop those of clusters that are gone."""
    there = clusters.by_number(unit)
    found = {n: one for n, one in {**known(unit), **new}.items() if n in there}
    unit.set_mark(_MARK, written({str(n): found[n] for n in sorted(found)}))


SMALL = 2
"""A topic with this many active memories or fewer is no topic of its own."""


def join(unit: Unit, run: PatrolContext) -> int:
    """Dissolve small topics; gives how many are gone."""
    active = _sizes(unit)
    there = clusters.by_number(unit)
    changes: list[Change] = []
    for cluster in [c for c in there.values() if c.parent is not None]:
        if active.get(cluster.n, 0) > SMALL:
            continue
        target = _neighbour(unit, cluster, list(there.values()), run.model)
        changes += _dissolve(unit, cluster, target, run.now)
        del there[cluster.n]
        active[target] = active.get(target, 0) + active.pop(cluster.n, 0)
        centroids.recompute(unit, [target], run.model)
    gone = sum(change.table == "clusters" for change in changes)
    if changes:
        why = f"{counted(gone, 'small topic')} joined others"
        ledger.add(unit, run.now, "joined", why, run.token, changes)
    return gone


def move(unit: Unit, seqs: list[int], source: int, target: int) -> list[Change]:
    """Put memories into another cluster."""
    return [set_nodes(unit, seqs, {"cluster": source}, {"cluster": target})] if seqs else []


def _sizes(unit: Unit) -> dict[int, int]:
    """How many active memories each cluster has."""
    return {n: size for (n, status), size in nodes.counts(unit).items() if status == "active"}


def _dissolve(unit: Unit, cluster: Cluster, target: int, now: float) -> list[Change]:
    # Memories that have ended move too: one that an undo brings back must have a place.
    rows = unit.rows("SELECT seq FROM nodes WHERE being = $being AND cluster = ?", cluster.n)
    moved = move(unit, [seq for (seq,) in rows], cluster.n, target)
    clusters.set_gone(unit, cluster.n, now)
    return [*moved, Change("clusters", str(cluster.n), {"gone": None}, {"gone": now})]


def _neighbour(unit: Unit, cluster: Cluster, there: list[Cluster], model: str) -> int:
    """The nearest topic under the same root, if it is near; else the root."""
    assert cluster.parent is not None
    found = {
        n: centroids.unit_length(vector[None, :])[0]
        for n, vector in (clusters.centroids(unit, model) if model else {}).items()
    }
    own = found.pop(cluster.n, None)
    siblings = [other.n for other in there if other.parent == cluster.parent and other.n in found]
    if own is None or not siblings:
        return cluster.parent
    best = max(siblings, key=lambda n: (float(own @ found[n]), -n))
    return best if own @ found[best] > centroids.NEAR else cluster.parent


LARGE = 10
"""More active memories than this are too many for one topic, or new enough to look again."""

_SAMPLE = 2000
_MOST_TOPICS = 5
_FEWEST = 5
_SHARE = 150
_NEAR = 0.12
_NEAREST = 0.45
_MOST_ASSIGNED = 20_000
_AT_ONCE = 4096
_OFTEN = 0.2
_GROWN = 2
_LONGEST_REASON = 400


class Topic(msgspec.Struct, frozen=True):
    """A topic that was found: what it is called, and the memories in it."""

    name: str
    seqs: list[int]


class _Plan(msgspec.Struct, frozen=True):
    """What to split off from which clusters, and new names."""

    seen: int
    in_roots: list[Topic]
    in_topics: dict[int, list[Topic]]
    names: dict[int, str]
    sizes: dict[int, int]


class _Sample:
    """A sample of memories with centred vectors, and their words."""

    def __init__(self, unit: Unit, model: str, found: Iterable[Node]) -> None:
        import numpy as np

        by_seq = {node.seq: node for node in found}
        self.raw = unit.vectors.fetch(model, sorted(by_seq))
        lacking = by_seq.keys() - self.raw.keys()
        # What has no vector yet is looked at when it has one.
        self.seen = min(lacking) - 1 if lacking else nodes.top(unit)
        self.nodes = [by_seq[seq] for seq in sorted(self.raw)]
        self.words = TopicWords([], {}, {}, {})
        if self.nodes:
            rows = np.stack([self.raw[node.seq] for node in self.nodes])
            self.middle = rows.mean(axis=0)
            self.vectors = centroids.unit_length(rows - self.middle)
            own = _own_names(self.nodes)
            texts = [" \n".join((node.scene.action, *node.scene.themes)) for node in self.nodes]
            self.words = read(texts, self.vectors, people.known(unit).names - own, own)

    def topics(
        self, within: frozenset[int], least: float, without: Collection[str] = ()
    ) -> list[Topic]:
        """The groups in these clusters that have a name, the largest first."""
        at = [n for n, node in enumerate(self.nodes) if node.cluster in within]
        if len(at) <= LARGE:
            return []
        fewest = max(_FEWEST, len(at) // _SHARE)
        found: list[Topic] = []
        for group in groups(similarity(self.vectors, self.words, at), least):
            members = [at[n] for n in group]
            name = self.words.name(members, without) if len(members) >= fewest else ""
            if name:
                found.append(Topic(name, [self.nodes[n].seq for n in members]))
        return found

    def name(self, cluster: int) -> str:
        """What a topic would be called now."""
        return self.words.name([n for n, node in enumerate(self.nodes) if node.cluster == cluster])


def split(run: PatrolContext) -> int:
    """Make topics of what belongs together; gives how many are new."""
    with run.database.read(run.being) as unit:
        plan = _planned(unit, run.model)
    if plan is None:
        return 0
    with run.database.write(run.being) as unit:
        return _apply(unit, plan, run.model, run.now, run.token)


def _planned(unit: Unit, model: str) -> _Plan | None:
    """Plan what to split off from clusters that have grown; None where none has."""
    there = clusters.by_number(unit)
    roots = frozenset(n for n, cluster in there.items() if cluster.parent is None)
    sizes, states = _sizes(unit), known(unit)
    grown = {
        n: _newer(unit, n, states[n].seen)
        for n, size in sizes.items()
        if size > LARGE or n in roots
    }
    due = sorted((n for n in grown if n not in roots and grown[n] > LARGE), key=lambda n: -sizes[n])
    due = due[:_MOST_TOPICS]
    roots_due = sum(grown.get(n, 0) for n in roots) > LARGE
    if not due and not roots_due:
        return None
    looked_at = [*(sorted(roots) if roots_due else ()), *due]
    sample = _Sample(unit, model, _newest(unit, looked_at))
    return _Plan(
        seen=sample.seen,
        in_roots=_root_topics(unit, model, sample, roots) if roots_due else [],
        in_topics={n: _parts(sample, there[n], sizes[n]) for n in due},
        names=_renamed(sample, there, states, sizes, due),
        sizes={n: sizes.get(n, 0) for n in looked_at},
    )


def _newer(unit: Unit, cluster: int, seen: int) -> int:
    """How many memories a cluster has that were not there when it was last looked at."""
    sql = (
        "SELECT count(*) FROM nodes WHERE being = $being AND cluster = ? AND status = 'active' "
        "AND ended IS NULL AND seq > ?"
    )
    return unit.rows(sql, cluster, seen)[0][0]


def _newest(unit: Unit, looked_at: Sequence[int]) -> Iterator[Node]:
    """The newest memories of all, and those of the clusters in question."""
    for cluster in (None, *looked_at):
        yield from nodes.page(
            unit, cluster=cluster, statuses=("active",), order="seq DESC", limit=_SAMPLE
        )


def _own_names(found: Sequence[Node]) -> frozenset[str]:
    """Names too frequent to be distinctive: speakers, and whoever takes part in very much."""
    people = Counter(name for node in found for name in node.scene.actors)
    often = {name for name, count in people.items() if count > max(LARGE, _OFTEN * len(found))}
    return frozenset(often | {node.source.speaker for node in found} - {""})


def _parts(sample: _Sample, cluster: Cluster, size: int) -> list[Topic]:
    """Subtopics of a large topic: the larger it is, the more similar they must be."""
    least = min(_NEAREST, _NEAR * (size / LARGE) ** 0.5)
    return sample.topics(frozenset((cluster.n,)), least, words_of(cluster.name))[1:]


def _renamed(
    sample: _Sample,
    there: Mapping[int, Cluster],
    states: Mapping[int, TopicState],
    sizes: Mapping[int, int],
    due: Sequence[int],
) -> dict[int, str]:
    """New names for topics that have become something else since words named them."""
    found: dict[int, str] = {}
    for n in due:
        one = states[n]
        if one.by == "words" and sizes[n] >= _GROWN * one.named:
            name = sample.name(n)
            if name and not words_of(name) & words_of(there[n].name):
                found[n] = name
    return found


def _root_topics(unit: Unit, model: str, sample: _Sample, roots: frozenset[int]) -> list[Topic]:
    """The topics in the roots, each with the other memories there that are near to its middle."""
    import numpy as np

    found = sample.topics(roots, _NEAR)
    if not found:
        return []
    means = [np.stack([sample.raw[seq] for seq in topic.seqs]).mean(axis=0) for topic in found]
    taken = {seq for topic in found for seq in topic.seqs}
    places = ", ".join("?" * len(roots))
    rows = unit.rows(
        f"SELECT seq FROM nodes WHERE being = $being AND cluster IN ({places}) "
        "AND status = 'active' AND ended IS NULL ORDER BY seq DESC LIMIT ?",
        *sorted(roots),
        _MOST_ASSIGNED,
    )
    others = [seq for (seq,) in rows if seq not in taken]
    for start in range(0, len(others), _AT_ONCE):
        vectors = unit.vectors.fetch(model, others[start : start + _AT_ONCE])
        if vectors:
            stacked = np.stack(list(vectors.values()))
            nearest = centroids.near(stacked, np.stack(means), sample.middle)
            for seq, at in zip(vectors, nearest, strict=True):
                if at is not None:
                    found[at].seqs.append(seq)
    return found


def _apply(unit: Unit, plan: _Plan, model: str, now: float, token: str) -> int:
    states, replace = known(unit), msgspec.structs.replace
    new = {n: replace(states[n], seen=plan.seen) for n in plan.sizes}
    there = clusters.by_number(unit)
    made = split_off(unit, plan.in_roots, model, now, token)
    for n, parts in plan.in_topics.items():
        made += split_off(unit, parts, model, now, token) if n in there else []
    for n, size in made:
        new[n] = TopicState(plan.seen, size, "words")
    _rename(unit, {n: name for n, name in plan.names.items() if n in there}, now, token)
    for n in plan.names:
        new[n] = replace(new[n], named=plan.sizes[n])
    save_states(unit, new)
    return len(made)


def split_off(
    unit: Unit, found: Sequence[Topic], model: str, now: float, token: str
) -> list[tuple[int, int]]:
    """Make these topics and move their memories there; gives their numbers and sizes."""
    there = clusters.by_number(unit)
    changes: list[Change] = []
    made: list[tuple[int, int]] = []
    names: list[str] = []
    touched: set[int] = set()
    for topic in found:
        homes = _by_cluster(unit, topic.seqs)
        size = sum(map(len, homes.values()))
        if size < _FEWEST or not homes.keys() <= there.keys():
            continue
        target = _same_topic(topic, there.values())
        if target is None:
            home = there[max(homes, key=lambda n: (len(homes[n]), -n))]
            parent = home.n if home.parent is None else home.parent
            cluster, change = centroids.add(unit, topic.name, parent)
            target = cluster.n
            changes.append(change)
            made.append((target, size))
            names.append(topic.name)
        for source in sorted(homes.keys() - {target}):
            changes += move(unit, homes[source], source, target)
        touched |= {*homes, target}
    if changes:
        centroids.recompute(unit, touched, model)
        why = f"{counted(len(made), 'new topic')}: {'; '.join(names)}"
        why = why[:_LONGEST_REASON] if made else "more for topics that are there"
        ledger.add(unit, now, "split", why, token, changes)
    return made


def _same_topic(topic: Topic, there: Iterable[Cluster]) -> int | None:
    """An existing topic whose name has the most distinctive word of this one."""
    first = topic.name.split(", ")[0]
    return next((c.n for c in there if c.parent is not None and first in words_of(c.name)), None)


def words_of(name: str) -> set[str]:
    """The words of a topic's name."""
    return set(name.replace(",", " ").split())


def _by_cluster(unit: Unit, seqs: Sequence[int]) -> dict[int, list[int]]:
    """The memories that are still current, by the cluster they are in."""
    found: dict[int, list[int]] = defaultdict(list)
    sql = "SELECT seq, cluster FROM nodes WHERE being = $being AND ended IS NULL AND seq IN (??)"
    for seq, cluster in unit.among(sql, list(seqs)):
        found[cluster].append(seq)
    return found


def _rename(unit: Unit, names: Mapping[int, str], now: float, token: str) -> None:
    there = clusters.by_number(unit)
    changes: list[Change] = []
    for n, name in names.items():
        clusters.describe(unit, n, name, there[n].digest)
        changes.append(Change("clusters", str(n), {"name": there[n].name}, {"name": name}))
    if changes:
        why = f"{counted(len(changes), 'topic')} named anew"
        ledger.add(unit, now, "named", why, token, changes)
