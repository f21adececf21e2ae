"""The guard's policy over the CLI: one `[[rule]]` file for its own tools and every MCP tool.

A tool of an MCP server is judged under its own name and its server's; a tool of the CLI itself,
such as `Bash`, under the server name `claude`. Decisions go to the guard's log: see `claw log`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from clawkit.claude.permissions import HookInput, HookResult, split_name
from clawkit.errors import ClawError
from clawkit.guard.journal import Journal
from clawkit.guard.judge import Judge, open_judge
from clawkit.guard.policy.call import Call
from clawkit.guard.policy.paths import Paths, directories
from clawkit.guard.policy.policy import Decision

OWN_TOOLS = "claude"


class PolicyGate:
    """Judges what the model wants to do, before the CLI does it.

    `servers` are the names that are known, each with the arguments of the command that the CLI
    starts in `cwd`; it says with most calls which server is meant.
    """

    def __init__(
        self,
        file: Path | str,
        cwd: str,
        home: str,
        servers: Mapping[str, Sequence[str]] = MappingProxyType({}),
    ) -> None:
        self._file = Path(file).expanduser()
        self._cwd = cwd
        self._home = home
        self._servers = dict(servers)
        self._guards: dict[tuple[str, str], tuple[Judge, Journal]] = {}
        self._asking: dict[str, tuple[Journal, str, Call]] = {}

    async def hook(self, event: HookInput) -> HookResult:
        """The hook that the CLI calls before every tool."""
        decision = self.judge(event, event.tool_input)
        if decision.action == "prompt":
            return HookResult(permission="ask", reason=decision.reason)
        return HookResult(permission=decision.action, reason=decision.reason)

    def judge(self, event: HookInput, arguments: dict[str, Any]) -> Decision:
        """What the policy says of the call in an event, with these arguments."""
        id = event.tool_use_id or ""
        return self.decide(event.tool_name, arguments, event.server, event.cwd, id)

    def decide(
        self,
        tool_name: str,
        arguments: dict[str, Any],
        server: str | None = None,
        cwd: str | None = None,
        tool_use_id: str = "",
    ) -> Decision:
        """What the policy says of a call; what cannot be judged is denied."""
        known = tuple(self._servers) if server is None else (server,)
        name, tool = split_name(tool_name, known) or (OWN_TOOLS, tool_name)
        try:
            judge, journal = self._guard(name, cwd or self._cwd)
            call = Call("tools/call", tool, arguments)
            decision = judge.decide(call, judge.policy.current())
            record = journal.call("client", call, decision)
        except ClawError as error:
            return Decision("deny", None, f"The policy cannot be applied: {error}")
        if decision.action == "prompt":
            self._asking[tool_use_id] = (journal, record, call)
        return decision

    def answered(self, tool_use_id: str, answer: str, *, allowed: bool) -> None:
        """Log what was said to a rule that asks; raises where that cannot be written."""
        asking = self._asking.pop(tool_use_id, None)
        if asking is not None:
            journal, record, call = asking
            journal.approval(record, call, answer, allowed=allowed)

    def take_up(self, servers: Mapping[str, Sequence[str]]) -> None:
        """Know these servers too, which the CLI has been told to start."""
        self._servers.update(servers)
        self._guards = {key: found for key, found in self._guards.items() if key[0] not in servers}

    def _guard(self, server: str, cwd: str) -> tuple[Judge, Journal]:
        found = self._guards.get((server, cwd))
        if found is None:
            paths = Paths(cwd=cwd, home=self._home, resolve=True, bases=self._bases(server))
            judge = open_judge(self._file, (server,), paths, server)
            found = self._guards[server, cwd] = (judge, Journal(judge, "claude-cli"))
        return found

    def _bases(self, server: str) -> tuple[str, ...]:
        """A server stays where it was started, wherever the CLI has gone since."""
        if server == OWN_TOOLS:
            return ()
        return directories((".", *self._servers.get(server, ())), self._cwd, self._home)
