"""The client of embedding servers: OpenAI's `POST {base_url}/embeddings`, synchronously.

It follows no redirect, so a key goes where the settings say and nowhere else.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import msgspec

from clawkit.errors import ModelError, RefusedRequestError
from clawkit.models.provider_errors import (
    ProviderIdentity,
    from_status,
    read_body,
    silent,
    unreachable,
)
from clawkit.models.retries import pause_before_retry
from clawkit.system.addresses import is_loopback, trusted

if TYPE_CHECKING:
    import httpx2

TRIES = 4
TIMEOUT_SECONDS = 30.0
LONGEST_PAUSE = 20.0


class _Row(msgspec.Struct):
    index: int
    embedding: list[float]


class _Reply(msgspec.Struct):
    data: list[_Row]


class EmbeddingClient:
    """Asks one model of a server, and again where it was busy. It may be called by any thread."""

    def __init__(self, name: str, base_url: str, model: str, key: str = "") -> None:
        self.base_url = base_url.rstrip("/")
        self.identity = ProviderIdentity(
            provider=name,
            model=model,
            base_url=self.base_url,
            has_key=bool(key),
            is_local=is_loopback(base_url),
            secrets=(key,),
            address_setting="the address of the embedder",
        )
        self._headers = {"authorization": f"Bearer {key}"} if key else {}
        self._lock = threading.Lock()
        self._client: httpx2.Client | None = None

    def vectors(self, texts: list[str]) -> list[list[float]]:
        """One vector for each text, in their order."""
        for tried in range(TRIES):
            try:
                return self._asked(texts)
            except ModelError as error:
                pause = pause_before_retry(error, tried)
                if tried + 1 == TRIES or pause is None or pause > LONGEST_PAUSE:
                    raise
            time.sleep(pause)
        raise AssertionError

    def close(self) -> None:
        """Give back the connections."""
        with self._lock:
            client, self._client = self._client, None
        if client:
            client.close()

    def _asked(self, texts: list[str]) -> list[list[float]]:
        import httpx2

        body = {"model": self.identity.model, "input": texts, "encoding_format": "float"}
        try:
            response = self._connected().post(f"{self.base_url}/embeddings", json=body)
        except httpx2.TimeoutException:
            raise silent(self.identity, TIMEOUT_SECONDS) from None
        except httpx2.HTTPError as error:
            raise unreachable(self.identity, str(error)) from None
        if response.status_code != 200:
            kind = response.headers.get("content-type", "")
            said = read_body(response.content, kind)
            raise from_status(self.identity, response.status_code, said, response.headers)
        return self._checked(response.content, len(texts))

    def _connected(self) -> httpx2.Client:
        import httpx2

        with self._lock:
            if self._client is None:
                self._client = httpx2.Client(
                    timeout=TIMEOUT_SECONDS,
                    follow_redirects=False,
                    headers=self._headers,
                    verify=trusted(self.base_url),
                )
            return self._client

    def _checked(self, content: bytes, count: int) -> list[list[float]]:
        try:
            data = msgspec.json.decode(content, type=_Reply).data
        except msgspec.MsgspecError as error:
            raise RefusedRequestError(
                self.identity.provider,
                f"{self.base_url} answered with something that is no list of vectors ({error}); "
                "is it the address of an OpenAI-compatible server, up to /v1?",
            ) from error
        rows = {row.index: row.embedding for row in data}
        if sorted(rows) != list(range(count)):
            raise RefusedRequestError(
                self.identity.provider,
                f"{self.base_url} gave {len(rows)} vectors for {count} texts",
            )
        return [rows[at] for at in range(count)]
