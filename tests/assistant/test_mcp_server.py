"""`openclaw mcp-server` as a client meets it: a process, one message a line."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.assistant.orders import MODERN, assistant, order, text_of, write_config
from tests.assistant.providers.scripted import scripted_anthropic
from tests.assistant.providers.steps import Call, Hang, Pause, Say
from tests.assistant.replies import provider_config
from tests.claw import PROGRAMS, finished
from tests.processes import PATIENCE, StdioServer

TOOL = """
import asyncio
from clawkit import claw_tool

@claw_tool
async def dig(metres: int) -> str:
    await asyncio.sleep(metres)
    return f"{metres} m"
"""


def notices(server: StdioServer, id: Any) -> tuple[list[str], dict[str, Any]]:
    """The progress on the way to a reply, and the reply."""
    seen: list[str] = []
    numbers: list[float] = []
    while (found := server.receive()).get("id") != id:
        assert found["method"] == "notifications/progress"
        numbers.append(found["params"]["progress"])
        seen.append(found["params"]["message"])
    assert numbers == sorted(set(numbers))
    return seen, found


def test_the_documents_conversation(tmp_path: Path) -> None:
    with assistant(tmp_path) as server:
        key = "user-123-conversation"
        told = server.ask(order("Remember that my favorite color is blue.", sessionKey=key))
        assert "not a language model" in text_of(told)
        asked = server.ask(order("What's my favorite color?", 2, sessionKey=key))
        assert asked["result"] == {
            "content": [{"type": "text", "text": "Your favorite color is blue."}],
            "isError": False,
        }
        alone = server.ask(order("What's my favorite color?", 3))
        assert "blue" not in text_of(alone)


def test_a_session_goes_on_in_another_process(tmp_path: Path) -> None:
    with assistant(tmp_path) as server:
        server.ask(order("My cat is called Miso.", sessionKey="k"))
    with assistant(tmp_path) as server:
        assert "Miso" in text_of(server.ask(order("What is my cat called?", sessionKey="k")))


def test_clawdbot_is_the_first_version(tmp_path: Path) -> None:
    with assistant(tmp_path, program="clawdbot") as server:
        tools = server.call("tools/list", {}, id=2)["result"]["tools"]
        assert [tool["name"] for tool in tools] == ["order_clawdbot"]
        reply = server.ask(order("My cat is called Miso.", 3, tool="order_clawdbot"))
        assert "Miso" in text_of(reply)


@pytest.mark.parametrize("program", ["openclaw", "clawdbot", "claw"])
@pytest.mark.parametrize("arguments", [["--version"], ["mcp-server", "--version"]])
def test_the_version_is_printed(program: str, arguments: list[str]) -> None:
    done = finished(PROGRAMS / program, *arguments, code=0)
    assert re.fullmatch(r"clawkit \d+\.\d+\.\d+\n", done.stdout)


def test_verbose_logs_on_stderr_without_words_or_keys(tmp_path: Path) -> None:
    with assistant(tmp_path, "--verbose") as server:
        server.ask(order("the password is swordfish", sessionKey="private-key-1"))
        server.close_input()
        server.process.wait(PATIENCE)
    assert "tools/call order_openclaw" in server.stderr
    assert "order in session" in server.stderr
    assert "swordfish" not in server.stderr
    assert "private-key-1" not in server.stderr


def test_without_verbose_nothing_is_logged(tmp_path: Path) -> None:
    with assistant(tmp_path) as server:
        server.ask(order("hello"))
        server.close_input()
        server.process.wait(PATIENCE)
    assert server.stderr == ""


def test_progress_shows_a_heartbeat_each_step_and_the_text_so_far(tmp_path: Path) -> None:
    write_tool(tmp_path)
    script = [
        [Say("I will dig."), Call("mcp__garden__dig", {"metres": 1})],
        [Say("Deep "), Pause(0.5), Say("enough.")],
    ]
    with scripted_anthropic(script) as provider:
        write_config(tmp_path, provider_config(provider) + "[assistant]\nheartbeat = 0.3\n")
        with assistant(tmp_path) as server:
            server.send(order("dig", meta={"progressToken": "p"}))
            seen, reply = notices(server, 1)
    assert text_of(reply) == "I will dig.\n\n1 m\n\nDeep enough."
    assert "I will dig." in seen
    assert "calling mcp__garden__dig" in seen
    assert any(re.fullmatch(r"mcp__garden__dig answered after 1\.\d s", one) for one in seen)
    assert any(re.fullmatch(r"working for \d+ s", one) for one in seen)
    assert "Deep " in seen


def test_cancelling_ends_the_call_of_the_model(tmp_path: Path) -> None:
    with scripted_anthropic([[Say("Once"), Hang()], Say("ok")]) as provider:
        write_config(tmp_path, provider_config(provider))
        with assistant(tmp_path) as server:
            server.send(order("a story", meta={"progressToken": 1}, sessionKey="k"))
            assert server.receive()["params"]["message"] == "Once"
            server.send({"jsonrpc": "2.0", "method": "notifications/cancelled",
                         "params": {"requestId": 1}})  # fmt: skip
            server.ask(order("go on", 2, sessionKey="k"))
        assert provider.left == 1
        assert "[cancelled here]" in provider.last.body.decode()


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ('[model]\nuse = "anthropic/x"\n', "ANTHROPIC_API_KEY is not set"),
        ('[model]\nuse = "nobody/x"\n', 'There is no provider "nobody"'),
        ("[model\n", "config.toml: not TOML"),
        ('[model]\nuze = "x"\n', "config.toml: [model]"),
        ('[model]\nuse = "ollama/x"\n[providers.ollama]\nbase_url = "http://127.0.0.1:9/v1"\n'
         , "127.0.0.1:9"),
    ],
)  # fmt: skip
def test_every_failure_is_a_result_that_says_what_to_do(
    tmp_path: Path, config: str, said: str
) -> None:
    write_config(tmp_path, config.replace("[model]\n", "[model]\nretries = 0\n"))
    with assistant(tmp_path) as server:
        reply = server.ask(order("hello"))
    assert reply["result"]["isError"] is True
    assert len(reply["result"]["content"]) == 1
    assert text_of(reply).startswith("Error: ")
    assert said in text_of(reply)


def test_structured_content_is_opt_in(tmp_path: Path) -> None:
    with assistant(tmp_path) as server:
        assert "structuredContent" not in server.ask(order("hello"))["result"]
        wanted = server.ask(order("hello", 2, meta={"clawkit/structured": True}))["result"]
        assert re.fullmatch(r"mcp-\d{13}-[0-9a-f]{16}", wanted["structuredContent"]["sessionKey"])
        write_config(tmp_path, "[assistant]\nstructured = true\n")
        always = server.ask(order("hello", 3, sessionKey="k"))["result"]
    assert always["structuredContent"]["sessionKey"] == "k"
    assert always["structuredContent"]["model"] == "offline"


def write_tool(home: Path) -> None:
    tools = home / "config" / "claw" / "tools"
    tools.mkdir(parents=True)
    (tools / "garden.py").write_text(TOOL)


def modern(method: str, id: Any, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": {**params, "_meta": MODERN}}


def test_a_long_order_becomes_a_task_and_its_outcome_survives_a_restart(tmp_path: Path) -> None:
    with scripted_anthropic([[Say("Wait. "), Pause(1), Say("Done.")]]) as provider:
        write_config(tmp_path, provider_config(provider) + "[assistant]\ntask_after = 0.2\n")
        with assistant(tmp_path) as server:
            created = server.ask(order("think", meta=MODERN))["result"]
            assert created["resultType"] == "task"
            server.close_input()  # what ends within the grace is kept
            server.process.wait(PATIENCE)
    with assistant(tmp_path) as server:
        task = server.ask(modern("tasks/get", 5, taskId=created["taskId"]))["result"]
    assert task["status"] == "completed"
    assert task["result"]["content"] == [{"type": "text", "text": "Wait. Done."}]


@pytest.mark.parametrize("kill", [True, False])
def test_work_that_a_stop_cut_off_has_failed(tmp_path: Path, kill: bool) -> None:
    with scripted_anthropic([[Say("Wait. "), Hang()]]) as provider:
        write_config(tmp_path, provider_config(provider) + "[assistant]\ntask_after = 0\n")
        with assistant(tmp_path) as server:
            created = server.ask(order("think", meta=MODERN))["result"]
            if kill:
                server.process.kill()
            else:
                server.close_input()
            server.process.wait(PATIENCE)
    with assistant(tmp_path) as server:
        task = server.ask(modern("tasks/get", 5, taskId=created["taskId"]))["result"]
    assert task["status"] == "failed"
    assert "stopped before" in json.dumps(task)


def test_the_end_of_input_in_mid_call_leaves_nothing_behind(tmp_path: Path) -> None:
    write_config(tmp_path, "")
    with scripted_anthropic([[Say("Wait. "), Hang()]]) as provider:
        serve = f'command = "{PROGRAMS / "python"}"\nargs = ["-c", "import time; time.sleep(600)"]'
        more = f"[mcp.servers.slow]\n{serve}\ntimeout = 0.5\n"
        write_config(tmp_path, provider_config(provider) + more)
        with assistant(tmp_path) as server:
            server.send(order("think", meta={"progressToken": 1}))
            while server.receive()["params"]["message"] != "Wait. ":
                pass
            started = psutil.Process(server.process.pid).children(recursive=True)
            server.close_input()
            assert server.process.wait(PATIENCE) == 0
        assert not [one for one in started if one.is_running() and one.status() != "zombie"]


def test_a_server_that_ends_with_its_input_leaves_no_lock_behind(tmp_path: Path) -> None:
    with assistant(tmp_path) as server:
        server.ask(order("My cat is called Miso."))
        assert list(tmp_path.glob("**/owners/*.lock"))
        server.close_input()
        assert server.process.wait(PATIENCE) == 0
    assert not list(tmp_path.glob("**/owners/*.lock"))
