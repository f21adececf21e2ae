"""What `mcp-server` writes to stderr: never a key, and never a line that somebody else wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.assistant.orders import assistant, order, write_config
from tests.assistant.providers.scripted import Call, Say, scripted_anthropic
from tests.assistant.replies import provider_config
from tests.wire.samples.messages import until

LOOKS_LIKE_A_KEY = "sk-ant-" + "api03-" + "a1B2" * 8
TOKEN = "plain-words-0123"
TOOLS = f"""
from clawkit import claw_tool

@claw_tool
def leak() -> str:
    raise RuntimeError("401 for " + "{LOOKS_LIKE_A_KEY[:9]}" + "{LOOKS_LIKE_A_KEY[9:]}"
        + " and " + "{TOKEN[:5]}" + "{TOKEN[5:]}" + "\\n2026-01-01 INFO clawkit: forged")
"""
SERVER = '[mcp.servers.gone]\ncommand = "true"\nenv = { TOKEN = "${TOKEN}" }\n'
NOT_STARTED_YET = f"{SERVER}start_timeout = 0.0001\n"


@pytest.mark.parametrize("server_config", [SERVER, NOT_STARTED_YET], ids=["started", "not started"])
@pytest.mark.parametrize("options", [(), ("--verbose",)], ids=["quiet", "verbose"])
def test_what_goes_wrong_is_logged_without_keys_and_on_lines_of_its_own(
    tmp_path: Path, options: tuple[str, ...], server_config: str
) -> None:
    tools = tmp_path / "config" / "claw" / "tools"
    tools.mkdir(parents=True)
    (tools / "bad.py").write_text(TOOLS)
    script = [[Call("mcp__bad__leak"), Call("x\n2026-01-01 INFO clawkit: forged")], Say("done")]
    with scripted_anthropic(script) as provider:
        write_config(tmp_path, provider_config(provider) + server_config)
        with assistant(tmp_path, *options, env={"TOKEN": TOKEN}) as server:
            server.ask(order("go", 1))
            server.send({"jsonrpc": "2.0", "id": "a\nforged", "method": "tools/call"})
            until(lambda: "RuntimeError: 401 for" in server.stderr)
            said = server.stderr
    assert "tool leak failed" in said
    assert LOOKS_LIKE_A_KEY not in said
    assert TOKEN not in said
    assert "401 for [redacted: anthropic-key] and [redacted: key]" in said
    assert not [line for line in said.splitlines() if line.startswith(("2026-01-01", "forged"))]
