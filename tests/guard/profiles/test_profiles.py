"""What each profile lets pass, asks about and leaves denied, and which command lines have one."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from clawkit.guard.authoring.default_policy import DEFAULT_POLICY
from clawkit.guard.authoring.lint import lint
from clawkit.guard.policy.call import Call
from clawkit.guard.policy.parser import read_policy
from clawkit.guard.policy.paths import Paths
from clawkit.guard.policy.policy import Policy
from clawkit.guard.profiles.profile import profile_at, profile_names, profile_of, profile_text

HOME = "/home/me"
FILES = "npx -y @modelcontextprotocol/server-filesystem /home/me/p"
WHOLE_HOME = "npx -y @modelcontextprotocol/server-filesystem /home/me"
GIT = "uvx mcp-server-git --repository /home/me/p"
FETCH = "uvx mcp-server-fetch"
SQLITE = "uvx mcp-server-sqlite --db-path /home/me/x.db"
POSTGRES = "npx -y @modelcontextprotocol/server-postgres postgresql://localhost/db"
GITHUB = "docker run -i --rm -e GITHUB_PERSONAL_ACCESS_TOKEN ghcr.io/github/github-mcp-server"


@cache
def policy_for(command: str) -> Policy:
    profile = profile_of(command.split(), "/", HOME)
    assert profile is not None, command
    return read_policy(DEFAULT_POLICY, "policy.toml", profile.rules)


def decided(command: str, tool: str, at: Paths | None = None, /, **arguments: Any) -> str:
    call = Call("tools/call", tool, arguments)
    place = at or Paths(cwd="/", home=HOME)
    return policy_for(command).decide(call, ("any",), place).action


@pytest.mark.parametrize(
    "command",
    [
        "npx @modelcontextprotocol/server-filesystem@latest /x",
        "cmd /c npx -y @modelcontextprotocol/server-github",
        "bunx @modelcontextprotocol/server-memory",
        "uvx mcp-server-git@1.2",
        "uvx --from mcp-server-git==2025.1 mcp-server-git -r /x",
        "uv tool run mcp-server-fetch",
        "pipx run mcp-server-time",
        "python3.12 -m mcp_server_fetch",
        "/opt/bin/mcp-server-git -r /x",
        "/home/me/.local/bin/uvx mcp-server-git -r /x",
        "C:\\Users\\me\\.local\\bin\\uvx.exe mcp-server-git -r /x",
        f"{sys.executable} -m mcp_server_fetch",
        "docker run -i --rm mcp/fetch:1 --user-agent x",
        "docker run -i -e GITLAB_API_URL=https://x --env=GITLAB_TOKEN mcp/gitlab",
        "podman run -i --rm -e GITHUB_PERSONAL_ACCESS_TOKEN mcp/github",
        "node /usr/lib/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js /y",
    ],
)
def test_a_known_command_line_has_a_profile(command: str) -> None:
    home = "C:/Users/me" if "Users" in command else HOME
    assert profile_of(command.split(), "/", home)


@pytest.mark.parametrize(
    "command",
    [
        "",
        "npx -y evil @modelcontextprotocol/server-filesystem /x",
        "npx --package=evil @modelcontextprotocol/server-filesystem /x",
        "npx -p evil @modelcontextprotocol/server-filesystem",
        "npx -c evil @modelcontextprotocol/server-filesystem",
        "npx -y @modelcontextprotocol/server-filesystem@npm:evil /x",
        "npx -y @modelcontextprotocol/server-filesystem@file:../x",
        "npx -y @modelcontextprotocol/server-filesystem@github:evil/x",
        *(
            f"npx -y @modelcontextprotocol/server-filesystem@{version} /x"
            for version in ("..", ".", ".evil", "evil.tgz", "1.tgz", "1.0.tar.gz", "x.tar", "^")
        ),
        *(f"uvx mcp-server-git@{path} -r /x" for path in ("evil", "..", ".", "latest2")),
        *(f"pipx run mcp-server-time{path}" for path in ("@evil", "==evil")),
        "uvx --from mcp-server-git@evil mcp-server-git -r /x",
        "npx @modelcontextprotocol/server-filesystem-evil",
        "npx @modelcontextprotocol/Server-filesystem",
        "uvx --from evil mcp-server-git",
        "uvx --with evil mcp-server-git",
        "uvx --default-index x mcp-server-git",
        "uvx mcp-server-git[evil]",
        "uvx git+https://x/mcp-server-git",
        "docker run --entrypoint sh mcp/fetch",
        "docker run evil mcp/fetch",
        "docker run evil.example/mcp/fetch",
        *(
            f"{program} run -i --rm {option} {image} /projects"
            for program in ("docker", "podman", "nerdctl", "docker container")
            for image in ("mcp/filesystem", "mcp/git", "docker.io/mcp/filesystem:latest")
            for option in (
                "",
                "-v /home/me:/projects",
                "--mount type=bind,src=/home/me,dst=/projects",
            )
        ),
        *(
            f"{program} run -i {option} mcp/fetch"
            for program in ("docker", "podman")
            for option in (
                *(
                    "-v /tmp/evil:/app",
                    "-v/tmp/evil:/app",
                    "-v=/tmp/evil:/app",
                    "-iv /tmp/evil:/app",
                ),
                *("--volume /tmp/evil:/app", "--volume=/tmp/evil:/app", "--volumes-from evil"),
                *("--mount type=bind,src=/tmp/evil,dst=/app", "--mount=type=bind,src=/e,dst=/app"),
                *("-e PATH=/x", "-ePATH=/x", "--env=NODE_OPTIONS=-r/x", "--env-file x", "-w /x"),
                *("--user x", "--privileged", "--pid=host", "--network host"),
            )
        ),
        "./mcp-server-git --repository /x",
        "bin/mcp-server-git --repository /x",
        "/tmp/evil/mcp-server-git --repository /x",
        "/usr/../tmp/evil/mcp-server-git --repository /x",
        "/home/me/p/.venv/bin/mcp-server-git --repository /x",
        "C:mcp-server-git --repository /x",
        "/tmp/evil/npx -y @modelcontextprotocol/server-filesystem /x",
        "/tmp/evil/python -m mcp_server_fetch",
        "/tmp/evil/docker run mcp/fetch",
        "/tmp/evil/cmd /c npx -y @modelcontextprotocol/server-github",
        "cmd /c npx -y @modelcontextprotocol/server-filesystem /x&evil",
        "cmd /c npx -y @modelcontextprotocol/server-filesystem /x & evil",
        "npx.cmd -y @modelcontextprotocol/server-filesystem /x|evil",
        "npx -y @modelcontextprotocol/server-filesystem /x --flag /etc",
        "uvx mcp-server-fetch --proxy-url http://127.0.0.1:9",
        "uvx mcp-server-git --repository /x --other=/y",
        "node /tmp/evil/node_modules/@modelcontextprotocol/server-filesystem/x.js /x",
        "node node_modules/@modelcontextprotocol/server-filesystem/x.js /x",
        "node /usr/lib/../../tmp/node_modules/@modelcontextprotocol/server-filesystem/x.js /x",
        "python -c x -m mcp_server_git",
        "python mcp_server_git",
        "env mcp-server-git",
        "sh -c mcp-server-git",
        "node -r evil /usr/lib/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js",
        "node /usr/lib/node_modules/@modelcontextprotocol/server-filesystem/../../evil/i.js",
        "node /usr/lib/node_modules/@modelcontextprotocol/server-filesystem/node_modules/evil/i.js",
    ],
)
def test_a_command_line_that_may_start_something_else_has_none(command: str) -> None:
    assert profile_of(command.split(), "/", HOME) is None


@pytest.mark.parametrize(
    "variable",
    [
        *("NODE_OPTIONS", "LD_PRELOAD", "PYTHONPATH", "PATH", "HOME", "npm_config_registry"),
        *("NPM_CONFIG_REGISTRY", "UV_INDEX_URL", "UV_DEFAULT_INDEX", "PIP_INDEX_URL"),
        *("DOCKER_HOST", "GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF", "OPENSSL_CONF", "BASH_ENV"),
    ],
)
def test_a_variable_that_may_change_what_is_started_leaves_a_server_unknown(variable: str) -> None:
    for command in (FILES, GIT, FETCH, GITHUB):
        assert profile_of(command.split(), "/", HOME, ("LOG_LEVEL", variable)) is None


def test_variables_that_are_settings_leave_the_profile_and_unknown_ones_do_not() -> None:
    settings = ("GITHUB_PERSONAL_ACCESS_TOKEN", "LOG_LEVEL", "HTTPS_PROXY", "PYTHONUNBUFFERED")
    assert profile_of(GITHUB.split(), "/", HOME, settings)
    assert profile_of(GITHUB.split(), "/", HOME, None) is None


def test_a_folder_with_a_backslash_in_its_name_is_not_another_folder(tmp_path: Path) -> None:
    (tmp_path / "a\\b").mkdir()
    profile = profile_of([*FILES.split()[:3], str(tmp_path / "a\\b")], "/", HOME)
    assert profile is not None
    assert profile.roots == ()


def test_no_tool_of_git_takes_an_option_for_a_name_and_a_message_may_begin_with_a_dash() -> None:
    place = {"repo_path": "/home/me/p"}
    assert decided(GIT, "git_checkout", **place, branch_name="--detach") == "deny"
    assert decided(GIT, "git_create_branch", **place, branch_name="-f") == "deny"
    assert decided(GIT, "git_add", **place, files=["a", "--pathspec-from-file=x"]) == "deny"
    assert decided(GIT, "git_checkout", **place, branch_name="main") == "prompt"
    assert decided(GIT, "git_commit", **place, message="- one\n- two") == "prompt"


def test_a_remote_server_is_known_by_its_whole_host() -> None:
    profile = profile_at("https://api.githubcopilot.com/mcp")
    assert profile is not None
    assert profile.name == "github"
    for url in (
        "https://api.githubcopilot.com.evil.example/mcp/",
        "http://api.githubcopilot.com/mcp/",
    ):
        assert profile_at(url) is None


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read_file", {"path": "/home/me/p/a.txt"}),
        ("read_text_file", {"path": "/home/me/p/a.txt", "head": 3}),
        ("read_multiple_files", {"paths": ["/home/me/p/a.txt", "/home/me/p/b/c"]}),
        ("list_directory", {"path": "/home/me/p"}),
        ("directory_tree", {"path": "/home/me/p", "excludePatterns": ["build"]}),
        ("search_files", {"path": "/home/me/p", "pattern": "*.py", "excludePatterns": ["x"]}),
        ("list_allowed_directories", {}),
        ("read_file", {"path": "/home/me/p/.env.example"}),
        ("read_file", {"path": "/home/me/p/keys/id_rsa.pub"}),
    ],
)
def test_reads_inside_the_roots_of_a_filesystem_server_pass(
    tool: str, arguments: dict[str, Any]
) -> None:
    assert decided(FILES, tool, **arguments) == "allow"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read_file", {"path": "/home/me/q/a.txt"}),
        ("read_file", {"path": "/home/me/p/../q/a.txt"}),
        ("read_file", {"path": "/home/me/p2/a.txt"}),
        ("read_file", {"path": "/home/me/P/a.txt"}),
        ("read_file", {"path": "/home/me/p/%2e%2e/q"}),
        ("read_file", {"path": '/home/me/p/a.txt"'}),
        ("read_file", {"path": "/home/me/p/a.txt", "Path": "/usr/x"}),
        ("read_file", {"path": "/home/me/p/a.txt", "encoding": "x"}),
        ("read_file", {"path": ["/home/me/p/a.txt"]}),
        ("read_multiple_files", {"paths": []}),
        ("read_multiple_files", {"paths": "/home/me/p/a.txt"}),
        ("read_multiple_files", {"paths": ["/home/me/p/a.txt", "/usr/b"]}),
        ("read_multiple_files", {"paths": ["/home/me/p/a.txt", ["/home/me/p/b"]]}),
        ("read_multiple_files", {"paths": [{"path": "/home/me/p/a.txt"}]}),
        ("write_file", {"path": "/home/me/p/a.txt", "content": "x"}),
        ("move_file", {"source": "/home/me/p/a", "destination": "/home/me/p/b"}),
        ("read_anything", {"path": "/home/me/p/a.txt"}),
    ],
)
def test_what_a_filesystem_server_does_elsewhere_or_otherwise_asks(
    tool: str, arguments: dict[str, Any]
) -> None:
    assert decided(FILES, tool, **arguments) == "prompt"


@pytest.mark.parametrize(
    "path",
    [
        "/home/me/p/.env",
        "/home/me/p/.env.example/../.env",
        "/home/me/p/.env.example.local",
        "/home/me/.ssh/id_rsa",
        "/home/me/.ssh/id_rsa:/home/me/.ssh/id_rsa.pub",
        "/home/me/.ssh/id_rsa /x/id_rsa.pub",
        "/home/me/.ssh/id_rsa,/x/id_rsa.pub",
        "/home/me/.ssh/id_rsa\n/x/id_rsa.pub",
        "/home/me/.ssh/id_rsa%00.pub",
        "/home/me/.ssh/id_rs?.pub",
        "/home/me/.ssh/config/x.pub",
        "/home/me/.cursor/mcp.json",
        "/home/me/.config/clawai/policy.toml",
    ],
)
def test_secrets_and_clients_configs_stay_denied_whatever_the_profile(path: str) -> None:
    assert decided(WHOLE_HOME, "read_file", path=path) == "deny"
    assert decided(WHOLE_HOME, "read_multiple_files", paths=["/home/me/a", path]) == "deny"


def test_a_root_that_holds_the_home_asks_about_its_hidden_files() -> None:
    assert decided(WHOLE_HOME, "read_file", path="/home/me/notes.txt") == "allow"
    assert decided(WHOLE_HOME, "read_file", path="/home/me/.config/tool/state") == "prompt"
    assert decided(FILES, "read_file", path="/home/me/p/.config/tool") == "allow"


@pytest.mark.parametrize("root", ["linked", "linked/", "linked/.", "home/../linked", "above"])
def test_a_link_to_the_home_is_the_home(tmp_path: Path, root: str) -> None:
    home = tmp_path / "home"
    (home / ".config").mkdir(parents=True)
    (tmp_path / "linked").symlink_to(home)
    (tmp_path / "above").symlink_to(tmp_path)
    profile = profile_of([*FILES.split()[:-1], f"{tmp_path}/{root}"], "/", str(home))
    assert profile is not None
    policy = read_policy(DEFAULT_POLICY, "policy.toml", profile.rules)
    place = Paths(cwd="/", home=str(home), resolve=True)
    for path, expected in (
        (home / "notes", "allow"),
        (home / ".config" / "state", "prompt"),
        (tmp_path / "linked" / ".config" / "state", "prompt"),
        (tmp_path / "above" / "home" / ".config" / "state", "prompt"),
    ):
        call = Call("tools/call", "read_file", {"path": str(path)})
        assert policy.decide(call, ("any",), place).action == expected, path


@pytest.mark.parametrize(
    "root", ["/", "//", "///", "/.", "/usr/..", "//usr/../", "/proc/self/root"]
)
def test_the_whole_disk_is_no_root(root: str) -> None:
    profile = profile_of([*FILES.split()[:-1], root], "/", HOME)
    assert profile is not None
    assert profile.roots == ()
    assert (
        decided("npx @modelcontextprotocol/server-filesystem /", "read_file", path="/x") == "prompt"
    )


def test_an_exempt_name_that_is_a_link_to_a_secret_stays_denied(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("x")
    (tmp_path / ".env.example").symlink_to(tmp_path / ".env")
    (tmp_path / ".env.sample").write_text("x")
    command = f"npx -y @modelcontextprotocol/server-filesystem {tmp_path}"
    place = Paths(cwd=str(tmp_path), home=HOME, resolve=True)
    assert decided(command, "read_file", place, path=f"{tmp_path}/.env.example") == "deny"
    assert decided(command, "read_file", place, path=f"{tmp_path}/.env.sample") == "allow"


def test_a_link_out_of_the_roots_asks(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (root / "link").symlink_to(outside)
    command = f"npx -y @modelcontextprotocol/server-filesystem {root}"
    place = Paths(cwd=str(root), home=HOME, resolve=True)
    assert decided(command, "read_file", place, path=f"{root}/link/a") == "prompt"
    assert decided(command, "read_multiple_files", place, paths=[f"{root}/a", "link/a"]) == "prompt"


def test_git_reads_its_repository_and_asks_about_others() -> None:
    assert decided(GIT, "git_status", repo_path="/home/me/p") == "allow"
    assert decided(GIT, "git_log", repo_path="/home/me/p", max_count=5) == "allow"
    assert decided(GIT, "git_diff", repo_path="/home/me/p", target="main") == "allow"
    assert decided(GIT, "git_status", repo_path="/home/me/q") == "prompt"
    assert decided(GIT, "git_status", repo_path="/home/me/p/vendored") == "prompt"
    assert decided(GIT, "git_commit", repo_path="/home/me/p", message="- fixed") == "prompt"
    assert decided("uvx mcp-server-git", "git_status", repo_path="/home/me/p") == "prompt"


@pytest.mark.parametrize("value", ["--output=/tmp/x", " --output=/tmp/x", "-O/tmp/x", "--ext-diff"])
def test_options_of_git_are_denied_where_a_revision_is_meant(value: str) -> None:
    for tool, argument in (
        ("git_diff", "target"),
        ("git_show", "revision"),
        ("git_branch", "contains"),
    ):
        assert decided(GIT, tool, repo_path="/home/me/p", **{argument: value}) == "deny"
        assert decided(GIT, tool, repo_path="/home/me/p", **{argument: [value]}) == "deny"


@pytest.mark.parametrize(
    "revision",
    [
        *("HEAD", "feature/x", "HEAD@{1 day ago}", "HEAD@{2024-01-01 10:30:00}", "a..b", ":0"),
        *("HEAD^{/initial commit}", "HEAD^{/initial\tcommit}", "HEAD^{/initial\ncommit}"),
        *("HEAD^{/a: b:c:d}", "HEAD^{/" + "a:" * 200 + "}", "HEAD^{/a=b}", "main:x.."),
        *("HEAD" + "~0" * 60, "HEAD" + "~0" * 3000, "HEAD" + "~0" * 20000, "@" + "^0" * 60),
    ],
)
def test_git_shows_no_secret_out_of_a_commit_however_that_is_named(revision: str) -> None:
    for path in (".env", "x/.env", ".ssh/id_rsa"):
        named = f"{revision}:{path}"
        assert decided(GIT, "git_show", repo_path="/home/me/p", revision=named) == "deny"
    named = f"{revision}:a.txt"
    assert decided(GIT, "git_show", repo_path="/home/me/p", revision=named) == "allow"


def test_a_value_of_nothing_but_colons_is_read_to_its_end() -> None:
    assert decided(FILES, "read_file", path=":" * 30000) == "prompt"
    assert decided(FILES, "read_file", path=":" * 30000 + ".env") == "deny"


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com",
        "https://docs.python.org/3/x?a=%2Fb#c",
        "http://xn--bcher-kva.example.org/a",
        "https://www.bbc.co.uk/news",
        "https://pkg.go.dev/x",
        "https://docs.rs/",
        "https://arxiv.org/abs/1",
    ],
)
def test_fetch_reads_public_hosts(url: str) -> None:
    assert decided(FETCH, "fetch", url=url, max_length=5000) == "allow"


@pytest.mark.parametrize(
    "url",
    [
        *("http://localhost/", "http://LOCALHOST/", "http://localhost./", "http://a.localhost/"),
        *("http://127.0.0.1/", "http://127.1/", "http://2130706433/", "http://0x7f000001/"),
        *(
            "http://0177.0.0.1/",
            "http://0x7f.1/",
            "http://\uff11\uff12\uff17.0.0.1/",
            "http://0/",
            "http://8.8.8.8/",
        ),
        *(
            "http://[::1]/",
            "http://[::ffff:127.0.0.1]/",
            "http://[::ffff:7f00:1]/",
            "http://[fe80::1]/",
        ),
        *(
            "http://[64:ff9b::7f00:1]/",
            "http://[fd00::1]/",
            "http://10.0.0.1/",
            "http://192.168.1.1/",
        ),
        *("http://kubernetes.default/", "http://db.prod/", "http://vault.service/"),
        *("http://a.intra/", "http://printer.workgroup/", "http://api.ns.svc.cluster/"),
        *("http://x.svc.cluster.local/", "http://nas.home.arpa/", "http://fritz.box/"),
        *("http://node.consul/", "http://a.example/", "http://x.corp./", "http://a.xn--x/"),
        *("http://printer.local/", "http://foo。local/", "http://db.internal/", "http://router/"),
        *(
            "http://127.0.0.1.nip.io/",
            "http://nip.io/",
            "http://x.localtest.me/",
            "http://a.ts.net/",
        ),
        *("http://127-0-0-1.example.com/", "http://10.0.0.1.example.com/", "http://localh.st/"),
        *(
            "https://example.com:8080/",
            "https://example.com@127.0.0.1/",
            "http://example.com\\@127.0.0.1/",
        ),
        *("http://example.com#@127.0.0.1/", "http://127.0.0.1#.example.com/", "http:127.0.0.1"),
        *(
            "http:/127.0.0.1",
            "http:///127.0.0.1/",
            "https://exa%6dple.com/",
            "https://exa\tmple.com/",
        ),
        *(
            "ftp://example.com/",
            "gopher://example.com/",
            "//example.com/",
            "example.com",
            "data:,x",
        ),
        *("https://ex\u200bample.com/", "https://\u0435xample.com/", "https://example.com /", " "),
    ],
)
def test_fetch_asks_about_what_may_be_local(url: str) -> None:
    assert decided(FETCH, "fetch", url=url) == "prompt"


def test_fetch_asks_about_arguments_that_it_does_not_have() -> None:
    assert decided(FETCH, "fetch", url="https://example.com", method="POST") == "prompt"
    assert decided(FETCH, "fetch", url="http://169.254.169.254/") == "deny"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1",
        "SELECT * FROM a WHERE b LIKE '%x%'",
        "SELECT 1; DROP TABLE a",
        "SELECT LOAD_Extension('x')",
        "PRAGMA writable_schema = 1",
        "ATTACH 'x' AS y",
        "SELECT pg_read_file('x')",
        "SELECT word FROM ts_stat('SELECT p'||'g_read_file(''/etc/hosts'')')",
        "SELECT ts_rewrite('a'::tsquery, 'SELECT 1')",
        "SELECT rolpassword FROM pg_authid",
        "COPY a TO PROGRAM 'x'",
    ],
)
def test_every_statement_of_sql_asks(sql: str) -> None:
    """A text filter cannot tell which functions a statement will run."""
    for tool in ("query", "execute_sql", "explain_query"):
        assert decided(POSTGRES, tool, sql=sql) == "prompt"
    for tool in ("read_query", "write_query", "create_table"):
        assert decided(SQLITE, tool, query=sql) == "prompt"


def test_sqlite_describes_tables_by_their_names() -> None:
    assert decided(SQLITE, "list_tables") == "allow"
    assert decided(SQLITE, "describe_table", table_name="users") == "allow"
    for name in ("a); x", "a' x", "a--", "(SELECT 1"):
        assert decided(SQLITE, "describe_table", table_name=name) == "prompt"


def test_postgres_tells_what_there_is_by_names() -> None:
    assert decided(POSTGRES, "list_schemas") == "allow"
    assert decided(POSTGRES, "list_objects", schema_name="public", object_type="table") == "allow"
    details = {"schema_name": "public", "object_name": "users"}
    assert decided(POSTGRES, "get_object_details", **details) == "allow"
    assert decided(POSTGRES, "analyze_db_health", health_type="index") == "allow"
    assert decided(POSTGRES, "list_schemas", sql="SELECT 1") == "prompt"
    assert decided(POSTGRES, "list_objects", schema_name="a' OR x(") == "prompt"
    assert decided(POSTGRES, "get_object_details", **details, sql="SELECT 1") == "prompt"


def test_an_issue_may_be_read_and_its_text_may_mention_a_secret_once_a_person_has_seen_it() -> None:
    assert decided(GITHUB, "list_issues", owner="a", repo="b") == "allow"
    text = "Please look at ~/.ssh/config"
    assert decided(GITHUB, "create_issue", owner="a", repo="b", title="x", body=text) == "prompt"
    assert decided(GITHUB, "create_issue", owner="a", repo="b", title="x", labels=[text]) == "deny"
    assert decided(GITHUB, "push_files", owner="a", repo="b", body=text) == "deny"
    assert decided(GITHUB, "get_file_contents", owner="a", repo="b", path="config/.env") == "deny"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("create_issue", {"body": "~/.ssh", "path": "/home/u/.ssh/id_rsa"}),
        ("create_issue", {"body": "/x/.env", "attach": ["/etc/shadow"]}),
        ("create_issue", {"body": "/x/.env", "title": "~/.ssh", "sub": {"p": "~/.ssh/id_rsa"}}),
        ("issue_write", {"title": "/x/.env", "body": "b", "file": "~/.aws/credentials"}),
        ("CREATE_ISSUE", {"body": "~/.ssh"}),
        ("create_issue", {"body": {"path": "/home/u/.ssh/id_rsa"}}),
        ("create_issue", {"body": ["/home/u/.ssh/id_rsa"]}),
        ("create_issue", {"body": "ok", "Body": "/home/u/.ssh/id_rsa"}),
        ("create_issue", {"Body": "/home/u/.ssh/id_rsa"}),
        ("create_issue", {"body": "~/.ssh", "x": {"body": "~/.ssh/id_rsa"}}),
    ],
)
def test_only_the_text_itself_is_asked_about_and_all_else_stays_denied(
    tool: str, arguments: dict[str, Any]
) -> None:
    assert decided(GITHUB, tool, **arguments) == "deny"
    # What a policy allows anew only after a second is decided in the same way.
    policy = policy_for(GITHUB).within(policy_for(GITHUB))
    call = Call("tools/call", tool, arguments)
    assert policy.decide(call, ("any",), Paths(cwd="/", home=HOME)).action == "deny"


def test_what_stands_outside_the_arguments_is_no_such_text() -> None:
    meta = {"_meta": {"body": "~/.ssh/id_rsa"}}
    for body in ("ok", "see ~/.ssh"):
        call = Call("tools/call", "create_issue", {"body": body}, (meta,))
        assert policy_for(GITHUB).decide(call, ("any",), Paths()).action == "deny"


def test_two_such_texts_in_a_call_are_one_question() -> None:
    call = {"title": "~/.ssh", "body": "see ~/.ssh/config"}
    assert decided(GITHUB, "create_issue", **call) == "prompt"


def test_the_question_about_such_a_text_is_about_each_call() -> None:
    call = Call("tools/call", "create_issue", {"body": "see ~/.ssh/config"})
    rule = policy_for(GITHUB).decide(call, ("any",), Paths()).rule
    assert rule is not None
    assert rule.each_call


def test_a_policy_without_a_place_for_profiles_is_not_widened_by_one() -> None:
    profile = profile_of(FILES.split(), "/", HOME)
    assert profile is not None
    text = '[[rule]]\naction = "deny"\ntool = "*"\n'
    policy = read_policy(text, "policy.toml", profile.rules)
    call = Call("tools/call", "read_file", {"path": "/home/me/p/a"})
    assert policy.decide(call, ("any",), Paths()).action == "deny"


def test_a_place_may_be_for_some_servers_only() -> None:
    profile = profile_of(FILES.split(), "/", HOME)
    assert profile is not None
    text = '[[rule]]\nprofile = "after"\nserver = "files"\n'
    policy = read_policy(text, "policy.toml", profile.rules)
    call = Call("tools/call", "read_file", {"path": "/home/me/p/a"})
    place = Paths(cwd="/", home=HOME)
    assert policy.decide(call, ("files",), place).action == "allow"
    assert policy.decide(call, ("other",), place).action == "deny"
    assert policy.decide(call, (), place).action == "deny"


def test_every_profile_can_be_read_and_linted() -> None:
    for name in profile_names():
        issues = lint(profile_text(name), name)
        assert not [each for each in issues if each.level == "error"], (name, issues)
