"""❹ A model finds which fresh and dying memories say the same; they are merged into one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from clawkit.memory.patrol.answers import DATA_ONLY, decoded, listed
from clawkit.memory.patrol.changes import counted, set_nodes
from clawkit.memory.patrol.conversation import without_recall
from clawkit.memory.patrol.dying import cap_of
from clawkit.memory.patrol.embedding import ahead
from clawkit.memory.patrol.merging import merge, merged_scene
from clawkit.memory.records import Node
from clawkit.memory.store import ledger, nodes
from clawkit.memory.store.database import Database, Unit

if TYPE_CHECKING:
    from clawkit.memory.embed.protocol import Embedder
    from clawkit.memory.model import Llm

_MOST = 200
_TOGETHER = 40
_LONGEST_SUMMARY = 2_000
_ANSWER_TOKENS = 4_000
_ASKED = (
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


class _Answer(msgspec.Struct, frozen=True):
    merges: list[Merge]


def consolidate(
    database: Database,
    being: int,
    *,
    llm: Llm,
    embedder: Embedder | None,
    cap: int | None,
    now: float,
    token: str,
) -> int:
    """Merge what a model finds to be the same; gives how many memories were merged into others.

    What is above the cap stays as fresh as it is, so that the next patrol looks at it again.
    """
    with database.read(being) as unit:
        groups = _groups(unit)
    wanted: list[_Wanted] = []
    for group in groups:
        wanted += _asked(llm, group)
    scenes = [merged_scene(group, one.summary, one.feeling) for group, one in wanted]
    embed = ahead(database, being, embedder, scenes)
    with database.write(being) as unit:
        found = [(g, one) for g, one in wanted if _still_there(unit, g)]
        current, later = _within(found, cap_of(unit, cap))
        absorbed = sum(len(group) - 1 for group, _ in current)
        model = embedder.name if embedder else ""
        for group, one in current:
            why = f"a patrol merged {len(group)} memories that say the same"
            merge(
                unit,
                group,
                one.summary,
                one.feeling,
                now=now,
                token=token,
                embed=embed,
                model=model,
                why=why,
            )
        put_off = {node.seq for group, _ in later for node in group}
        looked_at = [node for group in groups for node in group if node.seq not in put_off]
        _settle(unit, looked_at, now, token)
    return absorbed


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
    found = nodes.page(unit, fresh=True, statuses=("active",), order=order, limit=_MOST)
    found += nodes.page(unit, statuses=("dying",), order=order, limit=_MOST)
    by_cluster: dict[int, list[Node]] = defaultdict(list)
    for node in sorted({node.seq: node for node in found}.values(), key=lambda node: node.seq):
        by_cluster[node.cluster].append(node)
    return [
        members[start : start + _TOGETHER]
        for _, members in sorted(by_cluster.items())
        for start in range(0, len(members), _TOGETHER)
    ]


def _asked(llm: Llm, group: list[Node]) -> list[_Wanted]:
    if len(group) < 2:
        return []
    said = llm.complete(_ASKED, listed([node.text for node in group]), _ANSWER_TOKENS)
    answer = decoded(said, _Answer)
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
    """What was looked at is fresh no more."""
    found = nodes.fetch(unit, [node.seq for node in looked_at])
    fresh = [seq for seq, node in found.items() if node.fresh and node.ended is None]
    if fresh:
        change = set_nodes(unit, fresh, {"fresh": 1}, {"fresh": 0})
        why = f"{counted(len(fresh), 'memory', 'memories')} looked at"
        ledger.add(unit, now, "settled", why, token, [change])
