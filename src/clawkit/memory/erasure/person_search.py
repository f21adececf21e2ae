"""Finds all that a Being has about one person, and plans what becomes of each row."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, cast

import msgspec
from msgspec import Struct

from clawkit.memory import people
from clawkit.memory.erasure.redaction import PERSON, Editor, Person, person, words_of
from clawkit.memory.records import Change, LedgerEntry, MemorySource, Node, Scene
from clawkit.memory.store import clusters, ledger, nodes
from clawkit.memory.store.ledger import AGES, COLUMNS, KEYS, NODES, key_of, ranges_of
from clawkit.memory.store.nodes import ERASED
from clawkit.store.database import Unit, written

UNNAMED = "A topic"
"""What a topic is called of whose name nothing is left."""

_Row = dict[str, Any]
_TOGETHER = 1000
_NOBODY_NAMED = ("", "user")
_OWNERS_WORDS = ("souls", "partner_rules")
TABLES = {
    "messages": ("id", ("at", "role", "content", "conversation", "token")),
    **{table: (KEYS[table], COLUMNS[table]) for table in ("notes", "entries", "clusters")},
    "tokens": ("id", ("label", "person", "revoked")),
    "marks": ("name", ("value",)),
    "jobs": ("kind", ("problem",)),
}
"""The key of each table, and the columns that may say something of a person."""

_ASKED_ABOUT = ("messages", "notes", "entries")


class ErasureRequest(Struct, frozen=True):
    """Whom it is about, as the owner says it."""

    name: str
    also: tuple[str, ...] = ()


class Maybe(Struct, frozen=True):
    """What has a name in it that may be this person's or somebody else's: it stays as it is."""

    table: str
    key: str
    text: str
    names: tuple[str, ...]


class RowPlan(Struct, frozen=True):
    """A row of a table and what becomes of it; `after` is None where the row goes."""

    table: str
    key: str | int
    before: _Row
    after: _Row | None

    @property
    def goes(self) -> bool:
        """Whether nothing of what it says stays."""
        return self.after is None or self.after.get("role") == ERASED


class ErasurePlan(Struct, frozen=True):
    """All about one person: memories that go, that become others, rows, entries of the ledger.

    `maybe` is what nothing is done about.
    """

    person: Person
    gone: tuple[Node, ...]
    edited: tuple[tuple[Node, Node], ...]
    rows: tuple[RowPlan, ...]
    changes: tuple[LedgerEntry, ...]
    maybe: tuple[Maybe, ...] = ()
    of_others: frozenset[int] = frozenset()
    """The numbers of those that go and say something of others in the same sentence."""

    @property
    def is_empty(self) -> bool:
        return not (self.gone or self.edited or self.rows or self.changes)

    def of(self, table: str) -> list[RowPlan]:
        return [row for row in self.rows if row.table == table]


class PersonSearch:
    """Searches all tables of a Being for one person."""

    def __init__(self, unit: Unit, who: ErasureRequest, now: float) -> None:
        self.unit = unit
        self._now = now
        known = _known(unit)
        self.person = person(who.name, who.also)
        self.editor = Editor(self.person, known, people.known(unit).own)
        holders = unit.rows("SELECT id, person FROM tokens WHERE being = $being")
        self._tokens = {i for i, who in holders if who and self.editor.is_name(who)}
        self._sent: set[str] = set()
        self._from_gone: set[str] = set()
        self._gone_seqs: set[int] = set()
        self._lost_words: set[str] = set()
        self._maybe: list[Maybe] = []
        self._edits: dict[str, Callable[[str, _Row], _Row | None]] = {
            "messages": self._message,
            "notes": lambda _, row: self._note(row),
            "entries": lambda _, row: self._entry(row),
            "clusters": lambda _, row: self._cluster(row),
            "tokens": self._token,
            "marks": lambda _, row: self._mark(row),
            "jobs": lambda _, row: {"problem": self.editor.without(row["problem"])},
        }

    def plan(self) -> ErasurePlan:
        gone: list[Node] = []
        kept: set[str] = set()
        edited: list[tuple[Node, Node]] = []
        for node in _every_node(self.unit):
            self._see_message(node)
            draft = self._node(node)
            if draft is None:
                gone.append(node)
                continue
            kept |= words_of(" ".join((draft.text, *draft.scene.actors)))
            self._ask_about(NODES, node.id, draft.text, *draft.scene.actors)
            if draft != node:
                edited.append((node, draft))
        self._forget(gone, kept)
        rows = [row for table in TABLES for row in self._rows(table)]
        changes = [entry for entry in ledger.every(self.unit) if self._is_in(entry, rows)]
        found = (tuple(gone), tuple(edited), tuple(rows), tuple(changes))
        shared = {node.seq for node in gone if self._is_of_others(node)}
        return ErasurePlan(self.person, *found, tuple(self._maybe), frozenset(shared))

    def _is_of_others(self, node: Node) -> bool:
        others = (one for one in node.scene.actors if one not in _NOBODY_NAMED)
        return self.editor.names_others(" ".join((node.scene.action, *others)))

    def scrubbed(
        self, entry: LedgerEntry, moved: Mapping[int, int | None], rows: Collection[RowPlan]
    ) -> LedgerEntry:
        """An entry of the ledger without this person; `moved` has where nodes are now."""
        lost = {(row.table, str(row.key)) for row in rows if row.after is None}
        found = (
            _moved(change, moved) if change.table in (NODES, AGES) else self._row_change(change)
            for change in entry.changes
            if (change.table, change.key) not in lost
        )
        changes = tuple(change for change in found if change is not None)
        why = self._reason(entry.why)
        if entry.changes and not changes and entry.kind != "aged":
            return msgspec.structs.replace(entry, kind=ERASED, why="", changes=())
        return msgspec.structs.replace(entry, why=why, changes=changes)

    def _reason(self, why: str) -> str:
        """Why something was done; behind a colon it names topics, or says what was remembered."""
        kept = self.editor.edited(why) or ""
        return kept.partition(":")[0] if words_of(kept) & self._lost_words else kept

    def _row_change(self, change: Change) -> Change | None:
        """A change with both its rows edited; None where one of them goes."""
        edit = self._edits.get(change.table)
        if edit is None:
            return change
        sides: list[_Row | None] = []
        for row in (change.before, change.after):
            edited = edit(change.key, row) if row is not None else None
            if row is not None and edited is None:
                return None
            sides.append(edited)
        if sides[0] == sides[1]:
            return None
        return Change(change.table, change.key, sides[0], sides[1])

    def _is_in(self, entry: LedgerEntry, rows: Collection[RowPlan]) -> bool:
        """Whether an entry says anything about this person."""
        moved: dict[int, int | None] = dict.fromkeys(self._gone_seqs)
        return self.scrubbed(entry, moved, rows) != entry

    def _node(self, node: Node) -> Node | None:
        source = node.source
        own = source.token in self._tokens and source.speaker in _NOBODY_NAMED
        found = self.editor.redacted(node.scene, source.speaker, source.conversation, own=own)
        if found is None:
            return None
        told = MemorySource(found.speaker, source.token, found.conversation, source.message)
        return msgspec.structs.replace(node, scene=found.scene, source=told)

    def _ask_about(self, table: str, key: str, text: str, *names: str) -> None:
        """Keep what may be about this person to be shown."""
        found = dict.fromkeys(one for said in (text, *names) for one in self.editor.maybe(said))
        if found:
            self._maybe.append(Maybe(table, key, text, tuple(found)))

    def _see_message(self, node: Node) -> None:
        if node.source.message and self.editor.is_name(node.source.speaker):
            self._sent.add(node.source.message)

    def _forget(self, gone: Collection[Node], kept: Collection[str]) -> None:
        """Note what goes, so that the same words are erased in other tables too."""
        lost = {word for node in gone for word in words_of(node.text)}
        self._lost_words = lost.difference(kept)
        for node in gone:
            self.editor.forget(node.scene.action)
            self._from_gone.add(node.source.message)
        self._gone_seqs = {node.seq for node in gone}

    def _rows(self, table: str) -> Iterator[RowPlan]:
        key, columns = TABLES[table]
        sql = f"SELECT {', '.join((key, *columns))} FROM {table} WHERE being = $being"
        for row in self.unit.rows(sql):
            before = dict(zip(columns, row[1:], strict=True))
            after = self._edits[table](str(row[0]), before)
            if after is not None and table in _ASKED_ABOUT:
                self._ask_about(table, str(row[0]), text_of(table, after))
            if after != before:
                yield RowPlan(table, row[0], before, after)

    def _message(self, key: str, row: _Row) -> _Row | None:
        if row["role"] == ERASED:
            return row
        sent = row["token"] in self._tokens or key in self._sent
        content = None
        if not sent and not self.editor.is_name(row["role"]):
            content = self.editor.edited(row["content"])
        if content == row["content"] and key in self._from_gone:
            content = None
        if content is None:
            # Its id stays: clients send their whole history again, and this is not to come back.
            gone = {"role": ERASED, "content": "", "conversation": "", "token": ""}
            return {**row, **gone}
        return {**row, "content": content, **self._place(row)}

    def _note(self, row: _Row) -> _Row | None:
        if {row.get("taken"), row.get("node")} & self._gone_seqs:
            return None
        if "body" not in row:
            return row
        own = row["token"] in self._tokens
        if row["kind"] == "note":
            text = None if own else self.editor.edited(row["body"])
            return None if text is None else {**row, "body": text, **self._place(row)}
        scene = msgspec.json.decode(row["body"], type=Scene)
        own = own and row["speaker"] in _NOBODY_NAMED
        found = self.editor.redacted(scene, row["speaker"], row["conversation"], own=own)
        if found is None:
            return None
        body = row["body"] if found.scene == scene else written(found.scene)
        place = {"speaker": found.speaker, "conversation": found.conversation}
        return {**row, "body": body, **place}

    def _entry(self, row: _Row) -> _Row | None:
        if "content" not in row:
            return row
        if row["target"] in _OWNERS_WORDS or self.editor.names_others(row["name"]):
            content = self.editor.without(row["content"])
        elif row["token"] in self._tokens or self._is_theirs(row):
            return None
        else:
            content = self.editor.edited(row["content"])
        if content is None:
            return None
        data = msgspec.json.decode(row["data"])
        kept = self.editor.data(data)
        return {
            **row,
            "name": self.editor.without(row["name"]),
            "content": content,
            "data": row["data"] if kept == data else written(kept),
        }

    def _is_theirs(self, row: _Row) -> bool:
        """Whether an entry is under this person's name, or a message from or to them."""
        data = msgspec.json.decode(row["data"])
        names = (row["name"], data.get("from", ""), data.get("to", ""))
        return any(isinstance(one, str) and self.editor.is_name(one) for one in names)

    def _cluster(self, row: _Row) -> _Row:
        kept = dict(row)
        if "name" in row:
            kept["name"] = self._topic(row["name"])
        if "digest" in row:
            kept["digest"] = "" if self.editor.is_in(row["digest"]) else row["digest"]
        return kept

    def _topic(self, name: str) -> str:
        """The name of a topic, without the words that only erased memories have."""
        left = [word for word in name.split() if not words_of(word) & self._lost_words]
        if name in clusters.ROOTS or (
            len(left) == len(name.split()) and not self.editor.mentions(name)
        ):
            return name
        return self.editor.without(" ".join(left)).strip(" ,;&–—-") or UNNAMED

    def _token(self, key: str, row: _Row) -> _Row:
        if key not in self._tokens:
            return {**row, "label": self.editor.without(row["label"])}
        # Whose token it was is not known any more, so nobody must go on with it.
        return {"label": "", "person": "", "revoked": row["revoked"] or self._now}

    def _mark(self, row: _Row) -> _Row:
        """A small fact; most are lists of names, or counts by name."""
        try:
            value = msgspec.json.decode(row["value"])
        except msgspec.DecodeError:
            return {"value": self.editor.without(row["value"])}
        if isinstance(value, list | dict):
            names = cast("list[Any] | dict[str, Any]", value)
            left = [one for one in names if not (isinstance(one, str) and self._is_lost(one))]
            if len(left) < len(names):
                kept = {n: names[n] for n in left} if isinstance(names, dict) else left
                return {"value": written(kept)}
        return row

    def _is_lost(self, name: str) -> bool:
        """Whether a name is this person's, or of no memory that is left; a number is no name."""
        if self.editor.mentions(name):
            return True
        return not name.isdigit() and bool(words_of(name) & self._lost_words)

    def _place(self, row: _Row) -> _Row:
        return {"conversation": self.editor.without(row["conversation"])}


def text_of(table: str, row: Mapping[str, Any]) -> str:
    """What a row says, as a person reads it."""
    if table == "messages":
        return row["content"]
    if table == "notes":
        if row["kind"] == "note":
            return row["body"]
        return msgspec.json.decode(row["body"], type=Scene).action
    if table == "entries":
        named = f"{row['target']}, {row['name']}" if row["name"] else row["target"]
        return f"{named}: {row['content']}"
    if table == "clusters":
        return ": ".join(filter(None, (row["name"], row["digest"])))
    return row["label"] or row["person"]


def _known(unit: Unit) -> frozenset[str]:
    """Everybody who has a name here."""
    related = unit.rows("SELECT name FROM entries WHERE being = $being AND target = 'relationship'")
    tokens = unit.rows("SELECT person FROM tokens WHERE being = $being")
    found = people.known(unit).names.union(name for (name,) in (*related, *tokens))
    return found - {"", PERSON}


def _every_node(unit: Unit) -> Iterator[Node]:
    seq = 0
    while found := nodes.page(unit, ended=True, after=seq, order="seq", limit=_TOGETHER):
        yield from (node for node in found if node.ending != ERASED)
        seq = found[-1].seq


def _moved(change: Change, moved: Mapping[int, int | None]) -> Change | None:
    """A change with the nodes' new numbers; None where none of them is left."""
    sides = tuple(_successor(row, moved) for row in (change.before, change.after))
    places = ranges_of(change.key)
    firsts = [first for first, _ in places]
    inside = [
        seq for seq in moved if seq <= places[bisect(firsts, seq) - 1][1] and seq >= firsts[0]
    ]
    if not inside:
        return Change(change.table, change.key, *sides)
    seqs = {seq for first, last in places for seq in range(first, last + 1)} - set(inside)
    seqs |= {new for seq in inside if (new := moved[seq]) is not None}
    return Change(change.table, key_of(seqs), *sides) if seqs else None


def _successor(row: _Row | None, moved: Mapping[int, int | None]) -> _Row | None:
    if not row or row.get("successor") not in moved:
        return row
    return {**row, "successor": moved[row["successor"]]}
