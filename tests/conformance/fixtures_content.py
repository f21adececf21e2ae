"""Owns the plain tools: each kind of content, logs, progress, errors, schemas and headers."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from clawkit import Context, Field, Media, SdkMcpTool, ToolContent, ToolResult
from tests.conformance.everything import red_pixel, server, silence


@server.tool(name="test_simple_text")
def simple_text() -> str:
    """Returns one text."""
    return "This is a simple text response for testing."


@server.tool(name="test_image_content")
def image_content() -> Media:
    """Returns one image."""
    return Media(red_pixel(), "image/png")


@server.tool(name="test_audio_content")
def audio_content() -> Media:
    """Returns one sound."""
    return Media(silence(), "audio/wav")


@server.tool(name="test_embedded_resource")
def embedded_resource() -> ToolContent:
    """Returns one document."""
    text = "This is an embedded resource content."
    return ToolContent.resource("test://embedded-resource", text, "text/plain")


@server.tool(name="test_multiple_content_types")
def multiple_content_types() -> ToolResult:
    """Returns a text, an image and a document."""
    data = '{"test":"data","value":123}'
    return ToolResult.new(
        [
            ToolContent.text("Multiple content types test:"),
            ToolContent.image(red_pixel(), "image/png"),
            ToolContent.resource("test://mixed-content-resource", data, "application/json"),
        ]
    )


@server.tool(name="test_error_handling")
def error_handling() -> ToolResult:
    """Fails, always."""
    return ToolResult.error("This tool intentionally returns an error for testing")


@server.tool(name="test_tool_with_logging")
async def with_logging(context: Context) -> str:
    """Logs three times while it works."""
    context.log("info", "Tool execution started")
    await asyncio.sleep(0.05)
    context.log("info", "Tool processing data")
    await asyncio.sleep(0.05)
    context.log("info", "Tool execution completed")
    return "Logged three messages."


@server.tool(name="test_logging_tool")
def logging_tool(context: Context) -> str:
    """Logs once; only a client that asked for logs hears of it."""
    context.log("error", "Only for those who asked")
    return "Logged one message."


@server.tool(name="test_tool_with_progress")
async def with_progress(context: Context) -> str:
    """Tells how far it is, three times."""
    context.progress(0, 100)
    await asyncio.sleep(0.05)
    context.progress(50, 100)
    await asyncio.sleep(0.05)
    context.progress(100, 100)
    return "Reported its progress."


@server.tool(name="test_x_mcp_header")
def header(region: Annotated[str, Field(header="Region")]) -> str:
    """Takes an argument that HTTP clients send in a header too."""
    return f"Region {region}"


@server.tool(name="test_trigger_tool_change")
def trigger_tool_change() -> str:
    """Adds a tool, or takes it away again."""
    if server.get_tool("test_dynamic_tool") is None:
        server.tool(
            lambda: "Here for now.", name="test_dynamic_tool", description="Comes and goes."
        )
    else:
        server.remove_tool("test_dynamic_tool")
    return "The tools have changed."


@server.tool(name="test_trigger_prompt_change")
def trigger_prompt_change() -> str:
    """Adds a prompt, or takes it away again."""
    if "test_dynamic_prompt" in server.prompts:
        server.remove_prompt("test_dynamic_prompt")
    else:
        server.prompt("test_dynamic_prompt", description="Comes and goes.")(lambda: "Here for now.")
    return "The prompts have changed."


async def _describe_contact(contact: dict[str, Any]) -> ToolResult:
    return ToolResult.text(f"Contact with {', '.join(sorted(contact)) or 'nothing'}.")


server.register_tool(
    SdkMcpTool(
        "json_schema_2020_12_tool",
        "A tool whose hand-written schema uses the vocabulary of JSON Schema 2020-12.",
        {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "$defs": {
                "address": {
                    "$anchor": "addressDef",
                    "type": "object",
                    "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
                }
            },
            "properties": {
                "name": {"type": "string"},
                "address": {"$ref": "#/$defs/address"},
                "contactMethod": {"type": "string", "enum": ["phone", "email"]},
                "phone": {"type": "string"},
                "email": {"type": "string"},
            },
            "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
            "if": {
                "properties": {"contactMethod": {"const": "phone"}},
                "required": ["contactMethod"],
            },
            "then": {"required": ["phone"]},
            "else": {"required": ["email"]},
            "additionalProperties": False,
        },
        _describe_contact,
    )
)
