"""`claw user`: people who log in, what they may use, and the logins and browsers they have."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from clawkit.assistant.memory.place import MemoryPlace, opened
from clawkit.cli.being.options import StoreOption
from clawkit.cli.being.output import day
from clawkit.cli.commands import AsJson, CommandFailure, Yes, command_group, confirm, print_json
from clawkit.cli.tables import ago, print_table, short_id
from clawkit.login import grants, identities, need_packages, people
from clawkit.login.records import LINK_SECONDS, Grant, User
from clawkit.memory.store import beings as stored_beings
from clawkit.store.database import Connection
from clawkit.text.counts import counted
from clawkit.text.normalization import visible

_DEFAULT_ORIGIN = "http://localhost:8765"

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="What they are called.")]
UrlOption = Annotated[
    str,
    typer.Option(
        "--url",
        metavar="URL",
        help="Where they sign in; without, where a server with --login was last started.",
    ),
]

app = command_group("People who log in to Beings, tools and the assistant, and their logins.")


@app.command()
def add(
    name: NameArgument,
    owner: Annotated[
        bool, typer.Option("--owner", help="They may use every Being, as the first person may.")
    ] = False,
    being: Annotated[
        list[str] | None,
        typer.Option("--being", metavar="BEING", help="A Being they may use; can be given again."),
    ] = None,
    email: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="Know them at the identity provider by this address, which it has checked.",
        ),
    ] = "",
    subject: Annotated[
        str,
        typer.Option(metavar="SUB", help="Know them at the issuer by the subject of an account."),
    ] = "",
    issuer: Annotated[
        str,
        typer.Option(
            metavar="ISSUER",
            help="The issuer of --email or --subject; without, that of the server that was last "
            "started with one.",
        ),
    ] = "",
    url: UrlOption = "",
    address: StoreOption = "",
    as_json: AsJson = False,
) -> None:
    """Add somebody, and print the link with which they choose a passkey or a password."""
    need_packages()
    if issuer and not (email or subject):
        raise typer.BadParameter("--issuer needs --email ADDRESS or --subject SUB")
    if url and (email or subject):
        raise typer.BadParameter("--url is for a link, which --email and --subject do without")
    with opened(MemoryPlace(address, "none")) as store:
        theirs = [store.find(one) for one in being or ()]
        with store.database.registry(write=True) as connection:
            first = all(one.role != "owner" for one in people.everybody(connection))
            role = "owner" if owner or first else "member"
            person = people.add(connection, name, role, store.clock())
            for one in theirs:
                people.allow(connection, person, one.n)
            known = _known_at(connection, person, issuer, email, subject, store.clock())
            link = "" if known else _new_link(connection, person, url, store.clock())
        if as_json:
            print_json({"name": person.name, "role": role, "link": link or None})
            return
        if known:
            print(f"{person.name} is known at {known}: they sign in there, without a link.")
        else:
            print(link)
            _about_link(person)
        if role == "owner":
            print(f"{person.name} is an owner and may use every Being.", file=sys.stderr)
        elif not theirs:
            print(
                f"{person.name} may use no Being yet: `claw user allow {person.name} BEING`.",
                file=sys.stderr,
            )


def _known_at(
    connection: Connection, person: User, issuer: str, email: str, subject: str, now: float
) -> str:
    """The issuer that somebody is known at by an address or an account; empty without either."""
    if not email and not subject:
        return ""
    if issuer:
        from clawkit.login.issuers import checked_issuer

        checked_issuer(issuer, "--issuer")
    issuer = issuer or people.last_issuer(connection)
    if not issuer:
        raise CommandFailure(
            "no server was started with --oidc or --jwt-issuer over this store: name the issuer "
            "with --issuer",
            2,
        )
    if email:
        identities.invite(connection, person, issuer, email)
    if subject:
        identities.bind_new(connection, person, issuer, subject, now)
    return issuer


def _new_link(connection: Connection, person: User, url: str, now: float) -> str:
    from clawkit.login.resources import checked_origin

    given = checked_origin(url, "--url") if url else ""
    origin = given or people.last_origin(connection) or _DEFAULT_ORIGIN
    return f"{origin}/login/link/{people.make_link(connection, person, now)}"


def _about_link(person: User) -> None:
    hours = int(LINK_SECONDS // 3600)
    print(
        f"For {person.name} alone: it works once, within {hours} hours, in a browser that reaches "
        "a server started with --login.",
        file=sys.stderr,
    )


@app.command()
def link(
    name: NameArgument,
    lost: Annotated[
        bool,
        typer.Option(
            "--lost",
            help="Their passkey or password may be in other hands: end all that lets them in now.",
        ),
    ] = False,
    url: UrlOption = "",
    address: StoreOption = "",
    as_json: AsJson = False,
) -> None:
    """Print a new one-time link for somebody who lost their passkey or password."""
    need_packages()
    with opened(MemoryPlace(address, "none")) as store:
        with store.database.registry(write=True) as connection:
            person = people.named(connection, name)
            if lost:
                people.lock_out(connection, person)
                ended = grants.end_all(connection, person, "their key was lost", store.clock())
                told = f"Ended {counted(ended, 'login')} of {person.name}, and every way in."
                print(told, file=sys.stderr)
            made = _new_link(connection, person, url, store.clock())
        if as_json:
            print_json({"name": person.name, "link": made})
            return
        print(made)
        _about_link(person)


@app.command("list")
def list_(address: StoreOption = "", as_json: AsJson = False) -> None:
    """List everybody: what they may use, how they sign in, how many logins they have."""
    with opened(MemoryPlace(address, "none")) as store:
        with store.database.registry() as connection:
            told = [_about(connection, one, store.clock()) for one in people.everybody(connection)]
        if as_json:
            print_json(told)
        elif told:
            head = ("name", "role", "signs in with", "logins", "Beings")
            print_table([head, *map(_row, told)])
        else:
            print("There is nobody yet: `claw user add NAME` adds somebody.")


def _about(connection: Connection, person: User, now: float) -> dict[str, Any]:
    _, password = people.password_of(connection, person.name)
    own = [stored_beings.by_number(connection, n) for n in people.beings_of(connection, person)]
    return {
        "name": person.name,
        "role": person.role,
        "added": person.created,
        "passkeys": len(people.passkeys_of(connection, person)),
        "password": bool(password),
        "accounts": identities.of_person(connection, person),
        "beings": [one.name for one in own if one is not None],
        "logins": [one for one in grants.of_person(connection, person) if one.ended is None],
        "browsers": people.browsers_of(connection, person, now),
    }


def _row(told: dict[str, Any]) -> tuple[str, ...]:
    accounts: list[identities.Identity] = told["accounts"]
    ways = [
        counted(told["passkeys"], "passkey") if told["passkeys"] else "",
        "password" if told["password"] else "",
        *sorted({one.host for one in accounts}),
    ]
    used = "every Being" if told["role"] == "owner" else ", ".join(map(visible, told["beings"]))
    signs_in = ", ".join(filter(None, ways)) or "nothing yet"
    return told["name"], told["role"], signs_in, str(len(told["logins"])), used or "-"


@app.command()
def show(name: NameArgument, address: StoreOption = "", as_json: AsJson = False) -> None:
    """Show somebody's logins and the browsers they are signed in with."""
    with opened(MemoryPlace(address, "none")) as store:
        with store.database.registry() as connection:
            person = people.named(connection, name)
            told = _about(connection, person, store.clock())
            names = {one.n: one.name for one in stored_beings.every(connection)}
        if as_json:
            print_json(told)
            return
        print_table([("name", "role", "signs in with", "logins", "Beings"), _row(told)])
        now = store.clock()
        if told["accounts"]:
            accounts = [(one.issuer, one.subject or "-", one.email) for one in told["accounts"]]
            print()
            print_table([("account at", "subject", "address"), *accounts])
        rows = [(*_login_row(one, now), names.get(one.being, "-")) for one in told["logins"]]
        if rows:
            print()
            print_table([("login", "client", "may", "since", "refreshed", "Being"), *rows])
        seen = [
            (short_id(one.id), day(one.created), visible(one.agent)) for one in told["browsers"]
        ]
        if seen:
            print()
            print_table([("browser", "since", "calls itself"), *seen])
        if rows or seen:
            print("\n`claw user end ID` ends one of them.")


def _login_row(grant: Grant, now: float) -> tuple[str, ...]:
    """A login as a line of a list: its id, client, scope, and when it began and was used."""
    client = visible(grant.client_name or grant.client)
    return short_id(grant.id), client, grant.scope, day(grant.created), ago(now - grant.used)


@app.command()
def end(
    called: Annotated[
        str, typer.Argument(metavar="ID", help="As `claw user show` has it, or its beginning.")
    ],
    address: StoreOption = "",
) -> None:
    """End a login, or sign a browser out, from the next request on."""
    with opened(MemoryPlace(address, "none")) as store:
        with store.database.registry(write=True) as connection:
            ended = grants.end_called(connection, called, store.clock())
        if not ended:
            problem = f"there is no login and no browser {called[:40]!r} that still counts"
            raise CommandFailure(f"{problem}: `claw user show NAME` has the ids")
        print(f"Ended {ended}.")


@app.command()
def allow(
    name: NameArgument,
    being: Annotated[list[str], typer.Argument(metavar="BEING", help="Its name or id.")],
    off: Annotated[
        bool, typer.Option("--off", help="They may use it no longer; their logins to it end.")
    ] = False,
    address: StoreOption = "",
) -> None:
    """Let a member use a Being."""
    with opened(MemoryPlace(address, "none")) as store:
        found = [store.find(one) for one in being]
        with store.database.registry(write=True) as connection:
            person = people.named(connection, name)
            for one in found:
                if not off:
                    people.allow(connection, person, one.n)
                    continue
                people.disallow(connection, person, one.n)
                if person.role == "member":
                    why = "they may not use this Being"
                    grants.end_all(connection, person, why, store.clock(), being=one.n)
        if person.role == "owner":
            print(f"{person.name} is an owner and may use every Being.")
            return
        names = ", ".join(visible(one.name) for one in found)
        print(f"{person.name} may {'no longer use' if off else 'use'} {names}.")


@app.command()
def remove(name: NameArgument, yes: Yes = False, address: StoreOption = "") -> None:
    """Remove somebody, with their passkeys, password and logins; Beings stay."""
    with opened(MemoryPlace(address, "none")) as store:
        with store.database.registry() as connection:
            person = people.named(connection, name)
        if not yes:
            question = f"Remove {person.name} and all their logins?"
            confirm(question, "Nothing was removed.", "give --yes to do it", [])
        with store.database.registry(write=True) as connection:
            people.remove(connection, people.named(connection, name))
        print(f"Removed {person.name}.")
