"""A protected resource's metadata (RFC 9728): what clients are told, and who issues tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from urllib.parse import quote

from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from clawkit.login.metadata import RESOURCE_METADATA
from clawkit.login.requests import LoginRequest, OAuthRefusal, RouteMaker
from clawkit.login.resources import ProtectedServer, ServerAddress


def resource_routes(
    make: RouteMaker,
    server: ProtectedServer,
    address: ServerAddress,
    issuer: str,
    scopes: Callable[[], Sequence[str]],
) -> list[Route]:
    """The routes that tell of a server's resources, whose tokens this issuer gives."""

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
        make.api(RESOURCE_METADATA, about, "GET"),
        make.api(f"{RESOURCE_METADATA}/{{path:path}}", about, "GET"),
    ]
