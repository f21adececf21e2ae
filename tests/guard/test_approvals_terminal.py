"""`claw approvals` in a real terminal: what it shows, what keys do, and how it leaves."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from time import sleep

import pytest

from clawkit.cli.approvals.live_view import REST
from clawkit.guard.approval_window import pending
from clawkit.guard.approvals import has_window
from tests.guard.approvals import Asking, question, short_folder, until
from tests.guard.guarded_server import guarded
from tests.guard.terminal import Terminal, terminal
from tests.guard.test_prompts_in_a_view import send
from tests.processes import PATIENCE

COMMAND = (sys.executable, "-c", "from clawkit.cli.approvals.command import app; app()")
KEYS = "a allow once"
POLICY = """\
# My rules

# Ask before reading
[[rule]]
action = "prompt"
tool = "*"
"""


@pytest.fixture
def claw_home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with short_folder() as folder:
        monkeypatch.setenv("CLAW_HOME", str(folder))
        yield folder


@pytest.fixture
def socket(claw_home: Path) -> Path:
    return claw_home / "data" / "claw" / "guard" / "approvals"


@pytest.fixture
def policy(claw_home: Path) -> Path:
    file = claw_home / "config" / "clawai" / "policy.toml"
    file.parent.mkdir(parents=True)
    file.write_text(POLICY)
    return file


@pytest.fixture
def screen(socket: Path) -> Iterator[Terminal]:
    with terminal(*COMMAND) as opened:
        opened.shows("nothing waiting")
        assert pending(socket) == []
        yield opened


def digest_of(file: Path) -> str:
    return sha256(file.read_bytes()).hexdigest()


def test_letters_from_right_to_left_stay_where_they_are_sent(
    screen: Terminal, socket: Path
) -> None:
    assert "\x1b[8l" in screen.output
    Asking(socket, question(arguments={"text": "pay \u05d0 100 200"}))
    screen.shows("written from right to left", KEYS)


def test_an_idle_view_quits_at_once(screen: Terminal) -> None:
    screen.type("q")
    assert screen.ends() == 0
    assert screen.output.endswith("\x1b[8h")
    assert screen.is_given_back()


def test_a_question_is_shown_with_everything_that_matters(screen: Terminal, socket: Path) -> None:
    Asking(socket, question(arguments={"path": "/srv/a", "lines": [1, 2]}))
    screen.shows("1 waiting", "files", "editor/1.0", "read_file", "1: Ask first", " s  ", KEYS)
    screen.shows('  "path": "/srv/a",', '  "lines": [')
    assert "\a" in screen.output


@pytest.mark.parametrize(("key", "answer"), [("a", "once"), ("s", "session"), ("d", "deny")])
def test_a_key_answers(screen: Terminal, socket: Path, key: str, answer: str) -> None:
    asking = Asking(socket, question())
    screen.shows(KEYS)
    screen.type(key)
    assert asking.answer == answer
    screen.shows("nothing waiting", "read_file")


def test_what_could_command_the_terminal_is_shown_escaped(screen: Terminal, socket: Path) -> None:
    evil = "\x1b[2J\x1b]0;owned\x07\u202eexe.txt\r\nAll is well"
    Asking(
        socket,
        question(tool=evil, arguments={"path": evil}, server=evil, client=evil, description=evil),
    )
    screen.shows(KEYS, "owned")
    for harm in ("\x1b[2J", "\x1b]0;", "\u202e", "\nAll is well"):
        assert harm not in screen.output


def test_a_key_typed_before_the_question_could_be_read_answers_nothing(
    screen: Terminal, socket: Path
) -> None:
    first = Asking(socket, question("q1"))
    screen.shows(KEYS)
    Asking(socket, question("q2", tool="delete_file"))
    screen.shows("2 waiting")
    screen.type("aaaa")
    assert first.answer == "once"
    screen.shows("1 waiting", KEYS)
    assert [ask.id for ask in pending(socket) or []] == ["q2"]


def test_pasted_text_answers_nothing(screen: Terminal, socket: Path) -> None:
    Asking(socket, question())
    screen.shows(KEYS)
    screen.type("a long text that somebody pasted")
    screen.type("j")
    screen.shows("1 waiting", KEYS)
    assert [ask.id for ask in pending(socket) or []] == ["q1"]


@pytest.mark.parametrize(("down", "up"), [("j", "k"), ("\x1b[B", "\x1b[A"), ("\x1bOB", "\x1bOA")])
def test_another_question_can_be_chosen(screen: Terminal, socket: Path, down: str, up: str) -> None:
    asking: list[Asking] = []
    for n in range(3):
        asking.append(Asking(socket, question(f"q{n}", client=f"client-{n}")))
        screen.shows(f"{n + 1} waiting")
    screen.type(down)
    screen.shows("client-1", KEYS)
    screen.type(down)
    screen.shows("client-2")
    screen.type(up)
    screen.shows("client-1", KEYS)
    screen.type("a")
    assert asking[1].answer == "once"
    assert [ask.id for ask in pending(socket) or []] == ["q0", "q2"]


def test_a_question_that_is_withdrawn_leaves_the_screen(screen: Terminal, socket: Path) -> None:
    asking = Asking(socket, question())
    screen.shows(KEYS)
    asking.cancelled.end("withdrawn")
    screen.shows("nothing waiting", "withdrawn by its client, not run")


def test_the_guard_writes_the_rule_that_was_shown(screen: Terminal, policy: Path) -> None:
    with guarded(policy.parent, POLICY, "--name", "files") as guard:
        guard.initialize()
        send(guard, 1, "/srv/a")
        screen.shows(KEYS)
        screen.type("w")
        screen.shows("[[rule]]", 'action = "allow"', 'args.path = "/srv/a"', "above rule 1?", "y/n")
        shown = [line for line in screen.screen if " = " in line]
        screen.type("y")
        assert guard.receive()["result"]
        screen.shows("The rule stands in")
    written = policy.read_text()
    assert written == POLICY.replace("# Ask", "[[rule]]\n" + "\n".join(shown) + "\n\n# Ask")


def test_always_that_is_not_confirmed_writes_nothing(
    screen: Terminal, socket: Path, policy: Path
) -> None:
    Asking(socket, question(policy=digest_of(policy)))
    screen.shows(KEYS)
    screen.type("w")
    screen.shows("y/n")
    screen.type("n")
    screen.shows(KEYS)
    assert policy.read_text() == POLICY
    assert [ask.id for ask in pending(socket) or []] == ["q1"]


def test_always_is_refused_when_the_policy_has_changed(
    screen: Terminal, socket: Path, policy: Path
) -> None:
    Asking(socket, question(policy=digest_of(policy)))
    screen.shows(KEYS)
    policy.write_text(POLICY + "# more\n")
    screen.type("w")
    screen.shows("y/n")
    screen.type("y")
    screen.shows("changed since", KEYS)
    assert policy.read_text() == POLICY + "# more\n"
    assert [ask.id for ask in pending(socket) or []] == ["q1"]


def test_always_is_refused_where_no_rule_can_say_it(screen: Terminal, socket: Path) -> None:
    Asking(socket, question(arguments={"path": "/srv/*"}))
    screen.shows(KEYS)
    screen.type("w")
    screen.shows("Write it by hand", KEYS)


def test_quitting_asks_first_where_nobody_else_is_asked(screen: Terminal, socket: Path) -> None:
    asking = Asking(socket, question())
    screen.shows(KEYS)
    screen.type("q")
    screen.shows("Quit? Nobody else is asked: what waits (1) is denied. y/n")
    screen.type("n")
    screen.shows(KEYS)
    screen.type("q")
    screen.shows("y/n")
    screen.type("y")
    assert asking.answer == "closed"
    assert screen.ends() == 0
    assert screen.is_given_back()


@pytest.mark.parametrize("how", ["Ctrl-C", "SIGTERM", "SIGHUP"])
def test_an_abrupt_end_answers_nothing_and_gives_the_terminal_back(
    screen: Terminal, socket: Path, how: str
) -> None:
    asking = Asking(socket, question())
    screen.shows(KEYS)
    if how == "Ctrl-C":
        screen.type("\x03")
    else:
        screen.process.send_signal(signal.Signals[how])
    assert asking.answer == "closed"
    assert screen.ends() in {130, 128 + signal.SIGTERM, 128 + signal.SIGHUP}
    assert screen.is_given_back()
    assert not has_window(socket)
    assert "Traceback" not in screen.output


def test_suspending_does_not_stop_the_view(screen: Terminal, socket: Path) -> None:
    asking = Asking(socket, question())
    screen.shows(KEYS)
    screen.type("\x1a")
    screen.type("a")
    assert asking.answer == "once"


def test_the_frame_follows_the_size_of_the_terminal(screen: Terminal, socket: Path) -> None:
    Asking(socket, question())
    screen.shows(KEYS, "q quit")
    screen.resize(30, 14)
    until(lambda: max(map(len, screen.screen), default=99) <= 30)
    screen.shows("a allow once", "q quit", "read_file")
    assert len(screen.screen) <= 14
    screen.resize(100, 40)
    screen.shows("w these arguments always…   d deny", "j/k choose   q quit")


def test_a_long_call_can_be_allowed_when_its_last_page_was_shown(
    screen: Terminal, socket: Path
) -> None:
    asking = Asking(socket, question(arguments={f"a{n}": n for n in range(40)}))
    screen.shows('"a0": 0', "space for more", "read on, to allow it")
    screen.type("a")
    screen.shows("Read it to its end first")
    screen.type(" " * 5)  # every page is drawn, however fast they are turned
    screen.shows('"a39": 39', KEYS)
    assert '\n  "a0": 0' not in "\n".join(screen.screen)
    screen.type("\x1b[5~")
    screen.shows('"a20": 20')
    screen.type("a")
    assert asking.answer == "once"


def test_a_second_terminal_shows_the_same_and_its_answer_counts_once(
    screen: Terminal, socket: Path
) -> None:
    with terminal(*COMMAND) as second:
        second.shows("nothing waiting")
        asking = Asking(socket, question(arguments={"path": "/srv/a"}))
        screen.shows("1 waiting")
        second.shows("1 waiting", KEYS)
        second.type("d")
        assert asking.answer == "deny"
        screen.shows("nothing waiting")
        second.type("q")
        assert second.ends() == 0


@pytest.mark.parametrize("how", ["q", "Ctrl-C", "SIGTERM", "SIGHUP", "SIGKILL"])
def test_what_waits_goes_to_the_other_terminal_however_one_ends(
    screen: Terminal, socket: Path, how: str
) -> None:
    with terminal(*COMMAND) as second:
        second.shows("nothing waiting")
        asking = Asking(socket, question())
        screen.shows(KEYS)
        second.shows(KEYS)
        if how in ("q", "Ctrl-C"):
            screen.type("q" if how == "q" else "\x03")
        else:
            screen.process.send_signal(signal.Signals[how])
        screen.ends()
        until(lambda: [ask.id for ask in pending(socket) or []] == ["q1"])
        second.shows("1 waiting", KEYS)
        second.type("a")
        assert asking.answer == "once"


REPLIES = {
    "size in characters": "\x1b[8;24;80t",
    "size in pixels": "\x1b[4;480;640t",
    "version": "\x1bP>|tmux 3\x1b\\",
    "colour": "\x1b]11;rgb:aaaa/dddd/aaaa\x1b\\",
    "title": "\x1b]la\x1b\\",
    "settings": "\x1bP1$r0;1s\x1b\\",
    "eight bits": "\x9b8;24;80t",
    "in the middle of Alt": "\x1ba",
}


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
def test_what_the_terminal_replies_to_another_program_answers_nothing(
    screen: Terminal, socket: Path, reply: str
) -> None:
    """Whoever can write to the terminal can make it reply, and the reply comes as keys."""
    asking = Asking(socket, question(servers=("files",)))
    screen.shows(KEYS)
    screen.type(reply)
    sleep(2 * REST)
    assert [ask.id for ask in pending(socket) or []] == ["q1"]
    screen.type("d")
    assert asking.answer == "deny"


AS_ANYBODY = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(24, 19, 0, 0, 0)  # root goes without CAP_SYS_PTRACE, like others
os.execvp(sys.argv[1], sys.argv[1:])
"""


@pytest.mark.usefixtures("claw_home")
def test_no_other_program_opens_the_terminal_or_the_memory_of_the_view() -> None:
    with terminal(sys.executable, "-c", AS_ANYBODY, *COMMAND) as screen:
        screen.shows("nothing waiting")
        assert screen.is_exclusive()
        look = ("sh", "-c", f"exec < /proc/{screen.process.pid}/mem")
        command = (sys.executable, "-c", AS_ANYBODY, *look)
        assert subprocess.run(command, check=False, timeout=PATIENCE).returncode != 0
        screen.type("q")
        assert screen.ends() == 0
        assert not screen.is_exclusive()
