"""Owns the resources, the prompts and the completion that the suite reads."""

from __future__ import annotations

from typing import Any

from clawkit import Media, ToolContent
from clawkit.tools.text_features import user
from tests.conformance.everything import red_pixel, server


@server.resource("test://static-text", mime_type="text/plain")
def static_text() -> str:
    """A text that never changes."""
    return "This is the content of the static text resource."


@server.resource("test://static-binary", mime_type="image/png")
def static_binary() -> bytes:
    """An image that never changes."""
    return red_pixel()


@server.resource("test://watched-resource", mime_type="text/plain")
def watched_resource() -> str:
    """A text that clients subscribe to."""
    return "Watched resource content"


@server.resource("test://template/{id}/data", mime_type="application/json")
def template_data(id: str) -> dict[str, Any]:
    """One document for every id."""
    return {"id": id, "templateTest": True, "data": f"Data for ID: {id}"}


@server.prompt("test_simple_prompt")
def simple_prompt() -> str:
    """One message without arguments."""
    return "This is a simple prompt for testing."


@server.prompt("test_prompt_with_arguments")
def prompt_with_arguments(arg1: str, arg2: str) -> str:
    """One message that shows its arguments.

    Args:
        arg1: First test argument
        arg2: Second test argument
    """
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@server.prompt("test_prompt_with_embedded_resource")
def prompt_with_embedded_resource(resourceUri: str) -> list[dict[str, Any]]:  # noqa: N803
    """A document and what to do with it.

    Args:
        resourceUri: URI of the resource to embed
    """
    text = "Embedded resource content for testing."
    return [
        user(ToolContent.resource(resourceUri, text, "text/plain")),
        user("Please process the embedded resource above."),
    ]


@server.prompt("test_prompt_with_image")
def prompt_with_image() -> list[dict[str, Any]]:
    """An image and what to do with it."""
    return [user(Media(red_pixel(), "image/png")), user("Please analyze the image above.")]


@server.completion("test_prompt_with_arguments")
def complete_prompt(argument: str, typed: str, _chosen: dict[str, str]) -> list[str]:
    known = {"arg1": ["paris", "park", "party", "testing"], "arg2": ["world"]}
    return [word for word in known.get(argument, []) if word.startswith(typed)]
