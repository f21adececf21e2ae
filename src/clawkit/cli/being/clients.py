"""`claw being share`, `stdio`, `token` and `key`: how MCP clients reach a Being."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from typing import Annotated, Literal

import typer

from clawkit.assistant.memory.place import MemoryPlace, opened
from clawkit.cli.being.options import BeingArgument, EmbedderOption, StoreOption
from clawkit.cli.being.output import day, login_token_row, rights, token_lines, token_row
from clawkit.cli.being.serve import warm
from clawkit.cli.commands import AsJson, CommandFailure, command_group, print_json
from clawkit.cli.memory.access import TOKEN_VARIABLE
from clawkit.cli.tables import print_table
from clawkit.hosts.clients import ClientApp
from clawkit.memory import tokens as access
from clawkit.memory.being_store import BeingStore
from clawkit.memory.model_keys import forget_key, store_key
from clawkit.memory.sharing import (
    ANY_CLIENT,
    SharedBeing,
    ShareRequest,
    address_given,
    app_called,
    entry_name_of,
    share_being,
)
from clawkit.text.normalization import visible
from clawkit.wire.line_io import claim_stdio

_SHORTEST_ID = 4
_ID_LENGTH = 36

ScopeOption = Annotated[Literal["full", "read-only"], typer.Option(help="What its holder may do.")]
ExpiresOption = Annotated[
    str, typer.Option(metavar="30d|12h|DATE", help="When it ends; never, without.")
]
PersonOption = Annotated[
    str, typer.Option(metavar="NAME", help='Who says "I" through it, in a shared Being.')
]
OwnerOption = Annotated[
    bool,
    typer.Option(
        "--owner",
        help="It may write soul, rules, preferences and relationships too: what clients obey.",
    ),
]

tokens = command_group("Tokens: who may reach a Being over HTTP.")
keys = command_group("The model key of a Being, kept encrypted: tidying up then uses a model.")


@tokens.command("create")
def create_token(
    being: BeingArgument,
    scope: ScopeOption = "full",
    expires: ExpiresOption = "",
    oauth: Annotated[
        bool, typer.Option("--oauth", help="A bto_ token: it carries its Being, no id in the URL.")
    ] = False,
    label: Annotated[str, typer.Option(help="Whose it is, for the list.")] = "",
    person: PersonOption = "",
    owner: OwnerOption = False,
    address: StoreOption = "",
    as_json: AsJson = False,
) -> None:
    """Make a token for a Being; it is shown this once and kept nowhere."""
    with opened(MemoryPlace(address)) as store:
        found = store.find(being)
        until = access.parse_expires(expires, store.clock()) if expires else None
        secret, token = access.issue(
            store,
            found,
            oauth=oauth,
            scope=scope,
            expires=until,
            label=label,
            person=person,
            owner=owner,
        )
        if as_json:
            print_json({"token": secret, "being": found.id, "info": token})
            return
        print(secret)
        for line in token_lines(found, token):
            print(line, file=sys.stderr)


@tokens.command("list")
def list_tokens(being: BeingArgument, address: StoreOption = "", as_json: AsJson = False) -> None:
    """List the tokens of a Being, those that are over too, and what people logged in with."""
    from clawkit.login import grants

    with opened(MemoryPlace(address)) as store:
        found = store.find(being)
        with store.database.registry() as connection:
            known = access.of_being(connection, found.n)
            logins = grants.of_being(connection, found.n)
        if as_json:
            print_json([*known, *(grant for grant, _ in logins)])
        elif known or logins:
            head = ("id", "kind", "scope", "state", "last used", "person", "label")
            rows = [token_row(one, time.time()) for one in known]
            rows += [login_token_row(*one, time.time()) for one in logins]
            print_table([head, *rows])
        else:
            print(f"{found.name} has no tokens: `claw being token create` makes one.")


@tokens.command("revoke")
def revoke_token(
    token: Annotated[
        str, typer.Argument(metavar="ID", help="As `token list` shows it, or its beginning.")
    ],
    address: StoreOption = "",
) -> None:
    """End a token, or a login, from the next request on."""
    from clawkit.login import grants

    with opened(MemoryPlace(address)) as store:
        if access.looks_right(token):
            # A token on a command line stands in the shell's history by now: still, help.
            with store.database.registry() as connection:
                known = access.by_hash(connection, access.digest(token))
            token = known[1].id if known else token[:4]
        token = _whole_id(store, token)
        with store.database.registry(write=True) as connection:
            ended = access.revoke(connection, token, store.clock())
            login = "" if ended else grants.end_called(connection, token, store.clock())
        if not ended and not login:
            problem = f"there is no token {token!r} that still counts: `claw being token list` has"
            raise CommandFailure(f"{problem} the ids")
        print(f"Revoked {login or token}.")


def _whole_id(store: BeingStore, called: str) -> str:
    """The id of the token that still counts and begins so; what was given, if none does."""
    if len(called) < _SHORTEST_ID or len(called) >= _ID_LENGTH:
        return called
    sql = "SELECT id FROM tokens WHERE substr(id, 1, ?) = ? AND revoked IS NULL ORDER BY id LIMIT 2"
    with store.database.registry() as connection:
        found = [one for (one,) in connection.rows(sql, (len(called), called.lower()))]
    if len(found) > 1:
        raise CommandFailure(f"several tokens have ids that begin with {called}: give more of it")
    return found[0] if found else called


@keys.command("set")
def set_key(being: BeingArgument, address: StoreOption = "") -> None:
    """Keep a model key for a Being; it is read from stdin, or asked for in a terminal."""
    with opened(MemoryPlace(address)) as store:
        found = store.find(being)
        if sys.stdin.isatty():
            secret = typer.prompt("Model key", hide_input=True, err=True)
        else:
            secret = sys.stdin.readline()
        store_key(store, found, secret)
        print(f"Stored the model key of {found.name}, encrypted.")


@keys.command("delete")
def delete_key(being: BeingArgument, address: StoreOption = "") -> None:
    """Forget the model key of a Being."""
    with opened(MemoryPlace(address)) as store:
        found = store.find(being)
        had = forget_key(store, found)
        print(f"Forgot the model key of {found.name}." if had else f"{found.name} had none.")


_HINT = """{name} speaks MCP on stdin and stdout, one JSON message a line: for a client to start.
Ctrl-D ends it. `claw being serve` serves it over HTTP."""


def stdio(being: BeingArgument, address: StoreOption = "", embedder: EmbedderOption = "") -> None:
    """Serve one Being on stdin and stdout, for clients without HTTP."""
    from clawkit.wire.stdio import serve_stdio

    fds = claim_stdio()
    with opened(MemoryPlace(address, embedder)) as store:
        from clawkit.memory.mcp_server import BeingServer

        found = store.find(being)
        warm(store)
        store.worker.start()
        server = BeingServer(store, being=found)
        if os.isatty(fds[0]):
            print(_HINT.format(name=found.name), file=sys.stderr)
        serve_stdio(server, fds=fds, on_end=store.close)


def share(
    being: BeingArgument,
    client: Annotated[
        str,
        typer.Option("--for", metavar="CLIENT", help="Such as cursor or claude; most, without."),
    ] = "",
    person: PersonOption = "",
    scope: ScopeOption = "full",
    expires: ExpiresOption = "",
    owner: OwnerOption = False,
    url: Annotated[
        str,
        typer.Option(
            metavar="URL",
            help="Where others reach the server, such as that of a proxy with TLS; without, where "
            "`claw being serve` runs now.",
        ),
    ] = "",
    store_address: StoreOption = "",
    as_json: AsJson = False,
) -> None:
    """Make a token for somebody, and print what they paste into their client: this once.

    The config is on stdout, what there is to know about it on stderr.
    """
    app = app_called(client)
    with opened(MemoryPlace(store_address, "none")) as store:
        found = store.find(being)
        until = access.parse_expires(expires, store.clock()) if expires else None
        wanted = ShareRequest(app, person, scope, until, owner, address_given(url))
        shared = share_being(store, found, wanted)
    if as_json:
        print_json(shared)
        return
    for line in _before(shared, app):
        print(line, file=sys.stderr, flush=True)
    print(shared.config, flush=True)
    for line in _after(shared, app):
        print(line, file=sys.stderr)


def _before(shared: SharedBeing, app: ClientApp) -> Iterator[str]:
    info = shared.info
    whose = f" for {visible(info.person)}" if info.person else ""
    until = f", until {day(info.expires)}" if info.expires is not None else ""
    yield f"{visible(shared.name)}{whose}: {rights(info)}{until}. The token is shown this once."
    yield f"  URL    {shared.url}"
    yield f"  token  {shared.token}"
    yield ""
    if shared.place == "in a terminal":
        yield f"{app.title} adds it, in a terminal:"
    elif shared.place:
        yield f"{app.title}, in {shared.place}:"
    else:
        yield f"{app.title} take this in their config; --for CLIENT prints that of one:"


def _after(shared: SharedBeing, app: ClientApp) -> Iterator[str]:
    client = app.id if app is not ANY_CLIENT else "CLIENT"
    yield ""
    yield "Where Clawkit is installed, this writes it there and asks for the token:"
    called = "" if entry_name_of(shared.url) == shared.entry else f" --name {shared.entry}"
    yield f"  claw install {client} --being {shared.url}{called}"
    yield f"`claw recall` uses it with --being {shared.url} and {TOKEN_VARIABLE}."
    if not shared.served:
        yield "Nobody serves it right now: `claw being serve` does, at this address."
    yield f"`claw being token revoke {shared.info.id[:8]}` ends it."
