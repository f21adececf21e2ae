"""What is common to asking a model's server: its refusals in words, and another try.

The key is in nothing that comes out of here.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import msgspec

from clawkit.errors import (
    MissingKeyError,
    ModelError,
    ModelTimeoutError,
    NoSuchModelError,
    ProviderDownError,
    RateLimitError,
    RefusedKeyError,
    RefusedRequestError,
)

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")

LONGEST_PAUSE = 20.0
_LONGEST_QUOTE = 200


class Party(msgspec.Struct, frozen=True):
    """Whom is asked: a model, at an address, with a key."""

    provider: str
    address: str
    model: str
    key: str = ""

    def __repr__(self) -> str:
        return f"Party({self.provider!r}, {self.address!r}, {self.model!r})"

    def quoted(self, text: str) -> str:
        """What somebody said, in short and without the key."""
        if self.key:
            text = text.replace(self.key, "[redacted]")
        return " ".join(text.split())[:_LONGEST_QUOTE]

    def silent(self, seconds: float) -> ModelTimeoutError:
        text = f"{self.address} was silent for {seconds:g} s; try again later"
        return ModelTimeoutError(self.provider, text)

    def away(self, error: Exception) -> ProviderDownError:
        return ProviderDownError(
            self.provider,
            f"{self.address} cannot be reached: {self.quoted(str(error))}. "
            "Check the address and the network",
        )

    def refusal(self, response: httpx2.Response) -> ModelError:
        """The error that a status stands for."""
        status, who, where = response.status_code, self.provider, self.address
        said = f'{status}: "{self.quoted(response.text)}"'
        if status in (401, 403) and not self.key:
            return MissingKeyError(who, f"{where} wants a key, and none is set ({said})")
        if status in (401, 403):
            return RefusedKeyError(who, f"{where} does not accept the key ({said})")
        if status == 404:
            return NoSuchModelError(
                who, f"{where} does not know {self.model!r} ({said}); check both"
            )
        if status == 429:
            wait = _seconds(response.headers.get("retry-after", ""))
            return RateLimitError(who, f"{where}: too many requests ({said})", wait)
        if status >= 500:
            return ProviderDownError(who, f"{where} fails ({said}); try again later")
        return RefusedRequestError(who, f"{where} does not take the request ({said})")


def tried(
    ask: Callable[[], T],
    tries: int,
    pause: float,
    again: tuple[type[ModelError], ...] = (RateLimitError, ProviderDownError),
) -> T:
    """Ask, and ask again where it was busy or away, with longer and longer pauses."""
    for left in reversed(range(tries)):
        try:
            return ask()
        except again as error:
            wait = getattr(error, "retry_after", None) or pause
            if not left or wait > LONGEST_PAUSE:
                raise
        time.sleep(wait)
        pause *= 2
    raise AssertionError


def _seconds(text: str) -> float | None:
    try:
        return max(0.0, float(text))
    except ValueError:
        return None
