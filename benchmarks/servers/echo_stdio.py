"""Ours: one tool, `echo`, over stdio: the server that every guard stands in front of."""

from clawkit import SdkMcpServerImpl, claw_tool


@claw_tool
async def echo(text: str) -> str:
    """Say it back."""
    return text


server = SdkMcpServerImpl("bench", "1.0.0")
server.register_tool(echo)

if __name__ == "__main__":
    server.serve_stdio()
