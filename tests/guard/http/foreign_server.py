"""A server of others that wants a login: the official SDK's, with its authorization server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mcp.server.auth.provider import (
    AuthorizationParams,
    AuthorizeError,
    ProviderTokenVerifier,
)
from mcp.server.auth.routes import create_auth_routes
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthClientInformationFull
from pydantic import AnyHttpUrl
from starlette.applications import Starlette

from clawkit.wire.http.uvicorn_server import listen
from tests.guard.http.worlds import served
from tests.login.client import official

SCOPE = "use"


class Provider(official.Provider):
    """Gives tokens for one resource, and remembers for which they were asked."""

    def __init__(self, resource: str) -> None:
        super().__init__(SCOPE)
        self.resource = resource
        self.resources: list[str | None] = []

    async def authorize(
        self, client: OAuthClientInformationFull, params: AuthorizationParams
    ) -> str:
        self.resources.append(params.resource)
        if params.resource != self.resource:
            raise AuthorizeError("invalid_request", "no such resource")
        return await super().authorize(client, params)


class ForeignServer:
    """A running server with two tools, and its authorization server at another origin."""

    def __init__(self, origin: str, issuer: str, provider: Provider) -> None:
        self.origin = origin
        self.mcp = f"{origin}/mcp"
        self.issuer = issuer
        self.provider = provider


def _free_origin() -> str:
    with listen("127.0.0.1", 0) as one:
        return f"http://127.0.0.1:{one.getsockname()[1]}"


@contextmanager
def foreign_server() -> Iterator[ForeignServer]:
    issuer, origin = _free_origin(), _free_origin()
    provider = Provider(f"{origin}/mcp")
    settings = AuthSettings(
        issuer_url=AnyHttpUrl(issuer),
        resource_server_url=AnyHttpUrl(provider.resource),
        required_scopes=[SCOPE],
        validate_token_resource=True,
    )
    server = MCPServer("foreign", token_verifier=ProviderTokenVerifier(provider), auth=settings)

    @server.tool()
    def read(path: str) -> str:
        """Read a file."""
        return f"what is in {path}"

    @server.tool()
    def delete(path: str) -> str:
        """Delete a file."""
        raise AssertionError(f"{path} was deleted")

    routes = create_auth_routes(
        provider,
        AnyHttpUrl(issuer),
        client_registration_options=ClientRegistrationOptions(
            enabled=True, valid_scopes=[SCOPE], default_scopes=[SCOPE]
        ),
        revocation_options=RevocationOptions(enabled=True),
    )
    with (
        served(Starlette(routes=list(routes)), issuer),
        served(server.streamable_http_app(), origin),
    ):
        yield ForeignServer(origin, issuer, provider)
