"""A prompt in the words of OpenAI's chat completions, and what a server may not know of them."""

from __future__ import annotations

import json
import logging
import re
from base64 import b64encode
from collections.abc import Sequence

from clawkit.assistant.models.fields import Json
from clawkit.assistant.models.names import Names
from clawkit.assistant.models.protocol import (
    Image,
    Message,
    Part,
    Prompt,
    Text,
    ToolCall,
    ToolOutcome,
    ToolSpec,
)
from clawkit.assistant.models.said import Said
from clawkit.assistant.models.turns import SEEN_TYPES, describe, tidy

_log = logging.getLogger(__name__)
_NO_TOOLS = re.compile(
    r"(?:not|n't) support (?:tool|function)|support tool use|tool use is not supported"
    r"|tool choice requires|tools param requires|requires --jinja",
    re.IGNORECASE,
)
_NO_IMAGES = re.compile(
    r"(?:not|n't) support(?:ed)?\b.{0,20}\b(?:image|vision|multimodal)"
    r"|\b(?:image|vision|multimodal)\w*\b.{0,40}(?:not|n't|only) support"
    r"|not a multimodal model|support image input|at most 0 image|unknown variant `image_url`"
    r"|mmproj|data required for image input",
    re.IGNORECASE | re.DOTALL,
)


class Manners:
    """What one server takes: learnt from its refusals, kept for the next requests."""

    def __init__(self, *, modern_limit: bool) -> None:
        self.limit = "max_completion_tokens" if modern_limit else "max_tokens"
        self.usage = True
        self.tools = True
        self.images = True
        self._other_limit = True

    def learn(self, said: Said, prompt: Prompt, who: str) -> bool:
        """Whether the request can be made in another way, now that the server said this."""
        words = said.everything
        other = "max_tokens" if self.limit == "max_completion_tokens" else "max_completion_tokens"
        if self.usage and "stream_options" in words:
            self.usage = False
        elif self._other_limit and self.limit in words and other in words:
            self.limit, self._other_limit = other, False
        elif self.tools and prompt.tools and _NO_TOOLS.search(words):
            self.tools = False
            _log.warning("%s takes no tools: it is asked without them", who)
        elif self.images and _has_images(prompt) and _NO_IMAGES.search(words):
            self.images = False
            _log.warning("%s cannot see pictures: it is told their names", who)
        else:
            return False
        return True


def build(prompt: Prompt, model: str, names: Names, manners: Manners, most: int) -> Json:
    """The body of a request for an answer of at most `most` tokens."""
    body: Json = {"model": model, "stream": True, manners.limit: min(prompt.max_tokens, most)}
    if manners.usage:
        body["stream_options"] = {"include_usage": True}
    if prompt.tools and manners.tools:
        body["tools"] = [_tool(tool, names) for tool in prompt.tools]
    body["messages"] = _Turns(names, sees=manners.images).written(prompt)
    return body


def _tool(tool: ToolSpec, names: Names) -> Json:
    parameters: Json = {"type": "object", "properties": {}}
    function: Json = {
        "name": names.sent(tool.name),
        "description": tool.description,
        "parameters": {**parameters, **tool.input_schema},
    }
    return {"type": "function", "function": function}


class _Turns:
    """The messages as they are sent: templates of local models want the roles to alternate."""

    def __init__(self, names: Names, *, sees: bool) -> None:
        self._names = names
        self._sees = sees
        self._found: list[Json] = []
        self._pictures: list[Json] = []

    def written(self, prompt: Prompt) -> list[Json]:
        for message in tidy(prompt.messages):
            if self._add_plain(message):
                continue
            if message.role == "tool":
                self._add_outcomes(message.parts)
            else:
                # Pictures must not stand between the outcomes of calls made together.
                self._add_user(self._pictures)
                self._pictures = []
                if message.role == "user":
                    self._add_user(self._content(message.parts))
                else:
                    self._add_assistant(message)
        self._add_user(self._pictures)
        for message in self._found:
            if message["role"] == "user" and not isinstance(message["content"], str):
                message["content"] = _simplest(message["content"])
        system = {"role": "system", "content": prompt.system}
        return [system, *self._found] if prompt.system.strip() else self._found

    def _add_plain(self, message: Message) -> bool:
        """The short way for words between turns of the other side: a long talk is made of them."""
        parts, role, found = message.parts, message.role, self._found
        if len(parts) != 1 or type(parts[0]) is not Text or role == "tool" or self._pictures:
            return False
        if found and found[-1]["role"] == role:
            return False
        found.append({"role": role, "content": parts[0].text})
        return True

    def _add_user(self, content: list[Json]) -> None:
        if not content:
            return
        last = self._found[-1] if self._found else {}
        if last.get("role") == "user":
            said = last["content"]
            before = [{"type": "text", "text": said}] if isinstance(said, str) else said
            last["content"] = before + content
        else:
            self._found.append({"role": "user", "content": list(content)})

    def _add_assistant(self, message: Message) -> None:
        said = "".join(part.text for part in message.parts if isinstance(part, Text))
        calls = [self._call(part) for part in message.parts if isinstance(part, ToolCall)]
        last = self._found[-1] if self._found else {}
        if last.get("role") == "assistant" and "tool_calls" not in last:
            said = "\n\n".join(text for text in (last["content"], said) if text)
            self._found.pop()
        written: Json = {"role": "assistant", "content": said or None}
        self._found.append({**written, "tool_calls": calls} if calls else written)

    def _call(self, call: ToolCall) -> Json:
        arguments = json.dumps(call.arguments, ensure_ascii=False)
        function = {"name": self._names.sent(call.name), "arguments": arguments}
        return {"id": call.id, "type": "function", "function": function}

    def _add_outcomes(self, parts: Sequence[Part]) -> None:
        for part in parts:
            if isinstance(part, ToolOutcome):
                text = "\n".join(p.text for p in part.parts if isinstance(p, Text))
                text = text if text.strip() else "(nothing)"
                pictures = [p for p in part.parts if isinstance(p, Image)]
                if pictures:
                    text += f"\n(Pictures in this outcome, shown below: {_named(pictures)})"
                if part.is_error and not text.lower().startswith("error"):
                    text = f"Error: {text}"
                outcome = {"role": "tool", "tool_call_id": part.call_id, "content": text}
                self._found.append(outcome)
                self._pictures += self._content(pictures)
            else:
                self._pictures += self._content((part,))

    def _content(self, parts: Sequence[Part]) -> list[Json]:
        found: list[Json] = []
        for part in parts:
            if isinstance(part, Text):
                found.append({"type": "text", "text": part.text})
            elif isinstance(part, Image):
                found.append(self._image(part))
        return found

    def _image(self, image: Image) -> Json:
        if not self._sees or image.mime_type not in SEEN_TYPES:
            return {"type": "text", "text": describe(image)}
        url = f"data:{image.mime_type};base64,{b64encode(image.data).decode()}"
        return {"type": "image_url", "image_url": {"url": url}}


def _simplest(content: list[Json]) -> str | list[Json]:
    """Some servers take words only as a plain text."""
    if all(part["type"] == "text" for part in content):
        return "\n\n".join(part["text"] for part in content)
    return content


def _named(pictures: Sequence[Image]) -> str:
    return ", ".join(picture.name for picture in pictures)


def _has_images(prompt: Prompt) -> bool:
    for message in prompt.messages:
        for part in message.parts:
            parts = part.parts if isinstance(part, ToolOutcome) else (part,)
            if any(isinstance(inner, Image) for inner in parts):
                return True
    return False
