"""Vectors from a server: OpenAI's `/v1/embeddings`, or anything that speaks it.

It follows no redirect, so a key goes where the settings say and nowhere else. What is asked of
one model is answered with vectors of one length, or not at all.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

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
from clawkit.memory.embed.protocol import cut, normalised

if TYPE_CHECKING:
    import httpx2

    from clawkit.memory.embed.protocol import Vectors

BATCH = 64
TRIES = 4
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 20.0
TIMEOUT_SECONDS = 30.0
_LONGEST_QUOTE = 200


class _Row(msgspec.Struct):
    index: int
    embedding: list[float]


class _Reply(msgspec.Struct):
    data: list[_Row]


class RemoteEmbedder:
    """Asks a server, 64 texts at a time, and again where it was busy."""

    def __init__(
        self,
        name: str,
        *,
        url: str,
        model: str,
        key: str = "",
        dimensions: int = 0,
        timeout: float = TIMEOUT_SECONDS,
        first_pause: float = FIRST_PAUSE,
    ) -> None:
        self.name = name
        self.dimensions = dimensions
        self._url = url.rstrip("/") + "/embeddings"
        self._model = model
        self._key = key
        self._timeout = timeout
        self._first_pause = first_pause
        self._lock = threading.Lock()
        self._client: httpx2.Client | None = None

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row for each text; an empty text has a row of zeros and is not sent."""
        import numpy as np

        shortened = [cut(text) for text in texts]
        filled = [at for at, text in enumerate(shortened) if text]
        rows: list[list[float]] = []
        for start in range(0, len(filled), BATCH):
            rows += self._asked([shortened[at] for at in filled[start : start + BATCH]])
        out = np.zeros((len(texts), self.dimensions), np.float32)
        if rows:
            out[filled] = normalised(rows)
        return out

    def close(self) -> None:
        """Give back the connections."""
        with self._lock:
            client, self._client = self._client, None
        if client:
            client.close()

    def _asked(self, texts: list[str]) -> list[list[float]]:
        pause = self._first_pause
        for left in reversed(range(TRIES)):
            try:
                return self._checked(self._posted(texts), len(texts))
            except (RateLimitError, ProviderDownError, ModelTimeoutError) as error:
                wait = getattr(error, "retry_after", None) or pause
                if not left or wait > LONGEST_PAUSE:
                    raise
            time.sleep(wait)
            pause *= 2
        raise AssertionError

    def _posted(self, texts: list[str]) -> bytes:
        import httpx2

        body: dict[str, Any] = {"model": self._model, "input": texts, "encoding_format": "float"}
        headers = {"authorization": f"Bearer {self._key}"} if self._key else {}
        try:
            response = self._connected().post(self._url, json=body, headers=headers)
        except httpx2.TimeoutException as error:
            raise ModelTimeoutError(
                self.name, f"{self._url} gave no vectors for {self._timeout:g} s; try again later"
            ) from error
        except httpx2.HTTPError as error:
            raise ProviderDownError(
                self.name,
                f"{self._url} cannot be reached: {self._quoted(str(error))}. "
                "Check the address and the network",
            ) from error
        if response.status_code != 200:
            raise self._refusal(response)
        return response.content

    def _connected(self) -> httpx2.Client:
        import httpx2

        with self._lock:
            if self._client is None:
                self._client = httpx2.Client(timeout=self._timeout, follow_redirects=False)
            return self._client

    def _checked(self, content: bytes, count: int) -> list[list[float]]:
        try:
            data = msgspec.json.decode(content, type=_Reply).data
        except msgspec.MsgspecError as error:
            raise RefusedRequestError(
                self.name,
                f"{self._url} answered with something that is no list of vectors ({error}); "
                "is it the address of an OpenAI-compatible server, up to /v1?",
            ) from error
        rows = {row.index: row.embedding for row in data}
        if sorted(rows) != list(range(count)):
            raise RefusedRequestError(
                self.name, f"{self._url} gave {len(rows)} vectors for {count} texts"
            )
        for row in rows.values():
            self._check_length(len(row))
        return [rows[at] for at in range(count)]

    def _check_length(self, length: int) -> None:
        with self._lock:
            if not self.dimensions and length:
                self.dimensions = length
        if length != self.dimensions:
            raise RefusedRequestError(
                self.name,
                f"{self._url} gave a vector of {length} dimensions where {self._model} has "
                f"{self.dimensions}; nothing was stored. Name the model that the server runs",
            )

    def _refusal(self, response: httpx2.Response) -> ModelError:
        status = response.status_code
        said = f'{status}: "{self._quoted(response.text)}"'
        if status in (401, 403) and not self._key:
            return MissingKeyError(self.name, f"{self._url} wants a key, and none is set ({said})")
        if status in (401, 403):
            return RefusedKeyError(self.name, f"{self._url} does not accept the key ({said})")
        if status == 404:
            return NoSuchModelError(
                self.name, f"{self._url} does not know {self._model!r} ({said}); check both"
            )
        if status == 429:
            wait = _seconds(response.headers.get("retry-after", ""))
            return RateLimitError(self.name, f"{self._url}: too many requests ({said})", wait)
        if status >= 500:
            return ProviderDownError(self.name, f"{self._url} fails ({said}); try again later")
        return RefusedRequestError(self.name, f"{self._url} does not take the request ({said})")

    def _quoted(self, text: str) -> str:
        if self._key:
            text = text.replace(self._key, "[redacted]")
        return " ".join(text.split())[:_LONGEST_QUOTE]


def _seconds(text: str) -> float | None:
    try:
        return max(0.0, float(text))
    except ValueError:
        return None
