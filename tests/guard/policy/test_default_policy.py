from __future__ import annotations

import stat
import tomllib
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from clawkit.errors import PolicyError
from clawkit.guard.authoring.default_policy import DEFAULT_POLICY, write_default_policy
from clawkit.guard.policy.call import Call
from clawkit.guard.policy.parser import read_policy
from clawkit.guard.policy.policy import Paths
from clawkit.guard.policy.reloader import PolicyFile
from clawkit.hosts.clients import CLIENTS, Machine, project_files, user_files
from tests.guard.policy.decisions import IN_PROJECT, TEXT_ONLY, action, on_method

DEFAULT = read_policy(DEFAULT_POLICY, "policy.toml")


@pytest.mark.parametrize(
    "value",
    [
        "/home/user/.ssh/id_rsa",
        "~/.ssh",
        ".ssh/config",
        "cat ~/.ssh/id_rsa",
        "/home/user/.aws/credentials",
        ".env",
        "/srv/app/.env",
        "/srv/app/.env.production",
        "server.pem",
        "/backup/id_ed25519",
        "file:///etc/passwd",
        "/etc",
        "cat /etc/shadow",
        "/proc/self/environ",
        "/private/../etc/hosts",
        "http://169.254.169.254/latest/meta-data/",
        "http://0xa9fea9fe/latest",
        "http://metadata.google.internal/x",
        "C:\\Windows\\System32\\config\\SAM",
        "/home/user/.config/clawai/policy.toml",
        "/var/run/docker.sock",
        "http://[::ffff:169.254.169.254]/latest",
        "http://[0:0:0:0:0:ffff:a9fe:a9fe]/",
        "http://[64:ff9b::a9fe:a9fe]/",
        "http://[fd00:0ec2:0:0:0:0:0:254]/",
        "fd00:ec2:0:0::254",
        "2852039166",
        "0xa9.0xfe.0251.254",
        "gopher://2852039166:80/_GET",
        "dict://user@[::ffff:a9fe:a9fe]/x",
        "http://169.254.170.2/v2/credentials",
        "http://169.254.170.23/v1/credentials",
        "http://metadata/computeMetadata/v1/",
        "http://metadata.google.internal./",
        "URL:file:///etc/passwd",
        "<file:///etc/passwd>",
        "@/etc/passwd",
        "--file=/etc/passwd",
        "body=@/etc/passwd",
        "HEAD:.env",
        '/home/user/project/.env"',
        "/home/user/project/.env'",
        'C:\\Users\\u\\.env"',
        "C:\\Users\\u\\.env::$DATA",
        "C:\\Users\\u\\.ssh::$INDEX_ALLOCATION\\id_rsa",
        "origin/main:config/.env",
        "/etc/pass*",
        "/e?c/shadow",
        "/[e]tc/{passwd,x}",
        "/{etc,x}/passwd",
        "~/.ss?/id_*",
        "~/.claude/.credentials.json",
        "/home/user/.codex/auth.json",
        "~/.gemini/oauth_creds.json",
        "/home/user/.config/Cursor/User/globalStorage/state.vscdb",
        "~/.config/gh/hosts.yml",
        "C:\\Users\\u\\AppData\\Roaming\\GitHub CLI\\hosts.yml",
        "~/.pgpass",
        "~/.local/share/keyrings/login.keyring",
        "/Users/u/Library/Keychains/login.keychain-db",
        "~/.mozilla/firefox/x.default/logins.json",
        "~/.config/google-chrome/Default/Cookies",
        "/Users/u/Library/Application Support/Google/Chrome/Default/Login Data",
        "~/.bashrc",
        "/home/user/.zshenv",
        "~/.bash_history",
        "project/.git/hooks/pre-commit",
        ".git/config",
        ".git/config.worktree",
        "project/.git/commondir",
        ".git/modules/a/b/config",
        "~/.claude/settings.local.json",
    ],
)
@pytest.mark.parametrize("paths", [TEXT_ONLY, IN_PROJECT], ids=["text", "project"])
def test_secrets_and_system_files_are_denied_in_any_argument(value: str, paths: Paths) -> None:
    for arguments in ({"path": value}, {"a": {"b": [value]}}, {"x": 1, "command": value}):
        assert action(DEFAULT, arguments, tool="anything", paths=paths) == "deny"
    assert on_method(DEFAULT, "resources/read", uri=value) == "deny"
    assert on_method(DEFAULT, "completion/complete", argument={"value": value}) == "deny"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("shell_execute", {"command": "ls"}),
        ("run_code", {}),
        ("run-code", {}),
        ("remote-shell-start", {}),
        ("mcp_Bash", {}),
        ("read_file", {"path": "/home/user/project/a.txt"}),
        ("anything", {"environment": "x", "text": "etc. and so on"}),
        ("anything", {"text": "see /etc/passwd", "to": "user@example.com", "at": "12:30"}),
        ("find", {"pattern": "**/*.json", "path": "src/*/config"}),
        ("grep", {"pattern": "^foo.*[a-z]+$", "include": "*.{ts,tsx}"}),
        ("git", {"revision": "HEAD:src/main.py", "remote": "git@github.com:a/b.git"}),
        ("read_file", {"path": "/home/user/project/package.json"}),
        ("read_file", {"path": "/home/user/project/.github/workflows/ci.yml"}),
        ("read_file", {"path": "/home/user/project/CLAUDE.md"}),
        ("read_file", {"path": "/home/user/project/.vscode/settings.json"}),
        ("fetch", {"url": "https://example.com/metadata/etc/passwd?a=*"}),
        ("fetch", {"url": "http://[2001:db8::1]:8080/x"}),
    ],
)
def test_everything_else_is_asked_about(tool: str, arguments: dict[str, Any]) -> None:
    assert action(DEFAULT, arguments, tool=tool, paths=IN_PROJECT) == "prompt"


def test_no_tool_writes_where_git_finds_its_settings_and_all_may_name_it() -> None:
    for tool in ("write_file", "edit_file", "create_file"):
        assert action(DEFAULT, {"path": "/home/user/project/.git"}, tool=tool) == "deny"
    for arguments in ({"excludePatterns": [".git"]}, {"path": "a", "content": ".git"}):
        assert action(DEFAULT, arguments, tool="write_file", paths=IN_PROJECT) == "prompt"


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_the_files_in_which_clients_keep_their_servers_are_denied(platform: str) -> None:
    machine = Machine("/home/somebody", {}, platform)
    project = PurePosixPath("/srv/project")
    for client in CLIENTS:
        for file in (*user_files(client, machine), *project_files(client, project)):
            assert action(DEFAULT, {"path": str(file)}, tool="write_file") == "deny", file


@pytest.mark.parametrize(
    "tool",
    [
        *("run_code", "run-code", "Remote-Shell", "code-execute", "start_process", "eval", "cmd"),
        *("pwsh", "python", "run_python", "spawn", "ssh", "ssh_exec", "repl", "node_repl"),
        *(
            "browser_evaluate",
            "startProcess",
            "interact_with_process",
            "send_to_process",
            "js_eval",
        ),
    ],
)
def test_what_runs_programs_is_asked_about_by_a_rule_of_its_own(tool: str) -> None:
    decided = DEFAULT.decide(Call("tools/call", tool, {}), (), TEXT_ONLY)
    assert (decided.action, decided.reason) == ("prompt", "This tool runs programs")


def test_what_servers_ask_of_the_model_is_asked_about() -> None:
    assert on_method(DEFAULT, "sampling/createMessage", messages=[]) == "prompt"
    assert on_method(DEFAULT, "prompts/get", name="x") == "prompt"


@pytest.mark.parametrize("method", ["resources/write", "tools/execute", "shell/run"])
def test_what_mcp_does_not_have_is_denied(method: str) -> None:
    assert on_method(DEFAULT, method, uri="file:///x") == "deny"
    assert on_method(DEFAULT, "completion/complete", argument={"value": "x"}) == "allow"


def test_every_rule_says_why() -> None:
    assert all(rule.description for rule in DEFAULT.rules)


def test_the_example_in_it_is_a_rule() -> None:
    lines = [line.removeprefix("#   ") for line in DEFAULT_POLICY.splitlines()]
    start = lines.index("[[rule]]", lines.index("# Allow what you trust here, for example:"))
    example = "\n".join(lines[start : start + 5])
    assert tomllib.loads(example)["rule"][0]["args"] == {"path": "~/projects/**"}
    assert read_policy(example, "p").rules[0].only_args


def test_it_is_written_once_and_for_its_owner_only(tmp_path: Path) -> None:
    file = tmp_path / "a" / "b" / "policy.toml"
    assert write_default_policy(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert len(PolicyFile(file).current().rules) == len(DEFAULT.rules)
    file.write_text("# mine")
    assert not write_default_policy(file)
    assert file.read_text() == "# mine"


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PolicyError, match="file"):
        write_default_policy(tmp_path / "file" / "policy.toml")
    with pytest.raises(PolicyError, match="file"):
        write_default_policy(tmp_path / "file" / "deeper" / "policy.toml")


@pytest.mark.parametrize(
    ("source", "destination"),
    [
        ("/home/user/.docker", "/home/user/x"),
        ("~/.config", "~/old"),
        ("/home/user/x", "/home/user/.config"),
        ("/srv/app/.git", "/srv/app/g"),
        ("~/.local/share/claw", "~/x"),
        ("~/.local/share", "~/x"),
        ("/home/user", "/tmp/x"),
        ("~/", "/tmp/x"),
        ("/", "/tmp/x"),
    ],
)
def test_a_folder_stays_where_it_is_if_what_it_holds_is_denied(
    source: str, destination: str
) -> None:
    moved = {"source": source, "destination": destination}
    for tool in ("move_file", "rename", "copy_directory", "fs.symlink"):
        assert action(DEFAULT, moved, tool=tool, paths=IN_PROJECT) == "deny"


def test_ordinary_folders_may_be_moved() -> None:
    for folder in ("~/Code", "/srv/app/config", "/srv/app/src", "~/projects/app", "docs"):
        moved = {"source": folder, "destination": f"{folder}-old"}
        assert action(DEFAULT, moved, tool="move_file", paths=IN_PROJECT) == "prompt"
