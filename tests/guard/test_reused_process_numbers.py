"""A process that is gone speaks for no other that has its number by now."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.guard.approvals import short_folder
from tests.processes import PATIENCE, ROOT

NAMESPACE = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc")
NUMBERS = "/proc/sys/kernel/ns_last_pid"

VIEW = """
import json, sys
from pathlib import Path
from clawkit.guard.approvals_view import ApprovalsView
from clawkit.system import peer_process
from tests.guard.approvals import asked, question
if sys.argv[2] == "an old kernel":
    peer_process._SO_PEERPIDFD = 12345
with ApprovalsView(Path(sys.argv[1])) as view:
    asking = asked(view, Path(sys.argv[1]), question())
    print("open", flush=True)
    sys.stdin.readline()
    print(json.dumps([[ask.id for ask in view.asks()], view.given()]), flush=True)
"""

SERVER = """
import array, os, socket, sys
path, how = sys.argv[1:3]
here, there = socket.socketpair()
child = os.fork()
if not child:
    end = socket.socket(socket.AF_UNIX)
    if how == "listen":
        end.bind(path)
        end.listen()
    else:
        end.connect(path)
    passed = array.array("i", [end.fileno()])
    there.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, passed)])
    os._exit(0)
_, fds, _, _ = socket.recv_fds(here, 1, 1)
os.waitpid(child, 0)
print(child, flush=True)
end = socket.socket(fileno=fds[0])
request = sys.stdin.readline()
if how != "listen":
    end.sendall(request.encode())
    print(end.makefile().readline(), end="", flush=True)
sys.stdin.readline()
"""

PERSON = """
import json, os, signal, subprocess, sys
from pathlib import Path
from clawkit.guard.approvals import ask_view, pending
from tests.guard.approvals import question
from tests.guard.test_reused_process_numbers import SERVER, VIEW
path, how, request, kernel = sys.argv[1:5]

def started(code, *words, **more):
    command = (sys.executable, "-c", code, *words)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, **pipes, env={**os.environ, **more})

def told(child, line):
    child.stdin.write(line + "\\n")
    child.stdin.flush()

def given_to_a_program_of_the_person(number):
    while True:
        Path("/proc/sys/kernel/ns_last_pid").write_text(str(number - 1))
        program = subprocess.Popen(["sleep", "600"])
        if program.pid == number:
            return

if how != "listen":
    view = started(VIEW, path, kernel)
    view.stdout.readline()
if how == "while the view is stopped":
    os.kill(view.pid, signal.SIGSTOP)
    os.waitpid(view.pid, os.WUNTRACED)
server = started(SERVER, path, how, CLAW_GUARDED="1")
number = int(server.stdout.readline())
if how == "while the view listens":
    pending(Path(path))  # its reply comes after the server has been let in
given_to_a_program_of_the_person(number)
if how == "while the view is stopped":
    os.kill(view.pid, signal.SIGCONT)
if how == "listen":
    print(json.dumps([ask_view(Path(path), question(seconds=5)), pending(Path(path))]))
else:
    told(server, request)
    print(server.stdout.readline(), end="")
    told(view, "end")
    print(view.stdout.readline(), end="")
# All others end with this process, the first of its namespace.
sys.stdout.flush()
os._exit(0)
"""


def _can_choose_numbers() -> bool:
    if sys.platform != "linux" or shutil.which("unshare") is None:
        return False
    command = (*NAMESPACE, "sh", "-c", f"echo 100 > {NUMBERS}")
    done = subprocess.run(command, capture_output=True, timeout=PATIENCE, check=False)
    return done.returncode == 0


pytestmark = pytest.mark.skipif(
    not _can_choose_numbers(), reason="this system has no namespaces of processes for its users"
)


@pytest.fixture
def socket() -> Iterator[Path]:
    with short_folder() as folder:
        yield folder / "a.sock"


def attacked(socket: Path, how: str, request: dict[str, object], kernel: str = "") -> list[object]:
    words = (sys.executable, "-c", PERSON, str(socket), how, json.dumps(request), kernel)
    command = (*NAMESPACE, *words)
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=PATIENCE, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def answer() -> dict[str, object]:
    from clawkit.guard.approvals import VERSION

    return {"version": VERSION, "kind": "answer", "id": "q1", "answer": "once", "source": "page"}


@pytest.mark.parametrize(
    ("how", "kernel"),
    [
        ("while the view listens", ""),
        ("while the view is stopped", ""),
        ("while the view listens", "an old kernel"),
    ],
)
def test_no_answer_comes_from_a_process_whose_number_is_another_ones(
    socket: Path, how: str, kernel: str
) -> None:
    reply, waits = attacked(socket, how, answer(), kernel)
    assert isinstance(reply, dict)
    assert "a guarded server may not answer for a person" in reply["problem"]
    assert waits == [["q1"], {}]


def test_no_question_comes_from_a_process_whose_number_is_another_ones(socket: Path) -> None:
    import msgspec

    from tests.guard.approvals import question

    ask = {**answer(), "kind": "ask", "ask": msgspec.to_builtins(question("q2"))}
    reply, waits = attacked(socket, "while the view listens", ask)
    assert isinstance(reply, dict)
    assert "a guarded server may not ask a person here" in reply["problem"]
    assert waits == [["q1"], {}]


def test_nobody_is_asked_in_a_view_whose_process_number_is_another_ones(socket: Path) -> None:
    assert attacked(socket, "listen", {}) == [[None, None]]
