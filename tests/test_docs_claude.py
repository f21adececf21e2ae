"""The page about the Claude CLI is run: every block, against the real CLI and a scripted API.

Its Python is fenced as `py`, and not as that of the other pages, because it needs the CLI; what a
block prints stands in the `text` block after it.
"""

from __future__ import annotations

import ast
import inspect
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from clawkit.claude import confinement, options
from clawkit.claude.options import ClaudeAgentOptions
from clawkit.settings import settings
from tests.assistant.providers.scripted import scripted_anthropic
from tests.assistant.providers.steps import Call, Hang, Request, Say, Step
from tests.claude.cli import environment, real_cli
from tests.claw import claw
from tests.processes import PATIENCE, ROOT

PAGE = (ROOT / "docs" / "claude.md").read_text()
BLOCK = re.compile(r"^```py\n(.*?)^```(?:\n\n```text\n(.*?)^```)?", re.DOTALL | re.MULTILINE)
KEPT = ("PATH", "HOME", "CLAW_HOME", "PYTEST_CURRENT_TEST")


def results(request: Request) -> list[str]:
    """What the tools said, in the order of their calls."""
    found: list[str] = []
    for message in request.messages:
        for block in message["content"]:
            if isinstance(block, dict) and block.get("type") == "tool_result":
                content = block["content"]
                found.append(content if isinstance(content, str) else content[0]["text"])
    return found


def told(request: Request, words: str) -> bool:
    return words in str([m["content"] for m in request.messages if m["role"] == "user"])


def listed(request: Request) -> Step:
    return Say(" ".join(f"{n}. {said}" for n, said in enumerate(results(request), 1)))


def add(request: Request) -> Step:
    return Say(f"It is {results(request)[-1]}.")


# What the model does when it is told this: a step for each request.
ANSWERS: dict[str, list[Step | Callable[[Request], Step]]] = {
    "What is the capital of Norway?": [Say("Oslo.")],
    "Why is the sky blue?": [Say("Rayleigh scattering.")],
    "My cat is called Miso.": [Say("Noted.")],
    "What is my cat called?": [
        lambda request: Say("Miso." if told(request, "called Miso") else "I do not know.")
    ],
    "/cost is what I typed": [Say("You typed a slash.")],
    "What is 2 + 3?": [Call("mcp__math__add", {"a": 2, "b": 3}), add],
    "I saw a robin.": [
        Call("mcp__counter__count", {"thing": "robin"}),
        lambda request: Say(results(request)[-1]),
    ],
    "Remove the logs, then greet.": [
        Call("Bash", {"command": "rm -r logs"}),
        Call("Bash", {"command": "make greeting"}),
        listed,
    ],
    "How warm is it?": [Call("mcp__math__add", {"a": 70, "b": 0}), add],
    "Tell me a long story.": [(Say("Once upon a time ", "there was "), Hang())],
    "Who are you?": [Say("The other one.")],
    "How is the kale?": [
        Call("mcp__beds__moisture", {"bed": "kale"}),
        Call("mcp__beds__water", {"bed": "kale", "litres": 2}),
        Call("mcp__beds__water", {"bed": "kale", "litres": 90}),
        Call("Write", {"file_path": "HOME/garden/notes.txt", "content": "watered"}),
        Call("Read", {"file_path": "HOME/garden/.env"}),
        Call("Read", {"file_path": "/etc/hostname"}),
        Call("Bash", {"command": "cat notes.txt"}),
        listed,
    ],
}


def answer(request: Request) -> Step:
    """The next step for the newest words that are known."""
    for place, message in reversed(list(enumerate(request.messages))):
        words = request_words(message)
        known = [prompt for prompt in ANSWERS if prompt in words]
        if message["role"] == "user" and known:
            done = sum(later["role"] == "assistant" for later in request.messages[place:])
            step = ANSWERS[known[0]][done]
            return at_home(step(request) if callable(step) else step)
    return Say("What?")


def request_words(message: dict[str, Any]) -> list[str]:
    content = message["content"]
    if isinstance(content, str):
        return [content]
    return [block["text"] for block in content if block.get("type") == "text"]


def at_home(step: Step) -> Step:
    if isinstance(step, Call) and isinstance(step.arguments, dict):
        home = os.environ["HOME"]
        placed = {
            name: value.replace("HOME", home) if isinstance(value, str) else value
            for name, value in step.arguments.items()
        }
        return Call(step.name, placed)
    return step


@pytest.fixture
def cli(home: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The CLI in the environment, an empty directory to work in, the API behind it."""
    for name in set(os.environ).difference(KEPT):
        monkeypatch.delenv(name)
    settings.cache_clear()
    project = home / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    with scripted_anthropic(answer) as api:
        for name, value in environment(api.url, home).items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("CLAUDE_CLI_PATH", real_cli())
        yield api
    settings.cache_clear()


async def run(source: str, names: dict[str, Any]) -> str:
    """Run a block, which may await, in the names that the earlier ones have made."""
    code = compile(source, "docs/claude.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    with redirect_stdout(io.StringIO()) as printed:
        found = eval(code, names)
        if inspect.isawaitable(found):
            await found
    return printed.getvalue()


async def test_the_python_of_the_page_prints_what_it_says(cli: Any) -> None:
    shutil.copy(ROOT / "examples" / "counter.py", "counter.py")
    names: dict[str, Any] = {"__name__": "docs"}
    blocks = BLOCK.findall(PAGE)
    assert len(blocks) == PAGE.count("```py\n")
    for source, expected in blocks:
        assert await run(source, names) == expected, source
    assert len(cli.requests) > len(blocks)


def test_the_policy_of_the_page_is_one(tmp_path: Path) -> None:
    (text,) = re.findall(r"^```toml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    file = tmp_path / "policy.toml"
    file.write_text(text)
    claw("policy", "lint", "--strict", file, code=0)
    whole = (ROOT / "examples" / "claude_policy.toml").read_text()
    for rule in text.split("\n\n"):
        assert rule.strip() in whole, "the page shows a part of the example"


def test_the_example_asks_where_the_policy_says_so(cli: Any, home: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "claude_policy.py")],
        input="y\nn\nn\n",
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    expected = [
        "kale: 12 %",
        "kale: 2 l",
        "The person did not allow this",
        f"File created successfully at: {home}/garden/notes.txt",
        "Keys stay where they are",
        "No rule allows the tool 'Read' with these arguments",
        "The person did not allow this",
    ]
    for words, said in zip(expected, results(cli.last), strict=True):
        assert words in said
    assert "Water is dear: mcp__beds__water {'bed': 'kale', 'litres': 2}" in done.stdout
    assert "A command can do anything: Bash" in done.stdout
    assert (home / "garden" / "notes.txt").read_text() == "watered"
    outputs = [claw(*words, code=0, cwd=ROOT).stdout for words in commands()]
    assert [output.split()[0] for output in outputs[:3]] == ["allow", "prompt", "prompt"]
    log = outputs[-1]
    for tool in ("moisture", "water", "Write", "Read", "Bash"):
        assert tool in log


def commands() -> list[list[str]]:
    blocks = "".join(re.findall(r"^```console\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE))
    found = re.findall(r"^\$ claw (.*)$", blocks, re.MULTILINE)
    home = os.environ["HOME"]
    return [[w.replace("~", home) for w in shlex.split(line, comments=True)] for line in found]


def test_every_option_is_on_the_page_with_its_flag() -> None:
    table = PAGE.split("## Every option")[1].split("## Coming")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", table, re.MULTILINE))
    assert sorted(rows) == sorted(ClaudeAgentOptions.__struct_fields__)
    code = inspect.getsource(options) + inspect.getsource(confinement)
    for option, meaning in rows.items():
        for flag in re.findall(r"`(--[\w-]+(?:=\w+)?)`", meaning):
            assert f'"{flag}' in code, f"{option}: {flag}"
        for field in re.findall(r"`initialize`: `(\w+)`", meaning):
            assert f'"{field}"' in code, f"{option}: {field}"


def test_every_error_and_message_of_the_page_exists() -> None:
    from clawkit import errors
    from clawkit.claude import messages

    named = set(re.findall(r"^\| `(Cli\w+|ControlError)` \|", PAGE, re.MULTILINE))
    tree = {c.__name__ for c in errors.CliError.__subclasses__()}
    assert named == tree
    kinds = set(re.findall(r"^\| `(\w+(?:Message|Event))` \|", PAGE, re.MULTILINE))
    assert kinds == {c.__name__ for c in messages.Message.__args__}
