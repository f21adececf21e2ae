"""Resources and templates from functions."""

from __future__ import annotations

from typing import Any

import pytest

from clawkit import Context, Media, SdkMcpServerImpl, Session
from clawkit.errors import SchemaError
from clawkit.tools.text_features import compile_template


async def read(server: SdkMcpServerImpl, uri: str) -> dict[str, Any]:
    request = {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": uri}}
    reply = await server.handle_jsonrpc(request, Session())
    assert reply is not None
    return reply


async def test_a_function_gives_text_bytes_media_or_json() -> None:
    server = SdkMcpServerImpl("s", "1")

    @server.resource("r://text", mime_type="text/plain")
    def text() -> str:
        """Some text."""
        return "hello"

    @server.resource("r://bytes", mime_type="image/png")
    async def data() -> bytes:
        return b"\x00"

    @server.resource("r://media")
    def media() -> Media:
        return Media(b"\x01", "audio/wav")

    @server.resource("r://json")
    def json(context: Context) -> dict[str, str]:
        return {"server": context.server.name}

    contents = {uri: (await read(server, uri))["result"]["contents"] for uri in server.resources}
    assert contents == {
        "r://text": [{"uri": "r://text", "mimeType": "text/plain", "text": "hello"}],
        "r://bytes": [{"uri": "r://bytes", "mimeType": "image/png", "blob": "AA=="}],
        "r://media": [{"uri": "r://media", "mimeType": "audio/wav", "blob": "AQ=="}],
        "r://json": [{"uri": "r://json", "mimeType": "application/json", "text": '{"server":"s"}'}],
    }
    assert server.resources["r://text"].definition == {
        "uri": "r://text",
        "name": "text",
        "description": "Some text.",
        "mimeType": "text/plain",
    }


async def test_the_variables_of_a_template_are_converted_to_the_annotated_types() -> None:
    server = SdkMcpServerImpl("s", "1")

    @server.resource("user://{name}/posts/{number}")
    def post(name: str, number: int) -> str:
        return f"{name}: {number + 1}"

    found = await read(server, "user://Ada%20L/posts/41")
    assert found["result"]["contents"][0]["text"] == "Ada L: 42"
    wrong = await read(server, "user://ada/posts/many")
    assert wrong["error"]["code"] == -32602
    missing = await read(server, "user://ada/nothing")
    assert missing["error"]["code"] == -32002
    assert missing["error"]["data"] == {"uri": "user://ada/nothing"}


@pytest.mark.parametrize(
    ("template", "uri", "found"),
    [
        ("a://{x}", "a://b", {"x": "b"}),
        ("a://{x}", "a://b/c", None),
        ("a://{+x}", "a://b/c", {"x": "b/c"}),
        ("a://{x*}/end", "a://b/c/end", {"x": "b/c"}),
        ("a://{x}.{y}", "a://b.c", {"x": "b", "y": "c"}),
        ("a://x.y", "a://xzy", None),
    ],
)
def test_a_template_matches_its_uris_and_no_others(
    template: str, uri: str, found: dict[str, str] | None
) -> None:
    match = compile_template(template).fullmatch(uri)
    assert (match.groupdict() if match else None) == found


@pytest.mark.parametrize("template", ["a://{", "a://{x", "a://{?x}", "a://}{x}"])
def test_a_template_that_is_not_understood_is_refused_where_it_is_written(template: str) -> None:
    with pytest.raises(SchemaError, match="only"):
        compile_template(template)


def test_a_resource_without_a_uri_or_with_parameters_it_cannot_fill_is_refused() -> None:
    server = SdkMcpServerImpl("s", "1")
    bare: Any = lambda: "x"  # noqa: E731
    with pytest.raises(SchemaError, match="needs a URI"):
        server.resource(bare)
    with pytest.raises(SchemaError, match="no variables for the parameters name"):

        @server.resource("a://b")
        def read_it(name: str) -> str:
            return name


def test_a_uri_that_almost_matches_is_refused_quickly() -> None:
    pattern = compile_template("log://{year}-{month}-{day}")
    assert pattern.fullmatch("log://2026-11-15")
    assert pattern.fullmatch("log://" + "-" * 100_000 + "/") is None


def test_a_template_whose_variables_are_not_the_parameters_is_refused() -> None:
    server = SdkMcpServerImpl("s", "1")
    with pytest.raises(SchemaError, match="differ in id, name"):

        @server.resource("user://{id}")
        def user(name: str) -> str:
            return name
