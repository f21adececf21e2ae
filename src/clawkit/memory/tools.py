"""The eleven tools of a Being: what each takes and does; `tools.json` has what clients see of them.

`update_memory` is a write whatever its action is. `act`, which calls a capability of a connected
bridge and is there only while one is connected, is one too.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from clawkit.errors import InvalidArgumentsError
from clawkit.memory.records import Scene, iso
from clawkit.memory.structured_memory import EntryRequest
from clawkit.memory.tokens import OWNERS, Caller
from clawkit.memory.validation import (
    LONGEST_ASKED,
    LONGEST_NAME,
    LONGEST_TEXT,
    clamped,
    counted,
    said,
    sized,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clawkit.memory.memory import Memory
    from clawkit.memory.patrol.transcript import ConversationMessage
    from clawkit.memory.recall.search import Hit
    from clawkit.memory.records import HistoryMessage

ACT = "act"
Offered = Callable[[int], list[dict[str, Any]]]
"""What bridges offer or sense for the Being of a number."""

_NODES_DEFAULT, _NODES_MOST = 5, 1000
_FOUND_DEFAULT, _FOUND_MOST = 10, 30
_HEARD_DEFAULT, _HEARD_MOST = 10, 50
_MOST_MESSAGES = 2_000
_WEEKDAYS = "月火水木金土日"


class ToolDefinition(msgspec.Struct, frozen=True, rename="camel"):
    """What clients see of a tool."""

    description: str
    annotations: dict[str, bool]
    input_schema: dict[str, Any]


class BeingTool(msgspec.Struct, frozen=True):
    """What a tool does: `arguments` is the type of what `run` gets.

    What `run` gives is sent as it is if it is a text, and as JSON otherwise.
    """

    name: str
    arguments: type[Any]
    run: Callable[[Memory, Caller, Any], Any]


DEFINITIONS = msgspec.json.decode(
    Path(__file__).with_suffix(".json").read_bytes(), type=dict[str, ToolDefinition]
)
READ_TOOLS = frozenset(name for name, one in DEFINITIONS.items() if one.annotations["readOnlyHint"])
WRITE_TOOLS = frozenset(DEFINITIONS) - READ_TOOLS


class RecallArguments(msgspec.Struct, frozen=True):
    """What `recall` takes."""

    user_message: str
    explain: bool | None = None
    as_of: str | None = None


class ExploreArguments(msgspec.Struct, frozen=True):
    """What `recall_memory` takes."""

    cluster_id: str | None = None
    node_id: str | None = None
    limit: float | None = None
    query: str | None = None
    no_nodes: bool | None = None


class SearchArguments(msgspec.Struct, frozen=True):
    """What `search_memory` takes."""

    query: str
    limit: float | None = None
    mode: Literal["or", "and"] | None = None
    explain: bool | None = None
    as_of: str | None = None


def recall(memory: Memory, caller: Caller, given: RecallArguments) -> str:
    told = memory.recall(given.user_message, caller, explain=bool(given.explain), as_of=given.as_of)
    if not given.explain:
        return told.text
    header = f"{told.kind} search, {len(told.hits)} told, {len(told.beside)} beside"
    return "\n".join([told.text, "", header, *_explained((*told.hits, *told.beside))])


def explore(memory: Memory, caller: Caller, given: ExploreArguments) -> str:
    from clawkit.memory.exploration import ExploreRequest

    limit = clamped("limit", given.limit, _NODES_DEFAULT, _NODES_MOST)
    where = (given.cluster_id or None, given.node_id or None)
    asked = ExploreRequest(*where, limit, given.query or "", bool(given.no_nodes))
    return memory.explore(caller, asked)


def search(memory: Memory, caller: Caller, given: SearchArguments) -> str:
    from clawkit.memory.exploration import line

    found = memory.search(
        given.query,
        caller,
        limit=clamped("limit", given.limit, _FOUND_DEFAULT, _FOUND_MOST),
        mode=given.mode or "or",
        explain=bool(given.explain),
        as_of=given.as_of,
    )
    header = f"Memories found: {len(found.hits)} ({found.kind} search)"
    if given.explain:
        return "\n".join([header, *_explained(found.hits)])
    return "\n".join([header, *(line(hit.node) for hit in found.hits)])


def _explained(hits: Sequence[Hit]) -> list[str]:
    from clawkit.memory.exploration import line

    def signals(hit: Hit) -> str:
        return ", ".join(f"{name} {value:.3f}" for name, value in hit.signals.items())

    return [f"{line(hit.node)}\n  score {hit.score:.3f}: {signals(hit)}" for hit in hits]


class SceneArgument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A scene as a client writes it."""

    action: str
    actors: list[str]
    when: list[str]
    setting: str | None = None
    feeling: str | None = None
    themes: list[str] | None = None
    importance: float | None = None

    def scene(self) -> Scene:
        return Scene(
            self.action,
            tuple(self.actors),
            tuple(self.when),
            self.setting or "",
            self.feeling or "",
            tuple(self.themes or ()),
            0.5 if self.importance is None else self.importance,
        )


class NotesArguments(msgspec.Struct, frozen=True):
    """What `update_notes` takes."""

    action: Literal["append", "update"] | None = None
    scenes: list[SceneArgument] | None = None
    notes: list[str] | None = None
    scene_ids: list[str] | None = None


class MergeArguments(msgspec.Struct, frozen=True):
    """What `merge_nodes` takes."""

    node_ids: str
    summary: str
    feeling: str | None = None


def update_notes(memory: Memory, caller: Caller, given: NotesArguments) -> dict[str, Any]:
    return memory.take_notes(
        caller,
        scenes=[scene.scene() for scene in given.scenes or ()],
        notes=given.notes or (),
        scene_ids=given.scene_ids or (),
        replace=given.action == "update",
    )


def merge_nodes(memory: Memory, caller: Caller, given: MergeArguments) -> str:
    ids = {part.strip().lower(): None for part in given.node_ids.split(",") if part.strip()}
    secret_filter = memory.secret_filter()
    node = memory.merge(list(ids), given.summary, given.feeling or "", caller, secret_filter)
    merged = f"Merged {len(ids)} nodes into the new node {node.id}."
    return f"{merged} {secret_filter.said()}".strip()


class RelationArguments(msgspec.Struct, frozen=True):
    """What `update_relation` takes."""

    entity_name: str
    relation_type: str
    action: Literal["upsert", "delete"]
    content: str | None = None


def update_memory(memory: Memory, caller: Caller, given: EntryRequest) -> dict[str, Any]:
    """What clients do not obey is quoted where it gives orders, as everywhere."""
    answer = memory.structured(caller, given)
    if given.target in OWNERS:
        return answer
    return {**answer, "entries": [_quoted(entry) for entry in answer["entries"]]}


def _quoted(entry: dict[str, Any]) -> dict[str, Any]:
    from clawkit.memory.display_text import find_instructions, told

    return {
        name: told(value, LONGEST_TEXT)
        if isinstance(value, str) and find_instructions(value)
        else value
        for name, value in entry.items()
    }


def update_relation(memory: Memory, caller: Caller, given: RelationArguments) -> dict[str, Any]:
    return memory.relate(
        caller, given.entity_name, given.relation_type, given.content, given.action
    )


class NoArguments(msgspec.Struct, frozen=True):
    """What a tool without parameters takes."""


class TimeArguments(msgspec.Struct, frozen=True):
    """What `get_current_time` takes."""

    timezone: str | None = None


def get_current_time(memory: Memory, _caller: Caller, given: TimeArguments) -> dict[str, str]:
    return time_in(given.timezone or "UTC", memory.now)


def time_in(timezone: str, moment: float) -> dict[str, str]:
    """A moment as a zone's clocks and calendars show it."""
    try:
        zone = ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        problem = f"{timezone[:60]!r} is no IANA timezone; one is Asia/Tokyo"
        raise InvalidArgumentsError("timezone", problem) from None
    here = datetime.fromtimestamp(moment, zone)
    day = f"{here:%Y/%m/%d}({_WEEKDAYS[here.weekday()]}) {here:%H:%M:%S}"
    return {"datetime": day, "iso": iso(moment), "timezone": timezone}


class HistoryArguments(msgspec.Struct, frozen=True):
    """What `search_history` takes."""

    query: str | None = None
    date_from: str | None = None
    date_to: str | None = None
    limit: float | None = None


class MessageArgument(msgspec.Struct, frozen=True):
    """A message of a client; its content is a text or a list of content blocks."""

    role: str
    content: Any


class PatrolArguments(msgspec.Struct, frozen=True):
    """What `trigger_patrol` takes."""

    messages: list[MessageArgument]
    marker_id: str | None = None


def search_history(memory: Memory, _caller: Caller, given: HistoryArguments) -> str:
    from clawkit.memory.display_text import told

    found = memory.history(
        given.query or "",
        given.date_from or None,
        given.date_to or None,
        clamped("limit", given.limit, _HEARD_DEFAULT, _HEARD_MOST),
    )
    people = memory.speakers(found)

    def who(one: HistoryMessage) -> str:
        name = told(people.get(one.id, ""), LONGEST_NAME)
        return f"{told(one.role, 40)} ({name})" if name else told(one.role, 40)

    lines = [f"[{_time(one.at)}] {who(one)}: {told(one.text)}" for one in found]
    return "\n".join([f"Messages found: {len(found)}, the newest first", *lines])


def trigger_patrol(memory: Memory, caller: Caller, given: PatrolArguments) -> dict[str, Any]:
    counted("messages", len(given.messages), _MOST_MESSAGES)
    messages = [_message(f"messages[{at}]", one) for at, one in enumerate(given.messages)]
    marker = sized("marker_id", given.marker_id or "", LONGEST_NAME) or None
    secret_filter = memory.secret_filter()
    outcome = memory.patrol(caller, messages, marker, secret_filter=secret_filter)
    return {**msgspec.to_builtins(outcome), **secret_filter.told()}


def _message(where: str, given: MessageArgument) -> ConversationMessage:
    from clawkit.memory.patrol.transcript import ConversationMessage

    role = said(f"{where}.role", given.role, LONGEST_NAME)
    content = sized(f"{where}.content", _text(f"{where}.content", given.content), LONGEST_ASKED)
    return ConversationMessage(role, content)


def _text(where: str, content: Any) -> str:
    """The words of a message; pictures and tool calls among its blocks are no words."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise InvalidArgumentsError(where, "must be a string")
    blocks = [cast("dict[str, Any]", b) for b in cast("list[Any]", content) if isinstance(b, dict)]
    return "\n".join(str(block["text"]) for block in blocks if "text" in block)


def _time(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def being_tools(capabilities: Offered, senses: Offered) -> tuple[BeingTool, ...]:
    """The tools of a server that has these bridges, in the order in which they are listed."""

    def get_context(memory: Memory, caller: Caller, _given: NoArguments) -> dict[str, Any]:
        n = memory.being.n
        return memory.context(capabilities(n), senses(n), asker=caller.person)

    return (
        BeingTool("recall", RecallArguments, recall),
        BeingTool("get_context", NoArguments, get_context),
        BeingTool("recall_memory", ExploreArguments, explore),
        BeingTool("search_memory", SearchArguments, search),
        BeingTool("merge_nodes", MergeArguments, merge_nodes),
        BeingTool("update_memory", EntryRequest, update_memory),
        BeingTool("update_notes", NotesArguments, update_notes),
        BeingTool("search_history", HistoryArguments, search_history),
        BeingTool("update_relation", RelationArguments, update_relation),
        BeingTool("trigger_patrol", PatrolArguments, trigger_patrol),
        BeingTool("get_current_time", TimeArguments, get_current_time),
    )
