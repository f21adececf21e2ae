"""What `claw memory` and `claw recall` print: the view, one memory, hits, the ledger."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from clawkit.cli.being_text import minute
from clawkit.cli.log_text import plural
from clawkit.cli.rows import shown
from clawkit.cli.sessions_text import ago

if TYPE_CHECKING:
    from rich.console import Console
    from rich.tree import Tree

    from clawkit.memory.patrol.round import Outcome
    from clawkit.memory.recall.engine import Hit
    from clawkit.memory.records import Change, LedgerEntry, Node, Note
    from clawkit.memory.viewing import Branch, View

_SHORT = 8
_DIGEST = 160
_LONGEST_RECENT = 280
_NOT_A_TERMINAL = 10_000
_WAITING = 5
_MOST_ROWS = 12
_LEFT_OUT = "skipped: "
_STEPS = {
    "read": "recalled by readers, counted now",
    "aged": "grown older",
    "dying": "begin to fade",
    "dead": "faded",
    "spared": "came back before they faded",
    "merged": "merged, as they said the same",
    "revived": "came back, as they were asked for",
    "split": "topics split",
    "joined": "topics joined",
    "described": "topics described anew",
    "diary": "written into the diary",
}
_TIMES = frozenset(("at", "created", "ended", "gone", "last_activated"))


def print_view(found: View) -> None:
    """The whole view; on a terminal in its width and with its styles."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else _NOT_A_TERMINAL
    console = Console(width=width, highlight=False, markup=False, emoji=False)
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


def _print_head(console: Console, found: View) -> None:
    from rich.text import Text

    patrol = "no patrol yet"
    if found.last_patrol is not None:
        patrol = f"last patrol {ago(time.time() - found.last_patrol)}"
    name = Text(shown(found.being.name), style="bold")
    count = "1 memory" if found.memories == 1 else f"{found.memories:,} memories"
    console.print(name.append(f"  {count}, {patrol}", style="default not bold"))
    if not found.memories and not found.waiting_scenes:
        console.print('Nothing is remembered yet: `claw remember "…"` is a beginning.')


def _tree(branches: Sequence[Branch]) -> Tree:
    from rich.tree import Tree

    root = Tree("", hide_root=True, guide_style="dim")
    for branch in branches:
        _grow(root, branch)
    return root


def _grow(above: Tree, branch: Branch) -> None:
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    label = Text(shown(branch.cluster.name), style="cyan")
    counts = ", ".join(f"{number:,} {status}" for status, number in branch.counts.items())
    label.append(f"  {counts or 'empty'}", style="dim")
    digest = Text(_cut_wide(shown(branch.cluster.digest), _DIGEST))
    below_it = (Padding(digest, (0, 0, 0, 2), expand=False),) if digest else ()
    grown = above.add(Group(label, *below_it))
    for below in branch.branches:
        _grow(grown, below)


def _print_timeline(console: Console, recent: Sequence[Node]) -> None:
    from rich.table import Table
    from rich.text import Text

    if not console.is_terminal:
        for node in recent:
            print("  ".join(filter(None, (node.id[:_SHORT], _day(node), _marked(node)))))
        return
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold")
    for node in recent:
        told = Text(_cut_wide(_marked(node), _LONGEST_RECENT))
        table.add_row(Text(f"{node.id[:_SHORT]}  {_day(node)}"), told)
    console.print(table)


def _print_waiting(console: Console, found: View) -> None:
    if found.waiting_scenes:
        console.print()
        scenes = plural(found.waiting_scenes, "scene")
        verb = "waits" if found.waiting_scenes == 1 else "wait"
        console.print(f"{scenes} {verb} for the next patrol (`claw memory patrol` makes it now)")
        for note in found.waiting[:_WAITING]:
            console.print(f"  {_note(note)}")
    if found.notes:
        console.print()
        console.print("notes", style="bold")
        for note in found.notes:
            console.print(f"  {_note(note)}")


def _note(note: Note) -> str:
    return shown(note.scene.action if note.scene is not None else note.text)


def _marked(node: Node) -> str:
    marks = ", ".join(filter(None, ("pinned" if node.pinned else "", _status(node))))
    return f"{shown(_said(node))}{f'  [{marks}]' if marks else ''}"


def _said(node: Node) -> str:
    scene = node.scene
    feeling = f"({scene.feeling})" if scene.feeling else ""
    return " — ".join(part for part in (scene.setting, scene.action, feeling) if part)


def _day(node: Node) -> str:
    return node.scene.when[0] if node.scene.when else "          "


def _status(node: Node) -> str:
    return "" if node.status == "active" else node.status


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


def _cut_wide(text: str, widest: int) -> str:
    """The same by the columns that a text takes: a Japanese letter takes two."""
    from rich.cells import cell_len, set_cell_size

    return text if cell_len(text) <= widest else f"{set_cell_size(text, widest - 1).rstrip()}…"


def hit_lines(hit: Hit) -> Iterator[str]:
    """A memory that was found, and why if that was asked for."""
    waits = "  waits for the next patrol" if hit.node.seq < 0 else ""
    yield f"{hit.node.id[:_SHORT]}  {shown(hit.node.text)}{waits}"
    if hit.signals:
        strongest = sorted(hit.signals.items(), key=lambda signal: -abs(signal[1]))
        signals = "  ".join(f"{name} {value:.2f}" for name, value in strongest)
        yield f"          score {hit.score:.2f}:  {signals}"


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
        }
        for hit in hits
    ]


def node_lines(node: Node) -> Iterator[str]:
    """All that is known about one memory."""
    scene, source = node.scene, node.source
    facts = {
        "when": ", ".join(scene.when),
        "who": ", ".join(scene.actors),
        "where": scene.setting,
        "feeling": scene.feeling,
        "themes": ", ".join(scene.themes),
        "importance": f"{scene.importance:g}",
        "status": ", ".join(filter(None, (node.status, "pinned" if node.pinned else ""))),
        "recalled": _recalled(node),
        "known since": minute(node.created),
        "said by": source.speaker,
        "through": source.token,
        "in": source.conversation,
        "ended": f"{node.ending} {minute(node.ended)}" if node.ended is not None else "",
    }
    yield node.id
    yield f"  {shown(scene.action)}"
    for name, value in facts.items():
        if value:
            yield f"  {name:<12} {shown(value)}"


def _recalled(node: Node) -> str:
    if not node.reactivation_count:
        return ""
    return f"{plural(node.reactivation_count, 'time')}, the last time {minute(node.last_activated)}"


def outcome_lines(outcome: Outcome, *, dry_run: bool) -> Iterator[str]:
    """What a patrol did: the steps that did something, and those that could not."""
    yield f"{'Would make' if dry_run else 'Made'} {_memories(outcome.nodes_created)}."
    left_out: dict[str, list[str]] = {}
    for name, value in outcome.steps.items():
        if isinstance(value, str):
            reason = value.removeprefix(_LEFT_OUT)
            if reason != value:
                left_out.setdefault(reason, []).append(name)
        elif value and name in _STEPS:
            yield f"  {value:>5,}  {_STEPS[name]}"
    for reason, names in left_out.items():
        yield f"Left out ({shown(reason)}): {', '.join(names)}."
    if outcome.stopped:
        yield f"Stopped: {shown(outcome.stopped)}"


def _memories(number: int) -> str:
    return "1 new memory" if number == 1 else f"{number:,} new memories"


def ledger_row(entry: LedgerEntry) -> tuple[str, ...]:
    undone = f" (undone by {entry.undone_by})" if entry.undone_by is not None else ""
    what = f"{entry.kind}{undone}"
    return str(entry.n), minute(entry.at), what, entry.token[:_SHORT], entry.why


def change_line(change: Change) -> str:
    """One change, as far as a person can follow it."""
    where = f"{change.table} {_cut(change.key, 40)}"
    if change.after is None:
        return f"{where}: goes"
    if change.before is None:
        return f"{where}: comes back"
    pairs = [
        f"{name}: {_value(name, change.before.get(name))} → {_value(name, value)}"
        for name, value in change.after.items()
        if change.before.get(name) != value
    ]
    return f"{where}: {', '.join(pairs[:_MOST_ROWS])}"


def _value(name: str, value: object) -> str:
    if value in (None, ""):
        return "nothing"
    if name in _TIMES and isinstance(value, float):
        return minute(value)
    return _cut(shown(str(value)), 60)
