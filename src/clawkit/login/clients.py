"""Clients: registered by themselves (RFC 7591), or known by a document at their own address.

A redirect address must be one that the client gave, to the letter; only the port of a program on
this machine is free. Schemes of programs are those that RFC 8252 has, with a dot, as a domain has
backwards, and a few that everybody knows: any other could be one that a browser takes for its own.

A registration that nobody agrees to is forgotten after a day, a document after an hour, and both
before that where there are more than a thousand: the oldest goes first. All clients are public:
none has a secret.
"""

from __future__ import annotations

import re
import secrets
from typing import Annotated, Any
from urllib.parse import SplitResult, urlsplit

import msgspec

from clawkit.errors import LoginError
from clawkit.login.document_fetch import DocumentFetcher
from clawkit.login.oauth import decoded
from clawkit.login.records import Client, insert
from clawkit.store.database import Connection, Database
from clawkit.system.addresses import is_authority

LONGEST_NAME = 100
LONGEST_URI = 2000
MOST_URIS = 10
MOST_UNUSED = 1000
UNUSED_SECONDS = 86400.0
DOCUMENT_SECONDS = 3600.0

_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_PRIVATE_SCHEME = re.compile(r"[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+")
_KNOWN_SCHEMES = frozenset(
    {
        *("antigravity", "boltai", "chatwise", "cherrystudio", "claude", "code-oss", "cursor"),
        *("cursor-nightly", "goose", "jan", "jetbrains", "kiro", "librechat", "lmstudio", "msty"),
        *("positron", "postman", "raycast", "trae", "vscode", "vscode-insiders", "vscodium"),
        *("warp", "windsurf", "windsurf-next", "witsy", "zed", "zed-preview"),
    }
)
"""Of programs that have been there before RFC 8252 wanted a dot, or do without."""

_DOTS = re.compile(r"/\.\.?(/|$)|%2e", re.IGNORECASE)


class ClientMetadata(msgspec.Struct, frozen=True):
    """What a client says about itself; what we do not use is not read."""

    redirect_uris: Annotated[tuple[str, ...], msgspec.Meta(min_length=1, max_length=MOST_URIS)]
    client_name: str = ""
    client_id: str = ""
    token_endpoint_auth_method: str = "none"
    grant_types: tuple[str, ...] = ("authorization_code", "refresh_token")
    response_types: tuple[str, ...] = ("code",)


def read_metadata(body: bytes) -> ClientMetadata:
    """What a client says; LoginError if that cannot be used."""
    found = decoded(body, ClientMetadata, "the client's metadata cannot be used")
    if "authorization_code" not in found.grant_types or "code" not in found.response_types:
        raise LoginError("only the grant type authorization_code is served")
    if len(found.client_name) > LONGEST_NAME or not found.client_name.isprintable():
        raise LoginError(f"client_name is one line of at most {LONGEST_NAME} characters")
    for uri in found.redirect_uris:
        check_redirect(uri)
    return found


def check_redirect(uri: str) -> None:
    """Refuse an address to which no code may be sent."""
    parts = _split(uri)
    bad = parts is None or not uri.isascii() or any(c.isspace() or not c.isprintable() for c in uri)
    if bad or len(uri) > LONGEST_URI or "\\" in uri:
        raise LoginError(f"redirect_uri {uri[:100]!r} is not an address")
    assert parts is not None
    if "#" in uri or "@" in parts.netloc:
        raise LoginError(f"redirect_uri {uri[:100]!r} may have neither a fragment nor a user")
    if parts.scheme in ("http", "https") and not is_authority(parts.netloc):
        raise LoginError(f"redirect_uri {uri[:100]!r} has no host name that can be used")
    if parts.scheme == "https" and parts.hostname:
        return
    if parts.scheme == "http" and parts.hostname in _LOOPBACK:
        return
    if parts.scheme not in _KNOWN_SCHEMES and not _PRIVATE_SCHEME.fullmatch(parts.scheme):
        raise LoginError(
            f"redirect_uri {uri[:100]!r} must have https://, be http:// on this machine, or have a "
            "scheme of its program's own with a dot in it, such as com.example.app:"
        )


def _split(uri: str) -> SplitResult | None:
    try:
        parts = urlsplit(uri)
        _ = parts.port
    except ValueError:
        return None
    return parts


def redirect_allowed(client: Client, uri: str) -> bool:
    """Whether a code for this client may be sent there."""
    return any(uri == one or _same_but_port(uri, one) for one in client.redirect_uris)


def _same_but_port(uri: str, registered: str) -> bool:
    """A program on this machine listens where it can: RFC 8252, 7.3."""
    one, other = _split(uri), _split(registered)
    if one is None or other is None or one.scheme != "http" or "@" in one.netloc:
        return False
    if one.hostname not in _LOOPBACK or one.port == 0:
        return False
    return _without_port(uri, one) == _without_port(registered, other)


def _without_port(uri: str, parts: SplitResult) -> str:
    suffix = f":{parts.port}" if parts.port is not None else ""
    return uri.replace(parts.netloc, parts.netloc.removesuffix(suffix), 1)


def register(connection: Connection, metadata: ClientMetadata, now: float) -> Client:
    client = Client(secrets.token_urlsafe(16), metadata.client_name, metadata.redirect_uris, False)
    _keep(connection, client, now, now + UNUSED_SECONDS)
    return client


def is_document_address(client_id: str) -> bool:
    parts = _split(client_id)
    return (
        parts is not None
        and parts.scheme == "https"
        and bool(parts.hostname)
        and len(parts.path) > 1
        and "@" not in parts.netloc
        and "#" not in client_id
        and "\\" not in client_id
        and client_id.isascii()
        and client_id.isprintable()
        and " " not in client_id
        and len(client_id) <= LONGEST_URI
        and not _DOTS.search(parts.path)
    )


def known(connection: Connection, client_id: str, now: float) -> Client | None:
    rows = connection.rows(
        "SELECT id, name, redirect_uris, verified FROM login_clients "
        "WHERE id = ? AND (expires IS NULL OR expires > ?)",
        (client_id, now),
    )
    return _client(rows[0]) if rows else None


def find(database: Database, fetcher: DocumentFetcher, client_id: str, now: float) -> Client | None:
    """The client of an id; LoginError if its document cannot be used."""
    if not client_id or len(client_id) > LONGEST_URI:
        return None
    with database.registry() as connection:
        client = known(connection, client_id, now)
    if client is not None or not is_document_address(client_id):
        return client
    client = _from_document(client_id, fetcher.get(client_id))
    with database.registry(write=True) as connection:
        _keep(connection, client, now, now + DOCUMENT_SECONDS)
    return client


def _from_document(address: str, body: bytes) -> Client:
    found = read_metadata(body)
    if found.client_id != address:
        raise LoginError("its client_id is not its own address")
    if found.token_endpoint_auth_method != "none":
        raise LoginError("it wants to authenticate with a key, which is not supported here")
    return Client(address, found.client_name or address, found.redirect_uris, True)


def _keep(connection: Connection, client: Client, now: float, expires: float) -> None:
    """Keep a client for a while; of its kind, the oldest that nobody uses makes room for it."""
    connection.run("DELETE FROM login_clients WHERE expires <= ? OR id = ?", (now, client.id))
    others = "FROM login_clients WHERE expires IS NOT NULL AND verified = ?"
    ((count,),) = connection.rows(f"SELECT count(*) {others}", (client.verified,))
    if count >= MOST_UNUSED:
        connection.run(
            f"DELETE FROM login_clients WHERE id IN (SELECT id {others} ORDER BY created, id "
            "LIMIT ?)",
            (client.verified, count - MOST_UNUSED + 1),
        )
    uris = msgspec.json.encode(client.redirect_uris).decode()
    row = {**msgspec.structs.asdict(client), "redirect_uris": uris}
    tail = "ON CONFLICT DO NOTHING"
    insert(connection, "login_clients", {**row, "created": now, "expires": expires}, tail)


def _client(row: Any) -> Client:
    uris = msgspec.json.decode(row[2], type=tuple[str, ...])
    return Client(row[0], row[1], uris, bool(row[3]))
