"""What `claw memory` and `claw recall` print: overview, one memory, hits, one person's data."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from clawkit.cli.being.output import STEPS, by_state, tidied, waiting
from clawkit.cli.commands import print_lines
from clawkit.cli.memory.access import MemoryAnswer
from clawkit.cli.tables import fact_lines, minute, shorten, terminal_width
from clawkit.memory.details import FoundMemories
from clawkit.memory.display_text import EARLIER, until
from clawkit.memory.erasure.deletion import Counted, Receipt
from clawkit.memory.erasure.person_search import ErasurePlan, RowPlan, text_of
from clawkit.memory.erasure.redaction import ERASED, PersonMatcher
from clawkit.memory.history_text import ENDINGS, MemoryHistory, plain
from clawkit.memory.patrol.run import PatrolOutcome
from clawkit.memory.recall.search import Hit
from clawkit.memory.records import STATES, Being, LedgerEntry, Node, Note
from clawkit.memory.statistics import BeingView, ClusterBranch
from clawkit.text.counts import counted
from clawkit.text.normalization import visible
from clawkit.text.tokenizer import sentences

_SHORT = 8
_DIGEST = 160
_LONGEST_RECENT = 280
_NOT_A_TERMINAL = 10_000
_WAITING = 5
_LEFT_OUT = "skipped: "
_STEPS = {
    "read": "recalled by readers, counted now",
    "aged": "grown older",
    "dying": "begin to fade",
    "left": "left for the next time, as they would be too many at once (--cap N lets more go)",
    "dead": "fell asleep",
    "spared": "woke again before they fell asleep",
    "repeated": "merged, as they said the same in the same words",
    "merged": "merged, as they told of the same thing",
    "revived": "woke again, as they were asked for",
    "superseded": "ended, as they are no longer so",
    "split": "new topics",
    "joined": "topics joined",
    "described": "topics described anew",
    "diary": "written into the diary",
}


def print_view(found: BeingView) -> None:
    """The whole view; on a terminal in its width and with its styles."""
    console = Console(
        width=terminal_width() or _NOT_A_TERMINAL, highlight=False, markup=False, emoji=False
    )
    _print_head(console, found)
    if found.tree:
        console.print(_tree(found.tree), soft_wrap=False)
    if found.recent:
        console.print()
        console.print("recent", style="bold")
        _print_timeline(console, found.recent)
        more = found.memories - len(found.recent)
        if console.is_terminal and more > 0:
            advice = "`claw memory -n 100` shows more, `claw memory search …` finds"
            console.print(f"… and {more:,} before; {advice}", style="dim")
    _print_waiting(console, found)


def _print_head(console: Console, found: BeingView) -> None:
    name = Text(visible(found.being.name), style="bold")
    told = f"  {counted(found.memories, 'memory')}, {tidied(found.last_patrol)}"
    console.print(name.append(told, style="default not bold"))
    if not found.memories and not found.waiting_scenes:
        console.print('Nothing is remembered yet: `claw remember "…"` is a beginning.')


def _tree(branches: Sequence[ClusterBranch]) -> Tree:
    root = Tree("", hide_root=True, guide_style="dim")
    for branch in branches:
        _grow(root, branch)
    return root


def _grow(above: Tree, branch: ClusterBranch) -> None:
    label = Text(visible(branch.cluster.name), style="cyan")
    label.append(f"  {by_state(branch.counts) if branch.counts else 'empty'}", style="dim")
    digest = Text(shorten(visible(branch.cluster.digest), _DIGEST))
    below_it = (Padding(digest, (0, 0, 0, 2), expand=False),) if digest else ()
    grown = above.add(Group(label, *below_it))
    for below in branch.branches:
        _grow(grown, below)


def _print_timeline(console: Console, recent: Sequence[Node]) -> None:
    if not console.is_terminal:
        for node in recent:
            print("  ".join(filter(None, (node.id[:_SHORT], _day(node), _marked(node)))))
        return
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold")
    for node in recent:
        told = Text(shorten(_marked(node), _LONGEST_RECENT))
        table.add_row(Text(f"{node.id[:_SHORT]}  {_day(node)}"), told)
    console.print(table)


def _print_waiting(console: Console, found: BeingView) -> None:
    if found.waiting_scenes:
        console.print()
        console.print(f"{waiting(found.waiting_scenes)} (`claw memory tidy` does it now)")
        # What is noted is a memory at once: it is not shown as both.
        shown = {node.scene.action for node in found.recent}
        waits = [text for note in found.waiting if (text := _note(note)) not in shown]
        for text in waits[:_WAITING]:
            console.print(f"  {visible(text)}")
    if found.notes:
        console.print()
        console.print("notes", style="bold")
        for note in found.notes:
            console.print(f"  {visible(_note(note))}")


def _note(note: Note) -> str:
    return note.scene.action if note.scene is not None else note.text


def _marked(node: Node) -> str:
    marks = ", ".join(filter(None, ("pinned" if node.pinned else "", _status(node))))
    return f"{visible(_said(node))}{f'  [{marks}]' if marks else ''}"


def _said(node: Node) -> str:
    scene = node.scene
    feeling = f"({scene.feeling})" if scene.feeling else ""
    return " — ".join(part for part in (scene.setting, scene.action, feeling) if part)


def _day(node: Node) -> str:
    return node.scene.when[0] if node.scene.when else "          "


def _status(node: Node) -> str:
    return "" if node.status == "active" else STATES[node.status]


def print_found(
    told: MemoryAnswer[FoundMemories], nothing: str, *, as_json: bool, with_text: bool = False
) -> None:
    """The memories that were found; as JSON also what a model is told of them, if wanted."""
    found = told.records
    if found is None:
        print_text(told.text, as_json=as_json)
        return
    text = {"text": told.text} if with_text else {}
    value = {"kind": found.kind, **text, "hits": hits_json(found.hits)}
    print_lines(hit_lines(found.hits, nothing), value, as_json=as_json)
    if told.hint and not as_json:
        print(f"claw: {told.hint}", file=sys.stderr)


def print_text(text: str, *, as_json: bool) -> None:
    """What a server says that tells no records."""
    print_lines((text,), {"text": text}, as_json=as_json)


def hit_lines(hits: Sequence[Hit], nothing: str) -> Iterator[str]:
    """The memories that were found, and why if that was asked for."""
    for hit in hits:
        mark = until(hit.node) or (EARLIER if hit.earlier else "")
        yield f"{hit.node.id[:_SHORT]}  {visible(hit.node.text)}{f'  [{mark}]' if mark else ''}"
        if hit.signals:
            strongest = sorted(hit.signals.items(), key=lambda signal: -abs(signal[1]))
            signals = "  ".join(f"{name} {value:.2f}" for name, value in strongest)
            yield f"          score {hit.score:.2f}:  {signals}"
    if not hits:
        yield nothing


def hits_json(hits: Sequence[Hit]) -> list[dict[str, Any]]:
    return [
        {
            "id": hit.node.id,
            "text": hit.node.text,
            "score": hit.score,
            "signals": hit.signals,
            "scene": hit.node.scene,
            "source": hit.node.source,
            "status": hit.node.status,
            "earlier": hit.earlier or hit.node.ended is not None,
        }
        for hit in hits
    ]


def node_lines(node: Node, now: Node | None = None) -> Iterator[str]:
    """All that is known about one memory; `now` is what it has become."""
    scene, source = node.scene, node.source
    facts = {
        "when": ", ".join(scene.when),
        "who": ", ".join(scene.actors),
        "where": scene.setting,
        "feeling": scene.feeling,
        "themes": ", ".join(scene.themes),
        "importance": f"{scene.importance:g}",
        "state": ", ".join(filter(None, (_state(node), "pinned" if node.pinned else ""))),
        "recalled": _recalled(node),
        "known since": minute(node.created),
        "said by": source.speaker,
        "through": source.token,
        "in": source.conversation,
        ENDINGS.get(node.ending, "ended"): minute(node.ended) if node.ended is not None else "",
        "now": _become(node, now),
    }
    yield node.id
    yield f"  {visible(scene.action) or '(nothing is left of it)'}"
    yield from fact_lines(facts, 12)


def _become(node: Node, now: Node | None) -> str:
    if now is None or now.id == node.id or now.ended is not None:
        return ""
    return f"{now.id[:_SHORT]}  {now.text}"


def _state(node: Node) -> str:
    return STATES[node.status] if node.ended is None else "not known any more"


def _recalled(node: Node) -> str:
    if not node.reactivation_count:
        return ""
    return (
        f"{counted(node.reactivation_count, 'time')}, the last time {minute(node.last_activated)}"
    )


def outcome_lines(outcome: PatrolOutcome, *, dry_run: bool) -> Iterator[str]:
    """What tidying up did: the steps that did something, and those that could not."""
    seen_to = counted(outcome.nodes_created, "new note")
    yield f"{'Would put' if dry_run else 'Put'} {seen_to} in order."
    left_out: dict[str, list[str]] = {}
    for name, value in outcome.steps.items():
        if isinstance(value, str):
            reason = value.removeprefix(_LEFT_OUT)
            if reason != value:
                left_out.setdefault(reason, []).append(STEPS.get(name, name))
        elif value and name in _STEPS:
            told = _STEPS[name].replace("topics", "topic") if value == 1 else _STEPS[name]
            yield f"  {value:>5,}  {told}"
    for reason, names in left_out.items():
        yield f"Left out ({visible(reason)}): {', '.join(names)}."
    if outcome.stopped:
        yield f"Stopped: {visible(plain(outcome.stopped))}"


_TITLES = {
    "messages": "in past conversations",
    "notes": "in notes",
    "entries": "in preferences, relationships, diary and the like",
    "clusters": "in the names and descriptions of topics",
    "tokens": "tokens",
}
_CALLED = {
    "memories": "memory",
    "messages": "message",
    "notes": "note",
    "entries": "entry",
    "topics": "topic",
    "tokens": "token",
}
_A_FEW_WORDS = 30
"""Characters around a sentence that was shown already: an answer such as "Got it: …"."""


def plan_lines(plan: ErasurePlan) -> Iterator[str]:
    """What there is, and what erasing would do to it; nothing is said twice."""
    if plan.is_empty:
        yield f"Nothing is remembered about {visible(plan.person.name)}."
    yield f"Looked for {', '.join(visible(form) for form in plan.person.forms)}."
    seen = _ShownSentences()
    yield from _part("memories", [*_memories_that_go(plan, seen), *_memories_that_stay(plan, seen)])
    again: list[str] = []
    for table, title in _TITLES.items():
        lines = [_row(row, seen) for row in plan.of(table)]
        yield from _part(title, list(filter(None, lines)))
        if table in ("messages", "notes", "entries") and (number := lines.count("")):
            again.append(counted(number, _CALLED[table]))
    if again:
        yield f"The same words stand in {', '.join(again)}, and go there too."
    yield from _unseen(plan)
    yield from _may_be_about(plan)


def history_line(words: MemoryHistory, entry: LedgerEntry, wide: int) -> str:
    """An entry of the history in one line: its number, when, what, through whom."""
    undone = f"  (undone by {entry.undone_by})" if entry.undone_by is not None else ""
    by = words.by(entry.token)
    told = f"{words.told(entry)}{f'  [{by}]' if by else ''}{undone}"
    return f"{entry.n:>{wide}}  {minute(entry.at)}  {told}"


def name_of_memory(plan: ErasurePlan, being: Being) -> Iterator[str]:
    """A note if the memory itself is named after the person."""
    if PersonMatcher(plan.person.forms).mentions(being.name):
        yield f"The memory itself is called {visible(being.name)}: that name stays."


class _ShownSentences:
    """The sentences and clauses that were shown, so that none is shown again."""

    def __init__(self) -> None:
        self._said: set[str] = set()

    def add(self, text: str) -> None:
        self._said.update(map(_key, _said_in(text)))

    def new_in(self, before: str, after: str) -> list[str]:
        """What goes from a text and was not shown yet."""
        kept = set(map(_key, _said_in(after)))
        new = [
            one for one in _said_in(before) if _key(one) not in kept and not self._has(_key(one))
        ]
        self._said.update(map(_key, new))
        return new

    def _has(self, key: str) -> bool:
        near = (one for one in self._said if len(key) - len(one) <= _A_FEW_WORDS)
        return key in self._said or any(one in key for one in near)


def _said_in(text: str) -> list[str]:
    return [clause for sentence in sentences(text) for clause in sentence.split("; ")]


def _key(said: str) -> str:
    return said.strip(" ;.!?…").casefold()


def _memories_that_go(plan: ErasurePlan, seen: _ShownSentences) -> Iterator[str]:
    for node in plan.gone:
        seen.add(node.scene.action)
        shared = ", with what it says of others" if node.seq in plan.of_others else ""
        yield f"{_memory(node)}  goes{shared}"


def _memories_that_stay(plan: ErasurePlan, seen: _ShownSentences) -> Iterator[str]:
    for old, new in plan.edited:
        if old.text != new.text:
            seen.add(old.scene.action)
            yield f"{_memory(old)}  becomes: {_line(new.scene.action)}"


def _unseen(plan: ErasurePlan) -> Iterator[str]:
    """What is erased beside texts: it is counted, as it has no words of its own."""
    beside = sum(old.text == new.text for old, new in plan.edited)
    if beside:
        keep = counted(beside, "memory keeps its words", "memories keep their words")
        yield f"{keep} and forget who said or was told it."
    if plan.changes:
        told = counted(len(plan.changes), "entry of the history says", "entries of the history say")
        yield f"{told} something of it too."


def _may_be_about(plan: ErasurePlan) -> Iterator[str]:
    """What is neither exported nor erased, with the name that would count it."""
    seen: set[str] = set()
    lines: list[str] = []
    for one in plan.maybe:
        text = _line(one.text)
        said = set(map(_key, _said_in(one.text)))
        if not said <= seen:
            names = " ".join(f"--also {visible(_quoted(name))}" for name in one.names)
            lines.append(f"{text}  {names}")
        seen |= said
    title = (
        f"may be about {visible(plan.person.name)} or somebody else, and stays; --also counts it"
    )
    yield from _part(title, lines)


def _quoted(name: str) -> str:
    plain = shlex.quote(name)
    return f'"{name}"' if plain != name and not set(name) & set('"$`\\!') else plain


def _part(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield f"{title} ({len(lines):,})"
        yield from (f"  {line}" for line in lines)


def _memory(node: Node) -> str:
    ended = "  [not known any more]" if node.ended is not None else ""
    return f"{node.id[:_SHORT]}  {_line(node.text)}{ended}"


def _row(row: RowPlan, seen: _ShownSentences) -> str:
    """What becomes of a row; empty where that was shown already."""
    before = text_of(row.table, row.before)
    if row.table == "tokens":
        theirs = bool(row.before["person"]) and not (row.after or {}).get("person")
        return f"{_line(before or str(row.key))}  {'is revoked' if theirs else 'loses the name'}"
    after = "" if row.goes or row.after is None else text_of(row.table, row.after)
    new = seen.new_in(before, after.replace(ERASED, ""))
    if not new:
        return ""
    if row.goes or row.table == "messages":
        return f"{_line(' '.join(new))}  goes"
    return f"{_line(before)}  becomes: {_line(after)}"


def _line(text: str) -> str:
    return visible(" ".join(text.split()))


def plan_json(plan: ErasurePlan) -> dict[str, Any]:
    """The whole plan as JSON."""
    person = plan.person
    return {
        "person": person.name,
        "matched": person.forms,
        "memories": [_memory_json(node) for node in plan.gone],
        "memories_about_others_too": [
            {**_memory_json(old), "becomes": new.scene.action} for old, new in plan.edited
        ],
        "messages": [_row_json(row) for row in plan.of("messages")],
        "notes": [_row_json(row) for row in plan.of("notes")],
        "structured": [_row_json(row) for row in plan.of("entries")],
        "topics": [_row_json(row) for row in plan.of("clusters")],
        "tokens": [_row_json(row) for row in plan.of("tokens")],
        "changes": plan.changes,
    }


def maybe_json(plan: ErasurePlan) -> list[dict[str, Any]]:
    """What may be about this person: for whoever asks, never for the file that is handed out."""
    return [{"id": one.key, "text": one.text, "also": one.names} for one in plan.maybe]


def _memory_json(node: Node) -> dict[str, Any]:
    return {"id": node.id, "text": node.text, **msgspec.to_builtins(node)}


def _row_json(row: RowPlan) -> dict[str, Any]:
    found = {"id": row.key, **row.before}
    if row.table == "notes":
        found["body"] = text_of(row.table, row.before)
    elif row.table == "entries":
        found["data"] = msgspec.json.decode(row.before["data"])
    return found


def receipt_lines(receipt: Receipt) -> Iterator[str]:
    if not receipt.erased and not receipt.edited:
        yield "There was nothing to erase."
    if receipt.erased:
        yield f"Erased: {_counts(receipt.erased)}."
    if counts := _counts(receipt.edited):
        yield f"Took it out of: {counts}; their other sentences stay."
    if receipt.changes_scrubbed:
        entries = counted(len(receipt.changes_scrubbed), "entry")
        yield f"Took it out of {entries} of the history."
    yield f"Found by {', '.join(receipt.matched_by)}; {receipt.at}, by {visible(receipt.by)}."
    if receipt.left_in_file:
        yield f"Deleted, but its bytes may still be there: {visible(receipt.left_in_file)}."


def _counts(found: dict[str, Counted]) -> str:
    parts = (counted(one.count, _CALLED[name]) for name, one in found.items() if name in _CALLED)
    return ", ".join(parts)
