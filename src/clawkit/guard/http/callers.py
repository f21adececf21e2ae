"""Who may call a guard over HTTP: programs of its own user, who has a token, or who logged in."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, cast

from starlette.requests import Request as HttpRequest

from clawkit.errors import AccessError, PinError, SettingsError
from clawkit.guard.pins import Definition, Pins
from clawkit.system.peers import can_tell_users, user_of
from clawkit.wire.http.endpoint import HttpLogin
from clawkit.wire.http.token_login import token_login
from clawkit.wire.http.uvicorn_server import HttpConnection, is_loopback
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

    def theirs(self, headers: Mapping[str, str]) -> dict[str, str]:
        """The headers of a caller who was let in, without those that were for the guard."""
        spent = {TOKEN_HEADER}
        if self.kind == "login" or (self.kind == "token" and TOKEN_HEADER not in headers):
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
    """All programs of one user are one caller."""


def own_user(say: Callable[[str], object]) -> Callers:
    """Programs of the user who runs the guard, where the system can tell; raises SettingsError."""
    if not can_tell_users():
        raise SettingsError(
            "other users of this machine could use the server, as this system "
            f"({sys.platform}) does not say whose program calls: {_MAKE_TOKEN}"
        ).of_usage()
    return Callers("user", HttpLogin(_OwnUser(say).admit, _nobody, ()), _LocalConnection)


def with_token(secret: str) -> Callers:
    """Who shows this token, as the bearer or in a header that leaves `Authorization` free."""
    return Callers("token", token_login(secret, TOKEN_HEADER))


def check_reach(host: str) -> None:
    """Raise SettingsError where others than this machine can reach what nobody has to log in to."""
    if not is_loopback(host):
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
