"""A language model as patrol asks it: one system text, one prompt, one answer.

It speaks the Anthropic Messages API or OpenAI's chat completions, streamed, so that a long answer
is not mistaken for silence. The key is shown to nobody but the address that is set: no redirect is
followed, and no error or log repeats it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from clawkit.errors import ModelError, ModelTimeoutError, ProviderDownError, RefusedKeyError
from clawkit.memory.asking import Party, tried
from clawkit.system.addresses import is_private, origin_of

if TYPE_CHECKING:
    import httpx2

ANTHROPIC_URL = "https://api.anthropic.com"
OPENAI_URL = "https://api.openai.com/v1"
ANTHROPIC_MODEL = "claude-sonnet-4-6"
OPENAI_MODEL = "gpt-4.1-mini"
TIMEOUT_SECONDS = 60.0
"""For how long nothing may come."""
LONGEST_SECONDS = 300.0
"""How long one answer may take, however much still comes."""
RETRIES = 2

_ANTHROPIC_VERSION = "2023-06-01"
_FIRST_PAUSE = 0.5
_LONGEST_ANSWER = 1_000_000


class Llm(Protocol):
    """Answers. It may be called from any thread."""

    def complete(self, system: str, prompt: str, max_tokens: int) -> str:
        """The text of the answer; `ModelError` if there is none."""
        ...


def llm(
    key: str,
    *,
    url: str | None = None,
    model: str | None = None,
    timeout: float = TIMEOUT_SECONDS,
    longest: float = LONGEST_SECONDS,
    first_pause: float = _FIRST_PAUSE,
) -> Llm:
    """The model that a key is for: `sk-ant-…` is Anthropic's, any other speaks OpenAI's API.

    `CLAW_ANTHROPIC_URL` and `CLAW_OPENAI_URL` say where they are asked, if not at home.
    """
    if not key.isascii() or not key.isprintable() or not key or " " in key:
        raise RefusedKeyError("model", "what was given as the model key is no key: copy it again")
    wire: Wire
    if key.startswith("sk-ant-"):
        base = url or os.environ.get("CLAW_ANTHROPIC_URL") or ANTHROPIC_URL
        wire = Anthropic(base.rstrip("/"), model or ANTHROPIC_MODEL)
    else:
        base = url or os.environ.get("CLAW_OPENAI_URL") or OPENAI_URL
        wire = OpenAi(base.rstrip("/"), model or OPENAI_MODEL)
    _check(wire)
    return HttpLlm(wire, key, timeout, longest, first_pause)


def _check(wire: Wire) -> None:
    """A key goes over plain http to this machine and into private networks only."""
    if not wire.address.startswith("https://") and not (
        wire.address.startswith("http://") and is_private(wire.address)
    ):
        raise RefusedKeyError(
            wire.provider,
            f"the model key is not sent to {origin_of(wire.address) or 'what is no address'}: "
            "on the internet an address begins with https://",
        )


class Wire(Protocol):
    """How one kind of provider is asked, and how it answers."""

    provider: str
    address: str
    model: str

    def headers(self, key: str) -> dict[str, str]: ...

    def body(self, system: str, prompt: str, max_tokens: int) -> dict[str, Any]: ...

    def piece(self, event: dict[str, Any]) -> tuple[str, bool]:
        """The text in one event of the stream, and whether the answer ends with it."""
        ...


class Anthropic:
    """The Messages API."""

    provider = "anthropic"

    def __init__(self, base: str, model: str) -> None:
        self.address = base + ("/messages" if base.endswith("/v1") else "/v1/messages")
        self.model = model

    def headers(self, key: str) -> dict[str, str]:
        return {"x-api-key": key, "anthropic-version": _ANTHROPIC_VERSION}

    def body(self, system: str, prompt: str, max_tokens: int) -> dict[str, Any]:
        return {
            "model": self.model,
            "max_tokens": max_tokens,
            "system": system,
            "messages": [{"role": "user", "content": prompt}],
            "stream": True,
        }

    def piece(self, event: dict[str, Any]) -> tuple[str, bool]:
        kind = event.get("type")
        if kind == "content_block_delta":
            delta: dict[str, Any] = event.get("delta") or {}
            return str(delta.get("text") or ""), False
        return "", kind == "message_stop"


class OpenAi:
    """Chat completions, of OpenAI and of everyone who speaks the same."""

    provider = "openai"

    def __init__(self, base: str, model: str) -> None:
        self.address = base + "/chat/completions"
        self.model = model

    def headers(self, key: str) -> dict[str, str]:
        return {"authorization": f"Bearer {key}"}

    def body(self, system: str, prompt: str, max_tokens: int) -> dict[str, Any]:
        return {
            "model": self.model,
            "max_tokens": max_tokens,
            "messages": [
                {"role": "system", "content": system},
                {"role": "user", "content": prompt},
            ],
            "stream": True,
        }

    def piece(self, event: dict[str, Any]) -> tuple[str, bool]:
        for choice in event.get("choices") or ():
            delta: dict[str, Any] = choice.get("delta") or {}
            return str(delta.get("content") or ""), bool(choice.get("finish_reason"))
        return "", False


class HttpLlm:
    """Asks over HTTP, and again where the provider was busy or away."""

    def __init__(
        self, wire: Wire, key: str, timeout: float, longest: float, first_pause: float
    ) -> None:
        self._wire = wire
        self._party = Party(wire.provider, wire.address, wire.model, key)
        self._timeout = timeout
        self._longest = longest
        self._first_pause = first_pause

    def __repr__(self) -> str:
        return f"HttpLlm({self._wire.provider}, {self._wire.model!r})"

    def complete(self, system: str, prompt: str, max_tokens: int) -> str:
        body = self._wire.body(system, prompt, max_tokens)
        return tried(partial(self._asked, body), RETRIES + 1, self._first_pause)

    def _asked(self, body: dict[str, Any]) -> str:
        import httpx2

        wire = self._wire
        try:
            with (
                httpx2.Client(timeout=self._timeout, follow_redirects=False) as client,
                client.stream(
                    "POST", wire.address, json=body, headers=wire.headers(self._party.key)
                ) as response,
            ):
                if response.status_code != 200:
                    response.read()
                    raise self._party.refusal(response)
                return self._heard(response)
        except httpx2.TimeoutException:
            raise self._party.silent(self._timeout) from None
        except httpx2.HTTPError as error:
            raise self._party.away(error) from None

    def _heard(self, response: httpx2.Response) -> str:
        pieces: list[str] = []
        size, ended = 0, False
        until = time.monotonic() + self._longest
        for event in self._events(response):
            if time.monotonic() > until:
                raise ModelTimeoutError(
                    self._wire.provider,
                    f"{self._wire.address} did not end its answer within {self._longest:g} s",
                )
            if event.get("error"):
                raise self._fault(event["error"])
            text, last = self._wire.piece(event)
            ended = ended or last
            size += len(text)
            if size > _LONGEST_ANSWER:
                break
            pieces.append(text)
        if not ended:
            raise ProviderDownError(
                self._wire.provider, f"{self._wire.address} broke off its answer; try again later"
            )
        return "".join(pieces)

    def _events(self, response: httpx2.Response) -> Iterator[dict[str, Any]]:
        for line in _lines(response):
            data = line.removeprefix(b"data:").strip()
            if not line.startswith(b"data:") or data == b"[DONE]":
                continue
            try:
                yield msgspec.json.decode(data, type=dict[str, Any])
            except msgspec.MsgspecError as error:
                raise ProviderDownError(
                    self._wire.provider,
                    f"{self._wire.address} sent what is no event ({error}); try again later",
                ) from None

    def _fault(self, error: Any) -> ModelError:
        """An error in the middle of an answer."""
        said = self._party.quoted(msgspec.json.encode(error).decode())
        return ProviderDownError(
            self._wire.provider, f"{self._wire.address} broke off its answer: {said}"
        )


def _lines(response: httpx2.Response) -> Iterator[bytes]:
    """The lines of a stream; the library's own end at separators that JSON may hold."""
    rest = b""
    for chunk in response.iter_bytes():
        *whole, rest = (rest + chunk).split(b"\n")
        yield from whole
    if rest:
        yield rest
