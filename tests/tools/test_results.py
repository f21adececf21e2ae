"""Whatever a tool returns becomes content that a client can show."""

from __future__ import annotations

import base64
import enum
import json
import math
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, TypedDict

import msgspec
import pydantic
import pytest

from clawkit import Media, ToolContent, ToolResult, claw_tool
from clawkit.errors import SchemaError
from clawkit.tools.results import to_wire
from tests.tools.calls import result_of

BYTES = b"\x00\x01\xff"
ENCODED = base64.b64encode(BYTES).decode()


@dataclass
class Point:
    x: int
    y: float


class Colour(enum.Enum):
    RED = "red"


class Model(pydantic.BaseModel):
    when: date


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is", "as it is"),
        (5, "5"),
        (2.5, "2.5"),
        (True, "true"),
        ([1, "a", None], '[1,"a",null]'),
        ({"a": [1]}, '{"a":[1]}'),
        (Point(1, 2.0), '{"x":1,"y":2.0}'),
        (Colour.RED, "red"),
        (date(2026, 11, 15), "2026-11-15"),
        (Model(when=date(2026, 1, 2)), '{"when":"2026-01-02"}'),
        (Path("a") / "b", "a/b"),
        (math.nan, "null"),
    ],
)
def test_a_value_becomes_text(value: Any, text: str) -> None:
    assert to_wire(value) == {"content": [{"type": "text", "text": text}]}


def test_none_is_no_content() -> None:
    assert to_wire(None) == {"content": []}


def test_bytes_with_a_type_become_the_block_of_that_type() -> None:
    image, audio = Media(BYTES, "image/png"), Media(BYTES, "audio/wav")
    pdf = Media(BYTES, "application/pdf", name="report.pdf")
    blocks = to_wire([image, audio, pdf, "and text"])["content"]
    assert blocks == [
        {"type": "image", "data": ENCODED, "mimeType": "image/png"},
        {"type": "audio", "data": ENCODED, "mimeType": "audio/wav"},
        {
            "type": "resource",
            "resource": {
                "uri": "attachment://report.pdf",
                "mimeType": "application/pdf",
                "blob": ENCODED,
            },
        },
        {"type": "text", "text": "and text"},
    ]


def test_bare_bytes_become_a_resource() -> None:
    assert to_wire(BYTES)["content"][0]["resource"]["blob"] == ENCODED


def test_the_documented_constructors_give_the_documented_shapes() -> None:
    assert ToolResult.text("ok").to_wire() == {"content": [{"type": "text", "text": "ok"}]}
    assert ToolResult.error("no").to_wire() == {
        "content": [{"type": "text", "text": "no"}],
        "isError": True,
    }
    several = ToolResult.new(
        [ToolContent.text("Description of image"), ToolContent.image("base64data", "image/png")]
    )
    assert several.is_error is None
    assert several.to_wire()["content"][1] == {
        "type": "image",
        "data": "base64data",
        "mimeType": "image/png",
    }


def test_links_annotations_and_meta_are_carried() -> None:
    link = ToolContent.link("file:///a", "a", title="A").annotated(priority=1)
    result = ToolResult([link], meta={"com.example/k": 1}).to_wire()
    assert result == {
        "content": [
            {
                "type": "resource_link",
                "uri": "file:///a",
                "name": "a",
                "title": "A",
                "annotations": {"priority": 1},
            }
        ],
        "_meta": {"com.example/k": 1},
    }


class Weather(TypedDict):
    city: str
    degrees: float


async def test_structured_output_has_a_schema_and_the_same_as_text() -> None:
    @claw_tool(structured=True)
    def weather() -> Weather:
        return {"city": "Oslo", "degrees": -3.5}

    assert weather().definition["outputSchema"]["type"] == "object"
    result = await result_of(weather, {})
    assert result["structuredContent"] == {"city": "Oslo", "degrees": -3.5}
    assert msgspec.json.decode(result["content"][0]["text"]) == result["structuredContent"]


async def test_structured_output_that_is_no_object_is_wrapped() -> None:
    @claw_tool(structured=True)
    def numbers() -> list[int]:
        return [1, 2]

    result = await result_of(numbers, {})
    assert result["structuredContent"] == {"result": [1, 2]}
    assert numbers().definition["outputSchema"]["required"] == ["result"]


async def test_a_tool_may_give_its_own_result_although_it_is_structured() -> None:
    @claw_tool(structured=True)
    def weather(fail: bool) -> Weather:
        result: Any = ToolResult.error("no sensor") if fail else {"city": "Oslo", "degrees": 1.0}
        return result

    assert (await result_of(weather, {"fail": True}))["isError"] is True


async def test_structured_output_is_checked_before_a_client_checks_it() -> None:
    class Person(pydantic.BaseModel):
        full_name: str = pydantic.Field(alias="fullName")

    @claw_tool(structured=True)
    def person() -> Person:
        return Person(fullName="Ada")

    assert (await result_of(person, {}))["structuredContent"] == {"fullName": "Ada"}

    @claw_tool(structured=True)
    def number() -> int:
        wrong: Any = "x"
        return wrong

    result = await result_of(number, {})
    assert result["isError"] is True
    assert "number did not return its type" in result["content"][0]["text"]


def test_media_takes_bytes_only() -> None:
    wrong: Any = "text"
    with pytest.raises(TypeError, match="bytes"):
        Media(wrong, "image/png")


async def test_a_result_that_is_not_json_is_an_error_the_model_can_read() -> None:
    @claw_tool
    def lock() -> object:
        return object()

    result = await result_of(lock, {})
    assert result["isError"] is True
    assert "cannot be written as JSON" in result["content"][0]["text"]


RESULTS = {
    "text": ToolResult.text("ok"),
    "error": ToolResult.error("no"),
    "all": ToolResult(
        [
            ToolContent.image(b"\x89PNG", "image/png"),
            ToolContent.link("file:///a", "a", title="A").annotated(priority=1),
            ToolContent.resource("file:///b", b"b"),
        ],
        is_error=False,
        structured={"n": [1, None]},
        meta={"com.example/k": 1},
    ),
    "null": ToolResult([], structured=None),
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_written_as_it_goes_over_the_wire_and_read_back(name: str) -> None:
    result = RESULTS[name]
    written = msgspec.json.encode(result)
    assert json.loads(written) == result.to_wire()
    assert msgspec.to_builtins(result) == result.to_wire()
    assert ToolResult.from_wire(json.loads(written)) == result
    assert ToolResult.from_wire(result.to_wire()) == result
    for content in result.content:
        assert msgspec.json.decode(msgspec.json.encode(content)) == content.block
        assert ToolContent(json.loads(json.dumps(content))) == content


@pytest.mark.parametrize(
    "wrong", [{}, {"content": "text"}, {"content": ["text"]}, {"content": [{"text": "x"}]}]
)
def test_what_is_no_result_is_not_read_as_one(wrong: dict[str, Any]) -> None:
    with pytest.raises(SchemaError, match="a list of objects with a `type`"):
        ToolResult.from_wire(wrong)
