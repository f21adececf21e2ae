"""The commands with the base install alone: no package of an extra, no metadata of our own."""

from __future__ import annotations

import json
import os
import sys
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import clawkit
from tests.claw import Done, finished
from tests.processes import ROOT, stdio_server

# Without `-S` Python would add the packages of the environment that the tests run in.
CLAW = (sys.executable, "-S", "-m", "clawkit")
STORE = "postgresql://claw:hidden-word@127.0.0.1:1/memory"
ADVICE = "pip install 'clawkit[being]'"


def base_packages() -> dict[str, metadata.Distribution]:
    """What `pip install clawkit` installs beside it."""
    found: dict[str, metadata.Distribution] = {}
    left: list[tuple[str, tuple[str, ...]]] = [("clawkit", ())]
    while left:
        name, extras = left.pop()
        for text in metadata.requires(name) or ():
            wanted = Requirement(text)
            here = wanted.marker is None or any(
                wanted.marker.evaluate({"extra": extra}) for extra in ("", *extras)
            )
            if here and canonicalize_name(wanted.name) not in found:
                found[canonicalize_name(wanted.name)] = metadata.distribution(wanted.name)
                left.append((wanted.name, tuple(wanted.extras)))
    return found


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Our bare source and a folder with those packages, as Python's path."""
    folder = tmp_path_factory.mktemp("packages")
    for distribution in base_packages().values():
        for file in distribution.files or ():
            place = folder / file.parts[0]
            if file.parts[0] != ".." and not place.exists():
                place.symlink_to(Path(str(distribution.locate_file(file.parts[0]))))
    return os.pathsep.join((str(ROOT / "src"), str(folder)))


def run(packages: str, *arguments: str, code: int = 0) -> Done:
    """Run a command whose store is a database that it has no driver for."""
    env = {"PYTHONPATH": packages, "CLAW_STORE": STORE}
    done = finished(*CLAW, *arguments, code=code, env=env)
    assert "Traceback" not in done.stderr
    assert "hidden-word" not in done.stdout + done.stderr
    return done


@pytest.mark.parametrize(
    "command",
    [
        ("being", "serve", "--port", "0"),
        ("being", "stdio", "team"),
        ("being", "list"),
        ("memory",),
        ("recall", "something"),
        ("remember", "something"),
        ("install", "--being", "team", "claude-desktop"),
    ],
    ids=" ".join,
)
def test_postgresql_without_its_extra_is_one_line_that_says_what_to_install(
    packages: str, command: tuple[str, ...]
) -> None:
    done = run(packages, *command, code=1)
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.endswith(ADVICE)
    assert "postgresql://127.0.0.1:1/memory" in line


def test_doctor_and_status_report_the_missing_extra_among_the_rest(packages: str) -> None:
    found = json.loads(run(packages, "doctor", "--json", code=1).stdout)
    problems = [one["detail"] for one in found["checks"] if one["state"] == "problem"]
    assert [problem.endswith(ADVICE) for problem in problems] == [True]
    env = {"PYTHONPATH": packages, "CLAW_STORE": STORE}
    state = finished(*CLAW, "status", "--json", env=env)
    assert json.loads(state.stdout)["memory"]["problem"].endswith(ADVICE), state.stderr


def test_ask_answers_and_says_once_that_memory_is_out_of_reach(packages: str) -> None:
    done = run(packages, "ask", "Hello there")
    assert "Hello" in done.stdout
    (line,) = done.stderr.splitlines()
    assert line.startswith("claw ask: memory is out of reach: ")
    assert line.endswith(ADVICE)


def test_a_being_is_served_from_bare_source(packages: str, tmp_path: Path) -> None:
    env = {"PYTHONPATH": packages, "CLAW_STORE": f"sqlite:{tmp_path}/b.db", "CLAW_EMBEDDER": "none"}
    finished(*CLAW, "being", "create", "team", code=0, env=env)
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t"}}
    with stdio_server(*CLAW, "being", "stdio", "team", env=env) as server:
        found = server.call("initialize", hello)
    assert found["result"]["serverInfo"]["version"] == clawkit.__version__


def test_a_module_run_by_python_calls_itself_claw(packages: str) -> None:
    assert "Usage: claw being list " in run(packages, "being", "list", "--help").stdout
    assert "Usage: claw " in run(packages, "--nonsense", code=2).stderr


def test_tools_of_files_can_be_called_and_other_servers_name_their_extra(packages: str) -> None:
    calculator = str(ROOT / "examples" / "calculator.py")
    done = run(packages, "call", calculator, "calculator", "operation=add", "a=2", "b=3")
    assert done.stdout == "Result: 5\n"
    elsewhere = run(packages, "call", "--url", "http://127.0.0.1:9/mcp", code=1)
    assert "pip install 'clawkit[servers]'" in elsewhere.stderr


@pytest.mark.parametrize(
    "command",
    [
        ("being", "serve", "--port", "0", "--login"),
        ("serve", str(ROOT / "examples" / "calculator.py"), "--http", "0", "--login"),
        ("mcp-server", "--http", "0", "--login"),
        ("proxy", "--listen", "0", "--url", "http://127.0.0.1:9/mcp", "--login"),
        ("user", "add", "ada"),
    ],
    ids=" ".join,
)
def test_logins_without_their_extra_are_one_line_that_says_what_to_install(
    packages: str, tmp_path: Path, command: tuple[str, ...]
) -> None:
    env = {"PYTHONPATH": packages, "CLAW_STORE": f"sqlite:{tmp_path}/b.db", "CLAW_EMBEDDER": "none"}
    done = finished(*CLAW, *command, code=1, env=env)
    (line,) = done.stderr.splitlines()
    assert line.endswith("pip install 'clawkit[login]'")


def test_servers_without_logins_load_nothing_of_them() -> None:
    servers = "clawkit.cli.being.command, clawkit.cli.serve, clawkit.cli.mcp_server"
    loaded = f"import sys, {servers}, clawkit.memory.http.app; print(*sys.modules)"
    modules = finished(sys.executable, "-c", loaded, code=0).stdout.split()
    assert "clawkit.memory.http.app" in modules
    ours = ("clawkit.login", "argon2", "cryptography", "jwt", "webauthn")
    assert [name for name in modules if name.startswith(ours)] == []
