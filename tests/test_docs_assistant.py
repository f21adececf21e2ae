"""What the assistant's pages show is run: commands with their output, orders, configs, tables."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clawkit.assistant import config as settings_of
from clawkit.assistant.api_keys import Keys
from clawkit.assistant.chat_commands import HELP
from clawkit.assistant.config import AssistantOptions, Config, Provider, parse_config
from clawkit.assistant.media import accepted_types
from clawkit.assistant.media.pdf_child import PdfLimits
from clawkit.assistant.media.transcription import transcriber
from clawkit.assistant.model_choice import DEFAULT_MODELS, choose, known_providers, open_model
from clawkit.assistant.reply import WINDOW
from clawkit.assistant.sessions.session_rows import DAYS
from clawkit.assistant.sessions.turn_queue import LONGEST_KEY
from clawkit.models.protocol import Message, Prompt, Text, TextDelta
from clawkit.settings import Settings
from clawkit.wire.tasks import LIFETIME_MS
from tests.assistant.orders import INITIALIZE, assistant, write_config
from tests.assistant.providers.scripted import (
    Call,
    Request,
    Say,
    scripted_anthropic,
    scripted_openai,
)
from tests.claude.cli import environment as cli_environment
from tests.claude.cli import real_cli
from tests.claw import KEYS, PROGRAMS, claw
from tests.processes import PATIENCE, ROOT, StdioServer, stdio_server

README = ROOT / "README.md"
ASSISTANT, MODELS = ROOT / "docs" / "assistant.md", ROOT / "docs" / "models.md"
NOTES = "# Notes\nThe meeting is on Friday.\n"
KEY = "k" * 24
QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_AUTOUPDATER": "1",
}
_SPECIAL = ("offline", "claude-cli")


def blocks(page: Path, kind: str, under: str = "") -> list[str]:
    """The blocks of a kind on a page, or under one of its headings."""
    text = page.read_text()
    if under:
        text = re.split(r"^## ", text.split(f"\n## {under}\n")[1], flags=re.MULTILINE)[0]
    return re.findall(rf"^```{kind}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def table(page: Path, head: str) -> list[list[str]]:
    """The rows of the table with this head, as cells."""
    _, _, rest = page.read_text().partition(f"\n{head}\n")
    lines = rest.split("\n\n")[0].splitlines()[1:]
    assert lines, head
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]


def pattern(text: str) -> re.Pattern[str]:
    """What a page shows, where … stands for anything."""
    return re.compile(re.escape(text).replace("…", ".*"), re.DOTALL)


def shown(page: Path) -> Iterator[tuple[str, str]]:
    """Each command of a page, with the output that stands below it."""
    for block in blocks(page, "console"):
        for entry in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = entry.partition("\n")
            yield command, output.rstrip()


def run_page(page: Path, folder: Path, only: str = "", **more: str) -> None:
    """Run the commands of a page in their order, and compare what they print."""
    kept = {name: value for name, value in os.environ.items() if name not in KEYS}
    path = os.pathsep.join((str(PROGRAMS), str(folder / "bin"), os.environ["PATH"]))
    env = {**kept, "PATH": path, "PYTHONUTF8": "1", **more}
    for command, expected in shown(page):
        if not re.match(only, command):
            continue
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0, f"{command}: {done.stderr}{done.stdout}"
        printed = "\n".join(line.rstrip() for line in done.stdout.splitlines()).rstrip()
        if expected:
            assert pattern(expected).fullmatch(printed), f"{command} printed:\n{printed}"


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_the_commands_of_the_assistants_page_print_what_it_shows(
    tmp_path: Path, home: Path
) -> None:
    (tmp_path / "notes.md").write_text(NOTES)
    (home / ".cursor").mkdir()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "claude").symlink_to(real_cli())
    run_page(ASSISTANT, tmp_path, **QUIET)
    added = json.loads((home / ".claude.json").read_text())["mcpServers"]["openclaw"]
    assert (added["command"], added["args"]) == ("openclaw", ["mcp-server"])
    assert not list(home.glob(".cursor/mcp.json"))
    assert "favorite color is blue" in (tmp_path / "demo.jsonl").read_text()
    data = home / "claw" / "data" / "claw"
    assert b"favorite color is blue" not in (data / "sessions.db").read_bytes()
    assert mode(data / "sessions.db") == 0o600
    assert mode(data / "owners") == 0o700


TOLD = {
    "ask": (
        ["ask", "Remember that my favorite color is blue.", "--session", "demo"],
        "Got it: your favorite color is blue.",
    ),
    "remember": (
        ["remember", "The spare key of the greenhouse hangs behind the fern."],
        "Remembered: ",
    ),
}
ASKED = {
    "color": ("What's my favorite color?", "favorite color is blue"),
    "key": ("Where is the spare key?", "The spare key of the greenhouse hangs behind the fern."),
}


@pytest.mark.parametrize("order", [("ask", "remember"), ("remember", "ask")], ids="-".join)
def test_the_readmes_memory_lines_work_in_any_order_and_by_every_command(
    order: tuple[str, str], home: Path
) -> None:
    for what in order:
        command, expected = TOLD[what]
        assert " ".join(command[:2]).split(" ", 1)[1] in README.read_text()
        assert expected in claw(*command, code=0, cwd=home).stdout
    for question, answer in (*ASKED.values(), *reversed(ASKED.values())):
        assert question in README.read_text()
        assert answer in claw("ask", question, code=0, cwd=home).stdout
        again = claw("ask", question, "--session", "demo", code=0, cwd=home)
        assert answer in again.stdout
        assert answer in claw("recall", question, code=0, cwd=home).stdout


def test_the_readme_starts_the_assistant_with_the_commands_it_shows(
    tmp_path: Path, home: Path
) -> None:
    (home / ".cursor").mkdir()
    run_page(README, tmp_path, only="claw (ask|install --all) ")
    assert "openclaw" in (home / ".cursor" / "mcp.json").read_text()


def test_the_commands_of_the_models_page_print_what_it_shows(tmp_path: Path, home: Path) -> None:
    about = tmp_path / "site" / "parrot_models-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: parrot-models\nVersion: 1.0\n")
    (entry,) = blocks(MODELS, "toml", "Add a model of your own")
    points = tomllib.loads(entry)["project"]["entry-points"]["clawkit.models"]
    lines = "\n".join(f"{name} = {value}" for name, value in points.items())
    (about / "entry_points.txt").write_text(f"[clawkit.models]\n{lines}\n")
    (source,) = blocks(MODELS, "python")
    (tmp_path / "site" / "parrot_models.py").write_text(source)
    path = os.pathsep.join(filter(None, (str(tmp_path / "site"), os.environ.get("PYTHONPATH"))))
    run_page(MODELS, tmp_path, PYTHONPATH=path, KEY=KEY)
    directory = home / "claw" / "config" / "claw"
    assert (directory / ".env").read_text() == f"ANTHROPIC_API_KEY={KEY}\n"
    assert (mode(directory / ".env"), mode(directory / "config.toml")) == (0o600, 0o600)


def call(server: StdioServer, params: dict[str, Any]) -> dict[str, Any]:
    return server.call("tools/call", params)["result"]


def agrees(wanted: Any, found: Any) -> bool:
    """Whether a result is as the page shows it; figures are examples."""
    if isinstance(wanted, dict):
        return wanted.keys() == found.keys() and all(agrees(wanted[k], found[k]) for k in wanted)
    if isinstance(wanted, list):
        return len(wanted) == len(found) and all(map(agrees, wanted, found))
    if isinstance(wanted, str):
        return pattern(wanted).fullmatch(found) is not None
    return type(wanted) is type(found) and (isinstance(wanted, int) or wanted == found)


def test_the_orders_of_the_page_are_answered_as_it_shows(tmp_path: Path) -> None:
    shown = [json.loads(block) for block in blocks(ASSISTANT, "json", "The tool")]
    orders, results = shown[::2], shown[1::2]
    assert len(orders) == len(results) == 5
    with assistant(tmp_path) as server:
        for order, wanted in zip(orders, results, strict=True):
            found = call(server, order)
            assert agrees(wanted, found), found


def test_the_entries_for_clients_start_the_server() -> None:
    env = {"PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"}
    for block in blocks(ASSISTANT, "json", "Add it to a client"):
        ((_, servers),) = json.loads(block).items()
        entry = servers["openclaw"]
        program = shutil.which(entry["command"], path=env["PATH"])
        assert program is not None
        with stdio_server(program, *entry["args"], env=env) as server:
            server.call("initialize", INITIALIZE)
            (tool,) = server.call("tools/list", {}, 2)["result"]["tools"]
        assert tool["name"] == "order_openclaw"
        rows = table(ASSISTANT, "| parameter | type | |")
        assert [row[0].strip("`") for row in rows] == list(tool["inputSchema"]["properties"])


def test_the_tools_and_files_of_the_page_work_as_it_shows(tmp_path: Path, home: Path) -> None:
    config, hidden = blocks(ASSISTANT, "toml", "Tools for the model")
    (garden,) = blocks(ASSISTANT, "python")
    (said,) = blocks(ASSISTANT, "text", "Files the model can send")
    (wanted,) = map(json.loads, blocks(ASSISTANT, "json", "Files the model can send"))
    tools, servers = tmp_path / "config" / "claw" / "tools", home / "servers"
    workspace = tmp_path / "data" / "claw" / "workspace"
    for folder in (tools, servers, workspace):
        folder.mkdir(parents=True)
    (tools / "garden.py").write_text(garden)
    (servers / "weather.py").write_text(blocks(README, "python")[0])
    (workspace / "beds.csv").write_text("bed,moisture\nbasil,41\n")

    def model(request: Request) -> Any:
        if request.json["messages"][-1]["role"] == "tool":
            return Say(f"{said}MEDIA: /etc/passwd")
        return [Say("Let me look."), Call("mcp__garden__moisture", {"bed": "basil"})]

    path = f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"
    with scripted_openai(model) as provider:
        more = f'[model]\nuse = "mine/m"\n[providers.mine]\nbase_url = "{provider.url}"\n'
        write_config(tmp_path, config + more)
        params = {"name": "order_openclaw", "arguments": {"message": "How are the beds?"}}
        with assistant(tmp_path, env={"PATH": path}) as server:
            assert agrees(wanted, call(server, params))
            write_config(tmp_path, config + more + hidden)
            assert "basil: 41 %" not in json.dumps(call(server, params))
        offered = [tool["function"]["name"] for tool in provider.last.json["tools"]]
    assert offered == ["send_file", "mcp__garden__moisture", "mcp__weather__forecast"]


def test_the_log_looks_as_the_page_shows(tmp_path: Path) -> None:
    params = {"name": "order_openclaw", "arguments": {"message": "Hello", "sessionKey": "secret"}}
    with assistant(tmp_path, "--verbose") as server:
        call(server, params)
        server.close_input()
        server.process.wait(PATIENCE)
        log = server.stderr
    for line in blocks(ASSISTANT, "text", "In a terminal")[0].splitlines():
        assert any(map(pattern(line).fullmatch, log.splitlines())), line
    assert "Hello" not in log
    assert "secret" not in log


def config_of(text: str, folder: Path) -> Config:
    return parse_config(text, folder / "config.toml", Settings(folder, folder, folder))


CONFIGS = [text for text in blocks(MODELS, "toml") if text.startswith("[model]")]


@pytest.mark.parametrize("text", CONFIGS, ids=range(len(CONFIGS)))
async def test_a_config_of_the_models_page_asks_its_provider(text: str, tmp_path: Path) -> None:
    config = config_of(text, tmp_path)
    for chosen in choose(config, Keys(config, {})):
        if chosen.provider in _SPECIAL:
            continue
        usual = known_providers(config)[chosen.provider]
        scripted = scripted_anthropic if usual.kind == "anthropic" else scripted_openai
        with scripted([Say("hello")]) as server:
            here = {chosen.provider: msgspec.structs.replace(usual, base_url=server.url)}
            local = msgspec.structs.replace(config, providers=here)
            model = open_model(chosen, local, Keys(local, {usual.key_env: KEY}))
            prompt = Prompt("", (Message("user", (Text("hi"),)),))
            said = [e.text async for e in model.stream(prompt) if isinstance(e, TextDelta)]
            await model.close()
        heard = server.last
        assert said == ["hello"]
        assert heard.json["model"] == chosen.model
        assert (KEY in str(heard.headers)) == bool(usual.key_env)
        assert usual.headers.items() <= {k.title(): v for k, v in heard.headers.items()}.items()


def test_a_model_counts_in_the_order_that_the_page_gives(home: Path) -> None:
    directory = home / "claw" / "config" / "claw"
    directory.mkdir(parents=True)

    def answers(*words: str, stdin: str = "") -> str:
        command = [sys.executable, "-m", "clawkit", *words]
        done = subprocess.run(
            command, input=stdin, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
        return done.stdout + done.stderr

    with scripted_openai(lambda request: Say(f"I am {request.json['model']}.")) as server:
        use = '[model]\nuse = "mine/config"\n'
        (directory / "config.toml").write_text(
            f'{use}[providers.mine]\nbase_url = "{server.url}"\n'
        )
        said = [
            answers("chat", stdin="Who?\n"),
            answers("chat", "--model", "mine/chat", stdin="Who?\n"),
            answers("chat", stdin="/model mine/session\n") and answers("chat", stdin="Who?\n"),
            answers("chat", "--model", "mine/chat", stdin="Who?\n"),
            answers("ask", "Who?", "--session", "main", "--model", "mine/ask"),
        ]
    assert said == [f"I am {name}.\n" for name in ("config", "chat", "session", "chat", "ask")]


def test_the_claude_cli_answers_as_the_models_page_says(tmp_path: Path) -> None:
    (config,) = (text for text in CONFIGS if "claude-cli" in text)
    write_config(tmp_path, config)
    with scripted_anthropic(lambda _: Say("Here I am.")) as api:
        env = cli_environment(api.origin, tmp_path) | {"CLAUDE_CLI_PATH": real_cli()}
        with assistant(tmp_path, env=env) as server:
            params = {"name": "order_openclaw", "arguments": {"message": "Are you there?"}}
            assert call(server, params)["content"] == [{"type": "text", "text": "Here I am."}]
        offered = {tool["name"] for tool in api.last.json["tools"]}
    assert "mcp__claw__send_file" in offered
    assert not offered & {"Bash", "Read", "Write", "Edit", "WebFetch"}


@pytest.mark.process
async def test_a_transcription_of_the_models_page_can_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    audio = tmp_path / "memo.mp3"
    audio.write_bytes(b"ID3")
    program = tmp_path / "bin" / "whisper"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "$2 $4 heard" > memo.txt\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    texts = blocks(MODELS, "toml", "Transcription")
    found = [config_of(text, tmp_path) for text in texts]
    used = [transcriber(config.transcription, Keys(config, {})) for config in found]
    assert [each.name for each in used if each] == ["whisper", "deepgram", "openai"]
    assert used[0] is not None
    assert await used[0].transcribe(audio, "audio/mpeg") == "base txt heard"


def test_the_table_of_providers_is_true() -> None:
    rows = table(MODELS, "| provider | address | key | usual model |")
    plain = [[cell.strip("`") for cell in row] for row in rows]
    assert plain == [
        [name, one.base_url, one.key_env, DEFAULT_MODELS.get(name, "")]
        for name, one in known_providers().items()
    ]


def test_the_table_of_settings_has_every_one_with_its_default() -> None:
    sections = {
        "model": settings_of.ModelChoice,
        "providers.NAME": Provider,
        "assistant": AssistantOptions,
        "mcp.servers.NAME": settings_of.McpServer,
        "transcription": settings_of.Transcription,
        "memory": settings_of.MemoryOptions,
        "secrets": settings_of.Secrets,
        "prices.NAME": settings_of.Price,
    }
    wanted = [
        [f"`{section}.{field.name}`", _default(field)]
        for section, kind in sections.items()
        for field in msgspec.structs.fields(kind)
    ]
    rows = table(MODELS, "| setting | default | |")
    assert [row[:2] for row in rows] == wanted
    assert len(Config.__struct_fields__) == len(sections) + 1  # `places` is not read from it


def _default(field: msgspec.structs.FieldInfo) -> str:
    if field.required:
        return ""
    value = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
    return "" if value is None else f"`{msgspec.json.encode(value).decode()}`"


def test_the_tables_of_limits_types_and_commands_are_true() -> None:
    megabytes = [
        n // accepted_types.MEGABYTE
        for n in (accepted_types.MAX_ITEM, accepted_types.MAX_SENT_ITEM, accepted_types.MAX_SENT)
    ]
    rows = table(ASSISTANT, "| limit | |")
    numbers = [int(value.split()[0]) for _, value in rows]
    assert numbers == [accepted_types.MAX_IMAGES, accepted_types.MAX_FILES, *megabytes]
    taken = {"images": set(accepted_types.IMAGE_TYPES), "files": set(accepted_types.FILE_TYPES)}
    for group, types, _ in table(ASSISTANT, "| in | types | what the model gets |"):
        taken[group.strip("`")] -= set(re.findall(r"`([^`]+)`", types))
    assert taken == {"images": set(), "files": set()}
    section = ASSISTANT.read_text().split("## Commands in a conversation")[1].split("\n## ")[0]
    for command in re.findall(r"^/\w+", HELP, re.MULTILINE):
        assert f"`{command}" in section


def test_the_figures_in_the_text_are_those_of_the_code() -> None:
    text, options, limits = " ".join(ASSISTANT.read_text().split()), AssistantOptions(), PdfLimits()
    for words in (
        f"1 to {LONGEST_KEY} characters",
        f"not used for {DAYS} days",
        f"{limits.characters:,} characters and {limits.pictures} pictures",
        f"within {limits.seconds:g} seconds",
        f"a heartbeat every {options.heartbeat:g} seconds",
        f"longer than {options.task_after:g} seconds becomes a task",
        f"after {options.timeout / 60:g} minutes",
        f"{WINDOW:,} tokens",
    ):
        assert words in text, words
    assert LIFETIME_MS == 3_600_000  # "for an hour"


def test_every_link_to_a_heading_leads_to_one() -> None:
    for page in (ASSISTANT, MODELS):
        for target, anchor in re.findall(r"\]\(([\w.]*)#([\w-]+)\)", page.read_text()):
            text = (page.parent / target if target else page).read_text()
            headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
            known = {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings}
            assert anchor in known, f"{page.name}: {target}#{anchor}"
