"""What a policy switches off in the CLI and refuses in the options, because no rule would be asked.

The CLI asks before a tool runs. It does not ask before it reads a `CLAUDE.md` with its imports,
runs the commands inside a skill, reads the files that a skill's arguments name with `@`, starts the
servers of a `.mcp.json`, or runs a helper that a settings file names. The model may be able to
write such files, so none of them is read.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clawkit.errors import CliError, SettingsError
from clawkit.wire.jsonrpc import as_list, as_object

if TYPE_CHECKING:
    from clawkit.claude.options import ClaudeAgentOptions

FLAGS = ("--strict-mcp-config", "--disable-slash-commands")
"""No MCP servers but those of the options; no skills and no commands, which are skills too."""

ENVIRONMENT = {
    "CLAUDE_CODE_DISABLE_CLAUDE_MDS": "1",
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
    # A prompt that the model puts off until later is read as one that a person typed.
    "CLAUDE_CODE_DISABLE_CRON": "1",
    "CLAUDE_CODE_DISABLE_FILE_MENTIONS": "1",
}

# Lists of what is harmless: a setting or flag that the next CLI brings may run a program.
_SETTINGS = frozenset(
    {
        *("alwaysThinkingEnabled", "attribution", "autoCompactEnabled", "availableModels"),
        *("cleanupPeriodDays", "disableAllHooks", "effortLevel", "fallbackModel", "fastMode"),
        *("hooks", "includeCoAuthoredBy", "includeGitInstructions", "language", "model"),
        *("outputStyle", "permissions", "respectGitignore", "sandbox", "showThinkingSummaries"),
    }
)
_SANDBOX = frozenset(
    {
        *("allowUnsandboxedCommands", "autoAllowBashIfSandboxed", "enabled", "excludedCommands"),
        *("failIfUnavailable", "filesystem", "network"),
    }
)
_EXTRA_ARGS = frozenset(
    {
        *("allow-dangerously-skip-permissions", "autocompact", "brief", "debug", "debug-file"),
        *("dangerously-skip-permissions", "exclude-dynamic-system-prompt-sections"),
        *("forward-subagent-text", "include-hook-events", "name", "no-chrome", "restricted"),
        *("prompt-suggestions", "replay-user-messages", "system-prompt-snapshot"),
    }
)
_OF_AGENTS = ("hooks", "memory", "skills")


def settings_of(options: ClaudeAgentOptions) -> dict[str, Any] | None:
    """The settings for a CLI under a policy; raises for options that a policy cannot hold.

    Hooks in settings are off, and ours are not: they could change a call after it was judged.
    """
    if options.policy is None:
        return None
    chosen = _chosen_settings(options)
    for problem in _problems(options, chosen):
        raise SettingsError(f"with a policy, {problem}")
    return {**chosen, "disableAllHooks": True}


def _problems(options: ClaudeAgentOptions, settings: Mapping[str, Any]) -> Iterator[str]:
    if options.setting_sources:
        named = ", ".join(options.setting_sources)
        yield (
            f"setting_sources ({named}) is refused: settings files name programs that the CLI runs "
            "without asking. Give what you need of them in settings, mcp_servers, agents and "
            "append_system_prompt"
        )
    if options.plugin_dirs:
        yield "plugin_dirs is refused: a plugin brings programs that the CLI runs without asking"
    sandbox = as_object(settings.get("sandbox")) or {}
    names = [*(set(settings) - _SETTINGS), *(f"sandbox.{n}" for n in set(sandbox) - _SANDBOX)]
    for name in sorted(names):
        yield (
            f"the setting {name} is refused: it is not one of those that run no program and read "
            f"no file, {', '.join(sorted(_SETTINGS))}"
        )
    for name in sorted(set(options.extra_args) - _EXTRA_ARGS):
        yield (
            f"--{name} in extra_args is refused: it is not one of those that let nothing in, "
            f"{', '.join(sorted(_EXTRA_ARGS))}"
        )
    for agent, fields in options.agents.items():
        for name in sorted(set(fields).intersection(_OF_AGENTS)):
            yield f"{name} of the agent {agent} is refused: no rule would be asked about it"
        if not all(isinstance(server, str) for server in fields.get("mcpServers", ())):
            yield f"mcpServers of the agent {agent} may only name servers of mcp_servers"


def _chosen_settings(options: ClaudeAgentOptions) -> dict[str, Any]:
    if options.settings is None:
        return {}
    chosen = str(options.settings)
    try:
        if not chosen.lstrip().startswith("{"):
            chosen = Path(options.cwd or ".", chosen).read_text(encoding="utf-8-sig")
        found = as_object(json.loads(chosen))
    except (OSError, ValueError) as error:
        raise SettingsError(f"settings: {options.settings} cannot be read: {error}") from None
    if found is None:
        raise SettingsError(f"settings: {options.settings} must hold a JSON object")
    return found


def check_handshake(said: Mapping[str, Any]) -> None:
    """Raises if the CLI's answer to `initialize` does not say that our hooks are in place."""
    if said.get("hooks_applied") is not True:
        raise _not_applied("it does not say that it will ask before a tool runs")
    if said.get("commands"):
        raise _not_applied("it still has commands and skills")


def check_servers(found: Collection[str], known: Collection[str]) -> None:
    """Raises if the CLI has MCP servers that nobody gave it."""
    if unknown := sorted(set(found).difference(known)):
        raise _not_applied(f"it has MCP servers of its own: {', '.join(unknown)}")


def check_start(said: Mapping[str, Any], known: Collection[str]) -> None:
    """Raises if what the CLI says at the start of a turn is not what it was told."""
    if said.get("skills") or "Skill" in as_list(said.get("tools")):
        raise _not_applied("it still has skills")
    entries = [as_object(entry) or {} for entry in as_list(said.get("mcp_servers"))]
    check_servers([str(entry.get("name")) for entry in entries], known)


def _not_applied(why: str) -> CliError:
    return CliError(f"the policy does not hold for this Claude CLI: {why}. It was ended")
