"""`claw being token` and `claw being key`: who may reach a Being, and the model key it brings."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from clawkit.cli.being_opening import AsJson, BeingArgument, Place, StoreOption, fail, opened
from clawkit.cli.rows import print_json

if TYPE_CHECKING:
    from clawkit.memory.keeper import Keeper

_SHORTEST_ID = 4
_ID_LENGTH = 36

tokens = typer.Typer(help="Tokens: who may reach a Being over HTTP.", no_args_is_help=True)
keys = typer.Typer(
    help="The model key of a Being, kept encrypted: tidying up then uses a model.",
    no_args_is_help=True,
)


@tokens.command("create")
def create_token(
    being: BeingArgument,
    scope: Annotated[
        Literal["full", "read-only"], typer.Option(help="What its holder may do.")
    ] = "full",
    expires: Annotated[
        str, typer.Option(metavar="30d|12h|DATE", help="When it ends; never, without.")
    ] = "",
    oauth: Annotated[
        bool, typer.Option("--oauth", help="A bto_ token: it carries its Being, no id in the URL.")
    ] = False,
    label: Annotated[str, typer.Option(help="Whose it is, for the list.")] = "",
    person: Annotated[
        str, typer.Option(metavar="NAME", help='Who says "I" through it, in a shared Being.')
    ] = "",
    owner: Annotated[
        bool,
        typer.Option(
            "--owner",
            help="It may write soul, rules, preferences and relationships too: what clients obey.",
        ),
    ] = False,
    store: StoreOption = "",
    as_json: AsJson = False,
) -> None:
    """Make a token for a Being; it is shown this once and kept nowhere."""
    with opened("being token create", Place(store)) as keeper:
        from clawkit.cli.being_text import token_lines
        from clawkit.memory import tokens

        found = keeper.find(being)
        until = tokens.parse_expires(expires, keeper.clock()) if expires else None
        secret, token = tokens.issue(
            keeper,
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
def list_tokens(being: BeingArgument, store: StoreOption = "", as_json: AsJson = False) -> None:
    """List the tokens of a Being, those that are over too."""
    with opened("being token list", Place(store)) as keeper:
        from clawkit.cli.being_text import print_table, token_row
        from clawkit.memory.store import tokens as stored

        found = keeper.find(being)
        with keeper.database.registry() as connection:
            tokens = stored.of_being(connection, found.n)
        if as_json:
            print_json(tokens)
        elif tokens:
            head = ("id", "kind", "scope", "state", "last used", "person", "label")
            print_table(head, [token_row(one, time.time()) for one in tokens])
        else:
            print(f"{found.name} has no tokens: `claw being token create` makes one.")


@tokens.command("revoke")
def revoke_token(
    token: Annotated[
        str, typer.Argument(metavar="ID", help="As `token list` shows it, or its beginning.")
    ],
    store: StoreOption = "",
) -> None:
    """End a token, from the next request on."""
    verb = "being token revoke"
    with opened(verb, Place(store)) as keeper:
        from clawkit.memory import tokens
        from clawkit.memory.store import tokens as stored

        if tokens.looks_right(token):
            # A token on a command line stands in the shell's history by now: still, help.
            with keeper.database.registry() as connection:
                known = stored.by_hash(connection, tokens.digest(token))
            token = known[1].id if known else token[:4]
        token = _whole_id(verb, keeper, token)
        with keeper.database.registry(write=True) as connection:
            ended = stored.revoke(connection, token, keeper.clock())
        if not ended:
            problem = f"there is no token {token!r} that still counts: `claw being token list` has"
            raise fail(verb, f"{problem} the ids")
        print(f"Revoked {token}.")


def _whole_id(verb: str, keeper: Keeper, called: str) -> str:
    """The id of the token that still counts and begins so; what was given, if none does."""
    if len(called) < _SHORTEST_ID or len(called) >= _ID_LENGTH:
        return called
    sql = "SELECT id FROM tokens WHERE substr(id, 1, ?) = ? AND revoked IS NULL ORDER BY id LIMIT 2"
    with keeper.database.registry() as connection:
        found = [one for (one,) in connection.rows(sql, (len(called), called.lower()))]
    if len(found) > 1:
        raise fail(verb, f"several tokens have ids that begin with {called}: give more of it")
    return found[0] if found else called


@keys.command("set")
def set_key(being: BeingArgument, store: StoreOption = "") -> None:
    """Keep a model key for a Being; it is read from stdin, or asked for in a terminal."""
    with opened("being key set", Place(store)) as keeper:
        from clawkit.memory.keys import store_key

        found = keeper.find(being)
        if sys.stdin.isatty():
            secret = typer.prompt("Model key", hide_input=True, err=True)
        else:
            secret = sys.stdin.readline()
        store_key(keeper, found, secret)
        print(f"Stored the model key of {found.name}, encrypted.")


@keys.command("delete")
def delete_key(being: BeingArgument, store: StoreOption = "") -> None:
    """Forget the model key of a Being."""
    with opened("being key delete", Place(store)) as keeper:
        from clawkit.memory.keys import forget_key

        found = keeper.find(being)
        had = forget_key(keeper, found)
        print(f"Forgot the model key of {found.name}." if had else f"{found.name} had none.")
