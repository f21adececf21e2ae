"""The documented agent: the Claude CLI with a calculator that runs in this process.

    python examples/claude_agent.py "What is 6 times 7?"

It needs the CLI (`npm install -g @anthropic-ai/claude-code`) and whatever the CLI needs to answer.
"""

import asyncio
import sys

from clawkit import SdkMcpServer, SdkMcpServerImpl, SdkMcpServerRegistry, ToolResult, claw_tool
from clawkit.claude import AssistantMessage, ClaudeAgentOptions, ClaudeClient


# Define tools with the decorator
@claw_tool(name="calculator", description="Perform arithmetic")
async def calculator(operation: str, a: int, b: int) -> ToolResult:
    match operation:
        case "add":
            return ToolResult.text(f"{a + b}")
        case "multiply":
            return ToolResult.text(f"{a * b}")
        case _:
            return ToolResult.error(f"Unknown operation: {operation}")


# Build the server and registry
server = SdkMcpServerImpl("math-tools", "1.0.0")
server.register_tool(calculator())

registry = SdkMcpServerRegistry()
registry.register(server)

# Configure the agent options
options = (
    ClaudeAgentOptions.builder()
    .sdk_mcp_servers([SdkMcpServer(name="math-tools", version="1.0.0")])
    .allowed_tools(["mcp__math-tools__calculator"])
    .build()
)


async def main(question: str) -> None:
    client = ClaudeClient(options)
    client.register_mcp_message_handler(registry)
    async with client:
        await client.send(question)
        async for message in client.receive_response():
            if isinstance(message, AssistantMessage) and message.text:
                print(message.text)


if __name__ == "__main__":
    asyncio.run(main(" ".join(sys.argv[1:]) or "What is 6 times 7?"))
