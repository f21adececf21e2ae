"""One patrol: its steps in order, each a transaction of its own; or all of it as a dry run.

Every step begins with what is there and leaves something whole, so a patrol that is killed costs
nothing: the next one goes on. Beside another, a patrol only makes memories of what waits. A model
is asked between transactions, never within one, and what it says is checked against what is there
by then.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from types import TracebackType
from typing import TYPE_CHECKING

import msgspec

from clawkit.errors import ModelError
from clawkit.memory.caller import Caller
from clawkit.memory.patrol import diary, digests, lifecycle, topics
from clawkit.memory.patrol.consolidation import consolidate, merge_repeated, supersede_outdated
from clawkit.memory.patrol.new_memories import remember_waiting
from clawkit.memory.patrol.scenes import hear
from clawkit.memory.patrol.topics import split
from clawkit.memory.patrol.transcript import ConversationMessage
from clawkit.memory.store import jobs, nodes
from clawkit.memory.store.database import Connection, Database, Unit

if TYPE_CHECKING:
    from clawkit.memory.embed.protocol import Embedder
    from clawkit.memory.model import Llm


class _Over(Exception):
    """Ends the transaction so that it is undone."""


class DryRunDatabase:
    """A database on which one Being can be changed, until it is left."""

    def __init__(self, database: Database, being: int) -> None:
        self._database = database
        self._transaction = database.write(being)
        self._unit: Unit | None = None

    @property
    def address(self) -> str:
        return self._database.address

    def __enter__(self) -> Database:
        self._unit = self._transaction.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._unit = None
        if error is not None:
            self._transaction.__exit__(kind, error, trace)
            return
        over = _Over()
        try:
            self._transaction.__exit__(_Over, over, None)
        except _Over:
            return

    @contextmanager
    def read(self, being: int) -> Generator[Unit]:
        assert self._unit is not None
        assert self._unit.being == being
        yield self._unit

    def write(self, being: int) -> AbstractContextManager[Unit]:
        return self.read(being)

    def jot(self, being: int) -> AbstractContextManager[Unit]:
        return self.read(being)

    def registry(self, *, write: bool = False) -> AbstractContextManager[Connection]:
        return self._database.registry(write=write)

    @contextmanager
    def patrolling(self, being: int) -> Generator[bool]:  # noqa: ARG002 - no other writes now
        yield True

    def probe(self) -> None:
        self._database.probe()

    def grow(self) -> None:
        """Nothing stays that could grow."""

    def scrub(self) -> str:
        """Nothing is deleted here."""
        return ""

    def close(self) -> None:
        """The database belongs to somebody else."""


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
        """How it went, in a word."""
        if self.stopped:
            return "skipped"
        failed = any(str(said).startswith(_FAILED) for said in self.steps.values())
        return "partial" if failed else "ok"


class _Patrol:
    """What every step needs."""

    def __init__(
        self,
        database: Database,
        being: int,
        embedder: Embedder | None,
        llm: Llm | None,
        now: float,
        caller: Caller,
        cap: int | None,
        model: str,
    ) -> None:
        self.database = database
        self.being = being
        self.embedder = embedder
        self.model = model
        self.llm = llm
        self.now = now
        self.caller = caller
        self.token = caller.token
        self.cap = cap
        self.steps: dict[str, int | str] = {}

    def step(self, name: str, do: Callable[[Unit], int]) -> None:
        with self.database.write(self.being) as unit:
            self.steps[name] = do(unit)

    def step_with_model(self, name: str, do: Callable[[Llm], int]) -> None:
        """A step that only a model can do. A model that fails costs this step, not the patrol."""
        if self.llm is None:
            self.steps[name] = NO_MODEL
            return
        try:
            self.steps[name] = do(self.llm)
        except ModelError as error:
            _log.warning("patrol: %s: %s", name, error)
            self.steps[name] = f"{_FAILED}{error}"


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
) -> PatrolOutcome:
    """Go through all steps. A dry run does them too, asks no model, and leaves nothing behind."""
    model = embedder.name if embedder else ""
    if dry_run:
        with DryRunDatabase(database, being) as trial:
            # No new vectors either: nobody must wait for a model while the transaction is open.
            run = _Patrol(trial, being, None, None, now, caller, cap, model)
            return _all(run, messages, marker)
    run = _Patrol(database, being, embedder, llm, now, caller, cap, model)
    return _all(run, messages, marker)


def _all(
    run: _Patrol, messages: Sequence[ConversationMessage], marker: str | None
) -> PatrolOutcome:
    with run.database.read(run.being) as unit:
        top, before = nodes.top(unit), digests.sizes(unit)
    heard = hear(
        run.database,
        run.being,
        messages,
        llm=run.llm,
        embedder=run.embedder,
        now=run.now,
        caller=run.caller,
        marker=marker,
    )
    run.steps["heard"] = heard.by
    made = remember_waiting(run.database, run.being, run.embedder, run.now, run.token)
    run.steps["remembered"] = made
    with run.database.patrolling(run.being) as alone:
        if alone:
            run.step_with_model("superseded", lambda llm: _supersede(run, llm))
            _keep_in_order(run)
            run.steps["described"] = _describe(run, before)
            run.step_with_model("diary", lambda llm: _diary(run, top, llm))
    status, stopped = ("ok", "") if alone else ("stopped", RUNNING)
    return PatrolOutcome(status, heard.scenes, made, heard.marker, run.steps, stopped)


def _keep_in_order(run: _Patrol) -> None:
    """❷ to ❼; what is above the cap of a step is left for the next patrol, and the others go on."""
    run.step("read", lifecycle.count_reads)
    run.steps["aged"] = lifecycle.age(run.database, run.being, run.now, run.token)
    with run.database.read(run.being) as unit:
        faint = lifecycle.faint(unit, run.now)
    with run.database.write(run.being) as unit:
        faded = lifecycle.fade(unit, faint, run.cap, run.now, run.token)
    run.steps |= {"dying": faded.dying, "dead": faded.dead, "spared": faded.spared}
    run.step("repeated", lambda unit: _merge_repeated(run, unit))
    if faded.left:
        run.steps["left"] = faded.left
    run.step_with_model("merged", lambda llm: _consolidate(run, llm))
    run.step("revived", lambda unit: lifecycle.revive(unit, run.now, run.token))
    run.steps["split"] = _split(run)
    run.step("joined", lambda unit: topics.join(unit, run.model, run.now, run.token))


def _merge_repeated(run: _Patrol, unit: Unit) -> int:
    return merge_repeated(unit, model=run.model, cap=run.cap, now=run.now, token=run.token)


def _consolidate(run: _Patrol, llm: Llm) -> int:
    return consolidate(
        run.database,
        run.being,
        llm=llm,
        embedder=run.embedder,
        cap=run.cap,
        now=run.now,
        token=run.token,
    )


def _supersede(run: _Patrol, llm: Llm) -> int:
    return supersede_outdated(
        run.database, run.being, llm=llm, model=run.model, now=run.now, token=run.token
    )


def _split(run: _Patrol) -> int | str:
    if not run.model:
        return NO_VECTORS
    return split(run.database, run.being, model=run.model, now=run.now, token=run.token)


def _describe(run: _Patrol, before: digests.Sizes) -> int:
    try:
        return digests.describe(
            run.database, run.being, before, llm=run.llm, now=run.now, token=run.token
        )
    except ModelError as error:
        _log.warning("patrol: digests are made without the model: %s", error)
        return digests.describe(
            run.database, run.being, before, llm=None, now=run.now, token=run.token
        )


def _diary(run: _Patrol, top: int, llm: Llm) -> int:
    return diary.write_diary(run.database, run.being, top, llm=llm, now=run.now, token=run.token)
