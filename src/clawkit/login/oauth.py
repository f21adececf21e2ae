"""How OAuth writes things: JSON of others decoded, a client's credentials, PKCE, redirects."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from typing import TypeVar
from urllib.parse import quote, urlencode

import msgspec

from clawkit.errors import LoginError

Document = TypeVar("Document")


def decoded(data: bytes | str, kind: type[Document], problem: str = "") -> Document:
    """The JSON as `kind`; LoginError says what is not as it must be, and may quote a value."""
    try:
        return msgspec.json.decode(data, type=kind)
    except RecursionError:
        reason = "it is nested too deeply"
    except msgspec.ValidationError as error:
        reason = str(error)[:200]
    except (msgspec.DecodeError, UnicodeError):
        reason = "it is not JSON"
    raise LoginError(f"{problem}: {reason}" if problem else reason) from None


def basic_credentials(client: str, secret: str) -> str:
    """A client's id and secret as the header `Authorization` has them (RFC 6749, 2.3.1)."""
    pair = f"{quote(client, safe='')}:{quote(secret, safe='')}"
    return f"Basic {base64.b64encode(pair.encode()).decode()}"


def base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def pkce_challenge(verifier: str) -> str:
    return base64url(hashlib.sha256(verifier.encode()).digest())


def with_query(url: str, fields: Mapping[str, str]) -> str:
    """An address with more fields; what it has in it stays."""
    return f"{url}{'&' if '?' in url else '?'}{urlencode(fields)}"
