"""Writes one conversation to the audit log: calls at once, answers in batches."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec
from msgspec import Struct

from clawkit.errors import AuditError
from clawkit.guard.audit.record import AuditRecord, Kind, Side
from clawkit.guard.inspection import Inspected, injections_in
from clawkit.guard.judge import Judge
from clawkit.guard.pending_approvals import Binding
from clawkit.guard.policy.call import EVALUATED, Call
from clawkit.guard.policy.policy import Decision
from clawkit.guard.scan.logged_arguments import kept_arguments, redact_arguments
from clawkit.text.normalization import visible
from clawkit.wire.jsonrpc import as_object

_LONGEST_NAME = 200
_LONGEST_REASON = 500
_MOST_FLAGS = 32
_MOST_BYTES_DEFERRED = 256 * 1024
_canonical = msgspec.json.Encoder(order="sorted").encode
_LISTED = {"resources/templates/list": "resourceTemplates"}
_ADDRESSES = {"resources/list": "uri", "resources/templates/list": "uriTemplate"}


class Flight(Struct, frozen=True):
    """A request on its way, until its answer comes back."""

    call: Call
    record: str
    started: float
    decision: Decision
    first_page: bool = True
    cancelled: float = 0.0
    """When its sender lost interest, by the monotonic clock; 0 if it did not."""
    approved: Binding | None = None
    """What a person approved, if they did."""


class Journal:
    """Writes the records of one conversation; each can be linked with the others."""

    def __init__(self, judge: Judge, host: str) -> None:
        self.client = ""
        self._judge = judge
        self._host = host
        self._session = os.urandom(6).hex()
        self._count = count(1)

    def started(self, what: str) -> None:
        self._write("start", "client", reason=what)

    def ended(self, how: str) -> None:
        self._judge.log_counts()
        self._write("end", "server", reason=how)

    def call(self, side: Side, call: Call, decision: Decision) -> str:
        """A request and what was decided about it."""
        passed = decision.rule is None and decision.action == "allow"
        arguments, cut = kept_arguments(call.arguments, self._named_by_rules)
        return self._write(
            "call",
            side,
            method=call.method,
            tool=_named(call.tool),
            arguments=arguments,
            outside=_outside(call) if call.outside else None,
            digest=sha256(_canonical(call.arguments)).hexdigest() if cut else "",
            decision="pass" if passed and call.method not in EVALUATED else decision.action,
            rule=0 if decision.rule is None else decision.rule.number,
            reason="" if passed else decision.reason,
        )

    def _named_by_rules(self) -> frozenset[str]:
        """The arguments that rules look at: they are the last to be left out."""
        rules = self._judge.policy.current().rules
        return frozenset(each.name[0].casefold() for rule in rules for each in rule.args)

    def answer(
        self,
        side: Side,
        flight: Flight,
        line: bytes,
        flags: tuple[str, ...],
        *,
        latency: float,
        at: float,
        refusal: str = "",
    ) -> AuditRecord:
        """The record of an answer that came `at` this time."""
        kind = "list" if flight.call.method.endswith("/list") else "answer"
        record = self._record(
            kind,
            side,
            time=_utc(at),
            method=flight.call.method,
            tool=_named(flight.call.tool),
            arguments=_listing(flight.call.method, line) if kind == "list" else None,
            decision="deny" if refusal else "pass",
            reason=refusal,
            of=flight.record,
            latency_ms=round(latency * 1000, 3),
            digest=sha256(line).hexdigest(),
            size=len(line),
            flags=_few(flags),
        )
        if flight.call.method == "tools/list":
            self._judge.listed = record.id
        return record

    def write(self, records: list[AuditRecord]) -> None:
        self._judge.log(*records)

    def approval(
        self, flight_record: str, call: Call, answer: str, *, allowed: bool, source: str = ""
    ) -> None:
        """What became of a question to a person, and where it was answered."""
        self._write(
            "approval",
            "client",
            method=call.method,
            tool=_named(call.tool),
            decision="allow" if allowed else "deny",
            reason=answer,
            of=flight_record,
            source=source,
        )

    def notice(self, side: Side, method: str, line: bytes, flags: tuple[str, ...] = ()) -> None:
        self._write("notice", side, method=_named(method), size=len(line), flags=_few(flags))

    def dropped(
        self, side: Side, method: str, reason: str, line: bytes | None, flags: tuple[str, ...] = ()
    ) -> None:
        self._write(
            "drop",
            side,
            method=_named(method),
            decision="drop",
            reason=visible(reason, _LONGEST_REASON),
            size=len(line or b""),
            digest=sha256(line or b"").hexdigest(),
            flags=_few(flags),
        )

    def _write(self, kind: Kind, side: Side, **fields: Any) -> str:
        record = self._record(kind, side, **fields)
        self._judge.log(record)
        return record.id

    def _record(self, kind: Kind, side: Side, **fields: Any) -> AuditRecord:
        return AuditRecord(
            id=f"{self._session}-{next(self._count)}",
            kind=kind,
            side=side,
            server=self._judge.server,
            client=self.client,
            host=self._host,
            session=self._session,
            listed=self._judge.listed,
            **fields,
        )


class Answered(NamedTuple):
    """An answer that the log does not have yet."""

    side: Side
    flight: Flight
    inspected: Inspected
    line: bytes
    latency: float
    at: float
    look: bool
    """Whether to look for phrases that give orders to the model."""


class DeferredAudit:
    """Logs answers a moment after they were forwarded; calls are logged before they happen."""

    def __init__(self, journal: Journal, *, defers: bool) -> None:
        self._journal = journal
        self._defers = defers
        self._answers: deque[Answered] = deque()
        self._bytes = 0
        self._turn = threading.Lock()

    def __bool__(self) -> bool:
        return bool(self._answers)

    @property
    def is_much(self) -> bool:
        """Whether it should not wait for a quiet moment."""
        return self._bytes > _MOST_BYTES_DEFERRED

    def add(
        self, side: Side, flight: Flight, inspected: Inspected, line: bytes, *, look: bool = False
    ) -> None:
        latency = time.monotonic() - flight.started
        self._answers.append(Answered(side, flight, inspected, line, latency, time.time(), look))
        self._bytes += len(line)
        # The calls that follow a list of tools refer to its record.
        if not self._defers or flight.call.method == "tools/list":
            self.write_down()

    def write_down(self) -> None:
        """Log them all; if that cannot be done, they stay. Raises AuditError."""
        with self._turn:
            answers = [self._answers.popleft() for _ in range(len(self._answers))]
            self._bytes = 0
            try:
                if answers:
                    self._journal.write([self._record(answered) for answered in answers])
            except AuditError:
                self._answers.extendleft(reversed(answers))
                raise

    def _record(self, answered: Answered) -> AuditRecord:
        side, flight, inspected, line, latency, at, look = answered
        flags = inspected.flags
        if look and not any(flag.startswith("injection:") for flag in flags):
            flags = (*flags, *injections_in(inspected.message, line))
        found = (side, flight, line, flags)
        return self._journal.answer(*found, latency=latency, at=at, refusal=inspected.refusal)


def _utc(at: float) -> str:
    seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at))
    return f"{seconds}.{int(at % 1 * 1000):03}Z"


def host_id() -> str:
    """The process that started this one: the same for all servers that one client runs."""
    parent = os.getppid()
    try:
        stat = Path(f"/proc/{parent}/stat").read_text()
    except OSError:
        return str(parent)
    return f"{parent}-{stat.rpartition(')')[2].split()[19]}"


def _named(name: str) -> str:
    return (
        name if len(name) <= _LONGEST_NAME and name.isprintable() else visible(name, _LONGEST_NAME)
    )


def _outside(call: Call) -> Any:
    """What stands outside the arguments; of answers in a next round, as of others, a digest."""
    found = list(call.unusual())
    if call.known.next_round and (brought := call.round()):
        found.append({"nextRound": f"sha256:{sha256(_canonical(brought)).hexdigest()}"})
    return redact_arguments(found) if found else None


def _few(flags: tuple[str, ...]) -> tuple[str, ...]:
    """Flags name what a server calls its tools: neither many nor long ones."""
    more = (f"and {len(flags) - _MOST_FLAGS} more",) if len(flags) > _MOST_FLAGS else ()
    return (*map(_named, flags[:_MOST_FLAGS]), *more)


def _listing(method: str, line: bytes) -> Any:
    """What a server declared: names, and first of all the addresses that rules decide on."""
    result = as_object(msgspec.json.decode(line).get("result")) or {}
    items: object = result.get(_LISTED.get(method, method.removesuffix("/list")))
    if not isinstance(items, list):
        return None
    found = [as_object(item) or {} for item in cast("list[object]", items)]
    uris = {"uris": [item.get(uri) for item in found]} if (uri := _ADDRESSES.get(method)) else {}
    return redact_arguments({**uris, "names": [item.get("name") for item in found]})
