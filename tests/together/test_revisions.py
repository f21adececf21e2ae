"""What a client asks and the server answers, in every revision and through every door."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.samples.everything import NOTE, PNG, WAV
from tests.together.doors import DOORS, HttpDoor, address_of
from tests.together.raw_client import META, RawClient, Refused, raw_client
from tests.validation import MODERN, REVISIONS

EVERYWHERE = [(door, version) for door in DOORS for version in REVISIONS]


@pytest.fixture(scope="module", params=EVERYWHERE, ids="-".join)
async def client(request: pytest.FixtureRequest) -> AsyncIterator[RawClient]:
    """One connection for all that is asked through one door in one revision."""
    door, version = request.param
    async with raw_client(door, version, address_of(door, request)) as client:
        yield client


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def text_of(result: dict[str, Any]) -> str:
    (block,) = result["content"]
    assert block["type"] == "text"
    return block["text"]


async def every_page(client: RawClient, method: str, field: str) -> list[list[dict[str, Any]]]:
    pages: list[list[dict[str, Any]]] = []
    result: dict[str, Any] = {"nextCursor": None}
    while "nextCursor" in result:
        cursor = result["nextCursor"]
        result = await client.request(method, {} if cursor is None else {"cursor": cursor})
        pages.append(result[field])
    return pages


async def test_the_opening_says_what_the_server_is_and_can_do(client: RawClient) -> None:
    found = client.opening
    if client.modern:
        assert found["supportedVersions"] == [MODERN]
        info = found["_meta"][f"{META}serverInfo"]
        assert found["capabilities"]["extensions"] == {f"{META}tasks": {}}
    else:
        assert found["protocolVersion"] == client.version
        info = found["serverInfo"]
        assert await client.request("ping") == {}
    assert (info["name"], info["version"]) == ("everything", "1.2.3")
    assert found["instructions"] == "Try each tool once."
    assert {"tools", "resources", "prompts", "completions", "logging"} <= set(found["capabilities"])


async def test_lists_come_in_pages_that_name_every_item_once(client: RawClient) -> None:
    tools = await every_page(client, "tools/list", "tools")
    assert [len(page) for page in tools[:-1]] == [9] * (len(tools) - 1)
    names = [tool["name"] for page in tools for tool in page]
    assert len(names) == len(set(names)) > 18
    assert {"greet", "ask-name", "weather"} <= set(names)
    resources = await every_page(client, "resources/list", "resources")
    assert [[item["uri"] for item in page] for page in resources] == [[NOTE, "image://dot"]]
    templates = await every_page(client, "resources/templates/list", "resourceTemplates")
    assert [[item["uriTemplate"] for item in page] for page in templates] == [
        ["users://{id}/profile"]
    ]
    prompts = await every_page(client, "prompts/list", "prompts")
    assert [item["name"] for item in prompts[0]] == ["review", "gallery", "introduce"]
    assert [item["required"] for item in prompts[0][0]["arguments"]] == [True, False]


async def test_a_cursor_that_was_never_given_is_refused(client: RawClient) -> None:
    with pytest.raises(Refused, match="cursor") as refusal:
        await client.request("tools/list", {"cursor": "bm9uZQ=="})
    assert refusal.value.code == -32602


async def test_text_is_text_and_images_are_images(client: RawClient) -> None:
    assert text_of(await client.call("greet", {"name": "Ada"})) == "Hello, Ada!"
    (image,) = (await client.call("picture"))["content"]
    assert image == {"type": "image", "data": encoded(PNG), "mimeType": "image/png"}


async def test_audio_is_a_resource_for_the_first_revision_and_audio_since(
    client: RawClient,
) -> None:
    (block,) = (await client.call("sound"))["content"]
    if client.version == "2024-11-05":
        assert block["type"] == "resource"
        assert block["resource"]["mimeType"] == "audio/wav"
        assert block["resource"]["blob"] == encoded(WAV)
    else:
        assert block == {"type": "audio", "data": encoded(WAV), "mimeType": "audio/wav"}


async def test_documents_come_along_and_links_only_where_the_revision_has_them(
    client: RawClient,
) -> None:
    (block,) = (await client.call("document"))["content"]
    assert block["resource"] == {"uri": "doc://1", "mimeType": "text/markdown", "text": "# One"}
    assert block["annotations"] == {"priority": 0.5}
    (link,) = (await client.call("pointer"))["content"]
    if client.version < "2025-06-18":
        assert link == {"type": "text", "text": f"today: {NOTE}"}
    else:
        assert (link["type"], link["uri"], link["name"]) == ("resource_link", NOTE, "today")


async def test_one_answer_may_mix_every_kind_of_block(client: RawClient) -> None:
    kinds = [block["type"] for block in (await client.call("mixture"))["content"]]
    audio = "resource" if client.version == "2024-11-05" else "audio"
    link = "text" if client.version < "2025-06-18" else "resource_link"
    assert kinds == ["text", "image", audio, link, "resource"]


async def test_structured_content_fits_its_schema_and_is_text_as_well(client: RawClient) -> None:
    items = [{"name": "pen", "grams": 10}, {"name": "mug", "grams": 300}]
    result = await client.call("weigh", {"items": items})
    assert text_of(result) == '{"total":310,"heaviest":"mug"}'
    assert result["structuredContent"] == {"total": 310, "heaviest": "mug"}
    pages = await every_page(client, "tools/list", "tools")
    tools = {tool["name"]: tool for page in pages for tool in page}
    Draft202012Validator(tools["weigh"]["outputSchema"]).validate(result["structuredContent"])
    doubled = await client.call("double", {"number": 21})
    Draft202012Validator(tools["double"]["outputSchema"]).validate(doubled["structuredContent"])
    assert doubled["structuredContent"] == {"result": 42}


async def test_resources_are_read_as_text_as_bytes_and_by_template(client: RawClient) -> None:
    async def read(uri: str) -> dict[str, Any]:
        (found,) = (await client.request("resources/read", {"uri": uri}))["contents"]
        assert found["uri"] == uri
        return found

    assert (await read(NOTE))["text"] == "Feed the cat."
    assert (await read("image://dot"))["blob"] == encoded(PNG)
    user = await read("users://7/profile")
    assert (user["mimeType"], user["text"]) == ("application/json", '{"id":7,"name":"user 7"}')


async def test_a_resource_that_is_not_there_is_an_error(client: RawClient) -> None:
    for uri, code in [("note://never", -32002), ("users://seven/profile", -32602)]:
        with pytest.raises(Refused) as refusal:
            await client.request("resources/read", {"uri": uri})
        assert refusal.value.code == (-32602 if client.modern else code)


async def test_prompts_are_rendered_with_their_arguments(client: RawClient) -> None:
    asked = {"name": "review", "arguments": {"code": "x = 1", "language": "rust"}}
    result = await client.request("prompts/get", asked)
    assert result["description"] == "Ask for a review."
    (message,) = result["messages"]
    assert message["role"] == "user"
    assert message["content"] == {"type": "text", "text": "Review this rust code: x = 1"}


async def test_prompts_may_hold_every_kind_of_message(client: RawClient) -> None:
    messages = (await client.request("prompts/get", {"name": "gallery"}))["messages"]
    audio = "resource" if client.version == "2024-11-05" else "audio"
    kinds = [message["content"]["type"] for message in messages]
    assert kinds == ["text", "image", audio, "resource", "text"]
    assert [message["role"] for message in messages] == ["user"] * 4 + ["assistant"]


async def test_a_prompt_that_cannot_be_rendered_is_an_error(client: RawClient) -> None:
    for asked, named in [
        ({"name": "review"}, "code"),
        ({"name": "review", "arguments": {"code": "", "language": "cobol"}}, "language"),
        ({"name": "nothing"}, "nothing"),
    ]:
        with pytest.raises(Refused, match=named) as refusal:
            await client.request("prompts/get", asked)
        assert refusal.value.code == -32602


async def test_arguments_of_prompts_and_templates_are_completed(client: RawClient) -> None:
    async def complete(ref: dict[str, str], name: str, value: str, **more: Any) -> dict[str, Any]:
        asked = {"ref": ref, "argument": {"name": name, "value": value}, **more}
        return (await client.request("completion/complete", asked))["completion"]

    review = {"type": "ref/prompt", "name": "review"}
    assert (await complete(review, "language", "p"))["values"] == ["python", "perl"]
    chosen = {"context": {"arguments": {"language": "perl"}}}
    expected = "print('perl')" if client.version >= "2025-06-18" else "print('nothing')"
    more = chosen if client.version >= "2025-06-18" else {}
    assert (await complete(review, "code", "", **more))["values"] == [expected]
    user = {"type": "ref/resource", "uri": "users://{id}/profile"}
    many = await complete(user, "id", "")
    assert (len(many["values"]), many["total"], many["hasMore"]) == (100, 199, True)
    gallery = {"type": "ref/prompt", "name": "gallery"}
    assert (await complete(gallery, "none", ""))["values"] == []


async def test_a_tool_that_fails_gives_an_error_that_the_model_can_read(client: RawClient) -> None:
    failed = await client.call("fail", {"reason": "no luck"})
    assert (failed["isError"], text_of(failed)) == (True, "ValueError: no luck")
    refused = await client.call("refuse")
    assert (refused["isError"], text_of(refused)) == (True, "I would rather not")


async def test_arguments_that_do_not_fit_are_named(client: RawClient) -> None:
    for tool, arguments, named in [
        ("greet", {}, "name"),
        ("greet", {"name": ""}, "name"),
        ("count", {"to": "ten"}, "to"),
        ("count", {"to": 51}, "to"),
        ("weigh", {"items": [{"name": "pen", "grams": "few"}]}, "items[0].grams"),
        ("greet", {"name": "Ada", "loud": True}, "loud"),
    ]:
        result = await client.call(tool, arguments)
        assert result["isError"] is True
        assert text_of(result).startswith(f"Invalid arguments for {tool}: ")
        assert named in text_of(result)


async def test_tools_and_methods_that_do_not_exist_are_errors(client: RawClient) -> None:
    with pytest.raises(Refused, match="nonesuch") as refusal:
        await client.call("nonesuch")
    assert refusal.value.code == -32602
    gone = ["ping", "initialize", "logging/setLevel", "resources/subscribe"]
    missing = gone if client.modern else ["subscriptions/listen", "tasks/get"]
    for method in ["tools/burn", *missing]:
        with pytest.raises(Refused, match="not found") as refusal:
            await client.request_unchecked(method, {"taskId": "1"})
        assert refusal.value.code == -32601


async def test_parameters_of_the_wrong_type_are_errors(client: RawClient) -> None:
    for method, params in [
        ("tools/call", {"name": 7}),
        ("tools/call", {"name": "greet", "arguments": ["Ada"]}),
        ("resources/read", {"uri": None}),
        ("prompts/get", {"name": "review", "arguments": {"code": 1}}),
        ("completion/complete", {"ref": {"type": "ref/else"}, "argument": {}}),
    ]:
        with pytest.raises(Refused) as refusal:
            await client.request_unchecked(method, params)
        assert refusal.value.code == -32602


async def test_the_trace_of_a_request_reaches_the_tool(client: RawClient) -> None:
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    result = await client.call("weather", {"region": "north"}, traceparent=trace)
    assert text_of(result) == f"north: fair; trace {trace}"


async def test_an_unknown_method_has_a_status_of_its_own_only_in_modern_http(
    client: RawClient,
) -> None:
    with pytest.raises(Refused):
        await client.request_unchecked("tools/burn")
    if isinstance(client.door, HttpDoor):
        *_, status = client.door.statuses.values()
        assert status == (404 if client.modern else 200)
