"""Servers that do not start, do not answer, end, or leave something behind."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from textwrap import dedent

import pytest

from clawkit.assistant.config import McpServer
from clawkit.assistant.toolbox import external_server
from clawkit.assistant.toolbox.server_process import Command, ServerProcess
from tests.assistant.toolbox.boxes import (
    call,
    children,
    eventually,
    is_running,
    names,
    node_server,
    python_server,
    said,
    toolbox,
)
from tests.processes import PATIENCE, ROOT

pytestmark = pytest.mark.process

GOOD = """
    import os, subprocess, sys, time
    from clawkit import SdkMcpServerImpl

    server = SdkMcpServerImpl("good", "1")

    @server.tool
    def pid() -> int:
        return os.getpid()

    @server.tool
    def die() -> None:
        print("out of luck", file=sys.stderr)
        os._exit(7)

    @server.tool
    def leave_behind(new_session: bool = False) -> int:
        deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
        command = [sys.executable, "-c", deaf]
        return subprocess.Popen(command, start_new_session=new_session).pid
"""
SERVE = "\n    server.serve_stdio()\n"
DEAF = SERVE + "    time.sleep(600)\n"
CRASHING = "import sys; print('no licence for ${TOKEN}', file=sys.stderr); sys.exit(3)"


async def test_each_failure_is_said_in_words_and_the_rest_works(tmp_path: Path) -> None:
    hanging = python_server(tmp_path, "import time; time.sleep(600)", timeout=1)
    crashing = python_server(
        tmp_path, "import sys; print('no licence', file=sys.stderr); sys.exit(3)"
    )
    async with toolbox(
        tmp_path,
        lost=McpServer(command="no-such-command"),
        folder=McpServer(command=sys.executable, cwd="/no/such/folder"),
        keyless=McpServer(command=sys.executable, env={"KEY": "${MISSING}"}),
        crashing=crashing,
        hanging=hanging,
        good=python_server(tmp_path, GOOD + SERVE),
    ) as box:
        assert "mcp__good__pid" in await names(box)
        lost, folder, keyless, crashed, hung = box.problems
        assert children(), "the good one lives"
    assert lost == (
        "mcp.servers.lost: command not found: 'no-such-command'; "
        "install it, or write its full path as `command`"
    )
    assert folder == "mcp.servers.folder: `cwd = '/no/such/folder'`: there is no such folder"
    assert "mcp.servers.keyless: the config wants ${MISSING}, which is not set" in keyless
    assert crashed.endswith("ended at once (exit code 3): no licence")
    assert hung == "mcp.servers.hanging: did not answer within 1 s"
    assert children() == []


async def test_a_command_may_be_a_path_in_the_folder_of_the_server(tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    (here / "run").write_text(f"#!{sys.executable}\n{dedent(GOOD + SERVE)}")
    (here / "run").chmod(0o700)
    (here / "note").touch()
    local = McpServer(command="./run", cwd=str(here))
    async with toolbox(tmp_path, local=local, note=McpServer(command=str(here / "note"))) as box:
        assert "mcp__local__pid" in await names(box)
        (problem,) = box.problems
    assert problem.endswith("note' cannot be run: Permission denied")


async def test_a_secret_in_what_a_server_says_is_not_repeated(tmp_path: Path) -> None:
    leaking = python_server(
        tmp_path,
        "import os, sys; print('bad token', os.environ['T'], file=sys.stderr); sys.exit(1)",
        env={"T": "${TOKEN}"},
    )
    async with toolbox(tmp_path, {"TOKEN": "hunter2hunter2"}, leaking=leaking) as box:
        await box.specs()
        (problem,) = box.problems
    assert "bad token [redacted" in problem
    assert "hunter2" not in problem


async def test_a_server_that_failed_is_tried_again_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = tmp_path / "late.py"
    late = McpServer(command=sys.executable, args=(str(missing),))
    async with toolbox(tmp_path, late=late) as box:
        assert await names(box) == []
        missing.write_text(dedent(GOOD + SERVE))
        assert await names(box) == [], "not at once"
        (problem,) = box.problems
        refused = await call(box, "mcp__late__pid")
        assert refused.outcome.is_error
        monkeypatch.setattr(external_server, "_now", lambda: time.monotonic() + 10)
        assert "mcp__late__pid" in await names(box)
        assert box.problems == ()
    assert "mcp.servers.late" in problem


def wait_without_the_loop(pid: int) -> None:
    """Until a process has ended, so that a call must notice it by itself."""
    with suppress(ChildProcessError):
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)


async def test_a_server_that_ends_between_calls_is_started_again(tmp_path: Path) -> None:
    async with toolbox(tmp_path, good=python_server(tmp_path, GOOD + SERVE)) as box:
        await box.specs()
        first = int(said(await call(box, "mcp__good__pid")))
        for stop in (signal.SIGKILL, signal.SIGTERM):
            os.kill(first, stop)
            wait_without_the_loop(first)
            second = await call(box, "mcp__good__pid")
            assert not second.outcome.is_error, said(second)
            assert int(said(second)) != first
            first = int(said(second))
        os.kill(first, signal.SIGKILL)
        await eventually(lambda: not is_running(first))
        assert "mcp__good__pid" in await names(box)
        assert box.problems == ()


async def test_a_server_that_ends_during_a_call_is_said_to_have(tmp_path: Path) -> None:
    async with toolbox(tmp_path, good=python_server(tmp_path, GOOD + SERVE)) as box:
        await box.specs()
        died = await call(box, "mcp__good__die")
        assert died.outcome.is_error
        assert "the connection to good ended during the call (exit code 7): out of luck" in said(
            died
        )
        assert "Whether die did its work is not known" in said(died)
        assert not (await call(box, "mcp__good__pid")).outcome.is_error


@pytest.mark.parametrize("new_session", [False, True], ids=["its group", "a session of its own"])
@pytest.mark.parametrize("end", [SERVE, DEAF], ids=["ends by itself", "does not listen"])
async def test_nothing_that_a_server_started_outlives_it(
    tmp_path: Path, end: str, new_session: bool
) -> None:
    async with toolbox(tmp_path, good=python_server(tmp_path, GOOD + end)) as box:
        await box.specs()
        grandchild = int(said(await call(box, "mcp__good__leave-behind", new_session=new_session)))
        assert is_running(grandchild)
    assert not is_running(grandchild)
    assert children() == []


async def test_what_a_crashed_server_leaves_behind_is_ended(tmp_path: Path) -> None:
    async with toolbox(tmp_path, good=python_server(tmp_path, GOOD + SERVE)) as box:
        await box.specs()
        grandchild = int(said(await call(box, "mcp__good__leave-behind")))
        died = await call(box, "mcp__good__die")
        assert "ended during the call" in said(died)
        await eventually(lambda: not is_running(grandchild))


async def test_closing_while_a_server_starts_ends_it(tmp_path: Path) -> None:
    async with toolbox(
        tmp_path, slow=python_server(tmp_path, "import time; time.sleep(600)")
    ) as box:
        starting = asyncio.create_task(box.specs())
        await eventually(lambda: len(children()) > 1)
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting
        assert children(), "an order that is cancelled does not stop the server"
    assert children() == []


async def test_a_start_that_is_cancelled_at_any_point_leaves_nothing() -> None:
    command = Command(sys.executable, ("-c", "import time; time.sleep(600)"), dict(os.environ))
    for steps in range(12):
        started = ServerProcess.start("x", command, lambda _: None, lambda: None, str)
        starting = asyncio.create_task(started)
        for _ in range(steps):
            await asyncio.sleep(0)
        starting.cancel()
        with suppress(asyncio.CancelledError):
            await (await starting).stop()
    await eventually(lambda: children() == [])


async def test_a_cancelled_close_leaves_nothing(tmp_path: Path) -> None:
    async with toolbox(tmp_path, good=python_server(tmp_path, GOOD + DEAF)) as box:
        await box.specs()
        closing = asyncio.create_task(box.close())
        await asyncio.sleep(0.05)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        await eventually(lambda: children() == [])


HOST = """
    import asyncio, os, sys
    from pathlib import Path
    from tests.assistant.toolbox.boxes import call, config_in, python_server, said
    from clawkit.assistant.api_keys import Keys
    from clawkit.assistant.toolbox.toolbox import Toolbox

    async def main():
        folder = Path(sys.argv[1])
        config = config_in(folder, good=python_server(folder, Path(sys.argv[2]).read_text()))
        box = Toolbox(config, Keys(config, {}))
        await box.specs()
        alone = sys.argv[3] == "True"
        grandchild = said(await call(box, "mcp__good__leave-behind", new_session=alone))
        print(said(await call(box, "mcp__good__pid")), grandchild, flush=True)
        end(box)
        await asyncio.sleep(600)
"""
ENDS = {
    "killed": "def end(box): os.kill(os.getpid(), 9)",
    "exits": "def end(box): sys.exit(1)",
    "raises": "def end(box): raise RuntimeError('unexpected')",
    "leaves at once": "def end(box): os._exit(1)",
}


@pytest.mark.parametrize("new_session", [False, True], ids=["its group", "a session of its own"])
@pytest.mark.parametrize("how", ENDS)
async def test_however_our_process_ends_no_server_is_left(
    tmp_path: Path, how: str, new_session: bool
) -> None:
    host = tmp_path / "host.py"
    host.write_text(dedent(f"{HOST}\n    {ENDS[how]}\n    asyncio.run(main())\n"))
    code = tmp_path / "good.py"
    code.write_text(GOOD + DEAF)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(host), str(tmp_path), str(code), str(new_session)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    output = await asyncio.wait_for(process.communicate(), 5 * PATIENCE)
    server, grandchild = map(int, output[0].split())
    await eventually(lambda: not is_running(server) and not is_running(grandchild))


async def test_without_the_package_the_problem_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "clawkit.assistant.toolbox.mcp_connection", raising=False)
    monkeypatch.setitem(sys.modules, "mcp", None)
    async with toolbox(tmp_path, every=node_server()) as box:
        assert await names(box) == []
        (problem,) = box.problems
    assert "pip install 'clawkit[servers]'" in problem


async def test_a_server_that_breaks_its_output_schema_is_an_error(tmp_path: Path) -> None:
    liar = """
        from clawkit import SdkMcpServerImpl, SdkMcpTool

        async def lie(arguments):
            return "no structure"

        server = SdkMcpServerImpl("liar", "1")
        schema = {"type": "object"}
        server.register_tool(SdkMcpTool("lie", "Lies.", schema, lie, output_schema=schema))
        server.serve_stdio()
    """
    async with toolbox(tmp_path, liar=python_server(tmp_path, liar)) as box:
        await box.specs()
        result = await call(box, "mcp__liar__lie")
        assert result.outcome.is_error
        assert "liar broke its promise" in said(result)
