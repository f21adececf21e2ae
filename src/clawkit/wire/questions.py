"""What a server may ask its client during a request: the person, the model, or the roots.

The same question is a JSON-RPC request in the handshake era, and an entry of `inputRequests` in the
modern one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import msgspec

from clawkit.errors import SchemaError
from clawkit.wire.state import Rounds

_CHECKS: dict[str, Callable[[Any], bool]] = {
    "string": lambda v: type(v) is str,
    "boolean": lambda v: type(v) is bool,
    "integer": lambda v: type(v) is int,
    "number": lambda v: type(v) in (int, float),
    "array": lambda v: type(v) is list,
}


class Elicited(msgspec.Struct, frozen=True):
    """A person's answer: accept, decline or cancel; and what they filled in when they accepted."""

    action: str
    content: Any = None

    @property
    def accepted(self) -> bool:
        return self.action == "accept"


class InputRequired(BaseException):
    """Ends a round: the client has to answer these questions and send the request again.

    Not an Exception, so that a tool's own `except Exception` does not swallow it.
    """

    def __init__(self, questions: dict[str, Question], rounds: Rounds) -> None:
        super().__init__(", ".join(questions))
        self.questions = questions
        self.rounds = rounds


def questions_in(error: BaseException) -> InputRequired | None:
    """The end of a round that an error is, or that a group of errors contains."""
    if isinstance(error, InputRequired):
        return error
    inner = cast("Sequence[BaseException]", getattr(error, "exceptions", ()))
    found = [asking for each in inner if (asking := questions_in(each)) is not None]
    return found[-1] if found else None


class Question(msgspec.Struct, frozen=True):
    """One thing to ask the client, the capability it needs, and how to read the answer."""

    method: str
    capability: str
    params: dict[str, Any]
    read: Callable[[Any], Any]
    """Turns the client's answer into what the tool gets; raises ValueError for a useless one."""

    def to_wire(self) -> dict[str, Any]:
        return {"method": self.method, "params": self.params}


def elicitation(message: str, schema: Any = None) -> Question:
    """Ask the person to fill a flat form: a JSON Schema, or a class with fields."""
    form, kind = form_schema(schema)

    def read(answer: Any) -> Elicited:
        return _read_elicited(answer, form, kind)

    params = {"message": message, "requestedSchema": form}
    return Question("elicitation/create", "elicitation", params, read)


def sampling(messages: str | Sequence[dict[str, Any]], max_tokens: int, **options: Any) -> Question:
    """Ask the client's model; `options` are the other fields of `sampling/createMessage`."""
    if isinstance(messages, str):
        messages = [{"role": "user", "content": {"type": "text", "text": messages}}]
    params = {"messages": list(messages), "maxTokens": max_tokens, **options}
    return Question("sampling/createMessage", "sampling", params, _reader("content"))


def roots() -> Question:
    """Ask which folders the client works in."""
    return Question("roots/list", "roots", {}, _reader("roots"))


def form_schema(schema: Any) -> tuple[dict[str, Any], Any]:
    """The JSON Schema to show, and the class to make of the answer if one was given."""
    if schema is None:
        return {"type": "object", "properties": {}}, None
    if isinstance(schema, dict):
        return cast("dict[str, Any]", schema), None
    try:
        (shown,), components = msgspec.json.schema_components([schema])
    except TypeError as error:
        raise SchemaError(f"elicit: {schema!r} is not a class with fields: {error}") from None
    form = components.get(shown.get("$ref", "").rpartition("/")[2], shown)
    if form.get("type") != "object":
        raise SchemaError(f"elicit: {schema!r} is not a class with fields")
    fields = {
        name: _form_field(part, f"{schema.__name__}.{name}", components)
        for name, part in form["properties"].items()
    }
    found: dict[str, Any] = {"type": "object", "properties": fields}
    if form.get("required"):
        found["required"] = form["required"]
    return found, schema


def _form_field(part: dict[str, Any], where: str, components: dict[str, Any]) -> dict[str, Any]:
    """One field as forms allow it: a string, number, boolean or choice, and never null."""
    if "$ref" in part:
        part = components[part["$ref"].rpartition("/")[2]]
    if "anyOf" in part:
        others = [option for option in part["anyOf"] if option.get("type") != "null"]
        if len(others) == 1:
            rest = {k: v for k, v in part.items() if k != "anyOf" and v is not None}
            return _form_field({**others[0], **rest}, where, components)
    if all(isinstance(choice, str) for choice in part.get("enum", [None])):
        part = {"type": "string", **part}
    if part.get("type") not in ("string", "number", "integer", "boolean"):
        raise SchemaError(f"elicit: {where} must be a string, number, boolean or choice of strings")
    return part


def _reader(field: str) -> Callable[[Any], Any]:
    def read(answer: Any) -> Any:
        if not isinstance(answer, dict) or field not in answer:
            raise ValueError(f"expected an object with {field!r}")
        return cast("Any", answer)

    return read


def _read_elicited(answer: Any, form: dict[str, Any], kind: Any) -> Elicited:
    if not isinstance(answer, dict):
        raise ValueError("expected an object with an action")
    fields = cast("dict[str, Any]", answer)
    action = fields.get("action")
    if action not in ("accept", "decline", "cancel"):
        raise ValueError("action must be accept, decline or cancel")
    if action != "accept":
        return Elicited(action)
    content: Any = fields.get("content") or {}
    if kind is not None:
        return Elicited(action, msgspec.convert(content, kind))
    _check_form(content, form)
    return Elicited(action, content)


def _check_form(content: Any, form: dict[str, Any]) -> None:
    if type(content) is not dict:
        raise ValueError("content must be an object")
    values = cast("dict[str, Any]", content)
    for name in form.get("required", ()):
        if name not in values:
            raise ValueError(f"{name} is missing")
    for name, schema in form.get("properties", {}).items():
        check = _CHECKS.get(schema.get("type"))
        if name in values and check is not None and not check(values[name]):
            raise ValueError(f"{name} must be of type {schema['type']}")
