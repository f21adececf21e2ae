"""The revisions of the protocol: names, eras, and what an older one cannot carry."""

from __future__ import annotations

from typing import Any

MODERN = "2026-07-28"
LEGACY = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
NEWEST_LEGACY = LEGACY[-1]
HEADERLESS_HTTP = "2025-03-26"
"""What an HTTP request without `MCP-Protocol-Version` speaks, as the specification says."""

META_VERSION = "io.modelcontextprotocol/protocolVersion"
META_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
META_CLIENT = "io.modelcontextprotocol/clientInfo"
META_LOG_LEVEL = "io.modelcontextprotocol/logLevel"
META_SERVER = "io.modelcontextprotocol/serverInfo"
META_SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
TASKS = "io.modelcontextprotocol/tasks"
APPS = "io.modelcontextprotocol/ui"
"""The extension MCP Apps: a page of the server's own that a host shows beside a tool's result."""
APP_TYPE = "text/html;profile=mcp-app"

LOG_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
TRACE_KEYS = ("traceparent", "tracestate", "baggage")
NAMED_BY = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}
"""The parameter that `Mcp-Name` repeats, by method."""


def negotiate(requested: object) -> str:
    """What `initialize` answers: the requested revision, or the newest of the handshake era."""
    return requested if isinstance(requested, str) and requested in LEGACY else NEWEST_LEGACY


def fit_block(block: dict[str, Any], version: str) -> dict[str, Any]:
    """A content block as `version` can carry it; the same object when nothing has to change."""
    kind = block.get("type")
    if kind == "audio" and version < "2025-03-26":
        resource = {
            "uri": "attachment://audio",
            "mimeType": block["mimeType"],
            "blob": block["data"],
        }
        return {"type": "resource", "resource": resource}
    if kind == "resource_link" and version < "2025-06-18":
        return {"type": "text", "text": f"{block.get('name', '')}: {block['uri']}"}
    return block


def fit_result(result: dict[str, Any], version: str) -> dict[str, Any]:
    """A tool or prompt result as the handshake revision `version` can carry it."""
    if version >= "2025-06-18":
        return result
    if "content" in result:
        return {**result, "content": [fit_block(block, version) for block in result["content"]]}
    if "messages" in result:
        messages = [{**m, "content": fit_block(m["content"], version)} for m in result["messages"]]
        return {**result, "messages": messages}
    return result
