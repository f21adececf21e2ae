"""Scripted answers in the words of the Anthropic Messages API and of OpenAI's chat completions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from typing import Any, Protocol

from tests.assistant.providers.steps import (
    Call,
    Cut,
    Fault,
    Hang,
    Pause,
    Raw,
    Reply,
    Request,
    Say,
    Status,
)

Control = Pause | Hang | Cut
_ANTHROPIC_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


class Wire(Protocol):
    """How one provider writes its answers."""

    path: str
    """What a base URL ends in."""
    endpoint: str

    def stream(self, request: Request, reply: Reply) -> Iterator[bytes | Control]: ...
    def error(self, status: Status) -> dict[str, Any]: ...


class AnthropicWire:
    """Named events: a message starts, its blocks start, grow and stop, the message stops."""

    path = ""
    endpoint = "/v1/messages"

    def __init__(self) -> None:
        self._ids = count(1)

    def error(self, status: Status) -> dict[str, Any]:
        kind = status.kind or _ANTHROPIC_KINDS.get(status.code, "api_error")
        return {"type": "error", "error": {"type": kind, "message": status.message}}

    def stream(self, request: Request, reply: Reply) -> Iterator[bytes | Control]:
        yield self._start(request, reply)
        yield _named({"type": "ping"})
        blocks = count()
        for part in reply.parts:
            if isinstance(part, Control):
                yield part
            elif isinstance(part, Raw):
                yield part.data
            elif isinstance(part, Fault):
                error = {"type": part.kind, "message": part.message}
                yield _named({"type": "error", "error": error})
            else:
                yield from self._block(part, next(blocks))
        if reply.ends:
            called = any(isinstance(part, Call) for part in reply.parts)
            stop = reply.stop or ("tool_use" if called else "end_turn")
            delta = {"stop_reason": stop, "stop_sequence": None}
            usage = {"output_tokens": reply.output}
            yield _named({"type": "message_delta", "delta": delta, "usage": usage})
            yield _named({"type": "message_stop"})

    def _start(self, request: Request, reply: Reply) -> bytes:
        usage = {
            "input_tokens": reply.input - reply.cached,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": reply.cached,
            "output_tokens": 1,
        }
        message = {
            "id": f"msg_{next(self._ids)}",
            "type": "message",
            "role": "assistant",
            "model": reply.model or request.json["model"],
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage,
        }
        return _named({"type": "message_start", "message": message})

    def _block(self, part: Say | Call, index: int) -> Iterator[bytes | Control]:
        def event(kind: str, **fields: Any) -> bytes:
            return _named({"type": f"content_block_{kind}", "index": index, **fields})

        if isinstance(part, Say):
            yield event("start", content_block={"type": "text", "text": ""})
            for piece in part.pieces:
                yield event("delta", delta={"type": "text_delta", "text": piece})
                if part.pause:
                    yield Pause(part.pause)
        else:
            id = part.id or f"toolu_{next(self._ids)}"
            block = {"type": "tool_use", "id": id, "name": part.name, "input": {}}
            yield event("start", content_block=block)
            for piece in _pieces(part):
                yield event("delta", delta={"type": "input_json_delta", "partial_json": piece})
        yield event("stop")


class OpenAiWire:
    """Chunks with a delta, a last one with the reason, one with the usage, and `[DONE]`."""

    path = "/v1"
    endpoint = "/v1/chat/completions"

    def __init__(self) -> None:
        self._ids = count(1)

    def error(self, status: Status) -> dict[str, Any]:
        kind = "invalid_request_error" if status.code < 500 else "server_error"
        error = {"message": status.message, "type": kind, "param": None}
        return {"error": {**error, "code": status.kind or None}}

    def stream(self, request: Request, reply: Reply) -> Iterator[bytes | Control]:
        chunk = _Chunks(f"chatcmpl-{next(self._ids)}", reply.model or request.json["model"])
        yield chunk.delta({"role": "assistant", "content": ""})
        calls = count()
        for part in reply.parts:
            if isinstance(part, Control):
                yield part
            elif isinstance(part, Raw):
                yield part.data
            elif isinstance(part, Fault):
                error = {"message": part.message, "type": part.kind, "code": part.code}
                yield _data({"error": error})
            elif isinstance(part, Say):
                for piece in part.pieces:
                    yield chunk.delta({"content": piece})
                    if part.pause:
                        yield Pause(part.pause)
            else:
                yield from self._call(chunk, part, next(calls))
        if reply.ends:
            called = any(isinstance(part, Call) for part in reply.parts)
            yield chunk.delta({}, reply.stop or ("tool_calls" if called else "stop"))
            if request.json.get("stream_options", {}).get("include_usage"):
                yield chunk.usage(reply)
            yield b"data: [DONE]\n\n"

    def _call(self, chunk: _Chunks, part: Call, index: int) -> Iterator[bytes]:
        id = part.id or f"call_{next(self._ids)}"
        function = {"name": part.name, "arguments": ""}
        start = {"index": index, "id": id, "type": "function", "function": function}
        yield chunk.delta({"tool_calls": [start]})
        for piece in _pieces(part):
            grown = {"index": index, "function": {"arguments": piece}}
            yield chunk.delta({"tool_calls": [grown]})


class _Chunks:
    def __init__(self, id: str, model: str) -> None:
        self._base = {"id": id, "object": "chat.completion.chunk", "created": 1, "model": model}

    def delta(self, delta: dict[str, Any], reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return _data({**self._base, "choices": [choice]})

    def usage(self, reply: Reply) -> bytes:
        usage = {
            "prompt_tokens": reply.input,
            "completion_tokens": reply.output,
            "total_tokens": reply.input + reply.output,
            "prompt_tokens_details": {"cached_tokens": reply.cached},
        }
        return _data({**self._base, "choices": [], "usage": usage})


def _named(event: dict[str, Any]) -> bytes:
    return f"event: {event['type']}\n".encode() + _data(event)


def _data(value: dict[str, Any]) -> bytes:
    try:
        return f"data: {json.dumps(value, ensure_ascii=False)}\n\n".encode()
    except UnicodeEncodeError:  # half a character, which JSON can only escape
        return f"data: {json.dumps(value)}\n\n".encode()


def _pieces(call: Call) -> Iterator[str]:
    """The arguments in about as many pieces as the script says."""
    if isinstance(call.arguments, str):
        text = call.arguments
    else:
        text = json.dumps(call.arguments, ensure_ascii=False)
    size = max(1, -(-len(text) // max(1, call.pieces)))
    for start in range(0, len(text), size):
        yield text[start : start + size]
