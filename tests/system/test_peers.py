"""Whose program is at the other end of a connection within this machine."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from clawkit.system import peers
from clawkit.system.peers import OwnUsersSocket, can_tell_users, own_users, user_of
from tests.guard.approvals import until


@contextmanager
def connected(
    family: socket.AddressFamily, host: str, from_family: socket.AddressFamily, to: str
) -> Iterator[tuple[socket.socket, socket.socket]]:
    """Two ends of a connection: the one that was accepted, and the one that connected."""
    with socket.socket(family) as listening, socket.socket(from_family) as calling:
        listening.bind((host, 0))
        listening.listen()
        calling.connect((to, listening.getsockname()[1]))
        accepted, _ = listening.accept()
        with closing(accepted):
            yield accepted, calling


FOUR, SIX = socket.AF_INET, socket.AF_INET6


@pytest.fixture(params=["asked", "listed"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways: a kernel that is asked for one socket, and one that does not serve that."""
    if request.param == "listed":
        monkeypatch.setattr(peers, "_SOCK_DIAG", 31)  # no such protocol
    else:
        monkeypatch.setattr(peers, "_TABLES", {4: Path("/proc/none"), 16: Path("/proc/none")})
    return request.param


@pytest.mark.parametrize(
    ("family", "host", "from_family", "to"),
    [
        (FOUR, "127.0.0.1", FOUR, "127.0.0.1"),
        (SIX, "::1", SIX, "::1"),
        (FOUR, "127.0.0.1", SIX, "::ffff:127.0.0.1"),
        (FOUR, "127.0.0.2", FOUR, "127.0.0.2"),
    ],
    ids=["4", "6", "4 in 6", "another loopback address"],
)
def test_our_own_connection_is_ours(
    way: str, family: socket.AddressFamily, host: str, from_family: socket.AddressFamily, to: str
) -> None:
    assert can_tell_users() == (way == "listed")
    with connected(family, host, from_family, to) as (accepted, calling):
        assert user_of(accepted.getpeername(), accepted.getsockname()) == os.geteuid()
        calling.shutdown(socket.SHUT_WR)
        assert user_of(accepted.getpeername(), accepted.getsockname()) == os.geteuid()


@pytest.mark.usefixtures("way")
def test_a_connection_that_its_program_has_closed_is_nobodys() -> None:
    """The kernel writes user 0 for those, who may be the one that asks."""
    with connected(FOUR, "127.0.0.1", FOUR, "127.0.0.1") as (accepted, calling):
        ends = accepted.getpeername(), accepted.getsockname()
        calling.close()
        assert user_of(*ends) is None
        accepted.close()
        until(lambda: user_of(*ends) is None)


@pytest.mark.usefixtures("way")
def test_a_connection_that_is_not_there_is_nobodys() -> None:
    assert user_of(("127.0.0.1", 1), ("127.0.0.1", 2)) is None
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        assert user_of(listening.getsockname(), ("127.0.0.1", 2)) is None


@contextmanager
def called(times: int) -> Iterator[OwnUsersSocket]:
    """A listening socket to which so many connections were made."""
    with ExitStack() as until_end:
        listening = until_end.enter_context(OwnUsersSocket())
        listening.bind(("127.0.0.1", 0))
        listening.listen(times)
        listening.setblocking(False)
        for _ in range(times):
            until_end.enter_context(socket.create_connection(listening.getsockname()))
        yield listening


@pytest.mark.usefixtures("way")
def test_connections_of_other_users_are_dropped_a_number_of_them_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with called(peers._REFUSED_AT_ONCE + 1) as listening:
        monkeypatch.setattr(peers, "own_users", set[int])
        with pytest.raises(BlockingIOError):
            listening.accept()
        monkeypatch.undo()
        listening.accept()[0].close()
        with pytest.raises(BlockingIOError):
            listening.accept()


def test_connections_of_which_the_system_does_not_say_whose_they_are_are_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(peers, "own_users", set[int])
    monkeypatch.setattr(peers, "user_of", lambda *_: None)
    with called(1) as listening:
        listening.accept()[0].close()


def test_who_became_root_by_sudo_is_no_other_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUDO_UID", "1234")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert own_users() == {0, 1000}
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert own_users() == {0, 1234}
