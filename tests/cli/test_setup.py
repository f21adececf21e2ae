"""`claw setup`: asked in a terminal, told by options, and what it leaves in the files."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from clawkit.assistant.api_keys import Keys
from clawkit.assistant.config import read_config
from clawkit.settings import Settings
from tests.assistant.providers.scripted import Say, ScriptedServer, Status, scripted_openai
from tests.claw import CLAW, claw
from tests.cli.commands import config_directory, plain_environment
from tests.guard.approvals import until
from tests.guard.terminal import Terminal, terminal
from tests.processes import PATIENCE

KEY = "s" + "k-" + "Z3" * 16


@pytest.fixture(autouse=True)
def usual_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    plain_environment(monkeypatch)


def config_text(home: Path) -> str:
    return (config_directory(home) / "config.toml").read_text()


def keys_of(home: Path) -> Keys:
    places = Settings(config_directory(home), home / "data", home / "policy")
    return Keys(read_config(places), {})


def answer(screen: Terminal, question: str, reply: str) -> None:
    """Wait for the question at the end of the screen, then answer it."""
    until(lambda: screen.text.endswith(question.rstrip()))
    screen.type(reply + "\r")


def custom(server: ScriptedServer, *more: str) -> tuple[str, ...]:
    options = ("--provider", "mine", "--model", "m1", "--base-url", server.url)
    return ("setup", *options, "--key-env", "MINE_KEY", *more)


def test_a_person_is_asked_step_by_step_and_sees_what_is_written(home: Path) -> None:
    with (
        scripted_openai([Say("ok")]) as server,
        terminal(*CLAW, "setup", width=200, height=60) as screen,
    ):
        answer(screen, "Number [1]: ", "10")
        answer(screen, "Number [1]: ", "8")
        answer(screen, "A name for it [custom]: ", "My Server")
        answer(screen, "A name for it [custom]: ", "")
        answer(screen, "such as http://127.0.0.1:8000/v1: ", "ftp://x")
        answer(screen, "such as http://127.0.0.1:8000/v1: ", server.url)
        answer(screen, "(empty: it needs none): ", KEY)
        answer(screen, "(empty: it needs none): ", "MINE_KEY")
        answer(screen, "Model: ", "m1")
        answer(screen, "(it is not shown): ", "")
        until(lambda: "the key is empty or not one word" in screen.text)
        answer(screen, "(it is not shown): ", KEY)
        until(lambda: screen.text.endswith("Write this? [Y/n]:"))
        assert not (config_directory(home) / "config.toml").exists()
        assert not (config_directory(home) / ".env").exists()
        answer(screen, "Write this? [Y/n]: ", "")
        assert screen.ends() == 0
        until(lambda: "Written: custom/m1 answers." in screen.text)
        assert server.last.headers["authorization"] == f"Bearer {KEY}"
    shown = screen.text
    assert "give a number from 1 to 9" in shown
    assert '+use = "custom/m1"' in shown
    assert "+ MINE_KEY=… (not shown)" in shown
    assert shown.count(KEY) == 1, "it was typed where it shows, and never repeated"
    assert tomllib.loads(config_text(home)) == {
        "model": {"use": "custom/m1"},
        "providers": {"custom": {"base_url": server.url, "key_env": "MINE_KEY"}},
    }
    env = config_directory(home) / ".env"
    assert env.read_text() == f"MINE_KEY={KEY}\n"
    assert env.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("keys", ["\x03", "\x04"])
@pytest.mark.parametrize("step", ["Number", "Model", "Key", "Write"])
def test_leaving_at_any_question_changes_nothing(step: str, keys: str, home: Path) -> None:
    arguments = () if step == "Number" else ("--provider", "anthropic")
    if step in ("Key", "Write"):
        arguments += ("--model", "m", "--no-test")
    with terminal(*CLAW, "setup", *arguments) as screen:
        if step == "Write":
            answer(screen, "(it is not shown): ", KEY)
        until(lambda: re.search(rf"{step}[^\n]*:$", screen.text))
        assert screen.ends_by(keys) == 130
        until(lambda: "Nothing was changed." in screen.text)
    assert list(config_directory(home).iterdir()) == []


def test_a_variable_that_is_set_is_offered_and_can_be_kept(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    with terminal(*CLAW, "setup", "--no-test", width=200) as screen:
        answer(screen, "Number [1]: ", "")
        answer(screen, "Model [claude-sonnet-4-5]: ", "")
        answer(screen, "ANTHROPIC_API_KEY is set (environment). Use it? [Y/n]: ", "y")
        answer(screen, "Keep a copy in .env? [y/N]: ", "y")
        answer(screen, "Write this? [Y/n]: ", "y")
        assert screen.ends() == 0
        until(lambda: "goes before the one in .env" in screen.text)
    assert KEY not in screen.output
    assert tomllib.loads(config_text(home)) == {"model": {"use": "anthropic/claude-sonnet-4-5"}}
    found = keys_of(home).find("ANTHROPIC_API_KEY")
    assert found is not None
    assert (found.value, found.where) == (KEY, ".env")


def test_one_that_does_not_answer_is_written_only_if_a_person_says_so(home: Path) -> None:
    with scripted_openai([Status(401, message="no"), Status(401, message="no")]) as server:
        options = ("setup", "--provider", "mine", "--model", "m1", "--base-url", server.url)
        for reply, code in (("q", 1), ("w", 0)):
            with terminal(*CLAW, *options, width=200) as screen:
                answer(screen, "(empty: it needs none): ", "")
                answer(screen, "or quit? (r/c/w/q) [r]: ", reply)
                if reply == "w":
                    answer(screen, "Write this? [Y/n]: ", "y")
                assert screen.ends() == code
                assert "It does not answer: " in screen.text
            assert (config_directory(home) / "config.toml").exists() == (code == 0)


def test_everything_can_be_said_by_options(home: Path) -> None:
    with scripted_openai([Say("ok")]) as server:
        done = claw(*custom(server, "--key-stdin", "--yes", "--json"), stdin=f"{KEY}\n".encode())
        assert done.returncode == 0, done.stderr
        assert server.last.headers["authorization"] == f"Bearer {KEY}"
    result = json.loads(done.stdout)
    assert result.pop("tested")
    assert result == {
        "use": "mine/m1",
        "file": str(config_directory(home) / "config.toml"),
        "changed": True,
        "key": {"variable": "MINE_KEY", "where": ".env"},
        "clients": [],
        "shared": False,
        "guard": [],
    }
    assert KEY not in done.stdout + done.stderr
    found = keys_of(home).find("MINE_KEY")
    assert found is not None
    assert found.value == KEY


def test_what_is_missing_without_a_terminal_is_named_at_once(home: Path) -> None:
    done = claw("setup")
    assert (done.returncode, done.stdout) == (2, "")
    advice = "give --provider (`claw setup --check` shows what was found); --yes\n"
    assert done.stderr.endswith(f"not a terminal to ask questions in: {advice}")
    mine = claw("setup", "--provider", "mine", "--base-url", "http://127.0.0.1:1/v1")
    assert "give --model; --yes" in mine.stderr
    missing = claw("setup", "--provider", "anthropic", "--yes").stderr
    assert "give ANTHROPIC_API_KEY in the environment, or --key-stdin" in missing
    assert "give --model" in claw("setup", "--provider", "ollama", "--yes").stderr
    assert list(config_directory(home).iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "stdin", "said"),
    [
        (("--provider", "Mine!", "--base-url", "http://x"), b"", "cannot be a provider's name"),
        (("--provider", "a", "--base-url", "ftp://x"), b"", "must be an address with http://"),
        (("--provider", "openai"), b"", "the key is empty or not one word"),
        (("--provider", "openai"), b"two words\n", "the key is empty or not one word"),
        (("--provider", "ollama"), b"x\n", "--key-stdin needs --key-env NAME"),
        (("--provider", "openai", "--key-env", KEY), b"x\n", "--key-env wants the name of a var"),
    ],
)
def test_what_cannot_be_used_is_refused_and_nothing_is_written(
    arguments: tuple[str, ...], stdin: bytes, said: str, home: Path
) -> None:
    done = claw("setup", *arguments, "--model", "m", "--key-stdin", "--yes", stdin=stdin)
    assert (done.returncode, done.stdout) == (1 if "ftp://x" in arguments else 2, "")
    assert said in done.stderr
    assert KEY not in done.stderr
    assert list(config_directory(home).iterdir()) == []


def test_one_that_does_not_answer_is_not_written_without_a_terminal(home: Path) -> None:
    with scripted_openai([Status(401, message=f"bad {KEY}")]) as server:
        done = claw(*custom(server, "--key-stdin", "--yes"), stdin=KEY.encode())
        assert done.returncode == 1
        assert "Nothing was changed; --no-test writes it all the same" in done.stderr
        assert KEY not in done.stderr
        assert list(config_directory(home).iterdir()) == []
        done = claw(*custom(server, "--key-stdin", "--yes", "--no-test"), stdin=KEY.encode())
        assert (done.returncode, len(server.requests)) == (0, 1)


@pytest.mark.parametrize("given", ["sk-ant-foo-bar", "AKIA0123456789"])
def test_what_may_be_the_key_is_not_repeated(given: str) -> None:
    done = claw("setup", "--provider", "openai", "--key-env", given)
    assert done.returncode == 2
    assert "--key-env" in done.stderr
    assert given not in done.stderr


@pytest.mark.parametrize("option", ["--model", "--provider"])
@pytest.mark.parametrize("given", ["sk-ant-foo-bar", "AKIA0123456789", "openai/sk-proj-abc"])
def test_a_key_in_the_place_of_a_name_is_refused_and_not_repeated(option: str, given: str) -> None:
    done = claw("setup", "--yes", option, given, code=2)
    assert f"this looks like a key, and {option} is wanted" in done.stderr
    assert given not in done.stderr + done.stdout


def test_a_key_that_is_pasted_for_a_model_is_asked_again_and_never_kept(home: Path) -> None:
    with terminal(*CLAW, "setup", "--provider", "openai", "--no-test", width=160) as screen:
        screen.shows("Model")
        screen.type("sk-proj-0123456789abcdef\n")
        screen.shows("this looks like a key, and a model's name is wanted")
        screen.type("\x03")
        screen.ends()
    files = [file for file in home.rglob("*") if file.is_file()]
    assert not any(b"sk-proj" in file.read_bytes() for file in files)


def test_a_provider_that_nobody_knows_is_said_to_be_none() -> None:
    done = claw("setup", "--provider", "antropic", "--yes")
    assert "there is no provider `antropic`: did you mean anthropic? There are" in done.stderr
    done = claw("setup", "--provider", "mine", "--yes")
    assert "there is no provider `mine`: there are anthropic, " in done.stderr
    assert "one of your own needs --base-url URL" in done.stderr
    with terminal(*CLAW, "setup", "--provider", "olama", width=200) as screen:
        assert screen.ends() == 1
        until(lambda: "did you mean ollama?" in screen.text)


@pytest.mark.parametrize(
    ("use", "number", "model"),
    [("ollama/tiny", "4", "tiny"), ("openrouter/a/b", "1", "a/b"), ("offline", "9", "")],
)
def test_a_second_run_offers_what_was_chosen(use: str, number: str, model: str, home: Path) -> None:
    file = config_directory(home) / "config.toml"
    file.write_text(f'[model]\nuse = "{use}"\n')
    env = config_directory(home) / ".env"
    env.write_text(f"OPENROUTER_API_KEY={KEY}\n")
    with terminal(*CLAW, "setup", "--no-test", width=200) as screen:
        answer(screen, f"Number [{number}]: ", "")
        if model:
            answer(screen, f"Model [{model}]: ", "")
        if number == "1":
            answer(screen, "Use it? [Y/n]: ", "")
        assert screen.ends() == 0
        until(lambda: f"Nothing to change: {use} answers." in screen.text)


def test_one_of_ones_own_is_offered_by_its_name(home: Path) -> None:
    file = config_directory(home) / "config.toml"
    file.write_text('[model]\nuse = "mine/m"\n[providers.mine]\nbase_url = "http://[::1]:1/v1"\n')
    with terminal(*CLAW, "setup", "--no-test", width=200) as screen:
        answer(screen, "Number [8]: ", "")
        answer(screen, "A name for it [mine]: ", "")
        answer(screen, "Model [m]: ", "")
        assert screen.ends() == 0
        until(lambda: "Nothing to change: mine/m answers." in screen.text)


OURS = """# mine
[assistant] # how
instructions = "Be brief."

[model]
max_tokens = 100 # few
use = "ollama/llama3.2"   # local
fallbacks = ["offline"]

[providers.openai]
headers = { X-Team = "${TEAM}" }
# the end
"""


@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["unix", "windows"])
def test_other_lines_and_comments_stay(newline: str, home: Path) -> None:
    file = config_directory(home) / "config.toml"
    file.write_bytes(OURS.replace("\n", newline).encode())
    file.chmod(0o640)
    options = ("--provider", "openai", "--model", "gpt-5", "--key-env", "WORK_KEY")
    done = claw("setup", *options, "--no-test", "--yes", env={"WORK_KEY": KEY})
    assert done.returncode == 0, done.stderr
    wanted = OURS.replace('"ollama/llama3.2"', '"openai/gpt-5"').replace(
        '"${TEAM}" }\n', '"${TEAM}" }\nkey_env = "WORK_KEY"\n'
    )
    assert file.read_bytes() == wanted.replace("\n", newline).encode()
    assert file.stat().st_mode & 0o777 == 0o640
    assert not (config_directory(home) / ".env").exists()
    again = claw("setup", *options, "--no-test", "--yes", env={"WORK_KEY": KEY})
    assert again.stdout.startswith("Nothing to change: openai/gpt-5 answers.")
    assert file.read_bytes() == wanted.replace("\n", newline).encode()


@pytest.mark.parametrize(
    "before",
    [
        "",
        "\ufeff",
        "# only words\n",
        "[model]\n",
        "[model]\r\n[assistant]\r\n",
        "[model] # empty\n[assistant]\n",
        "model = {}\n",
    ],
)
def test_offline_can_be_chosen_whatever_is_there(before: str, home: Path) -> None:
    file = config_directory(home) / "config.toml"
    file.write_bytes(before.encode())
    done = claw("setup", "--provider", "offline", "--yes")
    assert done.returncode == 0, done.stderr
    if "\r\n" in before:
        assert b"\n" not in file.read_bytes().replace(b"\r\n", b"")
    assert "It is no language model" in done.stdout
    assert tomllib.loads(file.read_text(encoding="utf-8-sig"))["model"] == {"use": "offline"}
    assert file.read_text().startswith(before.split("[")[0].split("=")[0].rstrip())


def test_a_server_on_this_machine_needs_no_key(home: Path) -> None:
    with scripted_openai([Say("ok"), Say("ok")]) as server:
        for provider in ("ollama", "openai"):
            options = ("--provider", provider, "--model", "m", "--base-url", server.url)
            done = claw("setup", *options, "--yes")
            assert done.returncode == 0, done.stderr
    assert tomllib.loads(config_text(home))["providers"]["openai"] == {"base_url": server.url}


@pytest.mark.parametrize("before", ["[model\n", "[nonsense]\n", 'model = "x"\n'])
def test_a_config_that_cannot_be_used_is_left_alone(before: str, home: Path) -> None:
    file = config_directory(home) / "config.toml"
    file.write_text(before)
    done = claw("setup", "--provider", "offline", "--yes")
    assert done.returncode == 1
    assert str(file) in done.stderr
    assert file.read_text() == before


def test_the_key_can_go_to_the_keyring(home: Path, tmp_path: Path) -> None:
    (tmp_path / "backend.py").write_text(
        "import json, os, pathlib\n"
        "from keyring.backend import KeyringBackend\n"
        "class Folder(KeyringBackend):\n"
        "    priority = 1\n"
        "    def set_password(self, service, name, value):\n"
        "        pathlib.Path(os.environ['RING'], f'{service}-{name}').write_text(value)\n"
        "    def get_password(self, service, name):\n"
        "        file = pathlib.Path(os.environ['RING'], f'{service}-{name}')\n"
        "        return file.read_text() if file.exists() else None\n"
    )
    env = {
        "PYTHONPATH": str(tmp_path),
        "PYTHON_KEYRING_BACKEND": "backend.Folder",
        "RING": str(tmp_path),
    }
    with scripted_openai([Say("ok")]) as server:
        options = custom(server, "--key-stdin", "--keyring", "--yes", "--json")
        done = claw(*options, stdin=KEY.encode(), env=env)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["key"] == {"variable": "MINE_KEY", "where": "keyring"}
    assert (tmp_path / "clawkit-MINE_KEY").read_text() == KEY
    assert tomllib.loads(config_text(home))["secrets"] == {"keyring": True}
    assert not (config_directory(home) / ".env").exists()


def test_help_has_two_names_and_no_option_for_a_key() -> None:
    shown = claw("setup", "-h").stdout
    assert shown == claw("setup", "--help").stdout
    assert "--key-stdin" in shown
    assert not re.search(r"--key\s", shown)


def ollama(server: ScriptedServer) -> dict[str, str]:
    host = server.origin.removeprefix("http://")
    return {"OLLAMA_HOST": host, "CLAW_SEARCH_PATIENCE": str(PATIENCE)}


def cursor(home: Path) -> Path:
    """Cursor's own file, with a server that is not ours."""
    file = home / ".cursor" / "mcp.json"
    file.parent.mkdir()
    server = {"command": "python", "args": ["-m", "files"]}
    file.write_text(json.dumps({"mcpServers": {"files": server}}, indent=2))
    return file


def test_a_first_run_finds_a_server_lets_one_choose_and_goes_on_with_the_clients(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = cursor(home)
    monkeypatch.chdir(home)
    with scripted_openai([Status(500), Say("ok")], ("qwen3:8b", "llama3.2")) as server:
        for name, value in ollama(server).items():
            monkeypatch.setenv(name, value)
        with terminal(*CLAW, "setup", width=200, height=60) as screen:
            answer(screen, "Number [1]: ", "")
            assert f"  1  Ollama, running at {server.url}: qwen3:8b, llama3.2" in screen.text
            answer(screen, "Model [1]: ", "2")
            answer(screen, "or quit? (r/c/w/q) [r]: ", "r")
            answer(screen, "Write this? [Y/n]: ", "")
            until(lambda: "Written: ollama/llama3.2 answers." in screen.text)
            answer(screen, "Add the assistant to (all, none, or numbers) [all]: ", "9")
            answer(screen, "Add the assistant to (all, none, or numbers) [all]: ", "1")
            answer(screen, "`claw ask` and `claw chat`? [y/N]: ", "y")
            answer(screen, "Put the guard before (all, none, or numbers) [none]: ", "all")
            assert screen.ends() == 0
            until(lambda: "to go through the guard" in screen.text)
        shown = screen.text
        assert server.last.json["model"] == "llama3.2"
    assert "answer all, none, or numbers from 1 to 1" in shown
    assert "One memory is shared from now on" in shown
    servers = json.loads(file.read_text())["mcpServers"]
    assert servers["openclaw"]["args"] == ["mcp-server"]
    assert "proxy" in servers["files"]["args"]
    assert tomllib.loads(config_text(home)) == {
        "model": {"use": "ollama/llama3.2"},
        "providers": {"ollama": {"base_url": server.url}},
        "memory": {"share": True},
    }


def test_one_that_does_not_answer_can_be_left_for_another(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with scripted_openai([Status(401)], ("m",)) as server:
        for name, value in ollama(server).items():
            monkeypatch.setenv(name, value)
        with terminal(*CLAW, "setup", "--provider", "ollama", width=200, height=60) as screen:
            answer(screen, "Model [1]: ", "")
            answer(screen, "or quit? (r/c/w/q) [r]: ", "c")
            answer(screen, "Number [1]: ", "offline")
            answer(screen, "Write this? [Y/n]: ", "")
            assert screen.ends() == 0
    assert tomllib.loads(config_text(home)) == {"model": {"use": "offline"}}


def test_who_leaves_at_the_clients_keeps_the_model(home: Path) -> None:
    before = cursor(home).read_text()
    with terminal(*CLAW, "setup", "--provider", "offline", width=200) as screen:
        answer(screen, "Write this? [Y/n]: ", "")
        until(lambda: screen.text.endswith("[all]:"))
        screen.type("\x03")
        assert screen.ends() == 130
        until(lambda: "The clients stay as they are." in screen.text)
        assert "Nothing was changed" not in screen.text
    assert tomllib.loads(config_text(home)) == {"model": {"use": "offline"}}
    assert (home / ".cursor" / "mcp.json").read_text() == before


def test_yes_takes_a_local_server_and_does_what_the_options_say(home: Path) -> None:
    file = cursor(home)
    options = ("--yes", "--json", "--install", "all", "--share-memory", "--guard", "files")
    with scripted_openai([Say("ok")], ("llama3.2",)) as server:
        env = {**ollama(server), "ANTHROPIC_API_KEY": KEY}
        done = claw("setup", *options, env=env, cwd=home, code=0)
    result = json.loads(done.stdout)
    assert (result["use"], result["shared"]) == ("ollama/llama3.2", True)
    assert [(one["client"], one["action"]) for one in result["clients"]] == [
        ("cursor", "installed")
    ]
    assert result["guard"][0]["changes"][0]["action"] == "wrapped"
    assert set(json.loads(file.read_text())["mcpServers"]) == {"files", "openclaw"}


def test_yes_is_no_consent_to_pay(home: Path) -> None:
    done = claw("setup", "--yes", env={"ANTHROPIC_API_KEY": KEY})
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "claw setup: no model server was found on this machine (looked for Ollama, LM Studio, "
        "llama.cpp, vLLM): give --provider (`claw setup --check` shows what was found)\n"
    )
    assert list(config_directory(home).iterdir()) == []


@pytest.mark.parametrize(
    ("options", "problem"),
    [((), "no model server was found"), (("--provider", "anthropic"), "--yes asks nothing: give")],
)
def test_yes_asks_nothing_in_a_terminal_either(
    home: Path, options: tuple[str, ...], problem: str
) -> None:
    with terminal(*CLAW, "setup", *options, "--yes", width=200) as screen:
        assert screen.ends() == 2
        until(lambda: problem in screen.text)
        assert "Number" not in screen.text
    assert list(config_directory(home).iterdir()) == []


def test_yes_again_keeps_what_was_chosen(home: Path) -> None:
    (config_directory(home) / "config.toml").write_text('[model]\nuse = "offline"\n')
    cursor(home)
    done = claw("setup", "--yes", "--install", "cursor", env={"OPENAI_API_KEY": KEY}, cwd=home)
    assert done.stdout.startswith("Nothing to change: offline answers.")
    assert "installed  openclaw  cursor" in done.stdout


def test_check_shows_all_that_is_there_and_changes_nothing(home: Path) -> None:
    before = cursor(home).read_text()
    with scripted_openai([], ("llama3.2",)) as server:
        env = {**ollama(server), "OPENAI_API_KEY": KEY}
        text = claw("setup", "--check", env=env, cwd=home, code=0).stdout
        data = json.loads(claw("setup", "--check", "--json", env=env, cwd=home, code=0).stdout)
    assert text.startswith("offline answers (none is chosen: the embedded default).\n")
    assert "--model llama3.2 --yes\n" in text
    assert "OpenAI: OPENAI_API_KEY is set (its account is charged)\n" in text
    assert "Clients without the assistant: Cursor\n" in text
    assert "Servers without the guard: files\n" in text
    ollama_found, openai = data["found"]
    assert (ollama_found["models"], ollama_found["free"]) == (["llama3.2"], True)
    assert (openai["command"], openai["free"]) == ("claw setup --provider openai --yes", False)
    assert data["unguarded"] == [{"server": "files", "client": "cursor"}]
    assert KEY not in text + json.dumps(data)
    assert (home / ".cursor" / "mcp.json").read_text() == before
    assert list(config_directory(home).iterdir()) == []


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        (("--install", "cursr"), "cursr"),
        (("--guard", "nothing"), "--guard nothing: no server of that name is unguarded; there are"),
    ],
)
def test_a_client_or_server_that_is_not_there_is_told_before_anything_is_written(
    wish: tuple[str, ...], said: str, home: Path
) -> None:
    cursor(home)
    done = claw("setup", "--provider", "offline", "--yes", *wish, cwd=home)
    assert (done.returncode, done.stdout) == (2 if "cursr" in wish else 1, "")
    assert said in done.stderr
    assert list(config_directory(home).iterdir()) == []


def test_a_key_of_the_environment_can_be_kept_without_a_question(home: Path) -> None:
    options = ("--provider", "anthropic", "--keep-key", "--no-test", "--yes")
    done = claw("setup", *options, env={"ANTHROPIC_API_KEY": KEY}, code=0)
    found = keys_of(home).find("ANTHROPIC_API_KEY")
    assert found is not None
    assert (found.value, found.where) == (KEY, ".env")
    assert KEY not in done.stdout + done.stderr
