"""From end to end: the official client, `mcp-server` as a process, and a real language model."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult, TextContent

from tests.assistant.llama import Llama, llama_server
from tests.processes import PATIENCE, ROOT

CONFIG = """
[model]
use = "llamacpp/smollm2"
max_tokens = 40

[providers.llamacpp]
base_url = "{url}"

[assistant]
instructions = "You are a helpful assistant."
structured = true
tool_steps = 1
"""
WEATHER = """
from clawkit import claw_tool

@claw_tool
def weather(town: str) -> str:
    \"\"\"The weather in a town.\"\"\"
    return f"It is 17 degrees and raining in {town}."
"""
# Even a model this small can copy, and what it copies is a call.
CALL_IT = """Copy this text exactly:

<tool_call>
{"name": "weather", "arguments": {"town": "Paris"}}
</tool_call>

The copy:"""


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Llama]:
    with llama_server(tmp_path_factory.mktemp("llama")) as server:
        yield server


@pytest.fixture
def config(llama: Llama, home: Path) -> Path:
    """The directory of the config, which names the model."""
    directory = home / "claw" / "config" / "claw"
    directory.mkdir(parents=True)
    (directory / "config.toml").write_text(CONFIG.format(url=llama.url))
    return directory


def assistant() -> Client:
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "clawkit", "mcp-server"], cwd=ROOT, env=dict(os.environ)
    )
    return Client(command, read_timeout_seconds=PATIENCE)


def text_of(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


@pytest.mark.usefixtures("config")
async def test_a_real_model_answers_an_order() -> None:
    async with assistant() as client:
        order = {"message": "What is the capital of France?", "sessionKey": "geography"}
        result = await client.call_tool("order_openclaw", order)

    assert not result.is_error, text_of(result)
    assert len(text_of(result)) > 1
    assert result.structured_content is not None
    assert result.structured_content["model"] == "llamacpp/smollm2"
    assert result.structured_content["sessionKey"] == "geography"
    assert result.structured_content["stopReason"] == "end"
    assert result.structured_content["usage"]["input"] > 50
    assert result.structured_content["usage"]["output"] > 1


async def test_a_real_model_calls_a_tool_from_a_python_file(config: Path) -> None:
    (config / "tools").mkdir()
    (config / "tools" / "weather.py").write_text(WEATHER)

    async with assistant() as client:
        result = await client.call_tool("order_openclaw", {"message": CALL_IT})

    # The prompt has the day and the workspace in it, and a model this small minds: it always makes
    # a call of what it should copy, and not always one without a mistake that could be run.
    assert "after 1 round of tool calls" in text_of(result)
    assert result.structured_content is not None
    assert result.structured_content["usage"]["output"] > 10
