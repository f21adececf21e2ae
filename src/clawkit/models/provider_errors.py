"""Errors of providers: what went wrong, and what a person can do about it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import msgspec
from msgspec import Struct

from clawkit.errors import (
    ContextTooLongError,
    ModelError,
    ModelTimeoutError,
    NoSuchModelError,
    ProviderDownError,
    RateLimitError,
    RefusedKeyError,
    RefusedRequestError,
)
from clawkit.models.json_fields import Json, decoded, fields
from clawkit.text.secrets import redact_secrets

_TITLE = re.compile(r"<title[^>]*>(.{0,200}?)</title", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"<[^>]{0,500}>")
_LONGEST = 4000
# Each provider has its own words for a conversation that is too long.
_LENGTH = re.compile(
    r"context_length_exceeded|exceed_context_size|prompt is too long|input is too long"
    r"|maximum context length|context (?:length|size|limit|window)|token count.{0,80}exceeds"
    r"|maximum prompt length|reduce the length of|exceeded model token limit|too many tokens"
    r"|tokens to keep from the initial prompt|max_new_tokens. must be <= \d+"
    r"|string_above_max_length",
    re.IGNORECASE,
)
_LIMITS = (
    re.compile(r"> ?(\d{3,9}) maximum", re.IGNORECASE),
    re.compile(r"(?:context|prompt) (?:length|size|limit|window)(?: is| of)?(?: only)?"
               r"[: (]{1,2}(\d{3,9})", re.IGNORECASE),
    re.compile(r'"n_ctx": ?(\d{3,9})'),
)  # fmt: skip
_ANSWER = re.compile(r"max_(?:new_|completion_)?tokens|in the completion", re.IGNORECASE)
# In a 404 the word is enough; elsewhere a model may be mentioned for many reasons.
_MODEL = re.compile(r"model|no (?:allowed providers|endpoints found)", re.IGNORECASE)
_NO_MODEL = re.compile(
    r"model_not_found|no such model|unknown model|not a valid model|invalid model (?:name|id)"
    r"|model [`'\"\\]*[\w.:/-]+[`'\"\\]* (?:was )?(?:not found|does not exist)|no models loaded",
    re.IGNORECASE,
)
_STATUS = {
    "overloaded_error": 529,
    "api_error": 500,
    "server_error": 500,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
    "authentication_error": 401,
    "invalid_api_key": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "model_not_found": 404,
    "request_too_large": 413,
    "invalid_request_error": 400,
    "context_length_exceeded": 400,
    "exceed_context_size_error": 400,
    "billing_error": 402,
    "timeout_error": 504,
}


class ErrorReply(Struct, frozen=True):
    """A provider's words: `text` is for people, `everything` is what to look for signs in."""

    text: str = ""
    everything: str = ""
    status: int = 500
    """What an error inside a stream would have been as an HTTP status."""


def read_body(body: bytes, kind: str) -> ErrorReply:
    """What the body of an error says, be it JSON, a web page, or just words."""
    words = body.decode("utf-8", "replace")
    try:
        value = decoded(body)
    except ValueError:
        return ErrorReply(_plain(words, kind), words[:_LONGEST])
    return read_error(value)


def read_error(value: Any) -> ErrorReply:
    """What an error object says, be it `{"error": {"message": …}}` or `{"error": "…"}`."""
    whole = msgspec.json.encode(value).decode()[:_LONGEST]
    inner: Any = fields(value).get("error") or value
    if not isinstance(inner, dict):
        return ErrorReply(str(inner)[:_LONGEST], whole)
    error = fields(inner)
    words = error.get("message") or error.get("detail") or error.get("error") or whole
    return ErrorReply(str(words), whole, _status(error))


def speaks_of_length(status: int, said: ErrorReply) -> bool:
    """Whether the conversation is too long: some servers say so with a 500."""
    return status == 413 or (status in (400, 422, 500) and bool(_LENGTH.search(said.everything)))


def speaks_of_model(status: int, said: ErrorReply) -> bool:
    """Whether it is the model that was not found, and not the page."""
    pattern = _MODEL if status == 404 else _NO_MODEL
    return status < 500 and bool(pattern.search(said.everything))


def speaks_of_answer(said: ErrorReply) -> bool:
    """Whether room for the answer was counted: less of it may be all that is needed."""
    return bool(_ANSWER.search(said.everything))


def context_limit(said: ErrorReply) -> int | None:
    """How many tokens fit, if it says so."""
    for pattern in _LIMITS:
        if found := pattern.search(said.everything):
            return int(found[1])
    return None


def _plain(words: str, kind: str) -> str:
    if "html" in kind or words.lstrip()[:1] == "<":
        title = _TITLE.search(words[:_LONGEST])
        return title[1].strip() if title else _TAG.sub(" ", words[:_LONGEST]).strip()
    return words[:_LONGEST].strip()


def _status(error: Json) -> int:
    for name in ("code", "type", "status"):
        value = error.get(name)
        if isinstance(value, int) and 400 <= value < 600:
            return value
        if isinstance(value, str) and value in _STATUS:
            return _STATUS[value]
    return 500


_LONGEST_QUOTE = 200
_LONGEST_READ = 4000
_SHORTEST_SECRET = 4
_RECOGNISABLE = 6
_NO_CREDIT = re.compile(
    r"insufficient_quota|credit balance|insufficient credits|billing_", re.IGNORECASE
)
_UNUSABLE_ANSWERS = (408, 409, 425)
_LONGER = "a model that needs longer gets it with `timeout` under [model] in the config"
_STARTING = {
    "ollama": "start it with `ollama serve`",
    "lmstudio": "start its server with `lms server start`",
    "vllm": "start it with `vllm serve MODEL`",
    "llamacpp": "start it with `llama-server -m FILE.gguf`",
}


class WrongAddressError(ProviderDownError):
    """Nothing answers at the address, or something else does: asking it again does not help."""


class BusyError(ProviderDownError):
    """The provider is overloaded, and says in how many seconds to come back."""

    def __init__(self, provider: str, message: str, retry_after: float) -> None:
        super().__init__(provider, message)
        self.retry_after = retry_after


class ProviderIdentity(Struct, frozen=True):
    """Who was asked, as far as errors may tell."""

    provider: str
    model: str
    base_url: str
    key_env: str = ""
    has_key: bool = False
    is_local: bool = False
    secrets: tuple[str, ...] = ()
    address_setting: str = ""
    """Where the address is set, if not in the assistant's config."""

    @property
    def name(self) -> str:
        return f"{self.provider}/{self.model}"

    @property
    def address_is_set_by(self) -> str:
        return self.address_setting or f"`base_url` under [providers.{self.provider}]"

    def __repr__(self) -> str:
        return f"ProviderIdentity({self.name})"

    def __rich_repr__(self) -> list[tuple[str, str]]:
        return [("provider", self.provider), ("model", self.model)]

    def quote(self, text: str) -> str:
        """A provider's words as they may be shown: on one line, short, and without secrets."""
        if len(text) > _LONGEST_READ:  # Its last word may be the beginning of a secret.
            text = text[:_LONGEST_READ].rpartition(" ")[0]
        for secret in self.secrets:
            text = _without(text, secret)
        text = redact_secrets(text)[0]
        text = "".join(c if c.isprintable() else " " for c in text)
        # What has stars in it is what a provider shows of a key.
        text = " ".join("[redacted]" if "***" in word else word for word in text.split())
        return text if len(text) <= _LONGEST_QUOTE else text[: _LONGEST_QUOTE - 1] + "…"


def _without(text: str, secret: str) -> str:
    if len(secret) < _SHORTEST_SECRET:
        return text
    text = text.replace(secret, "[redacted]")
    if len(secret) > 2 * _RECOGNISABLE:  # Providers like to repeat the beginning of a key.
        return re.sub(re.escape(secret[:_RECOGNISABLE]) + r"[^\s\"',)]*", "[redacted]", text)
    return text


def from_status(
    identity: ProviderIdentity,
    status: int,
    said: ErrorReply,
    headers: Mapping[str, str] | None = None,
) -> ModelError:
    """The error for an HTTP status, or for one that an event inside a stream stands for."""
    shown = _shown(identity, status, said)
    if status == 402 or _NO_CREDIT.search(said.everything):
        return _no_credit(identity, shown)
    if status in (401, 403):
        return _refused_key(identity, shown)
    if status == 429:
        return _rate_limit(identity, shown, retry_after(headers or {}))
    if speaks_of_length(status, said):
        return context_too_long(identity, shown)
    if speaks_of_model(status, said):
        return _no_such_model(identity, shown)
    if status == 404:
        return _no_api(identity, shown)
    if status >= 500 or status in _UNUSABLE_ANSWERS:
        return _failing(identity, status, shown, retry_after(headers or {}))
    if status >= 400:
        return RefusedRequestError(
            identity.provider,
            f"{identity.provider} does not take the request{shown}. "
            "If an attachment is at fault, leave it out and begin anew with /new",
        )
    return _redirect(identity, status, said)


def context_too_long(identity: ProviderIdentity, shown: str = "") -> ContextTooLongError:
    return ContextTooLongError(
        identity.provider,
        f"The conversation does not fit into {identity.name}{shown}. Send less at "
        "once, shorten the conversation with /compact, or begin anew with /new",
    )


def unreachable(
    identity: ProviderIdentity, reason: str, *, refused: bool = False
) -> ProviderDownError:
    """No connection. Where a local one was refused nobody listens, and waiting would not help."""
    text = (
        f"{identity.provider} cannot be reached at {identity.base_url}: {identity.quote(reason)}. "
    )
    if not identity.is_local and identity.provider not in _STARTING:
        text += f"Check the network and {identity.address_is_set_by}{_status_hint(identity)}"
        return ProviderDownError(identity.provider, text)
    start = _STARTING.get(identity.provider, "start it").replace("MODEL", identity.model)
    text += f"Is it running? If not, {start}; if it listens elsewhere, "
    text += f"set {identity.address_is_set_by}"
    return (WrongAddressError if refused else ProviderDownError)(identity.provider, text)


def silent(identity: ProviderIdentity, seconds: float) -> ModelTimeoutError:
    return ModelTimeoutError(
        identity.provider,
        f"Nothing came from {identity.name} for {seconds:g} s. Try again"
        + ("" if identity.address_setting else f"; {_LONGER}{_status_hint(identity)}"),
    )


def broke_off(identity: ProviderIdentity, how: str = "the connection ended") -> ProviderDownError:
    return ProviderDownError(
        identity.provider,
        f"{identity.name} broke off in the middle of its answer: "
        f"{identity.quote(how)}. Try again{_status_hint(identity)}",
    )


def too_many_arguments(identity: ProviderIdentity, most: int) -> ModelError:
    """A model that does not stop writing the arguments of a call."""
    return ModelError(
        identity.provider,
        f"{identity.name} was stopped: the arguments of its calls have more than "
        f"{most} characters. Ask for less at a time, or choose another model",
    )


def no_stream(identity: ProviderIdentity, kind: str, said: ErrorReply) -> WrongAddressError:
    """A 200 that is not what was asked for: a proxy's page, or another program."""
    shown = f': "{identity.quote(said.text)}"' if said.text else ""
    return WrongAddressError(
        identity.provider,
        f"{identity.base_url} answers with {identity.quote(kind) or 'something'} where a model's "
        f"answer should be{shown}. Check {identity.address_is_set_by}, and whether a "
        "proxy or a log-in page stands in between",
    )


def retry_after(headers: Mapping[str, str]) -> float | None:
    """How many seconds a provider asks to wait: it says so in seconds, milliseconds or a date."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) / unit
        except ValueError:
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    try:
        when = parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(0.0, (when - datetime.now(UTC)).total_seconds())


def _status_hint(identity: ProviderIdentity) -> str:
    """Only what the assistant's config names is tried by `claw status`."""
    return "" if identity.address_setting else "; `claw status --deep` shows whether it answers"


def _shown(identity: ProviderIdentity, status: int, said: ErrorReply) -> str:
    quoted = identity.quote(said.text)
    return f' ({status}: "{quoted}")' if quoted else f" ({status})"


def _refused_key(identity: ProviderIdentity, shown: str) -> RefusedKeyError:
    name = identity.provider
    if identity.address_setting:
        problem = "does not accept the key" if identity.has_key else "wants a key, and none is set"
        return RefusedKeyError(name, f"{name} {problem}{shown}. Give it a valid one")
    if not identity.has_key:
        text = f"{name} wants a key{shown}, and none is set. "
        text += f"Set {identity.key_env}" if identity.key_env else _name_a_variable(name)
    elif identity.key_env:
        text = f"{name} does not accept the key in {identity.key_env}{shown}. Set a valid one"
    else:
        text = f"{name} does not accept the key{shown}. {_name_a_variable(name)}"
    return RefusedKeyError(name, f"{text} in the environment or in `.env`, or run `claw setup`")


def _name_a_variable(provider: str) -> str:
    return f"Name its variable as `key_env` under [providers.{provider}] and set it"


def _no_credit(identity: ProviderIdentity, shown: str) -> RefusedKeyError:
    return RefusedKeyError(
        identity.provider,
        f"{identity.provider} says that nothing is left to pay with{shown}. Add credit to the "
        f"account of {identity.key_env or 'the key'}, or choose another model with `claw setup`",
    )


def _rate_limit(identity: ProviderIdentity, shown: str, wait: float | None) -> RateLimitError:
    when = f"in {wait:.0f} s" if wait else "in a while"
    return RateLimitError(
        identity.provider,
        f"{identity.provider} was asked too often{shown}. Try again {when}, "
        "or name other models as `fallbacks` under [model] in the config",
        wait,
    )


def _no_api(identity: ProviderIdentity, shown: str) -> WrongAddressError:
    return WrongAddressError(
        identity.provider,
        f"There is no model API at {identity.base_url}{shown}. Check {identity.address_is_set_by}: "
        "it often ends in /v1",
    )


def _no_such_model(identity: ProviderIdentity, shown: str) -> NoSuchModelError:
    pull = (
        f"Get it with `ollama pull {identity.model}`, or c"
        if identity.provider == "ollama"
        else "C"
    )
    return NoSuchModelError(
        identity.provider,
        f'{identity.provider} has no model "{identity.model}"{shown}. '
        f"{pull}hange `use` under [model] in the config; `claw setup` helps to choose",
    )


def _failing(
    identity: ProviderIdentity, status: int, shown: str, wait: float | None
) -> ProviderDownError:
    state = "is overloaded" if status == 529 else "fails"
    text = f"{identity.provider} {state}{shown}. Try again in a while{_status_hint(identity)}"
    if wait is None:
        return ProviderDownError(identity.provider, text)
    return BusyError(identity.provider, text, wait)


def _redirect(identity: ProviderIdentity, status: int, said: ErrorReply) -> WrongAddressError:
    where = f" to {identity.quote(said.text)}" if said.text else ""
    return WrongAddressError(
        identity.provider,
        f"{identity.base_url} answers with a redirect{where} ({status}), and a key is not sent "
        f"after it. If you trust that place, set it as {identity.address_is_set_by}",
    )
