"""Input requests to the client (elicitation, sampling, roots), and the signed state of rounds.

An input request is a JSON-RPC request in the handshake era, and an entry of `inputRequests` in the
modern one. There, the state passes through the client, so it is authenticated (HMAC-SHA256), it
expires, and it is bound to the method, the arguments and the principal of its request.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, cast

import msgspec

from clawkit.errors import InvalidParamsError, SchemaError

LIFETIME_SECONDS = 600


class Rounds(msgspec.Struct, frozen=True):
    """Earlier rounds of a call: digests of the questions asked, and the answers."""

    count: int = 0
    asked: dict[str, str] = {}
    answers: dict[str, Any] = {}


NO_ROUNDS = Rounds()
"""The rounds of a call that has not asked anything yet."""


class _Sealed(msgspec.Struct, frozen=True, array_like=True):
    expires: int
    binding: str
    rounds: Rounds


def digest(value: Any) -> str:
    """A short hash of a JSON value."""
    import hashlib

    encoded = msgspec.json.encode(value, order="deterministic")
    return hashlib.sha256(encoded).hexdigest()[:32]


class StateSeal:
    """Signs and verifies request state; servers behind one address need the same secret."""

    def __init__(self, secret: bytes | None = None, lifetime: int = LIFETIME_SECONDS) -> None:
        self._secret = secret
        self._lifetime = lifetime

    def _sign(self, payload: bytes) -> bytes:
        import hmac
        import secrets

        if self._secret is None:
            self._secret = secrets.token_bytes(32)
        return hmac.digest(self._secret, payload, "sha256")

    def seal(self, rounds: Rounds, binding: str) -> str:
        import base64

        sealed = _Sealed(int(time.time()) + self._lifetime, binding, rounds)
        payload = msgspec.json.encode(sealed)
        token = base64.urlsafe_b64encode(self._sign(payload) + payload)
        return token.decode().rstrip("=")

    def open(self, token: object, binding: str) -> Rounds:
        """The rounds in `token`; raises InvalidParamsError unless sealed for this binding."""
        import base64
        import hmac

        if not isinstance(token, str):
            raise InvalidParamsError("Invalid params: requestState must be a string")
        try:
            raw = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
        except ValueError:
            raise InvalidParamsError("Invalid params: requestState is damaged") from None
        signature, payload = raw[:32], raw[32:]
        if not hmac.compare_digest(signature, self._sign(payload)):
            raise InvalidParamsError("Invalid params: requestState was not issued here")
        sealed = msgspec.json.decode(payload, type=_Sealed)
        if sealed.expires < time.time():
            raise InvalidParamsError("Invalid params: requestState has expired; call again")
        if not hmac.compare_digest(sealed.binding.encode(), binding.encode()):
            raise InvalidParamsError("Invalid params: requestState belongs to another request")
        return sealed.rounds


_CHECKS: dict[str, Callable[[Any], bool]] = {
    "string": lambda v: type(v) is str,
    "boolean": lambda v: type(v) is bool,
    "integer": lambda v: type(v) is int,
    "number": lambda v: type(v) in (int, float),
    "array": lambda v: type(v) is list,
}


class Elicited(msgspec.Struct, frozen=True):
    """A person's answer: `accept`, `decline` or `cancel`, and the filled form if accepted."""

    action: str
    content: Any = None

    @property
    def accepted(self) -> bool:
        return self.action == "accept"


class InputRequired(BaseException):
    """Ends a round: the client has to answer these questions and send the request again.

    Not an Exception, so that a tool's own `except Exception` does not swallow it.
    """

    def __init__(self, questions: dict[str, InputRequest], rounds: Rounds) -> None:
        super().__init__(", ".join(questions))
        self.questions = questions
        self.rounds = rounds


def find_input_required(error: BaseException) -> InputRequired | None:
    """The InputRequired that an error is, or that an exception group contains."""
    if isinstance(error, InputRequired):
        return error
    inner = cast("Sequence[BaseException]", getattr(error, "exceptions", ()))
    found = [asking for each in inner if (asking := find_input_required(each)) is not None]
    return found[-1] if found else None


class InputRequest(msgspec.Struct, frozen=True):
    """One request to the client, the capability it needs, and how to read its result."""

    method: str
    capability: str
    params: dict[str, Any]
    read: Callable[[Any], Any]
    """Converts the client's result for the tool; raises ValueError if it is invalid."""

    def to_wire(self) -> dict[str, Any]:
        return {"method": self.method, "params": self.params}


def elicitation(message: str, schema: Any = None) -> InputRequest:
    """Ask the person to fill a flat form: a JSON Schema, or a class with fields."""
    form, kind = form_schema(schema)

    def read(answer: Any) -> Elicited:
        return _read_elicited(answer, form, kind)

    params = {"message": message, "requestedSchema": form}
    return InputRequest("elicitation/create", "elicitation", params, read)


def sampling(
    messages: str | Sequence[dict[str, Any]], max_tokens: int, **options: Any
) -> InputRequest:
    """Ask the client's model; `options` are the other fields of `sampling/createMessage`."""
    if isinstance(messages, str):
        messages = [{"role": "user", "content": {"type": "text", "text": messages}}]
    params = {"messages": list(messages), "maxTokens": max_tokens, **options}
    return InputRequest("sampling/createMessage", "sampling", params, _reader("content"))


def roots() -> InputRequest:
    """Ask which folders the client works in."""
    return InputRequest("roots/list", "roots", {}, _reader("roots"))


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
