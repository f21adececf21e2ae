"""Tab in real shells: commands, options, and what there is on this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from clawkit.cli.completion.candidates import fitting
from clawkit.cli.completion.command_tree import CommandSpec, command_tree, read_tree
from clawkit.settings import settings
from tests.claw import PROGRAMS, claw
from tests.cli.commands import plain_environment
from tests.guard.terminal import Terminal, terminal
from tests.hosts.samples import BY_CLIENT

START = {
    "bash": ("bash", "--norc", "--noprofile", "-i"),
    "zsh": ("zsh", "-f", "-i"),
    "fish": ("fish", "--no-config", "-i"),
}
LOAD = {
    "bash": 'eval "$(claw completion bash)"; PS1="ready> "',
    "zsh": 'autoload -U compinit; compinit -u; source <(claw completion zsh); PS1="ready> "',
    "fish": 'claw completion fish | source; function fish_prompt; echo "ready> "; end',
}


@pytest.fixture(autouse=True)
def found_on_the_path(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain_environment(monkeypatch)
    monkeypatch.setenv("PATH", f"{PROGRAMS}:/usr/bin:/bin")
    monkeypatch.chdir(home)


def words(*line: str) -> list[str]:
    return [word.text for word in fitting(("claw", *line)).words]


@pytest.mark.parametrize("shell", START)
def test_tab_completes_commands_and_what_there_is(shell: str) -> None:
    claw("being", "create", "greenhouse", code=0)
    claw("ask", "Remember that the fern is dry.", "--session", "agent:main:garden", code=0)
    with started(shell) as window:
        for typed, becomes in {
            "claw uninst\t": "claw uninstall ",
            "claw being all\t": "claw being allow-secrets ",
            "claw being token create gr\t": "claw being token create greenhouse ",
            "claw sessions show agent:main:g\t": "claw sessions show agent:main:garden ",
            "claw recall fern --bei\t": "claw recall fern --being ",
            "claw recall fern --being=gree\t": "claw recall fern --being=greenhouse ",
            "claw being token create x --scope r\t": "claw being token create x --scope read-only ",
            "claw help sess\t": "claw help sessions ",
        }.items():
            window.type(f"{typed}# end")
            window.shows(f"{becomes}# end")
            window.type("\x15")


@contextmanager
def started(shell: str) -> Generator[Terminal]:
    """A shell that has loaded our script and shows its prompt."""
    with terminal(*START[shell], width=100) as window:
        window.type(f"{LOAD[shell]}\n")
        window.shows("\nready>")
        yield window


def test_bash_completes_names_with_spaces_and_quotes() -> None:
    claw("being", "create", "Ada's garden", code=0)
    with started("bash") as window:
        window.type("claw being show Ad\t")
        window.shows(r"claw being show Ada\'s\ garden")
        window.type('\x15claw being show "Ad\t')
        window.shows("""claw being show "Ada's garden\"""")


def test_bash_completes_files_where_a_file_is_wanted(home: Path) -> None:
    (home / "my weather.py").touch()
    (home / "rules.toml").touch()
    with started("bash") as window:
        window.type("claw tools my\t")
        window.shows(r"claw tools my\ weather.py")
        window.type("\x15claw policy lint --policy=ru\t")
        window.shows("claw policy lint --policy=rules.toml")


def test_servers_to_log_in_to_are_those_that_have_a_name(home: Path) -> None:
    config = home / "claw" / "config" / "claw" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[mcp.servers.greeter]\nurl = "https://mcp.example.com/mcp"\n')
    assert words("login", "gr") == words("logout", "") == ["greeter"]


def test_servers_and_clients_and_policies_are_those_that_are_there(home: Path) -> None:
    BY_CLIENT["cursor"].write(home)
    claw("policy", "init", code=0)
    servers = words("wrap", "")
    assert servers
    assert words("log", "--server", servers[0][:2]) == [
        one for one in servers if one.startswith(servers[0][:2])
    ]
    assert words("install", "curs") == ["cursor"]
    assert words("wrap", "--client", "curs") == ["cursor"]
    (policy,) = words("policy", "lint", "--policy", "")
    assert Path(policy).is_file()
    assert fitting(("claw", "policy", "lint", "--policy", "")).kind == "files"


def test_an_option_is_offered_once_unless_it_can_be_given_again() -> None:
    assert "--json" not in words("ask", "--json", "--")
    assert "--image" in words("ask", "--image", "a.png", "--")


def test_after_two_dashes_nothing_is_an_option() -> None:
    assert words("proxy", "--", "--") == []


def test_nothing_fits_where_nothing_is_known_and_no_error_is_shown(home: Path) -> None:
    (home / "claw" / "config" / "claw").mkdir(parents=True)
    (home / "claw" / "config" / "claw" / "config.toml").write_text("broken [")
    done = claw("__complete", "zsh", "claw", "being", "show", "")
    assert (done.stdout, done.stderr) == ("", "")
    assert words("being", "create", "") == []


def test_tab_makes_no_store() -> None:
    assert words("being", "show", "") == []
    assert words("sessions", "show", "") == []
    assert list(settings().data.glob("*.db")) == []


def test_every_command_and_option_of_the_program_is_known() -> None:
    assert command_tree() == read_tree()  # the first made the file that the second does not read
    assert command_tree() == read_tree()


def test_a_newer_command_makes_the_kept_commands_count_no_more() -> None:
    command_tree()
    file = settings().data / "completion.json"
    file.write_bytes(file.read_bytes().replace(b'"ask"', b'"old"'))
    assert "old" in words("")
    os.utime(file, (0, 0))
    assert "old" not in words("")


def test_a_tab_loads_no_command_line_library() -> None:
    claw("completion", "bash", code=0)
    program = """
import sys
from clawkit.cli.completion.candidates import complete
complete(["zsh", "claw", "being", ""])
print([name for name in ("typer", "rich", "asyncio", "numpy") if name in sys.modules])
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_each_command_says_what_it_is() -> None:
    def unsaid(command: CommandSpec, path: str) -> Iterator[str]:
        for name, below in command.commands.items():
            if not below.help:
                yield f"{path} {name}"
            yield from unsaid(below, f"{path} {name}")

    assert list(unsaid(command_tree(), "claw")) == []
