"""The official Python client, in both eras and by its own choice, through every door."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client, MCPError
from mcp.client.subscriptions import ResourceUpdated, ToolsListChanged

from tests.processes import PATIENCE
from tests.samples.everything import NOTE, PNG, WAV
from tests.together.doors import DOORS, GUARDED, HTTP, SESSIONS
from tests.together.official import LEGACY_MODE, MODES, FollowTasks, connect
from tests.validation import LEGACY, MODERN

EVERYWHERE = [(door, mode) for mode in MODES for door in (*DOORS, GUARDED)]
# A stateless server cannot ask a client of the handshake era, which it forgets after each request.
ASKING = [(d, m) for d, m in EVERYWHERE if d != HTTP or m != LEGACY_MODE]

everywhere = pytest.mark.parametrize(("door", "mode"), EVERYWHERE)
asking = pytest.mark.parametrize(("door", "mode"), ASKING)
# The official client opens the stream of notices only when it has a session.
legacy = pytest.mark.parametrize(("door", "mode"), [(d, m) for d, m in ASKING if m == LEGACY_MODE])
modern = pytest.mark.parametrize(
    ("door", "mode"), [(door, mode) for door, mode in EVERYWHERE if mode != LEGACY_MODE]
)
# Roots, sampling and logging still work, and the official client says that they will not for ever.
pytestmark = pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")

Connect = Callable[..., Client]


@pytest.fixture
def start(door: str, mode: str, address: str | None) -> Connect:
    return lambda **options: connect(door, mode, address, **options)


def text_of(result: types.CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    return block.text


@everywhere
async def test_it_learns_what_the_server_is(start: Connect, mode: str) -> None:
    async with start() as client:
        assert client.protocol_version == (LEGACY[-1] if mode == LEGACY_MODE else MODERN)
        if mode != MODERN:  # a version that is pinned is taken without asking
            assert client.server_info is not None
            assert client.server_info.title == "One of everything"
            assert client.instructions == "Try each tool once."
            assert client.server_capabilities.tools is not None


@everywhere
async def test_it_lists_everything_page_by_page(start: Connect) -> None:
    async with start() as client:
        page = await client.list_tools()
        tools = {tool.name: tool for tool in page.tools}
        while page.next_cursor is not None:
            page = await client.list_tools(cursor=page.next_cursor)
            tools.update({tool.name: tool for tool in page.tools})
        assert len(tools) > 18
        hints = tools["greet"].annotations
        assert hints is not None
        assert (hints.read_only_hint, hints.idempotent_hint) == (True, True)
        assert tools["weather"].meta == {"anthropic/alwaysLoad": True}
        assert [r.uri for r in (await client.list_resources()).resources] == [NOTE, "image://dot"]
        (template,) = (await client.list_resource_templates()).resource_templates
        assert template.uri_template == "users://{id}/profile"
        prompts = (await client.list_prompts()).prompts
        assert [prompt.name for prompt in prompts] == ["review", "gallery", "introduce"]


@everywhere
async def test_it_gets_every_kind_of_result(start: Connect) -> None:
    async with start() as client:
        assert text_of(await client.call_tool("greet", {"name": "Ada"})) == "Hello, Ada!"
        (image,) = (await client.call_tool("picture")).content
        assert isinstance(image, types.ImageContent)
        assert base64.b64decode(image.data) == PNG
        (audio,) = (await client.call_tool("sound")).content
        assert isinstance(audio, types.AudioContent)
        assert base64.b64decode(audio.data) == WAV
        (document,) = (await client.call_tool("document")).content
        assert isinstance(document, types.EmbeddedResource)
        (link,) = (await client.call_tool("pointer")).content
        assert isinstance(link, types.ResourceLink)
        assert len((await client.call_tool("mixture")).content) == 5


@everywhere
async def test_it_checks_structured_content_against_the_schema(start: Connect) -> None:
    async with start() as client:
        await client.list_tools()
        items = [{"name": "pen", "grams": 10}, {"name": "mug", "grams": 300}]
        result = await client.call_tool("weigh", {"items": items})
        assert result.structured_content == {"total": 310, "heaviest": "mug"}
        doubled = await client.call_tool("double", {"number": 21})
        assert doubled.structured_content == {"result": 42}


@everywhere
async def test_it_reads_resources_and_prompts(start: Connect) -> None:
    async with start() as client:
        (note,) = (await client.read_resource(NOTE)).contents
        assert isinstance(note, types.TextResourceContents)
        assert note.text == "Feed the cat."
        (dot,) = (await client.read_resource("image://dot")).contents
        assert isinstance(dot, types.BlobResourceContents)
        assert base64.b64decode(dot.blob) == PNG
        (user,) = (await client.read_resource("users://7/profile")).contents
        assert isinstance(user, types.TextResourceContents)
        assert user.text == '{"id":7,"name":"user 7"}'
        review = await client.get_prompt("review", {"code": "x = 1"})
        assert isinstance(review.messages[0].content, types.TextContent)
        assert review.messages[0].content.text == "Review this python code: x = 1"
        assert len((await client.get_prompt("gallery")).messages) == 5


@everywhere
async def test_it_completes_arguments(start: Connect) -> None:
    async with start() as client:
        prompt = types.PromptReference(type="ref/prompt", name="review")
        found = await client.complete(prompt, {"name": "language", "value": "p"})
        assert found.completion.values == ["python", "perl"]
        chosen = {"language": "perl"}
        found = await client.complete(prompt, {"name": "code", "value": ""}, chosen)
        assert found.completion.values == ["print('perl')"]
        user = types.ResourceTemplateReference(type="ref/resource", uri="users://{id}/profile")
        found = await client.complete(user, {"name": "id", "value": ""})
        assert (found.completion.total, found.completion.has_more) == (199, True)


@everywhere
async def test_it_hears_of_progress(start: Connect) -> None:
    told: list[tuple[float, float | None, str | None]] = []

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))

    async with start() as client:
        await client.call_tool("count", {"to": 3}, progress_callback=heard)
    assert sorted(told) == [(1, 3, "step 1"), (2, 3, "step 2"), (3, 3, "step 3")]


@asking
async def test_its_person_is_asked(start: Connect) -> None:
    asked: list[str] = []

    async def answer(_: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        asked.append(params.message)
        if params.message == "Where to?":
            assert isinstance(params, types.ElicitRequestFormParams)
            assert params.requested_schema["required"] == ["city"]
            return types.ElicitResult(action="accept", content={"city": "Oslo", "days": 2})
        if params.message.startswith("Allow erase"):
            return types.ElicitResult(action="decline")
        return types.ElicitResult(action="accept", content={"name": "Ada"})

    async with start(elicitation_callback=answer) as client:
        assert text_of(await client.call_tool("ask-name")) == "accept: Ada"
        assert text_of(await client.call_tool("plan-trip")) == "Oslo, 2 days, accept"
        refused = await client.call_tool("erase", {"what": "disk"})
        assert (refused.is_error, text_of(refused)) == (True, "erase was not approved")
        (message,) = (await client.get_prompt("introduce")).messages
        assert message.content == types.TextContent(type="text", text="I am Ada")
    assert asked[:3] == ["Who are you?", "Where to?", "Oslo for 2 days?"]


@asking
async def test_its_model_and_its_folders_are_asked_for(start: Connect) -> None:
    async def model(_: Any, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
        assert params.max_tokens == 50
        block = types.TextContent(type="text", text="forty-two")
        return types.CreateMessageResult(role="assistant", model="tiny", content=block)

    async def roots(_: Any) -> types.ListRootsResult:
        return types.ListRootsResult.model_validate({"roots": [{"uri": "file:///home/ada"}]})

    async with start(sampling_callback=model, list_roots_callback=roots) as client:
        assert text_of(await client.call_tool("think", {"question": "?"})) == "tiny: forty-two"
        assert text_of(await client.call_tool("folders")) == "file:///home/ada"


@asking
async def test_it_hears_the_log_at_its_level(start: Connect, mode: str) -> None:
    send, told = anyio.create_memory_object_stream[str](100)

    async def heard(params: types.LoggingMessageNotificationParams) -> None:
        send.send_nowait(params.level)

    async with send, told, start(logging_callback=heard, log_level="warning") as client:
        if mode == LEGACY_MODE:
            await client.set_logging_level("warning")
        await client.call_tool("chatter")
        with anyio.fail_after(PATIENCE):
            assert {await told.receive(), await told.receive()} == {"error", "warning"}
        assert told.statistics().current_buffer_used == 0


@legacy
async def test_it_hears_of_changes_by_messages(start: Connect, door: str) -> None:
    send, changes = anyio.create_memory_object_stream[types.ServerNotification](100)

    async def heard(message: Any) -> None:
        if isinstance(message, Exception):
            raise message
        send.send_nowait(message)

    async with send, changes, start(message_handler=heard) as client:
        with anyio.fail_after(PATIENCE):
            await client.call_tool("grow", {"name": f"bud-{door}"})
            assert isinstance(await changes.receive(), types.ToolListChangedNotification)
            await client.subscribe_resource(NOTE)
            await client.call_tool("touch", {"uri": NOTE})
            updated = await changes.receive()
            assert isinstance(updated, types.ResourceUpdatedNotification)
            assert updated.params.uri == NOTE


@modern
async def test_it_listens_for_changes(start: Connect, door: str, mode: str) -> None:
    async with start() as client:
        with anyio.fail_after(PATIENCE):
            wanted = {"tools_list_changed": True, "resource_subscriptions": [NOTE]}
            async with client.listen(**wanted) as changes:
                await client.call_tool("grow", {"name": f"bud-{door}-{mode}"})
                assert await anext(changes) == ToolsListChanged()
                await client.call_tool("touch", {"uri": NOTE})
                assert await anext(changes) == ResourceUpdated(uri=NOTE)
        assert text_of(await client.call_tool(f"bud-{door}-{mode}")) == f"I am bud-{door}-{mode}"


@asking
@pytest.mark.parametrize("sleeper", ["sleep-softly", "sleep-deeply"])
async def test_it_cancels_what_it_no_longer_wants(
    start: Connect, door: str, mode: str, sleeper: str
) -> None:
    name = f"{sleeper} of {mode} in {door}"
    scope = anyio.CancelScope()

    async def asleep(progress: float, total: float | None, message: str | None) -> None:
        assert (progress, total, message) == (0, None, "asleep")
        scope.cancel()

    async with start() as client:
        with scope:
            await client.call_tool(sleeper, {"name": name}, progress_callback=asleep)
        assert scope.cancelled_caught
        done = await client.call_tool("was-cancelled", {"name": name})
        assert text_of(done) == f"{name} was cancelled"


@everywhere
async def test_it_tells_errors_of_tools_from_errors_of_the_protocol(
    start: Connect, mode: str
) -> None:
    async with start() as client:
        failed = await client.call_tool("fail", {"reason": "no luck"})
        assert (failed.is_error, text_of(failed)) == (True, "ValueError: no luck")
        misfit = await client.call_tool("count", {"to": "ten"})
        assert (misfit.is_error, "to" in text_of(misfit)) == (True, True)
        with pytest.raises(MCPError) as unknown:
            await client.call_tool("nonesuch")
        assert unknown.value.code == types.INVALID_PARAMS
        with pytest.raises(MCPError) as missing:
            await client.read_resource("note://never")
        assert missing.value.code == (-32002 if mode == LEGACY_MODE else types.INVALID_PARAMS)
        with pytest.raises(MCPError) as prompt:
            await client.get_prompt("review")
        assert prompt.value.code == types.INVALID_PARAMS


@everywhere
async def test_it_mirrors_arguments_into_headers_where_there_are_some(start: Connect) -> None:
    async with start() as client:
        # Not listed before: over HTTP it is refused, lists the tools, and calls again.
        result = await client.call_tool("weather", {"region": "Østlandet"})
        assert text_of(result).startswith("Østlandet: fair")


@modern
async def test_it_follows_a_task_to_its_end(start: Connect) -> None:
    tasks = FollowTasks()

    async def never(*_: Any) -> types.ElicitResult:
        raise AssertionError("a task is answered by tasks/update")

    async with start(extensions=[tasks], elicitation_callback=never) as client:
        result = await client.call_tool("research", {"topic": "cats"})
    assert text_of(result) == "cats: accept"
    assert "input_required" in tasks.seen


@pytest.mark.parametrize(("door", "mode"), [(SESSIONS, LEGACY_MODE)])
async def test_it_ends_its_session_when_it_leaves(start: Connect) -> None:
    for _ in range(2):
        async with start() as client:
            assert text_of(await client.call_tool("greet", {"name": "Ada"})) == "Hello, Ada!"
