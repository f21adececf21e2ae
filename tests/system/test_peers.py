"""Whose program is at the other end of a connection within this machine."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from clawkit.system import peers
from clawkit.system.peers import can_tell_users, user_of
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
