"""Guards and the toolbox with a login: renewed by one of them at a time, and shown by none."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec
import psutil
import pytest

from clawkit.assistant.config import McpServer
from clawkit.login.client.bearer import Bearer
from clawkit.login.client.stored import ClientIdentity, LoginFile, LoginRecord, LoginSecrets
from clawkit.settings import settings
from tests.assistant.toolbox.boxes import call as call_tool
from tests.assistant.toolbox.boxes import eventually, names, said, toolbox
from tests.claw import claw
from tests.guard.approvals import until
from tests.guard.guarded_server import ALLOW_ALL
from tests.guard.http.worlds import Script, call, initialize, obliging, remote_command
from tests.login.client.foreign import ForeignServer
from tests.login.client.person import log_in
from tests.processes import StdioServer, stdio_server

GUARDS = 4


@contextmanager
def guarding(foreign: ForeignServer, folder: Path, *options: str) -> Iterator[StdioServer]:
    """A guard with a connection that is open."""
    with stdio_server(*remote_command(foreign.url, folder, *options)) as guard:
        assert "result" in guard.ask(initialize())
        yield guard


def refreshes(foreign: ForeignServer) -> list[str]:
    return [
        form["refresh_token"]
        for form in foreign.token_forms
        if form["grant_type"] == "refresh_token"
    ]


def test_a_refusal_in_the_middle_takes_one_renewal_and_one_more_attempt(
    foreign: ForeignServer, tmp_path: Path
) -> None:
    log_in(foreign.url)
    with guarding(foreign, tmp_path) as guard:
        foreign.forget_access()
        before = len(foreign.calls)
        assert "result" in guard.ask(call("greet", 2))
        old, new = foreign.calls[before:]
        assert old != new
        assert len(refreshes(foreign)) == 1
        assert "result" in guard.ask(call("greet", 3))
        assert foreign.calls[-1] == new


def test_a_token_that_is_refused_twice_is_not_tried_again(
    foreign: ForeignServer, tmp_path: Path
) -> None:
    log_in(foreign.url)
    with guarding(foreign, tmp_path) as guard:
        foreign.forget_access()
        foreign.token_status = 203  # tokens that it knows nothing of
        foreign.replies["/mcp"] = foreign.refusal(401, "invalid_token", "basic")
        problem = guard.ask(call("greet", 2))["error"]["message"]
    assert "gives no token" in problem or "run `claw login" in problem
    assert len(refreshes(foreign)) == 1


def test_a_token_is_renewed_before_it_ends_on_its_way(
    foreign: ForeignServer, tmp_path: Path
) -> None:
    foreign.lifetime = 0
    log_in(foreign.url)
    (first,) = foreign.access
    foreign.lifetime = 3600
    with guarding(foreign, tmp_path) as guard:
        assert "result" in guard.ask(call("greet", 2))
    assert first not in foreign.calls
    assert len(refreshes(foreign)) == 1


def test_many_processes_renew_a_login_once(foreign: ForeignServer, tmp_path: Path) -> None:
    log_in(foreign.url)
    foreign.slowness = 0.5
    with ExitStack() as stack:
        guards = [stack.enter_context(guarding(foreign, tmp_path)) for _ in range(GUARDS)]
        for turn in range(2):
            foreign.forget_access()
            for guard in guards:
                guard.send(call("greet", f"turn-{turn}"))
            for guard in guards:
                assert "result" in guard.receive()
    assert len(refreshes(foreign)) == 2
    assert foreign.reused == 0
    assert foreign.at_once == 1


def test_who_dies_while_renewing_holds_up_nobody(foreign: ForeignServer, tmp_path: Path) -> None:
    log_in(foreign.url)
    with guarding(foreign, tmp_path) as first, guarding(foreign, tmp_path) as second:
        foreign.slowness = 1000.0
        foreign.forget_access()
        first.send(call("greet", 2))
        until(lambda: len(refreshes(foreign)) == 1)
        foreign.slowness = 0.0
        second.send(call("greet", 2))
        first.process.kill()
        assert "result" in second.receive()
    assert foreign.reused == 0


def test_a_login_that_ended_is_not_renewed_again_and_says_what_to_do(
    foreign: ForeignServer, tmp_path: Path
) -> None:
    log_in(foreign.url)
    with guarding(foreign, tmp_path) as guard:
        foreign.forget_access()
        foreign.refresh.clear()
        for number in (2, 3):
            problem = guard.ask(call("greet", number))["error"]["message"]
            assert f"run `claw login {foreign.url}`" in problem
    assert len(refreshes(foreign)) == 1
    shown = " ".join(claw("status").stdout.split())
    assert "over: " in shown
    assert f"`claw login {foreign.url}` begins anew" in shown


def test_a_login_that_cannot_be_renewed_for_now_is_kept(
    foreign: ForeignServer, tmp_path: Path
) -> None:
    log_in(foreign.url)
    with guarding(foreign, tmp_path) as guard:
        foreign.forget_access()
        foreign.replies["/token"] = foreign.refusal(503, "temporarily_unavailable", "")
        problem = guard.ask(call("greet", 2))["error"]["message"]
        assert "gives no token: temporarily_unavailable" in problem
        del foreign.replies["/token"]
        assert "result" in guard.ask(call("greet", 3))


def test_a_header_of_ones_own_comes_before_a_login(foreign: ForeignServer, tmp_path: Path) -> None:
    log_in(foreign.url)
    env = {"CLAW_HEADER_AUTHORIZATION": "Bearer made-up"}
    with stdio_server(*remote_command(foreign.url, tmp_path), env=env) as guard:
        problem = guard.ask(initialize())["error"]["message"]
    assert "it wants other credentials" in problem
    assert foreign.calls[-1] == "made-up"


def test_a_login_is_for_its_own_address_only(foreign: ForeignServer, tmp_path: Path) -> None:
    log_in(foreign.url)
    with Script(obliging) as other:
        with stdio_server(*remote_command(other.address, tmp_path)) as guard:
            assert "result" in guard.ask(call("greet", 2, modern=True))
        assert [heard.headers.get("authorization") for heard in other.heard] == [None]


async def test_the_toolbox_uses_and_renews_a_login(foreign: ForeignServer, tmp_path: Path) -> None:
    async with toolbox(tmp_path, greeter=McpServer(url=foreign.url)) as box:
        assert await names(box) == []
        (problem,) = box.problems
        assert "run `claw login greeter`" in problem
    log_in(foreign.url)
    async with toolbox(tmp_path, greeter=McpServer(url=foreign.url)) as box:
        (tool,) = await names(box)
        assert said(await call_tool(box, tool)) == "hello"
        foreign.forget_access()
        assert said(await call_tool(box, tool)) == "hello"
        foreign.forget_access()
        foreign.refresh.clear()
        assert "run `claw login greeter`" in said(await call_tool(box, tool))
    assert len(refreshes(foreign)) == 2


async def test_the_toolbox_says_which_login_may_do_more(
    foreign: ForeignServer, tmp_path: Path
) -> None:
    log_in(foreign.url)
    async with toolbox(tmp_path, greeter=McpServer(url=foreign.url)) as box:
        (tool,) = await names(box)
        foreign.needed = "write"
        text = said(await call_tool(box, tool))
        assert "run `claw login greeter --scope write`" in text
        log_in(foreign.url, "--scope", "write")

        async def is_let_in() -> bool:  # after a failure a server is left alone for a while
            return said(await call_tool(box, tool)) == "hello"

        await eventually(is_let_in)
    assert foreign.asked[-1]["scope"] == "basic write"


def test_tokens_are_in_no_command_line_log_or_file_of_others(
    foreign: ForeignServer, tmp_path: Path, home: Path
) -> None:
    cursor = home / ".cursor" / "mcp.json"
    cursor.parent.mkdir()
    cursor.write_text(json.dumps({"mcpServers": {"greeter": {"url": foreign.url}}}))
    claw("wrap", "greeter", code=0)
    settings().policy_file.write_text(ALLOW_ALL)
    told = [log_in("greeter").stdout]
    entry = json.loads(cursor.read_text())["mcpServers"]["greeter"]
    with stdio_server(entry["command"], *entry["args"]) as guard:
        told += [str(guard.ask(initialize())), str(guard.ask(call("greet", 2)))]
        told += psutil.Process(guard.process.pid).cmdline()
        foreign.forget_access()
        told.append(str(guard.ask(call("greet", 3))))
        foreign.forget_access()
        foreign.refresh.clear()  # its refusal repeats what it was shown
        told.append(str(guard.ask(call("greet", 4))))
    told.append(guard.stderr)
    for command in (("call", "--url", foreign.url, "greet", "-v"), ("status",), ("log",)):
        done = claw(*command)
        told += [done.stdout, done.stderr]
    told += [claw("status", "--json").stdout]
    kept = LoginFile(foreign.url).path
    for file in (one for one in tmp_path.rglob("*") if one.is_file() and one != kept):
        told.append(file.read_bytes().decode(errors="replace"))
    assert len(foreign.given) >= 5
    assert [secret for secret in foreign.given if any(secret in text for text in told)] == []
    assert any(secret in kept.read_text() for secret in foreign.given)


def test_nothing_that_is_shown_has_a_token_in_it(foreign: ForeignServer) -> None:
    log_in(foreign.url)
    kept = LoginFile(foreign.url).read()
    assert kept is not None
    assert kept.secrets.access_token not in f"{kept!r} {kept} {msgspec.structs.astuple(kept)!r}"


_WATCHED = """
import atexit, sys
atexit.register(
    lambda: print([m for m in sys.modules if m.startswith("clawkit.login")], file=sys.stderr)
)
sys.argv = ["claw", *sys.argv[1:]]
from clawkit.cli import main
main()
"""


@pytest.mark.parametrize("logged_in", [False, True])
def test_a_guard_without_a_login_loads_nothing_of_it(
    foreign: ForeignServer, tmp_path: Path, logged_in: bool
) -> None:
    if logged_in:
        log_in(foreign.url)
    with Script(obliging) as script:
        _, _, _, *options = remote_command(script.address, tmp_path)
        with stdio_server(sys.executable, "-c", _WATCHED, *options) as guard:
            assert "result" in guard.ask(call("greet", 2, modern=True))
            guard.close_input()
            guard.process.wait()
            until(lambda: "]" in guard.stderr)
            assert ("clawkit.login.client.bearer" in guard.stderr) is logged_in
            assert ("[]" in guard.stderr) is not logged_in


def test_a_token_is_read_once_and_again_when_it_changes() -> None:
    url = "https://mcp.example.com/mcp"
    record = LoginRecord(url, url, url, ClientIdentity("x"), time.time(), time.time() + 3600)
    bearer = Bearer(url)
    assert bearer.at_hand() == ""
    for token in ("made-up-token", "another"):
        LoginFile(url).write(record, LoginSecrets(token), "file")
        assert bearer.at_hand() is None
        assert bearer.get() == token
        assert bearer.at_hand() == token
    LoginFile(url).remove()
    assert bearer.at_hand() == ""
