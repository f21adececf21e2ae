"""One request to the login's routes, read whole and strictly, and how it is answered.

Handlers are plain functions that run in threads: they ask the store, and hash passwords. What they
refuse becomes a page for browsers, and JSON as OAuth has it for programs.
"""

from __future__ import annotations

import hmac
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import parse_qsl, quote

import msgspec
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from clawkit.errors import LoginError, ProtocolError, StoreError
from clawkit.login import pages
from clawkit.login.metadata import RESOURCE_METADATA
from clawkit.login.resources import ProtectedServer, ServerAddress
from clawkit.system.addresses import network_of
from clawkit.system.rate_limiter import TokenBuckets
from clawkit.wire.calls import Workers
from clawkit.wire.http.endpoint import HttpRefusal, read_body
from clawkit.wire.http.request_checks import Origins, TrustedProxies, read_headers

LONGEST_BODY = 64 * 1024
MOST_FIELDS = 200
THREADS = 16
OPEN_TO_ALL = {
    "access-control-allow-origin": "*",
    "access-control-allow-methods": "GET, POST, OPTIONS",
    "access-control-allow-headers": "*",
    "cache-control": "no-store",
}
"""What web pages of others may read: nothing of it depends on cookies."""

_MANY = frozenset({"extra"})
_log = logging.getLogger("clawkit.login")


class OAuthRefusal(Exception):
    """Ends a request with an error code of OAuth."""

    def __init__(self, code: str, why: str, status: int = 400, retry: float = 0.0) -> None:
        super().__init__(why)
        self.code = code
        self.why = why
        self.status = status
        self.retry = retry


def slow_down(seconds: float) -> OAuthRefusal:
    wait = math.ceil(seconds)
    why = f"Too many attempts: try again in {wait} s"
    return OAuthRefusal("temporarily_unavailable", why, 429, wait)


class LoginRequest(msgspec.Struct, frozen=True):
    """What a handler knows of a request."""

    method: str
    authority: str
    path: str
    query: str
    fields: Mapping[str, str]
    many: tuple[str, ...]
    body: bytes
    cookies: Mapping[str, str]
    headers: Mapping[str, str]
    caller: str
    """Whom limits count: an address, of IPv6 a network."""
    parameters: Mapping[str, str]

    @property
    def agent(self) -> str:
        """What the browser calls itself."""
        text = self.headers.get("user-agent", "")
        return text if text.isprintable() else ""


Handler = Callable[[LoginRequest], Response]
ResponseType = TypeVar("ResponseType", bound=Response)


def fields_of(text: str) -> tuple[dict[str, str], tuple[str, ...]]:
    """The fields of a query or a form, each there once, and the boxes that are ticked."""
    try:
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict")
    except ValueError:
        raise OAuthRefusal("invalid_request", "The request cannot be read") from None
    fields: dict[str, str] = {}
    for name, value in pairs:
        if name in _MANY:
            continue
        if name in fields:
            raise OAuthRefusal("invalid_request", f"{name[:40]} is there twice")
        fields[name] = value
    return fields, tuple(value for name, value in pairs if name in _MANY)


def count(limit: TokenBuckets, asked: LoginRequest) -> None:
    """One more request of a caller, or none if that would be too many."""
    wait = limit.take(asked.caller)
    if wait:
        raise slow_down(wait)


class RouteMaker:
    """Turns handlers into routes."""

    def __init__(self, origins: Origins, proxies: TrustedProxies) -> None:
        self._origins = origins
        self._proxies = proxies
        self._threads = Workers(THREADS)

    def page(self, path: str, handler: Handler, *methods: str) -> Route:
        """A route for people's browsers."""
        return Route(path, self._endpoint(handler, _page_problem), methods=list(methods))

    def api(self, path: str, handler: Handler, *methods: str) -> Route:
        """A route for programs, also for those in web pages of others."""

        def shared(asked: LoginRequest) -> Response:
            if asked.method == "OPTIONS":
                return Response(status_code=204, headers=OPEN_TO_ALL)
            response = handler(asked)
            response.headers.update(OPEN_TO_ALL)
            return response

        endpoint = self._endpoint(shared, _shared_problem)
        return Route(path, endpoint, methods=[*methods, "OPTIONS"])

    def script(self, path: str, handler: Handler) -> Route:
        """A route that only our own script asks."""
        return Route(path, self._endpoint(handler, json_problem), methods=["POST"])

    def about_resource(
        self,
        server: ProtectedServer,
        address: ServerAddress,
        issuer: str,
        scopes: Callable[[], Sequence[str]],
    ) -> list[Route]:
        """The routes of a server's metadata as a protected resource (RFC 9728), whose tokens this
        issuer gives."""

        def about(asked: LoginRequest) -> Response:
            path = f"/{asked.parameters.get('path', '')}".rstrip("/") or server.main_path
            if not server.is_resource(path):
                raise OAuthRefusal("invalid_target", "There is no such resource here", 404)
            return JSONResponse(
                {
                    "resource": f"{address.seen_as(asked.authority)}{quote(path)}",
                    "authorization_servers": [issuer],
                    "scopes_supported": list(scopes()),
                    "bearer_methods_supported": ["header"],
                    "resource_name": server.title,
                }
            )

        return [
            self.api(RESOURCE_METADATA, about, "GET"),
            self.api(f"{RESOURCE_METADATA}/{{path:path}}", about, "GET"),
        ]

    def _endpoint(
        self, handler: Handler, problem: Callable[[OAuthRefusal], Response]
    ) -> Callable[[HttpRequest], Any]:
        async def endpoint(request: HttpRequest) -> Response:
            try:
                asked = await self._read(request)
                return await self._threads.start(
                    _answered, {"handler": handler, "asked": asked}
                ).outcome
            except OAuthRefusal as refusal:
                return problem(refusal)
            except HttpRefusal as refusal:
                return problem(OAuthRefusal("invalid_request", refusal.message, refusal.status))

        return endpoint

    async def _read(self, request: HttpRequest) -> LoginRequest:
        scope = request.scope
        try:
            headers = read_headers(scope["headers"])
        except ProtocolError as error:
            raise OAuthRefusal("invalid_request", error.message) from None
        reason = self._origins.refuse({"host": headers.get("host", "")})
        if reason is not None:
            raise OAuthRefusal("invalid_request", reason, 403)
        body = b""
        if request.method == "POST":
            body = await read_body(headers, request.receive, LONGEST_BODY)
        is_form = headers.get("content-type", "").startswith("application/x-www-form-urlencoded")
        query = scope.get("query_string", b"").decode("latin-1")
        text = body.decode("latin-1") if is_form else query if request.method != "POST" else ""
        fields, many = fields_of(text)
        return LoginRequest(
            method=request.method,
            authority=headers.get("host", ""),
            path=scope["path"],
            query=query,
            fields=fields,
            many=many,
            body=body,
            cookies=request.cookies,
            headers=headers,
            caller=network_of(self._proxies.caller(scope)),
            parameters=request.path_params,
        )


def _answered(handler: Handler, asked: LoginRequest) -> Response:
    try:
        return handler(asked)
    except LoginError as error:
        raise OAuthRefusal("invalid_request", str(error)) from None
    except StoreError as error:
        _log.error("logins cannot be looked up: %s", error)
        raise OAuthRefusal(
            "temporarily_unavailable", "The store is not available now: try again", 503, 5
        ) from None


def json_problem(refusal: OAuthRefusal) -> JSONResponse:
    told = {"error": refusal.code, "error_description": refusal.why}
    response = JSONResponse(told, refusal.status, headers={"cache-control": "no-store"})
    return _with_retry(response, refusal)


def _shared_problem(refusal: OAuthRefusal) -> JSONResponse:
    response = json_problem(refusal)
    response.headers.update(OPEN_TO_ALL)
    return response


def _page_problem(refusal: OAuthRefusal) -> Response:
    return _with_retry(pages.error_page(refusal.why, refusal.status), refusal)


def _with_retry(response: ResponseType, refusal: OAuthRefusal) -> ResponseType:
    if refusal.retry:
        response.headers["retry-after"] = str(math.ceil(refusal.retry))
    return response


def is_same_secret(one: str, other: str) -> bool:
    """Whether two secrets are the same, in a time that tells nothing."""
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))
