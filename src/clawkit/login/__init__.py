"""Logins: an authorization server for MCP servers and its people; a client of other servers."""

from __future__ import annotations

from clawkit.errors import SettingsError

_NEEDED = ("argon2", "httpcore2", "jwt", "webauthn")


def need_packages() -> None:
    """Say what to install if a package is missing that a plain installation leaves out."""
    from importlib.util import find_spec

    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise SettingsError(
            f"logins need packages that are not installed ({', '.join(missing)}): "
            "pip install 'clawkit[login]'"
        )
