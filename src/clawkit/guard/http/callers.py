"""Who may call a guard over HTTP, and when a client can log in to the server behind it.

Callers are programs of the guard's own user, who has a token, or who logged in. A client's login to
the server goes through the guard: `login_relay` does it, loaded when a server first wants one.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from starlette.requests import Request as HttpRequest

from clawkit.errors import AccessError, LoginError, PinError, SettingsError
from clawkit.guard.http.client_request import (
    RELAY,
    ClientPlace,
    passed_back,
)
from clawkit.guard.http.upstream import Response, Target, UpstreamError, refusal
from clawkit.guard.pins import Definition, Pins
from clawkit.system.addresses import is_loopback_host
from clawkit.system.peers import can_tell_users, user_of
from clawkit.wire.http.endpoint import HttpLogin
from clawkit.wire.http.response import HeaderList, Receive, SendAsgi
from clawkit.wire.http.token_login import token_login
from clawkit.wire.http.uvicorn_server import HttpConnection
from clawkit.wire.jsonrpc import Message

TOKEN_HEADER = "x-claw-token"
AUTHORIZATION = "authorization"

_USER = "clawkit.peer_user"
_MAKE_TOKEN = (
    "give --token-file FILE (`openssl rand -hex 32 > FILE && chmod 600 FILE` makes one), and the "
    "client's entry the header X-Claw-Token with what is in it; or let people log in with --login"
)


class Callers(NamedTuple):
    """Who may call, and how they show it."""

    kind: Literal["user", "token", "login"]
    login: HttpLogin
    connection: type[HttpConnection] = HttpConnection

    def use_authorization(self, headers: Mapping[str, str]) -> bool:
        """Whether the caller's `Authorization` was for the guard."""
        return self.kind == "login" or (self.kind == "token" and TOKEN_HEADER not in headers)

    def theirs(self, headers: Mapping[str, str]) -> dict[str, str]:
        """The headers of a caller who was let in, without those that were for the guard."""
        spent = {TOKEN_HEADER}
        if self.use_authorization(headers):
            spent.add(AUTHORIZATION)
        return {name: value for name, value in headers.items() if name not in spent}


class _LocalConnection(HttpConnection):
    """A connection that knows whose program is at its other end."""

    _user: int | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        ends = (transport.get_extra_info(name) for name in ("peername", "sockname"))
        self._user = user_of(*ends)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        cast("dict[str, Any]", self.scope)[_USER] = self._user


class _OwnUser:
    """Lets in programs of the user who runs the guard; says once of each other that it did not."""

    def __init__(self, say: Callable[[str], object]) -> None:
        self._say = say
        self._told: set[int | None] = set()

    async def admit(self, request: HttpRequest) -> None:
        user = request.scope.get(_USER)
        if user == os.geteuid():
            return
        whose = "a program that cannot be seen" if user is None else f"a program of user {user}"
        why = (
            f"This guard is for programs of the user who started it ({os.geteuid()}), and this is "
            f"{whose}: to let others in, {_MAKE_TOKEN}"
        )
        if user not in self._told:
            self._told.add(user)
            self._say(f"refused {whose}: to let others in, {_MAKE_TOKEN}")
        raise AccessError(why, status=403, challenge="")


def _nobody(_request: HttpRequest, _message: Message | None) -> None:
    """The principal of all programs of this user, which are one caller."""


def own_user(say: Callable[[str], object]) -> Callers:
    """Programs of the user who runs the guard, where the system can tell; raises SettingsError."""
    if not can_tell_users():
        raise SettingsError(
            "other users of this machine could use the server, as this system "
            f"({sys.platform}) does not say whose program calls: {_MAKE_TOKEN}"
        ).of_usage()
    return Callers("user", HttpLogin(_OwnUser(say).admit, _nobody, ()), _LocalConnection)


def with_token(secret: str) -> Callers:
    """Lets in whoever shows this token, as the bearer or in a header of our own."""
    return Callers("token", token_login(secret, TOKEN_HEADER))


def check_reach(host: str) -> None:
    """Raise SettingsError where others than this machine can reach what nobody has to log in to."""
    if not is_loopback_host(host):
        raise SettingsError(
            f"at {host} anybody who reaches this machine could use the server and its "
            f"credentials: {_MAKE_TOKEN}; or listen on 127.0.0.1"
        ).of_usage()


class PinnedTool(NamedTuple):
    definition: Definition


class PinnedTools:
    """A guarded server's tools, as far as they have been seen: what logins can be for."""

    def __init__(self, pins: Pins, origin: str) -> None:
        self.name = f"{pins.server}@{origin}"
        self._pins = pins

    @property
    def tools(self) -> dict[str, PinnedTool]:
        try:
            pinned = self._pins.tools()
        except PinError:  # nobody has listed them yet
            return {}
        found = {name: pin.accepted for name, pin in pinned.items()}
        return {name: PinnedTool(one) for name, one in found.items() if one is not None}


if TYPE_CHECKING:
    from clawkit.guard.http.login_relay import LoginRelay

# As in `login.metadata`, which is not loaded before somebody logs in.
_SERVED = (
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-authorization-server",
    RELAY,
)
_CHALLENGE = b"www-authenticate"
_TWO_LOGINS = (
    "whoever calls this guard logs in to the guard, and cannot log in to the server as well: give "
    "the guard a token for it"
)
_OURS_IN_ITS_PLACE = (
    "the header Authorization has the guard's own token: send that as X-Claw-Token, and the client "
    "can log in through the guard"
)


class ClientLogins:
    def __init__(
        self, target: Target, callers: Callers, place: ClientPlace, paths: Sequence[str]
    ) -> None:
        self._target = target
        self._callers = callers
        self._place = place
        self._paths = paths
        # What the guard itself sends would stand in the place of a client's token.
        self._possible = AUTHORIZATION not in target.headers and callers.kind != "login"

    @cached_property
    def _relay(self) -> LoginRelay:
        from clawkit.guard.http.login_relay import open_relay

        return open_relay(self._target, self._place, self._paths)

    def serves(self, path: str) -> bool:
        """Whether a path is one of those that a login takes."""
        return self._possible and path.startswith(_SERVED)

    async def serve(self, scope: Any, receive: Receive, send: SendAsgi) -> None:
        await self._relay.app(scope, receive, send)

    async def refused(
        self, path: str, headers: Mapping[str, str], response: Response
    ) -> HeaderList:
        """The headers with which a refusal goes on to a client that came to this path.

        Its challenge leads to the guard, and not past it. Raises UpstreamError, which says why,
        where the server wants a login that cannot be done through the guard.
        """
        fields = passed_back(response)
        if response.status_code not in (401, 403):
            return fields
        others = [field for field in fields if field[0] != _CHALLENGE]
        if not self._possible or self._callers.use_authorization(headers):
            if response.status_code == 401:
                raise UpstreamError(502, self._impossible(response))
            return others
        said: str = response.headers.get(_CHALLENGE.decode(), "")
        if response.status_code == 403 and "bearer" not in said.lower():
            return fields
        try:
            challenge = await self._relay.challenge(said, path, headers.get("host", ""))
        except LoginError as error:
            wants = f"{self._target.origin} wants a login that cannot be done through the guard"
            raise UpstreamError(502, f"{wants}: {error}. {self._instead}") from None
        return fields if challenge is None else [*others, (_CHALLENGE, challenge.encode())]

    def _impossible(self, response: Response) -> str:
        if AUTHORIZATION in self._target.headers:
            return refusal(response, self._target)
        wants = f"{self._target.origin} wants a login (401)"
        if self._callers.kind == "token":
            return f"{wants}, and {_OURS_IN_ITS_PLACE}"
        return f"{wants}, and {_TWO_LOGINS}. {self._instead}"

    @property
    def _instead(self) -> str:
        return f"The guard takes a token from {self._target.source}"
