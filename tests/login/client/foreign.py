"""A server of others that wants a login, and its authorization server: as good or bad as told."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from tests.guard.http.worlds import served

Handler = Callable[[Request], Awaitable[Response]]
PREFIX = "foreign-"
SCHEMA = {"type": "object", "properties": {}}


class ForeignServer:
    """One origin that is both; `access` and `refresh` are the tokens that are good now."""

    def __init__(self) -> None:
        self.origin = ""
        self.access: dict[str, str] = {}
        self.refresh: dict[str, str] = {}
        self.codes: dict[str, str] = {}
        self.given: set[str] = set()
        """Every secret that it ever gave out."""
        self.calls: list[str] = []
        """The token of each request for the server; empty for none."""
        self.asked: list[dict[str, str]] = []
        """What came to the authorization endpoint."""
        self.registered: list[dict[str, Any]] = []
        self.token_forms: list[dict[str, str]] = []
        self.revoked: list[str] = []
        self.reused = 0
        """How often a refresh token was shown a second time."""
        self.at_once = 0
        """How many refreshes overlapped at most."""
        self._refreshing = 0
        self.scope = "basic"
        """What the challenge asks for."""
        self.needed = ""
        """A scope without which calls are refused."""
        self.lifetime = 3600
        self.slowness = 0.0
        self.resource: dict[str, Any] = {}
        self.metadata: dict[str, Any] = {}
        self.tokens: dict[str, Any] = {}
        self.token_status = 200
        self.answer: dict[str, str | None] = {}
        """What differs from a good answer to the browser."""
        self.replies: dict[str, Response | Handler] = {}
        """What a path answers in place of anything else."""

    @property
    def url(self) -> str:
        return f"{self.origin}/mcp"

    def app(self) -> Starlette:
        routes = (
            ("/mcp", self._mcp, "POST"),
            ("/.well-known/oauth-protected-resource/mcp", self._resource, "GET"),
            ("/.well-known/oauth-authorization-server", self._metadata, "GET"),
            ("/register", self._register, "POST"),
            ("/authorize", self._authorize, "GET"),
            ("/token", self._token, "POST"),
            ("/revoke", self._revoke, "POST"),
        )
        return Starlette(routes=[Route(p, self._or_told(f), methods=[m]) for p, f, m in routes])

    def _or_told(self, usual: Handler) -> Handler:
        async def answer(request: Request) -> Response:
            told: Response | Handler = self.replies.get(request.url.path, usual)
            return told if isinstance(told, Response) else await told(request)

        return answer

    def secret(self) -> str:
        made = PREFIX + secrets.token_urlsafe(24)
        self.given.add(made)
        return made

    def forget_access(self) -> None:
        """Refuse every access token from now on."""
        self.access.clear()

    async def _mcp(self, request: Request) -> Response:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        self.calls.append(token)
        if scheme != "Bearer" or token not in self.access:
            return self.refusal(401, "invalid_token", self.scope)
        if self.needed and self.needed not in self.access[token].split():
            return self.refusal(403, "insufficient_scope", self.needed)
        message = await request.json()
        if "id" not in message:
            return Response(status_code=202)
        return JSONResponse({"jsonrpc": "2.0", "id": message["id"], "result": _result(message)})

    def refusal(self, status: int, error: str, scope: str) -> Response:
        place = f"{self.origin}/.well-known/oauth-protected-resource/mcp"
        told = f'Bearer error="{error}", scope="{scope}", resource_metadata="{place}"'
        return JSONResponse({"error": error}, status, headers={"www-authenticate": told})

    async def _resource(self, _: Request) -> Response:
        usual = {"resource": self.url, "authorization_servers": [self.origin]}
        return JSONResponse({**usual, **self.resource})

    async def _metadata(self, _: Request) -> Response:
        usual = {
            "issuer": self.origin,
            "authorization_endpoint": f"{self.origin}/authorize",
            "token_endpoint": f"{self.origin}/token",
            "registration_endpoint": f"{self.origin}/register",
            "revocation_endpoint": f"{self.origin}/revoke",
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none"],
            "authorization_response_iss_parameter_supported": True,
        }
        return JSONResponse({**usual, **self.metadata})

    async def _register(self, request: Request) -> Response:
        self.registered.append(await request.json())
        return JSONResponse({"client_id": f"client-{len(self.registered)}"}, 201)

    async def _authorize(self, request: Request) -> Response:
        asked = dict(request.query_params)
        self.asked.append(asked)
        code = self.secret()
        self.codes[code] = asked.get("scope", "")
        usual: dict[str, str | None] = {"code": code, "state": asked["state"], "iss": self.origin}
        said = {name: value for name, value in {**usual, **self.answer}.items() if value}
        pairs = "&".join(f"{name}={value}" for name, value in said.items())
        return RedirectResponse(f"{asked['redirect_uri']}?{pairs}")

    async def _token(self, request: Request) -> Response:
        form = {name: str(value) for name, value in (await request.form()).items()}
        self.token_forms.append(form)
        if form["grant_type"] == "refresh_token":
            return await self._refresh(form["refresh_token"])
        if form["grant_type"] == "authorization_code" and form["code"] not in self.codes:
            return JSONResponse({"error": "invalid_grant"}, 400)
        return self._issue(self.codes.pop(form.get("code", ""), form.get("scope", "")))

    async def _refresh(self, shown: str) -> Response:
        self._refreshing += 1
        self.at_once = max(self.at_once, self._refreshing)
        await asyncio.sleep(self.slowness)
        self._refreshing -= 1
        if shown not in self.refresh:
            self.reused += 1
            return JSONResponse({"error": "invalid_grant", "error_description": shown}, 400)
        return self._issue(self.refresh.pop(shown))

    def _issue(self, scope: str) -> Response:
        access, refresh = self.secret(), self.secret()
        usual = {"access_token": access, "token_type": "Bearer", "refresh_token": refresh}
        usual |= {"expires_in": self.lifetime, "scope": scope}
        told = {name: one for name, one in {**usual, **self.tokens}.items() if one is not None}
        if self.token_status == 200:
            self.access[access] = scope
            self.refresh[refresh] = scope
        return JSONResponse(told, self.token_status)

    async def _revoke(self, request: Request) -> Response:
        token = str((await request.form())["token"])
        self.revoked.append(token)
        self.access.pop(token, None)
        self.refresh.pop(token, None)
        return Response()


def _result(message: Mapping[str, Any]) -> dict[str, Any]:
    method = message["method"]
    if method == "initialize":
        return {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "foreign", "version": "1"},
        }
    if method == "tools/list":
        tools = [{"name": "greet", "description": "Say hello.", "inputSchema": SCHEMA}]
        return {"tools": tools}
    return {"content": [{"type": "text", "text": "hello"}]}


@contextmanager
def foreign_server() -> Iterator[ForeignServer]:
    found = ForeignServer()
    with served(found.app()) as origin:
        found.origin = origin
        yield found
