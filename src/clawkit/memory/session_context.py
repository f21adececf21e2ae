"""The system prompt and the snapshot of what is known, for the start of a session.

The prompt is what its owner made it: soul, rules, preferences, relationships. It is stable, so that
a provider can cache it. Everything else is in the snapshot, what a model or another Being wrote
too: there text that gives orders is quoted. Both have a limit for each part; what does not fit is
named, and can be asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from clawkit.memory import people
from clawkit.memory.display_text import MemoryTexts, shown, shown_as_written, told
from clawkit.memory.portrait import AHEAD, MORE, WHO, Part
from clawkit.memory.records import REFLECTIONS, Being, Entry, iso
from clawkit.memory.store import entries, nodes, notes
from clawkit.store.database import Unit

MODEL = "claude-sonnet-4-6"
RECENT = 5
_DIARY_DAYS = 7 * 86_400
_MOST = 50
_MOST_REFLECTIONS = 6
_LONGEST_SOUL = 20_000
_BUDGET = 12_000
"""Characters for what is known about the person."""


class KnownPerson(msgspec.Struct, frozen=True):
    """Who asks, where that is known, and what is known of them."""

    name: str = ""
    parts: Sequence[Part] = ()


def context(
    unit: Unit,
    being: Being,
    now: float,
    known: KnownPerson,
    capabilities: Sequence[dict[str, Any]] = (),
    senses: Sequence[dict[str, Any]] = (),
) -> dict[str, Any]:
    """Everything that `get_context` answers."""
    soul = next(iter(reversed(entries.found(unit, "souls"))), None)
    tools = [
        {"name": one["name"], "description": shown(str(one.get("description", "")))}
        for one in capabilities
    ]
    return {
        "system_prompt": system_prompt(unit, being, soul),
        "snapshot": snapshot(unit, now, known, senses),
        "metadata": {
            "being_id": being.id,
            "soul_name": _soul_name(being, soul),
            "model_recommendation": MODEL,
            "cache_guidance": (
                "system_prompt is stable: put it first and cache it. snapshot is semi-stable: put "
                "it behind, in a cache block of its own. recent_nodes change all the time: do not "
                "cache them."
            ),
        },
        "capability_tools": tools,
        "recent_nodes": recent(unit),
    }


def system_prompt(unit: Unit, being: Being, soul: Entry | None) -> str:
    """What the Being is, part by part."""
    name = _soul_name(being, soul)
    written = shown_as_written(soul.content)[:_LONGEST_SOUL] if soul else f"You are {name}."
    parts = [
        f"# {name}\n{written}",
        _part(unit, "partner_rules", "Rules", _rule),
        _part(unit, "preferences", "Preferences", _keyed),
        _part(unit, "relationship", "Relationships", _relation),
    ]
    return "\n\n".join(part for part in parts if part)


def snapshot(
    unit: Unit, now: float, known: KnownPerson, senses: Sequence[dict[str, Any]] = ()
) -> str:
    """What the Being has on its mind, part by part."""
    memos = notes.waiting(unit, "note")
    diary = entries.since(unit, "diary", now - _DIARY_DAYS)
    days = [f"{iso(entry.at)[:10]}: {told(entry.content)}" for entry in diary]
    reflections = entries.found(unit, REFLECTIONS, limit=_MOST_REFLECTIONS)
    inbox = [entry for entry in entries.found(unit, "party_message") if "from" in entry.data]
    parts = [
        _lines("Notes", [f"{told(note.text)} (id: {note.id})" for note in memos], "notes"),
        _lines("Messages", [_message(entry) for entry in inbox], "party_message"),
        _part(unit, "knowledge", "Knowledge", _named),
        _lines("Who is asking", [shown(known.name, 200)] if known.name else [], ""),
        _known(unit, known.parts),
        _part(unit, "partner_tools", "Tools", _named),
        _part(unit, "partner_map", "Map", _named),
        _lines("Reflections", [told(entry.content) for entry in reflections], ""),
        _lines("Diary of the last seven days", days, "diary"),
        _lines("Senses", [_sense(one) for one in senses], ""),
    ]
    return "\n\n".join(part for part in parts if part) or "Nothing is noted yet."


def _known(unit: Unit, parts: Sequence[Part]) -> str:
    """What is known about the person, part by part, the newest first, within a budget."""
    telling = MemoryTexts(people.known(unit).own)
    best_first = sorted(
        (
            (part.title == MORE, rank, at, one)
            for at, part in enumerate(parts)
            for rank, one in enumerate(part.told)
        ),
        key=lambda found: found[:3],
    )
    left = _BUDGET
    fits: dict[int, list[tuple[float, str]]] = {}
    for _, rank, at, one in best_first:
        line = f"- {telling.told(one)}"
        left -= len(line)
        if left > 0:
            order = float(rank) if parts[at].title in (WHO, AHEAD) else -one.node.created
            fits.setdefault(at, []).append((order, line))
    lines = [
        text
        for at in sorted(fits)
        for text in (f"### {parts[at].title}", *(line for _, line in sorted(fits[at])))
    ]
    return "\n".join(["## What is known", *lines]) if lines else ""


def recent(unit: Unit) -> list[str]:
    """The memories that were active last, as plain text."""
    found = nodes.page(
        unit, statuses=("active", "dying"), order="last_activated DESC, seq DESC", limit=RECENT
    )
    return [told(node.text) for node in found]


def _soul_name(being: Being, soul: Entry | None) -> str:
    return shown((soul.key if soul else "") or being.name, 200)


def _part(unit: Unit, target: str, title: str, written: Callable[[Entry], str]) -> str:
    found = entries.found(unit, target)
    return _lines(title, [text for text in map(written, found) if text], target)


def _lines(title: str, texts: Sequence[str], target: str) -> str:
    if not texts:
        return ""
    lines = [f"## {title}", *(f"- {text}" for text in texts[-_MOST:])]
    if len(texts) > _MOST:
        more = f"{len(texts) - _MOST} earlier ones"
        lines.append(f"- ({more}: update_memory, target {target}, action get)")
    return "\n".join(lines)


def _keyed(entry: Entry) -> str:
    return f"{shown(entry.key, 200)}: {shown(entry.content)}" if entry.key else shown(entry.content)


def _named(entry: Entry) -> str:
    """The same, of what others than the owner may have written."""
    return f"{told(entry.key, 200)}: {told(entry.content)}" if entry.key else told(entry.content)


def _rule(entry: Entry) -> str:
    return _keyed(entry) if entry.data.get("enabled", True) else ""


def _relation(entry: Entry) -> str:
    kind = entry.data.get("type")
    named = f"{entry.key} ({kind})" if kind else entry.key
    return f"{shown(named, 400)}: {shown(entry.content)}" if entry.key else _keyed(entry)


def _message(entry: Entry) -> str:
    return f"from {told(str(entry.data['from']), 200)}, {iso(entry.at)}: {told(entry.content)}"


def _sense(one: dict[str, Any]) -> str:
    value = msgspec.json.encode(one.get("value")).decode()
    away = "" if one.get("connected", True) else ", not connected now"
    at = shown(str(one.get("at", "")), 40)
    return f"{told(str(one.get('name', '')), 200)}: {told(value)} ({at}{away})"
