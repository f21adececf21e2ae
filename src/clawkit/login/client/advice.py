"""What a person is told whose login a server refuses: which command helps."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from clawkit.errors import LoginError
from clawkit.login.client.discovery import challenge_in
from clawkit.login.client.stored import LoginFile

_SHOWN = re.compile(r"[A-Za-z0-9:/._~+*= -]{1,500}")


def login_advice(called: str, url: str, status: int, challenges: Sequence[str]) -> str:
    """What to do after a 401 or 403, if a login is what is missing; `called` names the server."""
    challenge = challenge_in(challenges)
    command = f"claw login {shlex.quote(called)}"
    if status == 401:
        wanted = "a login" if challenge is not None else "other credentials, or a login"
        return f"it wants {wanted}: run `{command}`"
    if challenge is None or challenge.error != "insufficient_scope":
        return ""
    try:
        record = LoginFile(url).record()
    except LoginError:
        record = None
    granted = set(record.scope.split() if record is not None else ())
    if record is not None and challenge.scope and granted >= set(challenge.scope.split()):
        return "it refuses although you are logged in with every scope that it asks for"
    if not _SHOWN.fullmatch(challenge.scope):
        return f"it wants a login that may do more: run `{command}`"
    more = f"{command} --scope {shlex.quote(challenge.scope)}"
    return f"it wants a login that may do more: run `{more}`"
