"""A process that is gone speaks for no other that has its number by now."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from clawkit.guard.approvals import VERSION, AnswerLine, GuardLine
from tests.guard.approvals import question, short_folder
from tests.processes import PATIENCE, ROOT

NAMESPACE = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc")
NUMBERS = "/proc/sys/kernel/ns_last_pid"

GUARD = """
import json, sys
from pathlib import Path
from clawkit.guard.approval_window import ApprovalWindow
from clawkit.system import peer_process
from tests.guard.approvals import asked, question
if sys.argv[2] == "an old kernel":
    peer_process._SO_PEERPIDFD = 12345
with ApprovalWindow(Path(sys.argv[1])) as window:
    asking = asked(window, Path(sys.argv[1]), question())
    print("open", flush=True)
    sys.stdin.readline()
    print(json.dumps([ask.id for ask in window.asks()]), flush=True)
"""

SERVER = """
import array, os, pathlib, socket, sys
folder, how = sys.argv[1:3]
here, there = socket.socketpair()
child = os.fork()
if not child:
    end = socket.socket(socket.AF_UNIX)
    if how == "listen":
        end.bind(str(pathlib.Path(folder, "VERSION-fake.sock")))
        end.listen()
    else:
        end.connect(str(next(pathlib.Path(folder).glob("*.sock"))))
    passed = array.array("i", [end.fileno()])
    there.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, passed)])
    os._exit(0)
_, fds, _, _ = socket.recv_fds(here, 1, 1)
os.waitpid(child, 0)
print(child, flush=True)
end = socket.socket(fileno=fds[0])
line = sys.stdin.readline().encode()
if how == "listen":
    end, _ = end.accept()
said = b""
try:
    end.sendall(line)
    while part := end.recv(65536):
        said += part
        if b"refused" in said:
            break
except OSError:
    pass
print(said.decode().replace("\\n", " "), flush=True)
sys.stdin.readline()
""".replace("VERSION", str(VERSION))

PERSON = """
import json, os, signal, subprocess, sys
from pathlib import Path
from clawkit.guard.approval_window import ApprovalWindow, pending
from tests.guard.test_reused_process_numbers import GUARD, SERVER
folder, how, line, kernel = sys.argv[1:5]

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
    guard = started(GUARD, folder, kernel)
    guard.stdout.readline()
if how == "while the guard is stopped":
    os.kill(guard.pid, signal.SIGSTOP)
    os.waitpid(guard.pid, os.WUNTRACED)
server = started(SERVER, folder, how, CLAW_GUARDED="1")
number = int(server.stdout.readline())
if how == "while the guard listens":
    pending(Path(folder))  # its reply comes after the server has been let in
given_to_a_program_of_the_person(number)
if how == "while the guard is stopped":
    os.kill(guard.pid, signal.SIGCONT)
told(server, line)
if how == "listen":
    with ApprovalWindow(Path(folder)) as window:
        print(json.dumps([ask.id for ask in window.asks()]))
else:
    print(json.dumps(server.stdout.readline().strip()))
    told(guard, "end")
    print(guard.stdout.readline(), end="")
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


def attacked(socket: Path, how: str, line: bytes, kernel: str = "") -> list[object]:
    words = (sys.executable, "-c", PERSON, str(socket), how, line.decode(), kernel)
    command = (*NAMESPACE, *words)
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=PATIENCE, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("how", "kernel"),
    [
        ("while the guard listens", ""),
        ("while the guard is stopped", ""),
        ("while the guard listens", "an old kernel"),
    ],
)
def test_no_answer_comes_from_a_process_whose_number_is_another_ones(
    socket: Path, how: str, kernel: str
) -> None:
    ask = question()
    line = AnswerLine(ask.id, ask.digest, "once", "page", "m")
    said, waits = attacked(socket, how, msgspec.json.encode(line), kernel)
    assert said == ""  # it is told nothing
    assert waits == ["q1"]


def test_no_question_comes_from_a_process_whose_number_is_another_ones(socket: Path) -> None:
    socket.mkdir()
    line = GuardLine(asks=(question(),))
    assert attacked(socket, "listen", msgspec.json.encode(line)) == [[]]
