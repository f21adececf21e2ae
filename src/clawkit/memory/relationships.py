"""Relationships of a Being, and the messages that Beings of one store send each other.

A message goes into the sender's own memory first. It is delivered as well if the recipient is a
Being of this store and both agree to it: the sender's relationship of that name holds the
recipient's Being id and the words `messages: yes`, and a relationship of the recipient holds the
sender's id and the same words. To know somebody is not yet to want messages, so a relationship
without them is no consent, and `messages: no` in any other takes it back. Names anybody can take,
so a name alone never opens another's memory; and a sender cannot tell a Being that does not agree
from one that does not exist.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal
from uuid import uuid4

from clawkit.errors import InvalidArgumentsError
from clawkit.memory import validation
from clawkit.memory.records import Being, Entry
from clawkit.memory.secret_filter import SecretFilter
from clawkit.memory.store import entries
from clawkit.memory.structured_memory import drop, put, shown
from clawkit.memory.tokens import Caller

if TYPE_CHECKING:
    from clawkit.memory.being_store import BeingStore
    from clawkit.store.database import Unit

RELATIONSHIP = "relationship"
MESSAGE = "party_message"
_MOST_WAITING = 500
_CONSENT = re.compile(r"\bmessages\s*:\s*(yes|no)\b", re.IGNORECASE)
HOW_TO_REACH = (
    "it is only kept here: to be delivered, both Beings need a relationship that holds the other's "
    "Being id and the words `messages: yes`"
)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)

RelationAction = Literal["upsert", "delete"]


def relate(
    unit: Unit,
    name: str,
    kind: str,
    content: str | None,
    action: RelationAction,
    caller: Caller,
    now: float,
) -> dict[str, Any]:
    """Keep or remove what an entity is to this Being; name and kind together say which it is."""
    validation.said("entity_name", name, validation.LONGEST_NAME)
    validation.said("relation_type", kind, validation.LONGEST_NAME)
    old = [e for e in entries.found(unit, RELATIONSHIP, name) if e.data.get("type") == kind][::-1]
    if action == "delete":
        if not old:
            return _result(action, "not_found", name, kind)
        drop(unit, old, caller.token, now)
        return _result(action, "ok", name, kind)
    if content is None:
        raise InvalidArgumentsError("content", "is needed to upsert: what the relationship is")
    validation.said("content", content)
    entry_id = old[0].id if old else str(uuid4())
    entry = Entry(entry_id, RELATIONSHIP, name, content, now, {"type": kind})
    put(unit, entry, caller.token, old)
    return {**_result(action, "ok", name, kind), "created": not old, "relation": shown(entry)}


def deliver(store: BeingStore, sender: Being, to: str, content: str, caller: Caller) -> bool:
    """Bring a message to a Being that has agreed to it; False where it stays with the sender."""
    recipient = _recipient(store, sender, to)
    if recipient is None or recipient.n == sender.n:
        return False
    content = SecretFilter(store.database, recipient).text(content)
    with store.limited.write(recipient.n) as unit:
        if sender.id not in _agreed(entries.found(unit, RELATIONSHIP)):
            return False
        waiting = [e for e in entries.found(unit, MESSAGE) if e.data.get("from_id") == sender.id]
        if len(waiting) >= _MOST_WAITING:
            return False
        data = {"from": sender.name, "from_id": sender.id}
        entry = Entry(str(uuid4()), MESSAGE, "", content, store.clock(), data)
        entries.add(unit, entry, caller.token)
    return True


def _recipient(store: BeingStore, sender: Being, to: str) -> Being | None:
    with store.database.read(sender.n) as unit:
        called = {i for entry in entries.found(unit, RELATIONSHIP, to) for i in _ids(entry)}
        ids = called & _agreed(entries.found(unit, RELATIONSHIP))
    found = [store.by_id(being_id) for being_id in ids]
    known = [being for being in found if being is not None]
    return known[0] if len(known) == 1 else None


def _agreed(relationships: Sequence[Entry]) -> set[str]:
    """The Beings with which messages are wanted: some relationship says so, and none forbids it."""
    said = {"yes": set[str](), "no": set[str]()}
    for entry in relationships:
        for word in _CONSENT.findall(entry.content):
            said[word.lower()].update(_ids(entry))
    return said["yes"] - said["no"]


def _ids(entry: Entry) -> list[str]:
    return [found.lower() for found in _UUID.findall(f"{entry.key} {entry.content}")]


def _result(action: RelationAction, status: str, name: str, kind: str) -> dict[str, Any]:
    return {"status": status, "action": action, "entity_name": name, "relation_type": kind}
