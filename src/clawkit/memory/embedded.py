"""A Being from Python: opened by name, told, asked, corrected and tidied up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from clawkit.errors import BeingError, InvalidArgumentsError
from clawkit.memory import validation
from clawkit.memory.being_store import BeingStore
from clawkit.memory.patrol.transcript import ConversationMessage
from clawkit.memory.recollection import NOTHING, NOTHING_NEW
from clawkit.memory.statistics import node_called
from clawkit.memory.tokens import Caller
from clawkit.store import open_store

if TYPE_CHECKING:
    from clawkit.memory.memory import Memory


def open_being(
    name: str = "assistant", *, store: str = "", embedder: str = "use-multilingual-v3"
) -> OpenBeing:
    """The Being of that name, made if there is none; `store` is `sqlite:PATH` or `postgresql://…`.

    Without `store` it is where the commands keep theirs, so that `claw recall` knows the same.
    """
    beings = BeingStore(open_store(store or None), embedder)
    try:
        _ = beings.embedder  # one that does not exist is told now, and not when it is needed
        return OpenBeing(beings, beings.open(beings.called(_text("name", name))))
    except BaseException:
        beings.close()
        raise


class OpenBeing:
    """One memory, for one person or for several by name; close it, or use it with `with`."""

    def __init__(self, beings: BeingStore, memory: Memory) -> None:
        self._beings = beings
        self._opened: Memory | None = memory

    @property
    def _memory(self) -> Memory:
        if self._opened is None:
            raise BeingError("this Being is closed: open_being opens it again")
        return self._opened

    def remember(self, text: str, *, person: str = "", when: str | Sequence[str] = ()) -> str:
        """Remember one sentence at once, of a day or several; gives its id. `person` says it."""
        days = (when,) if isinstance(when, str) else when
        validation.said("text", _text("text", text))
        try:
            return self._memory.remember(text, Caller(person=person), when=days).id
        except InvalidArgumentsError as error:
            name = error.argument.removeprefix("scene.")
            raise InvalidArgumentsError(name, error.problem) from None

    def hear(self, *messages: str, person: str = "", conversation: str = "") -> int:
        """Take in what somebody said, one message after the other; gives how many are new."""
        given = [ConversationMessage("user", _text("messages", text)) for text in messages]
        return self._memory.patrol(
            Caller(person=person, conversation=conversation), given
        ).scenes_created

    def recall(self, message: str, *, person: str = "") -> str:
        """What is worth knowing at a message, as a model should read it; empty if nothing is."""
        validation.sized("message", _text("message", message), validation.LONGEST_ASKED)
        told = self._memory.recall(message, Caller(person=person)).text
        return "" if told in (NOTHING, NOTHING_NEW) else told

    def search(self, query: str, limit: int = 10) -> list[tuple[str, str]]:
        """The ids and words of the memories that fit best, whatever they are worth."""
        found = self._memory.search(_text("query", query), limit=limit)
        return [(hit.node.id, hit.node.scene.action) for hit in found.hits]

    def forget(self, *ids: str) -> None:
        """Take memories back by their ids or beginnings of ids; `claw memory undo` undoes it."""
        with self._beings.database.read(self._memory.being.n) as unit:
            whole = [node_called(unit, _text("ids", one)).id for one in ids]
        self._memory.retract(whole, Caller(), "forgotten on request")

    def patrol(self) -> None:
        """Put memory in order: topics, repetitions, what fades."""
        outcome = self._memory.patrol(Caller())
        if outcome.status != "ok":
            raise BeingError(f"memory was not put in order: {outcome.status}")

    def close(self) -> None:
        self._opened = None
        self._beings.close()

    def __enter__(self) -> OpenBeing:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _text(argument: str, given: object) -> str:
    """What was given for a text, if it is one."""
    if not isinstance(given, str):
        raise InvalidArgumentsError(argument, f"must be a str, and {given!r:.60} is none")
    return given
