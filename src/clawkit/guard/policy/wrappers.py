"""What programs take for a path or an address inside a longer value: `--file=…`, `@…`, `HEAD:…`.

Rules that deny or ask look there too.
"""

from __future__ import annotations

import re

from clawkit.guard.policy.pathtext import has_drive

_LONGEST = 32768  # No system opens a longer path.
_MOST_LAYERS = 4
_SIGNS = re.compile(r"[=:@<'\"`-]")
_QUOTES = "\"'`"
_WRAPPER = re.compile(
    r"<\s*(?=[/~.\\]|[a-z][a-z0-9+.-]*:)"  # <file:///x>, <URL:file:///x>
    r"|url:\s*"
    r"|-[a-z](?=[/~.\\])|--?[\w-]{1,40}\s+(?=[/~.\\])"  # -f/x, -f /x, --file /x
    r"|:\([a-z,:]{0,60}\)"  # :(top)x
    r"|[^\s=:@/\\]{0,64}[=@]"  # --file=x, @x, name=@x
    # HEAD:x, host:x, jar:file:x, but no time of day and no address of a host
    r"|[^\s=:@]{0,100}:(?=\S)(?!//[^/]|\d\d(?::\d|Z|\Z))",
    re.IGNORECASE,
)


def is_wrapped(text: str) -> bool:
    """Whether a value may hold another one."""
    return bool(_within(text))


def inner_values(text: str) -> list[str]:
    """What a value may hold, from the outside to the inside."""
    found: list[str] = []
    while len(found) < _MOST_LAYERS and (text := _within(text)):
        found.append(text)
    return found


def _within(text: str) -> str:
    if len(text) > _LONGEST or _SIGNS.search(text, 0, 128) is None:
        return ""
    text = text.strip()
    if "\n" in text or has_drive(text):
        return ""
    if text[:1] in _QUOTES and text[-1:] == text[:1]:
        return text[1:-1]
    found = _WRAPPER.match(text)
    if found is None:
        return ""
    inner = text[found.end() :]
    return inner.rstrip("> ") if text.startswith("<") else inner
