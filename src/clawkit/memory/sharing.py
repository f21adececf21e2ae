"""What to hand to somebody so that their client reaches a Being: an address and a new token."""

from __future__ import annotations

import json
import re
from urllib.parse import unquote, urlsplit

import msgspec

from clawkit.hosts.clients import ClientApp, client_called
from clawkit.hosts.paste import paste_for_url
from clawkit.memory import tokens
from clawkit.memory.being_store import DEFAULT_BEING, BeingStore
from clawkit.memory.http.served_address import PORT, address_for, served_url
from clawkit.memory.records import Being, Scope, Token
from clawkit.system.addresses import check_address

ANY_CLIENT = ClientApp(id="any", title="Most clients", places=("",))
_USUAL = f"http://127.0.0.1:{PORT}/mcp"
_OWN = "memory"
_ALIASES = {"claude": "claude-code"}


class ShareRequest(msgspec.Struct, frozen=True):
    """For which client, for whom, with what right, until when; `url` is where others reach it."""

    client: ClientApp = ANY_CLIENT
    person: str = ""
    scope: Scope = "full"
    expires: float | None = None
    owner: bool = False
    url: str = ""


class SharedBeing(msgspec.Struct, frozen=True):
    """What to hand to somebody; the token is in it, and nowhere else."""

    name: str
    entry: str
    """What clients call it in their files."""

    url: str
    token: str
    info: Token
    client: str
    place: str
    config: str
    served: bool


def share_being(store: BeingStore, being: Being, wanted: ShareRequest) -> SharedBeing:
    """Make a token, and what to paste with it: this once."""
    client = wanted.client
    running = wanted.url or served_url(store.database.address)
    named = f"({client.title})" if client is not ANY_CLIENT else ""
    token, info = tokens.issue(
        store,
        being,
        scope=wanted.scope,
        expires=wanted.expires,
        label=" ".join(filter(None, (wanted.person, named))) or "shared",
        person=wanted.person,
        owner=wanted.owner,
    )
    address = address_for(running or _USUAL, being)
    paste = paste_for_url(client, entry_name(being.name), address, token)
    return SharedBeing(
        being.name,
        entry_name(being.name),
        address,
        token,
        info,
        client.id,
        paste.place,
        _indented(paste.text),
        bool(running),
    )


def entry_name(being: str) -> str:
    """What clients call a Being of that name in their files: `memory` for your own."""
    name = re.sub(r"[^\w.-]+", "-", being).strip("-")
    return _OWN if not name or being == DEFAULT_BEING else name


def entry_name_of(url: str) -> str:
    """The same for the address of a Being; the id of one does not tell its name."""
    last = unquote(urlsplit(url).path.rstrip("/").rpartition("/")[2])
    is_name = last != "mcp" and not re.fullmatch(r"[0-9a-fA-F-]{36}", last)
    return entry_name(last) if is_name else _OWN


def app_called(client: str) -> ClientApp:
    """The client of that name; what most of them take, without one."""
    return client_called(_ALIASES.get(client.casefold(), client)) if client else ANY_CLIENT


def address_given(url: str) -> str:
    """The address of `/mcp` at a server, which need not be written out."""
    if not url:
        return ""
    url = check_address("--url", url, secret=True).rstrip("/")
    return url if url.endswith("/mcp") else f"{url}/mcp"


def _indented(text: str) -> str:
    return json.dumps(json.loads(text), indent=2, ensure_ascii=False) if text[:1] == "{" else text
