"""A prompt in the words of the Anthropic Messages API.

What stays the same from turn to turn is marked for the provider's cache: the tools, the system
prompt, and the conversation so far. These are three of the four marks that a request may have.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator, Sequence

from clawkit.assistant.models.fields import Json
from clawkit.assistant.models.names import Names
from clawkit.assistant.models.protocol import Image, Message, Part, Prompt, Text, ToolCall
from clawkit.assistant.models.turns import SEEN_TYPES, describe, tidy

_CACHED: Json = {"cache_control": {"type": "ephemeral"}}
_UNUSABLE = re.compile(r"[^A-Za-z0-9_-]")


def build(prompt: Prompt, model: str, names: Names) -> Json:
    body: Json = {
        "model": model,
        "max_tokens": prompt.max_tokens,
        "stream": True,
        "messages": _messages(prompt.messages, names),
    }
    if prompt.system.strip():
        body["system"] = [{"type": "text", "text": prompt.system, **_CACHED}]
    if prompt.tools:
        body["tools"] = [
            {
                "name": names.sent(tool.name),
                "description": tool.description,
                "input_schema": {"type": "object", **tool.input_schema},
            }
            for tool in prompt.tools
        ]
        body["tools"][-1] |= _CACHED
    return body


def _messages(messages: Sequence[Message], names: Names) -> list[Json]:
    """The turns, which must alternate; outcomes come first in the turn that has them."""
    found: list[Json] = []
    for message in tidy(messages):
        role = "assistant" if message.role == "assistant" else "user"
        blocks = [block for part in message.parts for block in _blocks(part, names)]
        if found and found[-1]["role"] == role:
            found[-1]["content"] += blocks
        else:
            found.append({"role": role, "content": blocks})
    found[-1]["content"][-1] |= _CACHED
    return found


def _blocks(part: Part, names: Names) -> Iterator[Json]:
    if isinstance(part, Text):
        yield {"type": "text", "text": part.text}
    elif isinstance(part, Image):
        yield _image(part)
    elif isinstance(part, ToolCall):
        name = names.sent(part.name)
        yield {"type": "tool_use", "id": _id(part.id), "name": name, "input": part.arguments}
    else:
        content = [b for p in part.parts if not _is_blank(p) for b in _blocks(p, names)]
        result: Json = {"type": "tool_result", "tool_use_id": _id(part.call_id)}
        # A failure without words is refused.
        if content or part.is_error:
            result["content"] = content or [{"type": "text", "text": "It failed."}]
        yield {**result, "is_error": True} if part.is_error else result


def _image(image: Image) -> Json:
    if image.mime_type not in SEEN_TYPES:
        return {"type": "text", "text": describe(image)}
    data = b64encode(image.data).decode()
    source = {"type": "base64", "media_type": image.mime_type, "data": data}
    return {"type": "image", "source": source}


def _is_blank(part: Text | Image) -> bool:
    return isinstance(part, Text) and not part.text.strip()


def _id(id: str) -> str:
    """Other providers' ids may have characters that this one does not take."""
    return _UNUSABLE.sub("_", id) or "_"
