"""A whole login: how the server wants it, who we are to it, the answer checked, the tokens kept."""

from __future__ import annotations

import secrets as random
from collections.abc import Callable
from contextlib import closing, suppress

import msgspec

from clawkit.errors import LoginError
from clawkit.login.client.bearer import credentials_form, renewed
from clawkit.login.client.callback import Answer, Callback
from clawkit.login.client.discovery import HowToLogIn, discover
from clawkit.login.client.fetch import Web, check_place
from clawkit.login.client.stored import (
    ClientIdentity,
    DamagedLoginError,
    Grant,
    KeptLogin,
    LoginFile,
    LoginRecord,
    LoginSecrets,
    Place,
    check_server,
)
from clawkit.login.client.tokens import method_for, register, request_tokens, revoke
from clawkit.login.metadata import ServerMetadata
from clawkit.login.oauth import pkce_challenge, with_query
from clawkit.system.addresses import origin_of
from clawkit.text.normalization import visible

_SECRET_BYTES = 48
_OFFLINE = "offline_access"


class NewLogin(msgspec.Struct, frozen=True, kw_only=True):
    """What a person says about a login, beside the server."""

    scope: str = ""
    client_id: str = ""
    client_secret: str = ""
    key_file: str = ""
    client_metadata: str = ""
    redirect_uri: str = ""
    client_credentials: bool = False
    keep_in: Place | None = None
    timeout: float = 300.0

    def __repr__(self) -> str:
        return f"NewLogin(scope={self.scope!r}, client_id={self.client_id!r})"


class LoginScreen(msgspec.Struct, frozen=True):
    """What a login needs a person for."""

    show: Callable[[str, Callback], None]
    """Show an address, or open it; what is pasted goes to the callback."""
    ask_secret: Callable[[str], str]
    """Ask for the secret of a client id."""


class MadeLogin(msgspec.Struct, frozen=True):
    record: LoginRecord
    place: Place
    file: str


def log_in(url: str, options: NewLogin, screen: LoginScreen) -> MadeLogin:
    """Log in to a server and keep what it gives."""
    check_server(url)
    if options.redirect_uri:
        _check_redirect(options.redirect_uri)
    file = LoginFile(url)
    web = Web(url)
    how = discover(web, url)
    wanted = _scope(how, options, file.usable_record())
    if options.client_credentials:
        made = _with_credentials(web, how, wanted, options, screen)
    else:
        made = _with_browser(web, how, wanted, options, screen)
    record = msgspec.structs.replace(made.record, url=file.url)
    with file.alone():
        before = _readable(file)
        place = file.write(record, made.secrets, options.keep_in)
    # Some authorization servers end all that one client was given with any of its tokens.
    if before is not None and before.record.client.id != record.client.id:
        with suppress(LoginError):  # the new login is there, whatever becomes of the old one
            _revoked(before)
    return MadeLogin(record, place, str(file.path))


def _readable(file: LoginFile) -> KeptLogin | None:
    with suppress(LoginError):
        return file.read()
    return None


def log_out(url: str) -> str | None:
    """Forget a login; None if there was none, else why it may still be good over there."""
    check_server(url)
    file = LoginFile(url)
    with file.alone():
        if file.version() is None:
            return None
        problem = ""
        try:
            problem = _revoked(file.read())
        except DamagedLoginError:
            problem = "its file was damaged, and is removed: it could not be revoked"
        except LoginError as error:
            problem = str(error)
        file.remove()
    return problem


def _check_redirect(uri: str) -> None:
    try:
        check_place(uri, "--redirect-uri")
    except LoginError as error:
        raise error.of_usage() from None


def _revoked(kept: KeptLogin | None) -> str:
    if kept is None or kept.record.ended:
        return ""
    record, secrets = kept.record, kept.secrets
    if not record.revocation_endpoint:
        return f"{origin_of(record.issuer)} has no way to revoke it"
    web = Web(record.url)
    # Of a login with both, the refresh token ends the access token, too, but not everywhere.
    for token in filter(None, (secrets.refresh_token, secrets.access_token)):
        revoke(web, record, secrets.client_secret, token)
    return ""


def _scope(how: HowToLogIn, options: NewLogin, before: LoginRecord | None) -> str:
    """What to ask for: what a person says, with what was granted before; else what is said there.

    A refresh token is asked for where that takes a scope of its own.
    """
    named = options.scope or how.scope
    scopes = dict.fromkeys(named.split())
    if options.scope and before is not None:
        scopes = dict.fromkeys((*before.scope.split(), *scopes))
    offered = how.server.scopes_supported or ()
    if scopes and _OFFLINE in offered and not options.client_credentials:
        scopes[_OFFLINE] = None
    return " ".join(scopes)


def _with_credentials(
    web: Web, how: HowToLogIn, scope: str, options: NewLogin, screen: LoginScreen
) -> KeptLogin:
    if not options.client_id:
        raise LoginError("--client-credentials needs --client-id ID").of_usage()
    client, secret = _given(how.server, options, screen)
    record = _record(how, client, scope, "client_credentials")
    tokens = request_tokens(web, record, secret, credentials_form(record))
    return renewed(KeptLogin(record, LoginSecrets("", "", secret)), tokens)


def _with_browser(
    web: Web, how: HowToLogIn, scope: str, options: NewLogin, screen: LoginScreen
) -> KeptLogin:
    server, state = how.server, random.token_urlsafe(_SECRET_BYTES)
    _check_pkce(server)
    web.check_browser_place(server.authorization_endpoint)
    with closing(Callback(state, options.redirect_uri)) as callback:
        client, secret = _identity(web, server, callback.redirect_uri, scope, options, screen)
        verifier = random.token_urlsafe(_SECRET_BYTES)
        asked = {
            "response_type": "code",
            "client_id": client.id,
            "redirect_uri": callback.redirect_uri,
            "state": state,
            "code_challenge": pkce_challenge(verifier),
            "code_challenge_method": "S256",
            "scope": scope,
            "resource": how.resource,
        }
        fields = {name: value for name, value in asked.items() if value}
        screen.show(with_query(server.authorization_endpoint, fields), callback)
        code = _code(callback.wait(options.timeout), server)
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": callback.redirect_uri,
            "code_verifier": verifier,
            "resource": how.resource,
        }
        sent = {name: value for name, value in form.items() if value}
        record = _record(how, client, scope)
        tokens = request_tokens(web, record, secret, sent)
    return renewed(KeptLogin(record, LoginSecrets("", "", secret)), tokens)


def _record(
    how: HowToLogIn, client: ClientIdentity, scope: str, grant: Grant = "authorization_code"
) -> LoginRecord:
    return LoginRecord(
        url="",
        issuer=how.server.issuer,
        token_endpoint=how.server.token_endpoint,
        client=client,
        obtained=0.0,
        grant=grant,
        resource=how.resource,
        scope=scope,
        revocation_endpoint=how.server.revocation_endpoint or "",
    )


def _check_pkce(server: ServerMetadata) -> None:
    if not server.authorization_endpoint:
        raise LoginError(
            f"{origin_of(server.issuer)} lets nobody log in with a browser: "
            "--client-credentials may be what it wants"
        )
    if "S256" not in (server.code_challenge_methods_supported or ()):
        raise LoginError(
            f"{origin_of(server.issuer)} does not say that it supports PKCE with S256, without "
            "which an answer can be stolen on its way: it is not used"
        )


def _identity(
    web: Web,
    server: ServerMetadata,
    redirect_uri: str,
    scope: str,
    options: NewLogin,
    screen: LoginScreen,
) -> tuple[ClientIdentity, str]:
    """Our client id there: one that was given, our metadata document, or a new registration."""
    if options.client_id:
        return _given(server, options, screen)
    if options.client_metadata and server.client_id_metadata_document_supported:
        check_place(options.client_metadata, "--client-metadata")
        return ClientIdentity(options.client_metadata), ""
    return register(web, server, redirect_uri, scope)


def _given(
    server: ServerMetadata, options: NewLogin, screen: LoginScreen
) -> tuple[ClientIdentity, str]:
    if options.key_file:
        return ClientIdentity(options.client_id, "private_key_jwt", options.key_file), ""
    offered = server.token_endpoint_auth_methods_supported
    secret = options.client_secret
    public = offered is None or "none" in offered
    if not secret and (options.client_credentials or not public):
        secret = screen.ask_secret(options.client_id)
    return ClientIdentity(options.client_id, method_for(server, has_secret=bool(secret))), secret


def _code(answer: Answer, server: ServerMetadata) -> str:
    """The code in an answer that is this authorization server's and no other's (RFC 9207)."""
    said = answer.get("iss")
    if said is None and server.authorization_response_iss_parameter_supported:
        raise LoginError(
            "the answer does not say whose it is (`iss`), though it should: it may be another's "
            "and is not used. Log in again"
        )
    if said is not None and said != server.issuer:
        raise LoginError(
            f"the answer is from {visible(said, 200)}, and not from {visible(server.issuer, 200)}: "
            "it is not used. Log in again, and find out who is in between"
        )
    if "error" in answer:
        words = ": ".join(filter(None, (answer["error"], answer.get("error_description", ""))))
        raise LoginError(f"{origin_of(server.issuer)} did not let you in: {visible(words, 300)}")
    return answer["code"]
