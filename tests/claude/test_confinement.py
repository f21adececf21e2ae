"""What a policy refuses: options that let something in, a CLI that does not do as it is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clawkit.claude.client import ClaudeClient
from clawkit.errors import CliError, CliVersionError, SettingsError
from tests.assistant.providers.scripted import Say
from tests.claude.conversations import talking
from tests.claude.fakes import fake_cli

pytestmark = pytest.mark.process

HOOK = {"PreToolUse": [{"hooks": [{"type": "command", "command": "id"}]}]}


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"setting_sources": ["user", "project"]}, r"setting_sources \(user, project\) is refused"),
        ({"plugin_dirs": ["/plugin"]}, "plugin_dirs is refused"),
        ({"settings": {"apiKeyHelper": "id"}}, "the setting apiKeyHelper is refused"),
        ({"settings": {"otelHeadersHelper": "id"}}, "the setting otelHeadersHelper is refused"),
        ({"settings": {"statusLine": {}}}, "the setting statusLine is refused"),
        ({"settings": {"env": {"BASH_ENV": "x"}}}, "the setting env is refused"),
        ({"settings": {"enabledPlugins": {}}}, "the setting enabledPlugins is refused"),
        ({"settings": {"sandbox": {"ripgrep": {}}}}, r"the setting sandbox\.ripgrep is refused"),
        ({"settings": {"helperOfTomorrow": "id"}}, "the setting helperOfTomorrow is refused"),
        ({"extra_args": {"plugin-url": "x"}}, "--plugin-url in extra_args is refused"),
        ({"extra_args": {"settings": "x"}}, "--settings in extra_args is refused"),
        ({"agents": {"a": {"hooks": HOOK}}}, "hooks of the agent a is refused"),
        ({"agents": {"a": {"mcpServers": [{"x": {}}]}}}, "mcpServers of the agent a may only name"),
    ],
)
async def test_an_option_that_lets_something_past_the_rules_is_refused(
    tmp_path: Path, policy: Path, options: dict[str, Any], problem: str
) -> None:
    cli = fake_cli(tmp_path, "raise SystemExit(7)\n")
    if "settings" in options:
        options = {**options, "settings": json.dumps(options["settings"])}
    with pytest.raises(SettingsError, match=f"with a policy, {problem}"):
        await ClaudeClient(cli_path=cli, policy=policy, **options).connect()


async def test_settings_that_let_nothing_in_are_taken(project: Path, policy: Path) -> None:
    settings = {"model": "opus", "permissions": {"deny": ["Read"]}, "sandbox": {"enabled": False}}
    options: dict[str, Any] = {"settings": json.dumps(settings), "extra_args": {"name": "x"}}
    async with talking(project, [Say("Hello.")], policy=policy, **options) as talk:
        assert (await talk.say("Hello?")).result == "Hello."
        assert "opus" in talk.api.last.json["model"]
        assert "Read" not in talk.offered


@pytest.mark.parametrize("option", ["policy", "verbatim_prompts"])
async def test_a_cli_that_reads_the_files_in_prompts_is_too_old_for_it(
    tmp_path: Path, policy: Path, option: str
) -> None:
    options: dict[str, Any] = {option: policy if option == "policy" else True}
    for script in ("initialize(hooks_applied=True)\ntime.sleep(60)\n", "raise SystemExit(1)\n"):
        cli = fake_cli(tmp_path, script, version="2.1.247")
        with pytest.raises(
            CliVersionError, match=r"is 2\.1\.247, and 2\.1\.248 or newer is needed"
        ):
            await ClaudeClient(cli_path=cli, **options).connect()
    cli = fake_cli(tmp_path, "initialize()\ntime.sleep(60)\n", version="2.1.247")
    async with ClaudeClient(cli_path=cli) as client:
        assert client.version == "2.1.247"


STATUS = 'answer(heard(), subtype="success", response={"mcpServers": [{"name": "evil"}]})\n'


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("initialize()\n", "it does not say that it will ask before a tool runs"),
        ("initialize(hooks_applied=False)\n", "it does not say that it will ask"),
        ("initialize(hooks_applied=True, commands=[{'name': 'x'}])\n", "commands and skills"),
        (f"initialize(hooks_applied=True)\n{STATUS}", "it has MCP servers of its own: evil"),
    ],
)
async def test_a_cli_that_does_not_say_that_it_does_as_told_is_ended(
    tmp_path: Path, policy: Path, script: str, problem: str
) -> None:
    cli = fake_cli(tmp_path, script + "time.sleep(60)\n")
    with pytest.raises(CliError, match=problem):
        await ClaudeClient(cli_path=cli, policy=policy).connect()


@pytest.mark.parametrize(
    "start",
    [{"tools": ["Read", "Skill"]}, {"skills": ["peek"]}, {"mcp_servers": [{"name": "evil"}]}],
)
async def test_a_turn_that_begins_with_what_was_switched_off_is_the_last(
    tmp_path: Path, policy: Path, start: dict[str, Any]
) -> None:
    first = {"type": "system", "subtype": "init", **start}
    script = f"""
initialize(hooks_applied=True)
answer(heard(), subtype="success", response={{"mcpServers": []}})
heard()
say({first!r})
time.sleep(60)
"""
    async with ClaudeClient(cli_path=fake_cli(tmp_path, script), policy=policy) as client:
        await client.send("Go.")
        with pytest.raises(CliError, match="the policy does not hold for this Claude CLI"):
            async for _ in client.receive():
                pass
