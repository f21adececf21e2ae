"""Asking a person through a real socket: what comes back, whatever happens on the way."""

from __future__ import annotations

import json
import os
import signal
import socket as sockets
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, get_args

import pytest

from clawkit.errors import PolicyError
from clawkit.guard import approvals
from clawkit.guard.approvals import (
    LONGEST_REQUEST,
    VERSION,
    Answer,
    Ask,
    answer_pending,
    ask_view,
    has_view,
    pending,
)
from clawkit.guard.approvals_view import CAPACITY, ApprovalsView, SharedView
from clawkit.system.peer_process import PeerProcess
from tests.guard.approvals import PATIENCE, Asking, asked, question, short_folder, until

VIEW = """
import sys, time
from pathlib import Path
from clawkit.guard.approvals_view import ApprovalsView
with ApprovalsView(Path(sys.argv[1])) as view:
    print("open", flush=True)
    while not view.asks():
        time.sleep(0.01)
    print("asked", flush=True)
    time.sleep(60)
"""
PROXY = """
import sys
from pathlib import Path
import msgspec
from clawkit.guard.approvals import Ask, ask_view
print(ask_view(Path(sys.argv[1]), msgspec.json.decode(sys.argv[2], type=Ask)))
"""


@pytest.fixture
def socket() -> Iterator[Path]:
    with short_folder() as folder:
        yield folder / "guard" / "approvals.sock"


@pytest.fixture
def view(socket: Path) -> Iterator[ApprovalsView]:
    with ApprovalsView(socket) as view:
        yield view


@contextmanager
def process(code: str, *arguments: str) -> Generator[subprocess.Popen[str]]:
    command = (sys.executable, "-c", code, *arguments)
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield child
    finally:
        child.kill()
        child.wait()
        assert child.stdout is not None
        child.stdout.close()


def line_of(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    return child.stdout.readline().strip()


@contextmanager
def impostor(socket: Path, reply: bytes) -> Generator[None]:
    """Something at the view's place that answers every question with these bytes."""
    socket.parent.mkdir(exist_ok=True)
    with sockets.socket(sockets.AF_UNIX) as door:
        door.bind(os.fspath(socket))
        door.listen()

        def serve() -> None:
            end, _ = door.accept()
            with end:
                end.recv(LONGEST_REQUEST)
                end.sendall(reply)

        thread = threading.Thread(target=serve)
        thread.start()
        yield
        thread.join()


@pytest.mark.parametrize("answer", get_args(Answer))
def test_the_answer_of_the_person_reaches_the_proxy(
    view: ApprovalsView, socket: Path, answer: Answer
) -> None:
    asking = asked(view, socket, question())
    assert view.answer("q1", answer)
    assert asking.answer == answer
    assert view.asks() == ()
    assert [ended.how for ended in view.ended()] == [answer]


def test_the_view_shows_the_question_as_it_was_asked(view: ApprovalsView, socket: Path) -> None:
    ask = question(arguments={"path": "/srv/ü", "deep": {"n": [1, 2.5, None, 2**70]}})
    asked(view, socket, ask)
    assert view.asks() == (ask,)


def test_without_a_view_there_is_no_answer(socket: Path) -> None:
    assert ask_view(socket, question()) is None
    assert pending(socket) is None
    assert answer_pending(socket, "q1", "once") is None


def test_a_view_that_has_closed_is_no_view(socket: Path) -> None:
    with ApprovalsView(socket):
        assert pending(socket) == []
    assert not socket.exists()
    assert ask_view(socket, question()) is None


def test_a_path_that_no_socket_can_have_is_no_view_for_a_proxy(tmp_path: Path) -> None:
    assert ask_view(tmp_path / ("x" * 120), question()) is None


def test_a_path_that_no_socket_can_have_is_an_error_for_the_view(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="a socket's may have 100: set CLAW_HOME"):
        ApprovalsView(tmp_path / ("x" * 120)).open()


def test_nobody_in_time_is_no_answer(view: ApprovalsView, socket: Path) -> None:
    asking = Asking(socket, question(seconds=0.2))
    assert asking.answer == "timeout"
    until(lambda: [ended.how for ended in view.ended()] == ["expired"])
    assert not view.answer("q1", "once")


def test_the_view_drops_a_question_at_its_deadline_whatever_the_proxy_does(
    view: ApprovalsView, socket: Path
) -> None:
    ask = question(seconds=0.1)
    with connected(socket) as end:
        end.sendall(request(kind="ask", ask=ask_as_json(ask)))
        asked, reply = map(json.loads, end.makefile())
    assert "answer" not in asked
    assert (reply["answer"], reply["id"], reply["digest"]) == ("deny", "q1", ask.digest)
    assert view.asks() == ()


def test_a_view_that_closes_has_said_nothing(socket: Path) -> None:
    with ApprovalsView(socket) as view:
        waiting = [asked(view, socket, question(f"q{n}")) for n in range(3)]
    assert [asking.answer for asking in waiting] == ["closed"] * 3


def test_a_view_that_is_killed_has_said_nothing_and_its_socket_is_replaced(socket: Path) -> None:
    with process(VIEW, os.fspath(socket)) as child:
        assert line_of(child) == "open"
        asking = Asking(socket, question())
        assert line_of(child) == "asked"
        child.send_signal(signal.SIGKILL)
        assert asking.answer == "closed"
        child.wait()
    assert socket.is_socket()
    assert ask_view(socket, question()) is None
    with ApprovalsView(socket) as view:
        again = asked(view, socket, question())
        view.answer("q1", "once")
        assert again.answer == "once"


def test_a_second_view_says_that_one_is_open_and_where(view: ApprovalsView, socket: Path) -> None:
    with pytest.raises(PolicyError, match=f"already open in process {os.getpid()}"):
        ApprovalsView(socket).open()
    assert pending(socket) == []
    assert view.asks() == ()


def test_a_file_in_the_place_of_the_socket_is_left_alone(socket: Path) -> None:
    socket.parent.mkdir()
    socket.write_text("mine")
    for _ in range(2):  # the first failure must not keep the lock
        with pytest.raises(PolicyError, match="not a socket"):
            ApprovalsView(socket).open()
    assert socket.read_text() == "mine"


def test_only_the_user_may_reach_the_socket(view: ApprovalsView, socket: Path) -> None:
    assert view.asks() == ()
    assert socket.parent.stat().st_mode & 0o777 == 0o700
    assert socket.stat().st_mode & 0o777 == 0o600


def test_a_folder_that_was_open_to_others_is_closed(socket: Path) -> None:
    socket.parent.mkdir(mode=0o755)
    with ApprovalsView(socket):
        assert socket.parent.stat().st_mode & 0o777 == 0o700


def test_the_other_end_of_a_pair_is_the_same_user() -> None:
    one, other = sockets.socketpair()
    with one, other:
        assert PeerProcess(one).is_same_user()


def test_a_cancelled_question_leaves_the_view(view: ApprovalsView, socket: Path) -> None:
    asking = asked(view, socket, question())
    asking.cancelled.end("withdrawn")
    assert asking.answer == "withdrawn"
    until(lambda: not view.asks())
    assert [ended.how for ended in view.ended()] == ["withdrawn"]


@pytest.mark.parametrize(
    ("answer", "how"), [("timeout", "expired"), ("before", "covered"), ("once", "form")]
)
def test_the_view_learns_why_a_question_is_no_longer_asked(
    view: ApprovalsView, socket: Path, answer: Literal["timeout", "before", "once"], how: str
) -> None:
    asking = asked(view, socket, question())
    asking.cancelled.end(answer)
    until(lambda: not view.asks())
    assert [ended.how for ended in view.ended()] == [how]


def test_the_question_of_a_proxy_that_was_killed_leaves_the_view(
    view: ApprovalsView, socket: Path
) -> None:
    with process(PROXY, os.fspath(socket), json.dumps(ask_as_json(question()))) as child:
        until(view.asks)
        child.send_signal(signal.SIGKILL)
        until(lambda: not view.asks())
    assert not view.answer("q1", "once")


def test_a_question_asked_by_another_process_is_answered_there(
    view: ApprovalsView, socket: Path
) -> None:
    with process(PROXY, os.fspath(socket), json.dumps(ask_as_json(question()))) as child:
        until(view.asks)
        view.answer("q1", "session")
        assert line_of(child) == "session"


def test_a_flood_is_denied_at_once_and_what_waits_stays(socket: Path) -> None:
    with ApprovalsView(socket, capacity=3) as view:
        waiting = [asked(view, socket, question(f"q{n}")) for n in range(3)]
        assert ask_view(socket, question("q3")) == "full"
        assert [ask.id for ask in view.asks()] == ["q0", "q1", "q2"]
        view.answer("q1", "once")
        assert waiting[1].answer == "once"
        waiting.append(asked(view, socket, question("q4")))
        assert [ask.id for ask in view.asks()] == ["q0", "q2", "q4"]


def test_no_more_is_taken_than_another_window_can_be_told_of(
    view: ApprovalsView, socket: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(approvals, "_LOOK_SECONDS", PATIENCE)
    asks = [question(f"q{n}", tool=f"{n}{'x' * 118_000}") for n in range(CAPACITY)]
    said = [asked_or_refused(view, socket, ask) for ask in asks]
    taken = [ask for ask, refused in zip(asks, said, strict=True) if not refused]
    assert 30 < len(taken) < CAPACITY
    assert pending(socket) == taken
    assert view.answer(taken[0].id, "deny")
    assert not asked_or_refused(view, socket, asks[-1])


def test_a_view_of_another_version_is_said_to_be_one(socket: Path) -> None:
    reply = b'{"version":%d,"problem":"start it anew","asks":"of another shape"}\n' % (VERSION + 1)
    with impostor(socket, reply):
        assert ask_view(socket, question()) == "version"
    socket.unlink()
    with impostor(socket, reply), pytest.raises(PolicyError, match="another version of clawkit"):
        pending(socket)


def asked_or_refused(view: ApprovalsView, socket: Path, ask: Ask) -> bool:
    """Ask, and wait until the view has the question; True if it takes no more."""
    outcomes: list[str | None] = []
    threading.Thread(target=lambda: outcomes.append(ask_view(socket, ask)), daemon=True).start()
    until(lambda: outcomes or ask.id in [known.id for known in view.asks()])
    assert outcomes in ([], ["full"])
    return bool(outcomes)


def test_a_second_question_with_the_same_id_is_not_taken(view: ApprovalsView, socket: Path) -> None:
    first = asked(view, socket, question())
    assert ask_view(socket, question(tool="delete_file")) == "unclear"
    view.answer("q1", "once")
    assert first.answer == "once"


def test_what_waits_is_listed_in_order_and_whole(view: ApprovalsView, socket: Path) -> None:
    asks = [question(f"q{n}") for n in range(3)]
    for ask in asks:
        asked(view, socket, ask)
    assert pending(socket) == asks


@pytest.mark.parametrize("answer", ["once", "session", "deny"])
def test_a_script_answers_through_the_view(
    view: ApprovalsView, socket: Path, answer: Answer
) -> None:
    asking = asked(view, socket, question())
    assert answer_pending(socket, "q1", answer) == ""
    assert asking.answer == answer


def test_a_script_cannot_answer_always(view: ApprovalsView, socket: Path) -> None:
    asked(view, socket, question())
    assert "press w there" in (answer_pending(socket, "q1", "always") or "")
    assert [ask.id for ask in view.asks()] == ["q1"]


def test_an_answer_to_nothing_is_refused(view: ApprovalsView, socket: Path) -> None:
    assert "no question 'q9' waits" in (answer_pending(socket, "q9", "once") or "")
    assert view.asks() == ()


def test_a_call_that_is_too_large_is_never_asked_about(view: ApprovalsView, socket: Path) -> None:
    assert ask_view(socket, question(arguments={"text": "x" * LONGEST_REQUEST})) == "unclear"
    assert view.asks() == ()


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"digest": "0" * 64}, id="another call"),
        pytest.param({"id": "q2"}, id="another question"),
        pytest.param({"answer": "yes"}, id="no answer we know"),
    ],
)
def test_an_answer_that_is_not_to_this_question_is_none(
    socket: Path, changes: dict[str, Any]
) -> None:
    ask = question()
    good = {"version": VERSION, "id": ask.id, "digest": ask.digest, "answer": "once"}
    with impostor(socket, json.dumps({**good, **changes}).encode() + b"\n"):
        assert ask_view(socket, ask) == "unclear"


@pytest.mark.parametrize(
    "reply", [b"once\n", b"[]\n", b"\xff\n", b'{"version":%d,"id":"\xff"}\n' % VERSION]
)
def test_a_reply_that_cannot_be_read_is_no_answer(socket: Path, reply: bytes) -> None:
    with impostor(socket, reply):
        assert ask_view(socket, question()) == "unclear"


@pytest.mark.parametrize("reply", [b"", b'{"version":1'])
def test_a_reply_that_does_not_come_whole_is_no_answer(socket: Path, reply: bytes) -> None:
    with impostor(socket, reply):
        assert ask_view(socket, question(seconds=0.5)) == "timeout"


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"hello\n", id="no JSON"),
        pytest.param(b'{"version":%d,"kind":"pending","id":"\xff"}\n' % VERSION, id="no UTF-8"),
        pytest.param(b"[" * 100_000 + b"\n", id="deep"),
        pytest.param(b"x" * (LONGEST_REQUEST + 1), id="too long"),
        pytest.param(b'{"version":%d,"kind":"ask"}\n' % VERSION, id="incomplete"),
        pytest.param(b'{"version":9,"kind":"pending"}\n', id="version"),
        pytest.param(b'{"version":%d,"kind":"pending"}\nmore' % VERSION, id="more than a line"),
    ],
)
def test_what_is_not_a_request_disturbs_nobody(
    view: ApprovalsView, socket: Path, sent: bytes
) -> None:
    asking = asked(view, socket, question())
    with connected(socket) as end:
        try:
            end.sendall(sent)
            end.shutdown(sockets.SHUT_WR)
            while end.recv(4096):
                pass
        except OSError:  # the view hung up while we still spoke
            pass
    view.answer("q1", "once")
    assert asking.answer == "once"


def test_a_question_that_goes_on_speaking_is_dropped(view: ApprovalsView, socket: Path) -> None:
    with connected(socket) as end:
        end.sendall(request(kind="ask", ask=ask_as_json(question())))
        until(view.asks)
        end.sendall(b"more\n")
        until(lambda: not view.asks())


def test_a_program_that_holds_lines_and_says_nothing_keeps_nobody_out(
    view: ApprovalsView, socket: Path
) -> None:
    asking = asked(view, socket, question())
    with ExitStack() as held:
        for _ in range(2 * CAPACITY + 1):
            end = held.enter_context(connected(socket))
            end.sendall(b'{"version":')
        until(lambda: [ask.id for ask in pending(socket) or []] == ["q1"])
        assert answer_pending(socket, "q1", "once") == ""
        assert asking.answer == "once"


def test_a_view_that_has_many_connections_to_accept_is_waited_for(
    view: ApprovalsView, socket: Path
) -> None:
    busy = threading.Timer(0.5, view._changing.release)
    view._changing.acquire()
    with ExitStack() as held:
        with suppress(BlockingIOError):  # it has room for no more
            while True:
                held.enter_context(connected(socket))
        busy.start()
        assert has_view(socket)
    busy.join()


def test_the_answer_of_a_script_that_hung_up_before_it_was_read_is_none(
    view: ApprovalsView, socket: Path
) -> None:
    """Its process lives on, so that nothing but the line tells."""
    asking = asked(view, socket, question())
    with view._changing, connected(socket) as end:
        end.sendall(request(kind="answer", id="q1", answer="once"))
    for _ in range(2):  # whatever came before these has been read by then
        assert [ask.id for ask in pending(socket) or []] == ["q1"]
    assert view.given() == {}
    assert view.answer("q1", "deny")
    assert asking.answer == "deny"


@pytest.mark.parametrize("name", ["approvals.lock", "approvals.window-0"])
def test_a_link_in_the_place_of_a_lock_is_not_followed(socket: Path, name: str) -> None:
    socket.parent.mkdir()
    precious = socket.parent / "precious"
    precious.write_text("all of it")
    (socket.parent / name).symlink_to(precious)
    with pytest.raises(PolicyError, match="cannot be used"), SharedView(socket):
        pass
    assert precious.read_text() == "all of it"


def test_many_threads_ask_and_answer_at_once(socket: Path) -> None:
    with ApprovalsView(socket) as view:
        waiting = {f"q{n}": Asking(socket, question(f"q{n}")) for n in range(24)}
        until(lambda: len(view.asks()) == 24)
        answers: list[Answer] = ["once", "deny", "session"]
        given = {id: answers[n % 3] for n, id in enumerate(waiting)}
        threads = [threading.Thread(target=view.answer, args=pair) for pair in given.items()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert {id: asking.answer for id, asking in waiting.items()} == given


def test_an_open_view_is_idle(
    view: ApprovalsView, socket: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[tuple[float, int]] = []
    select = view._selector.select

    def noted(timeout: float) -> list[Any]:
        ready = select(timeout)
        looks.append((timeout, len(ready)))
        return ready

    monkeypatch.setattr(view._selector, "select", noted)
    asked(view, socket, question("q1"))
    asked(view, socket, question("q2"))
    time.sleep(0.3)
    # It wakes up for what there is to do, and else sleeps for as long as it may.
    assert sum(1 for _, ready in looks if ready) <= 4
    assert all(timeout >= 0.5 for timeout, _ in looks)


def connected(socket: Path) -> sockets.socket:
    end = sockets.socket(sockets.AF_UNIX)
    end.settimeout(PATIENCE)
    try:
        end.connect(os.fspath(socket))
    except OSError:
        end.close()
        raise
    return end


def request(**fields: Any) -> bytes:
    return json.dumps({"version": VERSION, **fields}).encode() + b"\n"


def ask_as_json(ask: Any) -> Any:
    import msgspec

    return msgspec.to_builtins(ask)
