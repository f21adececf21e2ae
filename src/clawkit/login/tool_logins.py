"""Logins to a server of tools: to all of it, or to tools by name; who calls, and what they may."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol
from urllib.parse import quote

from starlette.requests import Request as HttpRequest

from clawkit.errors import LoginError, StoreError
from clawkit.login.identities import UnknownAccountError
from clawkit.login.options import LoginOptions, token_issuer
from clawkit.login.records import Login, User
from clawkit.login.resources import Offer, ScopeChoice, ServerAddress, TokenIssuer
from clawkit.store.database import Database
from clawkit.wire.calls import Workers
from clawkit.wire.http.endpoint import HttpLogin, HttpRefusal
from clawkit.wire.http.request_checks import Origins, TrustedProxies
from clawkit.wire.jsonrpc import Message, as_object
from clawkit.wire.session import Principal

ALL = "all"
TOOL = "tool:"

_LONGEST_WORDS = 200
_THREADS = 8
_READS = ("resources/read", "resources/subscribe", "prompts/get", "completion/complete")
"""What no scope of tools covers."""

_KEY = "clawkit.login"
_log = logging.getLogger("clawkit.login")


class GrantableTool(Protocol):
    """A tool that a login can be for."""

    @property
    def definition(self) -> Mapping[str, Any]: ...


class ToolOffer(Protocol):
    """What has a name and tools: a server, or what is known of one elsewhere."""

    @property
    def name(self) -> str: ...

    @property
    def tools(self) -> Mapping[str, GrantableTool]: ...


class ToolLogins:
    """A server's tools as what people log in to."""

    main_path = "/mcp"
    scopes: Sequence[str] = (ALL,)
    """Not the names of tools: strangers read this."""

    def __init__(
        self, server: ToolOffer, title: str, *, kind: str = "tools", members: bool = True
    ) -> None:
        """`members` says whether it is for them, too, or for owners alone."""
        self.title = title
        self.kind = quote(f"{kind}:{server.name}")
        self._members = members
        self._server = server

    def is_resource(self, path: str) -> bool:
        return path == self.main_path

    def is_for(self, person: User) -> bool:
        return self._members or person.role == "owner"

    def offer(self, person: User, path: str, wanted: Collection[str]) -> Offer:  # noqa: ARG002 - there is one path
        if not self.is_for(person):
            return Offer(())
        tools = self._server.tools
        names = sorted(filter(_plain, tools))
        if not names:
            return Offer((ScopeChoice(ALL, "Use all that it offers, also what comes later"),))
        if len(tools) == 1 and ALL not in wanted:
            return Offer((ScopeChoice(f"{TOOL}{names[0]}", f"Call its tool {names[0]}"),))
        extras = [ScopeChoice(f"{TOOL}{name}", _words(name, tools[name])) for name in names]
        asked = {one.scope for one in extras} & set(wanted)
        only = ScopeChoice("", "Call only these tools:")
        if asked and ALL not in wanted:
            chosen = tuple(one for one in extras if one.scope in asked)
            return Offer((only,), chosen, frozenset(asked))
        everything = ScopeChoice(ALL, "Call every tool, also those that come later")
        return Offer((everything, only), tuple(extras), frozenset(one.scope for one in extras))


def _words(name: str, tool: GrantableTool) -> str:
    about = str(tool.definition.get("description") or "").strip().partition("\n")[0]
    return f"{name}: {about[:_LONGEST_WORDS]}" if about else name


class ToolGate:
    """The hook that says who calls a server with a login's token."""

    def __init__(self, server: TokenIssuer, path: str) -> None:
        self._server = server
        self._path = path
        self._threads = Workers(_THREADS)

    async def admit(self, request: HttpRequest) -> None:
        """Let in who shows a login's token, before a body is read."""
        host = request.headers.get("host", "")
        scheme, _, secret = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not secret.strip():
            raise self._server.challenges.refusal(
                "Log in first, or show a bearer token", host, self._path, scope=ALL
            )
        why = "The token is not known, over, or not for this server"
        try:
            login = await self._checked(secret.strip())
        except UnknownAccountError as error:
            raise self._server.challenges.refusal(
                str(error), host, self._path, status=403
            ) from None
        except LoginError as error:
            login, why = None, str(error)
        if login is None:
            raise self._server.challenges.refusal(
                why, host, self._path, error="invalid_token", scope=ALL
            )
        request.scope[_KEY] = login

    async def __call__(self, request: HttpRequest, message: Message | None) -> Principal:
        """Who calls; AccessError if their login is not for this call."""
        if _KEY not in request.scope:
            await self.admit(request)
        login: Login = request.scope.pop(_KEY)  # whoever asks again, for a stream, looks again
        wanted = _scope_for(message)
        if wanted and ALL not in login.scopes and wanted not in login.scopes:
            raise self._server.challenges.refusal(
                f"The token may not do this: it lacks the scope {wanted}",
                request.headers.get("host", ""),
                self._path,
                status=403,
                error="insufficient_scope",
                scope=" ".join(sorted({*login.scopes, wanted})),
            )
        person = login.person
        return Principal(f"{person.name}.{person.id[:8]}", login.scopes, login)

    async def _checked(self, secret: str) -> Login | None:
        try:
            return await self._threads.start(self._check, {"secret": secret}).outcome
        except StoreError as error:
            _log.error("logins cannot be looked up: %s", error)
            raise HttpRefusal(503, "Logins are not available now", (b"retry-after", b"5")) from None

    def _check(self, secret: str) -> Login | None:
        if not self._server.may_be(secret):
            return None
        return self._server.check(secret, self._path)


def _scope_for(message: Message | None) -> str:
    """The scope that a message needs; empty where any login will do."""
    method = (message or {}).get("method")
    if method in _READS:
        return ALL
    if method != "tools/call":
        return ""
    name = (as_object((message or {}).get("params")) or {}).get("name")
    return f"{TOOL}{name}" if isinstance(name, str) and _plain(name) else ALL


def _plain(name: str) -> bool:
    """Whether a name can stand in a header as it is."""
    return name.isascii() and name.isprintable() and not set(name) & set(' "\\')


def tool_login(
    database: Database,
    server: ToolOffer,
    title: str,
    address: ServerAddress,
    origins: Origins,
    proxies: TrustedProxies,
    *,
    kind: str = "tools",
    members: bool = True,
    options: LoginOptions | None = None,
) -> HttpLogin:
    logins = ToolLogins(server, title, kind=kind, members=members)
    login = token_issuer(options or LoginOptions(), database, logins, address, origins, proxies)
    gate = ToolGate(login, logins.main_path)
    return HttpLogin(gate.admit, gate, login.routes)
