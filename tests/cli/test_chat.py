"""`claw chat` in a real terminal and in a pipe."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from clawkit.assistant.sessions.store import SessionStore
from tests.assistant.providers.scripted import Call, Hang, Say, Status, scripted_openai
from tests.claw import CLAW, claw, environment
from tests.cli.commands import config_directory, plain_environment, use_provider
from tests.cli.test_ask import PNG
from tests.guard.approvals import until
from tests.guard.terminal import Terminal, terminal
from tests.processes import PATIENCE


@pytest.fixture(autouse=True)
def usual_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    plain_environment(monkeypatch)


class Chat:
    """A chat in a terminal: each thing said, and what is shown after it."""

    def __init__(self, opened: Terminal) -> None:
        self.terminal = opened
        self._prompt = -1

    @property
    def new(self) -> str:
        """What is on the screen from the last prompt on."""
        return "\n".join(self.terminal.screen[max(0, self._prompt) :])

    def prompted(self) -> str:
        """Wait for the prompt; what came before it since the last time."""
        until(lambda: self.terminal.screen[max(0, self._prompt + 1) :][-1:] == [">"])
        shown = self.new
        self._prompt = len(self.terminal.screen) - 1
        return shown.removesuffix(">")

    def say(self, keys: str) -> str:
        self.terminal.type(keys + "\r")
        return self.prompted()

    def leave(self) -> None:
        self.terminal.type("\x04")
        assert self.terminal.ends() == 0


@contextmanager
def chatting(*arguments: str, width: int = 80) -> Generator[Chat]:
    with terminal(*CLAW, "chat", *arguments, width=width, height=60) as opened:
        yield Chat(opened)


def store(home: Path) -> SessionStore:
    return SessionStore(home / "claw" / "data" / "claw" / "sessions.db")


def test_it_says_who_answers_and_goes_on_where_one_was(home: Path) -> None:
    with chatting() as chat:
        start = chat.prompted()
        assert start.startswith("offline answers (none is chosen: the embedded default).")
        assert "It is not a language model: `claw setup` chooses one." in start
        assert "your name is Ada" in chat.say("My name is Ada.")
        chat.leave()
    with chatting() as chat:
        start = chat.prompted()
        assert "> My name is Ada.\nGot it: your name is Ada." in start
        assert "Your name is Ada." in chat.say("What is my name?")
        chat.leave()
    with chatting("--session", "other") as chat:
        assert "Ada" not in chat.prompted()
        # Another conversation, and the same memory.
        assert "Your name is Ada." in chat.say("What is my name?")
        chat.leave()
    assert {info.key for info in store(home).list_sessions()} == {"main", "other"}


def test_the_answer_streams_dressed_and_harmless(home: Path) -> None:
    pieces = ("# Plan\nHel", "lo **wor", "ld** \x1b[2J", "\x07\n- ite", "m\n```\nco", "de\n```\n")
    with scripted_openai([[Say(*pieces), Hang()]]) as server:
        use_provider(home, server.url)
        with chatting() as chat:
            assert chat.prompted().startswith("scripted/m1 answers (config: model.use).")
            chat.terminal.type("hi\r")
            until(lambda: "\ncode" in chat.new)
            shown = [line for line in chat.new.split("\n") if line]
            assert shown == ["> hi", "Plan", "Hello world \\x1b[2J\\x07", " • item", "code"]
            assert "\x1b[1;4mPlan" in chat.terminal.output
            assert "\x1b[2J" not in chat.terminal.output
            chat.terminal.type("\x03")
            chat.prompted()
            chat.leave()


def test_ctrl_c_stops_the_answer_and_not_the_chat(home: Path) -> None:
    with scripted_openai([[Say("I will "), Hang()], Say("Here I am.")]) as server:
        use_provider(home, server.url)
        with chatting() as chat:
            chat.prompted()
            chat.terminal.type("first\r")
            until(lambda: "I will" in chat.new)
            chat.terminal.type("\x03")
            assert chat.prompted().endswith("stopped (Ctrl-C again leaves)\n")
            until(lambda: not server.open)
            assert store(home).list_sessions()[0].last_reason == "cancelled"
            assert "Here I am." in chat.say("second")
            chat.terminal.type("half a line\x03")
            assert "(Ctrl-C again leaves, as Ctrl-D does)" in chat.prompted()
            chat.terminal.type("half a line\x03")
            chat.prompted()
            chat.terminal.type("\x03")
            assert chat.terminal.ends() == 130
        assert len(server.requests) == 2


def test_a_second_ctrl_c_leaves(home: Path) -> None:
    with scripted_openai([[Say("I will "), Hang()]]) as server:
        use_provider(home, server.url)
        with chatting() as chat:
            chat.prompted()
            chat.terminal.type("first\r")
            until(lambda: "I will" in chat.new)
            chat.terminal.type("\x03")
            chat.prompted()
            chat.terminal.type("\x03")
            assert chat.terminal.ends() == 130


LISTED = """| name | size |
|---|--:|
| oak | 20 | evergreen? no |

3. three
1. one is a long line that has to go on below itself

```python
return 1
```
"""


def test_tables_lists_and_code_are_drawn_as_they_were_written(home: Path) -> None:
    with scripted_openai([Say(LISTED)]) as server:
        use_provider(home, server.url)
        with chatting(width=40) as chat:
            chat.prompted()
            shown = [line.rstrip() for line in chat.say("draw").split("\n") if line.strip()]
            chat.leave()
    assert any(line.split() == ["oak", "20", "evergreen?", "no"] for line in shown)
    at = shown.index(" 3 three")
    assert shown[at + 1 : at + 3] == [" 1 one is a long line that has to go on", "   below itself"]
    assert shown[-2:] == ["python", "return 1"]


def test_what_was_found_is_told_with_the_command_that_uses_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with scripted_openai([], ("llama3.2",)) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.origin)
        monkeypatch.setenv("CLAW_SEARCH_PATIENCE", str(PATIENCE))
        with chatting(width=200) as chat:
            start = chat.prompted()
            assert "Ollama is running with llama3.2: `claw setup --provider ollama" in start
            assert "Ollama" not in chat.say("My name is Ada.")
            chat.leave()
        assert {request.method for request in server.requests} == {"GET"}


def test_several_lines_are_one_message(home: Path) -> None:
    with scripted_openai([Say("a"), Say("b"), Say("c")]) as server:
        use_provider(home, server.url)
        with chatting() as chat:
            chat.prompted()
            chat.terminal.type("one \\\r")
            until(lambda: chat.new.endswith("…"))
            chat.say("two")
            assert server.last.json["messages"][-1]["content"] == "one \ntwo"
            chat.say("\x1b[200~three\nfour\n/quit\x1b[201~")
            assert server.last.json["messages"][-1]["content"] == "three\nfour\n/quit"
            chat.say("five\rsix")
            assert server.last.json["messages"][-1]["content"] == "five\nsix"
            chat.leave()


def test_what_was_typed_can_be_had_again_and_is_private(home: Path) -> None:
    with chatting() as chat:
        chat.prompted()
        chat.say("My town is Bergen")
        chat.leave()
    file = home / "claw" / "data" / "claw" / "chat_history.jsonl"
    assert file.stat().st_mode & 0o777 == 0o600
    assert [json.loads(line) for line in file.read_text().splitlines()] == ["My town is Bergen"]
    with chatting("--session", "new") as chat:
        chat.prompted()
        assert "Bergen" in chat.say("\x1b[A")
        chat.leave()
    assert store(home).show("new").info.turns == 1


def test_files_can_be_attached_and_go_with_the_next_message(home: Path, tmp_path: Path) -> None:
    (tmp_path / "my dot.png").write_bytes(PNG)
    (tmp_path / "note.txt").write_text("remember the milk")
    with scripted_openai([Say("I see."), Say("Nothing more.")]) as server:
        use_provider(home, server.url)
        with chatting(width=200) as chat:
            chat.prompted()
            image = str(tmp_path / "my dot.png")
            assert "my dot.png (image/png, 1 KB) goes with" in chat.say(f"/image '{image}'")
            assert "note.txt (text/plain, 1 KB)" in chat.say(f"/file {tmp_path / 'note.txt'}")
            assert "claw chat: nowhere.txt: cannot be read" in chat.say("/file nowhere.txt")
            assert "give it with /image" in chat.say(f"/file {image}")
            chat.say("what are these?")
            sent = json.dumps(server.last.json["messages"][-1])
            assert sent.count("image/png;base64") == sent.count("remember the milk") == 1
            chat.say("and now?")
            assert server.last.json["messages"][-1]["content"] == "and now?"
            chat.leave()


def test_a_command_leaves_the_picture_for_what_is_said_next(home: Path, tmp_path: Path) -> None:
    (tmp_path / "dot.png").write_bytes(PNG)
    attach = f"/image {tmp_path / 'dot.png'}"
    with scripted_openai([Say("I see."), Status(400), Say("Again."), Say("New.")]) as server:
        use_provider(home, server.url)
        with chatting(width=200) as chat:
            chat.prompted()
            chat.say(attach)
            chat.say("/status")
            assert "A new conversation" in chat.say("/new")
            assert not server.requests
            chat.say("look")
            assert "image/png;base64" in json.dumps(server.last.json["messages"][-1])
            chat.say(attach)
            assert "still attached to what you say next: dot.png" in chat.say("look")
            chat.say("/new look again")
            assert "image/png;base64" in json.dumps(server.last.json["messages"][-1])
            chat.say("and now?")
            assert server.last.json["messages"][-1]["content"] == "and now?"
            assert "which file? /image PATH" in chat.say("/image")
            assert "there is no user whose home ~nobody-here is" in chat.say("/file ~nobody-here/x")
            chat.leave()


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_where_no_style_is_wanted_the_answer_is_as_the_model_wrote_it(
    name: str, value: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    with scripted_openai([Say("# Plan\n**now** `x`")]) as server:
        use_provider(home, server.url)
        with terminal(*CLAW, "ask", "hi") as screen:
            assert screen.ends() == 0
            until(lambda: screen.output == "# Plan\r\n**now** `x`\r\n")


def test_what_is_wrong_with_tools_is_told_once(home: Path) -> None:
    tools = config_directory(home) / "tools"
    tools.mkdir()
    (tools / "broken.py").write_text("import nothing_of_the_kind")
    with scripted_openai([Say("one"), Say("two")]) as server:
        use_provider(home, server.url)
        with chatting() as chat:
            chat.prompted()
            assert "nothing_of_the_kind" in chat.say("a")
            assert "nothing_of_the_kind" not in chat.say("b")
            chat.leave()


def test_in_a_pipe_what_is_wrong_with_tools_is_told_once_too(home: Path) -> None:
    with scripted_openai([Say("one"), Say("two")]) as server:
        use_provider(home, server.url, '[mcp.servers.dead]\ncommand = "false"\n')
        done = claw("chat", stdin=b"a\nb\n")
    assert (done.returncode, done.stdout) == (0, "one\ntwo\n")
    (line,) = done.stderr.splitlines()
    assert line.startswith("claw chat: ")
    assert "dead" in line


def test_a_note_takes_the_place_of_the_waiting(home: Path) -> None:
    with scripted_openai([Status(503), Say("Hello.")]) as server:
        use_provider(home, server.url)
        with chatting() as chat:
            chat.prompted()
            shown = chat.say("hi")
            assert shown.startswith("> hi\n… scripted fails")
            assert "thinking …" in chat.terminal.output
            chat.leave()


def test_a_file_that_cannot_be_sent_is_a_step_with_its_reason(home: Path) -> None:
    with scripted_openai([Call("send_file", {"path": "gone.txt"}), Say("Sorry.")]) as server:
        use_provider(home, server.url)
        with chatting(width=200) as chat:
            chat.prompted()
            assert re.search(r"send_file failed: \S.* \(0\.\d s\)", chat.say("send"))
            chat.leave()


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("nobody/x", 'There is no provider "nobody"'),
        ("claude-cli", "the Claude CLI is not on PATH"),
    ],
)
def test_a_model_that_cannot_answer_is_told_at_once(
    model: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    with terminal(*CLAW, "chat", "--model", model, width=200) as screen:
        assert screen.ends() == 1
        until(lambda: f"claw chat: {said}" in screen.output)
        assert "answers (" not in screen.output


def test_commands_work_and_quit_leaves() -> None:
    with chatting() as chat:
        chat.prompted()
        chat.say("My name is Ada.")
        assert "2 messages in 1 turn" in chat.say("/status")
        shown = chat.say("/help")
        assert "/compact " in shown
        assert "/image PATH" in shown
        assert "earlier messages are left behind" in chat.say("/new")
        assert "Ada" not in chat.say("What is my name?")
        assert "There is no /modl: did you mean /model?" in chat.say("/modl")
        chat.terminal.type("/quit\r")
        assert chat.terminal.ends() == 0


@pytest.mark.parametrize("word", ["exit", "quit"])
def test_bare_words_leave_a_terminal(word: str) -> None:
    with chatting() as chat:
        chat.prompted()
        chat.terminal.type(f"{word}\r")
        assert chat.terminal.ends() == 0


def test_the_model_of_the_conversation_is_named_at_the_start(home: Path) -> None:
    with scripted_openai([Say("Hello.")]) as server:
        use_provider(home, server.url)
        with chatting() as chat:
            chat.prompted()
            assert "scripted/m2 answers here from now on." in chat.say("/model scripted/m2")
            chat.leave()
        with chatting() as chat:
            assert chat.prompted().startswith("scripted/m2 answers (chosen for this session).")
            assert "Hello." in chat.say("hi")
            assert server.last.json["model"] == "m2"
            chat.leave()


def test_steps_and_errors_are_lines_of_their_own(home: Path) -> None:
    script = [[Say("Sure."), Call("send_file", {"path": "a.txt", "text": "x"})], Say("Sent.")]
    with scripted_openai([*script, Status(400, message="no\x1b[2J")]) as server:
        use_provider(home, server.url)
        with terminal(
            "sh", "-c", 'cd "$0" && exec "$@"', str(home), *CLAW, "chat", width=200, height=60
        ) as opened:
            chat = Chat(opened)
            chat.prompted()
            shown = chat.say("send").split("\n")
            begin = shown.index("Sure.")
            assert shown[begin + 1].startswith("→ send_file {")
            assert shown[begin + 2].startswith("  send_file done (")
            assert shown[begin + 3 : begin + 5] == ["Sent.", "saved claw-out/a.txt"]
            shown = chat.say("again")
            assert "claw chat: " in shown
            assert "\x1b[2J" not in opened.output
            chat.leave()
    assert (home / "claw-out" / "a.txt").read_text() == "x"


def test_in_a_pipe_each_line_is_a_message(home: Path) -> None:
    with scripted_openai([Say("**one**"), Say("two"), Say("three")]) as server:
        use_provider(home, server.url)
        done = claw("chat", stdin=b"a\n\nb \\\nc\nd")
        assert (done.returncode, done.stdout, done.stderr) == (0, "**one**\ntwo\nthree\n", "")
        said = [request.json["messages"][-1]["content"] for request in server.requests]
        assert said == ["a", "b \nc", "d"]


def test_in_a_pipe_a_failure_is_told_and_the_next_line_is_answered(home: Path) -> None:
    with scripted_openai([Status(400, message="no"), Say("yes")]) as server:
        use_provider(home, server.url)
        done = claw("chat", stdin=b"a\nb\n")
    assert (done.returncode, done.stdout) == (1, "yes\n")
    assert done.stderr.startswith("claw chat: ")


def test_ended_by_a_signal_the_turn_is_recorded(home: Path) -> None:
    with scripted_openai([[Say("I will "), Hang()]]) as server:
        use_provider(home, server.url)
        process = subprocess.Popen(
            (*CLAW, "chat"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
        )
        assert process.stdin is not None
        process.stdin.write(b"wait\n")
        process.stdin.flush()
        until(lambda: server.open)
        process.terminate()
        output, errors = process.communicate(timeout=PATIENCE)
        assert (process.returncode, output, errors) == (143, b"", b"")
    assert store(home).list_sessions()[0].last_reason == "cancelled"


def test_a_key_that_cannot_be_one_is_refused_at_once() -> None:
    done = claw("chat", "--session", "", stdin=b"hi\n")
    assert (done.returncode, done.stdout) == (2, "")
    assert "choose one with 1 to 512" in done.stderr
