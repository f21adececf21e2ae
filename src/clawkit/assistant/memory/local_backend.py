"""A Being in this process: the embedded default."""

from __future__ import annotations

import logging
import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from clawkit.assistant.memory.backend import RecalledMemory, TurnMessage
from clawkit.assistant.offline.phrases import phrases_for
from clawkit.assistant.offline.statements import is_everything, is_taken_back
from clawkit.errors import ClawError, QuotaError
from clawkit.memory.being_store import BeingStore
from clawkit.memory.display_text import shown, told
from clawkit.memory.intake import listen
from clawkit.memory.patrol.scenes import what_tells
from clawkit.memory.patrol.transcript import ConversationMessage
from clawkit.memory.store import jobs
from clawkit.memory.tokens import Caller
from clawkit.store import open_store
from clawkit.text.cues import only_asks

if TYPE_CHECKING:
    from clawkit.assistant.api_keys import Keys
    from clawkit.assistant.config import Config
    from clawkit.memory.memory import Memory

_RECALLED = 3
_PERSON = "user"
_LOOKED_AT = 50
_MOST_FORGOTTEN = 5
"""Memories that one order may take back, as many as an answer can name."""
_SETTLING = 10.0
_log = logging.getLogger("clawkit.assistant")


class LocalMemory:
    """The person's Being, opened by this process."""

    def __init__(self, store: BeingStore, memory: Memory) -> None:
        self._store = store
        self._memory = memory

    def recall(self, text: str, session: str) -> tuple[RecalledMemory, ...]:
        found = self._memory.recall(text, Caller(), limit=_RECALLED, apart_from=session)
        nodes = [hit.node for hit in (*found.hits, *found.beside)]
        # Oldest first, as a conversation is read: of two that disagree, the later word counts. What
        # was told today of a day in June is older than what was told yesterday.
        return tuple(
            RecalledMemory(told(node.text), own_words=node.source.speaker == _PERSON)
            for node in sorted(nodes, key=lambda node: node.told_at)
        )

    def keep(self, said: tuple[TurnMessage, ...], session: str) -> str:
        messages = [ConversationMessage(one.role, one.text, one.at) for one in said]
        secret_filter = self._memory.secret_filter()
        caller = Caller(conversation=session)
        try:
            due = listen(self._store, self._memory.being, messages, caller, secret_filter)
        except QuotaError:
            own = [one.text for one in said if one.role == "user"]
            if any(what_tells(text) and not only_asks(text) for text in own):
                raise
            return ""
        if due:
            self._store.worker.start()
        return secret_filter.said()

    def forget(self, named: str, said: str) -> str:
        found = self._memory.search(named, limit=_LOOKED_AT).hits if named else ()
        nodes = [hit.node for hit in found if is_taken_back(hit.node.scene.action, named)]
        if not nodes or is_everything(named):
            return ""
        if len(nodes) > _MOST_FORGOTTEN:
            return phrases_for(said).too_many.format(count=len(nodes))
        self._memory.retract([node.id for node in nodes], Caller(), "forgotten on request")
        listed = "; ".join(f"“{shown(node.scene.action, 200)}”" for node in nodes)
        phrases = phrases_for(said)
        undo = phrases.undo.format(n=self._memory.ledger(1)[0].n)
        return phrases.forgotten.format(told=listed, undo=undo)

    def history(self, query: str, date_from: str, date_to: str, limit: int) -> str:
        found = self._memory.history(query, date_from or None, date_to or None, limit)
        lines = [f"[{_day(one.at)}] {shown(one.role, 40)}: {told(one.text)}" for one in found]
        return "\n".join(lines) or "Nothing was found."

    def close(self) -> None:
        """Do what is due, such as a patrol; what takes long is left for the next time."""
        with self._store.database.registry() as connection:
            due = jobs.waiting(connection, self._memory.being.n)
        if due:
            working = threading.Thread(target=self._work_off, daemon=True)
            working.start()
            working.join(_SETTLING)
            if working.is_alive():
                return  # the process is ending, and the claim ends by itself
        self._store.close()

    def _work_off(self) -> None:
        try:
            self._store.worker.work_off()
        except ClawError as error:  # the jobs stay, for the next time
            _log.warning("memory: %s", error)


def _day(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M")


def open_local(config: Config, keys: Keys) -> LocalMemory:
    options = config.memory
    address = options.store or f"sqlite:{config.places.data / 'beings.db'}"
    key = keys.find("OPENAI_API_KEY")
    store = BeingStore(
        open_store(address), options.embedder, embedding_key=key.value if key else ""
    )
    try:
        being = store.find(options.being) if options.being else store.default()
        return LocalMemory(store, store.open(being))
    except BaseException:
        store.close()
        raise
