"""Logins to servers of others: a private file each, with the tokens in it or in the keyring.

Only who holds a login's lock may write it, so that no two processes renew it at once.
"""

from __future__ import annotations

import hashlib
import secrets as random
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

import msgspec

from clawkit.errors import LoginError
from clawkit.login.oauth import decoded
from clawkit.settings import settings
from clawkit.system.addresses import is_loopback, origin_of
from clawkit.system.files import json_files, keep_private, make_private, write_whole
from clawkit.system.locks import locked

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

Place = Literal["keyring", "file"]
Grant = Literal["authorization_code", "client_credentials"]
AuthMethod = Literal["none", "client_secret_basic", "client_secret_post", "private_key_jwt"]

_SERVICE = "clawkit-login"
_USUAL_PORTS = {"http": 80, "https": 443}
_NO_KEYRING = (
    "there is no keyring that could keep it: pip install 'clawkit[keyring]' and unlock one, "
    "or use --keep-in file"
)
_REAL_KEYRING = 1.0
"""The priority from which a keyring is one: those below keep nothing, or in plain text."""


class ClientIdentity(msgspec.Struct, frozen=True, omit_defaults=True):
    """Who we are to an authorization server; its secret is kept with the tokens."""

    id: str
    method: AuthMethod = "none"
    key_file: str = ""


class LoginRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is known of a login beside its secrets. With `ended` it is over, and that says why."""

    url: str
    issuer: str
    token_endpoint: str
    client: ClientIdentity
    obtained: float
    expires: float | None = None
    grant: Grant = "authorization_code"
    resource: str = ""
    scope: str = ""
    revocation_endpoint: str = ""
    renews: bool = False
    ended: str = ""
    kept_in: Place = "file"
    keyring_id: str = ""


class LoginSecrets(msgspec.Struct, frozen=True, omit_defaults=True):
    """What nobody else may see; nothing that shows this object shows it."""

    access_token: str
    refresh_token: str = ""
    client_secret: str = ""

    def __repr__(self) -> str:
        return "LoginSecrets(…)"


class KeptLogin(msgspec.Struct, frozen=True):
    """A login as it was read."""

    record: LoginRecord
    secrets: LoginSecrets


class DamagedLoginError(LoginError):
    """The file of a login cannot be decoded."""


class _Written(msgspec.Struct, frozen=True, omit_defaults=True):
    login: LoginRecord
    secrets: LoginSecrets | None = None


def server_key(url: str) -> str:
    """One spelling for all addresses that are the same server's."""
    parts = urlsplit(url)
    host = (parts.hostname or "").rstrip(".")
    port = parts.port if parts.port != _USUAL_PORTS.get(parts.scheme) else None
    shown = f"[{host}]" if ":" in host else host
    query = f"?{parts.query}" if parts.query else ""
    path = parts.path.rstrip("/")
    return f"{parts.scheme}://{shown}{f':{port}' if port else ''}{path}{query}"


def check_server(url: str) -> None:
    """Raise LoginError unless tokens may be sent to this address."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in _USUAL_PORTS and parts.hostname and parts.port != 0
    except ValueError:
        parts, usable = urlsplit(""), False
    if not usable or not url.isascii() or not url.isprintable() or " " in url:
        raise LoginError(f"{url[:100]!r} is not an address with https://").of_usage()
    if "@" in parts.netloc:
        raise LoginError("an address with a user or password in it cannot be used").of_usage()
    if parts.scheme == "http" and not is_loopback(url):
        raise LoginError(
            f"{origin_of(url)} has no https://: a login over plain HTTP can be stolen on the way"
        ).of_usage()


class LoginFile:
    """Where the login to one server is kept."""

    def __init__(self, url: str) -> None:
        self.url = server_key(url)
        name = hashlib.sha256(self.url.encode()).hexdigest()[:32]
        self.path = settings().logins / f"{name}.json"
        self._lock = settings().logins / f"{name}.lock"

    @contextmanager
    def alone(self) -> Generator[None]:
        """Keep every other process from changing this login meanwhile."""
        _make_folder()
        with locked(self._lock):
            yield

    def version(self) -> tuple[int, int] | None:
        """What differs whenever the file was written anew; None where there is none."""
        try:
            status = self.path.stat()
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns

    def record(self) -> LoginRecord | None:
        """What is known beside the secrets, without asking a keyring."""
        written = _read(self.path)
        return None if written is None else written.login

    def usable_record(self) -> LoginRecord | None:
        """The same; None for a damaged file, too."""
        with suppress(DamagedLoginError):
            return self.record()
        return None

    def read(self) -> KeptLogin | None:
        written = _read(self.path)
        if written is None:
            return None
        found = written.secrets
        if found is None:
            found = _from_keyring(written.login)
        return KeptLogin(written.login, found)

    def write(self, record: LoginRecord, kept: LoginSecrets, wanted: Place | None = None) -> Place:
        """Keep a login; `wanted` says where, and else a keyring is taken if there is one."""
        before = self.usable_record()
        id_ = before.keyring_id if before is not None and before.keyring_id else ""
        used = _into_keyring(id_, kept) if wanted != "file" else ""
        if wanted == "keyring" and not used:
            raise LoginError(_NO_KEYRING)
        if id_ and not used:
            _forget(id_)
        place: Place = "keyring" if used else "file"
        named = msgspec.structs.replace(record, kept_in=place, keyring_id=used)
        written = _Written(named, None if used else kept)
        _make_folder()
        try:
            write_whole(self.path, msgspec.json.encode(written))
        except OSError as error:
            raise LoginError(f"{self.path} cannot be written: {error.strerror}") from None
        return place

    def remove(self) -> None:
        """Forget the login and its secrets; the lock stays, as others may hold it."""
        record = self.usable_record()
        if record is not None and record.keyring_id:
            _forget(record.keyring_id)
        self.path.unlink(missing_ok=True)


def _make_folder() -> None:
    """Make the folder of logins, or take it from everyone but its owner."""
    make_private(settings().logins)
    keep_private(settings().logins)


def read_logins() -> tuple[list[LoginRecord], list[str]]:
    """All that can be read, by address, and why the others cannot."""
    records: list[LoginRecord] = []
    problems: list[str] = []
    try:
        files = json_files(settings().logins)
    except OSError as error:
        return [], [f"{settings().logins} cannot be read: {error.strerror}"]
    for path in files:
        try:
            found = _read(path)
        except LoginError as error:
            problems.append(str(error))
        else:
            records += [] if found is None else [found.login]
    return sorted(records, key=lambda one: one.url), problems


def _read(path: Path) -> _Written | None:
    try:
        return decoded(path.read_bytes(), _Written)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise LoginError(f"{path} cannot be read: {error.strerror}") from None
    except LoginError:  # its words could quote what is in the file
        raise DamagedLoginError(f"{path} is damaged: remove it, and log in again") from None


def _keyring() -> KeyringBackend | None:
    """The keyring of this system, if it has a real one."""
    try:
        import keyring
    except ImportError:
        return None
    backend = keyring.get_keyring()
    return backend if float(backend.priority) >= _REAL_KEYRING else None


def _into_keyring(id_: str, kept: LoginSecrets) -> str:
    """The id under which a keyring keeps the secrets now; empty if none does."""
    backend = _keyring()
    if backend is None:
        return ""
    from keyring.errors import KeyringError

    id_ = id_ or random.token_hex(16)
    text = msgspec.json.encode(kept).decode()
    try:
        backend.set_password(_SERVICE, id_, text)  # pyright: ignore[reportUnknownMemberType]
        return id_ if backend.get_password(_SERVICE, id_) == text else ""
    except (KeyringError, OSError):  # locked, or too long for it: Windows takes 1,280 characters
        return ""


def _from_keyring(record: LoginRecord) -> LoginSecrets:
    backend = _keyring()
    problem = "there is none here"
    if backend is not None:
        from keyring.errors import KeyringError

        try:
            text = backend.get_password(_SERVICE, record.keyring_id)
            if text:
                return decoded(text, LoginSecrets)
            problem = "it has no entry for it"
        except KeyringError as error:
            problem = type(error).__name__
        except LoginError:
            problem = "its entry is damaged"
    raise LoginError(
        f"the keyring does not give the login to {origin_of(record.url)} ({problem}): "
        "unlock it, or log in again with --keep-in file"
    )


def _forget(id_: str) -> None:
    backend = _keyring()
    if backend is None:
        return
    from keyring.errors import KeyringError

    try:
        backend.delete_password(_SERVICE, id_)
    except KeyringError:  # it is not there any more
        return
