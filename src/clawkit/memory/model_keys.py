"""Model keys that people bring for their Being: stored encrypted, or lent to one patrol.

Lent keys are written nowhere, shown in no log, and forgotten after that patrol or some minutes.
Stored ones are sealed with AES-256-GCM, with the Being's id as associated data, so that a key that
is moved to another Being does not open. The master key comes from `CLAW_MEMORY_KEY` or the keyring
and is never stored beside what it seals.
"""

from __future__ import annotations

import logging
import os
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING

import msgspec

from clawkit.errors import BeingError, SettingsError
from clawkit.memory.store import beings

if TYPE_CHECKING:
    from clawkit.memory.being_store import BeingStore
    from clawkit.memory.records import Being

VARIABLE = "CLAW_MEMORY_KEY"
SHORTEST_MASTER = 32
LONGEST_KEY = 1000

_SERVICE = "clawkit"
_VERSION = b"\x01"
_NONCE = 12
_PURPOSE = b"clawkit: the model key of a Being"
_log = logging.getLogger("clawkit.memory")

KEPT_SECONDS = 600.0


class LentKey(msgspec.Struct, frozen=True, eq=False):
    """One key, and when it is too old to serve."""

    key: str
    until: float

    def __repr__(self) -> str:
        return "LentKey(…)"


class LentKeys:
    """The key that was lent to each Being last, until it has served or is too old."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._guard = threading.Lock()
        self._lent: dict[int, LentKey] = {}

    def __len__(self) -> int:
        return len(self._lent)

    def lend(self, being: int, key: str) -> None:
        with self._guard:
            self._lent[being] = LentKey(key, self._clock() + KEPT_SECONDS)

    def find(self, being: int) -> LentKey | None:
        """The key that may serve now."""
        self.forget_old()
        with self._guard:
            return self._lent.get(being)

    def forget(self, being: int, served: LentKey) -> None:
        """The key has served; what was lent meanwhile has not yet."""
        with self._guard:
            if self._lent.get(being) is served:
                del self._lent[being]

    def forget_old(self) -> None:
        now = self._clock()
        with self._guard:
            self._lent = {being: lent for being, lent in self._lent.items() if lent.until > now}


def store_key(
    store: BeingStore, being: Being, secret: str, environment: Mapping[str, str] = os.environ
) -> None:
    """Keep a model key for a Being, in place of the one it had."""
    secret = secret.strip()
    if not looks_right(secret):
        raise BeingError(f"a model key is one word of at most {LONGEST_KEY} ASCII characters")
    _need_cryptography()
    sealed = _sealed(_master(environment, make=True), being, secret)
    with store.database.registry(write=True) as connection:
        beings.set_key(connection, being.n, sealed)


def looks_right(secret: str) -> bool:
    """Whether a text can be a model key at all: one that cannot would fail every patrol."""
    plain = secret.isascii() and secret.isprintable() and " " not in secret
    return plain and 0 < len(secret) <= LONGEST_KEY


def stored_key(store: BeingStore, being: Being, environment: Mapping[str, str] = os.environ) -> str:
    """The model key of a Being; empty where it has none, which needs no master key."""
    with store.database.registry() as connection:
        sealed = beings.key(connection, being.n)
    if sealed is None:
        return ""
    _need_cryptography()
    return _opened(_master(environment, make=False), being, sealed)


def key_for(store: BeingStore, being: Being) -> str:
    """The model key to work with; one that cannot be opened is told in the log and counts as none.

    Memory must go on being put in order where a master key was lost.
    """
    try:
        return stored_key(store, being)
    except (BeingError, SettingsError) as error:
        _log.warning("patrol goes without a model: %s", error)
        return ""


def has_key(store: BeingStore, being: Being) -> bool:
    with store.database.registry() as connection:
        return beings.key(connection, being.n) is not None


def forget_key(store: BeingStore, being: Being) -> bool:
    """Forget the model key of a Being; False if it had none."""
    with store.database.registry(write=True) as connection:
        had = beings.key(connection, being.n) is not None
        beings.set_key(connection, being.n, None)
    return had


def _need_cryptography() -> None:
    if find_spec("cryptography") is None:
        raise SettingsError(
            "stored model keys need the package cryptography: pip install 'clawkit[being]'"
        )


def _sealed(master: bytes, being: Being, secret: str) -> bytes:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce = secrets.token_bytes(_NONCE)
    cipher = AESGCM(_derived(master))
    return _VERSION + nonce + cipher.encrypt(nonce, secret.encode(), _bound_to(being))


def _opened(master: bytes, being: Being, sealed: bytes) -> str:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    version, nonce, text = sealed[:1], sealed[1 : 1 + _NONCE], sealed[1 + _NONCE :]
    if version != _VERSION:
        raise BeingError(
            f"the model key of {being.name} was stored by a newer clawkit: install that"
        )
    try:
        return AESGCM(_derived(master)).decrypt(nonce, text, _bound_to(being)).decode()
    except (InvalidTag, ValueError):
        raise BeingError(
            f"the model key of {being.name} does not open with this master key: set {VARIABLE} "
            "to the one it was stored with (it is still there), or store the model key again"
        ) from None


def _bound_to(being: Being) -> bytes:
    return _PURPOSE + b"\0" + being.id.encode()


def _derived(master: bytes) -> bytes:
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(SHA256(), length=32, salt=None, info=_PURPOSE).derive(master)


def _master(environment: Mapping[str, str], *, make: bool) -> bytes:
    """The secret behind all sealed keys; made in the keyring when first needed."""
    given = environment.get(VARIABLE, "").strip()
    if given and len(given) < SHORTEST_MASTER:
        raise SettingsError(f"{VARIABLE} must have at least {SHORTEST_MASTER} characters")
    found = given or _from_keyring(make=make)
    if not found:
        raise SettingsError(
            f"there is no master key for model keys: set {VARIABLE} to the secret that they were "
            "stored with"
        )
    return found.encode()


def _from_keyring(*, make: bool) -> str:
    try:
        import keyring
        import keyring.errors
    except ImportError:
        raise _no_keyring("the package keyring is not installed") from None
    try:
        found = keyring.get_password(_SERVICE, VARIABLE) or ""
        if not found and make:
            keyring.set_password(_SERVICE, VARIABLE, secrets.token_urlsafe(48))
            # Another process may have done the same just now: what is there counts.
            found = keyring.get_password(_SERVICE, VARIABLE) or ""
    except keyring.errors.KeyringError as error:
        raise _no_keyring(f"the keyring cannot be used ({type(error).__name__})") from None
    return found


def _no_keyring(why: str) -> SettingsError:
    return SettingsError(
        f"model keys are stored encrypted, and there is no master key: set {VARIABLE} to a secret "
        f"of at least {SHORTEST_MASTER} characters; {why}"
    )
