"""Sorts a tool's result: text and pictures for the model, media for the client."""

from __future__ import annotations

import base64
import binascii
import json
import mimetypes
import re
from typing import Any, cast
from urllib.parse import unquote

import msgspec
from msgspec import Struct

from clawkit.assistant.media import detection
from clawkit.assistant.media.accepted_types import SUFFIXES
from clawkit.assistant.media.outbound import Outgoing
from clawkit.assistant.toolbox.tool_source import valid_text
from clawkit.models.json_fields import objects
from clawkit.models.messages import SEEN_TYPES
from clawkit.models.protocol import Image, Text
from clawkit.wire.jsonrpc import as_object

LONGEST_TEXT = 100_000
MOST_IMAGES = 10
_NAME_REFUSED = re.compile(r"[\x00-\x1f\x7f/\\]+")


class SortedResult(Struct, frozen=True):
    """A result as its readers want it: `text` is its words, without notes about its media."""

    parts: tuple[Text | Image, ...]
    text: str
    media: tuple[Outgoing, ...]
    is_error: bool


def sort_result(
    result: dict[str, Any], tool: str, longest: int | None = LONGEST_TEXT
) -> SortedResult:
    """Read a result as `tools/call` has it; blocks that cannot be read are said, never dropped.

    Its text has at most `longest` characters; all of them for None.
    """
    reading = _Reading(tool, longest)
    for block in objects(result.get("content")):
        reading.add(block)
    structured = result.get("structuredContent")
    if structured is not None and not reading.has_text:
        text = _written(structured)
        # Some servers repeat there, in base64, the pictures that the result is made of.
        if not any(data in text for data in _encoded(result)):
            reading.say(text)
    return reading.close(is_error=result.get("isError") is True)


def shorten(text: str, longest: int | None = LONGEST_TEXT) -> str:
    """A text that fits, with its beginning and its end; says what is missing."""
    if longest is None or len(text) <= longest:
        return text
    half = longest // 2
    left_out = len(text) - 2 * half
    return f"{text[:half]}\n[… {left_out} characters left out …]\n{text[-half:]}"


class _Reading:
    """One result, block by block."""

    def __init__(self, tool: str, longest: int | None) -> None:
        self._tool = tool
        self._longest = longest
        self._parts: list[Text | Image] = []
        self._words: list[str] = []
        self._media: list[Outgoing] = []
        self._images = 0
        self.has_text = False

    def add(self, block: dict[str, Any]) -> None:
        kind = block.get("type")
        if kind == "text":
            self.say(valid_text(block.get("text", "")))
        elif kind in ("image", "audio"):
            self._add_bytes(block, block.get("data"), "", _audience(block))
        elif kind == "resource":
            self._add_resource(block)
        elif kind == "resource_link":
            self._note(_link(block))
        else:
            self._note(f"a block of the unknown type {valid_text(kind)!r}")

    def say(self, text: str) -> None:
        self.has_text = True
        self._words.append(text)
        self._parts.append(Text(text))

    def _note(self, text: str, *, for_all: bool = True) -> None:
        """Something that is not said but there; what is sent along speaks for itself."""
        if for_all:
            self._words.append(f"[{text}]")
        self._parts.append(Text(f"[{text}]"))

    def _add_resource(self, block: dict[str, Any]) -> None:
        resource = as_object(block.get("resource")) or {}
        uri, text = valid_text(resource.get("uri", "")), resource.get("text")
        if not isinstance(text, str):
            self._add_bytes(resource, resource.get("blob"), _name_in(uri), _audience(block))
            return
        self._note(f"resource {uri}")
        text = valid_text(text)
        self.say(text)
        # Most documents in a result are for the model to read; a server marks those that are not.
        if "user" in _audience(block, default=("assistant",)):
            kind = valid_text(resource.get("mimeType") or "text/plain")
            self._media.append(Outgoing(_name_in(uri) or "document.txt", kind, text.encode()))

    def _add_bytes(self, block: dict[str, Any], data: Any, name: str, readers: Any) -> None:
        kind = valid_text(block.get("mimeType") or "application/octet-stream")
        suffix = SUFFIXES.get(kind) or mimetypes.guess_extension(kind) or ""
        name = name or f"{self._tool}-{len(self._media) + 1}{suffix}"
        try:
            content = base64.b64decode(data, validate=True)
        except (binascii.Error, TypeError, ValueError):
            self._note(f"{name} ({kind}) cannot be read: it is not base64")
            return
        if "user" in readers:
            self._media.append(Outgoing(name, kind, content))
        seen = _picture(kind, content)
        if seen and "assistant" in readers and self._images < MOST_IMAGES:
            self._images += 1
            self._parts.append(Image(content, seen, name))
        else:
            is_sent = "user" in readers
            sent = ", sent along with the answer" if is_sent else ""
            if kind in SEEN_TYPES and not seen:
                kind += f" as it says, but it is {detection.describe(content)}"
            self._note(f"{name} ({kind}, {len(content)} bytes{sent})", for_all=not is_sent)

    def close(self, *, is_error: bool) -> SortedResult:
        words = [part.text for part in self._parts if isinstance(part, Text)]
        text = shorten("\n".join(words), self._longest)
        if len(text) < sum(map(len, words)):
            images = [part for part in self._parts if isinstance(part, Image)]
            parts: tuple[Text | Image, ...] = (Text(text), *images)
        else:
            parts = tuple(_joined(self._parts)) or (Text("[the tool gave no output]"),)
        told = shorten("\n".join(self._words), self._longest)
        return SortedResult(parts, told, tuple(self._media), is_error)


def _joined(parts: list[Text | Image]) -> list[Text | Image]:
    """The same with neighbouring texts as one."""
    found: list[Text | Image] = []
    for part in parts:
        last = found[-1] if found else None
        if isinstance(part, Text) and isinstance(last, Text):
            found[-1] = Text(f"{last.text}\n{part.text}")
        else:
            found.append(part)
    return found


def _picture(kind: str, content: bytes) -> str:
    """The type of a picture that models can see, by its bytes; else nothing.

    A provider refuses a picture that is none, and with it every later turn of the conversation.
    """
    found = detection.sniff(content) if kind.startswith("image/") else ()
    return next((name for name in found if name in SEEN_TYPES), "")


def _written(value: Any) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        return valid_text(json.dumps(value, ensure_ascii=False))


def _encoded(result: dict[str, Any]) -> list[str]:
    """The base64 of every block that has some."""
    blocks = objects(result.get("content"))
    resources = (as_object(block.get("resource")) or {} for block in blocks)
    data = (*(block.get("data") for block in blocks), *(one.get("blob") for one in resources))
    return [one for one in data if isinstance(one, str) and one]


def _audience(
    block: dict[str, Any], default: tuple[str, ...] = ("user", "assistant")
) -> tuple[str, ...]:
    """Who a block is for, if it says so."""
    declared = (as_object(block.get("annotations")) or {}).get("audience")
    named = cast("list[Any]", declared) if isinstance(declared, list) else []
    return tuple(str(reader) for reader in named) or default


def _link(block: dict[str, Any]) -> str:
    about = " – ".join(str(block[key]) for key in ("title", "description") if block.get(key))
    link = f"link to {block.get('name', '')}: {block.get('uri', '')}{about and f' ({about})'}"
    return valid_text(link)


def _name_in(uri: str) -> str:
    """The file's name at the end of a URI such as `attachment://report.pdf`."""
    path = uri.partition("?")[0].partition("#")[0].rstrip("/")
    return _NAME_REFUSED.sub("_", unquote(path.rpartition("/")[2])).strip(". ")
