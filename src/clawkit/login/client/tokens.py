"""Asks an authorization server: for a client id, for tokens, to revoke them."""

from __future__ import annotations

import re
import secrets as random
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from clawkit.errors import LoginError
from clawkit.login.client.fetch import Web, WebReply, document
from clawkit.login.client.stored import AuthMethod, ClientIdentity, LoginRecord
from clawkit.login.metadata import ServerMetadata
from clawkit.login.oauth import basic_credentials, decoded
from clawkit.system.addresses import origin_of
from clawkit.text.normalization import visible

CLIENT_NAME = "Clawkit (claw login)"
ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_ASSERTION_SECONDS = 60
_LONGEST_LIFE = 10 * 365 * 86400.0
_TOKEN = re.compile(r"[\x21-\x7e]{1,16384}")
_MOST_WORDS = 300
_SHORTEST_SECRET = 8
_BASIC: AuthMethod = "client_secret_basic"


class TokenRefusedError(LoginError):
    """The authorization server gave no token; `code` is its reason (RFC 6749, section 5.2)."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


class TokenReply(msgspec.Struct, frozen=True):
    """Tokens as they were given; nothing that shows this object shows them."""

    access_token: str
    token_type: str
    refresh_token: str | None = None
    scope: str | None = None
    expires_in: float | str | None = None

    def __repr__(self) -> str:
        return "TokenReply(…)"

    def expires(self, now: float) -> float | None:
        """When the access token is over, if that was said."""
        try:
            seconds = float(self.expires_in) if self.expires_in is not None else -1.0
        except ValueError:
            return None
        return now + min(seconds, _LONGEST_LIFE) if seconds >= 0 else None


class _Refusal(msgspec.Struct, frozen=True):
    error: str = ""
    error_description: str | None = None


class _Registration(msgspec.Struct, frozen=True):
    client_id: str
    client_secret: str | None = None
    token_endpoint_auth_method: str | None = None


def register(
    web: Web, server: ServerMetadata, redirect_uri: str, scope: str
) -> tuple[ClientIdentity, str]:
    """Registers us as a client (RFC 7591); our id, and its secret if there is one."""
    place = server.registration_endpoint
    if not place:
        raise LoginError(
            f"{origin_of(server.issuer)} registers no clients by itself: have one made there, with "
            "the redirect address http://127.0.0.1/callback, and give it as --client-id"
        )
    what = "the registration"
    wanted: dict[str, Any] = {
        "client_name": CLIENT_NAME,
        "application_type": "native",
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": method_for(server, has_secret=None),
    }
    reply = web.post_json(place, what, {**wanted, "scope": scope} if scope else wanted)
    if reply.status not in (200, 201):
        raise LoginError(f"{origin_of(place)} does not register us: {_refusal_in(reply)[1]}")
    found = document(reply, _Registration, what)
    if not found.client_id or not _TOKEN.fullmatch(found.client_secret or "x"):
        raise LoginError(f"{what} of {origin_of(place)} cannot be used")
    secret = found.client_secret or ""
    method = found.token_endpoint_auth_method
    if method not in ("none", "client_secret_basic", "client_secret_post"):
        method = method_for(server, has_secret=bool(secret))
    if method != "none" and not secret:
        raise LoginError(f"{origin_of(place)} wants a secret of us ({method}), and gave none")
    return ClientIdentity(found.client_id, method), "" if method == "none" else secret


def method_for(server: ServerMetadata, *, has_secret: bool | None) -> AuthMethod:
    """How to say who we are at the token endpoint; `has_secret` is None before that is known."""
    offered = server.token_endpoint_auth_methods_supported
    if has_secret is False:
        return "none"
    if offered is None:
        return "none" if has_secret is None else _BASIC
    if has_secret is None and "none" in offered:
        return "none"
    # Where we can choose: the official Python server revokes nothing for who uses the other.
    posts = "client_secret_basic" not in offered or has_secret is None
    return "client_secret_post" if posts and "client_secret_post" in offered else _BASIC


def request_tokens(
    web: Web, login: LoginRecord, client_secret: str, form: Mapping[str, str]
) -> TokenReply:
    """Tokens for what `form` has to show."""
    endpoint = login.token_endpoint
    fields, headers = _with_client(login, client_secret, form)
    reply = web.post_form(endpoint, "the token endpoint", fields, headers)
    if reply.status != 200:
        code, said = _refusal_in(reply, client_secret, *fields.values())
        raise TokenRefusedError(f"{origin_of(endpoint)} gives no token: {said}", code)
    found = document(reply, TokenReply, "the token")
    if found.token_type.lower() != "bearer":
        kind = visible(found.token_type, 40)
        raise LoginError(f"{origin_of(endpoint)} gave a token of the kind {kind}, not a Bearer one")
    if not _TOKEN.fullmatch(found.access_token) or not _TOKEN.fullmatch(found.refresh_token or "x"):
        raise LoginError(f"{origin_of(endpoint)} gave a token that cannot be sent")
    return found


def revoke(web: Web, login: LoginRecord, client_secret: str, token: str) -> None:
    """End a token (RFC 7009); LoginError says why it may still be good."""
    endpoint = login.revocation_endpoint
    fields, headers = _with_client(login, client_secret, {"token": token})
    reply = web.post_form(endpoint, "the revocation endpoint", fields, headers)
    if reply.status != 200:
        raise LoginError(
            f"{origin_of(endpoint)} does not revoke it: {_refusal_in(reply, token)[1]}"
        )


def _with_client(
    login: LoginRecord, secret: str, form: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, str]]:
    """The form and the headers of a request that says who we are."""
    client = login.client
    # With basic credentials, too: the official Python server wants the id in the form.
    fields = {**form, "client_id": client.id}
    if client.method == "client_secret_basic":
        return fields, {"authorization": basic_credentials(client.id, secret)}
    if client.method == "client_secret_post":
        fields["client_secret"] = secret
    if client.method == "private_key_jwt":
        fields["client_assertion_type"] = ASSERTION
        fields["client_assertion"] = _assertion(client, login.issuer)
    return fields, {}


def _assertion(client: ClientIdentity, issuer: str) -> str:
    """A statement that is signed with our key (RFC 7523)."""
    try:
        import jwt
        from cryptography.hazmat.primitives.serialization import load_pem_private_key
    except ImportError:
        raise LoginError("a private key needs packages: pip install 'clawkit[login]'") from None
    try:
        key: Any = load_pem_private_key(Path(client.key_file).read_bytes(), None)
    except OSError as error:
        raise LoginError(f"{client.key_file} cannot be read: {error.strerror}") from None
    except (TypeError, ValueError):
        raise LoginError(f"{client.key_file} is not a private key in PEM, unencrypted") from None
    now = int(time.time())
    claims = {"iss": client.id, "sub": client.id, "aud": issuer, "jti": random.token_hex(16)}
    times = {"iat": now, "exp": now + _ASSERTION_SECONDS}
    return jwt.encode({**claims, **times}, key, algorithm=_algorithm(key, client.key_file))


def _algorithm(key: object, file: str) -> str:
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

    if isinstance(key, rsa.RSAPrivateKey):
        return "RS256"
    if isinstance(key, ed25519.Ed25519PrivateKey):
        return "EdDSA"
    curves = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}
    curve = key.curve.name if isinstance(key, ec.EllipticCurvePrivateKey) else ""
    if curve not in curves:
        raise LoginError(f"{file} is a key of a kind that cannot sign here: use RSA, EC or Ed25519")
    return curves[curve]


def _refusal_in(reply: WebReply, *sent: str) -> tuple[str, str]:
    """The code of a refusal, and a server's words for it: text that does nothing and tells none
    of what was sent."""
    try:
        found = decoded(reply.body, _Refusal)
    except LoginError:
        found = _Refusal()
    words = ": ".join(filter(None, (found.error, found.error_description or "")))
    for secret in sorted(sent, key=len, reverse=True):
        if len(secret) >= _SHORTEST_SECRET:
            words = words.replace(secret, "…")
    said = visible(words, _MOST_WORDS) if words else f"the status {reply.status}"
    return found.error, said
