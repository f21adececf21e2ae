"""A login by one secret token."""

from __future__ import annotations

import hmac

from starlette.requests import Request as HttpRequest

from clawkit.errors import AccessError
from clawkit.wire.http.endpoint import HttpLogin
from clawkit.wire.jsonrpc import Message
from clawkit.wire.session import Principal

CALLER = "token"
"""The principal of everybody who has the token."""


def token_login(secret: str, header: str = "") -> HttpLogin:
    """A login by this secret as the bearer token, or as the value of `header` if that is sent."""
    expected = secret.encode()
    where = f", or not in the header {header}" if header else ""

    async def admit(request: HttpRequest) -> None:
        shown = request.headers.get(header) if header else None
        if shown is None:
            shown = _bearer(request)
        if not hmac.compare_digest(shown.strip().encode(), expected):
            raise AccessError(f"The bearer token is missing or wrong{where}")

    def who(_request: HttpRequest, _message: Message | None) -> Principal:
        return Principal(CALLER)

    return HttpLogin(admit, who, ())


def _bearer(request: HttpRequest) -> str:
    scheme, _, shown = request.headers.get("authorization", "").partition(" ")
    return shown if scheme.lower() == "bearer" else ""
