"""When a client can log in to the server behind the guard, through it; `login_relay` does it.

That is loaded when a server first wants a login.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from clawkit.errors import LoginError
from clawkit.guard.http.callers import AUTHORIZATION, TOKEN_HEADER, Callers
from clawkit.guard.http.client_request import (
    RELAY,
    ClientPlace,
    passed_back,
)
from clawkit.guard.http.upstream import Response, Target, UpstreamError, refusal
from clawkit.wire.http.response import HeaderList, Receive, SendAsgi

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
    """The logins of clients to one server."""

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
        if not self._possible or self._is_taken(headers):
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

    def _is_taken(self, headers: Mapping[str, str]) -> bool:
        """Whether the caller's `Authorization` was for the guard."""
        return self._callers.kind == "token" and TOKEN_HEADER not in headers

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
