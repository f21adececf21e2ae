"""Addresses of stores: the default one, and how one is shown without its password."""

from __future__ import annotations

from clawkit.settings import settings


def default_address() -> str:
    """The embedded store of this person."""
    return f"sqlite:{settings().data / 'beings.db'}"


def shown(address: str) -> str:
    """The address without what is secret in it."""
    scheme, mark, rest = address.partition("://")
    if not mark:
        return address
    before, _, options = rest.partition("?")
    # A `?` or `@` that should have been escaped: what is what cannot be told.
    return f"{scheme}://{'…' if '@' in options else before.rpartition('@')[2]}"
