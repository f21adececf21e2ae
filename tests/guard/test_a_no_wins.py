"""Until a call is let go, a no to it counts: whoever says it, and whatever the guard waits for."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from socket import create_connection
from socket import socket as Connection  # noqa: N812 - `socket` is the guard's here
from typing import Any

import httpx2
import pytest

from clawkit.guard import approval_window, locations
from clawkit.guard.approval_answers import rule_of
from clawkit.guard.approval_window import ApprovalWindow
from clawkit.guard.approvals import Answer, Ask
from tests.guard.approvals import until
from tests.guard.guarded_server import Guarded, guarded
from tests.guard.http.test_reverse_proxy_prompts import BOTH, CALL, Client, server
from tests.guard.http.test_reverse_proxy_prompts import POLICY as HTTP_POLICY
from tests.guard.http.worlds import Script, proxy_process
from tests.guard.test_prompt_rules import ELICITS, answer, deletions
from tests.guard.test_prompts_in_a_view import send, socket
from tests.guard.test_stopped_processes import PATIENT, guard, stopped
from tests.processes import PATIENCE

__all__ = ["guard", "socket"]
MANY = PATIENT.replace("prompts = 3", "prompts = 9").replace("_minute = 8", "_minute = 99")


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows of this process do not wait long for what a guard makes of an answer."""
    monkeypatch.setattr(approval_window, "ANSWER_SECONDS", 0.5)


@contextmanager
def locked_by_another(file: Path) -> Iterator[None]:
    lock = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(lock)


def lock_of(what: str, guard: Guarded) -> Path:
    if what == "the log":
        return locations.audit_directory() / "head"
    return guard.policy.with_name(f".{guard.policy.name}.lock")


def asked(window: ApprovalWindow, count: int = 1) -> tuple[Ask, ...]:
    until(lambda: len(window.asks()) == count)
    return window.asks()


@pytest.mark.parametrize(
    ("what", "yes"), [("the log", "once"), ("the log", "always"), ("the policy", "always")]
)
def test_a_no_counts_while_another_program_keeps_the_guard_from_writing(
    socket: Path, guard: Guarded, what: str, yes: Answer
) -> None:
    with ApprovalWindow(socket) as window:
        send(guard, 1)
        (ask,) = asked(window)
        before = guard.policy.read_text()
        with locked_by_another(lock_of(what, guard)):
            assert not window.answer(ask.id, yes, rule=rule_of(ask, "tool"))
            assert window.given() == {ask.id: yes}
            assert not window.answer(ask.id, "deny")
        assert "error" in guard.receive()
        assert deletions(guard) == 0
        assert guard.policy.read_text() == before
        until(window.ended)


def test_a_call_that_is_withdrawn_while_the_log_is_kept_from_the_guard_does_not_run(
    socket: Path, guard: Guarded
) -> None:
    with ApprovalWindow(socket) as window:
        send(guard, 1)
        (ask,) = asked(window)
        with locked_by_another(lock_of("the log", guard)):
            assert not window.answer(ask.id, "once")
            params = {"requestId": 1}
            notice = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
            guard.send(notice)
        until(window.ended)
        assert [end.how for end in window.ended()] != ["once"]
        assert deletions(guard) == 0


@pytest.mark.parametrize(("what", "yes"), [("the log", "once"), ("the policy", "always")])
def test_a_yes_that_cannot_be_written_in_time_allows_nothing_and_says_so(
    socket: Path, guard: Guarded, what: str, yes: Answer
) -> None:
    with ApprovalWindow(socket) as window:
        send(guard, 1)
        (ask,) = asked(window)
        with locked_by_another(lock_of(what, guard)):
            window.answer(ask.id, yes, rule=rule_of(ask, "tool"))
            assert "another program" in guard.receive()["error"]["message"]
        until(window.ended)
        assert [end.how for end in window.ended()] == ["refused"]
        assert deletions(guard) == 0


def test_what_was_denied_between_two_windows_is_not_covered_by_a_yes_to_another_call(
    socket: Path, tmp_path: Path
) -> None:
    with guarded(tmp_path, MANY, "--name", "files") as guard:
        guard.initialize()
        with ApprovalWindow(socket) as first, ApprovalWindow(socket) as second:
            for number in range(1, 7):
                send(guard, number, f"/work/{number}")
                asked(second, number)
            allowed, *denied = asked(first, 6)
            with stopped(guard.process.pid):
                for ask in denied:
                    assert not first.answer(ask.id, "deny")
                first.close()
                assert not second.answer(allowed.id, "tool")
            replies = {reply["id"]: reply for reply in (guard.receive() for _ in range(6))}
            assert [number for number in replies if "result" in replies[number]] == [1]
            assert deletions(guard) == 1


@pytest.mark.parametrize("order", ["the no first", "the yes first", "the yes in the form"])
def test_a_no_in_a_form_or_in_a_window_wins_over_a_yes_in_the_other(
    socket: Path, tmp_path: Path, order: str
) -> None:
    with (
        ApprovalWindow(socket, "page") as window,
        guarded(tmp_path, MANY, "--name", "files") as guard,
    ):
        guard.initialize(ELICITS)
        for number in range(1, 4):  # the guard's two threads may be in luck once
            form, ask = in_form_and_window(guard, window, 2 * number)
            with stopped(guard.process.pid):
                if order == "the no first":
                    answer(guard, form, "deny")
                window.answer(ask.id, "deny" if order == "the yes in the form" else "once")
                if order == "the yes first":
                    answer(guard, form, "deny")
                elif order == "the yes in the form":
                    answer(guard, form, "allow once")
            while guard.receive().get("id") != 2 * number + 1:
                pass
            assert deletions(guard) == 0
            until(lambda: not window.asks())


def in_form_and_window(
    guard: Guarded, window: ApprovalWindow, id: int
) -> tuple[dict[str, Any], Ask]:
    """A call that waits in both: its form was behind another one."""
    send(guard, id)
    form = guard.receive()
    send(guard, id + 1, "/work/b")
    (ask,) = asked(window)
    answer(guard, form, "deny")
    replies = (guard.receive(), guard.receive())
    return next(reply for reply in replies if "method" in reply), ask


def test_a_yes_ends_when_its_window_closes_and_a_no_does_not(socket: Path, guard: Guarded) -> None:
    with ApprovalWindow(socket) as first, ApprovalWindow(socket) as second:
        for number in (1, 2):
            send(guard, number)
            asked(first, number)
        one, other = asked(second, 2)
        with stopped(guard.process.pid):
            assert not second.answer(one.id, "once")
            assert not second.answer(other.id, "deny")
            second.close()
        assert guard.receive()["id"] == 2
        until(lambda: first.asks() == (one,))
        assert deletions(guard) == 0


def posted(address: str, message: dict[str, Any]) -> Connection:
    """A message on its way to a guard over HTTP, whether or not that reads now."""
    url = httpx2.URL(address)
    assert url.port is not None
    body = json.dumps(message)
    headers = {**BOTH, "Host": f"{url.host}:{url.port}", "Content-Type": "application/json"}
    lines = (f"POST {url.path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()))
    request = "\r\n".join((*lines, f"Content-Length: {len(body)}", "", body))
    connection = create_connection((url.host, url.port), PATIENCE)
    connection.sendall(request.encode())
    return connection


@pytest.mark.parametrize("leaves", [True, False], ids=["who leaves", "who withdraws"])
@pytest.mark.parametrize("yes_first", [True, False], ids=["after the yes", "before it"])
def test_over_http_a_call_does_not_run_for_a_client(
    socket: Path, tmp_path: Path, leaves: bool, yes_first: bool
) -> None:
    withdrawal = {"method": "notifications/cancelled", "params": {"requestId": CALL["id"]}}
    with (
        ApprovalWindow(socket) as window,
        Script(server) as script,
        proxy_process(script.address, tmp_path, HTTP_POLICY) as (process, address),
        ExitStack() as connections,
    ):
        Client(address).initialize({})
        caller = posted(address, CALL)
        connections.callback(caller.close)
        (ask,) = asked(window)
        with stopped(process.pid):
            if yes_first:
                window.answer(ask.id, "once")
            if leaves:
                caller.close()
            else:
                notice = posted(address, {"jsonrpc": "2.0", **withdrawal})
                connections.callback(notice.close)
            if not yes_first:
                window.answer(ask.id, "once")
        until(window.ended)
        assert [end.how for end in window.ended()] == ["withdrawn"]
        assert script.messages("tools/call") == []


def test_a_policy_that_denies_by_then_wins_over_a_yes_that_waits_for_the_log(
    socket: Path, guard: Guarded
) -> None:
    with ApprovalWindow(socket) as window:
        send(guard, 1)
        (ask,) = asked(window)
        with locked_by_another(lock_of("the log", guard)):
            assert not window.answer(ask.id, "once")
            guard.policy.write_text('[[rule]]\naction = "deny"\ntool = "*"\n')
        assert "the policy or the tool changed" in guard.receive()["error"]["message"]
        assert deletions(guard) == 0


def test_a_rule_is_not_written_where_the_log_cannot_say_so(socket: Path, guard: Guarded) -> None:
    with ApprovalWindow(socket) as window:
        send(guard, 1)
        (ask,) = asked(window)
        before = guard.policy.read_text()
        log = locations.audit_directory() / "audit.jsonl"
        kept = log.rename(log.with_name("kept"))
        log.symlink_to("/dev/full")
        numbers = count(2)

        def is_refused() -> bool:
            params = {"name": "list_files", "arguments": {}}
            call = {"jsonrpc": "2.0", "id": next(numbers), "method": "tools/call", "params": params}
            guard.send(call)
            return "error" in guard.receive()

        until(is_refused)  # so the guard has seen that the log is another one
        window.answer(ask.id, "always", rule=rule_of(ask, "tool"))
        assert "the audit log" in guard.receive()["error"]["message"]
        kept.replace(log)
        assert guard.policy.read_text() == before
        assert deletions(guard) == 0
