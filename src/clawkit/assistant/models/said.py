"""What a provider said instead of an answer, read out of whatever form it came in."""

from __future__ import annotations

import re
from typing import Any

import msgspec
from msgspec import Struct

from clawkit.assistant.models.fields import Json, decoded, fields

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


class Said(Struct, frozen=True):
    """A provider's words: `text` is for people, `everything` is what to look for signs in."""

    text: str = ""
    everything: str = ""
    status: int = 500
    """What an error inside a stream would have been as an HTTP status."""


def read_body(body: bytes, kind: str) -> Said:
    """What the body of an error says, be it JSON, a web page, or just words."""
    words = body.decode("utf-8", "replace")
    try:
        value = decoded(body)
    except ValueError:
        return Said(_plain(words, kind), words[:_LONGEST])
    return read_error(value)


def read_error(value: Any) -> Said:
    """What an error object says, be it `{"error": {"message": …}}` or `{"error": "…"}`."""
    whole = msgspec.json.encode(value).decode()[:_LONGEST]
    inner: Any = fields(value).get("error") or value
    if not isinstance(inner, dict):
        return Said(str(inner)[:_LONGEST], whole)
    error = fields(inner)
    words = error.get("message") or error.get("detail") or error.get("error") or whole
    return Said(str(words), whole, _status(error))


def speaks_of_length(status: int, said: Said) -> bool:
    """Whether the conversation is too long: some servers say so with a 500."""
    return status == 413 or (status in (400, 422, 500) and bool(_LENGTH.search(said.everything)))


def speaks_of_model(status: int, said: Said) -> bool:
    """Whether it is the model that was not found, and not the page."""
    pattern = _MODEL if status == 404 else _NO_MODEL
    return status < 500 and bool(pattern.search(said.everything))


def speaks_of_answer(said: Said) -> bool:
    """Whether room for the answer was counted: less of it may be all that is needed."""
    return bool(_ANSWER.search(said.everything))


def context_limit(said: Said) -> int | None:
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
