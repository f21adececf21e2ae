"""Tracks which prompts are answered, and whether the CLI still has something to do."""

from __future__ import annotations

from typing import Any

from clawkit.claude.messages import Message, ResultMessage, SystemMessage, UnknownMessage
from clawkit.wire.jsonrpc import as_object

# Tasks whose end the model is told of, in a turn of its own. A shell in the background may run for
# ever, and nothing waits for it.
_AGENTS = ("local_agent", "local_workflow")
_ENDED = ("completed", "failed", "stopped", "killed", "cancelled")
_NEVER = ("cancelled", "discarded", "refused")
_STATE, _PROMPT = "session_state_changed", "command_lifecycle"
ENVIRONMENT = {"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": "1"}
"""Has the CLI say when it is idle: a result ends a turn, and an agent may work on behind it."""


class TurnTracker:
    """Counts prompts, results and agents in the background, as they are received."""

    def __init__(self) -> None:
        self._unanswered: dict[str, bool] = {}
        """Prompts by their ids, in order, and whether the turn that is under way takes them up."""
        self._agents: set[str] = set()
        self._state: str | None = None
        """What the CLI says it is: `running`, `idle` …; None for one too old to say so."""
        self._queued = 0
        self._owes_turn = False
        self.anything_sent = False

    def sent(self, uuid: str) -> None:
        self.anything_sent = True
        self._unanswered[uuid] = False

    @property
    def awaited(self) -> str | None:
        """The oldest prompt that has no answer yet."""
        return next(iter(self._unanswered), None)

    def is_open(self, uuid: str) -> bool:
        return uuid in self._unanswered

    @property
    def over(self) -> bool:
        """Whether every prompt is answered, and no agent works on or has yet to be heard of."""
        waiting = self._unanswered or self._agents or self._queued or self._owes_turn
        return not waiting and self._state in (None, "idle")

    def hear(self, message: Message) -> None:
        if isinstance(message, ResultMessage):
            self._result(message)
        elif isinstance(message, SystemMessage):
            self._news(message.subtype, message.data)
        elif isinstance(message, UnknownMessage) and message.type == _PROMPT:
            self._prompt(str(message.data.get("command_uuid")), message.data.get("state"))

    def _result(self, result: ResultMessage) -> None:
        queued = result.data.get("queued_turn_count")
        self._queued = queued if isinstance(queued, int) else 0
        self._owes_turn = False
        ids = list(self._unanswered)
        last = [n for n, id in enumerate(ids) if self._unanswered[id] or id in result.answers]
        if not last and not result.answers and result.origin is None and ids:
            last = [0]
        # Prompts that wait together are answered together, and an older CLI names only the last.
        for id in ids[: max(last, default=-1) + 1]:
            del self._unanswered[id]

    def _prompt(self, id: str, state: object) -> None:
        if id in self._unanswered and state == "started":
            self._unanswered[id] = True
        elif state in _NEVER:
            self._unanswered.pop(id, None)

    def _news(self, subtype: str, data: dict[str, Any]) -> None:
        task = str(data.get("task_id"))
        if subtype == _STATE:
            self._state = str(data.get("state"))
            self._owes_turn = self._owes_turn and self._state != "idle"
        elif subtype == "task_started" and data.get("task_type") in _AGENTS:
            self._agents.add(task)
        elif task in self._agents and (subtype == "task_notification" or _status(data) in _ENDED):
            self._agents.discard(task)
            self._owes_turn = True  # to tell the model of it


def _status(data: dict[str, Any]) -> object:
    return (as_object(data.get("patch")) or {}).get("status")


def is_for_the_host(message: Message) -> bool:
    """Whether the CLI says this only because we asked: when it is idle, what became of an id."""
    if isinstance(message, UnknownMessage):
        return message.type == _PROMPT
    return isinstance(message, SystemMessage) and message.subtype == _STATE
