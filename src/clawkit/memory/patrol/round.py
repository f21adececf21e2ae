"""One patrol: its steps in their order, each a transaction of its own.

Every step begins with what is there and leaves something whole, so a patrol that is killed costs
nothing: the next one goes on. Beside another, a patrol only makes memories of what waits. A model
is asked between transactions, never within one, and what it says is checked against what is there
by then.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from clawkit.errors import ModelError
from clawkit.memory.caller import Caller
from clawkit.memory.patrol import aging, describing, diary, dying, joining, reviving
from clawkit.memory.patrol.consolidating import consolidate
from clawkit.memory.patrol.conversation import Message
from clawkit.memory.patrol.remembering import remember_waiting
from clawkit.memory.patrol.repeating import merge_repeated
from clawkit.memory.patrol.scenes import hear
from clawkit.memory.patrol.splitting import split
from clawkit.memory.patrol.supersession import supersede_outdated
from clawkit.memory.patrol.trying import Trial
from clawkit.memory.store import nodes, runs
from clawkit.memory.store.database import Database, Unit

if TYPE_CHECKING:
    from clawkit.memory.embed.protocol import Embedder
    from clawkit.memory.model import Llm

NO_MODEL = "skipped: no model"
NO_VECTORS = "skipped: no vectors"
RUNNING = "another patrol is running: what was noted is remembered, the rest is left to that one"
_FAILED = "failed: "
_log = logging.getLogger("clawkit.memory")


class Outcome(msgspec.Struct, frozen=True):
    """What a patrol did. `steps` has each step's count, or why there is none."""

    status: str
    scenes_created: int
    nodes_created: int
    marker_id: str
    steps: dict[str, int | str]
    stopped: str = ""

    @property
    def verdict(self) -> runs.Outcome:
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
    messages: Sequence[Message] = (),
    marker: str | None = None,
    cap: int | None = None,
    dry_run: bool = False,
) -> Outcome:
    """Go through all steps. A dry run does them too, asks no model, and leaves nothing behind."""
    model = embedder.name if embedder else ""
    if dry_run:
        with Trial(database, being) as trial:
            # No new vectors either: nobody must wait for a model while the transaction is open.
            run = _Patrol(trial, being, None, None, now, caller, cap, model)
            return _all(run, messages, marker)
    run = _Patrol(database, being, embedder, llm, now, caller, cap, model)
    return _all(run, messages, marker)


def _all(run: _Patrol, messages: Sequence[Message], marker: str | None) -> Outcome:
    with run.database.read(run.being) as unit:
        top, before = nodes.top(unit), describing.sizes(unit)
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
    return Outcome(status, heard.scenes, made, heard.marker, run.steps, stopped)


def _keep_in_order(run: _Patrol) -> None:
    """❷ to ❼; what is above the cap of a step is left for the next patrol, and the others go on."""
    run.step("read", aging.count_reads)
    run.steps["aged"] = aging.age(run.database, run.being, run.now, run.token)
    with run.database.read(run.being) as unit:
        faint = dying.faint(unit, run.now)
    with run.database.write(run.being) as unit:
        faded = dying.fade(unit, faint, run.cap, run.now, run.token)
    run.steps |= {"dying": faded.dying, "dead": faded.dead, "spared": faded.spared}
    run.step("repeated", lambda unit: _merge_repeated(run, unit))
    if faded.left:
        run.steps["left"] = faded.left
    run.step_with_model("merged", lambda llm: _consolidate(run, llm))
    run.step("revived", lambda unit: reviving.revive(unit, run.now, run.token))
    run.steps["split"] = _split(run)
    run.step("joined", lambda unit: joining.join(unit, run.model, run.now, run.token))


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


def _describe(run: _Patrol, before: describing.Sizes) -> int:
    try:
        return describing.describe(
            run.database, run.being, before, llm=run.llm, now=run.now, token=run.token
        )
    except ModelError as error:
        _log.warning("patrol: digests are made without the model: %s", error)
        return describing.describe(
            run.database, run.being, before, llm=None, now=run.now, token=run.token
        )


def _diary(run: _Patrol, top: int, llm: Llm) -> int:
    return diary.write_diary(run.database, run.being, top, llm=llm, now=run.now, token=run.token)
