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
from clawkit.memory.patrol import aging, describing, diary, dying, joining, reviving
from clawkit.memory.patrol.consolidating import consolidate
from clawkit.memory.patrol.conversation import Message
from clawkit.memory.patrol.dying import CapReached
from clawkit.memory.patrol.remembering import remember_waiting
from clawkit.memory.patrol.scenes import hear
from clawkit.memory.patrol.splitting import split
from clawkit.memory.patrol.trying import Trial
from clawkit.memory.store import nodes
from clawkit.memory.store.database import Database, Unit

if TYPE_CHECKING:
    from clawkit.memory.embed.protocol import Embedder
    from clawkit.memory.model import Llm

NO_MODEL = "skipped: no model"
RUNNING = "another patrol is running: what was noted is remembered, the rest is left to that one"
_log = logging.getLogger("clawkit.memory")


class Outcome(msgspec.Struct, frozen=True):
    """What a patrol did. `steps` has each step's count, or why there is none."""

    status: str
    scenes_created: int
    nodes_created: int
    marker_id: str
    steps: dict[str, int | str]
    stopped: str = ""


class _Patrol:
    """What every step needs."""

    def __init__(
        self,
        database: Database,
        being: int,
        embedder: Embedder | None,
        llm: Llm | None,
        now: float,
        token: str,
        cap: int | None,
    ) -> None:
        self.database = database
        self.being = being
        self.embedder = embedder
        self.model = embedder.name if embedder else ""
        self.llm = llm
        self.now = now
        self.token = token
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
            self.steps[name] = f"failed: {error}"


def patrol(
    database: Database,
    being: int,
    *,
    embedder: Embedder | None,
    llm: Llm | None,
    now: float,
    token: str,
    messages: Sequence[Message] = (),
    conversation: str = "",
    marker: str | None = None,
    cap: int | None = None,
    dry_run: bool = False,
) -> Outcome:
    """Go through all steps. A dry run does them too, asks no model, and leaves nothing behind."""
    if dry_run:
        with Trial(database, being) as trial:
            # No vectors either: nobody must wait for a model while the transaction is open.
            run = _Patrol(trial, being, None, None, now, token, cap)
            return _all(run, messages, conversation, marker)
    return _all(
        _Patrol(database, being, embedder, llm, now, token, cap), messages, conversation, marker
    )


def _all(
    run: _Patrol, messages: Sequence[Message], conversation: str, marker: str | None
) -> Outcome:
    with run.database.read(run.being) as unit:
        top, before = nodes.top(unit), describing.sizes(unit)
    heard = hear(
        run.database,
        run.being,
        messages,
        llm=run.llm,
        now=run.now,
        token=run.token,
        conversation=conversation,
        marker=marker,
    )
    run.steps["heard"] = heard.by
    made = remember_waiting(run.database, run.being, run.embedder, run.now, run.token)
    run.steps["remembered"] = made
    with run.database.patrolling(run.being) as alone:
        stopped = _order(run, top, before) if alone else RUNNING
    status = "stopped" if stopped else "ok"
    return Outcome(status, heard.scenes, made, heard.marker, run.steps, stopped)


def _order(run: _Patrol, top: int, before: describing.Sizes) -> str:
    """What one patrol at a time does; gives why it stopped, if it did."""
    stopped = ""
    try:
        _keep_in_order(run)
    except CapReached as reason:
        stopped = str(reason)
    run.steps["described"] = _describe(run, before)
    run.step_with_model("diary", lambda llm: _diary(run, top, llm))
    return stopped


def _keep_in_order(run: _Patrol) -> None:
    """❷ to ❼; the step that would take too much ends it."""
    run.step("read", aging.count_reads)
    run.steps["aged"] = aging.age(run.database, run.being, run.now, run.token)
    with run.database.read(run.being) as unit:
        faint = dying.faint(unit)
    with run.database.write(run.being) as unit:
        faded = dying.fade(unit, faint, run.cap, run.now, run.token)
    run.steps |= {"dying": faded.dying, "dead": faded.dead, "spared": faded.spared}
    run.step_with_model("merged", lambda llm: _consolidate(run, faded.dead, llm))
    run.step("revived", lambda unit: reviving.revive(unit, run.now, run.token))
    run.step_with_model("split", lambda llm: _split(run, llm))
    run.step("joined", lambda unit: joining.join(unit, run.model, run.now, run.token))


def _consolidate(run: _Patrol, dead: int, llm: Llm) -> int:
    return consolidate(
        run.database,
        run.being,
        llm=llm,
        embedder=run.embedder,
        cap=run.cap,
        gone=dead,
        now=run.now,
        token=run.token,
    )


def _split(run: _Patrol, llm: Llm) -> int:
    return split(run.database, run.being, llm=llm, model=run.model, now=run.now, token=run.token)


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
