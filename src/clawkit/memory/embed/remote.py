"""Floats from a server: OpenAI's `/v1/embeddings`, or anything that speaks it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from clawkit.errors import RefusedRequestError
from clawkit.memory.embed.embedder import rows_for
from clawkit.models.embeddings import EmbeddingClient

if TYPE_CHECKING:
    from clawkit.store.arrays import Floats

BATCH = 64


class RemoteEmbedder:
    """Asks a server, 64 texts at a time; vectors of one model have one length, or none is kept."""

    def __init__(
        self, name: str, *, url: str, model: str, key: str = "", dimensions: int = 0
    ) -> None:
        self.name = name
        self.dimensions = dimensions
        self._client = EmbeddingClient(name, url, model, key)
        self._lock = threading.Lock()

    def embed(self, texts: Sequence[str]) -> Floats:
        """One row for each text; an empty text has a row of zeros and is not sent."""
        return rows_for(texts, self.dimensions, self._asked)

    def _asked(self, texts: list[str]) -> list[list[float]]:
        rows: list[list[float]] = []
        for start in range(0, len(texts), BATCH):
            rows += self._client.vectors(texts[start : start + BATCH])
        for row in rows:
            self._check_length(len(row))
        return rows

    def close(self) -> None:
        """Give back the connections."""
        self._client.close()

    def _check_length(self, length: int) -> None:
        with self._lock:
            if not self.dimensions and length:
                self.dimensions = length
        if length != self.dimensions:
            identity = self._client.identity
            raise RefusedRequestError(
                self.name,
                f"{identity.base_url} gave a vector of {length} dimensions where {identity.model} "
                f"has {self.dimensions}; nothing was stored. Name the model that the server runs",
            )
