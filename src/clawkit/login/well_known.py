"""Where metadata is: of a protected resource, and of who gives tokens for it."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from clawkit.system.addresses import origin_of

RESOURCE_METADATA = "/.well-known/oauth-protected-resource"
SERVER_METADATA = "/.well-known/oauth-authorization-server"
OPENID_METADATA = "/.well-known/openid-configuration"


def metadata_places(issuer: str) -> Iterator[str]:
    """Where the metadata of an issuer may be, in the order in which clients look."""
    origin, path = origin_of(issuer), urlsplit(issuer).path.rstrip("/")
    yield f"{origin}{SERVER_METADATA}{path}"
    yield f"{origin}{OPENID_METADATA}{path}"
    if path:
        yield f"{origin}{path}{OPENID_METADATA}"
