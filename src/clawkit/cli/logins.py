"""What `claw serve`, `mcp-server` and `proxy` need to let people log in over HTTP."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from clawkit.login.options import LoginOptions
    from clawkit.login.tool_logins import ToolOffer
    from clawkit.wire.http import HttpLogin
    from clawkit.wire.http.request_checks import Origins

_SHORTEST_TOKEN = 32
_LONGEST_SECRET = 8192


def hint(options: LoginOptions) -> str:
    """What to tell whoever starts a server that people log in to."""
    if options.jwt_issuer:
        return (
            f"Access tokens of {options.jwt_issuer} are accepted; `claw user add NAME --subject "
            "SUB` adds people."
        )
    return "People log in with any client; `claw user add NAME` adds them."


@contextmanager
def login_for(
    server: ToolOffer,
    title: str,
    options: LoginOptions,
    proxies: Sequence[str],
    *,
    kind: str = "tools",
    members: bool = True,
) -> Generator[Callable[[str, int, Origins], HttpLogin]]:
    """Logins for a server, over the store that Beings are in, until it ends."""
    from clawkit.assistant.memory.place import MemoryPlace
    from clawkit.login.resources import address_of
    from clawkit.login.tool_logins import tool_login
    from clawkit.store import open_store
    from clawkit.wire.http.trusted_proxies import TrustedProxies

    trusted = TrustedProxies(proxies)
    with closing(open_store(MemoryPlace().address)) as database:

        def make(host: str, port: int, origins: Origins) -> Any:
            return tool_login(
                database,
                server,
                title,
                address_of(options.public_url, host, port),
                origins,
                trusted,
                kind=kind,
                members=members,
                options=options,
            )

        yield make


def private_text(file: Path, option: str) -> str:
    """What is in a file that nobody else can read; `option` is where it was given."""
    from clawkit.errors import SettingsError

    try:
        mode = file.stat().st_mode
        if not stat.S_ISREG(mode):
            raise SettingsError(f"{option} {file}: it must be a regular file")
        with file.open("rb") as opened:
            data = opened.read(_LONGEST_SECRET + 1)
        secret = data.decode().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{option} {file}: it cannot be read: {error}") from None
    if len(data) > _LONGEST_SECRET:
        raise SettingsError(f"{option} {file}: it is longer than {_LONGEST_SECRET} bytes")
    if os.name == "posix" and mode & 0o077:
        raise SettingsError(f"{option} {file}: others can read it: chmod 600 {file}")
    return secret


def read_token(file: Path) -> str:
    """The token in a file that nobody else can read."""
    from clawkit.errors import SettingsError

    secret = private_text(file, "--token-file")
    if len(secret) < _SHORTEST_TOKEN or not secret.isprintable() or " " in secret:
        raise SettingsError(
            f"--token-file {file}: a token is one line of at least {_SHORTEST_TOKEN} characters; "
            f"`openssl rand -hex 32 > {file}` makes one"
        )
    return secret


def hosts_behind(
    public_url: str, hosts: list[str] | None, *, on_loopback: bool
) -> list[str] | None:
    """The host names that a server answers to, with the one that its proxy passes on."""
    from urllib.parse import urlsplit

    from clawkit.wire.http.request_checks import LOOPBACK

    if not public_url or (hosts is None and not on_loopback):
        return hosts
    from clawkit.login.resources import checked_origin

    return [*(hosts or LOOPBACK), urlsplit(checked_origin(public_url)).netloc]
