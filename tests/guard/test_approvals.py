"""Asking a person through a real socket: what comes back, whatever happens on the way."""

from __future__ import annotations

import errno
import json
import os
import signal
import socket as sockets
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec
import pytest

from clawkit.errors import PolicyError
from clawkit.guard import approval_socket, approval_window
from clawkit.guard.approval_socket import ask_windows
from clawkit.guard.approval_window import ApprovalWindow, answer_pending, pending
from clawkit.guard.approvals import (
    LONGEST_ASK,
    VERSION,
    Answer,
    EndNote,
    GuardLine,
    has_window,
    socket_at,
    sockets_in,
)
from clawkit.system import peer_process
from clawkit.system.peer_process import PeerProcess
from tests.guard.approvals import PATIENCE, Asking, asked, question, short_folder, until

WINDOW = """
import sys, time
from pathlib import Path
from clawkit.guard.approval_window import ApprovalWindow
with ApprovalWindow(Path(sys.argv[1])) as window:
    print("open", flush=True)
    while not window.asks():
        time.sleep(0.01)
    print("asked", flush=True)
    time.sleep(60)
"""
GUARD = """
import sys
from pathlib import Path
import msgspec
from clawkit.guard.approval_socket import ask_windows
from clawkit.guard.approvals import Ask
print(ask_windows(Path(sys.argv[1]), msgspec.json.decode(sys.argv[2], type=Ask)))
"""


@pytest.fixture
def socket() -> Iterator[Path]:
    with short_folder() as folder:
        yield folder / "guard" / "approvals"


@pytest.fixture
def view(socket: Path) -> Iterator[ApprovalWindow]:
    with ApprovalWindow(socket) as view:
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
def impostor(folder: Path, *lines: bytes) -> Generator[sockets.socket]:
    """Something in a guard's place that says these lines to the first window that comes."""
    folder.mkdir(parents=True, exist_ok=True)
    with sockets.socket(sockets.AF_UNIX) as door:
        door.bind(os.fspath(socket_at(folder, "impostor")))
        door.listen()
        door.settimeout(PATIENCE)
        ends: list[sockets.socket] = []

        def serve() -> None:
            end, _ = door.accept()
            ends.append(end)
            end.sendall(b"".join(lines))

        thread = threading.Thread(target=serve)
        thread.start()
        yield door
        thread.join()
        for end in ends:
            end.close()


@pytest.mark.parametrize("answer", get_args(Answer))
def test_the_answer_of_the_person_reaches_the_proxy(
    view: ApprovalWindow, socket: Path, answer: Answer
) -> None:
    asking = asked(view, socket, question())
    assert view.answer("q1", answer, rule="the rule that was shown")
    assert asking.answer == answer
    assert view.asks() == ()
    assert [ended.how for ended in view.ended()] == [answer]


def test_the_view_shows_the_question_as_it_was_asked(view: ApprovalWindow, socket: Path) -> None:
    ask = question(arguments={"path": "/srv/ü", "deep": {"n": [1, 2.5, None, 2**70]}})
    asked(view, socket, ask)
    assert view.asks() == (ask,)


def test_without_a_view_there_is_no_answer(socket: Path) -> None:
    assert ask_windows(socket, question()) is None
    assert pending(socket) is None
    assert answer_pending(socket, "q1", "once") is None


def test_a_window_that_has_closed_is_none(socket: Path) -> None:
    with ApprovalWindow(socket):
        assert pending(socket) == []
    assert not has_window(socket)
    assert ask_windows(socket, question()) is None


def test_a_path_that_no_socket_can_have_is_no_view_for_a_proxy(tmp_path: Path) -> None:
    assert ask_windows(tmp_path / ("x" * 120), question()) is None


def test_a_path_that_no_socket_can_have_is_an_error_for_the_view(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="may have 100: set CLAW_HOME"):
        ApprovalWindow(tmp_path / ("x" * 120)).asks()


def test_nobody_in_time_is_no_answer(view: ApprovalWindow, socket: Path) -> None:
    asking = asked(view, socket, question(seconds=5))
    assert asking.answer == "timeout"
    until(lambda: [ended.how for ended in view.ended()] == ["expired"])
    assert not view.answer("q1", "once")


def test_a_window_drops_a_question_at_its_deadline_whatever_its_guard_does(
    view: ApprovalWindow, socket: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(approval_window, "_GRACE", 0.1)
    line = GuardLine(asks=(question(seconds=3),))
    with impostor(socket, msgspec.json.encode(line) + b"\n"):
        until(view.asks)
        until(lambda: not view.asks())
        assert [end.how for end in view.ended()] == ["silent"]


def test_a_window_that_closes_has_said_nothing(socket: Path) -> None:
    with ApprovalWindow(socket) as view:
        waiting = [asked(view, socket, question(f"q{n}")) for n in range(3)]
    assert [asking.answer for asking in waiting] == ["closed"] * 3


def test_a_window_that_is_killed_has_said_nothing_and_is_none(socket: Path) -> None:
    with process(WINDOW, os.fspath(socket)) as child:
        assert line_of(child) == "open"
        asking = Asking(socket, question())
        assert line_of(child) == "asked"
        child.send_signal(signal.SIGKILL)
        assert asking.answer == "closed"
        child.wait()
    assert ask_windows(socket, question()) is None
    with ApprovalWindow(socket) as view:
        again = asked(view, socket, question())
        view.answer("q1", "once")
        assert again.answer == "once"


def test_what_a_killed_guard_left_behind_is_removed(view: ApprovalWindow, socket: Path) -> None:
    with process(GUARD, os.fspath(socket), json.dumps(ask_as_json(question()))) as child:
        until(view.asks)
        (left,) = sockets_in(socket)
        child.send_signal(signal.SIGKILL)
        until(lambda: not view.asks())
    until(lambda: view.asks() == () and not left.exists())


def test_a_guard_whose_socket_was_removed_is_found_again_with_all_that_waits(
    view: ApprovalWindow, socket: Path
) -> None:
    first = asked(view, socket, question())
    (path,) = sockets_in(socket)
    path.unlink()
    until(path.exists)
    second = asked(view, socket, question("q2"))
    assert [ask.id for ask in view.asks()] == ["q1", "q2"]
    with ApprovalWindow(socket) as late:
        until(lambda: len(late.asks()) == 2)
        assert late.answer("q1", "deny")
    assert view.answer("q2", "once")
    assert (first.answer, second.answer) == ("deny", "once")


def test_where_a_guard_listened_before_it_had_to_listen_anew_is_none_of_its_places(
    view: ApprovalWindow, socket: Path
) -> None:
    """The system gives what was removed there to the next guard."""
    asked(view, socket, question())
    (path,) = sockets_in(socket)
    before = socket_at(socket, "before")
    path.rename(before)
    until(path.exists)
    until(lambda: view.asks() and not before.exists())  # it was tried, and nobody listened


def test_a_guard_that_cannot_let_a_window_in_at_once_does_so_later(
    view: ApprovalWindow, socket: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asking = asked(view, socket, question())
    failures = [OSError(errno.EMFILE, "Too many open files")]
    made = approval_socket._Connection

    def connection(end: sockets.socket) -> Any:
        if failures:
            end.close()
            raise failures.pop()
        return made(end)

    monkeypatch.setattr(approval_socket, "_Connection", connection)
    with ApprovalWindow(socket) as late:
        until(late.asks)
        assert late.answer("q1", "once")
    assert not failures
    assert asking.answer == "once"


def test_a_guard_that_ends_says_how_its_questions_ended(view: ApprovalWindow, socket: Path) -> None:
    asking = asked(view, socket, question())
    asking.cancelled.end("withdrawn")
    approval_socket._sockets.pop(socket).close()
    until(view.ended)
    assert [ended.how for ended in view.ended()] == ["withdrawn"]


def test_guards_that_say_nothing_are_waited_for_together(
    socket: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent, seconds = 30, 1.0
    monkeypatch.setattr(approval_window, "_FIRST_SECONDS", seconds)
    socket.mkdir(parents=True)
    with ExitStack() as until_end:
        for n in range(silent):
            door = until_end.enter_context(sockets.socket(sockets.AF_UNIX))
            door.bind(os.fspath(socket_at(socket, f"silent{n}")))
            door.listen()
        view = until_end.enter_context(closing(ApprovalWindow(socket)))
        began = time.monotonic()
        view.asks()
        assert time.monotonic() - began < silent * seconds / 2
        asked(view, socket, question())


def test_as_much_is_known_of_what_ended_as_many_guards_say(
    view: ApprovalWindow, socket: Path
) -> None:
    line = GuardLine(ended=tuple(EndNote(f"q{n}", "deny") for n in range(64)))
    with impostor(socket, msgspec.json.encode(line) + b"\n"):
        until(lambda: view.asks() == () and view.note_of("q63"))
    assert view.note_of("q0") is not None


def test_only_the_user_may_reach_the_socket(view: ApprovalWindow, socket: Path) -> None:
    asked(view, socket, question())
    assert socket.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in socket.iterdir()} == {0o600}


def test_a_folder_that_was_open_to_others_is_closed(socket: Path) -> None:
    socket.mkdir(mode=0o755, parents=True)
    with ApprovalWindow(socket):
        assert socket.stat().st_mode & 0o777 == 0o700


def test_the_other_end_of_a_pair_is_the_same_user() -> None:
    one, other = sockets.socketpair()
    with one, other:
        assert PeerProcess(one).is_same_user()


@pytest.mark.parametrize("says", [True, False])
def test_who_has_no_number_here_may_be_a_guarded_server_where_the_system_says_numbers(
    monkeypatch: pytest.MonkeyPatch, *, says: bool
) -> None:
    """As what runs outside of the container in which a guard runs, or on macOS."""
    user = os.getuid() if says else None
    monkeypatch.setattr(peer_process, "_credentials", lambda _: (0, user))
    one, other = sockets.socketpair()
    with one, other:
        assert PeerProcess(one).is_same_user()
        assert PeerProcess(one).is_guarded() is says


def test_a_cancelled_question_leaves_the_view(view: ApprovalWindow, socket: Path) -> None:
    asking = asked(view, socket, question())
    asking.cancelled.end("withdrawn")
    assert asking.answer == "withdrawn"
    until(lambda: not view.asks())
    assert [ended.how for ended in view.ended()] == ["withdrawn"]


@pytest.mark.parametrize(
    ("answer", "how"), [("timeout", "expired"), ("before", "covered"), ("once", "form")]
)
def test_the_view_learns_why_a_question_is_no_longer_asked(
    view: ApprovalWindow, socket: Path, answer: Literal["timeout", "before", "once"], how: str
) -> None:
    asking = asked(view, socket, question())
    asking.cancelled.end(answer)
    until(lambda: not view.asks())
    assert [ended.how for ended in view.ended()] == [how]


def test_the_question_of_a_guard_that_was_killed_leaves_the_window(
    view: ApprovalWindow, socket: Path
) -> None:
    with process(GUARD, os.fspath(socket), json.dumps(ask_as_json(question()))) as child:
        until(view.asks)
        child.send_signal(signal.SIGKILL)
        until(lambda: not view.asks())
    assert not view.answer("q1", "once")


def test_a_question_asked_by_another_process_is_answered_there(
    view: ApprovalWindow, socket: Path
) -> None:
    with process(GUARD, os.fspath(socket), json.dumps(ask_as_json(question()))) as child:
        until(view.asks)
        view.answer("q1", "session")
        assert line_of(child) == "session"


def test_many_large_questions_reach_a_window_that_comes_later(
    view: ApprovalWindow, socket: Path
) -> None:
    asks = [question(f"q{n}", tool=f"{n}{'x' * 118_000}") for n in range(40)]
    for ask in asks:
        asked(view, socket, ask)
    assert pending(socket) == asks


def test_a_window_that_takes_nothing_holds_up_no_other(socket: Path) -> None:
    with ApprovalWindow(socket) as slow, ApprovalWindow(socket) as view:
        asked(slow, socket, question("q0"))
        asks = [question(f"q{n}", tool=f"{n}{'x' * 118_000}") for n in range(1, 40)]
        waiting = [asked(view, socket, ask) for ask in asks]
        assert view.answer("q39", "once")
        assert waiting[-1].answer == "once"
        until(lambda: len(slow.asks()) == 39)


def test_a_window_of_another_version_is_said_to_be_one(socket: Path) -> None:
    with ApprovalWindow(socket):
        place = next(path for path in socket.iterdir())
        place.rename(place.with_name(place.name.replace(f"{VERSION}-", f"{VERSION + 1}-")))
        assert ask_windows(socket, question()) == "version"
    assert ask_windows(socket, question()) is None


def test_a_second_question_with_the_same_id_is_not_taken(
    view: ApprovalWindow, socket: Path
) -> None:
    first = asked(view, socket, question())
    assert ask_windows(socket, question(tool="delete_file")) == "unclear"
    view.answer("q1", "once")
    assert first.answer == "once"


def test_what_waits_is_listed_in_order_and_whole(view: ApprovalWindow, socket: Path) -> None:
    asks = [question(f"q{n}") for n in range(3)]
    for ask in asks:
        asked(view, socket, ask)
    assert pending(socket) == asks


@pytest.mark.parametrize("answer", ["once", "session", "deny"])
def test_a_script_answers(view: ApprovalWindow, socket: Path, answer: Answer) -> None:
    asking = asked(view, socket, question())
    assert answer_pending(socket, "q1", answer) == ""
    assert asking.answer == answer


def test_a_script_cannot_answer_always(view: ApprovalWindow, socket: Path) -> None:
    asked(view, socket, question())
    assert "press w there" in (answer_pending(socket, "q1", "always") or "")
    assert [ask.id for ask in view.asks()] == ["q1"]


def test_an_answer_to_nothing_is_refused(view: ApprovalWindow, socket: Path) -> None:
    assert "no question 'q9' waits" in (answer_pending(socket, "q9", "once") or "")
    assert view.asks() == ()


def test_a_call_that_is_too_large_is_never_asked_about(view: ApprovalWindow, socket: Path) -> None:
    assert ask_windows(socket, question(arguments={"text": "x" * LONGEST_ASK})) == "unclear"
    assert view.asks() == ()


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"digest": "0" * 64}, id="another call"),
        pytest.param({"id": "q2"}, id="another question"),
        pytest.param({"answer": "yes"}, id="no answer we know"),
        pytest.param({"answer": "always", "rule": ""}, id="no rule"),
        pytest.param({"answer": "always", "source": "script", "rule": "x"}, id="a rule unread"),
    ],
)
def test_what_is_no_answer_to_this_question_is_none(
    view: ApprovalWindow, socket: Path, changes: dict[str, Any]
) -> None:
    asking = asked(view, socket, question())
    with connected(socket) as end:
        end.sendall(answer_line(**changes))
        replies = end.makefile("rb")
        assert json.loads(replies.readline())["asks"]
        assert b"asks" not in replies.readline()  # it is refused, or the line is closed
        assert [ask.id for ask in view.asks()] == ["q1"]
    assert view.answer("q1", "deny")
    assert asking.answer == "deny"


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"hello\n", id="no JSON"),
        pytest.param(b'{"id":"\xff"}\n', id="no UTF-8"),
        pytest.param(b"[" * 60_000 + b"\n", id="deep"),
        pytest.param(b"x" * (LONGEST_ASK + 1), id="too long"),
        pytest.param(b'{"id":"q1"}\n', id="incomplete"),
        pytest.param(b'{"id":', id="not a line"),
    ],
)
def test_what_is_not_an_answer_disturbs_nobody(
    view: ApprovalWindow, socket: Path, sent: bytes
) -> None:
    asking = asked(view, socket, question())
    with connected(socket) as end:
        try:
            end.sendall(sent)
            end.shutdown(sockets.SHUT_WR)
            while end.recv(4096):
                pass
        except OSError:  # the guard hung up while we still spoke
            pass
    view.answer("q1", "once")
    assert asking.answer == "once"


@pytest.mark.parametrize("said", [b"once\n", b"[]\n", b"\xff\n", b"[" * 60_000 + b"\n", b'{"a'])
def test_what_is_no_guard_disturbs_no_window(
    view: ApprovalWindow, socket: Path, said: bytes
) -> None:
    with impostor(socket, said):
        asking = asked(view, socket, question())
        assert view.answer("q1", "once")
        assert asking.answer == "once"


def test_a_program_that_holds_lines_and_says_nothing_keeps_nobody_out(
    view: ApprovalWindow, socket: Path
) -> None:
    asking = asked(view, socket, question())
    with ExitStack() as held:
        for _ in range(100):
            end = held.enter_context(connected(socket))
            end.sendall(b'{"id":')
            assert end.recv(1)
        assert answer_pending(socket, "q1", "once") == ""
        assert asking.answer == "once"
    until(lambda: not view.asks())


def test_the_answer_of_a_script_that_hung_up_before_it_was_weighed_is_none(
    view: ApprovalWindow, socket: Path
) -> None:
    """Its process lives on, so that nothing but the line tells."""
    asking = asked(view, socket, question())
    reads = approval_socket._socket_of(socket)._changed
    with reads, connected(socket) as end:
        end.sendall(answer_line())
    assert view.answer("q1", "deny")
    assert asking.answer == "deny"


def test_a_no_that_hung_up_before_it_was_weighed_is_one(view: ApprovalWindow, socket: Path) -> None:
    asking = asked(view, socket, question())
    reads = approval_socket._socket_of(socket)._changed
    with reads:
        with connected(socket) as end:
            end.sendall(answer_line(answer="deny"))
        with connected(socket) as end:
            end.sendall(answer_line())
    assert asking.answer == "deny"


def test_a_no_of_the_last_window_is_one_though_that_closes_when_the_guard_looks(
    view: ApprovalWindow, socket: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def closes(folder: Path) -> bool:
        if view.asks():
            assert view.send("q1", "deny")
        view.close()
        return has_window(folder)

    asking = asked(view, socket, question())
    monkeypatch.setattr(approval_window, "ANSWER_SECONDS", 0)
    monkeypatch.setattr(approval_socket, "has_window", closes)
    assert asking.answer == "deny"


def test_a_link_in_the_place_of_a_lock_is_not_followed(socket: Path) -> None:
    socket.mkdir(parents=True)
    precious = socket / "precious"
    precious.write_text("all of it")
    (socket / f"{VERSION}-window-0").symlink_to(precious)
    with pytest.raises(PolicyError, match="cannot be used"), ApprovalWindow(socket):
        pass
    assert precious.read_text() == "all of it"


def test_many_threads_ask_and_answer_at_once(socket: Path) -> None:
    with ApprovalWindow(socket) as view:
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


def test_a_guard_is_idle_while_a_question_waits(view: ApprovalWindow, socket: Path) -> None:
    asked(view, socket, question("q1"))
    asked(view, socket, question("q2"))
    used = time.process_time()
    time.sleep(0.5)
    assert time.process_time() - used < 0.25


def connected(folder: Path) -> sockets.socket:
    """A connection to the one guard that listens."""
    (path,) = sockets_in(folder)
    end = sockets.socket(sockets.AF_UNIX)
    end.settimeout(PATIENCE)
    try:
        end.connect(os.fspath(path))
    except OSError:
        end.close()
        raise
    return end


def answer_line(**changes: str) -> bytes:
    line = {"id": "q1", "digest": question().digest, "answer": "once", "source": "page"}
    return json.dumps({**line, "mark": "m", **changes}).encode() + b"\n"


def ask_as_json(ask: Any) -> Any:
    return msgspec.to_builtins(ask)
