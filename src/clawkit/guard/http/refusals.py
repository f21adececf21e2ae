"""A server's refusal in the terms of HTTP, said in those of JSON-RPC."""

from __future__ import annotations

from clawkit.errors import InternalError, ProtocolError
from clawkit.guard.http.target import Target
from clawkit.guard.http.upstream import Response
from clawkit.guard.strict import has_too_many_values
from clawkit.wire import jsonrpc
from clawkit.wire.jsonrpc import Message, RequestId

BROKEN = "Internal error: the guard could not do this; its stderr says where"


def rpc_error(body: bytes) -> Message | None:
    """The JSON-RPC error that a response consists of, if it does."""
    if has_too_many_values(body):
        return None
    try:
        found = jsonrpc.decode(body)
    except ProtocolError:
        return None
    return found if "error" in found else None


def error_for(request_id: RequestId, body: bytes, response: Response, target: Target) -> bytes:
    """The error for the request that was refused: in HTTP it can be about no other."""
    found = rpc_error(body)
    if found is None:
        return jsonrpc.encode(jsonrpc.failure(request_id, InternalError(refusal(response, target))))
    return body if found.get("id") == request_id else jsonrpc.encode(found | {"id": request_id})


def refusal(response: Response, target: Target) -> str:
    """What a person is told of a status that is an error; never what was sent."""
    status = response.status_code
    if status in (401, 403):
        return (
            f"{target.origin} refused the request ({status}): it wants other credentials. "
            f"The guard takes its headers from {target.source}"
        )
    if status == 404 and "mcp-session-id" in response.request.headers:
        return f"{target.origin} does not know this session any more ({status}): connect again"
    return f"{target.origin} answered with the status {status}"
