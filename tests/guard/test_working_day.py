"""A day of ordinary work behind the guard as `claw wrap` sets it up, and how often it asks.

The filesystem and git servers are the real ones; fetch and the issue tracker are stand-ins that
speak MCP over stdio and HTTP on loopback.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.claw import claw
from tests.guard.guarded_server import CLIENT
from tests.guard.test_real_servers import PACKAGES
from tests.nodejs import node_program
from tests.processes import ROOT, StdioServer

DAY = Path(__file__).parent / "day"
STAND_INS = {"mcp-server-fetch": "fetch_server.py", "github-mcp-server": "tracker_server.py"}
MOST_QUESTIONS = 10
FOLDER = "allow this tool in this folder always"
TOOL = "allow this tool for this session"
ONCE = "allow once"
# What the person answers, by the tool that is asked about.
ANSWERS = {
    "write_file": FOLDER,
    "edit_file": FOLDER,
    "create_directory": FOLDER,
    "git_add": TOOL,
    "git_commit": FOLDER,
    "git_create_branch": ONCE,
    "git_checkout": ONCE,
    "fetch": ONCE,
    "add_issue_comment": TOOL,
    "create_issue": ONCE,
}


class Web(BaseHTTPRequestHandler):
    """Every page there is, and the tracker's REST API."""

    def do_GET(self) -> None:
        self._say({"path": self.path})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self._say({"path": self.path, "took": json.loads(body)})

    def _say(self, content: dict[str, Any]) -> None:
        data = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def web() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Web) as serving:
        thread = Thread(target=serving.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{serving.server_port}"
        serving.shutdown()
        thread.join()


@pytest.fixture
def project(home: Path) -> Path:
    """A repository with a few files, among them one that nobody may read."""
    folder = home / "projects" / "app"
    (folder / "src").mkdir(parents=True)
    for number in range(12):
        (folder / "src" / f"part{number}.py").write_text(f"number = {number}\n")
    (folder / ".env.example").write_text("TOKEN=\n")
    (folder / ".env").write_text("TOKEN=mine\n")
    (folder / "deploy").mkdir()
    (folder / "deploy" / "id_rsa.pub").write_text("ssh-rsa AAAA me\n")
    for words in (
        ("init", "-q", "-b", "main"),
        ("config", "user.email", "me@example.org"),
        ("config", "user.name", "Me"),
        ("add", "src"),
        ("commit", "-q", "-m", "The start"),
    ):
        subprocess.run(("git", *words), cwd=folder, check=True)
    return folder


def write_entries(home: Path, project: Path, web: str) -> None:
    """What a person has in Cursor's file before the first wrap."""
    programs = home / ".local" / "bin"
    programs.mkdir(parents=True)
    for name, stand_in in STAND_INS.items():
        (programs / name).write_text(f"#!{sys.executable}\n{(DAY / stand_in).read_text()}")
        (programs / name).chmod(0o755)
    packages = home / ".local" / "lib" / "node_modules"
    packages.parent.mkdir(parents=True)
    packages.symlink_to(PACKAGES.parent)
    script = packages / PACKAGES.name / "server-filesystem" / "dist" / "index.js"
    arguments = [str(script), str(home / "projects")]
    entries = {
        "files": {"command": node_program(), "args": arguments},
        "git": {
            "command": sys.executable,
            "args": ["-m", "mcp_server_git", "--repository", str(project)],
        },
        "web": {"command": str(programs / "mcp-server-fetch")},
        "tracker": {
            "command": str(programs / "github-mcp-server"),
            "args": ["stdio"],
            "env": {"GITHUB_API": web, "GITHUB_PERSONAL_ACCESS_TOKEN": "token-of-the-test"},
        },
    }
    file = home / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"mcpServers": entries}))


class Person:
    """Answers what is asked, as one does who wants to get on with it, and counts."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.calls = 0

    def answer(self, question: dict[str, Any]) -> dict[str, Any]:
        tool = re.search(r"tool: (\w+)", question["params"]["message"])
        assert tool is not None
        self.asked.append(tool[1])
        content = {"decision": ANSWERS[tool[1]]}
        return {"action": "accept", "content": content}


class Connection:
    """A client with forms, at one wrapped server."""

    def __init__(self, entry: dict[str, Any], person: Person, env: dict[str, str]) -> None:
        given = {**env, **entry.get("env", {})}
        self._guard = StdioServer(entry["command"], *entry["args"], env=given)
        self._person = person
        self._next = 0
        about = {"capabilities": {"elicitation": {}}, "clientInfo": CLIENT}
        self.ask("initialize", {"protocolVersion": "2025-11-25", **about})
        self._guard.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.ask("tools/list", {})

    def stop(self) -> None:
        self._guard.stop()

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._next += 1
        self._guard.send({"jsonrpc": "2.0", "id": self._next, "method": method, "params": params})
        while True:
            message = self._guard.receive()
            if message.get("method") == "elicitation/create":
                result = self._person.answer(message)
                self._guard.send({"jsonrpc": "2.0", "id": message["id"], "result": result})
            elif message.get("id") == self._next:
                return message

    def call(self, tool: str, /, **arguments: Any) -> str:
        """The text of a result: whatever is harmless must have one."""
        self._person.calls += 1
        reply = self.ask("tools/call", {"name": tool, "arguments": arguments})
        assert "error" not in reply, (tool, arguments, reply["error"])
        assert not reply["result"].get("isError"), (tool, arguments, reply["result"])
        return reply["result"]["content"][0]["text"]

    def refused(self, tool: str, /, **arguments: Any) -> str:
        reply = self.ask("tools/call", {"name": tool, "arguments": arguments})
        assert reply["error"]["code"] == -32001, (tool, arguments, reply)
        return reply["error"]["message"]


@contextmanager
def connections(home: Path, person: Person, **env: str) -> Iterator[dict[str, Connection]]:
    """Every server of the client's file, started as the client would."""
    entries = json.loads((home / ".cursor" / "mcp.json").read_text())["mcpServers"]
    with ExitStack() as stack:
        found: dict[str, Connection] = {}
        for name, entry in entries.items():
            found[name] = Connection(entry, person, env)
            stack.callback(found[name].stop)
        yield found


def read(at: dict[str, Connection], project: Path) -> None:
    """The morning: looking around."""
    files, git, tracker = at["files"], at["git"], at["tracker"]
    repo = {"owner": "me", "repo": "app"}
    assert str(project.parent) in files.call("list_allowed_directories")
    files.call("list_directory", path=str(project))
    files.call("list_directory_with_sizes", path=str(project / "src"), sortBy="size")
    files.call("directory_tree", path=str(project), excludePatterns=[".git"])
    files.call("search_files", path=str(project), pattern="**/*.py")
    for number in range(12):
        path = str(project / "src" / f"part{number}.py")
        assert f"number = {number}" in files.call("read_text_file", path=path)
    paths = [str(project / "src" / f"part{number}.py") for number in (1, 2, 3)]
    files.call("read_multiple_files", paths=paths)
    files.call("read_text_file", path=paths[0], head=1)
    files.call("get_file_info", path=paths[0])
    assert "TOKEN" in files.call("read_text_file", path=str(project / ".env.example"))
    assert "ssh-rsa" in files.call("read_text_file", path=str(project / "deploy" / "id_rsa.pub"))
    for _ in range(3):
        git.call("git_status", repo_path=str(project))
    assert "The start" in git.call("git_log", repo_path=str(project), max_count=5)
    git.call("git_show", repo_path=str(project), revision="HEAD")
    git.call("git_branch", repo_path=str(project), branch_type="local")
    for state in ("open", "closed"):
        tracker.call("list_issues", **repo, state=state)
    for number in (1, 2, 3, 4):
        tracker.call("get_issue", **repo, issue_number=number)
    for page in (
        "http://docs.example.org/api",
        "http://www.example.com/",
        "http://example.net/a?b=c",
    ):
        assert page in at["web"].call("fetch", url=page, max_length=2000)


def write(at: dict[str, Connection], project: Path, web: str) -> None:
    """The afternoon: a change, its commits, what others are told about it."""
    files, git, tracker = at["files"], at["git"], at["tracker"]
    repo = {"owner": "me", "repo": "app"}
    place = str(project)
    git.call("git_create_branch", repo_path=place, branch_name="change")
    git.call("git_checkout", repo_path=place, branch_name="change")
    files.call("create_directory", path=str(project / "tests"))
    for number in range(6):
        folder = project / ("src" if number % 2 else "tests")
        name = folder / f"new{number}.py"
        files.call("write_file", path=str(project / f"notes{number}.md"), content="# Notes\n")
        files.call("write_file", path=str(name), content=f"new = {number}\n")
    for number in range(5):
        edits = [{"oldText": f"number = {number}", "newText": f"number = {number + 1}"}]
        name = project / "src" / f"part{number}.py"
        files.call("edit_file", path=str(name), edits=edits)
    for number in range(3):
        git.call("git_diff_unstaged", repo_path=place)
        git.call("git_add", repo_path=place, files=[f"src/part{number}.py"])
        git.call("git_diff_staged", repo_path=place, context_lines=2)
        git.call("git_commit", repo_path=place, message=f"- change {number}")
    git.call("git_diff", repo_path=place, target="main")
    at["web"].call("fetch", url=f"{web}/my/own/page")
    for number in (1, 2, 3):
        text = f"Fixed by change {number}, see src/part{number}.py"
        tracker.call("add_issue_comment", **repo, issue_number=number, body=text)
    body = "The script reads ~/.ssh/config, and should not."
    assert ".ssh" in tracker.call("create_issue", **repo, title="Too curious", body=body)


def attack(at: dict[str, Connection], home: Path, project: Path) -> None:
    """What stays denied after all these answers."""
    files, git = at["files"], at["git"]
    files.refused("read_text_file", path=str(project / ".env"))
    files.refused("read_multiple_files", paths=[str(project / "src/part1.py"), "~/.ssh/id_rsa"])
    files.refused("write_file", path=str(project / ".git/hooks/pre-commit"), content="x")
    files.refused("write_file", path=str(project / ".cursor/mcp.json"), content="x")
    files.refused("write_file", path=str(home / ".bashrc"), content="x")
    git.refused("git_diff", repo_path=str(project), target=f"--output={project}/x")
    at["web"].refused("fetch", url="http://169.254.169.254/latest/meta-data/")
    at["tracker"].refused("add_issue_comment", owner="~/.ssh/id_rsa", body="x")


def test_a_day_of_work_asks_ten_times_at_most_and_refuses_nothing_harmless(
    home: Path, project: Path, web: str
) -> None:
    write_entries(home, project, web)
    wrapped = claw("wrap", "--all", "--client", "cursor")
    assert wrapped.returncode == 0, wrapped.stderr
    person = Person()
    env = {"http_proxy": web, "no_proxy": "127.0.0.1", "HOME": str(home)}
    with connections(home, person, **env) as at:
        read(at, project)
        assert person.asked == []
        write(at, project, web)
        asked, calls = len(person.asked), person.calls
        attack(at, home, project)
    assert len(person.asked) == asked, "an attack was asked about"
    assert asked <= MOST_QUESTIONS, person.asked
    counted = f"{calls} calls, {asked} questions"
    assert counted in (ROOT / "docs" / "guard.md").read_text(), counted
