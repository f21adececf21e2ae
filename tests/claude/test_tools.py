"""In-process tools, called by the real CLI."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from pathlib import Path
from typing import Any

from clawkit import SdkMcpServer, SdkMcpServerImpl, ToolContent, ToolResult
from clawkit.claude.client import ClaudeClient
from clawkit.claude.messages import ToolResultBlock, ToolUseBlock, UserMessage
from tests.assistant.providers.scripted import Call, Say, scripted_anthropic
from tests.claude.cli import environment, real_cli
from tests.claude.conversations import Talk, talking
from tests.processes import PATIENCE

PIXEL = base64.b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
        "0000000c4944415408d763f8cfc0000003010100c9fe92ef0000000049454e44ae426082"
    )
).decode()
ALL = ["mcp__kit"]


async def known(client: ClaudeClient, tool: str) -> None:
    """Wait until the CLI knows of a tool."""
    async with asyncio.timeout(PATIENCE):
        while True:
            (status,) = await client.mcp_status()
            if tool in [found["name"] for found in status["tools"]]:
                return
            await asyncio.sleep(0.01)


def kit() -> SdkMcpServerImpl:
    return SdkMcpServerImpl("kit", "1.0.0")


async def test_a_tool_is_called_and_its_answer_reaches_the_model(project: Path) -> None:
    server = kit()

    @server.tool
    async def add(a: int, b: int) -> str:
        return f"Result: {a + b}"

    script = [
        [Say("Let me see."), Call("mcp__kit__add", {"a": 1, "b": 2}, id="t1")],
        Say("It is 3."),
    ]
    async with talking(project, script, server, allowed_tools=["mcp__kit__add"]) as talk:
        result = await talk.say("What is 1 + 2?")
        assert talk.read("t1") == "Result: 3"
        assert not talk.result("t1").get("is_error")
    assert (result.subtype, result.is_error, result.result) == ("success", False, "It is 3.")
    blocks = [block for m in talk.messages if isinstance(m, UserMessage) for block in m.content]
    assert blocks == [ToolResultBlock("t1", [{"type": "text", "text": "Result: 3"}])]
    assert {"name": "kit", "status": "connected", "source": "sdk"} in talk.init["mcp_servers"]


async def test_the_model_reads_what_a_raising_tool_raised_and_what_was_wrong_with_arguments(
    project: Path,
) -> None:
    server, seen = kit(), []

    @server.tool(always_load=True)
    async def fail(count: int) -> str:
        seen.append(count)
        raise ValueError("the kettle is empty")

    calls = [
        Call("mcp__kit__fail", {"count": 1}, id="raises"),
        Call("mcp__kit__fail", {"count": "many"}, id="wrong"),
        Call("mcp__kit__fail", {}, id="missing"),
    ]
    async with talking(project, [calls, Say("Oh.")], server, allowed_tools=ALL) as talk:
        await talk.say("Try.")
        assert talk.read("raises") == "ValueError: the kettle is empty"
        assert talk.read("wrong").startswith("Invalid arguments for fail: count: ")
        assert "count" in talk.read("missing")
        assert all(talk.result(id)["is_error"] for id in ("raises", "wrong", "missing"))
    assert seen == [1], "only valid arguments reach a tool"


async def test_an_image_and_a_megabyte_of_text_arrive_as_they_were(project: Path) -> None:
    server = kit()
    book = "".join(f"{number:07}\n" for number in range(131072))
    assert len(book) == 1 << 20

    @server.tool
    async def picture() -> ToolResult:
        return ToolResult.new([ToolContent.text("A dot"), ToolContent.image(PIXEL, "image/png")])

    @server.tool(meta={"anthropic/maxResultSizeChars": 500_000})
    async def read(length: int) -> str:
        return book[:length]

    calls = [
        Call("mcp__kit__picture", id="picture"),
        Call("mcp__kit__read", {"length": 400_000}, id="part"),
        Call("mcp__kit__read", {"length": 1 << 20}, id="whole"),
    ]
    env = {"MAX_MCP_OUTPUT_TOKENS": "1000000"}
    async with talking(project, [calls, Say("Fine.")], server, allowed_tools=ALL, env=env) as talk:
        await talk.say("Show me.")
        text, image, _ = talk.result("picture")["content"]
        assert text["text"] == "A dot"
        assert image["source"] == {"type": "base64", "media_type": "image/png", "data": PIXEL}
        assert talk.read("part") == book[:400_000]
        # The CLI shows the model the beginning of what is longer, and where it has put the rest.
        saved = re.search(r"saved to: (\S+)", talk.read("whole"))
        assert saved
    content = json.loads(Path(saved[1]).read_text())  # noqa: ASYNC240 - nothing else runs
    assert content == [{"type": "text", "text": book}]


async def test_ten_tools_that_only_read_run_at_the_same_time(project: Path) -> None:
    server, here, together = kit(), [], asyncio.Event()

    @server.tool(read_only=True)
    async def look(number: int) -> str:
        here.append(number)
        if len(here) == 10:
            together.set()
        await asyncio.wait_for(together.wait(), 30)
        return f"saw {number}"

    calls = [Call("mcp__kit__look", {"number": n}, id=f"t{n}") for n in range(10)]
    async with talking(project, [calls, Say("Seen.")], server, allowed_tools=ALL) as talk:
        await talk.say("Look everywhere.")
        assert [talk.read(f"t{n}") for n in range(10)] == [f"saw {n}" for n in range(10)]


async def test_an_interrupt_cancels_the_tool_and_the_call_is_answered(project: Path) -> None:
    server, started, cancelled = kit(), asyncio.Event(), asyncio.Event()

    @server.tool
    async def wait() -> str:
        started.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return "never"

    script = [Call("mcp__kit__wait", id="w"), Say("Still here.")]
    async with talking(project, script, server, allowed_tools=ALL) as talk:
        turn = asyncio.create_task(talk.say("Wait."))
        await asyncio.wait_for(started.wait(), 30)
        await talk.client.interrupt()
        await asyncio.wait_for(cancelled.wait(), 30)
        assert (await turn).subtype == "error_during_execution"
        assert (await talk.say("Are you there?")).result == "Still here."
        assert talk.result("w")["is_error"], "the model knows what became of its call"


async def test_a_tool_that_is_added_while_the_cli_runs_is_offered_next(project: Path) -> None:
    server = kit()

    @server.tool(always_load=True)
    def grow() -> str:
        server.tool(name="grown", always_load=True)(grown)
        return "there is one more"

    def grown() -> str:
        return "I am new"

    script = [
        Call("mcp__kit__grow", id="g"),
        Say("Good."),
        Call("mcp__kit__grown", id="n"),
        Say("!"),
    ]
    async with talking(project, script, server, allowed_tools=["mcp__kit"]) as talk:
        await talk.say("Grow.")
        assert "mcp__kit__grown" not in talk.api.requests[0].tools
        await known(talk.client, "grown")
        await talk.say("Use it.")
        assert "mcp__kit__grown" in talk.offered
        assert talk.read("n") == "I am new"
    server.tool(name="late")(grown)  # there is nobody to tell any more, and that is no error


async def test_a_handler_of_ones_own_can_answer_for_servers(project: Path) -> None:
    heard: list[tuple[str, str]] = []

    class Handler:
        async def handle(self, server_name: str, request: dict[str, Any]) -> dict[str, Any] | None:
            heard.append((server_name, request["method"]))
            match request["method"]:
                case "initialize":
                    result: dict[str, Any] = {
                        "protocolVersion": "2025-11-25",
                        "capabilities": {"tools": {}},
                        "serverInfo": {"name": server_name, "version": "1"},
                    }
                case "tools/list":
                    tool = {"name": "go", "description": "Go", "inputSchema": {"type": "object"}}
                    result = {"tools": [tool]}
                case "tools/call":
                    result = {"content": [{"type": "text", "text": "gone"}]}
                case _:
                    return None
            return {"jsonrpc": "2.0", "id": request["id"], "result": result}

    with scripted_anthropic([Call("mcp__own__go", id="g"), Say("Good.")]) as api:
        client = ClaudeClient(
            cli_path=real_cli(),
            cwd=project,
            env=environment(api.url, project.parent),
            sdk_mcp_servers=[SdkMcpServer("own", "1")],
            allowed_tools=["mcp__own__go"],
        )
        client.register_mcp_message_handler(Handler())
        async with client:
            talk = Talk(client, api)
            await talk.say("Go.")
            assert talk.read("g") == "gone"
    assert ("own", "notifications/initialized") in heard


async def test_calls_of_blocks_that_the_client_sees_are_typed(project: Path) -> None:
    server = kit()

    @server.tool
    async def add(a: int, b: int) -> int:
        return a + b

    script = [Call("mcp__kit__add", {"a": 1, "b": 2}, id="t1"), Say("3")]
    async with talking(project, script, server, allowed_tools=ALL) as talk:
        await talk.say("1 + 2?")
    blocks = [b for m in talk.messages for b in getattr(m, "content", ())]
    assert ToolUseBlock("t1", "mcp__kit__add", {"a": 1, "b": 2}) in blocks


async def test_half_an_emoji_reaches_the_model_and_ends_nothing(project: Path) -> None:
    """A program that cuts texts by their length in UTF-16 leaves such halves."""
    server = SdkMcpServerImpl("kit", "1.0.0")

    @server.tool(always_load=True)
    async def cut(text: str) -> str:
        return f"{text} and \ud83d."

    script = [Call("mcp__kit__cut", {"text": "half"}, id="c"), Say("I see.")]
    async with talking(project, script, server, allowed_tools=["mcp__kit"]) as talk:
        assert (await talk.say("This is \ud83d.")).result == "I see."
        assert talk.read("c") == "half and \ufffd."
