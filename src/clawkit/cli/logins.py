"""What `claw serve`, `mcp-server` and `proxy` need to let people log in over HTTP."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from clawkit.login.tool_logins import ToolOffer
    from clawkit.wire.http import HttpLogin
    from clawkit.wire.http.request_checks import Origins

_SHORTEST_TOKEN = 32
HINT = "People log in with any client; `claw user add NAME` adds them."


@contextmanager
def login_for(
    server: ToolOffer,
    title: str,
    public_url: str,
    proxies: Sequence[str],
    *,
    kind: str = "tools",
    members: bool = True,
) -> Generator[Callable[[str, int, Origins], HttpLogin]]:
    """Logins for a server, over the store that Beings are in, until it ends."""
    from clawkit.login.packages import need_packages

    need_packages()
    from clawkit.assistant.memory.place import MemoryPlace
    from clawkit.login.resources import address_of
    from clawkit.login.tool_logins import tool_login
    from clawkit.store import open_store
    from clawkit.wire.http.trusted_proxies import TrustedProxies

    trusted = TrustedProxies(proxies)
    with closing(open_store(MemoryPlace().address)) as database:

        def make(host: str, port: int, origins: Origins) -> Any:
            address = address_of(public_url, host, port)
            return tool_login(
                database, server, title, address, origins, trusted, kind=kind, members=members
            )

        yield make


def read_token(file: Path) -> str:
    """The token in a file that nobody else can read."""
    from clawkit.errors import SettingsError

    try:
        secret = file.read_text(encoding="utf-8").strip()
        shared = os.name == "posix" and file.stat().st_mode & 0o077
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"--token-file {file}: it cannot be read: {error}") from None
    if shared:
        raise SettingsError(f"--token-file {file}: others can read it: chmod 600 {file}")
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
    return [*(hosts or LOOPBACK), urlsplit(public_url).netloc]
