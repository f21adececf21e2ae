"""`claw being share`: what somebody pastes into a client to use a Being, printed once."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Annotated

import typer

from clawkit.assistant.memory.place import MemoryPlace, opened
from clawkit.cli.being.clients import ExpiresOption, OwnerOption, PersonOption, ScopeOption
from clawkit.cli.being.opened_store import BeingArgument, StoreOption
from clawkit.cli.being.output import day, rights
from clawkit.cli.commands import AsJson
from clawkit.cli.memory.elsewhere import TOKEN_VARIABLE
from clawkit.cli.output import print_json
from clawkit.hosts.clients import ClientApp
from clawkit.memory import tokens as access
from clawkit.memory.sharing import (
    ANY_CLIENT,
    SharedBeing,
    ShareRequest,
    address_given,
    app_called,
    share_being,
)
from clawkit.text.normalization import visible


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
    yield f"  claw install {client} --being {shared.url}"
    yield f"`claw recall` uses it with --being {shared.url} and {TOKEN_VARIABLE}."
    if not shared.served:
        yield "Nobody serves it right now: `claw being serve` does, at this address."
    yield f"`claw being token revoke {shared.info.id[:8]}` ends it."
