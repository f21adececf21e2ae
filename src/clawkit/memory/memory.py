"""One Being, open for use: the one object behind every door.

Everything here is synchronous, may be called from any thread, and is one transaction or two. What
callers pass is checked here, so that no door can forget it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from clawkit.errors import InvalidArgumentsError, QuotaError, StoreError
from clawkit.memory import (
    exploration,
    intake,
    recollection,
    relationships,
    session_context,
    structured_memory,
    validation,
)
from clawkit.memory import undo as changes
from clawkit.memory.job_worker import EMBED, PATROL
from clawkit.memory.patrol import replacement
from clawkit.memory.patrol.vectors import ahead, catch_up
from clawkit.memory.portrait import portrait
from clawkit.memory.recall.search import search
from clawkit.memory.recollection import Recollection
from clawkit.memory.records import Being, Change, HistoryMessage, LedgerEntry, Node, Scene
from clawkit.memory.secret_filter import SecretFilter
from clawkit.memory.statistics import figures, wants_vectors
from clawkit.memory.store import jobs, ledger, messages, reads
from clawkit.memory.tokens import Caller, check_owner
from clawkit.text.calendar.named_days import resolved_on

if TYPE_CHECKING:
    from clawkit.memory.being_store import BeingStore
    from clawkit.memory.embed.embedder import Embedder
    from clawkit.memory.model import Llm
    from clawkit.memory.patrol.run import PatrolOutcome
    from clawkit.memory.patrol.transcript import ConversationMessage
    from clawkit.memory.patrol.vectors import Embed
    from clawkit.memory.recall.search import Mode, SearchResult

T = TypeVar("T")

_TOLD_IS_FORGOTTEN = 30 * 86_400
_log = logging.getLogger("clawkit.memory")


class Memory:
    """What one Being remembers."""

    def __init__(self, store: BeingStore, being: Being) -> None:
        self.being = being
        self._store = store
        self._database = store.database
        self._limited = store.limited

    @property
    def _embedder(self) -> Embedder | None:
        return self._store.embedder

    def recall(
        self,
        message: str,
        caller: Caller,
        *,
        explain: bool = False,
        as_of: str | float | None = None,
        limit: int = 3,
        apart_from: str = "",
        counts: bool = True,
    ) -> Recollection:
        """What comes to mind at a message, if it is worth telling; it counts as recalled.

        Nothing that was said in the conversation `apart_from` comes.
        """
        validation.sized("user_message", message, validation.LONGEST_ASKED)
        told = recollection.recollect(
            self._database,
            self.being.n,
            message,
            self._embedder,
            caller,
            limit=limit,
            now=self.now,
            as_of=_moment(as_of),
            apart_from=apart_from,
            explain=explain,
            counts=counts,
        )
        self._catch_up_later(told.kind, caller)
        return told

    def search(
        self,
        query: str,
        caller: Caller | None = None,
        *,
        limit: int = 10,
        mode: Mode = "or",
        explain: bool = False,
        as_of: str | float | None = None,
    ) -> SearchResult:
        """The memories that fit a query best, whatever they are worth; it leaves no trace.

        All callers find the same.
        """
        validation.said("query", query, validation.LONGEST_ASKED)
        with self._database.read(self.being.n) as unit:
            found = search(
                unit,
                query,
                embedder=self._embedder,
                limit=limit,
                mode=mode,
                as_of=_moment(as_of),
                asker=caller.person if caller is not None else "",
                now=self.now,
                explain=explain,
            )
        self._catch_up_later(found.kind, caller)
        return found

    def explore(self, caller: Caller, asked: exploration.ExploreRequest) -> str:
        """The clusters, one cluster or one node, as plain text; dead nodes shown are touched."""
        validation.sized("query", asked.query, validation.LONGEST_ASKED)
        asked = msgspec.structs.replace(
            asked,
            cluster=asked.cluster and validation.identifier("cluster_id", asked.cluster),
            node=asked.node and validation.identifier("node_id", asked.node),
        )
        return exploration.explore(self._database, self.being.n, asked, caller, self.now)

    def take_notes(
        self,
        caller: Caller,
        *,
        scenes: Sequence[Scene] = (),
        notes: Sequence[str] = (),
        scene_ids: Sequence[str] = (),
        replace: bool = False,
    ) -> dict[str, Any]:
        """Note scenes and memos; with `replace`, in place of the scenes or memories of these ids.

        Without any scene these are forgotten.
        """
        if scene_ids and not replace:
            raise InvalidArgumentsError("scene_ids", 'are deleted only with the action "update"')
        if not scenes and not notes and not scene_ids:
            raise InvalidArgumentsError("scenes", "at least one of scenes or notes is required")
        validation.counted("scenes", len(scenes))
        checked = [validation.scene(f"scenes[{at}]", scene) for at, scene in enumerate(scenes)]
        validation.counted("notes", len(notes))
        memos = [validation.said(f"notes[{at}]", memo) for at, memo in enumerate(notes)]
        secret_filter = self.secret_filter()
        checked, memos = secret_filter.scenes(checked), secret_filter.texts(memos)
        validation.counted("scene_ids", len(scene_ids))
        ids = [validation.identifier(f"scene_ids[{at}]", i) for at, i in enumerate(scene_ids)]
        given = intake.NotesRequest(checked, memos, ids)
        embed = self._embed_ahead(checked)
        with self._limited.write(self.being.n) as unit:
            answer = intake.take_notes(unit, caller, given, embed, self.now)
        if answer["waiting_scenes"] >= intake.ENOUGH_FOR_PATROL:
            self._want(PATROL, caller.llm_key)
            answer["patrol"] = "started in the background"
        return {**answer, **secret_filter.told()}

    def remember(
        self,
        text: str,
        caller: Caller,
        *,
        when: Sequence[str] = (),
        actors: Sequence[str] = (),
        setting: str = "",
        feeling: str = "",
        themes: Sequence[str] = (),
        importance: float = 0.5,
        speaker: str = "",
        secret_filter: SecretFilter | None = None,
    ) -> Node:
        """Make a memory of one sentence at once: of `when`, else today, and the days it names.

        "Tomorrow" is counted from the day in `when`. The `secret_filter` then says what it has
        taken out.
        """
        now = self.now
        text, days = resolved_on(text, when, self._today)
        scene = Scene(text, tuple(actors), days, setting, feeling, tuple(themes), importance)
        scene = (secret_filter or self.secret_filter()).scene(validation.scene("scene", scene))
        source = intake.source_of(caller, speaker)
        return intake.remember_now(self._limited, self.being.n, self._embedder, scene, source, now)

    def structured(self, caller: Caller, asked: structured_memory.EntryRequest) -> dict[str, Any]:
        """Read or write structured memory; gives what the tool answers."""
        secret_filter = self.secret_filter()
        target, action = asked.target, asked.action
        if action in ("append", "update"):
            asked = secret_filter.fields(asked, "content", "key", "location", "to")
        content, to = asked.content, asked.to
        order = structured_memory.order(asked, caller.token, self.now)
        if action == "get":
            with self._database.read(self.being.n) as unit:
                return structured_memory.carry_out(unit, order)
        check_owner(target, caller)
        with self._limited.write(self.being.n) as unit:
            answer = structured_memory.carry_out(unit, order)
        if target == "party_message" and action == "append" and to and content:
            answer["delivered"] = self._delivered(to, content, caller)
            if not answer["delivered"]:
                answer["why"] = relationships.HOW_TO_REACH
        return {**answer, **secret_filter.told()}

    def relate(
        self,
        caller: Caller,
        name: str,
        kind: str,
        content: str | None,
        action: relationships.RelationAction,
    ) -> dict[str, Any]:
        """Keep or remove a relationship to somebody or something."""
        check_owner(relationships.RELATIONSHIP, caller)
        secret_filter = self.secret_filter()
        if action == "upsert":
            name, kind = secret_filter.text(name), secret_filter.text(kind)
            content = secret_filter.text(content) if content else content
        with self._limited.write(self.being.n) as unit:
            answer = relationships.relate(unit, name, kind, content, action, caller, self.now)
        return {**answer, **secret_filter.told()}

    def history(
        self,
        query: str = "",
        date_from: str | None = None,
        date_to: str | None = None,
        limit: int = 10,
        *,
        conversation: str | None = None,
    ) -> list[HistoryMessage]:
        """Messages of past conversations, the newest first; days are whole ones, UTC."""
        validation.sized("query", query, validation.LONGEST_ASKED)
        since = None if date_from is None else validation.starts("date_from", date_from)
        until = None if date_to is None else validation.ends("date_to", date_to)
        if since is not None and until is not None and since >= until:
            raise InvalidArgumentsError("date_to", "is before date_from")
        with self._database.read(self.being.n) as unit:
            return messages.search(
                unit, query, since=since, until=until, conversation=conversation, limit=limit
            )

    def speakers(self, found: Sequence[HistoryMessage]) -> dict[str, str]:
        """Who sent each of these messages, by its id, where that has a name."""
        with self._database.read(self.being.n) as unit:
            return messages.speakers(unit, found)

    def merge(
        self,
        ids: Sequence[str],
        summary: str,
        feeling: str,
        caller: Caller,
        secret_filter: SecretFilter | None = None,
    ) -> Node:
        """Make one memory of several; the `secret_filter` says what it has taken out."""
        validation.said("summary", summary)
        validation.sized("feeling", feeling)
        secret_filter = secret_filter or self.secret_filter()
        summary, feeling = secret_filter.text(summary), secret_filter.text(feeling)
        validation.counted("node_ids", len(ids))
        wanted = list(dict.fromkeys(validation.identifier("node_ids", i) for i in ids))
        if len(wanted) < 2:
            raise InvalidArgumentsError("node_ids", "must name at least two nodes, with commas")
        with self._database.read(self.being.n) as unit:
            scene = replacement.merged_scene(intake.several(unit, wanted), summary, feeling)
        embed = self._embed_ahead([scene])
        with self._limited.write(self.being.n) as unit:
            return replacement.merge(
                unit,
                intake.several(unit, wanted),
                summary,
                feeling,
                now=self.now,
                token=caller.token,
                embed=embed,
            )

    def retract(self, ids: Sequence[str], caller: Caller, why: str = "") -> list[Node]:
        """Take memories back: nothing recalls them any more."""
        wanted = [validation.identifier("node_ids", i) for i in ids]
        with self._limited.write(self.being.n) as unit:
            old = intake.several(unit, wanted)
            return replacement.retract(unit, old, now=self.now, token=caller.token, why=why)

    def supersede(
        self,
        node_id: str,
        scene: Scene,
        caller: Caller,
        secret_filter: SecretFilter | None = None,
        why: str = "",
    ) -> Node:
        """Say what is so now in place of a memory that no longer holds."""
        scene = (secret_filter or self.secret_filter()).scene(validation.scene("scene", scene))
        embed = self._embed_ahead([scene])
        with self._limited.write(self.being.n) as unit:
            old = intake.one(unit, validation.identifier("node_id", node_id))
            return replacement.supersede(
                unit, old, scene, now=self.now, token=caller.token, why=why, embed=embed
            )

    def restate(
        self,
        node: Node,
        text: str,
        caller: Caller,
        secret_filter: SecretFilter | None = None,
        why: str = "",
    ) -> Node:
        """Say in other words what is so now, from today on, in place of a memory.

        Who was named before and is not any more does not belong to it.
        """
        text, days = resolved_on(text, (), self._today)
        old, new = node.scene.action.casefold(), text.casefold()
        actors = tuple(
            name
            for name in node.scene.actors
            if name.casefold() in new or name.casefold() not in old
        )
        scene = msgspec.structs.replace(node.scene, action=text, actors=actors, when=days)
        return self.supersede(node.id, scene, caller, secret_filter, why)

    @property
    def _today(self) -> date:
        return datetime.fromtimestamp(self.now, UTC).astimezone().date()

    def pin(self, node_id: str, on: bool, caller: Caller) -> Node:
        """Let a memory never fade, or fade again."""
        with self._limited.write(self.being.n) as unit:
            wanted = validation.identifier("node_id", node_id)
            return intake.pin(unit, wanted, on, caller, self.now)

    def patrol(
        self,
        caller: Caller,
        messages: Sequence[ConversationMessage] = (),
        marker: str | None = None,
        *,
        cap: int | None = None,
        dry_run: bool = False,
        secret_filter: SecretFilter | None = None,
    ) -> PatrolOutcome:
        """Make memories of what was noted and said, and put memory in order.

        No more than `cap` memories die, and no more are merged; without, no more than a tenth. The
        `secret_filter` says what it has taken out of the messages.
        """
        from clawkit.memory.patrol.run import patrol

        kept = (secret_filter or self.secret_filter()).messages(messages, caller, self.now)

        def walk() -> PatrolOutcome:
            return patrol(
                self._database,
                self.being.n,
                embedder=self._embedder,
                llm=self._llm(caller),
                now=self.now,
                caller=caller,
                messages=kept,
                marker=marker,
                cap=cap,
                dry_run=dry_run,
                limited=self._limited,
            )

        return walk() if dry_run else self._noted(PATROL, walk, lambda outcome: outcome.verdict)

    def patrol_due(self) -> None:
        """The patrol that was asked for in the background, with the key lent for it."""
        lent = self._store.lent.find(self.being.n)
        self.patrol(Caller(token="patrol", llm_key=lent.key if lent else ""))
        if lent is not None:
            self._store.lent.forget(self.being.n, lent)
        with self._limited.write(self.being.n) as unit:
            reads.forget_told(unit, self.now - _TOLD_IS_FORGOTTEN)

    def embed_due(self) -> None:
        """The vectors that were asked for in the background."""
        self._noted(EMBED, self.embed_missing, lambda _: "ok")

    def embed_missing(self) -> int:
        """Give memories the vectors that they lack; gives how many were made."""
        embedder = self._embedder
        return 0 if embedder is None else catch_up(self._database, self.being.n, embedder)

    def context(
        self,
        capabilities: Sequence[dict[str, Any]] = (),
        senses: Sequence[dict[str, Any]] = (),
        *,
        asker: str = "",
    ) -> dict[str, Any]:
        """What a client needs at the start of a session; `asker` says "I" in it."""
        with self._database.read(self.being.n) as unit:
            parts = portrait(unit, self._embedder, self.now, asker)
            known = session_context.KnownPerson(asker, parts)
            return session_context.context(unit, self.being, self.now, known, capabilities, senses)

    def ledger(self, limit: int = 20, before: int | None = None) -> list[LedgerEntry]:
        """What was done to this memory, the newest first; `before` an entry of that number."""
        with self._database.read(self.being.n) as unit:
            return ledger.latest(unit, limit, before)

    def undo(self, n: int, caller: Caller, dry_run: bool = False) -> list[Change]:
        """Undo one entry of the ledger; gives what changes by it."""
        with self._limited.write(self.being.n) as unit:
            return changes.undo(unit, n, self.now, caller.token, dry_run)

    def figures(self) -> dict[str, Any]:
        """How much there is of everything."""
        return figures(self._database, self.being)

    def secret_filter(self) -> SecretFilter:
        """What takes the secrets out of that which is written."""
        return SecretFilter(self._database, self.being)

    @property
    def now(self) -> float:
        return self._store.clock()

    def _embed_ahead(self, scenes: Sequence[Scene]) -> Embed | None:
        """How new memories get their vectors, made before the transaction that needs them."""
        return ahead(self._database, self.being.n, self._embedder, scenes)

    def _llm(self, caller: Caller) -> Llm | None:
        """The model of the caller, or of the Being; None where neither has brought a key."""
        from clawkit.memory.model_keys import key_for

        key = caller.llm_key or key_for(self._store, self.being)
        if not key:
            return None
        from clawkit.memory.model import llm

        return llm(key)

    def _catch_up_later(self, kind: str, caller: Caller | None) -> None:
        """Ask for vectors where a search had to do without; who may only read asks for nothing."""
        embedder = self._embedder
        if kind != "keyword" or embedder is None or not (caller is None or caller.may_write):
            return
        if wants_vectors(self._database, self.being, embedder.name):
            self._want(EMBED)

    def _delivered(self, to: str, content: str, caller: Caller) -> bool:
        """Bring a message on its way; the sender has it in any case."""
        try:
            return relationships.deliver(self._store, self.being, to, content, caller)
        except (StoreError, QuotaError) as error:
            _log.warning("a message cannot be delivered: %s", error)
            return False

    def _noted(self, job: str, do: Callable[[], T], verdict: Callable[[T], jobs.RunOutcome]) -> T:
        """Do a job, and keep how it ended for whoever runs the server."""
        began = time.monotonic()
        ended: jobs.RunOutcome = "failed"
        try:
            done = do()
            ended = verdict(done)
            return done
        finally:
            seconds = time.monotonic() - began
            try:
                with self._database.registry(write=True) as connection:
                    jobs.note_run(connection, self.being.n, job, ended, self.now, seconds)
            except StoreError as error:
                _log.warning("how a %s ended cannot be noted: %s", job, error)

    def _want(self, job: str, llm_key: str = "") -> None:
        """Ask for work in the background; what was done for the caller stays done without it."""
        try:
            self._store.want(self.being, job, llm_key)
        except StoreError as error:
            _log.warning("%s cannot be asked for now: %s", job, error)


def _moment(given: str | float | None) -> float | None:
    return validation.earlier("as_of", given) if isinstance(given, str) else given
