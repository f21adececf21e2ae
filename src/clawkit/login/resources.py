"""What logins are for: a server's resources and scopes, and what a person is asked about them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol
from urllib.parse import quote, unquote, urlsplit

import msgspec

from clawkit.errors import AccessError, LoginError, SettingsError
from clawkit.login.metadata import RESOURCE_METADATA
from clawkit.login.records import Login, User
from clawkit.system.addresses import is_authority, is_loopback

if TYPE_CHECKING:
    from starlette.routing import Route

REALM = "clawkit"
_SCOPE = re.compile(r'\bscope="([^"]*)"')


class ScopeChoice(msgspec.Struct, frozen=True):
    """A scope that can be granted, in a person's words; `within` is the level that it adds to."""

    scope: str
    words: str
    within: str = ""


class BeingChoice(msgspec.Struct, frozen=True):
    """A Being that a login can be for."""

    number: int
    name: str


class Offer(msgspec.Struct, frozen=True):
    """What a person can agree to: one of the levels, any of the extras, and for which Being.

    A level with an empty scope stands for its extras alone; without a level nothing is granted.
    `beings` is None where a server has none, and empty where this person may use none of them.
    """

    levels: tuple[ScopeChoice, ...]
    extras: tuple[ScopeChoice, ...] = ()
    ticked: frozenset[str] = frozenset()
    beings: tuple[BeingChoice, ...] | None = None

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing that this person could agree to."""
        return not self.levels or self.beings == ()


class Answer(msgspec.Struct, frozen=True):
    """What a person agreed to."""

    scope: str
    being: int | None = None


class ProtectedServer(Protocol):
    title: str
    """What it is called, for people."""

    kind: str
    """Which server it is: a login for one is for no other that is at the same address later."""

    main_path: str
    """The path of the resource that is meant where a client names none."""

    @property
    def scopes(self) -> Sequence[str]:
        """What clients are told that they can ask for."""
        ...

    def is_resource(self, path: str) -> bool:
        """Whether a path is one of its resources; no matter whether something is there."""
        ...

    def is_for(self, person: User) -> bool:
        """Whether somebody may use it at all: asked with every call, as that can change."""
        ...

    def offer(self, person: User, path: str, wanted: Collection[str]) -> Offer:
        """What a person can agree to, where a client asks for these scopes, or for none."""
        ...


class TokenIssuer(Protocol):
    """Whose access tokens open a server: ours, or those of another authorization server."""

    @property
    def challenges(self) -> Challenges:
        """What is said to who shows none."""
        ...

    @property
    def routes(self) -> Sequence[Route]:
        """What is served beside the resource."""
        ...

    def may_be(self, secret: str) -> bool:
        """Whether a text looks like a token of it."""
        ...

    def is_signed(self, secret: str, path: str) -> bool:
        """Whether a token is good by itself, without a look into the store."""
        ...

    def check(self, secret: str, path: str) -> Login | None:
        """Who shows a token for the resource at this path; None, or LoginError, if nobody does."""
        ...


def answer_of(offer: Offer, form: Mapping[str, str], ticked: Collection[str]) -> Answer:
    """What a consent form says, which can be no more than what was offered."""
    if offer.is_empty:
        raise LoginError("There is nothing to agree to.")
    level = form.get("level", offer.levels[0].scope)
    if level not in [one.scope for one in offer.levels]:
        raise LoginError("Choose what it may do.")
    extras = [one.scope for one in offer.extras if one.within == level and one.scope in ticked]
    scope = " ".join(filter(None, (level, *extras)))
    if not scope:
        raise LoginError("Choose at least one thing that it may do.")
    return Answer(scope, _being_of(offer, form))


def _being_of(offer: Offer, form: Mapping[str, str]) -> int | None:
    if offer.beings is None:
        return None
    numbers = {str(one.number): one.number for one in offer.beings}
    if len(numbers) == 1:
        return offer.beings[0].number
    chosen = numbers.get(form.get("being", ""))
    if chosen is None:
        raise LoginError("Choose a Being.")
    return chosen


class ServerAddress:
    """The one origin that a server has for clients and browsers, and others that mean the same."""

    def __init__(self, origin: str, *others: str) -> None:
        self.origin = origin
        self._all = {origin, *others}

    @property
    def host(self) -> str:
        """The host name alone: what passkeys are bound to."""
        return urlsplit(self.origin).hostname or ""

    @property
    def port(self) -> int:
        return urlsplit(self.origin).port or (443 if self.is_secure else 80)

    @property
    def is_secure(self) -> bool:
        return self.origin.startswith("https://")

    def seen_as(self, authority: str) -> str:
        """The origin as a caller with this `Host` knows it."""
        named = f"http://{authority.lower()}"
        return named if named in self._all else self.origin

    def path_of(self, resource: str, main_path: str) -> str | None:
        """The path of a resource here; None for one elsewhere. The origin alone means the main."""
        try:
            parts = urlsplit(resource)
            port = f":{parts.port}" if parts.port is not None else ""
        except ValueError:
            return None
        host = parts.hostname or ""
        origin = f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{port}"
        if origin not in self._all or parts.query or "#" in resource or "@" in parts.netloc:
            return None
        return unquote(parts.path).rstrip("/") or main_path

    def resource(self, path: str) -> str:
        """The one name of a resource: what tokens are bound to."""
        return f"{self.origin}{quote(path.rstrip('/'))}"


def address_of(public_url: str, host: str, port: int) -> ServerAddress:
    """Where a server is, from what it was told, or from where it listens on this machine."""
    if public_url:
        return ServerAddress(checked_origin(public_url))
    local = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    if not is_loopback(local):
        raise SettingsError(
            f"logins at {host} need --public-url https://…: the address that browsers and clients "
            "use, which a proxy with TLS in front of this server has"
        )
    names = ("localhost", "127.0.0.1", "[::1]")
    return ServerAddress(*(f"http://{name}:{port}" for name in names), local)


def checked_origin(url: str, option: str = "--public-url") -> str:
    """The origin of an address where people sign in; `option` is where it was given."""
    try:
        parts = urlsplit(url.rstrip("/"))
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    shown = f"{option} {url[:100]!r}"
    if (
        parts.scheme not in ("http", "https")
        or not parts.hostname
        or not is_authority(parts.netloc)
    ):
        raise SettingsError(f"{shown} must be an address such as https://claw.example.com")
    if parts.path or parts.query or parts.fragment:
        raise SettingsError(
            f"{shown} must end with its host and port: logins need the root of a host name, as "
            "clients look for /.well-known/ there"
        )
    if parts.scheme == "http" and not is_loopback(url):
        raise SettingsError(f"{shown} must have https://: logins over plain HTTP can be stolen")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    usual = {"http": 80, "https": 443}[parts.scheme]
    return f"{parts.scheme}://{host}" + (f":{port}" if port not in (None, usual) else "")


class Challenges:
    """What a caller without the right token is told: where it can get one (RFC 9728)."""

    def __init__(self, address: ServerAddress, names: Mapping[str, str] | None = None) -> None:
        """`names` are what scopes are called where a token can be had, if not as here."""
        self._address = address
        self._names = names or {}

    def named(self, scope: str) -> str:
        """Scopes as whoever issues tokens calls them."""
        return " ".join(self._names.get(one, one) for one in scope.split())

    def refusal(
        self,
        why: str,
        authority: str,
        path: str,
        *,
        status: int = 401,
        error: str = "",
        scope: str = "",
    ) -> AccessError:
        fields = {
            "realm": REALM,
            "error": error,
            "error_description": why if error else "",
            "scope": self.named(scope),
            "resource_metadata": self._metadata(authority, path),
        }
        told = ", ".join(f'{name}="{value}"' for name, value in fields.items() if value)
        return AccessError(why, status=status, challenge=f"Bearer {told}")

    def pointed_out(self, error: AccessError, authority: str, path: str, scope: str) -> AccessError:
        """The same refusal, which says where a token can be had, and with which scope."""
        if not error.challenge:
            return error
        place = f'resource_metadata="{self._metadata(authority, path)}"'
        if "scope=" not in error.challenge:
            place = f'scope="{self.named(scope)}", {place}'
        told = _SCOPE.sub(lambda found: f'scope="{self.named(found[1])}"', error.challenge)
        return AccessError(str(error), status=error.status, challenge=f"{told}, {place}")

    def _metadata(self, authority: str, path: str) -> str:
        origin = self._address.seen_as(authority)
        return f"{origin}{RESOURCE_METADATA}{quote(path.rstrip('/'))}"
