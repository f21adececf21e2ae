"""What `claw memory` and `claw recall` print: the view, one memory, hits, tidying up."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from clawkit.cli.being_text import minute
from clawkit.cli.log_text import plural
from clawkit.cli.memory_words import (
    ENDINGS,
    STATES,
    STEPS,
    by_state,
    counted,
    memories,
    plain,
    waiting,
)
from clawkit.cli.rows import shown
from clawkit.cli.sessions_text import ago

if TYPE_CHECKING:
    from rich.console import Console
    from rich.tree import Tree

    from clawkit.memory.patrol.round import Outcome
    from clawkit.memory.recall.engine import Hit
    from clawkit.memory.records import Node, Note
    from clawkit.memory.viewing import Branch, View

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


def tidied(last: float | None) -> str:
    """When memory was last put in order."""
    return "not tidied up yet" if last is None else f"tidied up {ago(time.time() - last)}"


def _print_head(console: Console, found: View) -> None:
    from rich.text import Text

    name = Text(shown(found.being.name), style="bold")
    told = f"  {memories(found.memories)}, {tidied(found.last_patrol)}"
    console.print(name.append(told, style="default not bold"))
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
    label.append(f"  {by_state(branch.counts) if branch.counts else 'empty'}", style="dim")
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
        console.print(f"{waiting(found.waiting_scenes)} (`claw memory tidy` does it now)")
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
    return "" if node.status == "active" else STATES[node.status]


def _cut_wide(text: str, widest: int) -> str:
    """A text of so many columns at most: a Japanese letter takes two."""
    from rich.cells import cell_len, set_cell_size

    return text if cell_len(text) <= widest else f"{set_cell_size(text, widest - 1).rstrip()}…"


def hit_lines(hit: Hit) -> Iterator[str]:
    """A memory that was found, and why if that was asked for."""
    yield f"{hit.node.id[:_SHORT]}  {shown(hit.node.text)}"
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
        "state": ", ".join(filter(None, (_state(node), "pinned" if node.pinned else ""))),
        "recalled": _recalled(node),
        "known since": minute(node.created),
        "said by": source.speaker,
        "through": source.token,
        "in": source.conversation,
        ENDINGS.get(node.ending, "ended"): minute(node.ended) if node.ended is not None else "",
    }
    yield node.id
    yield f"  {shown(scene.action) or '(nothing is left of it)'}"
    for name, value in facts.items():
        if value:
            yield f"  {name:<12} {shown(value)}"


def _state(node: Node) -> str:
    return STATES[node.status] if node.ended is None else "not known any more"


def _recalled(node: Node) -> str:
    if not node.reactivation_count:
        return ""
    return f"{plural(node.reactivation_count, 'time')}, the last time {minute(node.last_activated)}"


def outcome_lines(outcome: Outcome, *, dry_run: bool) -> Iterator[str]:
    """What tidying up did: the steps that did something, and those that could not."""
    made = counted(outcome.nodes_created, "new memory", "new memories")
    yield f"{'Would make' if dry_run else 'Made'} {made}."
    left_out: dict[str, list[str]] = {}
    for name, value in outcome.steps.items():
        if isinstance(value, str):
            reason = value.removeprefix(_LEFT_OUT)
            if reason != value:
                left_out.setdefault(reason, []).append(STEPS.get(name, name))
        elif value and name in _STEPS:
            yield f"  {value:>5,}  {_STEPS[name]}"
    for reason, names in left_out.items():
        yield f"Left out ({shown(reason)}): {', '.join(names)}."
    if outcome.stopped:
        yield f"Stopped: {shown(plain(outcome.stopped))}"
