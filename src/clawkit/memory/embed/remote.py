"""Vectors from a server: OpenAI's `/v1/embeddings`, or anything that speaks it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from clawkit.errors import RefusedRequestError
from clawkit.memory.embed.protocol import cut, normalised
from clawkit.models.embeddings import EmbeddingClient

if TYPE_CHECKING:
    from clawkit.memory.embed.protocol import Vectors

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

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row for each text; an empty text has a row of zeros and is not sent."""
        import numpy as np

        shortened = [cut(text) for text in texts]
        filled = [at for at, text in enumerate(shortened) if text]
        rows: list[list[float]] = []
        for start in range(0, len(filled), BATCH):
            rows += self._client.vectors([shortened[at] for at in filled[start : start + BATCH]])
        for row in rows:
            self._check_length(len(row))
        out = np.zeros((len(texts), self.dimensions), np.float32)
        if rows:
            out[filled] = normalised(rows)
        return out

    def close(self) -> None:
        """Give back the connections."""
        self._client.close()

    def _check_length(self, length: int) -> None:
        with self._lock:
            if not self.dimensions and length:
                self.dimensions = length
        if length != self.dimensions:
            party = self._client.party
            raise RefusedRequestError(
                self.name,
                f"{party.base_url} gave a vector of {length} dimensions where {party.model} has "
                f"{self.dimensions}; nothing was stored. Name the model that the server runs",
            )
