"""HTTP requests to a model's provider, and the JSON events of its streamed answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any

import httpx2
import msgspec

from clawkit.errors import (
    ClawError,
    ContextTooLongError,
    ModelError,
    RefusedKeyError,
    SettingsError,
)
from clawkit.models.json_fields import decoded, fields
from clawkit.models.protocol import ModelSettings
from clawkit.models.provider_errors import (
    ErrorReply,
    ProviderIdentity,
    broke_off,
    context_limit,
    from_status,
    no_stream,
    read_body,
    silent,
    unreachable,
)
from clawkit.system.addresses import check_base_url, is_loopback, origin_of, trusted
from clawkit.text.sse import SseParser

LONGEST_EVENT = 32 * 1024 * 1024
DONE: dict[str, Any] = {"type": "[DONE]"}
"""What OpenAI's streams end with, which is not JSON."""


class MalformedEventError(ClawError):
    """What came is not an event as models send them; the text says what it is instead."""


async def json_events(chunks: AsyncIterator[bytes]) -> AsyncGenerator[dict[str, Any]]:
    """The objects in a stream, as they arrive; comments and empty events only keep it alive."""
    events = SseParser(LONGEST_EVENT)
    async for chunk in chunks:
        for event in events.feed(chunk):
            if event.data != b"":
                yield _object(event.data)
    # Some servers leave out the empty line after the last event. A part of one is no JSON.
    for event in events.feed(b"\n\n"):
        if event.data:
            with suppress(MalformedEventError):
                yield _object(event.data)


def _object(data: bytes | None) -> dict[str, Any]:
    if data is None:
        raise MalformedEventError(f"an event of more than {LONGEST_EVENT // 1024**2} MB")
    if data.strip() == b"[DONE]":
        return DONE
    try:
        value = decoded(data, keep_surrogates=True)
    except ValueError as error:
        raise MalformedEventError(f"an event that is not JSON to be read ({error})") from None
    if not isinstance(value, dict):
        raise MalformedEventError("an event that is not a JSON object")
    return fields(value)


CONNECT_SECONDS = 10.0
_DRAIN_SECONDS = 0.2
_LONGEST_ERROR = 64 * 1024
_LONGEST_DOCUMENT = 32 * 1024 * 1024
# What is packed on the way comes in lumps, and a stream is to be read as it is said.
_HEADERS = {
    "content-type": "application/json",
    "accept": "text/event-stream, application/json",
    "accept-encoding": "identity",
}


class ProviderRefusal(Exception):
    """The provider answered with an error: the error to raise, and what it is made from.

    An adapter that knows how to ask differently reads `error_reply`; everyone else sees `error`.
    """

    def __init__(self, error: ModelError, status: int, error_reply: ErrorReply) -> None:
        super().__init__()
        self.error = error
        self.status = status
        self.error_reply = error_reply

    def limit(self, context: int) -> int:
        """How many tokens fit, now that the provider said so; else as many as was thought."""
        if not isinstance(self.error, ContextTooLongError):
            return context
        return min(context, context_limit(self.error_reply) or context)


class ProviderResponse:
    """The beginning of an answer."""

    def __init__(
        self, identity: ProviderIdentity, response: httpx2.Response, patience: float
    ) -> None:
        self._identity = identity
        self._response = response
        self._patience = patience
        self._chunks = self._arriving()
        self.kind = _kind(response)

    async def events(self) -> AsyncGenerator[dict[str, Any]]:
        """The objects that stream in."""
        try:
            async for event in json_events(self._chunks):
                yield event
        except MalformedEventError as error:
            raise broke_off(self._identity, f"it sent {error}") from None

    async def document(self) -> dict[str, Any]:
        """All of it at once, from a server that does not stream."""
        body = await self._read(_LONGEST_DOCUMENT)
        try:
            value = decoded(body)
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise no_stream(self._identity, self.kind, read_body(body, self.kind))
        return fields(value)

    async def error_reply(self) -> ErrorReply:
        """What an error says."""
        with suppress(ModelError):  # The status is known, even if the words are cut.
            return read_body(await self._read(_LONGEST_ERROR), self.kind)
        return ErrorReply()

    async def drain(self) -> None:
        """Take what little is left, so that the connection can serve the next request."""
        with suppress(TimeoutError, ModelError):
            async with asyncio.timeout(_DRAIN_SECONDS):
                async for _ in self._chunks:
                    pass

    async def _arriving(self) -> AsyncGenerator[bytes]:
        try:
            async for chunk in self._response.aiter_bytes():
                yield chunk
        except httpx2.TimeoutException:
            raise silent(self._identity, self._patience) from None
        except httpx2.HTTPError as error:
            raise broke_off(self._identity, _reason(error)) from None

    async def _read(self, limit: int) -> bytes:
        found = bytearray()
        async for chunk in self._chunks:
            found += chunk
            if len(found) > limit:
                break
        return bytes(found[:limit])


class ProviderClient:
    """Requests to one provider for one model."""

    def __init__(self, settings: ModelSettings, headers: dict[str, str], key_env: str = "") -> None:
        self.base_url = check_base_url(
            settings.provider, settings.base_url, secret=bool(settings.key or settings.headers)
        )
        self.identity = ProviderIdentity(
            provider=settings.provider,
            model=settings.model,
            base_url=self.base_url,
            key_env=key_env,
            has_key=bool(settings.key),
            is_local=is_loopback(self.base_url),
            secrets=(settings.key, *settings.headers.values()),
            address_setting=settings.address_setting,
        )
        _check_key(settings, key_env)
        _check_headers(settings)
        self._timeout = settings.timeout
        self._headers = {"user-agent": "clawkit", **headers, **settings.headers}
        self._opened: httpx2.AsyncClient | None = None

    @property
    def _client(self) -> httpx2.AsyncClient:
        if self._opened is None:
            # A server on this machine that is slow to take a connection is busy, not away.
            connect = (
                self._timeout if self.identity.is_local else min(CONNECT_SECONDS, self._timeout)
            )
            self._opened = httpx2.AsyncClient(
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
                follow_redirects=False,
                headers=self._headers,
                limits=httpx2.Limits(max_connections=None, max_keepalive_connections=20),
                timeout=httpx2.Timeout(self._timeout, connect=connect, pool=None),
                # What runs on this machine is not to be looked for behind a proxy.
                trust_env=not self.identity.is_local,
                verify=trusted(self.base_url),
            )
        return self._opened

    async def close(self) -> None:
        if self._opened is not None:
            client, self._opened = self._opened, None
            await client.aclose()

    @asynccontextmanager
    async def post(self, path: str, body: dict[str, Any]) -> AsyncGenerator[ProviderResponse]:
        """Ask. Leaving the context ends the request, whether it was answered or not."""
        request = self._client.build_request(
            "POST",
            self.base_url + path,
            content=_encoded(body),
            headers=_HEADERS,
        )
        response = await self._begun(request)
        try:
            answer = ProviderResponse(self.identity, response, self._timeout)
            if not response.is_success:
                raise await self._refusal(response, answer)
            if answer.kind == "text/html":
                raise no_stream(self.identity, answer.kind, await answer.error_reply())
            yield answer
        finally:
            await response.aclose()

    async def _begun(self, request: httpx2.Request) -> httpx2.Response:
        try:
            return await self._send(request)
        except httpx2.ConnectTimeout:
            waited = self._timeout if self.identity.is_local else CONNECT_SECONDS
            raise unreachable(self.identity, f"no answer within {waited:g} s") from None
        except httpx2.TimeoutException:
            raise silent(self.identity, self._timeout) from None
        except httpx2.ConnectError as error:
            refused = _is_refusal(error)
            reason = "connection refused" if refused else _reason(error)
            raise unreachable(self.identity, reason, refused=refused) from None
        except httpx2.HTTPError as error:
            raise broke_off(self.identity, _reason(error)) from None

    async def _send(self, request: httpx2.Request) -> httpx2.Response:
        """Some servers promise to keep a connection and close it: on a kept one, ask once more."""
        is_new = False

        async def watch(event: str, _: object) -> None:
            nonlocal is_new
            is_new = is_new or event.startswith("connection.connect_tcp")

        request.extensions["trace"] = watch
        try:
            return await self._client.send(request, stream=True)
        except (httpx2.NetworkError, httpx2.RemoteProtocolError):
            if is_new:
                raise
            return await self._client.send(request, stream=True)

    async def _refusal(
        self, response: httpx2.Response, answer: ProviderResponse
    ) -> ProviderRefusal:
        status = response.status_code
        if 300 <= status < 400:
            error_reply = ErrorReply(origin_of(response.headers.get("location", "")))
        else:
            error_reply = await answer.error_reply()
        return ProviderRefusal(
            from_status(self.identity, status, error_reply, response.headers), status, error_reply
        )


def _check_key(settings: ModelSettings, key_env: str) -> None:
    key = settings.key
    if key and not (key.isascii() and key.isprintable() and " " not in key):
        raise RefusedKeyError(
            settings.provider,
            f"The key in {key_env or 'the settings'} for {settings.provider} has spaces, line ends "
            "or letters that a key cannot have: set it again, or run `claw setup`",
        )


def _check_headers(settings: ModelSettings) -> None:
    for name, value in settings.headers.items():
        token = name.isascii() and name.replace("-", "").replace("_", "").isalnum()
        if not (token and value.isascii() and value.isprintable()):
            raise SettingsError(
                f"[providers.{settings.provider}] headers: {name!r} has a name or a value "
                "with characters that a header cannot have"
            )


def _encoded(body: dict[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:  # Half a character, say of a file's name: no provider takes it.
        return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")


def _kind(response: httpx2.Response) -> str:
    header: str = response.headers.get("content-type", "")
    return header.partition(";")[0].strip().lower()


def _reason(error: httpx2.HTTPError) -> str:
    """The library's words, which for a connection have nothing of the request in them."""
    if isinstance(error, (httpx2.ConnectError, httpx2.ProxyError)) and str(error):
        return str(error)
    return f"the connection ended ({type(error).__name__})"


def _is_refusal(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ConnectionRefusedError):
            return True
        if "refused" in str(error).lower():
            return True
        error = error.__cause__ or error.__context__
    return False
