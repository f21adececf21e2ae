"""The signed `requestState` of multi-round-trip requests: what was asked and answered so far.

It passes through the client, so it is authenticated (HMAC-SHA256), it expires, and it is bound to
the method, the arguments and the principal of the request that it belongs to.
"""

from __future__ import annotations

import time
from typing import Any

import msgspec

from clawkit.errors import InvalidParamsError

LIFETIME_SECONDS = 600


class Rounds(msgspec.Struct, frozen=True):
    """What earlier rounds established: the questions put, by digest, and the answers given."""

    count: int = 0
    asked: dict[str, str] = {}
    answers: dict[str, Any] = {}


NO_ROUNDS = Rounds()
"""The rounds of a call that has not asked anything yet."""


class _Sealed(msgspec.Struct, frozen=True, array_like=True):
    expires: int
    binding: str
    rounds: Rounds


def digest(value: Any) -> str:
    """A short name for a JSON value, the same for the same value."""
    import hashlib

    encoded = msgspec.json.encode(value, order="deterministic")
    return hashlib.sha256(encoded).hexdigest()[:32]


class StateSeal:
    """Signs and opens request state; servers that share their clients share the secret too."""

    def __init__(self, secret: bytes | None = None, lifetime: int = LIFETIME_SECONDS) -> None:
        self._secret = secret
        self._lifetime = lifetime

    def _sign(self, payload: bytes) -> bytes:
        import hmac
        import secrets

        if self._secret is None:
            self._secret = secrets.token_bytes(32)
        return hmac.digest(self._secret, payload, "sha256")

    def seal(self, rounds: Rounds, binding: str) -> str:
        import base64

        sealed = _Sealed(int(time.time()) + self._lifetime, binding, rounds)
        payload = msgspec.json.encode(sealed)
        token = base64.urlsafe_b64encode(self._sign(payload) + payload)
        return token.decode().rstrip("=")

    def open(self, token: object, binding: str) -> Rounds:
        """The rounds in `token`; raises InvalidParamsError unless sealed for this binding."""
        import base64
        import hmac

        if not isinstance(token, str):
            raise InvalidParamsError("Invalid params: requestState must be a string")
        try:
            raw = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
        except ValueError:
            raise InvalidParamsError("Invalid params: requestState is damaged") from None
        signature, payload = raw[:32], raw[32:]
        if not hmac.compare_digest(signature, self._sign(payload)):
            raise InvalidParamsError("Invalid params: requestState was not issued here")
        sealed = msgspec.json.decode(payload, type=_Sealed)
        if sealed.expires < time.time():
            raise InvalidParamsError("Invalid params: requestState has expired; call again")
        if not hmac.compare_digest(sealed.binding.encode(), binding.encode()):
            raise InvalidParamsError("Invalid params: requestState belongs to another request")
        return sealed.rounds
