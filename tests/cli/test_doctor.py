"""`claw doctor`, as a person types it when something does not work."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from clawkit.assistant.media.call_folder import CallFolder
from clawkit.assistant.sessions.repair import set_aside
from clawkit.cli import doctor as checks
from tests.claw import CLAW, claw, finished
from tests.processes import on_a_full_disk

KEY = "made-up-key-0123456789"
NO_KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY")


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NO_KEYS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


@pytest.fixture
def config(home: Path) -> Path:
    folder = home / "claw" / "config" / "claw"
    folder.mkdir(parents=True, mode=0o700)
    return folder


@pytest.fixture
def data(home: Path) -> Path:
    folder = home / "claw" / "data" / "claw"
    folder.mkdir(parents=True, mode=0o700)
    return folder


def examined(*arguments: str, ok: bool = True) -> dict[str, list[dict[str, Any]]]:
    """The checks by name, after it was seen that the verdict and the exit status agree."""
    done = claw("doctor", "--json", *arguments)
    assert done.stdout, done.stderr
    report = json.loads(done.stdout)
    assert (report["ok"], done.returncode) == (ok, 0 if ok else 1), done.stdout + done.stderr
    assert any(check["state"] == "problem" for check in report["checks"]) is not ok
    found: dict[str, list[dict[str, Any]]] = {}
    for check in report["checks"]:
        assert set(check) == {"name", "state", "detail", "hint", "fixed"}
        found.setdefault(check["name"], []).append(check)
    return found


def one(found: dict[str, list[dict[str, Any]]], name: str) -> dict[str, Any]:
    (check,) = found[name]
    return check


def program(folder: Path, name: str, text: str = "#!/bin/sh\necho other\n") -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.write_text(text)
    file.chmod(0o755)
    return file


def test_a_new_installation_has_no_problem_and_is_told_how_to_get_a_model(home: Path) -> None:
    found = examined()
    assert one(found, "python")["state"] == "ok"
    names = ("claw", "openclaw", "clawdbot", "clawai")
    assert {one(found, name)["state"] for name in names} == {"ok"}
    assert "not there yet" in one(found, "data directory")["detail"]
    assert one(found, "store")["state"] == "ok"
    assert one(found, "model")["state"] == "warning"
    assert "not a language model" in one(found, "model")["detail"]
    assert "claw setup" in one(found, "model")["hint"]
    assert not (home / "claw").exists()


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_is_there_by_both_names(flag: str) -> None:
    done = claw("doctor", flag)
    assert done.returncode == 0
    assert "--fix" in done.stdout


def test_the_text_says_what_the_json_says(config: Path) -> None:
    (config / "config.toml").write_text("[modle]\n")
    done = claw("doctor")
    assert done.returncode == 1
    assert "problem  config: " in done.stdout
    assert "there is no section [modle]" in done.stdout
    assert "1 problem, 0 warnings." in done.stdout
    assert done.stderr == ""


def test_another_program_of_our_name_that_comes_first_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = program(tmp_path / "bin", "openclaw")
    monkeypatch.setenv("PATH", f"{other.parent}{os.pathsep}{os.environ['PATH']}")
    check = one(examined(ok=False), "openclaw")
    assert check["detail"] == f"{other} comes first on PATH and is another program"
    assert str(Path(sys.executable).parent) in check["hint"]


def test_another_installation_of_ours_is_a_warning_and_none_at_all_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = program(tmp_path / "bin", "claw", "#!/usr/bin/python\nfrom clawkit.cli import main\n")
    monkeypatch.setenv("PATH", str(other.parent))
    found = examined()
    assert "another installation" in one(found, "claw")["detail"]
    assert one(found, "openclaw")["detail"] == "not on PATH"
    assert one(found, "openclaw")["state"] == "warning"


def test_a_link_to_our_program_is_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = tmp_path / "bin" / "claw"
    link.parent.mkdir()
    link.symlink_to(Path(sys.executable).parent / "claw")
    monkeypatch.setenv("PATH", f"{link.parent}{os.pathsep}{os.environ['PATH']}")
    check = one(examined(), "claw")
    assert (check["state"], check["detail"], check["hint"]) == ("ok", str(link), "")


def test_a_script_that_starts_us_is_known_by_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Path(sys.executable).parent / "claw"
    shim = program(tmp_path / "shims", "claw", f'#!/bin/sh\nexec "{real}" "$@"\n')
    monkeypatch.setenv("PATH", f"{shim.parent}{os.pathsep}{os.environ['PATH']}")
    assert (one(examined(), "claw")["state"], shim.exists()) == ("ok", True)


@pytest.mark.process
def test_a_script_that_says_nothing_is_not_called_another_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shim = program(tmp_path / "shims", "claw", "#!/bin/sh\nexec sleep 600\n")
    monkeypatch.setenv("PATH", f"{shim.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(checks, "_PATIENCE", 0.5)
    check = next(check for check in checks.check_program() if check.name == "claw")
    assert check.state == "warning"
    assert check.detail == f"{shim} does not say its version within 0.5 s"


def test_a_config_that_cannot_be_read_is_named_with_its_place(config: Path) -> None:
    (config / "config.toml").write_text("[model]\nuse = 3\n")
    check = one(examined(ok=False), "config")
    file = config / "config.toml"
    assert check["detail"] == f"{file}: [model].use: must be a text in quotes, not a whole number"


def test_fix_makes_the_directories_and_says_so(home: Path) -> None:
    found = examined("--fix")
    for name, place in (("config directory", "config"), ("data directory", "data")):
        assert one(found, name)["fixed"] == "made it"
        assert (home / "claw" / place / "claw").stat().st_mode & 0o777 == 0o700
    assert one(found, "workspace")["fixed"] == "made it"
    assert one(examined(), "data directory")["fixed"] == ""


def test_a_directory_that_others_can_read_is_a_warning_and_is_closed(data: Path) -> None:
    data.chmod(0o755)
    check = one(examined(), "data directory")
    assert (check["state"], "mode 755" in check["detail"]) == ("warning", True)
    assert "claw doctor --fix" in check["hint"]
    assert one(examined("--fix"), "data directory")["fixed"] == "mode 755 is now 700"
    assert data.stat().st_mode & 0o777 == 0o700


def test_a_file_in_the_place_of_a_directory_is_a_problem_that_fix_leaves(home: Path) -> None:
    (home / "claw" / "data").mkdir(parents=True)
    (home / "claw" / "data" / "claw").write_text("mine")
    assert "is not a directory" in one(examined("--fix", ok=False), "data directory")["detail"]
    assert (home / "claw" / "data" / "claw").read_text() == "mine"


def test_a_directory_that_cannot_be_made_is_a_problem(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "file").write_text("")
    monkeypatch.setenv("CLAW_HOME", str(home / "file" / "claw"))
    check = one(examined("--fix", ok=False), "data directory")
    assert "is not there and cannot be made" in check["detail"]
    assert str(home / "file") in check["hint"]


# Everything is imported before the rights are given up: the libraries may be out of reach then.
AS_ANOTHER = """
import json, os, sys
from pathlib import Path
import msgspec
from clawkit.cli.doctor import examine
from clawkit.cli.status.assistant import assistant_state
from clawkit.settings import settings
list(examine(settings(), fix=False)); assistant_state(settings(), deep=False)
Path(sys.argv[1]).chmod(0)
if os.geteuid() == 0:
    os.setuid(65534)
checks = list(examine(settings(), fix=False))
assistant_state(settings(), deep=False)
print(json.dumps(msgspec.to_builtins(checks)))
"""


def test_what_we_have_no_right_to_is_a_problem_and_not_the_end(
    home: Path, config: Path, data: Path
) -> None:
    (config / ".env").write_text("")
    (data / "sessions.db").write_text("")
    place = home / "claw"
    done = finished(sys.executable, "-c", AS_ANOTHER, place)
    place.chmod(0o700)
    assert done.returncode == 0, done.stderr
    states = {check["name"]: check["state"] for check in json.loads(done.stdout)}
    assert states["config"] == states["store"] == "problem"
    assert states["config directory"] == states["data directory"] == "problem"


def test_a_file_of_keys_that_others_can_read_is_a_warning_and_is_closed(config: Path) -> None:
    (config / ".env").write_text(f"OPENAI_API_KEY={KEY}\n")
    (config / ".env").chmod(0o644)
    assert examined()[".env"][0]["state"] == "warning"
    assert examined("--fix")[".env"][0]["fixed"] == "mode 644 is now 600"
    assert (config / ".env").stat().st_mode & 0o777 == 0o600
    assert one(examined(), ".env")["detail"].endswith("has OPENAI_API_KEY")


def test_a_line_of_keys_that_counts_for_nothing_is_named_but_not_shown(config: Path) -> None:
    (config / ".env").write_text(f"A=b\n{KEY}\n")
    (config / ".env").chmod(0o600)
    check = examined()[".env"][0]
    assert check["detail"] == f"{config / '.env'}:2: the line: is not of the form NAME=value"
    assert check["state"] == "warning"


def test_a_key_is_said_to_be_found_and_never_shown(config: Path) -> None:
    (config / ".env").write_text(f"ANTHROPIC_API_KEY={KEY}\n")
    (config / ".env").chmod(0o600)
    check = one(examined(), "model")
    assert check["state"] == "ok"
    untried = "not tried: `claw status --deep` asks the model"
    assert check["detail"].endswith(f"ANTHROPIC_API_KEY found (.env); {untried}")
    done = claw("doctor")
    assert KEY not in done.stdout + done.stderr


def test_a_model_whose_key_is_missing_is_a_problem(config: Path) -> None:
    (config / "config.toml").write_text('[model]\nuse = "anthropic/claude-sonnet-4-5"\n')
    check = one(examined(ok=False), "model")
    assert "ANTHROPIC_API_KEY" in check["detail"] + check["hint"]


def test_a_fallback_whose_key_is_missing_is_a_warning(config: Path) -> None:
    (config / "config.toml").write_text('[model]\nuse = "offline"\nfallbacks = ["openai/gpt-5"]\n')
    check = one(examined(), "fallback")
    assert check["state"] == "warning"
    assert "OPENAI_API_KEY" in check["detail"] + check["hint"]


def test_servers_whose_program_or_variable_is_missing_are_problems(config: Path) -> None:
    (config / "config.toml").write_text(f"""
[mcp.servers.gone]
command = "no-such-program-anywhere"
[mcp.servers.there]
command = "{sys.executable}"
[mcp.servers.keyless]
command = "{sys.executable}"
env = {{ TOKEN = "${{NO_SUCH_TOKEN}}" }}
[mcp.servers.off]
command = "no-such-program-anywhere"
enabled = false
[mcp.servers.lost]
command = "{sys.executable}"
cwd = "/no/such/folder"
[mcp.servers.odd]
url = "ftp://far.example/mcp"
[mcp.servers.far]
url = "https://far.example/mcp?token={KEY}"
""")
    found = examined(ok=False)
    assert one(found, "server gone")["detail"] == "there is no program 'no-such-program-anywhere'"
    assert one(found, "server there")["state"] == "ok"
    assert "${NO_SUCH_TOKEN}, which is not set" in one(found, "server keyless")["detail"]
    assert "/no/such/folder, is not a directory" in one(found, "server lost")["detail"]
    assert "neither http nor https" in one(found, "server odd")["detail"]
    assert one(found, "server off")["detail"] == "switched off"
    assert one(found, "server far")["detail"] == "https://far.example/mcp"
    assert one(found, "package mcp")["state"] == "ok"


def test_a_file_with_tools_that_does_not_load_is_a_problem(config: Path) -> None:
    (config / "tools").mkdir()
    (config / "tools" / "good.py").write_text(
        "from clawkit import claw_tool\n\nprint('loading')\n\n"
        "@claw_tool(name='twice', description='Twice.')\n"
        "def twice(n: int) -> int:\n    return 2 * n\n"
    )
    assert one(examined(), "tools")["detail"].startswith("good.py in ")
    (config / "tools" / "broken.py").write_text("import no_such_module_anywhere\n")
    check = one(examined(ok=False), "tools")
    assert "no_such_module_anywhere" in check["detail"]


def test_transcription_by_a_program_that_is_missing_is_a_problem(config: Path) -> None:
    (config / "config.toml").write_text(
        '[transcription]\nprovider = "whisper"\ncommand = ["no-whisper-here"]\n'
    )
    assert "'no-whisper-here'" in one(examined(ok=False), "transcription")["detail"]


def test_a_client_that_starts_us_by_a_path_that_is_gone_is_a_problem(
    home: Path, tmp_path: Path
) -> None:
    (home / ".cursor").mkdir()
    file = home / ".cursor" / "mcp.json"
    gone = str(tmp_path / "venv" / "bin" / "openclaw")

    def installed(command: str, *args: str) -> None:
        servers = {"openclaw": {"command": command, "args": [*args, "mcp-server"]}}
        file.write_text(json.dumps({"mcpServers": servers}))

    installed(gone)
    check = one(examined(ok=False), "client cursor")
    assert check["detail"] == f"{file}: openclaw starts '{gone}', which does not exist"
    assert check["hint"].startswith("`claw install cursor`")
    installed("openclaw")
    assert one(examined(), "client cursor")["state"] == "ok"
    installed(sys.executable, "-m", "clawkit")
    assert one(examined(), "client cursor")["state"] == "ok"


def test_a_client_without_us_is_told_how_to_get_us(home: Path) -> None:
    (home / ".cursor").mkdir()
    servers = {"other": {"command": "no-such-program", "args": ["mcp-server"]}}
    (home / ".cursor" / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    check = one(examined(), "clients")
    assert (check["state"], "claw install" in check["hint"]) == ("ok", True)


def test_a_policy_that_cannot_be_read_is_a_problem(home: Path) -> None:
    folder = home / "claw" / "config" / "clawai"
    folder.mkdir(parents=True)
    (folder / "policy.toml").write_text("nonsense\n")
    check = one(examined(ok=False), "policy")
    assert f"{folder / 'policy.toml'}:1" in check["detail"]
    (folder / "policy.toml").unlink()
    assert one(examined(), "policy")["hint"] == "`claw policy init` makes one"


def test_what_a_killed_process_left_is_a_warning_and_is_removed(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    script = (
        "import os, sys\nfrom pathlib import Path\n"
        "from clawkit.assistant.media.call_folder import CallFolder\n"
        "from clawkit.assistant.sessions import turn_queue as owners\n"
        "folder = CallFolder().__enter__().inbox\n"
        "owners.this_process(owners.directory_for(Path(sys.argv[1])))\n"
        "os.kill(os.getpid(), 9)\n"
    )
    store = str(data / "sessions.db")
    assert subprocess.run((sys.executable, "-c", script, store), check=False).returncode == -9
    left = "1 temporary folder and 1 lock of processes that died"
    assert one(examined(), "leftovers")["detail"] == left
    assert len(list(temporary.iterdir())) == 1
    with CallFolder(temporary) as mine:
        assert mine.inbox.is_dir()
        assert one(examined("--fix"), "leftovers")["fixed"] == f"removed {left}"
        assert list(temporary.iterdir()) == [mine.path]
        assert one(examined(), "leftovers")["detail"] == "none"


def test_a_damaged_store_is_a_problem_and_is_set_aside(data: Path) -> None:
    store = data / "sessions.db"
    store.write_bytes(b"this is not a database" * 100)
    check = one(examined(ok=False), "store")
    assert "it is not a database" in check["detail"]
    assert "claw doctor --fix" in check["hint"] + check["detail"]
    assert store.exists()
    fixed = one(examined("--fix"), "store")
    (aside,) = [file for file in data.iterdir() if file.name.startswith("sessions.db.")]
    assert str(aside) in fixed["fixed"]
    assert aside.read_bytes().startswith(b"this is not a database")
    assert one(examined(), "store")["state"] == "ok"


def said_in_sessions(count: int) -> None:
    """Sessions as people make them: each with something to remember."""
    for number in range(count):
        said = f"My cat number {number} is called Miso{number}."
        claw("ask", said, "--session", f"s{number}", code=0)


@pytest.mark.parametrize("gone", ["tasks", "turns", "said", "sessions"])
def test_sessions_are_saved_out_of_a_store_that_lacks_a_table(data: Path, gone: str) -> None:
    said_in_sessions(2)
    store = data / "sessions.db"
    with closing(sqlite3.connect(store)) as connection:
        connection.execute(f"DROP TABLE {gone}")
    check = one(examined(ok=False), "store")
    assert f"the table {gone} is missing" in check["detail"]
    fixed = one(examined("--fix"), "store")["fixed"]
    assert "saved 2 sessions with 4 messages" in fixed
    assert one(examined(), "store")["detail"] == f"{store}: 2 sessions"
    key = "salvaged-1" if gone == "sessions" else "s0"
    done = claw("ask", "What is my cat number 0 called?", "--session", key, code=0)
    assert "Miso0" in done.stdout


def test_a_store_that_was_emptied_or_cut_off_is_a_problem(data: Path) -> None:
    said_in_sessions(1)
    store = data / "sessions.db"
    os.truncate(store, store.stat().st_size // 4096 // 2 * 4096)
    assert one(examined(ok=False), "store")["state"] == "problem"
    assert "set the damaged store aside" in one(examined("--fix"), "store")["fixed"]
    store.write_bytes(b"")
    assert "it is empty" in one(examined(ok=False), "store")["detail"]
    assert "nothing in it could be read" in one(examined("--fix"), "store")["fixed"]
    assert one(examined(), "store")["state"] == "ok"


def test_a_disk_that_is_full_is_a_problem(config: Path, data: Path) -> None:
    done = finished(*on_a_full_disk(*CLAW, "doctor", "--json"), code=1)
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    for name, folder in (("config directory", config), ("data directory", data)):
        assert checks[name]["state"] == "problem"
        assert checks[name]["detail"] == f"{folder} cannot be written to: File too large"
    assert not list(data.iterdir())


def test_a_policy_without_a_rule_is_a_problem(home: Path) -> None:
    folder = home / "claw" / "config" / "clawai"
    folder.mkdir(parents=True)
    (folder / "policy.toml").write_text("# nothing yet\n")
    check = one(examined(ok=False), "policy")
    assert "has no rule: the guard refuses every call" in check["detail"]


def test_a_store_of_a_newer_version_is_left_as_it_is(data: Path) -> None:
    store = data / "sessions.db"
    connection = sqlite3.connect(store)
    connection.execute(f"PRAGMA application_id = {int.from_bytes(b'Claw', 'big')}")
    connection.execute("PRAGMA user_version = 99")
    connection.execute("CREATE TABLE later (id)")
    connection.commit()
    connection.close()
    before = store.read_bytes()
    check = one(examined("--fix", ok=False), "store")
    assert "version 99" in check["detail"]
    assert store.read_bytes() == before


def test_a_damaged_store_stays_in_its_place_until_it_is_saved(data: Path) -> None:
    said_in_sessions(2)
    store = data / "sessions.db"
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("DROP TABLE tasks")
    room = store.stat().st_size // 2
    done = finished(*on_a_full_disk(*CLAW, "doctor", "--fix", "--json", room=room))
    (failed,) = (one for one in json.loads(done.stdout)["checks"] if one["name"] == "store")
    assert failed["state"] == "problem"
    assert "free space on its disk" in failed["detail"]
    assert [file.name for file in data.glob("*sessions.db*")] == ["sessions.db"]
    assert "saved 2 sessions with 4 messages" in one(examined("--fix"), "store")["fixed"]
    assert one(examined(), "store")["detail"] == f"{store}: 2 sessions"


def test_a_damaged_store_that_was_only_set_aside_is_a_problem_and_is_saved(data: Path) -> None:
    said_in_sessions(1)
    store = data / "sessions.db"
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("DROP TABLE tasks")
    aside = set_aside(store)
    check = one(examined(ok=False), "store")
    assert str(aside) in check["detail"]
    assert "claw doctor --fix" in check["hint"]
    for verb in ("status", "sessions"):
        done = claw(verb, code=1)
        assert str(aside) in done.stdout + done.stderr
    assert not store.exists()
    assert "saved 1 session with 2 messages" in one(examined("--fix"), "store")["fixed"]
    assert [file.name for file in data.glob("sessions.db.damaged-*")] == [aside.name]
    assert one(examined(), "store")["detail"] == f"{store}: 1 session"
