"""Lets in whoever shows one secret token: the simplest login that an HTTP server can have."""

from __future__ import annotations

import hmac

from starlette.requests import Request as HttpRequest

from clawkit.errors import AccessError
from clawkit.wire.http.endpoint import HttpLogin
from clawkit.wire.jsonrpc import Message
from clawkit.wire.session import Principal

CALLER = "token"
"""Who calls, for sessions and tasks: all that have the token are one."""


def token_login(secret: str) -> HttpLogin:
    """A login by this secret, which is checked before a body is read."""
    expected = secret.encode()

    async def admit(request: HttpRequest) -> None:
        scheme, _, shown = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not hmac.compare_digest(shown.strip().encode(), expected):
            raise AccessError("The bearer token is missing or wrong")

    def who(_request: HttpRequest, _message: Message | None) -> Principal:
        return Principal(CALLER)

    return HttpLogin(admit, who, ())
