"""One Being, open for use: the one object behind every door.

Everything here is synchronous, may be called from any thread, and is one transaction or two. What
callers pass is checked here, so that no door can forget it.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from clawkit.errors import InvalidArgumentsError, StoreError
from clawkit.memory import checking, context, exploring, noting, recalling, relations, structured
from clawkit.memory import ledger as changes
from clawkit.memory.caller import Caller
from clawkit.memory.patrol import merging
from clawkit.memory.patrol.embedding import ahead, catch_up
from clawkit.memory.recalling import Looking, Recollection
from clawkit.memory.records import Being, Change, LedgerEntry, Node, Said, Scene
from clawkit.memory.standing import figures, wants_vectors
from clawkit.memory.store import messages, touches
from clawkit.memory.worker import EMBED, PATROL

if TYPE_CHECKING:
    from clawkit.memory.embed.protocol import Embedder
    from clawkit.memory.keeper import Keeper
    from clawkit.memory.model import Llm
    from clawkit.memory.patrol.conversation import Message
    from clawkit.memory.patrol.embedding import Embed
    from clawkit.memory.patrol.round import Outcome
    from clawkit.memory.recall.candidates import Mode
    from clawkit.memory.recall.engine import Found

_TOLD_IS_FORGOTTEN = 30 * 86_400
_log = logging.getLogger("clawkit.memory")


class Memory:
    """What one Being remembers."""

    def __init__(self, keeper: Keeper, being: Being) -> None:
        self.being = being
        self._keeper = keeper
        self._database = keeper.database

    @property
    def _embedder(self) -> Embedder | None:
        return self._keeper.embedder

    def recall(
        self,
        message: str,
        caller: Caller,
        *,
        explain: bool = False,
        as_of: str | float | None = None,
        limit: int = 3,
        apart_from: str = "",
    ) -> Recollection:
        """What comes to mind at a message, if it is worth telling; it counts as recalled.

        Nothing that was said in the conversation `apart_from` comes.
        """
        checking.sized("user_message", message, checking.LONGEST_ASKED)
        how = Looking(limit, self.now, as_of=_moment(as_of), apart_from=apart_from)
        told = recalling.recollect(
            self._database, self.being.n, message, self._embedder, caller, how
        )
        self._catch_up_later(told.kind, caller)
        return told if explain else msgspec.structs.replace(told, hits=_unexplained(told.hits))

    def search(
        self,
        query: str,
        caller: Caller | None = None,
        *,
        limit: int = 10,
        mode: Mode = "or",
        explain: bool = False,
        as_of: str | float | None = None,
    ) -> Found:
        """The memories that fit a query best, whatever they are worth; it leaves no trace.

        All callers find the same.
        """
        checking.said("query", query, checking.LONGEST_ASKED)
        how = Looking(limit, self.now, mode, _moment(as_of))
        with self._database.read(self.being.n) as unit:
            found = recalling.found(unit, query, self._embedder, how)
        self._catch_up_later(found.kind, caller)
        return found if explain else msgspec.structs.replace(found, hits=_unexplained(found.hits))

    def explore(
        self,
        caller: Caller,
        *,
        cluster_id: str | None = None,
        node_id: str | None = None,
        limit: int = 5,
        query: str = "",
        no_nodes: bool = False,
    ) -> str:
        """The clusters, one cluster or one node, as plain text; dead nodes shown are touched."""
        asked = exploring.Question(
            None if cluster_id is None else checking.identifier("cluster_id", cluster_id),
            None if node_id is None else checking.identifier("node_id", node_id),
            limit,
            checking.sized("query", query, checking.LONGEST_ASKED),
            no_nodes,
        )
        return exploring.explore(self._database, self.being.n, asked, caller, self.now)

    def take_notes(
        self,
        caller: Caller,
        *,
        scenes: Sequence[Scene] = (),
        notes: Sequence[str] = (),
        scene_ids: Sequence[str] = (),
        replace: bool = False,
    ) -> dict[str, Any]:
        """Note scenes and memos; with `replace`, in place of the scenes of these ids."""
        if not scenes and not notes:
            raise InvalidArgumentsError("scenes", "at least one of scenes or notes is required")
        if scene_ids and not replace:
            raise InvalidArgumentsError("scene_ids", 'are deleted only with the action "update"')
        checking.counted("scenes", len(scenes))
        checked = [checking.scene(f"scenes[{at}]", scene) for at, scene in enumerate(scenes)]
        checking.counted("notes", len(notes))
        memos = [checking.said(f"notes[{at}]", memo) for at, memo in enumerate(notes)]
        checking.counted("scene_ids", len(scene_ids))
        ids = [checking.identifier(f"scene_ids[{at}]", i) for at, i in enumerate(scene_ids)]
        with self._database.write(self.being.n) as unit:
            answer = noting.take_notes(unit, caller, checked, memos, ids, self.now)
        if answer["waiting_scenes"] >= noting.ENOUGH_FOR_PATROL:
            self._want(PATROL)
            answer["patrol"] = "started in the background"
        return answer

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
    ) -> Node:
        """Make a memory of one sentence at once; without a date, it is about today."""
        now = self.now
        days = tuple(when) or (datetime.fromtimestamp(now, UTC).astimezone().date().isoformat(),)
        scene = Scene(text, tuple(actors), days, setting, feeling, tuple(themes), importance)
        source = noting.source_of(caller, speaker)
        return noting.remember_now(
            self._database,
            self.being.n,
            self._embedder,
            checking.scene("scene", scene),
            source,
            now,
        )

    def structured(
        self,
        caller: Caller,
        target: structured.Target,
        action: structured.Action,
        *,
        content: str | None = None,
        key: str | None = None,
        location: str | None = None,
        to: str | None = None,
    ) -> dict[str, Any]:
        """Read or write structured memory; gives what the tool answers."""
        order = structured.order(
            target,
            action,
            content=content,
            key=key,
            location=location,
            to=to,
            token=caller.token,
            now=self.now,
        )
        if action == "get":
            with self._database.read(self.being.n) as unit:
                return structured.carry_out(unit, order)
        with self._database.write(self.being.n) as unit:
            answer = structured.carry_out(unit, order)
        if target == "party_message" and action == "append" and to and content:
            answer["delivered"] = self._delivered(to, content, caller)
        return answer

    def relate(
        self, caller: Caller, name: str, kind: str, content: str | None, action: relations.Action
    ) -> dict[str, Any]:
        """Keep or remove a relationship to somebody or something."""
        with self._database.write(self.being.n) as unit:
            return relations.relate(unit, name, kind, content, action, caller, self.now)

    def history(
        self,
        query: str = "",
        date_from: str | None = None,
        date_to: str | None = None,
        limit: int = 10,
        *,
        conversation: str | None = None,
    ) -> list[Said]:
        """Messages of past conversations, the newest first; days are whole ones, UTC."""
        checking.sized("query", query, checking.LONGEST_ASKED)
        since = None if date_from is None else checking.starts("date_from", date_from)
        until = None if date_to is None else checking.ends("date_to", date_to)
        if since is not None and until is not None and since >= until:
            raise InvalidArgumentsError("date_to", "is before date_from")
        with self._database.read(self.being.n) as unit:
            return messages.search(
                unit, query, since=since, until=until, conversation=conversation, limit=limit
            )

    def merge(self, ids: Sequence[str], summary: str, feeling: str, caller: Caller) -> Node:
        """Make one memory of several."""
        checking.said("summary", summary)
        checking.sized("feeling", feeling)
        checking.counted("node_ids", len(ids))
        wanted = list(dict.fromkeys(checking.identifier("node_ids", i) for i in ids))
        if len(wanted) < 2:
            raise InvalidArgumentsError("node_ids", "must name at least two nodes, with commas")
        with self._database.read(self.being.n) as unit:
            scene = merging.merged_scene(noting.several(unit, wanted), summary, feeling)
        embed, model = self._embed_ahead(scene)
        with self._database.write(self.being.n) as unit:
            return merging.merge(
                unit,
                noting.several(unit, wanted),
                summary,
                feeling,
                now=self.now,
                token=caller.token,
                embed=embed,
                model=model,
            )

    def retract(self, ids: Sequence[str], caller: Caller, why: str = "") -> list[Node]:
        """Take memories back: nothing recalls them any more."""
        wanted = [checking.identifier("node_ids", i) for i in ids]
        with self._database.write(self.being.n) as unit:
            return noting.retract(unit, wanted, caller, why, self.now)

    def supersede(self, node_id: str, scene: Scene, caller: Caller) -> Node:
        """Say what is so now in place of a memory that no longer holds."""
        checking.scene("scene", scene)
        embed, model = self._embed_ahead(scene)
        with self._database.write(self.being.n) as unit:
            old = noting.one(unit, checking.identifier("node_id", node_id))
            return merging.supersede(
                unit, old, scene, now=self.now, token=caller.token, embed=embed, model=model
            )

    def pin(self, node_id: str, on: bool, caller: Caller) -> Node:
        """Let a memory never fade, or fade again."""
        with self._database.write(self.being.n) as unit:
            wanted = checking.identifier("node_id", node_id)
            return noting.pin(unit, wanted, on, caller, self.now)

    def patrol(
        self,
        caller: Caller,
        messages: Sequence[Message] = (),
        marker: str | None = None,
        *,
        cap: int | None = None,
        dry_run: bool = False,
    ) -> Outcome:
        """Make memories of what was noted and said, and put memory in order.

        No more than `cap` memories die or are merged; without, no more than a tenth.
        """
        from clawkit.memory.patrol.round import patrol

        return patrol(
            self._database,
            self.being.n,
            embedder=self._embedder,
            llm=self._llm(caller),
            now=self.now,
            token=caller.token,
            messages=messages,
            conversation=caller.conversation,
            marker=marker,
            cap=cap,
            dry_run=dry_run,
        )

    def patrol_due(self) -> None:
        """The patrol that was asked for in the background."""
        self.patrol(Caller(token="patrol"))
        with self._database.write(self.being.n) as unit:
            touches.forget_told(unit, self.now - _TOLD_IS_FORGOTTEN)

    def embed_missing(self) -> int:
        """Give memories the vectors that they lack; gives how many were made."""
        embedder = self._embedder
        return 0 if embedder is None else catch_up(self._database, self.being.n, embedder)

    def context(
        self, capabilities: Sequence[dict[str, Any]] = (), senses: Sequence[dict[str, Any]] = ()
    ) -> dict[str, Any]:
        """What a client needs at the start of a session."""
        with self._database.read(self.being.n) as unit:
            return context.context(unit, self.being, self.now, capabilities, senses)

    def ledger(self, limit: int = 20) -> list[LedgerEntry]:
        """What was done to this memory, the newest first."""
        with self._database.read(self.being.n) as unit:
            return changes.show(unit, limit)

    def undo(self, n: int, caller: Caller, dry_run: bool = False) -> list[Change]:
        """Undo one entry of the ledger; gives what changes by it."""
        with self._database.write(self.being.n) as unit:
            return changes.undo(unit, n, self.now, caller.token, dry_run)

    def figures(self) -> dict[str, Any]:
        """How much there is of everything."""
        return figures(self._database, self.being)

    @property
    def now(self) -> float:
        return self._keeper.clock()

    def _embed_ahead(self, scene: Scene) -> tuple[Embed | None, str]:
        """How a new memory gets its vector, made before the transaction that needs it."""
        embedder = self._embedder
        embed = ahead(self._database, self.being.n, embedder, [scene])
        return embed, embedder.name if embedder is not None else ""

    def _llm(self, caller: Caller) -> Llm | None:
        """The model of the caller, or of the Being; None where neither has brought a key."""
        from clawkit.memory.keys import key_for

        key = caller.llm_key or key_for(self._keeper, self.being)
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
            return relations.deliver(self._keeper, self.being, to, content, caller)
        except StoreError as error:
            _log.warning("a message cannot be delivered: %s", error)
            return False

    def _want(self, job: str) -> None:
        """Ask for work in the background; what was done for the caller stays done without it."""
        try:
            self._keeper.want(self.being, job)
        except StoreError as error:
            _log.warning("%s cannot be asked for now: %s", job, error)


def _moment(given: str | float | None) -> float | None:
    return checking.earlier("as_of", given) if isinstance(given, str) else given


def _unexplained(hits: Sequence[recalling.Hit]) -> tuple[recalling.Hit, ...]:
    return tuple(msgspec.structs.replace(hit, signals={}) for hit in hits)
