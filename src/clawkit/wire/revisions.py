"""Protocol revisions: names, eras, negotiation, results for older revisions."""

from __future__ import annotations

from typing import Any

MODERN = "2026-07-28"
LEGACY = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
NEWEST_LEGACY = LEGACY[-1]
HEADERLESS_HTTP = "2025-03-26"
"""The revision of an HTTP request without `MCP-Protocol-Version`, by the specification."""

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
NAME_PARAMETER = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}
"""By method, the parameter that the header `Mcp-Name` repeats."""


def negotiate(requested: object) -> str:
    """The revision for `initialize`: the requested one if it is known, else the newest legacy."""
    return requested if isinstance(requested, str) and requested in LEGACY else NEWEST_LEGACY


def _downgrade_block(block: dict[str, Any], version: str) -> dict[str, Any]:
    """Replace a content block that `version` does not know by one that it does."""
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


def downgrade_result(result: dict[str, Any], version: str) -> dict[str, Any]:
    """Convert the content of a tool or prompt result for the handshake revision `version`."""
    if version >= "2025-06-18":
        return result
    if "content" in result:
        content = [_downgrade_block(block, version) for block in result["content"]]
        return {**result, "content": content}
    if "messages" in result:
        messages = [
            {**message, "content": _downgrade_block(message["content"], version)}
            for message in result["messages"]
        ]
        return {**result, "messages": messages}
    return result
