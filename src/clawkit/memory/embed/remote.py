"""Vectors from a server: OpenAI's `/v1/embeddings`, or anything that speaks it.

It follows no redirect, so a key goes where the settings say and nowhere else. What is asked of
one model is answered with vectors of one length, or not at all.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from clawkit.errors import (
    ModelTimeoutError,
    ProviderDownError,
    RateLimitError,
    RefusedRequestError,
)
from clawkit.memory.asking import Party, tried
from clawkit.memory.embed.protocol import cut, normalised

if TYPE_CHECKING:
    import httpx2

    from clawkit.memory.embed.protocol import Vectors

BATCH = 64
TRIES = 4
FIRST_PAUSE = 0.5
TIMEOUT_SECONDS = 30.0
_AGAIN = (RateLimitError, ProviderDownError, ModelTimeoutError)


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
        self._party = Party(name, url.rstrip("/") + "/embeddings", model, key)
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
        return tried(partial(self._once, texts), TRIES, self._first_pause, _AGAIN)

    def _once(self, texts: list[str]) -> list[list[float]]:
        import httpx2

        party = self._party
        body: dict[str, Any] = {"model": party.model, "input": texts, "encoding_format": "float"}
        headers = {"authorization": f"Bearer {party.key}"} if party.key else {}
        try:
            response = self._connected().post(party.address, json=body, headers=headers)
        except httpx2.TimeoutException as error:
            raise party.silent(self._timeout) from error
        except httpx2.HTTPError as error:
            raise party.away(error) from error
        if response.status_code != 200:
            raise party.refusal(response)
        return self._checked(response.content, len(texts))

    def _connected(self) -> httpx2.Client:
        import httpx2

        with self._lock:
            if self._client is None:
                self._client = httpx2.Client(timeout=self._timeout, follow_redirects=False)
            return self._client

    def _checked(self, content: bytes, count: int) -> list[list[float]]:
        where = self._party.address
        try:
            data = msgspec.json.decode(content, type=_Reply).data
        except msgspec.MsgspecError as error:
            raise RefusedRequestError(
                self.name,
                f"{where} answered with something that is no list of vectors ({error}); "
                "is it the address of an OpenAI-compatible server, up to /v1?",
            ) from error
        rows = {row.index: row.embedding for row in data}
        if sorted(rows) != list(range(count)):
            raise RefusedRequestError(
                self.name, f"{where} gave {len(rows)} vectors for {count} texts"
            )
        for row in rows.values():
            self._check_length(len(row))
        return [rows[at] for at in range(count)]

    def _check_length(self, length: int) -> None:
        where = self._party.address
        with self._lock:
            if not self.dimensions and length:
                self.dimensions = length
        if length != self.dimensions:
            raise RefusedRequestError(
                self.name,
                f"{where} gave a vector of {length} dimensions where {self._party.model} has "
                f"{self.dimensions}; nothing was stored. Name the model that the server runs",
            )
