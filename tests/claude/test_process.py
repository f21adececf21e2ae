"""The CLI as a process: it is always gone afterwards, and every way it can fail has a name."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from clawkit import SdkMcpServerImpl
from clawkit.claude.client import ClaudeClient
from clawkit.claude.messages import ResultMessage, UnknownMessage
from clawkit.claude.options import McpServerConfig
from clawkit.claude.process import CliProcess
from clawkit.errors import (
    CliEndedError,
    CliError,
    CliGarbageError,
    CliNotFoundError,
    CliSilentError,
    ControlError,
    SettingsError,
)
from tests.assistant.providers.scripted import Call, Hang, Say, eventually
from tests.claude.conversations import Talk, registry, talking
from tests.claude.fakes import fake_cli
from tests.processes import PATIENCE, ROOT, heard_late, serving

pytestmark = pytest.mark.process

SLEEPER = "tail -f /dev/null"


def below(pid: int) -> list[psutil.Process]:
    return psutil.Process(pid).children(recursive=True)


def cli_of(client: ClaudeClient) -> psutil.Process:
    """The CLI that this process has started."""
    (cli,) = [child for child in psutil.Process().children() if "stream-json" in child.cmdline()]
    assert client.version
    return cli


async def until_asleep(talk: Talk) -> list[psutil.Process]:
    """The CLI and the processes under it, once the sleeper is one of them."""
    cli = cli_of(talk.client)
    found: list[psutil.Process] = []

    def there() -> bool:
        found[:] = below(cli.pid)
        return any(_name(process) == "tail" for process in found)

    await eventually(there)
    return [cli, *found]


def _name(process: psutil.Process) -> str:
    try:
        return process.name()
    except psutil.NoSuchProcess:
        return ""


def alive(processes: list[psutil.Process]) -> list[psutil.Process]:
    return [p for p in processes if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]


async def test_disconnecting_in_mid_turn_leaves_no_process(project: Path) -> None:
    servers = {
        "sums": McpServerConfig.Stdio(
            command=sys.executable, args=list(serving(ROOT / "examples" / "calculator.py")[1:])
        )
    }
    script = [Call("Bash", {"command": SLEEPER}, id="b"), Say("Done.")]
    async with talking(project, script, mcp_servers=servers, allowed_tools=["Bash"]) as talk:
        await talk.client.send("Sleep.")
        processes = await until_asleep(talk)
        assert len(processes) >= 4, "the CLI, its shell, what that runs, and the server"
    await eventually(lambda: not alive(processes))


async def test_what_a_killed_cli_left_behind_is_ended_too(project: Path) -> None:
    script = [Call("Bash", {"command": SLEEPER}, id="b"), Say("Done.")]
    async with talking(project, script, allowed_tools=["Bash"]) as talk:
        await talk.client.send("Sleep.")
        processes = await until_asleep(talk)
        processes[0].kill()
        with pytest.raises(CliEndedError, match="ended by SIGKILL") as caught:
            async for _ in talk.client.receive_response():
                pass
        assert caught.value.code == -signal.SIGKILL
        with pytest.raises(CliEndedError):
            await talk.client.interrupt()
        with pytest.raises(CliEndedError):
            await talk.client.send("Hello?")
    await eventually(lambda: not alive(processes))


async def test_a_client_that_is_cancelled_while_it_disconnects_leaves_nothing(
    project: Path,
) -> None:
    async with talking(project, [[Say("Once"), Hang()]]) as talk:
        cli = cli_of(talk.client)
        leaving = asyncio.create_task(talk.client.disconnect())
        await asyncio.sleep(0)
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        await eventually(lambda: not alive([cli]))


async def test_a_turn_that_an_answer_hangs_in_is_left_before_any_patience_ends(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clawkit.claude.process._GOODBYE", 600.0)
    async with talking(project, [[Say("Once upon"), Hang()]]) as talk:
        await talk.client.send("Tell me a story.")
        await eventually(lambda: talk.api.requests)
        async with asyncio.timeout(PATIENCE):
            await talk.client.disconnect()


async def test_the_last_words_of_a_cli_that_ends_at_once_are_in_the_error(tmp_path: Path) -> None:
    lines: list[str] = []
    cli = fake_cli(
        tmp_path,
        "for n in range(50): print('line', n, file=sys.stderr)\nsys.exit(3)\n",
    )
    with pytest.raises(CliEndedError) as caught:
        await ClaudeClient(cli_path=cli, stderr=lines.append).connect()
    assert caught.value.code == 3
    assert "the Claude CLI ended with status 3" in str(caught.value)
    assert caught.value.stderr.splitlines() == [f"line {n}" for n in range(30, 50)]
    assert lines == [f"line {n}" for n in range(50)]


async def test_a_cli_that_hangs_at_initialize_is_silent_and_ended(tmp_path: Path) -> None:
    cli = fake_cli(tmp_path, "print('thinking', file=sys.stderr, flush=True)\ntime.sleep(60)\n")
    client = ClaudeClient(cli_path=cli, connect_timeout=5)
    with pytest.raises(CliSilentError, match="did not answer initialize in 5 s") as caught:
        await client.connect()
    assert caught.value.stderr == "thinking"
    assert not [p for p in psutil.Process().children() if cli in p.cmdline()]


async def test_a_cli_that_ignores_the_request_to_end_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clawkit.claude.process._GOODBYE", 0.2)
    cli = fake_cli(
        tmp_path,
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\ninitialize()\ntime.sleep(60)\n",
    )
    async with ClaudeClient(cli_path=cli):
        (process,) = [p for p in psutil.Process().children() if cli in p.cmdline()]
    assert not process.is_running()


async def test_a_message_that_is_no_json_is_garbage_for_everybody_who_waits(tmp_path: Path) -> None:
    script = """
print("oops", file=sys.stderr, flush=True)
initialize()
heard()
print('{"type": ', flush=True)
time.sleep(60)
"""
    async with ClaudeClient(cli_path=fake_cli(tmp_path, script)) as client:
        asking = asyncio.create_task(client.mcp_status())
        with pytest.raises(CliGarbageError, match="wrote what is no JSON object") as caught:
            async for _ in client.receive():
                pass
        assert caught.value.stderr == "oops"
        with pytest.raises(CliGarbageError):
            await asking


DEEP = 100_000


@pytest.mark.parametrize(
    "broken",
    [f"print({DEEP} * '{{\"a\":' + '1' + {DEEP} * '}}', flush=True)", "raise_in_the_reader"],
    ids=["nested", "a failure of our own"],
)
async def test_a_reader_that_cannot_go_on_is_an_error_for_everybody_who_waits(
    tmp_path: Path, broken: str
) -> None:
    class Failing(ClaudeClient):
        def _hear(self, line: bytes) -> None:
            if b"raise_in_the_reader" in line:
                raise RuntimeError("out of order")
            super()._hear(line)

    line = broken if broken.startswith("print") else f"print({broken!r}, flush=True)"
    script = f"initialize()\nheard()\n{line}\ntime.sleep(60)\n"
    async with Failing(cli_path=fake_cli(tmp_path, script)) as client:
        (process,) = [p for p in psutil.Process().children() if "stream-json" in p.cmdline()]
        asking = asyncio.create_task(client.mcp_status())
        async with asyncio.timeout(3 * PATIENCE):
            with pytest.raises(CliError, match=r"nested too deeply|out of order"):
                async for _ in client.receive():
                    pass
            with pytest.raises(CliError):
                await asking
        await eventually(lambda: not process.is_running())


@pytest.mark.parametrize(
    "odd",
    [
        b"[SandboxDebug] a line that is no message",
        b"[1, 2]",
        b"7",
        b'{"type": "odd", "text": "half \\ud83d"}',
        b'{"type": "odd", "cost": NaN, "most": Infinity}',
        b'{"type": "odd", "text": "\xff\xfe"}',
    ],
)
async def test_what_can_be_told_apart_ends_no_session(tmp_path: Path, odd: bytes) -> None:
    result = {"type": "result", "subtype": "success", "is_error": False, "session_id": "s"}
    script = f"""
initialize()
sys.stdout.buffer.write({odd!r} + b"\\n")
say({result!r})
time.sleep(60)
"""
    lines: list[str] = []
    async with ClaudeClient(cli_path=fake_cli(tmp_path, script), stderr=lines.append) as client:
        heard = [message async for message in client.receive_response()]
    assert isinstance(heard[-1], ResultMessage)
    if odd.startswith(b"{"):
        (message, _) = heard
        assert isinstance(message, UnknownMessage)
        json.dumps(message.data).encode()
        assert message.data.get("text") in (None, "half \ufffd", "\ufffd\ufffd")
        assert message.data.get("cost") is None
    else:
        assert lines == [odd.decode()]


async def test_receiving_before_connecting_is_an_error() -> None:
    client = ClaudeClient()
    for receive in (client.receive, client.receive_response, client.receive_rest):
        with pytest.raises(CliError, match=r"not connected: call connect\(\) first"):
            async for _ in receive():
                pass


async def test_a_cli_that_is_killed_in_the_middle_of_a_line_has_ended_and_wrote_no_garbage(
    tmp_path: Path,
) -> None:
    script = """
initialize()
sys.stdout.write('{"type": "assistant", "message": {"con')
sys.stdout.flush()
os.kill(os.getpid(), signal.SIGKILL)
"""
    async with ClaudeClient(cli_path=fake_cli(tmp_path, script)) as client:
        with pytest.raises(CliEndedError, match="by SIGKILL, in the middle of a message") as caught:
            async for _ in client.receive():
                pass
        assert caught.value.code == -signal.SIGKILL


async def test_an_option_too_long_for_a_command_line_is_named(tmp_path: Path) -> None:
    cli = fake_cli(tmp_path, "initialize()\ntime.sleep(60)\n")
    tools = [f"Tool{n}" for n in range(300_000)]
    with pytest.raises(SettingsError, match=r"--allowed-tools has \d{7} bytes, more than"):
        await ClaudeClient(cli_path=cli, allowed_tools=tools).connect()


@pytest.mark.parametrize(
    "odd",
    [
        {"type": "control_response", "response": "what?"},
        {"type": "control_response"},
        {"type": "control_request", "request": 7, "request_id": []},
        {"type": "control_cancel_request"},
        {"type": "control_request", "request_id": "r", "request": {"subtype": "dance"}},
        {"type": "keep_alive"},
    ],
)
async def test_odd_messages_of_the_control_protocol_end_nothing(
    tmp_path: Path, odd: dict[str, Any]
) -> None:
    result = {"type": "result", "subtype": "success", "is_error": False, "session_id": "s"}
    script = f"initialize()\nsay({odd!r})\nsay({result!r})\ntime.sleep(60)\n"
    async with ClaudeClient(cli_path=fake_cli(tmp_path, script)) as client:
        heard = [message async for message in client.receive_response()]
    assert heard[-1].data == result  # pyright: ignore[reportAttributeAccessIssue]


async def test_a_request_that_is_not_known_here_is_refused_and_not_left_waiting(
    tmp_path: Path,
) -> None:
    request = {"type": "control_request", "request_id": "r", "request": {"subtype": "dance"}}
    script = (
        f"initialize()\nsay({request!r})\nsay(json.loads(sys.stdin.readline()))\ntime.sleep(60)\n"
    )
    heard: list[dict[str, Any]] = []

    class Listening(ClaudeClient):
        def _hear(self, line: bytes) -> None:
            heard.append(json.loads(line))
            super()._hear(line)

    async with Listening(cli_path=fake_cli(tmp_path, script)):
        await eventually(lambda: len(heard) == 3)
    assert heard[2]["response"]["request_id"] == "r"
    assert "dance: this host does not answer such requests" in heard[2]["response"]["error"]


async def test_a_line_that_never_ends_is_garbage(tmp_path: Path) -> None:
    script = "initialize()\nwhile True: sys.stdout.write('x' * 65536)\n"
    client = ClaudeClient(cli_path=fake_cli(tmp_path, script), max_line=1 << 20)
    async with client:
        with pytest.raises(CliGarbageError, match="a line has more than 1048576 bytes"):
            async for _ in client.receive():
                pass


async def test_a_refused_initialize_and_a_silent_request_name_what_was_asked(
    tmp_path: Path,
) -> None:
    refuse = "answer(json.loads(sys.stdin.readline()), subtype='error', error='not today')\n"
    with pytest.raises(ControlError, match="initialize: not today") as caught:
        await ClaudeClient(cli_path=fake_cli(tmp_path, refuse)).connect()
    assert caught.value.subtype == "initialize"
    cli = fake_cli(tmp_path, "initialize()\ntime.sleep(60)\n")
    async with ClaudeClient(cli_path=cli, control_timeout=0.2) as client:
        with pytest.raises(CliSilentError, match=r"did not answer mcp_status in 0\.2 s"):
            await client.mcp_status()


async def test_a_stderr_callback_that_raises_harms_nothing(tmp_path: Path) -> None:
    def fall(line: str) -> None:
        raise RuntimeError(line)

    cli = fake_cli(
        tmp_path, "print('x' * 200000, file=sys.stderr, flush=True)\ninitialize()\ntime.sleep(60)\n"
    )
    async with ClaudeClient(cli_path=cli, stderr=fall) as client:
        assert client.server_info == {"models": []}


async def test_tools_that_run_are_stopped_when_the_cli_is_gone(tmp_path: Path) -> None:
    server, started, stopped = SdkMcpServerImpl("kit", "1.0.0"), asyncio.Event(), asyncio.Event()

    @server.tool
    async def wait() -> str:
        started.set()
        try:
            await asyncio.sleep(60)
        finally:
            stopped.set()
        return "never"

    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "wait"}}
    request = {"subtype": "mcp_message", "server_name": "kit", "message": call}
    message = {"type": "control_request", "request_id": "r", "request": request}
    cli = fake_cli(tmp_path, f"initialize()\nsay({message!r})\nsys.stdin.readline()\n")
    client = ClaudeClient(cli_path=cli)
    client.register_mcp_message_handler(registry(server))
    async with client:
        await asyncio.wait_for(started.wait(), 30)
        await client.send("That will do.")
        with pytest.raises(CliEndedError, match="with status 0"):
            async for _ in client.receive():
                pass
        assert stopped.is_set()


async def test_the_config_with_its_tokens_is_a_private_file_that_is_gone_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    cli = fake_cli(tmp_path, "initialize()\ntime.sleep(60)\n")
    server = McpServerConfig.Http(url="http://x", headers={"Authorization": "Bearer token"})
    async with ClaudeClient(cli_path=cli, mcp_servers={"x": server}):
        (process,) = [p for p in psutil.Process().children() if cli in p.cmdline()]
        assert "Bearer" not in " ".join(process.cmdline())
        (file,) = tmp_path.glob("claw-mcp-*.json")  # noqa: ASYNC240 - one directory
        assert "Bearer token" in file.read_text()
        assert oct(os.stat(file).st_mode & 0o777) == "0o600"  # noqa: PTH116 - one file
    assert not file.exists()


async def test_a_directory_that_is_not_there_is_named(tmp_path: Path) -> None:
    client = ClaudeClient(cli_path=fake_cli(tmp_path, "initialize()\n"), cwd=tmp_path / "gone")
    with pytest.raises(CliNotFoundError, match="gone, which is no directory"):
        await client.connect()


async def test_whoever_listens_when_the_client_leaves_hears_the_end(tmp_path: Path) -> None:
    cli = fake_cli(tmp_path, "initialize()\ntime.sleep(60)\n")
    client = ClaudeClient(cli_path=cli)
    await client.connect()

    async def listen() -> list[Any]:
        return [message async for message in client.receive()]

    listening = asyncio.create_task(listen())
    asking = asyncio.create_task(client.mcp_status())
    await asyncio.sleep(0.05)
    await client.disconnect()
    with pytest.raises(CliError, match="the client has disconnected"):
        await asking
    assert await asyncio.wait_for(listening, PATIENCE) == []


async def test_a_cli_that_ends_as_it_is_stopped_is_reaped_by_the_event_loop_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hears = heard_late(monkeypatch)
    command = (sys.executable, "-c", "raise SystemExit(3)")
    process = await CliProcess.start(command, cwd=None, environment=os.environ, max_line=1000)
    # Since Python 3.12 no thread waits for it: the loop itself would reap it in its next turn.
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # noqa: ASYNC222 - so it has none
    asyncio.get_running_loop().call_later(0.1, hears.set)
    await process.stop()
    assert (await process.ended()).code == 3
