"""A Being on another server: calls its tools with its token."""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING, Any

from clawkit.assistant.memory.backend import RecalledMemory, TurnMessage
from clawkit.errors import SettingsError
from clawkit.memory.remote_being import RemoteBeing
from clawkit.system.addresses import check_address

if TYPE_CHECKING:
    from clawkit.assistant.api_keys import Keys
    from clawkit.assistant.config import MemoryOptions

_BLOCK = re.compile(r"<memory-recall>\s*(.*?)\s*</memory-recall>", re.DOTALL)
_NEXT = re.compile(r" / | · (?:before: )?(?=\d{4}-\d\d-\d\d)")
"""What separates matters, and the memories on one matter."""
_MOST_AT_ONCE = 200
_MOST_KEPT = 2_000


class RemoteMemory:
    """A Being by its URL and token. What was said goes there when a session is over."""

    def __init__(self, remote: RemoteBeing) -> None:
        self._remote = remote
        self._lock = threading.Lock()
        self._said: dict[str, list[dict[str, str]]] = {}

    def recall(self, text: str, session: str) -> tuple[RecalledMemory, ...]:  # noqa: ARG002 - the Being does not know our sessions
        found = _BLOCK.search(self._remote.call("recall", {"user_message": text}))
        told = _NEXT.split(found[1]) if found else []
        # Oldest first: each begins with its day.
        return tuple(map(RecalledMemory, sorted(told, key=lambda one: one[: len("2026-01-01")])))

    def keep(self, said: tuple[TurnMessage, ...], session: str) -> str:
        with self._lock:
            kept = self._said.setdefault(session, [])
            kept += ({"role": one.role, "content": one.text} for one in said)
            del kept[:-_MOST_KEPT]  # what could not be sent for so long is not kept for ever
            enough = len(kept) >= _MOST_AT_ONCE
        if enough:
            self._send()
        return ""

    def forget(self, named: str, said: str) -> str:  # noqa: ARG002 - it is not looked for
        from clawkit.assistant.offline.phrases import phrases_for

        return phrases_for(said).elsewhere

    def history(self, query: str, date_from: str, date_to: str, limit: int) -> str:
        given = {"query": query, "date_from": date_from, "date_to": date_to}
        arguments: dict[str, Any] = {name: value for name, value in given.items() if value}
        return self._remote.call("search_history", {**arguments, "limit": limit})

    def _send(self) -> None:
        """Let the Being take in what was said; what it does not take is kept for another try."""
        with self._lock:
            sending, self._said = self._said, {}
        try:
            for session, kept in sending.items():
                while kept:
                    some = {"messages": kept[:_MOST_AT_ONCE]}
                    self._remote.call("trigger_patrol", some, session)
                    del kept[:_MOST_AT_ONCE]
        finally:
            with self._lock:
                for session, kept in sending.items():
                    if kept:
                        self._said[session] = [*kept, *self._said.get(session, ())]

    def close(self) -> None:
        try:
            self._send()
        finally:
            self._remote.close()


def check_remote(options: MemoryOptions, keys: Keys) -> None:
    """Ask the Being that the config names for the time; raises what keeps it from answering."""
    remote = _remote(options, keys)
    try:
        remote.call("get_current_time", {})
    finally:
        remote.close()


def open_remote(options: MemoryOptions, keys: Keys) -> RemoteMemory:
    """The Being that the config names."""
    return RemoteMemory(_remote(options, keys))


def _remote(options: MemoryOptions, keys: Keys) -> RemoteBeing:
    token = keys.find(options.token_env)
    if token is None:
        raise SettingsError(
            f"[memory] url needs a token: set {options.token_env} in the environment or in "
            f"{keys.file}; `claw being token create` makes one where the Being is served"
        )
    url = check_address("[memory] url", options.url, secret=True, query=True)
    return RemoteBeing(url, token.value)
