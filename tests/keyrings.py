"""A keyring in memory, for as long as a test takes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import keyring
from keyring.backend import KeyringBackend
from keyring.errors import PasswordDeleteError, PasswordSetError


class InMemory(KeyringBackend):
    """A keyring that is gone with the test."""

    priority = 5.0  # pyright: ignore[reportAssignmentType]  # a class property there

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}
        self.asked = 0
        self.longest = 10_000

    def get_password(self, service: str, username: str) -> str | None:
        self.asked += 1
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        if len(password) > self.longest:
            raise PasswordSetError("too long")
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if (service, username) not in self.kept:
            raise PasswordDeleteError("not there")
        del self.kept[service, username]


@contextmanager
def keyring_in_memory() -> Iterator[InMemory]:
    """Use this one in place of the machine's."""
    before, mine = keyring.get_keyring(), InMemory()
    keyring.set_keyring(mine)
    try:
        yield mine
    finally:
        keyring.set_keyring(before)
