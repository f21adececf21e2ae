"""The page Connect: what each client on this machine has of ours, and what others paste."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Literal

from msgspec import Struct

from clawkit.console import api
from clawkit.console.api import ApiError, ConsolePage, NoParameters
from clawkit.console.pages.memory import OpenedMemories
from clawkit.guard.profiles.prospect import (
    BASE,
    Denials,
    Prospect,
    ReadyPolicy,
    denials,
    guard_servers,
    ready_policy,
)
from clawkit.hosts import installation
from clawkit.hosts.clients import CLIENTS, client_called
from clawkit.hosts.discovery import SearchScope, ServerStatus, status
from clawkit.hosts.installation import (
    InstallOrder,
    InstallOutcome,
    Presence,
    assistant_order,
    memory_order,
    survey,
)
from clawkit.hosts.paste import pastes_for_command
from clawkit.hosts.removal import remove_everything
from clawkit.hosts.wrap import EntryChange, unwrap
from clawkit.login import grants, people
from clawkit.memory import tokens
from clawkit.memory.being_store import DEFAULT_BEING
from clawkit.memory.http.served_address import served_url
from clawkit.memory.records import Being, Scope, Token
from clawkit.memory.sharing import (
    ShareRequest,
    address_given,
    app_called,
    entry_name,
    share_being,
)
from clawkit.store.database import Connection

Thing = Literal["assistant", "memory"]


class ClientChange(Struct, frozen=True):
    """What is to be done to a client: `what` is one of ours, or the name of a server to guard."""

    client: str
    change: Literal["install", "remove", "guard", "unguard"]
    what: str = ""


class ShareBody(Struct, frozen=True):
    """Who is to reach which Being, with which client."""

    being: str
    client: str = ""
    person: str = ""
    scope: Scope = "full"
    expires: str = ""
    url: str = ""


class EndLoginBody(Struct, frozen=True):
    """A login to end."""

    login: str


class PasteParameters(Struct, frozen=True):
    """What is to be pasted."""

    what: Thing = "assistant"


def page(until_end: ExitStack) -> ConsolePage:
    memories = OpenedMemories(until_end)
    return ConsolePage(
        (
            api.get("/api/connect/clients", NoParameters, partial(_clients, memories)),
            api.get("/api/connect/pastes", PasteParameters, partial(_pastes, memories)),
            api.get("/api/connect/tokens", NoParameters, partial(_tokens, memories)),
            api.post("/api/connect/change", ClientChange, partial(_change, memories)),
            api.post("/api/connect/remove-all", NoParameters, _remove_all),
            api.post("/api/connect/share", ShareBody, partial(_share, memories)),
            api.post("/api/connect/end-login", EndLoginBody, partial(_end_login, memories)),
        )
    )


class ServerLine(Struct, frozen=True):
    """The servers of one name in a client's files: a button does the same to all of them."""

    server: str
    places: tuple[ServerStatus, ...]


class ClientState(Struct, frozen=True):
    """A client on this machine: whether it has the assistant and the memory, and its servers."""

    id: str
    title: str
    file: str
    assistant: Presence
    memory: Presence
    servers: tuple[ServerLine, ...]
    shows_forms: bool


def _clients(memories: OpenedMemories, _: NoParameters) -> object:
    ours = {one: {p.client: p for p in survey(_order(memories, one))} for one in _THINGS}
    servers = status(SearchScope())
    names = {one: _order(memories, one).name for one in _THINGS}
    states = [
        ClientState(
            client.id,
            client.title,
            ours["assistant"][client.id].file,
            ours["assistant"][client.id],
            ours["memory"][client.id],
            _server_lines(
                (one for one in servers.servers if one.client == client.id),
                {names[one] for one in _THINGS if ours[one][client.id].state == "installed"},
            ),
            client.forms,
        )
        for client in CLIENTS
    ]
    there = [one for one in states if one.assistant.state != "no such client"]
    told = {one.assistant.note for one in there}
    return {
        "clients": there,
        "missing": [one.title for one in states if one.assistant.state == "no such client"],
        "problems": [one for one in servers.problems if one not in told],
        "home": str(Path.home()),
    }


def _server_lines(servers: Iterable[ServerStatus], ours: set[str]) -> tuple[ServerLine, ...]:
    """Those of one name together, without what the client has of ours."""
    found: dict[str, list[ServerStatus]] = {}
    for one in servers:
        if one.server not in ours or one.state != "not wrapped":
            found.setdefault(one.server, []).append(one)
    return tuple(ServerLine(name, tuple(places)) for name, places in found.items())


_THINGS: tuple[Thing, ...] = ("assistant", "memory")


def _order(memories: OpenedMemories, what: Thing) -> InstallOrder:
    if what == "assistant":
        return assistant_order()
    own = memories.place.config.memory.being or DEFAULT_BEING
    return memory_order(own, entry_name(own))


def _change(memories: OpenedMemories, given: ClientChange) -> object:
    client = client_called(given.client)
    if given.change in ("guard", "unguard"):
        return _guarded(given, client.id)
    if given.what not in _THINGS:
        raise ApiError(f"{given.what[:60]!r} is nothing to {given.change}: assistant or memory is")
    order = _order(memories, given.what)
    if given.change == "remove":
        return _installed(installation.remove(client, order))
    if given.what == "memory":
        # One that is not there would only be missed when the client starts its server.
        memories.store().called(order.argv[-1])
    return _installed(installation.install(client, order))


def _installed(outcome: InstallOutcome) -> InstallOutcome:
    if outcome.action == "failed":
        raise ApiError(outcome.note)
    return outcome


class GuardOutcome(Struct, frozen=True):
    """What was done, what guarded servers do from now on, and by which policy."""

    changes: tuple[EntryChange, ...]
    guarded: tuple[Prospect, ...] = ()
    policy: ReadyPolicy | None = None
    base: str = BASE
    denials: Denials | None = None


def _guarded(given: ClientChange, client: str) -> GuardOutcome:
    if given.change == "guard":
        report, guarded = guard_servers(given.what or None, SearchScope(client))
    else:
        report, guarded = unwrap(given.what or None, SearchScope(client)), ()
    if report.failed:
        notes = [one.note for one in report.changes if one.action == "failed"]
        raise ApiError("; ".join((*report.problems, *notes)))
    if given.change == "unguard":
        return GuardOutcome(report.changes)
    return GuardOutcome(report.changes, guarded, ready_policy(), denials=denials())


def _remove_all(_: NoParameters) -> object:
    return remove_everything(SearchScope(), dry_run=False)


def _pastes(memories: OpenedMemories, given: PasteParameters) -> object:
    return pastes_for_command(_order(memories, given.what))


class TokenLine(Struct, frozen=True):
    """A token in the list of all that count, with the Being that it opens."""

    being: str
    being_id: str
    token: Token


class LoginLine(Struct, frozen=True):
    """A login in the list of all that count: who let which program use what."""

    id: str
    person: str
    client: str
    opens: str
    scope: str
    used: float


def _tokens(memories: OpenedMemories, _: NoParameters) -> object:
    """All tokens and logins that count, the last used first."""
    if not memories.is_begun():
        return {"served": "", "beings": [], "clients": [], "tokens": [], "logins": [], "total": 0}
    store = memories.store()
    beings = store.every()[: api.MOST_ROWS]
    with store.database.registry() as connection:
        found = [(being, one) for being in beings for one in tokens.of_being(connection, being.n)]
        logins = list(_logins(connection, {being.n: being.name for being in beings}))
    good = [
        TokenLine(being.name, being.id, one)
        for being, one in found
        if tokens.is_good(one, store.clock())
    ]
    good.sort(key=lambda line: line.token.used or 0, reverse=True)
    return {
        "served": served_url(store.database.address),
        "beings": [_named(being) for being in beings],
        "clients": [{"id": one.id, "title": one.title} for one in CLIENTS],
        "tokens": good[: api.MOST_ROWS],
        "total": len(good),
        "logins": sorted(logins, key=lambda line: -line.used)[: api.MOST_ROWS],
    }


def _logins(connection: Connection, names: dict[int, str]) -> Iterator[LoginLine]:
    for person in people.everybody(connection):
        for grant in grants.of_person(connection, person):
            if grant.ended is None:
                opens = grant.resource if grant.being is None else names.get(grant.being, "")
                client = grant.client_name or grant.client
                yield LoginLine(grant.id, person.name, client, opens, grant.scope, grant.used)


def _end_login(memories: OpenedMemories, given: EndLoginBody) -> object:
    store = memories.store()
    with store.database.registry(write=True) as connection:
        ended = grants.end(connection, given.login, "ended in the console", store.clock())
    if not ended:
        raise ApiError(f"No login {given.login[:60]!r} counts any more: load the page again", 404)
    return {"ended": given.login}


def _named(being: Being) -> dict[str, str]:
    return {"id": being.id, "name": being.name}


def _share(memories: OpenedMemories, given: ShareBody) -> object:
    store = memories.store()
    until = tokens.parse_expires(given.expires, store.clock()) if given.expires else None
    wanted = ShareRequest(
        app_called(given.client), given.person, given.scope, until, url=address_given(given.url)
    )
    return share_being(store, memories.being(given.being), wanted)
