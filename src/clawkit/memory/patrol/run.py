"""One patrol: its steps in order, each a transaction of its own; or all of it as a dry run.

Every step begins with what is there and leaves something whole, so a patrol that is killed costs
nothing: the next one goes on. Beside another, a patrol only makes memories of what waits. A model
is asked between transactions, never within one, and what it says is checked against what is there
by then.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from clawkit.errors import ModelError
from clawkit.memory.patrol import PatrolContext, digests, lifecycle, topics
from clawkit.memory.patrol.consolidation import consolidate, merge_repeated, supersede_outdated
from clawkit.memory.patrol.new_memories import remember_waiting
from clawkit.memory.patrol.scenes import hear
from clawkit.memory.patrol.transcript import ConversationMessage
from clawkit.memory.store import jobs, nodes
from clawkit.memory.tokens import Caller
from clawkit.store.database import Database, Transactions, Unit

if TYPE_CHECKING:
    from clawkit.memory.embed.embedder import Embedder
    from clawkit.memory.model import Llm


class _Over(Exception):
    """Rolls the transaction back."""


class _OneTransaction:
    """Hands out one open transaction for every read and write."""

    def __init__(self, unit: Unit) -> None:
        self._unit = unit

    @contextmanager
    def read(self, being: int) -> Generator[Unit]:
        assert self._unit.being == being
        yield self._unit

    write = read


@contextmanager
def _undone(database: Database, being: int) -> Generator[Transactions]:
    """Transactions whose changes are rolled back at the end."""
    with suppress(_Over), database.write(being) as unit:
        yield _OneTransaction(unit)
        raise _Over


NO_MODEL = "skipped: no model"
NO_VECTORS = "skipped: no vectors"
RUNNING = "another patrol is running: what was noted is remembered, the rest is left to that one"
_FAILED = "failed: "
_log = logging.getLogger("clawkit.memory")


class PatrolOutcome(msgspec.Struct, frozen=True):
    """What a patrol did. `steps` has each step's count, or why there is none."""

    status: str
    scenes_created: int
    nodes_created: int
    marker_id: str
    steps: dict[str, int | str]
    stopped: str = ""

    @property
    def verdict(self) -> jobs.RunOutcome:
        """The outcome as the job table counts it."""
        if self.stopped:
            return "skipped"
        failed = any(str(said).startswith(_FAILED) for said in self.steps.values())
        return "partial" if failed else "ok"


def patrol(
    database: Database,
    being: int,
    *,
    embedder: Embedder | None,
    llm: Llm | None,
    now: float,
    caller: Caller,
    messages: Sequence[ConversationMessage] = (),
    marker: str | None = None,
    cap: int | None = None,
    dry_run: bool = False,
    limited: Transactions | None = None,
) -> PatrolOutcome:
    """Go through all steps. A dry run does them too, asks no model, and leaves nothing behind.

    What was said is kept in `limited`, which may refuse it.
    """
    model = embedder.name if embedder else ""
    run = PatrolContext(database, being, now, caller, embedder, model, llm, cap)
    if not dry_run:
        return _all(run, messages, marker, database.patrolling(being), limited)
    with _undone(database, being) as trial:
        # No new vectors either: nobody must wait for a model while the transaction is open.
        run = replace(run, database=trial, embedder=None, llm=None)
        return _all(run, messages, marker, nullcontext(True))  # no other writes now


def _all(
    run: PatrolContext,
    messages: Sequence[ConversationMessage],
    marker: str | None,
    lock: AbstractContextManager[bool],
    limited: Transactions | None = None,
) -> PatrolOutcome:
    with run.database.read(run.being) as unit:
        top = nodes.top(unit)
    heard = hear(replace(run, database=limited or run.database), messages, marker)
    made = remember_waiting(run)
    steps: dict[str, int | str] = {"heard": heard.by, "remembered": made}
    with lock as alone:
        if alone:
            steps["superseded"] = _with_model(run, "superseded", supersede_outdated)
            _keep_in_order(run, steps)
            steps["described"] = _described(run)
            steps["diary"] = _with_model(run, "diary", partial(digests.write_diary, after=top))
    status, stopped = ("ok", "") if alone else ("stopped", RUNNING)
    return PatrolOutcome(status, heard.scenes, made, heard.marker, steps, stopped)


def _keep_in_order(run: PatrolContext, steps: dict[str, int | str]) -> None:
    """❷ to ❼; what is above the cap of a step is left for the next patrol, and the others go on."""
    with run.database.write(run.being) as unit:
        steps["read"] = lifecycle.count_reads(unit)
    steps["aged"] = lifecycle.age(run)
    with run.database.read(run.being) as unit:
        faint = lifecycle.faint(unit, run.now)
    with run.database.write(run.being) as unit:
        faded = lifecycle.fade(unit, faint, run)
    steps |= {"dying": faded.dying, "dead": faded.dead, "spared": faded.spared}
    with run.database.write(run.being) as unit:
        steps["repeated"] = merge_repeated(unit, run)
    if faded.left:
        steps["left"] = faded.left
    steps["merged"] = _with_model(run, "merged", consolidate)
    with run.database.write(run.being) as unit:
        steps["revived"] = lifecycle.revive(unit, run.now, run.token)
    steps["split"] = topics.split(run) if run.model else NO_VECTORS
    with run.database.write(run.being) as unit:
        steps["joined"] = topics.join(unit, run)


def _with_model(
    run: PatrolContext, name: str, do: Callable[[PatrolContext, Llm], int]
) -> int | str:
    """A step that only a model can do. A model that fails costs this step, not the patrol."""
    if run.llm is None:
        return NO_MODEL
    try:
        return do(run, run.llm)
    except ModelError as error:
        _log.warning("patrol: %s: %s", name, error)
        return f"{_FAILED}{error}"


def _described(run: PatrolContext) -> int:
    try:
        return digests.describe(run)
    except ModelError as error:
        _log.warning("patrol: digests are made without the model: %s", error)
        return digests.describe(replace(run, llm=None))
