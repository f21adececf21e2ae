"""What the Claude CLI says, as events of a model; and its failures, as a model's."""

from __future__ import annotations

from typing import Any

from clawkit.assistant.models.failures import Party, WrongAddressError
from clawkit.assistant.models.fields import number
from clawkit.assistant.models.protocol import (
    Event,
    Finished,
    ModelSettings,
    StopReason,
    TextDelta,
    Usage,
)
from clawkit.claude.messages import AssistantMessage, Message, ResultMessage, StreamEvent
from clawkit.errors import (
    CliError,
    CliNotFoundError,
    CliVersionError,
    ContextTooLongError,
    ModelError,
    NoSuchModelError,
    ProviderDownError,
    RateLimitError,
    RefusedKeyError,
    RefusedRequestError,
)
from clawkit.wire.jsonrpc import as_object

_REASONS: dict[str, StopReason] = {
    "refusal": "refusal",
    "max_tokens": "length",
    "max_output_tokens": "length",
}


class Hearing:
    """One answer as it comes."""

    def __init__(self, settings: ModelSettings) -> None:
        self._settings = settings
        self._name = settings.model
        self._streamed: set[str] = set()
        self._half_shown = ""
        """The message of which words were shown and that the CLI has not taken as said."""
        self._newest = ""
        self._error = ""

    @property
    def model(self) -> str:
        """Who answers, once that is known."""
        provider = self._settings.provider
        return f"{provider}/{self._name}" if self._name else provider

    def hear(self, message: Message) -> Event | None:
        """The event that a message stands for; raises for a turn that failed."""
        if isinstance(message, StreamEvent):
            return self._piece(message)
        if isinstance(message, AssistantMessage):
            return self._whole(message)
        if isinstance(message, ResultMessage):
            return self._end(message)
        return None

    def _piece(self, message: StreamEvent) -> Event | None:
        if message.event.get("type") == "message_start":
            self._begin(as_object(message.event.get("message")) or {})
        if not message.text:
            return None
        self._half_shown = self._newest
        return TextDelta(message.text)

    def _begin(self, started: dict[str, Any]) -> None:
        """A message begins. Where one broke off, the CLI may ask anew, and half of it was shown."""
        if self._half_shown:
            provider = self._settings.provider
            raise ProviderDownError(provider, "the connection broke off in mid-answer")
        self._newest = str(started.get("id"))
        self._streamed.add(self._newest)
        self._name = str(started.get("model") or self._name)

    def _whole(self, message: AssistantMessage) -> Event | None:
        """The same in one piece: its words count only where nothing was streamed."""
        if message.error is not None:
            self._error = message.error
            return None
        id = str((as_object(message.data.get("message")) or {}).get("id"))
        if id == self._half_shown:
            self._half_shown = ""
        is_new = id not in self._streamed and message.model != "<synthetic>"
        return TextDelta(message.text) if is_new and message.text else None

    def _end(self, message: ResultMessage) -> Event:
        reason = _REASONS.get(self._error) or _REASONS.get(message.stop_reason or "")
        if reason is None and (message.is_error or message.subtype != "success"):
            raise _from_result(message, self._settings)
        return Finished(reason or "end", _usage(message.usage), self.model)


def _usage(usage: dict[str, Any]) -> Usage:
    """What came from the cache, or went into it, is input as well."""
    new, made, cached = (
        number(usage.get(name))
        for name in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    )
    return Usage(new + made + cached, number(usage.get("output_tokens")), cached)


def _from_result(message: ResultMessage, settings: ModelSettings) -> ModelError:
    """Why a turn failed: the CLI says so in words, and which status the API had."""
    provider = settings.provider
    said = _quote(message.result or ", ".join(message.errors) or message.subtype, settings)
    status = message.data.get("api_error_status")
    if message.data.get("terminal_reason") == "prompt_too_long":
        return ContextTooLongError(
            provider,
            f"the conversation does not fit into {_named(settings)} ({said}). Shorten it with "
            "/compact, or begin anew with /new",
        )
    if status in (401, 403) or "/login" in said:
        return RefusedKeyError(
            provider,
            f"the Claude CLI is not logged in, or its key is refused ({said}). Start `claude` and "
            "log in, or set ANTHROPIC_API_KEY",
        )
    if status == 429:
        return RateLimitError(provider, f"the Claude CLI is asked too often ({said})")
    if status == 404:
        return NoSuchModelError(
            provider, f"the Claude CLI does not know {_named(settings)} ({said}). Choose another"
        )
    if status in (400, 413):
        return RefusedRequestError(provider, f"the request is refused ({said})")
    return ProviderDownError(provider, f"the Claude CLI could not answer ({said})")


def from_error(error: CliError, settings: ModelSettings) -> ModelError:
    """Why there is no CLI to answer."""
    if isinstance(error, (CliNotFoundError, CliVersionError)):
        return WrongAddressError(
            settings.provider,
            f"{error}. CLAUDE_CLI_PATH can name it too; or choose another model with `claw setup`",
        )
    said = _quote(str(error), settings)
    return ProviderDownError(settings.provider, f"{said}. `claw status --deep` tries it")


def _quote(text: str, settings: ModelSettings) -> str:
    return Party(settings.provider, settings.model, "").quote(text)


def _named(settings: ModelSettings) -> str:
    return f"{settings.provider}/{settings.model}" if settings.model else settings.provider
