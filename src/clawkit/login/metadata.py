"""What a server says about logins to it: in challenges (RFC 6750, RFC 9728) and in metadata.

These are documents of a protected resource (RFC 9728) and of an authorization server (RFC 8414,
OpenID Connect Discovery). They are read here alike for our client, for guards and for issuers, each
of which fetches them by its own rules.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import msgspec

from clawkit.errors import LoginError
from clawkit.login.oauth import decoded
from clawkit.system.addresses import origin_of

RESOURCE_METADATA = "/.well-known/oauth-protected-resource"
SERVER_METADATA = "/.well-known/oauth-authorization-server"
OPENID_METADATA = "/.well-known/openid-configuration"

_LONGEST_CHALLENGE = 8192
_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_PART = re.compile(
    rf'[\s,]*(?:(?P<name>{_TOKEN})\s*=\s*(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<plain>[^\s,"]+))'
    rf"|(?P<scheme>{_TOKEN})(?=[\s,]|$))"
)


class ResourceMetadata(msgspec.Struct, frozen=True):
    """What a protected resource says of itself."""

    resource: str
    authorization_servers: tuple[str, ...] | None = None
    scopes_supported: tuple[str, ...] | None = None
    resource_name: str | None = None


class ServerMetadata(msgspec.Struct, frozen=True, kw_only=True):
    """Who gives tokens, and how; what we do not use is not read."""

    issuer: str
    authorization_endpoint: str = ""
    token_endpoint: str = ""
    registration_endpoint: str | None = None
    revocation_endpoint: str | None = None
    userinfo_endpoint: str | None = None
    jwks_uri: str = ""
    response_types_supported: tuple[str, ...] = ("code",)
    grant_types_supported: tuple[str, ...] | None = None
    scopes_supported: tuple[str, ...] | None = None
    token_endpoint_auth_methods_supported: tuple[str, ...] | None = None
    revocation_endpoint_auth_methods_supported: tuple[str, ...] | None = None
    code_challenge_methods_supported: tuple[str, ...] | None = None
    authorization_response_iss_parameter_supported: bool | None = None
    client_id_metadata_document_supported: bool | None = None
    require_pushed_authorization_requests: bool | None = None


def read_server(data: bytes, problem: str, *needed: str) -> ServerMetadata:
    """An authorization server's metadata; LoginError if something that is needed is missing."""
    found = decoded(data, ServerMetadata, problem)
    missing = [name for name in needed if not getattr(found, name)]
    if missing:
        raise LoginError(f"{problem}: it has no {' and no '.join(missing)}")
    return found


def metadata_places(issuer: str) -> list[str]:
    """Where the metadata of an issuer may be, in the order in which clients look."""
    origin, path = origin_of(issuer), urlsplit(issuer).path.rstrip("/")
    appended = [f"{origin}{path}{OPENID_METADATA}"] if path else []
    return [f"{origin}{SERVER_METADATA}{path}", f"{origin}{OPENID_METADATA}{path}", *appended]


def resource_places(url: str) -> list[str]:
    """Where the metadata of a protected resource may be, in the order in which clients look."""
    origin, path = origin_of(url), urlsplit(url).path.rstrip("/")
    return [f"{origin}{RESOURCE_METADATA}{one}" for one in dict.fromkeys((path, ""))]


def is_issuer(metadata: ServerMetadata, issuer: str) -> bool:
    """Whether metadata are this issuer's: an origin means the same with and without a slash."""
    origin = origin_of(issuer)
    return metadata.issuer == issuer or {metadata.issuer, issuer} == {origin, f"{origin}/"}


def bearer_challenge(text: str) -> dict[str, str] | None:
    """The parameters of the Bearer challenge in `WWW-Authenticate`, if there is one."""
    scheme, fields = "", dict[str, str]()
    for part in _PART.finditer(text[:_LONGEST_CHALLENGE]):
        if part["scheme"]:
            if scheme == "bearer":
                break
            scheme = part["scheme"].lower()
        elif scheme == "bearer":
            plain: str | None = part["plain"]
            value = re.sub(r"\\(.)", r"\1", part["quoted"]) if plain is None else plain
            fields.setdefault(part["name"].lower(), value)
    return fields if scheme == "bearer" else None
