"""A question that a tool asks the person while it runs, put in the terminal."""

from __future__ import annotations

import sys
from typing import Any

from clawkit.cli.call.arguments import ArgumentError, typed
from clawkit.errors import MissingCapabilityError
from clawkit.text.normalization import visible
from clawkit.tools.parameters import ShownParameter, parameters_of, properties
from clawkit.wire.input_requests import InputRequest
from clawkit.wire.jsonrpc import as_object
from clawkit.wire.threads import Workers

_YES = ("y", "yes")
_asking = Workers(1)
"""One question at a time. It is a daemon: Ctrl-C does not wait for a line to be typed."""


def can_ask() -> bool:
    """Whether somebody is there to be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


async def ask(question: InputRequest) -> dict[str, Any]:
    """The answer to an elicitation as MCP has it; the end of input cancels."""
    if question.capability != "elicitation":
        raise MissingCapabilityError("there is no model here to ask", {question.capability: {}})
    return await _asking.start(_answer, {"question": question.params}).outcome


def _answer(question: dict[str, Any]) -> dict[str, Any]:
    first, *more = str(question.get("message", "")).splitlines() or [""]
    _say("\n".join((f"? {visible(first)}", *(f"  {visible(line)}" for line in more))))
    schema = as_object(question.get("requestedSchema")) or {}
    fields = parameters_of(schema)
    try:
        if "url" in question:
            _say(f"  {visible(str(question['url']))}")
        if not fields:
            agreed = _read("  Go on? [y/N] ").lower() in _YES
            return {"action": "accept", "content": {}} if agreed else {"action": "decline"}
        found = {field.name: _value(field, schema) for field in fields}
    except EOFError:
        return {"action": "cancel"}
    return {"action": "accept", "content": {k: v for k, v in found.items() if v is not None}}


def _value(field: ShownParameter, schema: dict[str, Any]) -> Any:
    part = properties(schema)[field.name]
    about = field.description or str(part.get("title", "")) or field.name
    default = f" [{field.default}]" if field.default else ""
    while True:
        text = _read(f"  {visible(about)} ({visible(field.kind)}){visible(default)}: ")
        if not text and (field.default or not field.required):
            return part.get("default")
        try:
            return typed(field.name, text, part, schema)
        except ArgumentError as error:
            _say(f"  {visible(str(error))}")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _read(prompt: str) -> str:
    print(prompt, end="", file=sys.stderr, flush=True)
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.strip()
