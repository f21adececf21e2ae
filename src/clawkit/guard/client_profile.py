"""What the guard knows of the client: its name, and whether it can ask its user."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from clawkit.guard.policy.call import CLIENT_CAPABILITIES, CLIENT_INFO, CallSession
from clawkit.guard.scan import visible
from clawkit.wire.jsonrpc import as_object
from clawkit.wire.revisions import NEWEST_LEGACY

_META = "io.modelcontextprotocol/"
_ROUND_TRIPS = ("tools/call", "resources/read", "prompts/get")
"""What may be answered with a question, in the era of multi-round-trip results."""


class ClientProfile:
    """The program at the other end, as far as its messages tell."""

    def __init__(self) -> None:
        self.name = ""
        self.known = CallSession()
        """What its calls are compared with: what it said first, and what was agreed upon."""
        self._about: object = None
        self._elicits = False
        self._modern = False

    def meet(self, method: str, params: dict[str, Any]) -> None:
        """Learn from an `initialize`, or from the `_meta` of a request of the modern era."""
        meta = as_object(params.get("_meta")) or {}
        if method == "initialize":
            self._modern = False
            info, capabilities = params.get("clientInfo"), params.get("capabilities")
            self.known = CallSession(client={CLIENT_INFO: info, CLIENT_CAPABILITIES: capabilities})
            self._learn(info, capabilities)
        elif f"{_META}protocolVersion" in meta:
            self._modern = True
            said = (key for key in (CLIENT_INFO, CLIENT_CAPABILITIES) if key in meta)
            if new := {key: meta[key] for key in said if key not in self.known.client}:
                self.known = replace(self.known, client={**self.known.client, **new})
            self._learn(meta.get(CLIENT_INFO), meta.get(CLIENT_CAPABILITIES))

    def agree(self, result: dict[str, Any] | None) -> None:
        """Learn from the answer to `initialize` which revision they speak."""
        tasks = (result or {}).get("protocolVersion") == NEWEST_LEGACY
        self.known = replace(self.known, tasks=tasks)

    def _learn(self, info: object, capabilities: object) -> None:
        about = as_object(info)
        if about is not None and about != self._about:
            self._about = about
            self.name = visible(f"{about.get('name', '')}/{about.get('version', '')}", 100)
        elicitation = as_object((as_object(capabilities) or {}).get("elicitation"))
        # One that names what it can show must name forms.
        self._elicits = elicitation is not None and (not elicitation or "form" in elicitation)

    @property
    def has_rounds(self) -> bool:
        """Whether its calls can have a next round: only in the modern era."""
        return self._modern

    def takes_requests(self) -> bool:
        """Whether a question can be sent to it as a request: not since the modern era."""
        return self._elicits and not self._modern

    def takes_questions(self, method: str) -> bool:
        """Whether its request can be answered with a question."""
        return self._elicits and self._modern and method in _ROUND_TRIPS
