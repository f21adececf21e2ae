"""The document's full example, as it stands in `examples/`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.assistant.providers.scripted import Call, Say, scripted_anthropic
from tests.claude.cli import environment, real_cli
from tests.processes import PATIENCE, ROOT


def test_the_agent_of_the_example_calculates(project: Path) -> None:
    arguments = {"operation": "multiply", "a": 6, "b": 7}
    call = Call("mcp__math-tools__calculator", arguments, id="t")
    with scripted_anthropic([[Say("Let me see."), call], Say("It is 42.")]) as api:
        env = {**environment(api.url, project.parent), "CLAUDE_CLI_PATH": real_cli()}
        done = subprocess.run(
            [sys.executable, ROOT / "examples" / "claude_agent.py", "What is 6 times 7?"],
            cwd=project,
            env=env,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.stdout == "Let me see.\nIt is 42.\n", done.stderr
        result = api.last.messages[-1]["content"][0]
    assert result["content"] == [{"type": "text", "text": "42"}]
