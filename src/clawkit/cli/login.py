"""`claw login` and `claw logout`: this person at a server of others, for guards and the toolbox."""

from __future__ import annotations

import getpass
import os
import shlex
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
import typer

from clawkit.cli.commands import (
    AsJson,
    CommandFailure,
    has_screen,
    open_privately,
    print_json,
    say,
    with_options,
)
from clawkit.cli.tables import at_home
from clawkit.errors import ClawError, LoginError
from clawkit.login.client.stored import LoginRecord, read_logins, server_key
from clawkit.settings import settings
from clawkit.text.counts import counted
from clawkit.text.normalization import visible

if TYPE_CHECKING:
    from clawkit.login.client.callback import Callback
    from clawkit.login.client.flow import NewLogin

_PAGE = "login.html"
_USAGE = 2

Server = Annotated[
    str,
    typer.Argument(
        metavar="NAME|URL",
        help="A server's name in the config or in a wrapped entry, or its address.",
    ),
]


class NewLoginOptions(msgspec.Struct, frozen=True):
    """The login that is wanted, as it was typed."""

    scope: Annotated[
        str,
        typer.Option(
            metavar="SCOPES", help="What to ask for, beside what you have; without, as it says."
        ),
    ] = ""
    client_id: Annotated[
        str, typer.Option(metavar="ID", help="A client id that was made for you there.")
    ] = ""
    client_secret_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The secret of --client-id; without, you are asked."),
    ] = None
    client_secret_env: Annotated[
        str, typer.Option(metavar="NAME", help="The variable with the secret of --client-id.")
    ] = ""
    private_key_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A private key in PEM, in place of a secret."),
    ] = None
    client_credentials: Annotated[
        bool,
        typer.Option(
            "--client-credentials", help="Log in as the client itself; nobody has to agree."
        ),
    ] = False
    client_metadata: Annotated[
        str,
        typer.Option(
            metavar="URL",
            envvar="CLAW_CLIENT_METADATA",
            help="The address of a client metadata document of yours, for servers that take one.",
        ),
    ] = ""
    redirect_uri: Annotated[
        str,
        typer.Option(
            metavar="URL", help="Where the browser is sent back to; without, a free port here."
        ),
    ] = ""
    keep_in: Annotated[
        Literal["keyring", "file"] | None,
        typer.Option(help="Where the tokens are kept; without, the keyring if there is one."),
    ] = None
    timeout: Annotated[
        float, typer.Option(min=1, metavar="SECONDS", help="How long to wait for the browser.")
    ] = 300.0

    def checked(self) -> NewLogin:
        from clawkit.login.client.flow import NewLogin

        options = NewLogin(
            scope=" ".join(self.scope.split()),
            client_id=self.client_id,
            client_secret=_secret(self.client_secret_file, self.client_secret_env),
            key_file=str(self.private_key_file.resolve()) if self.private_key_file else "",
            client_metadata=self.client_metadata,
            redirect_uri=self.redirect_uri,
            client_credentials=self.client_credentials,
            keep_in=self.keep_in,
            timeout=self.timeout,
        )
        _check(options)
        return options


@with_options("request", NewLoginOptions)
def login(
    server: Server,
    request: NewLoginOptions,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address and open no browser.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Log in to a server of others, for guards and the assistant: in a browser, anywhere.

    Without a screen the address is printed. If the browser is elsewhere, its last page cannot be
    reached: paste that page's address here.
    """
    from clawkit.login.client.flow import LoginScreen, log_in

    wanted = request.checked()
    url = address_of(server)
    opens = not no_browser and has_screen()

    def show(address: str, callback: Callback) -> None:
        _show(address, callback, opens=opens)

    try:
        made = log_in(url, wanted, LoginScreen(show, _ask_secret))
    finally:
        (settings().data / _PAGE).unlink(missing_ok=True)
    if as_json:
        print_json({**about(made.record), "kept_in": made.place, "file": made.file})
        return
    print(f"Logged in to {_named(server, made.record.url)}: {login_line(made.record)}.")
    where = "the keyring"
    if made.place == "file":
        why = "" if wanted.keep_in else ", as there is no keyring here"
        where = f"{at_home(made.file)} (0600: for you only{why})"
    print(f"The tokens are kept in {where}. `claw logout {shlex.quote(server)}` ends it.")


def logout(server: Server, as_json: AsJson = False) -> None:
    """Forget the login to a server, and revoke it there if that can be done."""
    from clawkit.login.client.flow import log_out

    url = address_of(server)
    problem = log_out(url)
    if problem is None:
        raise CommandFailure(f"you are not logged in to {_named(server, server_key(url))}")
    if as_json:
        print_json({"url": server_key(url), "revoked": not problem, "problem": problem})
        return
    print(f"Logged out of {_named(server, server_key(url))}.")
    if problem:
        print(f"claw logout: it may still be good there: {visible(problem)}", file=sys.stderr)


def about(record: LoginRecord) -> dict[str, Any]:
    """A login as JSON: nothing of it is secret."""
    return {
        "url": record.url,
        "issuer": record.issuer,
        "scope": record.scope,
        "client_id": record.client.id,
        "expires": record.expires,
        "renews": record.renews,
        "ended": record.ended,
        "kept_in": record.kept_in,
    }


def login_line(record: LoginRecord) -> str:
    """What a login may do, and until when."""
    scope = f"{visible(record.scope, 200)}; " if record.scope else ""
    if record.ended:
        return f"{scope}over: {visible(record.ended, 200)}"
    if record.expires is None:
        return f"{scope}good until it is refused"
    left = record.expires - time.time()
    until = f"good for {_span(left)}" if left > 0 else "over"
    return f"{scope}{until}{', then renewed' if record.renews else ''}"


def _span(seconds: float) -> str:
    for size, word in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            return counted(int(seconds // size), word)
    return counted(int(seconds), "second")


def known_servers() -> dict[str, set[str]]:
    """The servers that have a name here, each with its addresses."""
    found: dict[str, set[str]] = {}
    for name, url in _named_addresses():
        with suppress(ValueError):
            found.setdefault(name, set()).add(server_key(url))
    return found


class LoginState(msgspec.Struct, frozen=True):
    """The logins as `claw status` shows them, and why some cannot be read."""

    logins: tuple[dict[str, Any], ...] = ()
    lines: tuple[str, ...] = ()
    problem: str = ""


def login_state() -> LoginState:
    """Every login, with the names of its server."""
    records, problems = read_logins()
    known: dict[str, set[str]] = {}
    with suppress(ClawError):  # a config that cannot be read is told elsewhere
        known = known_servers() if records else {}
    told: list[dict[str, Any]] = []
    lines: list[str] = []
    for record in records:
        names = sorted(name for name, urls in known.items() if record.url in urls)
        told.append({"names": names, **about(record)})
        called = f"{', '.join(names)} ({_shown(record.url)})" if names else _shown(record.url)
        again = f"; `claw login {names[0] if names else _shown(record.url)}` begins anew"
        lines.append(f"{called}: {login_line(record)}{again if _is_over(record) else ''}")
    return LoginState(tuple(told), tuple(lines), "; ".join(problems))


def _is_over(record: LoginRecord) -> bool:
    ended = record.expires is not None and record.expires <= time.time() and not record.renews
    return bool(record.ended) or ended


def address_of(server: str) -> str:
    """The address of a server that has a name here; an address is one already."""
    if "://" in server:
        return server
    known = known_servers()
    urls = known.get(server, set())
    if len(urls) == 1:
        return next(iter(urls))
    if urls:
        several = " and ".join(sorted(map(_shown, urls)))
        raise CommandFailure(f"{server!r} is at {several}: give the address itself", _USAGE)
    there = f"there is {', '.join(sorted(known))}" if known else "there is none"
    raise CommandFailure(
        f"no server {server!r} has an address in [mcp.servers] or in a wrapped entry: {there}. "
        "An address such as https://mcp.example.com/mcp can be given, too",
        _USAGE,
    )


def _named_addresses() -> Iterator[tuple[str, str]]:
    from clawkit.assistant.api_keys import Keys
    from clawkit.assistant.config import read_config
    from clawkit.hosts.ledger import items, remote

    config = read_config()
    keys = Keys(config)
    for name, one in config.mcp.servers.items():
        with suppress(ClawError):  # a variable in it is not set
            if one.url:
                yield name, keys.expand(one.url)
    for item in items():
        with suppress(ClawError):
            if item.remote is not None:
                yield item.server, remote(item.id).url


def _shown(url: str) -> str:
    from clawkit.hosts.guarded_entry import shown_address

    return visible(shown_address(url))


def _named(server: str, url: str) -> str:
    return _shown(url) if "://" in server else f"{visible(server)} ({_shown(url)})"


def _check(options: NewLogin) -> None:
    has_key, has_secret = bool(options.key_file), bool(options.client_secret)
    if (has_key or has_secret) and not options.client_id:
        raise typer.BadParameter("a secret or a key belongs to a --client-id")
    if has_key and has_secret:
        raise typer.BadParameter("give a secret or a key, not both")
    if options.client_credentials and not options.client_id:
        raise typer.BadParameter("--client-credentials needs --client-id ID")


def _secret(file: Path | None, variable: str) -> str:
    if file is not None and variable:
        raise typer.BadParameter("give --client-secret-file or --client-secret-env, not both")
    if variable:
        found = os.environ.get(variable, "").strip()
        if not found:
            raise CommandFailure(f"the variable {variable} is not set", _USAGE)
        return found
    if file is None:
        return ""
    try:
        found = file.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise CommandFailure(f"{file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise CommandFailure(f"{file} is not UTF-8") from None
    if not found:
        raise CommandFailure(f"{file} is empty")
    return found


def _ask_secret(client_id: str) -> str:
    if not sys.stdin.isatty():
        raise LoginError(
            f"the client id {client_id!r} needs a secret there: give --client-secret-file FILE, "
            "--client-secret-env NAME or --private-key-file FILE"
        )
    return getpass.getpass(f"The secret of {client_id}: ").strip()


def _show(address: str, callback: Callback, *, opens: bool) -> None:
    opened = opens and open_privately(address, _PAGE)
    say("Your browser opens; if it does not, go to:" if opened else "Go to this address:")
    say(f"\n  {visible(address, 8192)}\n")
    if callback.listens:
        say("If the browser is on another machine, its last page cannot be reached.")
    say("Paste the address of the last page here:" if sys.stdin.isatty() else "Waiting …")
    threading.Thread(target=_take_pasted, args=(callback,), daemon=True).start()


def _take_pasted(callback: Callback) -> None:
    # Not by way of sys.stdin: a thread that waits there is in the way when the program ends.
    rest = b""
    with suppress(OSError):
        while chunk := os.read(sys.stdin.fileno(), 4096):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in filter(bytes.strip, lines):
                if not callback.take(line.decode(errors="replace")):
                    say("This is not the answer to this login.")
    if rest.strip():
        callback.take(rest.decode(errors="replace"))
