"""The official Python client, in both eras, notices nothing of a guard that allows everything."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.subscriptions import ToolsListChanged

from tests.guard.guarded_server import ALLOW_ALL
from tests.guard.http.worlds import remote_command, reverse_proxy
from tests.processes import PATIENCE, ROOT, http_server
from tests.samples.everything import NOTE
from tests.together.doors import EVERYTHING
from tests.together.official import AUTO, LEGACY_MODE
from tests.validation import LEGACY, MODERN

POLICY = f"""
[[rule]]
action = "deny"
tool = "double"
args.number = "13"
description = "Not this number"

[[rule]]
action = "allow"
tool = "ask-name"
only_args = true

[[rule]]
action = "deny"
tool = "ask-name"
description = "What it brings is not from an earlier round"

{ALLOW_ALL}
"""
DOORS = ("reverse", "stdio")
ways = pytest.mark.parametrize(
    ("door", "mode"), [(door, mode) for door in DOORS for mode in (LEGACY_MODE, MODERN, AUTO)]
)
legacy = pytest.mark.parametrize(("door", "mode"), [(door, LEGACY_MODE) for door in DOORS])
modern = pytest.mark.parametrize(("door", "mode"), [(door, MODERN) for door in DOORS])
pytestmark = pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")

Connect = Callable[..., Client]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("official")


@pytest.fixture(scope="module")
def upstream() -> Iterator[str]:
    with http_server(EVERYTHING, "--sessions") as address:
        yield address


@pytest.fixture(scope="module")
def reverse(upstream: str, folder: Path) -> Iterator[str]:
    with reverse_proxy(upstream, folder, POLICY, CLAW_HOME=str(folder / "claw")) as address:
        yield address


@pytest.fixture
def start(door: str, mode: str, upstream: str, reverse: str, tmp_path: Path) -> Connect:
    def connect(**options: Any) -> Client:
        command, *args = remote_command(upstream, tmp_path, POLICY)
        env = {"CLAW_HOME": str(tmp_path / "claw")}
        process = StdioServerParameters(command=command, args=args, cwd=ROOT, env=env)
        server = reverse if door == "reverse" else process
        return Client(server, mode=mode, read_timeout_seconds=PATIENCE, **options)

    return connect


def text_of(result: types.CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    return block.text


@ways
async def test_it_lists_calls_reads_and_is_refused(start: Connect, mode: str) -> None:
    async with start() as client:
        assert client.protocol_version == (LEGACY[-1] if mode == LEGACY_MODE else MODERN)
        assert (await client.list_tools()).tools
        assert text_of(await client.call_tool("greet", {"name": "Ada"})) == "Hello, Ada!"
        many = [client.call_tool("double", {"number": number}) for number in range(10)]
        found = await asyncio.gather(*many)
        assert [r.structured_content for r in found] == [{"result": 2 * n} for n in range(10)]
        (note,) = (await client.read_resource(NOTE)).contents
        assert isinstance(note, types.TextResourceContents)
        assert (await client.get_prompt("review", {"code": "x"})).messages
        with pytest.raises(MCPError, match="Denied by policy: Not this number"):
            await client.call_tool("double", {"number": 13})


@ways
async def test_it_hears_of_progress(start: Connect) -> None:
    told: list[float] = []

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        assert (total, message) == (3, f"step {progress:.0f}")
        told.append(progress)

    async with start() as client:
        await client.call_tool("count", {"to": 3}, progress_callback=heard)
    assert sorted(told) == [1, 2, 3]


@ways
async def test_its_person_and_its_model_are_asked(start: Connect) -> None:
    async def answer(_: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        assert params.message == "Who are you?"
        return types.ElicitResult(action="accept", content={"name": "Ada"})

    async def model(_: Any, __: types.CreateMessageRequestParams) -> types.CreateMessageResult:
        block = types.TextContent(type="text", text="forty-two")
        return types.CreateMessageResult(role="assistant", model="tiny", content=block)

    async with start(elicitation_callback=answer, sampling_callback=model) as client:
        assert text_of(await client.call_tool("ask-name")) == "accept: Ada"
        assert text_of(await client.call_tool("think", {"question": "?"})) == "tiny: forty-two"


@legacy
async def test_it_hears_of_changes_on_the_stream_of_its_session(start: Connect, door: str) -> None:
    send, changes = anyio.create_memory_object_stream[Any](100)

    async def heard(message: Any) -> None:
        send.send_nowait(message)

    async with send, changes, start(message_handler=heard) as client:
        await client.call_tool("grow", {"name": f"bud-{door}"})
        with anyio.fail_after(PATIENCE):
            assert isinstance(await changes.receive(), types.ToolListChangedNotification)


@modern
async def test_it_hears_of_changes_where_it_listens(start: Connect, door: str) -> None:
    async with start() as client:
        with anyio.fail_after(PATIENCE):
            async with client.listen(tools_list_changed=True) as changes:
                await client.call_tool("grow", {"name": f"leaf-{door}"})
                assert await anext(changes) == ToolsListChanged()


@ways
async def test_what_it_no_longer_wants_is_cancelled_at_the_server(
    start: Connect, door: str, mode: str
) -> None:
    name, scope = f"{door}-{mode}", anyio.CancelScope()

    async def asleep(progress: float, total: float | None, message: str | None) -> None:
        assert (progress, total, message) == (0, None, "asleep")
        scope.cancel()

    async with start() as client:
        with scope:
            await client.call_tool("sleep-softly", {"name": name}, progress_callback=asleep)
        done = await client.call_tool("was-cancelled", {"name": name})
        assert text_of(done) == f"{name} was cancelled"
