"""OpenAI's chat completions: `POST {base_url}/chat/completions`, streamed."""

from __future__ import annotations

import json
import logging
import re
import uuid
from base64 import b64encode
from collections.abc import AsyncGenerator, Sequence
from typing import Any
from urllib.parse import urlsplit

from clawkit.errors import ContextTooLongError
from clawkit.models.http import DONE, ProviderRefusal, ProviderResponse
from clawkit.models.json_fields import Json, fields, number, objects, text
from clawkit.models.messages import SEEN_TYPES, ToolNames, describe, pictures, tidy
from clawkit.models.protocol import (
    Image,
    Message,
    ModelSettings,
    Part,
    Prompt,
    StopReason,
    Text,
    ToolCall,
    ToolOutcome,
    ToolSpec,
    Usage,
)
from clawkit.models.provider_errors import ErrorReply, speaks_of_answer
from clawkit.models.streamed_model import GrowingCall, StreamedAnswer, StreamedModel

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


class ServerQuirks:
    """What one server takes: learnt from its refusals, kept for the next requests."""

    def __init__(self, *, modern_limit: bool) -> None:
        self.limit = "max_completion_tokens" if modern_limit else "max_tokens"
        self.usage = True
        self.tools = True
        self.images = True
        self._other_limit = True

    def learn(self, said: ErrorReply, prompt: Prompt, who: str) -> bool:
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
        elif (
            self.images
            and any(any(pictures(one)) for one in prompt.messages)
            and _NO_IMAGES.search(words)
        ):
            self.images = False
            _log.warning("%s cannot see pictures: it is told their names", who)
        else:
            return False
        return True


def build(prompt: Prompt, model: str, names: ToolNames, quirks: ServerQuirks, most: int) -> Json:
    """The body of a request for an answer of at most `most` tokens."""
    body: Json = {"model": model, "stream": True, quirks.limit: min(prompt.max_tokens, most)}
    if quirks.usage:
        body["stream_options"] = {"include_usage": True}
    if prompt.tools and quirks.tools:
        body["tools"] = [_tool(tool, names) for tool in prompt.tools]
    body["messages"] = _Turns(names, sees=quirks.images).written(prompt)
    return body


def _tool(tool: ToolSpec, names: ToolNames) -> Json:
    parameters: Json = {"type": "object", "properties": {}}
    function: Json = {
        "name": names.sent(tool.name),
        "description": tool.description,
        "parameters": {**parameters, **tool.input_schema},
    }
    return {"type": "function", "function": function}


class _Turns:
    """The messages as they are sent: templates of local models want the roles to alternate."""

    def __init__(self, names: ToolNames, *, sees: bool) -> None:
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
    """Plain text where there is nothing else: some servers take no list of parts."""
    if all(part["type"] == "text" for part in content):
        return "\n\n".join(part["text"] for part in content)
    return content


def _named(pictures: Sequence[Image]) -> str:
    return ", ".join(picture.name for picture in pictures)


_CONTEXT = 32_000
_PATH = "/chat/completions"
_REASONS: dict[str, StopReason] = {
    "length": "length",
    "content_filter": "refusal",
    "tool_calls": "tools",
    "function_call": "tools",
}


class _OpenAiAnswer(StreamedAnswer):
    reasons = _REASONS

    @property
    def is_complete(self) -> bool:
        return self.is_over or bool(self.stop)

    def error_in(self, event: Json) -> Json | None:
        """The error in an event; providers put it in different places."""
        choices = event.get("choices")
        if event.get("error") or (choices is None and event.get("object") == "error"):
            return event
        choice = _first(choices)
        return choice if choice.get("error") else None

    def take(self, event: Json) -> str:
        if event is DONE:
            self.is_over = True
            return ""
        model = text(event.get("model"))
        # llama.cpp tells the path of a file.
        self.model = (model.rpartition("/")[2] if model[:1] == "/" else model) or self.model
        self._count(event.get("usage"))
        choice = _first(event.get("choices"))
        self.stop = text(choice.get("finish_reason")) or self.stop
        delta = fields(choice.get("delta") or choice.get("message"))
        for call in objects(delta.get("tool_calls")):
            self._grow(call)
        refusal = _refusal(delta)
        self.refused = self.refused or bool(refusal)
        return _text(delta.get("content")) + refusal

    def _grow(self, delta: Json) -> None:
        call = self._find(delta.get("index"), text(delta.get("id")))
        function = fields(delta.get("function"))
        call.name = call.name or text(function.get("name"))
        arguments = function.get("arguments")
        if isinstance(arguments, (dict, list)):  # not as text, as it should be
            arguments = json.dumps(arguments)
        self.grow(call, text(arguments))

    def _find(self, index: Any, id: str) -> GrowingCall:
        """The call that a delta belongs to: not every server numbers them."""
        for call in reversed(self.calls.values()):
            if call.index == index and (not id or call.id == id):
                return call
        if not id or id in self.calls:
            id = f"call_{uuid.uuid4().hex[:24]}"
        return self.add_call(id, GrowingCall(id, index=index))

    def _count(self, usage: Any) -> None:
        counts = fields(usage)
        if counts:
            details = fields(counts.get("prompt_tokens_details"))
            cached = details.get("cached_tokens") or counts.get("prompt_cache_hit_tokens")
            self.usage = Usage(
                number(counts.get("prompt_tokens")),
                number(counts.get("completion_tokens")),
                number(cached),
            )


class OpenAiModel(StreamedModel):
    """A model behind OpenAI's chat completions."""

    answer_type = _OpenAiAnswer

    def __init__(
        self, settings: ModelSettings, *, key_env: str = "", context: int | None = None
    ) -> None:
        headers = {"authorization": f"Bearer {settings.key}"} if settings.key else {}
        super().__init__(settings, headers, key_env, context or _CONTEXT)
        host = urlsplit(self.client.base_url).hostname
        self._quirks = ServerQuirks(modern_limit=host == "api.openai.com")
        self.path = "" if self.client.base_url.endswith(_PATH) else _PATH

    def body(self, prompt: Prompt, names: ToolNames) -> Json:
        # An answer as long as all that fits would leave no room for the question.
        return build(prompt, self.settings.model, names, self._quirks, self.context // 2)

    def learn(self, refusal: ProviderRefusal, prompt: Prompt) -> bool:
        if not isinstance(refusal.error, ContextTooLongError):
            return self._quirks.learn(refusal.error_reply, prompt, self.name)
        asked = min(prompt.max_tokens, self.context // 2)
        super().learn(refusal, prompt)
        return self.context // 2 < asked and speaks_of_answer(refusal.error_reply)

    async def events(self, response: ProviderResponse) -> AsyncGenerator[Json]:
        if response.kind == "application/json":
            yield await response.document()
            return
        async for event in response.events():
            yield event


def _first(choices: Any) -> Json:
    found = objects(choices)
    return found[0] if found else {}


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(text(part.get("text")) for part in objects(content))


def _refusal(delta: Json) -> str:
    """The words with which a model declines: beside its content, or as a part of it."""
    parts = objects(delta.get("content"))
    return text(delta.get("refusal")) + "".join(text(part.get("refusal")) for part in parts)
