"""What `claw being` prints, and the words that all commands use for parts of a memory."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from clawkit.cli.tables import ago, fact_lines, minute, short_id
from clawkit.memory.being_store import BeingStore
from clawkit.memory.http.served_address import address_for
from clawkit.memory.records import STATES, Being, Token
from clawkit.memory.tokens import of_being
from clawkit.text.counts import counted
from clawkit.text.normalization import visible

if TYPE_CHECKING:
    from clawkit.login.records import Grant

JOBS = {"patrol": "tidying up", "embed": "making vectors"}
TABLES = {"nodes": "the memories", "clusters": "the topics", "ledger": "the history"}
STEPS = {
    "superseded": "ending what is no longer so",
    "merged": "merging",
    "split": "finding topics",
    "diary": "the diary",
}


def waiting(number: int) -> str:
    """How many scenes no patrol has seen yet."""
    return f"{counted(number, 'new note waits', 'new notes wait')} to be put in order"


def tidied(last: float | None) -> str:
    """When memory was last put in order."""
    return "not tidied up yet" if last is None else f"tidied up {ago(time.time() - last)}"


def by_state(counts: Mapping[str, int]) -> str:
    """How many memories there are, and how many of them fade or are asleep."""
    total = counted(sum(counts.get(state, 0) for state in STATES), "memory")
    some = [
        f"{counts[state]:,} {STATES[state]}" for state in ("dying", "dead") if counts.get(state)
    ]
    return f"{total} ({', '.join(some)})" if some else total


_PARTS = {
    "memories": ("memory",),
    "nodes": ("memory",),
    "messages": ("message",),
    "notes": ("note",),
    "entries": ("entry",),
    "relations": ("relationship",),
    "clusters": ("topic",),
    "changes": ("change of its history", "changes of its history"),
}


def day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")


def token_row(token: Token, now: float) -> tuple[str, ...]:
    """A line of the list."""
    id_, kind, state = short_id(token.id), f"{token.kind}_", _token_state(token, now)
    used = ago(now - token.used) if token.used is not None else "never"
    return id_, kind, rights(token), state, used, token.person or "-", token.label


def login_token_row(grant: Grant, person: str, now: float) -> tuple[str, ...]:
    """The same of somebody's login."""
    state = "good" if grant.ended is None else f"ended {day(grant.ended)}"
    scope, client = grant.scope.replace(" ", ", "), visible(grant.client_name or grant.client)
    return short_id(grant.id), "login", scope, state, ago(now - grant.used), person, client


def rights(token: Token) -> str:
    """What its holder may do: its scope, and whether it may write what clients obey."""
    return f"{token.scope}, owner" if token.owner and token.scope == "full" else token.scope


def _token_state(token: Token, now: float) -> str:
    if token.revoked is not None:
        return f"revoked {day(token.revoked)}"
    if token.expires is None:
        return "good"
    return f"{'until' if token.expires > now else 'expired'} {day(token.expires)}"


def token_lines(being: Being, token: Token) -> Iterator[str]:
    """What to know about a token that was just made."""
    until = f" until {day(token.expires)}" if token.expires is not None else ""
    whose = f", {visible(token.person)} speaks through it" if token.person else ""
    yield f"A {token.scope} token for {visible(being.name)}{until}{whose}."
    if token.owner:
        yield "It may also write soul, rules, preferences and relationships, which clients obey."
    elif token.scope == "full":
        yield "It writes memories, not what clients obey: with --owner, soul, rules and so on too."
    yield "It is not shown again: keep it now."
    path = "/mcp" if token.kind == "bto" else address_for("/mcp", being)
    yield f"Its URL is {path} at the address that `claw being serve` prints."
    yield f"`claw being token revoke {token.id}` ends it."


def being_lines(told: dict[str, Any], now: float) -> Iterator[str]:
    yield visible(told["name"])
    good = [token for token in told["tokens"] if _token_state(token, now).startswith(("go", "un"))]
    vectors = (f"{number:,} by {model}" for model, number in told["vectors"].items())
    facts = {
        "id": told["id"],
        "store": told["store"],
        "made": minute(told["created"]),
        "remembers": by_state(told) if told["nodes"] else "nothing yet",
        "replaced": f"{told['ended']:,}" if told["ended"] else "",
        "topics": f"{told['clusters']:,}",
        "waiting": waiting(told["waiting_scenes"]) if told["waiting_scenes"] else "",
        "notes": f"{told['notes']:,}" if told["notes"] else "",
        "vectors": ", ".join(vectors) or "none",
        "model key": "stored" if told["model_key"] else "none",
        "secrets": "are kept" if told["keeps_secrets"] else "",
        "quota": _quota(told["quota"]),
        "tokens": f"{len(good)} that count, of {len(told['tokens'])}",
        "soul": told["soul"],
    }
    yield from fact_lines(facts)
    for job in told["jobs"]:
        problem = f": failed {job['tries']} times: {job['problem']}" if job["problem"] else ""
        yield f"  {'job':<10} {JOBS.get(job['kind'], job['kind'])} waits{visible(problem)}"


def _quota(limits: dict[str, int | None]) -> str:
    """How much a Being may hold; empty where nothing is limited."""
    names = {"calls": "calls a day"}
    set_ = ((names.get(name, name), limit) for name, limit in limits.items())
    return ", ".join(f"{limit:,} {name}" for name, limit in set_ if limit is not None)


def losses(store: BeingStore, being: Being) -> Iterator[str]:
    """What goes with a Being."""
    figures = store.open(being).figures()
    with store.database.registry() as connection:
        tokens = len(of_being(connection, being.n))
    yield f"{visible(being.name)} ({being.id})"
    yield f"  {counted(figures['nodes'], 'memory')} and {counted(tokens, 'token')} would be lost."
    yield f"  `claw being export {being.id} FILE` writes it down first."


def totals(found: Struct) -> str:
    """How much there is of everything that there is."""
    parts = ((getattr(found, name, 0), one) for name, one in _PARTS.items())
    return ", ".join(counted(number, *one) for number, one in parts if number) or "nothing new"
