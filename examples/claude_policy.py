"""The Claude CLI under a policy: one file decides about its own tools and about ours.

    python examples/claude_policy.py "Look after the kale, and note what you did in notes.txt."

It works in `~/garden` and asks in the terminal where the policy says so. It needs the CLI
(`npm install -g @anthropic-ai/claude-code`) and whatever the CLI needs to answer.
"""

import asyncio
import sys
from pathlib import Path

from clawkit import (
    AssistantMessage,
    ClaudeClient,
    Deny,
    SdkMcpServerImpl,
    SdkMcpServerRegistry,
    ToolRequest,
)

GARDEN = Path.home() / "garden"
POLICY = Path(__file__).with_name("claude_policy.toml")

beds = SdkMcpServerImpl("beds", "1.0.0")


@beds.tool(read_only=True, always_load=True)
async def moisture(bed: str) -> str:
    """How wet a bed is."""
    return f"{bed}: 12 %"


@beds.tool(always_load=True)
async def water(bed: str, litres: int) -> str:
    """Water a bed."""
    return f"{bed}: {litres} l"


async def ask(request: ToolRequest) -> bool | Deny:
    """Ask the person in the terminal; the policy says when."""
    print(f"{request.reason}: {request.tool_name} {request.input}")
    try:
        answer = await asyncio.to_thread(input, "Allow? [y/N] ")
    except EOFError:
        return Deny("There is nobody at the terminal")
    return answer.strip().lower() == "y"


async def main(task: str) -> None:
    GARDEN.mkdir(exist_ok=True)
    registry = SdkMcpServerRegistry()
    registry.register(beds)
    client = ClaudeClient(cwd=GARDEN, policy=POLICY, can_use_tool=ask)
    client.register_mcp_message_handler(registry)
    async with client:
        await client.send(task)
        async for message in client.receive_response():
            if isinstance(message, AssistantMessage) and message.text:
                print(message.text)


if __name__ == "__main__":
    asyncio.run(main(" ".join(sys.argv[1:]) or "How is the kale?"))
