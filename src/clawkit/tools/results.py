"""What a tool gives back: the documented result types, and any Python value turned into one."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict, Unpack, cast

import msgspec

from clawkit.errors import SchemaError

Block = dict[str, Any]
_PLAIN = (int, float, bool, dict)


class BlockAnnotations(TypedDict, total=False):
    """For whom a block is, how much it matters from 0 to 1, and when it was changed (ISO 8601)."""

    audience: list[Literal["user", "assistant"]]
    priority: float
    lastModified: str


class LinkFields(TypedDict, total=False):
    """What a link may say about its resource beside its URI and name."""

    title: str
    description: str
    mimeType: str
    size: int
    icons: list[dict[str, Any]]
    annotations: BlockAnnotations
    _meta: dict[str, Any]


class ToolContent(dict[str, Any]):
    """One content block. It is the object that goes over the wire, so every JSON library writes it.

    `ToolContent(json.loads(text))` reads it back.
    """

    def __init__(self, block: Mapping[str, Any]) -> None:
        super().__init__(block)

    @property
    def block(self) -> Block:
        return dict(self)

    @classmethod
    def text(cls, text: str) -> ToolContent:
        return cls({"type": "text", "text": text})

    @classmethod
    def image(cls, data: str | bytes, mime_type: str) -> ToolContent:
        """An image; bytes are encoded, a string is taken to be base64 already."""
        return cls({"type": "image", "data": _base64(data), "mimeType": mime_type})

    @classmethod
    def audio(cls, data: str | bytes, mime_type: str) -> ToolContent:
        return cls({"type": "audio", "data": _base64(data), "mimeType": mime_type})

    @classmethod
    def resource(cls, uri: str, data: str | bytes, mime_type: str | None = None) -> ToolContent:
        """A document in the answer: text as text, bytes as a blob."""
        return cls({"type": "resource", "resource": contents(uri, data, mime_type)})

    @classmethod
    def link(cls, uri: str, name: str, **fields: Unpack[LinkFields]) -> ToolContent:
        """A resource that the client may read."""
        return cls({"type": "resource_link", "uri": uri, "name": name, **fields})

    def annotated(self, **annotations: Unpack[BlockAnnotations]) -> ToolContent:
        """The same block with annotations."""
        return ToolContent({**self, "annotations": annotations})

    def __repr__(self) -> str:
        return f"ToolContent({super().__repr__()})"


class ToolResult(
    msgspec.Struct,
    frozen=True,
    omit_defaults=True,
    rename={"is_error": "isError", "structured": "structuredContent", "meta": "_meta"},
):
    """The answer of a tool: content blocks, whether it is an error, and structured content.

    `msgspec.json.encode` writes it as `to_wire` does; `from_wire` reads it back.
    """

    content: Sequence[ToolContent]
    is_error: bool | None = None
    structured: Any = msgspec.UNSET
    meta: dict[str, Any] | None = None

    @classmethod
    def text(cls, text: str) -> ToolResult:
        return cls([ToolContent.text(text)])

    @classmethod
    def error(cls, text: str) -> ToolResult:
        return cls([ToolContent.text(text)], is_error=True)

    @classmethod
    def new(cls, content: Sequence[ToolContent]) -> ToolResult:
        return cls(content)

    @classmethod
    def from_wire(cls, result: Mapping[str, Any]) -> ToolResult:
        """The result that `to_wire` gave; raises SchemaError for what is none."""
        content: Any = result.get("content")
        if not isinstance(content, list) or not all(map(_is_block, cast("list[Any]", content))):
            raise SchemaError("a tool's result has `content`, a list of objects with a `type`")
        return cls(
            [ToolContent(block) for block in cast("list[Block]", content)],
            result.get("isError"),
            result.get("structuredContent", msgspec.UNSET),
            result.get("_meta"),
        )

    def to_wire(self) -> dict[str, Any]:
        result: dict[str, Any] = {"content": [item.block for item in self.content]}
        if self.is_error is not None:
            result["isError"] = self.is_error
        if self.structured is not msgspec.UNSET:
            result["structuredContent"] = self.structured
        if self.meta is not None:
            result["_meta"] = dict(self.meta)
        return result


def _is_block(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(cast("Block", value).get("type"), str)


class Media(msgspec.Struct, frozen=True):
    """Bytes with a type, to return from a tool: an image, a sound, or any other file."""

    data: bytes
    mime_type: str
    name: str = "file"

    def __post_init__(self) -> None:
        if not isinstance(self.data, bytes):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"Media takes bytes, not a {type(self.data).__name__}")

    def to_content(self) -> ToolContent:
        kind = self.mime_type.partition("/")[0]
        if kind == "image":
            return ToolContent.image(self.data, self.mime_type)
        if kind == "audio":
            return ToolContent.audio(self.data, self.mime_type)
        return ToolContent.resource(f"attachment://{self.name}", self.data, self.mime_type)


def contents(uri: str, data: str | bytes, mime_type: str | None) -> dict[str, Any]:
    """The contents of a resource: `text` or `blob`."""
    found: dict[str, Any] = {"uri": uri}
    if mime_type is not None:
        found["mimeType"] = mime_type
    if isinstance(data, str):
        found["text"] = data
    else:
        found["blob"] = _base64(data)
    return found


def to_content(value: Any) -> ToolContent:
    """One value as one block: text as it is, everything else as JSON."""
    if isinstance(value, ToolContent):
        return value
    if isinstance(value, Media):
        return value.to_content()
    if isinstance(value, str):
        return ToolContent.text(value)
    if isinstance(value, bytes | bytearray):
        return Media(bytes(value), "application/octet-stream").to_content()
    return ToolContent.text(to_text(value))


def to_text(value: Any) -> str:
    """A value as text: JSON, but without quotes where that is a single string."""
    encoded = to_json(value)
    return msgspec.json.decode(encoded) if encoded[:1] == b'"' else encoded.decode()


def to_wire(value: Any) -> dict[str, Any]:
    """The result of a call, from whatever the function returned."""
    if type(value) is str:
        return {"content": [{"type": "text", "text": value}]}
    if type(value) in _PLAIN:
        return {"content": [{"type": "text", "text": to_json(value).decode()}]}
    if isinstance(value, ToolResult):
        return value.to_wire()
    if value is None:
        return {"content": []}
    if isinstance(value, list | tuple) and any(
        isinstance(item, ToolContent | Media) for item in cast("Sequence[Any]", value)
    ):
        return {"content": [to_content(item).block for item in cast("Sequence[Any]", value)]}
    return {"content": [to_content(value).block]}


def to_structured(value: Any, *, wrapped: bool) -> dict[str, Any]:
    """A result whose structured content is `value`, with the same as text for older clients."""
    if isinstance(value, ToolResult):
        return value.to_wire()
    plain = msgspec.json.decode(to_json(value))
    text = to_text(value)
    return {
        "content": [{"type": "text", "text": text}],
        "structuredContent": {"result": plain} if wrapped else plain,
    }


def _foreign(value: Any) -> Any:
    """JSON for classes that are not ours: pydantic's models, and anything else that can say it."""
    dump = getattr(value, "model_dump", None)
    if dump is not None:
        return dump(mode="json", by_alias=True)
    if hasattr(value, "__fspath__"):
        return value.__fspath__()
    raise TypeError(f"a {type(value).__name__} cannot be written as JSON")


to_json = msgspec.json.Encoder(enc_hook=_foreign).encode
"""JSON of any value that a tool may return; raises TypeError for what has none."""


def _base64(data: str | bytes) -> str:
    return data if isinstance(data, str) else base64.b64encode(data).decode()
