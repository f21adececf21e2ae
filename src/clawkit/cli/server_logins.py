"""Lets people log in to `serve`, `being serve`, `mcp-server` and `proxy`: options and logins."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar
from urllib.parse import urlsplit

import typer

from clawkit.cli.commands import with_options
from clawkit.errors import SettingsError

if TYPE_CHECKING:
    from clawkit.login.options import LoginOptions
    from clawkit.login.tool_logins import ToolOffer
    from clawkit.wire.http.endpoint import HttpLogin
    from clawkit.wire.http.request_checks import Origins

_SECRET = "CLAW_OIDC_SECRET"

Given = TypeVar("Given", str, list[str] | None)


def _not_empty(context: typer.Context, parameter: typer.CallbackParam, value: Given) -> Given:
    """Refuse "" as on a line with a variable that is not set: it would mean no login at all."""
    source = context.get_parameter_source(parameter.name or "")
    empty = value == "" or (isinstance(value, list) and "" in value)
    if empty and source is not None and source.name != "DEFAULT":
        raise typer.BadParameter("is empty")
    return value


def _option(metavar: str, help: str, *names: str) -> Any:
    return typer.Option(*names, callback=_not_empty, metavar=metavar, help=help)


Login = Annotated[
    bool,
    typer.Option(
        "--login",
        help="Let people log in from any client, in a browser; `claw user add NAME` adds them.",
    ),
]


PublicUrl = Annotated[
    str,
    _option(
        "URL",
        "With --login or --jwt-issuer: the address that browsers and clients use, if a proxy "
        "is in front.",
    ),
]
Oidc = Annotated[
    str,
    _option(
        "ISSUER",
        "With --login: the identity provider that signs people in, by OpenID Connect.",
    ),
]
OidcClient = Annotated[str, _option("ID", "What the provider knows this server as: its client id.")]
OidcSecretFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="A file with the client's secret; else CLAW_OIDC_SECRET has it, or there is none.",
    ),
]
JwtIssuer = Annotated[
    str,
    _option(
        "ISSUER",
        "Instead of --login: another authorization server, whose access tokens are accepted.",
    ),
]
Audience = Annotated[
    list[str] | None,
    _option(
        "AUD",
        "With --jwt-issuer: an audience that tokens may be for; can be given again. Without, "
        "the address of what is asked for.",
    ),
]
ScopeNames = Annotated[
    list[str] | None,
    _option(
        "THEIRS=OURS",
        "With --jwt-issuer: what the issuer calls a scope; can be given again.",
    ),
]
LetIn = Annotated[
    list[str] | None,
    _option(
        "RULE",
        "With --oidc or --jwt-issuer: whom to let in as members who were not added: "
        "@example.com, CLAIM=VALUE, or all; can be given again.",
    ),
]


def _login_options(
    login: Login = False,
    public_url: PublicUrl = "",
    oidc: Oidc = "",
    oidc_client: OidcClient = "",
    oidc_secret_file: OidcSecretFile = None,
    jwt_issuer: JwtIssuer = "",
    audience: Audience = None,
    scope: ScopeNames = None,
    let_in: LetIn = None,
) -> object:
    """How people log in, as LoginOptions; None if they do not."""
    of_jwt = {"--audience": audience, "--scope": scope}
    needs = {
        "--public-url": (public_url, login or jwt_issuer, "--login"),
        "--oidc": (oidc, login, "--login"),
        "--oidc-client": (oidc_client, oidc, "--oidc ISSUER"),
        "--oidc-secret-file": (oidc_secret_file, oidc, "--oidc ISSUER"),
        "--let-in": (let_in, oidc or jwt_issuer, "--oidc ISSUER or --jwt-issuer ISSUER"),
        **{name: (given, jwt_issuer, "--jwt-issuer ISSUER") for name, given in of_jwt.items()},
    }
    for name, (given, wanted, what) in needs.items():
        if given and not wanted:
            raise typer.BadParameter(f"{name} needs {what}")
    if login and jwt_issuer:
        raise typer.BadParameter("give either --login or --jwt-issuer ISSUER")
    if oidc and not oidc_client:
        raise typer.BadParameter("--oidc needs --oidc-client ID")
    if not login and not jwt_issuer:
        return None
    from clawkit.login.options import LoginOptions

    return LoginOptions(
        public_url=public_url,
        oidc=oidc,
        oidc_client=oidc_client,
        oidc_secret=_client_secret(oidc_secret_file) if oidc else "",
        jwt_issuer=jwt_issuer,
        audiences=tuple(audience or ()),
        scopes=tuple(scope or ()),
        let_in=tuple(let_in or ()),
    )


def _client_secret(file: Path | None) -> str:
    if file is None:
        return os.environ.get(_SECRET, "")

    secret = private_text(file, "--oidc-secret-file")
    if not secret or not secret.isprintable():
        raise SettingsError(f"--oidc-secret-file {file}: the secret is one line")
    return secret


with_login_options = with_options("login", _login_options)
"""For a command with a parameter `login`, which is a LoginOptions, or None."""


_SHORTEST_TOKEN = 32
_LONGEST_SECRET = 8192


def hint(options: LoginOptions) -> str:
    """What to tell the person who starts a server with logins."""
    if options.jwt_issuer:
        return (
            f"Access tokens of {options.jwt_issuer} are accepted; `claw user add NAME --subject "
            "SUB` adds people."
        )
    return "People log in with any client; `claw user add NAME` adds them."


@contextmanager
def login_for(
    server: ToolOffer,
    title: str,
    options: LoginOptions,
    proxies: Sequence[str],
    *,
    kind: str = "tools",
    members: bool = True,
) -> Generator[Callable[[str, int, Origins], HttpLogin]]:
    """Logins for a server, over the store that Beings are in, until it ends."""
    from clawkit.assistant.memory.place import MemoryPlace
    from clawkit.login.resources import address_of
    from clawkit.login.tool_logins import tool_login
    from clawkit.store import open_store
    from clawkit.wire.http.request_checks import TrustedProxies

    trusted = TrustedProxies(proxies)
    with closing(open_store(MemoryPlace().address)) as database:

        def make(host: str, port: int, origins: Origins) -> Any:
            return tool_login(
                database,
                server,
                title,
                address_of(options.public_url, host, port),
                origins,
                trusted,
                kind=kind,
                members=members,
                options=options,
            )

        yield make


def private_text(file: Path, option: str) -> str:
    """What is in a file that nobody else can read; `option` is where it was given."""
    try:
        mode = file.stat().st_mode
        if not stat.S_ISREG(mode):
            raise SettingsError(f"{option} {file}: it must be a regular file")
        with file.open("rb") as opened:
            data = opened.read(_LONGEST_SECRET + 1)
        secret = data.decode().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{option} {file}: it cannot be read: {error}") from None
    if len(data) > _LONGEST_SECRET:
        raise SettingsError(f"{option} {file}: it is longer than {_LONGEST_SECRET} bytes")
    if os.name == "posix" and mode & 0o077:
        raise SettingsError(f"{option} {file}: others can read it: chmod 600 {file}")
    return secret


def read_token(file: Path) -> str:
    """The token in a file that nobody else can read."""
    secret = private_text(file, "--token-file")
    if len(secret) < _SHORTEST_TOKEN or not secret.isprintable() or " " in secret:
        raise SettingsError(
            f"--token-file {file}: a token is one line of at least {_SHORTEST_TOKEN} characters; "
            f"`openssl rand -hex 32 > {file}` makes one"
        )
    return secret


def hosts_behind(
    public_url: str, hosts: list[str] | None, *, on_loopback: bool
) -> list[str] | None:
    """The host names that a server answers to, with the one that its proxy passes on."""
    from clawkit.wire.http.request_checks import LOOPBACK

    if not public_url or (hosts is None and not on_loopback):
        return hosts
    from clawkit.login.resources import checked_origin

    return [*(hosts or LOOPBACK), urlsplit(checked_origin(public_url)).netloc]
