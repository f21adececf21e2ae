"""`claw ask`, as a person or a script uses it: real processes, pipes and terminals."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from clawkit.assistant.sessions.store import SessionStore
from tests.assistant.providers.scripted import Call, Hang, Say, Status, scripted_openai
from tests.claw import CLAW, claw, environment, finished
from tests.cli.commands import config_directory, plain_environment, use_provider
from tests.guard.approvals import until
from tests.guard.terminal import terminal
from tests.processes import PATIENCE

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
    "0000000c49444154789c63f8cfc0000003010100c9fe92ef0000000049454e44ae426082"
)
TOOL = '''
from clawkit import claw_tool

@claw_tool
def dice(sides: int) -> str:
    """Roll a die."""
    return f"rolled with {sides}"
'''
ROLL = Call("mcp__dice__dice", {"sides": 6})


@pytest.fixture(autouse=True)
def usual_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    plain_environment(monkeypatch)


def store(home: Path) -> SessionStore:
    return SessionStore(home / "claw" / "data" / "claw" / "sessions.db")


def test_the_answer_alone_is_on_stdout(home: Path) -> None:
    with scripted_openai([Say("Hello ", "there.\x1b[1m")]) as server:
        use_provider(home, server.url)
        done = claw("ask", "  hi\n")
        assert (done.returncode, done.stdout, done.stderr) == (0, "Hello there.\x1b[1m\n", "")
        assert server.requests[0].json["messages"][-1]["content"] == "  hi\n"


def test_each_question_is_a_conversation_of_its_own_unless_it_goes_on(home: Path) -> None:
    (config_directory(home) / "config.toml").write_text("[memory]\nenabled = false\n")
    claw("ask", "My favourite colour is blue.")
    assert "blue" not in claw("ask", "What is my favourite colour?").stdout
    claw("ask", "My favourite colour is green.")
    assert "green" in claw("ask", "--continue", "What is my favourite colour?").stdout
    claw("ask", "--session", "k", "My favourite colour is red.")
    assert "red" in claw("ask", "--session", "k", "What is my favourite colour?").stdout
    found = {info.key: info.named for info in store(home).list_sessions()}
    assert found.pop("k") is True
    assert set(found.values()) == {False}
    assert all(key.startswith("ask-") for key in found)


def test_nothing_to_continue_is_said() -> None:
    done = claw("ask", "-c", "and now?")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "claw ask: there is nothing to continue: nothing was asked yet\n"


def test_a_message_can_come_from_standard_input(home: Path) -> None:
    with scripted_openai([Say("one"), Say("two")]) as server:
        use_provider(home, server.url)
        for arguments in ((), ("-",)):
            assert claw("ask", *arguments, stdin="wörds\nmore".encode()).returncode == 0
            assert server.last.json["messages"][-1]["content"] == "wörds\nmore"


def test_without_any_standard_input_it_asks_all_the_same() -> None:
    command = ("sh", "-c", 'exec "$@" <&-', "sh", *CLAW, "ask", "hello")
    done = subprocess.run(
        command, capture_output=True, env=environment(), timeout=PATIENCE, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"Hello!")


def test_what_is_piped_in_beside_a_message_goes_along_as_a_file(home: Path) -> None:
    with scripted_openai([Say("one"), Say("two")]) as server:
        use_provider(home, server.url)
        assert claw("ask", "what is wrong?", stdin=b"ERROR 42 in main\n").returncode == 0
        sent = json.dumps(server.last.json["messages"][-1])
        assert sent.count("what is wrong?") == sent.count("ERROR 42 in main") == 1
        assert "stdin.txt" in sent
        assert claw("ask", "what is this?", stdin=PNG).returncode == 0
        sent = json.dumps(server.last.json["messages"][-1])
        assert "data:image/png;base64," in sent
    assert "stdin.png" in str(store(home).show(store(home).list_sessions()[0].key))


def test_a_loop_that_reads_a_file_line_by_line_loses_none(home: Path, tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("one\ntwo\nthree\n")
    with scripted_openai([Say("ok")] * 4) as server:
        use_provider(home, server.url)
        loop = f'while read -r line; do {shlex.join(CLAW)} ask "$line"; done < lines'
        done = subprocess.run(
            ("sh", "-c", loop), cwd=tmp_path, env=environment(), capture_output=True, check=False
        )
        assert done.stdout == b"ok\nok\nok\n"
        with (tmp_path / "lines").open("rb") as file:
            whole = (*CLAW, "ask", "What is in it?")
            subprocess.run(whole, stdin=file, env=environment(), check=True, capture_output=True)
        assert "three" in json.dumps(server.last.json["messages"][-1])


def test_a_pipe_that_stays_open_and_says_nothing_is_not_waited_for(home: Path) -> None:
    with scripted_openai([Say("Here.")]) as server:
        use_provider(home, server.url)
        process = subprocess.Popen(
            (*CLAW, "ask", "hi"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
        )
        process.wait(PATIENCE)
        output, errors = process.communicate()
    assert (process.returncode, output) == (0, b"Here.\n")
    assert errors == b"claw ask: nothing comes from standard input: asking without it\n"


def test_a_picture_can_be_shown_without_a_word(home: Path, tmp_path: Path) -> None:
    (tmp_path / "dot.png").write_bytes(PNG)
    with scripted_openai([Say("A dot.")]) as server:
        use_provider(home, server.url)
        done = claw("ask", "--image", "dot.png", cwd=tmp_path)
        assert (done.returncode, done.stdout) == (0, "A dot.\n")
        assert "image/png;base64" in json.dumps(server.last.json["messages"][-1])


@pytest.mark.parametrize(
    ("arguments", "stdin", "said"),
    [
        ((), None, "there is no message"),
        (("  ",), None, "there is no message"),
        (("-",), b"", "there is no message"),
        (("-",), b"\xff", "standard input: is not UTF-8 text"),
        (("hi",), b"\x00\x01\x02\xff", "standard input: "),
        (("hi", "--file", "missing.txt"), None, "missing.txt: cannot be read: No such file"),
        (("hi", "--image", "note.txt"), None, "note.txt: it is text: give it with --file"),
        (("hi", "--model", "nobody/x"), None, 'There is no provider "nobody"'),
        (("hi", "--session", "a\nb"), None, "the session key contains a control character"),
        (("hi", "--session", ""), None, "the session key has 0 characters"),
        (("hi", "--image", "~nobody-here/x"), None, "~nobody-here/x: there is no user whose home"),
    ],
)
def test_what_cannot_be_asked_is_an_error_that_says_why(
    arguments: tuple[str, ...], stdin: bytes | None, said: str, tmp_path: Path
) -> None:
    (tmp_path / "note.txt").write_text("words")
    done = claw("ask", *arguments, stdin=stdin, cwd=tmp_path)
    code = 2 if said.startswith(("there is no message", "the session key")) else 1
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith(f"claw ask: {said}"), done.stderr


def test_pictures_and_files_reach_the_model_once(home: Path, tmp_path: Path) -> None:
    (tmp_path / "dot.png").write_bytes(PNG)
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "b.md").write_text("# notes")
    with scripted_openai([Say("I see.")]) as server:
        use_provider(home, server.url)
        options = ("--image", "dot.png", "--file", "a.csv", "--file", "b.md")
        done = claw("ask", "look", *options, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (0, "I see.\n")
        sent = json.dumps(server.last.json["messages"][-1])
        counts = [sent.count(part) for part in ("image/png;base64", "x,y", "# notes")]
        assert counts == [1, 1, 1]


def test_json_has_all_of_the_answer(home: Path) -> None:
    with scripted_openai([Say("Fine.")]) as server:
        use_provider(home, server.url)
        answer = json.loads(claw("ask", "how?", "--json", "--session", "k").stdout)
    assert answer["text"] == "Fine."
    assert answer["sessionKey"] == "k"
    assert answer["stopReason"] == "end"
    assert answer["model"].startswith("scripted/m1")
    assert answer["media"] == []


def test_json_has_the_problem_where_there_is_no_answer(home: Path) -> None:
    with scripted_openai([Status(400, message="no such thing")]) as server:
        use_provider(home, server.url)
        done = claw("ask", "how?", "--json", "--session", "k")
    answer = json.loads(done.stdout)
    assert done.returncode == 1
    assert "no such thing" in answer.pop("problem")
    unknown = dict.fromkeys(("model", "usage", "stopReason"))
    lists: dict[str, list[str]] = {"media": [], "omissions": [], "notices": []}
    assert answer == {"text": "", "sessionKey": "k", **unknown, **lists}


def test_tools_that_are_missing_are_told_a_script_too(home: Path) -> None:
    with scripted_openai([Say("Hi."), Say("Hi.")]) as server:
        use_provider(home, server.url, '[mcp.servers.dead]\ncommand = "false"\n')
        (config_directory(home) / "tools").mkdir()
        (config_directory(home) / "tools" / "broken.py").write_text("import nothing_like_it")
        plain = claw("ask", "hello")
        as_json = claw("ask", "hello", "--json")
    assert (plain.returncode, plain.stdout) == (0, "Hi.\n")
    broken, dead = plain.stderr.splitlines()
    assert broken.startswith("claw ask: ")
    assert "broken.py" in broken
    assert dead.startswith("claw ask: ")
    assert "dead" in dead
    notices = json.loads(as_json.stdout)["notices"]
    assert [f"claw ask: {notice}" for notice in notices] == as_json.stderr.splitlines()
    assert len(notices) == 2


def test_another_model_can_be_asked_by_name(home: Path) -> None:
    with scripted_openai([Say("It is me.")]) as server:
        use_provider(home, server.url)
        assert claw("ask", "who?", "--model", "scripted/other").stdout == "It is me.\n"
        assert server.last.json["model"] == "other"


def test_files_of_the_answer_are_saved_and_none_is_overwritten(home: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    script = [Call("send_file", {"path": "poem.txt", "text": "roses"}), Say("Here it is.")] * 2
    with scripted_openai(script) as server:
        use_provider(home, server.url)
        done = claw("ask", "a poem", cwd=work)
        assert done.stdout == "Here it is.\n"
        assert done.stderr == "saved claw-out/poem.txt\n"
        answer = json.loads(claw("ask", "a poem", "--json", cwd=work).stdout)
    assert [item["path"] for item in answer["media"]] == ["claw-out/poem-2.txt"]
    assert sorted(file.name for file in (work / "claw-out").iterdir()) == ["poem-2.txt", "poem.txt"]
    assert (work / "claw-out" / "poem.txt").read_text() == "roses"


def test_what_was_said_before_a_tool_is_part_of_the_answer(home: Path) -> None:
    tools = config_directory(home) / "tools"
    tools.mkdir()
    (tools / "dice.py").write_text(TOOL)
    script = [[Say("Let me roll."), ROLL], Say("A five.")]
    with scripted_openai(script) as s:
        use_provider(home, s.url)
        done = claw("ask", "roll")
        assert (done.returncode, done.stdout) == (0, "Let me roll.\n\nA five.\n")
        assert "rolled with 6" in json.dumps(s.last.json["messages"])


def test_a_tool_that_fails_prints_no_traceback(home: Path) -> None:
    tools = config_directory(home) / "tools"
    tools.mkdir()
    (tools / "dice.py").write_text(TOOL.replace("return", "raise ValueError('lost') #"))
    with scripted_openai([ROLL, Say("It failed.")]) as server:
        use_provider(home, server.url)
        done = claw("ask", "roll")
        assert (done.returncode, done.stdout, done.stderr) == (0, "It failed.\n", "")
        assert "lost" in json.dumps(server.last.json["messages"])


def test_to_continue_is_to_go_on_with_what_was_answered(home: Path) -> None:
    with scripted_openai([Say("one"), Status(400), Say("two")]) as server:
        use_provider(home, server.url)
        assert claw("ask", "first").returncode == 0
        assert claw("ask", "second").returncode == 1
        assert claw("ask", "-c", "third").returncode == 0
        said = [message["content"] for message in server.last.json["messages"]]
    assert said[-3:] == ["first", "one", "third"]


def test_a_failing_provider_is_an_error_without_its_key(home: Path) -> None:
    key = "s" + "k-" + "Q7" * 16
    with scripted_openai([Status(401, message=f"bad key {key}")]) as server:
        use_provider(home, server.url, 'key_env = "SCRIPTED_KEY"\n')
        done = claw("ask", "hi", env={"SCRIPTED_KEY": key})
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("claw ask: ")
    assert key not in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_cancels_the_call_and_that_is_recorded(
    number: signal.Signals, home: Path
) -> None:
    with scripted_openai([[Say("I will"), Hang()]]) as server:
        use_provider(home, server.url)
        process = subprocess.Popen(
            (*CLAW, "ask", "--session", "k", "wait"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
        )
        until(lambda: server.open)
        process.send_signal(number)
        output, errors = process.communicate(timeout=PATIENCE)
        assert (process.returncode, output, errors) == (130, b"", b"")
        until(lambda: not server.open)
    (info,) = store(home).list_sessions()
    assert (info.last_reason, info.running) == ("cancelled", False)


def test_a_reader_that_goes_away_is_no_reason_to_complain(home: Path) -> None:
    with scripted_openai([Say("Hello.")]) as server:
        use_provider(home, server.url)
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run(
            (*CLAW, "ask", "hi"),
            stdin=subprocess.DEVNULL,
            stdout=writer,
            stderr=subprocess.PIPE,
            env=environment(),
            timeout=PATIENCE,
            check=False,
        )
        os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


def test_in_a_terminal_the_answer_streams_and_controls_are_shown(home: Path) -> None:
    pieces = ("Hel", "lo \x1b]0;title\x07 ", "\x1b[2J", "w\u202eorld and 👩\u200d💻")
    with scripted_openai([[Say(*pieces), Hang()]]) as server:
        use_provider(home, server.url)
        with terminal(*CLAW, "ask", "--session", "k", "hi") as screen:
            until(lambda: "orld" in screen.text)
            assert "Hello \\x1b]0;title\\x07 \\x1b[2Jw\\u202eorld" in screen.text
            assert "\x1b]" not in screen.output
            screen.type("\x03")
            assert screen.ends() == 130
            assert "👩\u200d💻" in screen.output
    (info,) = store(home).list_sessions()
    assert info.last_reason == "cancelled"


def test_in_a_terminal_steps_are_shown_beside_the_answer(home: Path) -> None:
    script = [Status(503), [Say("Looking."), ROLL], Say("One\n\nMEDIA: x\n\nDone")]
    tools = config_directory(home) / "tools"
    tools.mkdir()
    (tools / "dice.py").write_text(TOOL)
    with scripted_openai(script) as server:
        use_provider(home, server.url)
        with terminal(*CLAW, "ask", "go", width=120) as screen:
            assert screen.ends() == 0
            until(lambda: "Done" in screen.text)
            shown = screen.screen
    assert "thinking …" in screen.output
    assert "thinking …" not in screen.text
    assert any(line.startswith("… ") for line in shown), shown
    rest = shown[shown.index("Looking.") :]
    assert rest[1].startswith("→ ")
    assert 'dice {"sides": 6}' in rest[1]
    assert "dice done (" in rest[2]
    assert rest[3] == "One"
    assert shown.count("Done") == 1
    assert "MEDIA" not in screen.output


def test_what_is_wrong_with_the_store_is_said_once_a_message(home: Path) -> None:
    claw("ask", "hello", "--session", "demo")
    file = home / "claw" / "data" / "claw" / "sessions.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("DROP TABLE messages")
    asked = claw("ask", "hello", "--session", "demo")
    (line,) = asked.stderr.splitlines()
    assert line.startswith(f"claw ask: {file}: ")
    assert asked.returncode == 1
    chatted = claw("chat", "--session", "demo", stdin=b"hello\nhello\n")
    first, second = chatted.stderr.splitlines()
    assert first == second == line.replace("claw ask:", "claw chat:")


def test_help_has_two_names() -> None:
    assert claw("ask", "-h").stdout == claw("ask", "--help").stdout
    assert claw("ask", "hi", "--session", "k", "--continue").returncode == 2


def test_where_nothing_is_configured_it_says_what_was_found(home: Path) -> None:
    with scripted_openai([], ("llama3.2",)) as server:
        env = {"OLLAMA_HOST": server.origin, "CLAW_SEARCH_PATIENCE": str(PATIENCE)}
        done = claw("ask", "My name is Ada.", env=env, code=0)
        data = json.loads(claw("ask", "What is my name?", "--json", env=env, code=0).stdout)
        use = f"`claw setup --provider ollama --base-url {server.url} --model llama3.2 --yes`"
        told = f"Ollama is running with llama3.2: {use} has it answer."
        assert done.stderr == f"claw ask: {told}\n"
        assert data["notices"] == [told]
        (config_directory(home) / "config.toml").write_text('[model]\nuse = "offline"\n')
        assert claw("ask", "Hello", env=env, code=0).stderr == ""
        assert {request.method for request in server.requests} == {"GET"}


def test_a_key_in_the_environment_is_named_and_not_used() -> None:
    done = claw("ask", "My name is Ada.", env={"ANTHROPIC_API_KEY": "k" * 30}, code=0)
    assert done.stdout.startswith("Got it: your name is Ada.")
    assert "ANTHROPIC_API_KEY is set: `claw setup --provider anthropic --yes` has it" in done.stderr


def test_nothing_is_looked_for_where_a_model_is_chosen(home: Path) -> None:
    code = """
import sys
from clawkit.cli.app import app
app(["ask", "Hello"], standalone_mode=False)
looked = {"clawkit.assistant.model_discovery", "clawkit.models.model_list"} & set(sys.modules)
print(sorted(looked), "httpx2" in sys.modules, file=sys.stderr)
"""
    (config_directory(home) / "config.toml").write_text('[model]\nuse = "offline"\n')
    assert finished(sys.executable, "-c", code).stderr == "[] False\n"
    (config_directory(home) / "config.toml").unlink()
    there = "['clawkit.assistant.model_discovery', 'clawkit.models.model_list']"
    assert finished(sys.executable, "-c", code).stderr.endswith(f"{there} False\n")


@pytest.mark.usefixtures("home")
def test_sums_and_mistyped_commands_are_answered_and_not_remembered() -> None:
    assert "391" in claw("ask", "17*23", code=0).stdout
    assert "There is no /modl: did you mean /model?" in claw("ask", "/modl", code=0).stdout
    claw("ask", "My sister is called Ada.", code=0)
    shown = claw("memory", code=0).stdout
    assert "My sister is called Ada." in shown
    assert "17*23" not in shown
    assert "/modl" not in shown
