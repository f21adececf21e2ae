"""What the guard knows of the client: its name, and whether it can put a question to a person."""

from __future__ import annotations

from typing import Any

from clawkit.guard.scan import visible
from clawkit.wire.jsonrpc import as_object

_META = "io.modelcontextprotocol/"
_ROUND_TRIPS = ("tools/call", "resources/read", "prompts/get")
"""What may be answered with a question, in the era of multi-round-trip results."""


class Client:
    """The program at the other end, as far as its messages tell."""

    def __init__(self) -> None:
        self.name = ""
        self._about: object = None
        self._elicits = False
        self._modern = False

    def meet(self, method: str, params: dict[str, Any]) -> None:
        """Learn from an `initialize`, or from the `_meta` of a request of the modern era."""
        meta = as_object(params.get("_meta")) or {}
        if method == "initialize":
            self._modern = False
            self._learn(params.get("clientInfo"), params.get("capabilities"))
        elif f"{_META}protocolVersion" in meta:
            self._modern = True
            self._learn(meta.get(f"{_META}clientInfo"), meta.get(f"{_META}clientCapabilities"))

    def _learn(self, info: object, capabilities: object) -> None:
        about = as_object(info)
        if about is not None and about != self._about:
            self._about = about
            self.name = visible(f"{about.get('name', '')}/{about.get('version', '')}", 100)
        elicitation = as_object((as_object(capabilities) or {}).get("elicitation"))
        # One that names what it can show must name forms.
        self._elicits = elicitation is not None and (not elicitation or "form" in elicitation)

    def takes_requests(self) -> bool:
        """Whether a question can be sent to it as a request: not since the modern era."""
        return self._elicits and not self._modern

    def takes_questions(self, method: str) -> bool:
        """Whether its request can be answered with a question."""
        return self._elicits and self._modern and method in _ROUND_TRIPS
