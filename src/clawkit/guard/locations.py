"""Where the guard's policy, pins, audit log, approvals and key are."""

from __future__ import annotations

from pathlib import Path

from clawkit.settings import settings


def policy_file() -> Path:
    return settings().policy_file


def audit_directory() -> Path:
    return _data() / "audit"


def pins_directory() -> Path:
    return _data() / "pins"


def approvals_folder() -> Path:
    return _data() / "approvals"


def relay_key() -> Path:
    return _data() / "login-relay.key"


def _data() -> Path:
    return settings().data / "guard"
