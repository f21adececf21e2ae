"""The packages that logins need, which a plain installation leaves out."""

from __future__ import annotations

from importlib.util import find_spec

from clawkit.errors import SettingsError

_NEEDED = ("argon2", "httpcore2", "jwt", "webauthn")


def need_packages() -> None:
    """Say what to install if something is missing."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise SettingsError(
            f"logins need packages that are not installed ({', '.join(missing)}): "
            "pip install 'clawkit[login]'"
        )
