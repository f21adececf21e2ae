"""A server that offers one of everything, for the clients of others to try."""

from __future__ import annotations

import asyncio
import base64
import time
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from clawkit import (
    Context,
    Field,
    Media,
    SdkMcpServerImpl,
    ToolContent,
    ToolResult,
    claw_tool,
)

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
WAV = b"RIFF" + bytes([4, 0, 0, 0]) + b"WAVE"
NOTE = "note://today"
LANGUAGES = ("python", "perl", "rust")

server = SdkMcpServerImpl(
    "everything",
    "1.2.3",
    title="One of everything",
    instructions="Try each tool once.",
    website_url="https://example.org/everything",
    icons=[{"src": "https://example.org/icon.png", "mimeType": "image/png", "sizes": ["48x48"]}],
    state={"cancelled": []},
    page_size=9,
)


@dataclass
class Item:
    name: str
    grams: int


@dataclass
class Weight:
    total: int
    heaviest: str | None


@dataclass
class Trip:
    city: str
    days: int = 3
    pets: bool = False


@server.tool(read_only=True, idempotent=True, title="Greet someone")
def greet(name: Annotated[str, Field(min_length=1, description="Who is greeted")]) -> str:
    """Greet a person."""
    return f"Hello, {name}!"


@server.tool
def picture() -> Media:
    """A dot."""
    return Media(PNG, "image/png")


@server.tool
def sound() -> Media:
    """A moment of silence."""
    return Media(WAV, "audio/wav")


@server.tool
def document() -> ToolContent:
    """A document in the answer."""
    return ToolContent.resource("doc://1", "# One", "text/markdown").annotated(priority=0.5)


@server.tool
def pointer() -> ToolContent:
    """A link to a resource."""
    return ToolContent.link(NOTE, "today", mimeType="text/plain")


@server.tool
def mixture() -> list[Any]:
    """Text, image, audio, a link and bytes in one answer."""
    link = ToolContent.link(NOTE, "today")
    return ["first", Media(PNG, "image/png"), Media(WAV, "audio/wav"), link, b"\x00\x01"]


@server.tool(structured=True, read_only=True)
def weigh(items: list[Item]) -> Weight:
    """Weigh some things."""
    heaviest = max(items, key=lambda item: item.grams, default=None)
    return Weight(sum(item.grams for item in items), heaviest.name if heaviest else None)


@server.tool(structured=True)
def double(number: int) -> int:
    """Twice the number."""
    return 2 * number


@server.tool
def count(to: Annotated[int, Field(ge=1, le=50)], context: Context) -> str:
    """Count, and report the progress."""
    for step in range(1, to + 1):
        context.progress(step, to, f"step {step}")
    return f"counted to {to}"


@server.tool
async def chatter(context: Context) -> str:
    """Say something on every level of the log."""
    for level in ("debug", "info", "warning", "error"):
        context.log(level, {"said": level}, logger="chatter")
    return "said it all"


@server.tool
async def ask_name(context: Context) -> str:
    """Ask the person for a name, with a form written by hand."""
    form = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "title": "Your name", "minLength": 1},
            "mood": {"type": "string", "enum": ["good", "bad"]},
        },
        "required": ["name"],
    }
    answer = await context.elicit("Who are you?", form)
    return f"{answer.action}: {answer.content['name']}" if answer.accepted else answer.action


@server.tool
async def plan_trip(context: Context) -> str:
    """Ask twice, with forms made from a class."""
    first = await context.elicit("Where to?", Trip, key="trip")
    if not first.accepted:
        return f"no trip: {first.action}"
    sure = await context.elicit(f"{first.content.city} for {first.content.days} days?", key="sure")
    return f"{first.content.city}, {first.content.days} days, {sure.action}"


@server.tool
async def think(question: str, context: Context) -> str:
    """Ask the client's model."""
    answer = await context.sample(question, max_tokens=50, systemPrompt="Be brief.")
    return f"{answer['model']}: {answer['content']['text']}"


@server.tool
async def folders(context: Context) -> str:
    """Ask which folders the client works in."""
    return ", ".join(root["uri"] for root in await context.roots())


@server.tool(requires_approval=True, destructive=True)
def erase(what: str) -> str:
    """Erase something, if the person agrees."""
    return f"erased {what}"


@server.tool
async def sleep_softly(name: str, context: Context) -> str:
    """Wait for a cancellation, in the event loop."""
    context.progress(0, message="asleep")
    try:
        await asyncio.Event().wait()
    finally:
        context.state["cancelled"].append(name)
    return "never"


@server.tool
def sleep_deeply(name: str, context: Context) -> str:
    """Wait for a cancellation, in a thread."""
    context.progress(0, message="asleep")
    while not context.cancelled:
        time.sleep(0.002)
    context.state["cancelled"].append(name)
    return "never"


@server.tool(read_only=True)
def was_cancelled(name: str, context: Context) -> str:
    """Wait until the sleeper of this name was cancelled."""
    while name not in context.state["cancelled"] and not context.cancelled:
        time.sleep(0.002)
    return f"{name} was cancelled"


@server.tool
def fail(reason: str) -> str:
    """Raise an exception."""
    raise ValueError(reason)


@server.tool
def refuse() -> ToolResult:
    """Give an error as the result."""
    return ToolResult.error("I would rather not")


@server.tool(task="allowed")
async def research(topic: str, context: Context) -> str:
    """Work that may become a task, and asks on the way."""
    if context.task is not None:
        depth = await context.elicit("How deep?", {"type": "object", "properties": {}})
        return f"{topic}: {depth.action}"
    return f"{topic}: at once"


@server.tool
def grow(name: str) -> str:
    """Add a tool of this name, or take it away again."""
    if name in server.tools:
        server.remove_tool(name)
        return f"removed {name}"

    def sprout() -> str:
        return f"I am {name}"

    server.register_tool(claw_tool(name=name, description="A new tool")(sprout))
    return f"added {name}"


@server.tool
def touch(uri: str) -> str:
    """Tell who subscribed to it that a resource has changed."""
    server.resource_updated(uri)
    return f"touched {uri}"


@server.tool(read_only=True, always_load=True)
def weather(region: Annotated[str, Field(header="Region")], context: Context) -> str:
    """An argument that HTTP clients mirror into a header, and the trace that came along."""
    return f"{region}: fair; trace {context.meta.get('traceparent', 'none')}"


@server.resource(NOTE, mime_type="text/plain", annotations={"audience": ["user"], "priority": 0.9})
def today() -> str:
    """What is on today."""
    return "Feed the cat."


@server.resource("image://dot", name="dot", mime_type="image/png", size=len(PNG))
def dot() -> bytes:
    """One pixel."""
    return PNG


@server.resource("users://{id}/profile", name="profile", mime_type="application/json")
async def profile(id: int) -> dict[str, Any]:
    """A user."""
    return {"id": id, "name": f"user {id}"}


@server.completion("users://{id}/profile")
def complete_user(argument: str, typed: str, _chosen: dict[str, str]) -> list[str]:
    return [f"{n}" for n in range(1, 200) if argument == "id" and f"{n}".startswith(typed)]


@server.prompt(title="Review code")
def review(code: str, language: Literal["python", "perl", "rust"] = "python") -> str:
    """Ask for a review.

    Args:
        code: The code.
        language: What it is written in.
    """
    return f"Review this {language} code: {code}"


@server.completion("review")
async def complete_review(argument: str, typed: str, chosen: dict[str, str]) -> list[str]:
    if argument == "language":
        return [language for language in LANGUAGES if language.startswith(typed)]
    return [f"print({chosen.get('language', 'nothing')!r})"]


@server.prompt("gallery")
def gallery() -> list[Any]:
    """Messages of every kind."""
    return [
        "Look and listen:",
        Media(PNG, "image/png"),
        Media(WAV, "audio/wav"),
        ToolContent.resource(NOTE, "Feed the cat.", "text/plain"),
        {"role": "assistant", "content": {"type": "text", "text": "Lovely."}},
    ]


@server.prompt("introduce")
async def introduce(context: Context) -> str:
    """Ask the person who they are."""
    answer = await context.elicit(
        "Your name?", {"type": "object", "properties": {"name": {"type": "string"}}}
    )
    return f"I am {answer.content['name']}" if answer.accepted else "I am nobody"
