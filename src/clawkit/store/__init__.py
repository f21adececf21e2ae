"""Where Beings are kept: one SQL, two drivers, SQLite and PostgreSQL."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from clawkit.errors import SettingsError
from clawkit.settings import settings
from clawkit.system.addresses import shown_address

if TYPE_CHECKING:
    from clawkit.store.database import Database


def open_store(address: str | None = None) -> Database:
    """The store at an address; its tables are made or brought up to date."""
    address = address or default_address()
    file = embedded_file(address)
    if file is not None:
        from clawkit.store.sqlite import SqliteDatabase

        return SqliteDatabase(file)
    if address.startswith(("postgresql:", "postgres:")):
        return _open_postgres(address)
    raise SettingsError(
        f"{shown_address(address)}: a store is sqlite:PATH or postgresql://USER@HOST/DATABASE"
    )


def _open_postgres(address: str) -> Database:
    try:
        from clawkit.store.postgres import PostgresDatabase
    except ImportError as error:
        reason = str(error).partition("\n")[0]
        raise SettingsError(
            f"{shown_address(address)}: PostgreSQL needs packages that are not installed "
            f"({reason}): pip install 'clawkit[being]'"
        ) from None
    return PostgresDatabase(address)


def embedded_file(address: str) -> Path | None:
    """The file of an SQLite store; None where the address is of another kind."""
    scheme, _, rest = address.partition(":")
    return Path(rest.removeprefix("//")).expanduser() if scheme == "sqlite" and rest else None


def default_address() -> str:
    """The embedded store of this person."""
    return f"sqlite:{settings().data / 'beings.db'}"
