"""Structured memory: entries under ten targets that are read, appended, updated and deleted.

`append` adds an entry, unless one with the same key and content is there. `update` makes an entry
the only one of its key, and makes it if there is none. `delete` needs a key: nobody empties a
target by leaving something out. A key is the entry's own name for itself, or its id. What was
changed or deleted stands in the ledger.

Three targets have their own ways: the key of `partner_map` is the location, an update of `souls`
without a key changes the soul that is in force (the newest), and the content `enabled` or
`disabled` switches a rule of `partner_rules` and leaves its words alone. `notes` are the notes that
`update_notes` writes: their key is their id or how they begin, and one that is appended with a key
begins with it. Relationships are the same ones that `update_relation` keeps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

import msgspec

from clawkit.errors import InvalidArgumentsError
from clawkit.memory import validation
from clawkit.memory.records import Change, Entry, EntryAction, MemorySource, Note, Target, iso
from clawkit.memory.store import entries, ledger, notes
from clawkit.memory.store.ledger import row
from clawkit.store.database import Unit

SWITCH = {"enabled": True, "disabled": False}
MOST_SHOWN = 200
_SAID_AGAIN = ("diary", "party_message")
"""Where the same words on another day are another entry."""


class EntryRequest(msgspec.Struct, frozen=True):
    """What is to be done with the entries of one target."""

    target: Target
    action: EntryAction
    content: str | None = None
    key: str | None = None
    location: str | None = None
    to: str | None = None


class EntryOrder(EntryRequest, frozen=True):
    """A request that can be carried out: by whom, and when."""

    token: str = ""
    now: float = 0.0

    @property
    def data(self) -> dict[str, Any]:
        return {"to": self.to} if self.to else {}


def order(asked: EntryRequest, token: str, now: float) -> EntryOrder:
    """What a caller asks for, once it is clear that it can be done."""
    target, action, to = asked.target, asked.action, asked.to
    key = asked.location if target == "partner_map" and asked.location else asked.key
    _check_key(target, action, key, asked.location)
    if action in ("append", "update"):
        if asked.content is None:
            raise InvalidArgumentsError("content", f"is needed to {action}")
        validation.said("content", asked.content)
    if to and target != "party_message":
        raise InvalidArgumentsError("to", "is for party_message only")
    if target == "party_message" and action == "append":
        validation.said("to", to or "", validation.LONGEST_NAME)
    return EntryOrder(target, action, asked.content, key or None, asked.location, to, token, now)


def _check_key(target: Target, action: EntryAction, key: str | None, location: str | None) -> None:
    """Whether it is clear which entry is meant."""
    if key:
        place = "location" if target == "partner_map" and key == location else "key"
        validation.sized(place, key, validation.LONGEST_NAME)
        return
    if target == "partner_map" and action in ("append", "update"):
        raise InvalidArgumentsError("location", "is needed to put something on the map")
    if action == "delete" or (action == "update" and target != "souls"):
        raise InvalidArgumentsError("key", f"is needed to {action}: the key or id of an entry")


def carry_out(unit: Unit, asked: EntryOrder) -> dict[str, Any]:
    """Do it, and say what was done."""
    if asked.target == "notes":
        return _with_notes(unit, asked)
    if asked.action == "get":
        found = entries.found(unit, asked.target, asked.key, MOST_SHOWN + 1)
        return _got(asked, [shown(entry) for entry in found])
    do = {"append": _append, "update": _update, "delete": _delete}[asked.action]
    return do(unit, asked)


def answer(
    asked: EntryOrder, shown_entries: Sequence[dict[str, Any]], **more: Any
) -> dict[str, Any]:
    said = {"status": "ok", "target": asked.target, "action": asked.action}
    return {**said, **more, "entries": list(shown_entries)}


def _got(asked: EntryOrder, found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    more = {"more": "only the newest are shown"} if len(found) > MOST_SHOWN else {}
    return answer(asked, found[-MOST_SHOWN:], **more)


def shown(entry: Entry) -> dict[str, Any]:
    """An entry as callers see it."""
    said = {"id": entry.id, "key": entry.key, "content": entry.content}
    return {**said, **entry.data, "updated_at": iso(entry.at)}


def put(unit: Unit, entry: Entry, token: str, old: Sequence[Entry] = ()) -> None:
    """Keep an entry in place of others, the first of which it is itself, and write that down."""
    before = {other.id: row(unit, "entries", other.id) for other in old}
    if old:
        entries.replace(unit, entry, token)
    else:
        entries.add(unit, entry, token)
    for other in old[1:]:
        entries.remove(unit, other.id)
    ids = (entry.id, *(other.id for other in old[1:]))
    changes = [Change("entries", i, before.get(i), row(unit, "entries", i)) for i in ids]
    ledger.add(unit, entry.at, "entry", f"{entry.target} written", token, changes)


def drop(unit: Unit, old: Sequence[Entry], token: str, now: float) -> None:
    """Delete entries; the ledger keeps them."""
    changes = [Change("entries", entry.id, row(unit, "entries", entry.id), None) for entry in old]
    for entry in old:
        entries.remove(unit, entry.id)
    ledger.add(unit, now, "entry", f"{old[0].target} deleted", token, changes)


def _append(unit: Unit, asked: EntryOrder) -> dict[str, Any]:
    content, key = asked.content or "", asked.key or ""
    if asked.target == "partner_map":
        return _update(unit, asked)
    if asked.target not in _SAID_AGAIN:
        for entry in entries.found(unit, asked.target):
            if (entry.key, entry.content) == (key, content):
                return answer(asked, [shown(entry)], known_already=True)
    data = {"enabled": True} if asked.target == "partner_rules" else asked.data
    entry = _made(asked, data)
    put(unit, entry, asked.token)
    return answer(asked, [shown(entry)])


def _made(asked: EntryOrder, data: dict[str, Any]) -> Entry:
    content = asked.content or ""
    return Entry(str(uuid4()), asked.target, asked.key or "", content, asked.now, data)


def _update(unit: Unit, asked: EntryOrder) -> dict[str, Any]:
    old = entries.found(unit, asked.target, asked.key)[::-1]
    if asked.key is None:
        old = old[:1]
    entry = _updated(old[0], asked) if old else _made(asked, asked.data)
    put(unit, entry, asked.token, old)
    return answer(asked, [shown(entry)], created=not old)


def _updated(entry: Entry, asked: EntryOrder) -> Entry:
    content = asked.content or ""
    data = {**entry.data, **asked.data}
    if asked.target == "partner_rules" and content.strip().lower() in SWITCH:
        data["enabled"] = SWITCH[content.strip().lower()]
        content = entry.content
    return msgspec.structs.replace(entry, content=content, at=asked.now, data=data)


def _delete(unit: Unit, asked: EntryOrder) -> dict[str, Any]:
    old = entries.found(unit, asked.target, asked.key)
    if not old:
        return {**answer(asked, []), "status": "not_found"}
    drop(unit, old, asked.token, asked.now)
    return answer(asked, [shown(entry) for entry in old], deleted=len(old))


def _with_notes(unit: Unit, asked: EntryOrder) -> dict[str, Any]:
    every = notes.waiting(unit, "note")
    if asked.action == "append":
        text = _keyed(asked.key or "", asked.content or "")
        note = Note(str(uuid4()), asked.now, None, text, MemorySource(token=asked.token))
        notes.add(unit, [note])
        return answer(asked, [_shown_note(note)])
    old = every if asked.key is None else _notes_called(every, asked.key)
    if asked.action == "get":
        return _got(asked, [_shown_note(note) for note in old[-MOST_SHOWN - 1 :]])
    if not old:
        return {**answer(asked, []), "status": "not_found"}
    if len(old) > 1:
        problem = f"{len(old)} notes begin so: give more of the one that is meant, or its id"
        raise InvalidArgumentsError("key", problem)
    if asked.action == "delete":
        forget_notes(unit, old, asked.token, asked.now)
        return answer(asked, [_shown_note(note) for note in old], deleted=len(old))
    name = asked.key or ""
    text = asked.content or ""
    note = msgspec.structs.replace(
        old[0], text=_keyed(name, text) if _has_key(old[0], name) else text
    )
    _rewrite_note(unit, note, asked)
    return answer(asked, [_shown_note(note)], created=False)


def _notes_called(every: Sequence[Note], key: str) -> list[Note]:
    """The notes of an id or of these words; if there are none, those that begin so."""
    exact = [note for note in every if key in (note.id, note.text)]
    keyed = exact or [note for note in every if _has_key(note, key)]
    start = key.strip().casefold()
    return keyed or [note for note in every if note.text.lstrip().casefold().startswith(start)]


def _keyed(key: str, content: str) -> str:
    return f"{key}: {content}" if key else content


def _has_key(note: Note, key: str) -> bool:
    return note.text.startswith(f"{key}: ")


def forget_notes(unit: Unit, old: Sequence[Note], token: str, now: float) -> None:
    """Delete notes that wait; the ledger keeps them."""
    changes = [Change("notes", note.id, row(unit, "notes", note.id), None) for note in old]
    notes.remove(unit, [note.id for note in old])
    ledger.add(unit, now, "note", "notes deleted", token, changes)


def _rewrite_note(unit: Unit, note: Note, asked: EntryOrder) -> None:
    before = row(unit, "notes", note.id)
    notes.remove(unit, [note.id])
    notes.add(unit, [note])
    change = Change("notes", note.id, before, row(unit, "notes", note.id))
    ledger.add(unit, asked.now, "note", "a note rewritten", asked.token, [change])


def _shown_note(note: Note) -> dict[str, Any]:
    return {"id": note.id, "key": "", "content": note.text, "updated_at": iso(note.created)}
