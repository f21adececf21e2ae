"""Options: every one of them reaches the CLI, as a flag, in `initialize` or otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clawkit import SdkMcpServer
from clawkit.claude.callbacks import Hooks
from clawkit.claude.client import ClaudeClient
from clawkit.claude.confinement import settings_of
from clawkit.claude.options import (
    ClaudeAgentOptions,
    McpServerConfig,
    command_line,
    initialize_fields,
)
from clawkit.claude.permissions import HookInput, HookMatcher, ToolRequest
from clawkit.errors import SettingsError


async def decide(_: ToolRequest) -> bool:
    return True


async def hook(_: HookInput) -> None:
    return None


FLAGS: dict[str, tuple[Any, list[str]]] = {
    "allowed_tools": (
        ["mcp__math-tools__calculator", "mcp__math-tools__add"],
        ["--allowed-tools=mcp__math-tools__calculator,mcp__math-tools__add"],
    ),
    "disallowed_tools": (
        ["mcp__risky-server__delete"],
        ["--disallowed-tools=mcp__risky-server__delete"],
    ),
    "tools": (["Read", "Bash"], ["--tools=Read,Bash"]),
    "strict_mcp_config": (True, ["--strict-mcp-config"]),
    "permission_mode": ("acceptEdits", ["--permission-mode=acceptEdits"]),
    "can_use_tool": (decide, ["--permission-prompt-tool=stdio"]),
    "policy": (
        "policy.toml",
        ["--permission-prompt-tool=stdio", "--strict-mcp-config", "--disable-slash-commands"],
    ),
    "model": ("opus", ["--model=opus"]),
    "fallback_model": ("haiku", ["--fallback-model=haiku"]),
    "effort": ("high", ["--effort=high"]),
    "max_turns": (3, ["--max-turns=3"]),
    "max_budget_usd": (0.5, ["--max-budget-usd=0.5"]),
    "max_thinking_tokens": (0, ["--max-thinking-tokens=0"]),
    "betas": (["one", "two"], ["--betas=one,two"]),
    "resume": ("-5", ["--resume=-5"]),
    "continue_conversation": (True, ["--continue"]),
    "fork_session": (True, ["--fork-session"]),
    "session_id": ("5", ["--session-id=5"]),
    "keep_session": (False, ["--no-session-persistence"]),
    "add_dirs": (["/a", Path("/b")], ["--add-dir=/a", "--add-dir=/b"]),
    "settings": ("s.json", ["--settings=s.json"]),
    "plugin_dirs": (["/p"], ["--plugin-dir=/p"]),
    "include_partial_messages": (True, ["--include-partial-messages"]),
    "extra_args": ({"debug": None, "name": "x"}, ["--debug", "--name=x"]),
}
FIELDS: dict[str, tuple[Any, dict[str, Any]]] = {
    "sdk_mcp_servers": ([SdkMcpServer("a"), SdkMcpServer("b")], {"sdkMcpServers": ["a", "b"]}),
    "system_prompt": ("Be.", {"systemPrompt": "Be."}),
    "append_system_prompt": ("Be brief.", {"appendSystemPrompt": "Be brief."}),
    "agents": (
        {"a": {"description": "d", "prompt": "p"}},
        {"agents": {"a": {"description": "d", "prompt": "p"}}},
    ),
    "json_schema": ({"type": "object"}, {"jsonSchema": {"type": "object"}}),
}
OURS = {
    # In the config file, which is named by --mcp-config; see test_servers.
    "mcp_servers",
    # An answerer of control requests; see test_servers.
    "elicit",
    # In each message; see test_policy_around.
    "verbatim_prompts",
    # In `initialize`, beside those of the policy; see below.
    "hooks",
    # Said always; see below.
    "setting_sources",
    # How the process is started and spoken to.
    *("cwd", "env", "cli_path", "stderr", "connect_timeout", "control_timeout", "max_line"),
}
BARE = command_line(ClaudeAgentOptions(), None)


def test_every_option_is_in_these_tables() -> None:
    assert sorted([*FLAGS, *FIELDS, *OURS]) == sorted(ClaudeAgentOptions.__struct_fields__)


def test_without_options_the_cli_streams_and_reads_no_settings_of_the_machine() -> None:
    assert [
        *("--output-format", "stream-json", "--input-format", "stream-json", "--verbose"),
        "--setting-sources=",
    ] == BARE
    assert initialize_fields(ClaudeAgentOptions(), None) == {"hooks": None}


@pytest.mark.parametrize("name", FLAGS)
def test_an_option_that_is_a_flag(name: str) -> None:
    value, flags = FLAGS[name]
    line = command_line(ClaudeAgentOptions.of({name: value}), None)
    assert [word for word in line if word not in BARE] == flags
    assert [word for word in line if word in BARE] == BARE


@pytest.mark.parametrize("name", FIELDS)
def test_an_option_that_is_a_field_of_initialize(name: str) -> None:
    value, fields = FIELDS[name]
    options = ClaudeAgentOptions.of({name: value})
    assert initialize_fields(options, None) == {"hooks": None, **fields}
    assert command_line(options, None) == BARE


def test_settings_hooks_and_servers_have_their_own_ways() -> None:
    options = ClaudeAgentOptions(
        setting_sources=["user", "project"],
        mcp_servers={"x": McpServerConfig.Stdio(command="x")},
        hooks={"Stop": [HookMatcher([hook, hook], "a|b", timeout=5)]},
    )
    assert command_line(options, "/tmp/servers.json")[5:] == [
        "--setting-sources=user,project",
        "--mcp-config=/tmp/servers.json",
    ]
    announced = {"matcher": "a|b", "hookCallbackIds": ["hook_0", "hook_1"], "timeout": 5}
    assert Hooks(options, None).announcement == {"Stop": [announced]}


def test_a_policy_turns_off_the_hooks_of_settings_and_keeps_the_rest(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text('{"model": "opus"}')
    assert settings_of(ClaudeAgentOptions(settings="s.json")) is None
    for chosen in ("s.json", '{"model": "opus", "disableAllHooks": false}'):
        options = ClaudeAgentOptions(policy="p.toml", settings=chosen, cwd=tmp_path)
        assert settings_of(options) == {"model": "opus", "disableAllHooks": True}
    assert "--settings=/tmp/x.json" in command_line(options, None, "/tmp/x.json")
    for wrong in ("none.json", "[]", "{"):
        with pytest.raises(SettingsError, match="settings: "):
            settings_of(ClaudeAgentOptions(policy="p.toml", settings=wrong, cwd=tmp_path))


def test_the_builder_and_the_keywords_are_the_same() -> None:
    servers = {"files": McpServerConfig.Stdio(command="files", args=["/"])}
    built = (
        ClaudeAgentOptions.builder()
        .mcp_servers(servers)
        .sdk_mcp_servers([SdkMcpServer(name="math-tools", version="1.0.0")])
        .allowed_tools(["mcp__math-tools__calculator"])
        .disallowed_tools(["mcp__files__delete"])
        .build()
    )
    assert built == ClaudeAgentOptions(
        mcp_servers=servers,
        sdk_mcp_servers=[SdkMcpServer(name="math-tools", version="1.0.0")],
        allowed_tools=["mcp__math-tools__calculator"],
        disallowed_tools=["mcp__files__delete"],
    )


def test_every_option_has_its_method_in_the_builder() -> None:
    for name in ClaudeAgentOptions.__struct_fields__:
        builder = ClaudeAgentOptions.builder()
        value = getattr(ClaudeAgentOptions(), name)
        assert getattr(builder, name)(value) is builder
        assert builder.build() == ClaudeAgentOptions()


@pytest.mark.parametrize(
    "attempt",
    [
        lambda: ClaudeAgentOptions.builder().alowed_tools([]),
        lambda: ClaudeAgentOptions.of({"alowed_tools": []}),
        lambda: ClaudeAgentOptions().replace(alowed_tools=[]),  # pyright: ignore[reportCallIssue]
        lambda: ClaudeClient(alowed_tools=[]),  # pyright: ignore[reportCallIssue]
    ],
    ids=["builder", "mapping", "replace", "client"],
)
def test_an_unknown_option_is_an_error_that_says_what_was_meant(attempt: Any) -> None:
    with pytest.raises(SettingsError, match="no option 'alowed_tools'; did you mean allowed_tools"):
        attempt()


def test_an_unknown_keyword_is_an_error_too() -> None:
    with pytest.raises(SettingsError, match="'alowed_tools'; did you mean allowed_tools"):
        ClaudeAgentOptions(alowed_tools=[])  # pyright: ignore[reportCallIssue]


def test_a_name_that_is_like_no_option_is_told_all_there_are() -> None:
    with pytest.raises(SettingsError, match="'xyz'; there are mcp_servers, sdk_mcp_servers, "):
        ClaudeAgentOptions.of({"xyz": 1})


@pytest.mark.parametrize("name", ["allowed_tools", "disallowed_tools", "tools", "add_dirs"])
def test_a_text_where_a_list_should_be_is_an_error_and_not_a_list_of_letters(name: str) -> None:
    with pytest.raises(SettingsError, match=f"{name} is a list, and 'Bash' is a text"):
        ClaudeAgentOptions.of({name: "Bash"})
