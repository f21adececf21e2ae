"""A policy in process: decides about calls, and stands before a server of Python functions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from clawkit.errors import DeniedError, PolicyError, ProtocolError
from clawkit.guard.journal import Journal
from clawkit.guard.judge import Judge, open_judge
from clawkit.guard.policy.call import Call, call_of, is_judged
from clawkit.guard.policy.paths import Paths
from clawkit.guard.policy.policy import Decision
from clawkit.tools.server import SdkMcpServerImpl
from clawkit.wire import jsonrpc
from clawkit.wire.session import Session

Ask = Callable[[Call, Decision], Awaitable[bool]]
"""Asks a person whether a call that a `prompt` rule holds may pass."""


class LoadedPolicy:
    """The policy in a file, read again when the file changes; what it decides is in `claw log`."""

    def __init__(self, file: Path | str | None, server: str) -> None:
        path = Path(file).expanduser() if file is not None else None
        if path is not None and not path.is_file():
            raise PolicyError(str(path), 0, "is no file; `claw policy init` writes one")
        paths = Paths(cwd=str(Path.cwd()), home=str(Path.home()), resolve=True)
        self._judge: Judge = open_judge(path, (server,), paths, server)
        self._journal = Journal(self._judge, "in-process")

    def decide(self, tool: str, arguments: dict[str, Any] | None = None) -> Decision:
        """`allow`, `deny` or `prompt`, with the rule and the reason."""
        return self._decided(Call("tools/call", tool, arguments or {}))[0]

    def _decided(self, call: Call) -> tuple[Decision, str]:
        decision = self._judge.decide(call, self._judge.policy.current())
        return decision, self._journal.call("client", call, decision)

    async def allows(self, call: Call, ask: Ask | None) -> Decision:
        """The decision with the person's word in it; with nobody to ask, a prompt is a deny."""
        decision, record = self._decided(call)
        if decision.action != "prompt":
            return decision
        allowed = ask is not None and await ask(call, decision)
        answer = "no" if ask else "nobody to ask"
        self._journal.approval(record, call, "once" if allowed else answer, allowed=allowed)
        return Decision("allow" if allowed else "deny", decision.rule, decision.reason)


def load_policy(file: Path | str | None = None, *, server: str = "in-process") -> LoadedPolicy:
    """The policy in a file, the documented one without; `server` is the name that rules know."""
    return LoadedPolicy(file, server)


class GuardedServer:
    """An in-process server behind a policy: what is denied never reaches its functions."""

    def __init__(self, server: SdkMcpServerImpl, policy: LoadedPolicy, ask: Ask | None) -> None:
        self.server = server
        self._policy = policy
        self._ask = ask

    async def handle_jsonrpc(
        self, request: dict[str, Any], session: Session | None = None
    ) -> dict[str, Any] | None:
        """The reply of the server, or the refusal of the policy."""
        try:
            message = jsonrpc.check(request)
        except ProtocolError as error:
            return jsonrpc.failure(jsonrpc.reply_id(request), error)
        method = message.get("method", "")
        if isinstance(method, str) and is_judged(method):
            try:
                call = call_of(method, message.get("params") or {})
            except ProtocolError as error:
                return jsonrpc.failure(jsonrpc.reply_id(request), error)
            decision = await self._policy.allows(call, self._ask)
            if decision.action != "allow":
                return _refusal(request, decision)
        return await self.server.handle_jsonrpc(request, session)


def guard_server(
    server: SdkMcpServerImpl, policy: Path | str | None = None, *, ask: Ask | None = None
) -> GuardedServer:
    """A server that a policy stands before, by the server's own name."""
    return GuardedServer(server, LoadedPolicy(policy, server.name), ask)


def _refusal(request: dict[str, Any], decision: Decision) -> dict[str, Any] | None:
    if "id" not in request:
        return None
    return jsonrpc.failure(request["id"], DeniedError(f"Denied by policy: {decision.reason}"))
