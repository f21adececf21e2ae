"""Takes secrets out of what is to be remembered, unless the Being allows them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from clawkit.memory.patrol.transcript import ConversationMessage
from clawkit.memory.records import USER, Being, Scene
from clawkit.memory.store.messages import last_said
from clawkit.memory.tokens import Caller
from clawkit.store.database import Transactions
from clawkit.text.spoken_secrets import leads_to_secret, remove_secrets

T = TypeVar("T", bound=msgspec.Struct)

MARK = "secrets.allowed"
_ALLOWED = "yes"
_MARK_ALONE = re.compile(r"\s*\[removed: [a-z0-9-]+\]\s*")


def allows_secrets(database: Transactions, being: Being) -> bool:
    """Whether this Being keeps passwords, keys and card numbers."""
    with database.read(being.n) as unit:
        return unit.mark(MARK) == _ALLOWED


def allow_secrets(database: Transactions, being: Being, on: bool) -> None:
    """Let a Being keep secrets from now on, or not any more; what it has stays."""
    with database.write(being.n) as unit:
        unit.set_mark(MARK, _ALLOWED if on else "")


class SecretFilter:
    """Takes the secrets out of what one call writes, and knows their kinds.

    It reads the Being's setting when it finds the first, so it is used outside of transactions.
    """

    def __init__(self, database: Transactions, being: Being) -> None:
        self._database = database
        self._being = being
        self._allowed: bool | None = None
        self._removed: dict[str, None] = {}

    @property
    def removed(self) -> list[str]:
        """The kinds of what was taken out so far."""
        return list(self._removed)

    def text(self, given: str) -> str:
        kept, kinds = remove_secrets(given)
        if not kinds or self._keeps_all():
            return given
        self._removed.update(dict.fromkeys(kinds))
        return kept

    def texts(self, given: Sequence[str]) -> list[str]:
        """What is said one after the other; a secret may stand apart from what names it."""
        kept: list[str] = []
        for text in given:
            kept.append(self._after(kept[-1] if kept else "", text))
        return kept

    def _after(self, before: str, text: str) -> str:
        if leads_to_secret(before):
            whole = self.text(f"{before}\n{text}")
            if whole.startswith(f"{before}\n"):
                return whole[len(before) + 1 :]
        return self.text(text)

    def fields(self, given: T, *names: str) -> T:
        """The same record without the secrets in these fields of it."""
        said = {name: text for name in names if (text := getattr(given, name))}
        return msgspec.structs.replace(given, **{name: self.text(said[name]) for name in said})

    def scene(self, given: Scene) -> Scene:
        return self.scenes([given])[0]

    def scenes(self, given: Sequence[Scene]) -> list[Scene]:
        actions = self.texts([one.action for one in given])
        return [
            msgspec.structs.replace(
                self.fields(one, "setting", "feeling", "context"),
                action=action,
                actors=tuple(map(self.text, one.actors)),
                themes=tuple(map(self.text, one.themes)),
            )
            for one, action in zip(given, actions, strict=True)
        ]

    def messages(
        self, given: Sequence[ConversationMessage], caller: Caller, now: float
    ) -> list[ConversationMessage]:
        """What was said in a conversation; somebody may answer between a secret and its name."""
        if not given:
            return []
        with self._database.read(self._being.n) as unit:
            here = (caller.conversation, caller.token)
            last = {USER: last_said(unit, *here, USER, now)}
        kept: list[ConversationMessage] = []
        apart: dict[str, str] = {}
        latest = ""
        for one in given:
            role, content = one.role.casefold(), one.content
            for value, mark in apart.items():  # an answer may repeat what was just said
                content = content.replace(value, mark)
            for before in {last.get(role, ""): None, latest: None}:  # others may have asked for it
                content = self._after(before, content)
            last[role] = latest = content
            if _MARK_ALONE.fullmatch(last[role]):
                apart[one.content.strip()] = last[role].strip()
            kept.append(msgspec.structs.replace(self.fields(one, "role"), content=last[role]))
        return kept

    def told(self) -> dict[str, Any]:
        """The fields of an answer that say what was not kept, and how it would be."""
        if not self._removed:
            return {}
        keep = f"claw being allow-secrets {self._being.id}"
        return {"removed": self.removed, "to_keep_them": keep}

    def said(self) -> str:
        """What was not kept, and how it would be, as a sentence."""
        return said(self.removed, self._being)

    def _keeps_all(self) -> bool:
        if self._allowed is None:
            self._allowed = allows_secrets(self._database, self._being)
        return self._allowed


def said(removed: Sequence[str], being: Being) -> str:
    """What a Being has not kept, and how it would be; empty where nothing was taken out."""
    if not removed:
        return ""
    kinds = ", ".join(removed)
    return f"Not kept: {kinds} (`claw being allow-secrets {being.id}` lets {being.name} keep them)."
