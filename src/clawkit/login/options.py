"""How people get into a server: what its options say, and what lets them in then."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from clawkit.errors import SettingsError
from clawkit.login import need_packages
from clawkit.login.resources import ProtectedServer, ServerAddress, TokenIssuer
from clawkit.store.database import Database
from clawkit.wire.http.request_checks import Origins, TrustedProxies

if TYPE_CHECKING:
    from clawkit.login.document_fetch import DocumentFetcher
    from clawkit.login.server import ProviderMaker


class LoginOptions(msgspec.Struct, frozen=True):
    """Logins of our own, at an identity provider (`oidc`), or another server's tokens (`jwt`)."""

    public_url: str = ""
    oidc: str = ""
    oidc_client: str = ""
    oidc_secret: str = ""
    jwt_issuer: str = ""
    audiences: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    let_in: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"LoginOptions({self.public_url!r}, {self.oidc!r}, {self.jwt_issuer!r})"


def token_issuer(
    options: LoginOptions,
    database: Database,
    server: ProtectedServer,
    address: ServerAddress,
    origins: Origins,
    proxies: TrustedProxies,
    clock: Callable[[], float] = time.time,
    fetcher: DocumentFetcher | None = None,
) -> TokenIssuer:
    """Whose tokens open this server, as its options say; SettingsError if they cannot be."""
    need_packages()
    make = _foreign(options) if options.jwt_issuer else _own(options, fetcher)
    return make(database, server, address, origins=origins, proxies=proxies, clock=clock)


def _own(options: LoginOptions, fetcher: DocumentFetcher | None) -> Callable[..., TokenIssuer]:
    from clawkit.login.server import LoginServer

    provider = _provider(options) if options.oidc else None
    return partial(LoginServer, fetcher=fetcher, provider=provider)


def _foreign(options: LoginOptions) -> Callable[..., TokenIssuer]:
    from clawkit.login.foreign_tokens import ForeignTokens, read_scopes
    from clawkit.login.identities import read_rule
    from clawkit.login.issuers import Issuer, checked_issuer

    issuer = Issuer(checked_issuer(options.jwt_issuer, "--jwt-issuer"))
    scopes, rules = read_scopes(options.scopes), [*map(read_rule, options.let_in)]
    issuer.check()
    return partial(
        ForeignTokens, issuer=issuer, audiences=options.audiences, scopes=scopes, rules=rules
    )


def _provider(options: LoginOptions) -> ProviderMaker:
    from clawkit.login.identities import read_rule
    from clawkit.login.issuers import Issuer, checked_issuer
    from clawkit.login.provider import ProviderSignIn, RelyingParty

    issuer = Issuer(checked_issuer(options.oidc, "--oidc"))
    if not options.oidc_client:
        raise SettingsError("--oidc needs --oidc-client ID: what the provider knows this server as")
    rules = [*map(read_rule, options.let_in)]
    issuer.check(signs_in=True)
    client = RelyingParty(options.oidc_client, options.oidc_secret)
    return partial(ProviderSignIn, issuer=issuer, client=client, rules=rules)
