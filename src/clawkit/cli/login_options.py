"""The options with which `claw serve`, `being serve` and `mcp-server` let people log in."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from clawkit.cli.commands import with_options

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
    from clawkit.login import need_packages

    need_packages()
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
    from clawkit.cli.logins import private_text
    from clawkit.errors import SettingsError

    secret = private_text(file, "--oidc-secret-file")
    if not secret or not secret.isprintable():
        raise SettingsError(f"--oidc-secret-file {file}: the secret is one line")
    return secret


with_login_options = with_options("login", _login_options)
"""For a command with a parameter `login`, which is a LoginOptions, or None."""
