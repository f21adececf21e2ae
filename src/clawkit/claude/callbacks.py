"""Callbacks for the CLI: calls of our tools, permissions, questions to the person, hooks."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from clawkit.claude.options import ClaudeAgentOptions
from clawkit.claude.permissions import (
    Allow,
    Deny,
    Hook,
    HookInput,
    HookMatcher,
    HookResult,
    Question,
    ToolRequest,
    server_in,
)
from clawkit.errors import ControlError
from clawkit.tools.server import SdkMcpServerImpl, SdkMcpServerRegistry
from clawkit.wire.jsonrpc import Message, as_object
from clawkit.wire.session import Session

if TYPE_CHECKING:
    from clawkit.claude.policy_gate import PolicyGate

log = logging.getLogger("clawkit.claude")

_ACKNOWLEDGED: dict[str, Any] = {"jsonrpc": "2.0", "result": {}}
_BEFORE, _ASKED = "PreToolUse", "PermissionRequest"
# An older CLI passes over a hook that is late, and a policy must not be passed over.
_GATE_TIMEOUT = 86_400.0


class McpMessageHandler(Protocol):
    """Answers JSON-RPC for servers by name; `SdkMcpServerRegistry` is one."""

    async def handle(self, server_name: str, request: dict[str, Any]) -> dict[str, Any] | None: ...


class ToolServers:
    """The in-process servers, each with a session that can reach the CLI."""

    def __init__(self, send: Callable[[str, Message], None]) -> None:
        self.handler: McpMessageHandler = SdkMcpServerRegistry()
        self._send = send
        self._sessions: dict[str, tuple[SdkMcpServerImpl, Session]] = {}

    async def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """The reply to `mcp_message`: every message gets one, or the CLI would wait for ever."""
        reply = await self._handle(str(request.get("server_name")), request.get("message") or {})
        return {"mcp_response": reply or _ACKNOWLEDGED}

    async def _handle(self, name: str, message: Message) -> Message | None:
        handler = self.handler
        server = handler.get(name) if isinstance(handler, SdkMcpServerRegistry) else None
        if server is None:
            return await handler.handle(name, message)
        if name not in self._sessions:
            send = partial(self._send_from_anywhere, asyncio.get_running_loop(), name)
            self._sessions[name] = (server, Session(send))
        return await server.handle_jsonrpc(message, self._sessions[name][1])

    def _send_from_anywhere(
        self, loop: asyncio.AbstractEventLoop, name: str, message: Message
    ) -> None:
        """A tool that runs in a thread of its own may speak too."""
        loop.call_soon_threadsafe(self._send, name, message)

    def close(self) -> None:
        """Cancel what still runs; the servers have nobody to tell of changes any more."""
        for server, session in self._sessions.values():
            server.hub.leave(session)
            session.close()
        self._sessions.clear()


class Permissions:
    """Decides about tools: the policy first, then the callback of the options."""

    def __init__(self, options: ClaudeAgentOptions, gate: PolicyGate | None) -> None:
        self._decide = options.can_use_tool
        self._gate = gate

    async def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """The reply to `can_use_tool`."""
        asked = ToolRequest(
            str(request.get("tool_name")),
            request.get("input") or {},
            str(request.get("tool_use_id") or ""),
            tuple(request.get("permission_suggestions") or ()),
            str(request.get("decision_reason") or ""),
            server_in(request),
        )
        return (await self._decided(asked)).to_wire(asked)

    async def _decided(self, asked: ToolRequest) -> Allow | Deny:
        try:
            found = await self._asked(asked)
            return found if self._gate is None else _judged(self._gate, asked, found)
        except Exception as error:
            log.exception("can_use_tool failed")
            return Deny(f"This could not be decided: {type(error).__name__}: {error}")

    async def _asked(self, asked: ToolRequest) -> Allow | Deny:
        if self._decide is None:
            return Deny("A person has to decide about this, and there is nobody to ask")
        found = await self._decide(asked)
        if isinstance(found, bool):
            return Allow() if found else Deny()
        return found


def _judged(gate: PolicyGate, asked: ToolRequest, found: Allow | Deny) -> Allow | Deny:
    """Arguments that somebody changed are judged as they are now; a person has agreed to them."""
    reason = found.message if isinstance(found, Deny) else ""
    gate.answered(asked.tool_use_id, reason, allowed=isinstance(found, Allow))
    if isinstance(found, Deny) or found.updated_input is None:
        return found
    decision = gate.decide(asked.tool_name, found.updated_input, asked.server)
    return Deny(decision.reason) if decision.action == "deny" else found


class Questions:
    """Answers what an external server asks the person; with nobody to ask, the person declines."""

    def __init__(self, options: ClaudeAgentOptions) -> None:
        self._elicit = options.elicit

    async def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """The reply to `elicitation`."""
        question = Question(
            str(request.get("mcp_server_name")),
            str(request.get("message")),
            as_object(request.get("requested_schema")) or {},
            str(request.get("url") or ""),
        )
        content = None if self._elicit is None else await self._elicit(question)
        return (
            {"action": "decline"} if content is None else {"action": "accept", "content": content}
        )


class Hooks:
    """The hooks by the ids that the CLI calls them by."""

    def __init__(self, options: ClaudeAgentOptions, gate: PolicyGate | None) -> None:
        self._gate = gate
        self._by_id: dict[str, tuple[str, Hook]] = {}
        self._numbers = itertools.count()
        matchers = {event: list(found) for event, found in options.hooks.items()}
        if gate is not None:
            matchers.setdefault(_BEFORE, []).insert(
                0, HookMatcher([gate.hook], None, _GATE_TIMEOUT)
            )
        self.announcement = {
            event: [self._announce(event, matcher) for matcher in found]
            for event, found in matchers.items()
        }

    def _announce(self, event: str, matcher: HookMatcher) -> dict[str, Any]:
        ids = [f"hook_{next(self._numbers)}" for _ in matcher.hooks]
        self._by_id.update(
            {name: (event, hook) for name, hook in zip(ids, matcher.hooks, strict=True)}
        )
        announced: dict[str, Any] = {"matcher": matcher.matcher, "hookCallbackIds": ids}
        if matcher.timeout is not None:
            announced["timeout"] = matcher.timeout
        if event == _BEFORE:
            announced["onFailure"] = "block"
        return announced

    async def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """The reply to `hook_callback`. A hook that fails before a tool keeps it from running."""
        known = self._by_id.get(str(request.get("callback_id")))
        if known is None:
            raise ControlError("hook_callback", f"no hook {request.get('callback_id')!r}")
        event, hook = known
        data = as_object(request.get("input")) or {}
        happened = HookInput(event, data, request.get("tool_use_id"))
        try:
            found = await hook(happened)
        except Exception as error:
            if event != _BEFORE:
                raise
            found = HookResult(permission="deny", reason=f"A hook failed: {error}")
        answer = found.to_wire(event) if isinstance(found, HookResult) else (found or {})
        return answer if self._gate is None else _checked(self._gate, happened, answer)


def _checked(gate: PolicyGate, happened: HookInput, answer: dict[str, Any]) -> dict[str, Any]:
    """Arguments that a hook changed are judged by the policy as they are now."""
    specific = as_object(answer.get("hookSpecificOutput")) or {}
    said = as_object(specific.get("decision")) if happened.event == _ASKED else None
    if said is not None:
        who = ": ".join(filter(None, ("a hook", said.get("message"))))
        gate.answered(happened.tool_use_id or "", who, allowed=said.get("behavior") == "allow")
    changed = as_object((specific if said is None else said).get("updatedInput"))
    if changed is None:
        return answer
    decision = gate.judge(happened, changed)
    # A hook that answers the question has answered it for the new arguments too.
    if decision.action == "allow" or (decision.action == "prompt" and said is not None):
        return answer
    verdict = "deny" if decision.action == "deny" else "ask"
    judged = HookResult(permission=verdict, reason=decision.reason, updated_input=changed)
    return judged.to_wire(happened.event)
