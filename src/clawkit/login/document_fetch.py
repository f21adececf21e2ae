"""Exchanges small JSON documents with an address that a stranger named.

They go over HTTPS only, to public addresses only, unless the caller says otherwise, and what a name
was resolved to is what is connected to. No redirect is followed, no proxy used. Their size is
limited, and so is the time from the look-up of the name to the last byte.
"""

from __future__ import annotations

import queue
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpcore2

from clawkit.errors import LoginError
from clawkit.system.addresses import is_public

LONGEST = 64 * 1024
SECONDS = 5.0
AT_ONCE = 4

NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class _Deadline:
    """When a fetch must be over; all that it waits for is given what is left until then."""

    def __init__(self, seconds: float) -> None:
        self._until = time.monotonic() + seconds

    def left(self) -> float:
        seconds = self._until - time.monotonic()
        if seconds <= 0:
            raise httpcore2.ReadTimeout
        return seconds


class _TimedStream(httpcore2.NetworkStream):
    """A connection that ends with its deadline, however often something comes."""

    def __init__(self, stream: httpcore2.NetworkStream, deadline: _Deadline) -> None:
        self._stream = stream
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002 - the deadline counts
        return self._stream.read(max_bytes, self._deadline.left())

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002 - the same
        self._stream.write(buffer, self._deadline.left())

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002 - the same
    ) -> httpcore2.NetworkStream:
        inner = self._stream.start_tls(ssl_context, server_hostname, self._deadline.left())
        return _TimedStream(inner, self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def resolved(host: str, port: int, seconds: float) -> set[str]:
    """The addresses of a name. A look-up cannot be stopped: one that is late is left alone."""
    answers: queue.SimpleQueue[set[str] | Exception] = queue.SimpleQueue()

    def look_up() -> None:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            answers.put({str(entry[4][0]) for entry in found})
        except (OSError, UnicodeError) as error:
            answers.put(error)

    threading.Thread(target=look_up, name="claw-look-up", daemon=True).start()
    try:
        answer = answers.get(timeout=seconds)
    except queue.Empty:
        raise httpcore2.ConnectTimeout from None
    if isinstance(answer, Exception):
        raise answer
    return answer


class _CheckedBackend(httpcore2.NetworkBackend):
    """Connects only to addresses that may be connected to, until a deadline."""

    def __init__(self, may_connect: Callable[[str], bool], deadline: _Deadline) -> None:
        self._may_connect = may_connect
        self._deadline = deadline
        self._plain = httpcore2.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002 - the deadline counts
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        found = resolved(host, port, self._deadline.left())
        if not found or not all(map(self._may_connect, found)):
            raise LoginError(f"{host} is not a public address")
        chosen = min(found, key=lambda one: ":" in one)
        stream = self._plain.connect_tcp(
            chosen, port, self._deadline.left(), local_address, socket_options
        )
        return _TimedStream(stream, self._deadline)


class Unreachable(LoginError):
    """Nothing came from an address, or not what was asked for; that can change."""


class Reply(NamedTuple):
    """What an address answered; `kind` is the type of its content, without parameters."""

    status: int
    kind: str
    body: bytes

    @property
    def is_json(self) -> bool:
        return self.kind == "application/json" or self.kind.endswith("+json")


class DocumentFetcher:
    """Gets documents, few at a time."""

    def __init__(
        self,
        *,
        may_connect: Callable[[str], bool] = is_public,
        may_be_plain: Callable[[str], bool] = lambda _: False,
        tls: ssl.SSLContext | None = None,
        seconds: float = SECONDS,
        longest: int = LONGEST,
        at_once: int = AT_ONCE,
    ) -> None:
        """`may_connect` is asked about an IP address, `may_be_plain` about a URL with http://."""
        self._may_connect = may_connect
        self._may_be_plain = may_be_plain
        self._tls = tls
        self._seconds = seconds
        self._longest = longest
        self._at_once = threading.BoundedSemaphore(at_once)

    def get(self, url: str, headers: Mapping[str, str] = NO_HEADERS) -> bytes:
        """The JSON at an address; LoginError says why there is none."""
        return _json(self.exchange("GET", url, None, headers))

    def post(self, url: str, form: bytes, headers: Mapping[str, str] = NO_HEADERS) -> bytes:
        """The JSON that answers a form."""
        kind = {"content-type": "application/x-www-form-urlencoded"}
        return _json(self.exchange("POST", url, form, {**kind, **headers}))

    def exchange(
        self,
        method: str,
        url: str,
        body: bytes | None = None,
        headers: Mapping[str, str] = NO_HEADERS,
    ) -> Reply:
        """What an address answers, with whatever status; LoginError if that cannot be used."""
        if urlsplit(url).scheme != "https" and not self._may_be_plain(url):
            raise LoginError("it must be an address with https://")
        if not self._at_once.acquire(blocking=False):
            raise Unreachable("too many documents are being fetched: try again in a moment")
        try:
            return self._exchange(method, url, body, headers)
        except (httpcore2.NetworkError, httpcore2.ProtocolError, OSError, ssl.SSLError):
            raise Unreachable("it cannot be reached") from None
        except UnicodeError:
            raise LoginError("it has no host name that can be used") from None
        except httpcore2.TimeoutException:
            raise Unreachable("it takes too long") from None
        finally:
            self._at_once.release()

    def _exchange(
        self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]
    ) -> Reply:
        tls = self._tls
        if tls is None and urlsplit(url).scheme == "https":
            tls = ssl.create_default_context()
        backend = _CheckedBackend(self._may_connect, _Deadline(self._seconds))
        fields = {"accept": "application/json", "user-agent": "clawkit", **headers}
        with (
            httpcore2.ConnectionPool(ssl_context=tls, network_backend=backend) as pool,
            pool.stream(method, url, headers=list(fields.items()), content=body) as response,
        ):
            return Reply(response.status, _kind_of(response), self._read(response.iter_stream()))

    def _read(self, parts: Iterable[bytes]) -> bytes:
        body = b""
        for part in parts:
            body += part
            if len(body) > self._longest:
                raise LoginError(f"it has more than {self._longest} bytes")
        return body


def _json(reply: Reply) -> bytes:
    if reply.status != 200:
        problem = Unreachable if reply.status >= 500 else LoginError
        raise problem(f"it answers with the status {reply.status}")
    if not reply.is_json:
        raise LoginError("it is not JSON")
    return reply.body


def _kind_of(response: httpcore2.Response) -> str:
    kinds = [value for name, value in response.headers if name.lower() == b"content-type"]
    return kinds[0].decode("latin-1").partition(";")[0].strip().lower() if kinds else ""
