"""Whose program is at the other end of a TCP connection within this machine.

Linux is asked about the one socket (`sock_diag`), which takes some microseconds. Where that is not
served, the table of all of them is read, which takes milliseconds.
"""

from __future__ import annotations

import ipaddress
import os
import socket
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

_TABLES = {4: Path("/proc/net/tcp"), 16: Path("/proc/net/tcp6")}
"""By the length of an address in bytes."""
_TRIES = 3
"""The kernel writes a table in pieces: a row can be missed while another one goes."""
_USER, _INODE = 7, 9
_REFUSED_AT_ONCE = 64
_CLOSED_AT_ONCE = struct.pack("ii", 1, 0)

_SOCK_DIAG = 4
_BY_FAMILY = 20
_REQUEST = 1
_LISTENING = 10
_HEAD = struct.Struct("=IHHII")
_ASKED = struct.Struct("=BBBBI")
_FOUND = struct.Struct("=BB62xII")
"""Family and state; 62 bytes of timers, ends and queues; user and inode."""
_ANY_COOKIE = b"\xff" * 8


class _Socket(NamedTuple):
    """A socket; one without an inode is closed, and its user is not kept."""

    user: int
    inode: int


class _End(NamedTuple):
    address: bytes
    port: int


def can_tell_users() -> bool:
    """Whether this system says whose a connection is: Linux does."""
    return _TABLES[4].exists()


def user_of(peer: tuple[Any, ...], ours: tuple[Any, ...]) -> int | None:
    """The id of the user whose socket `peer` is, in a connection with ours; None if unknown."""
    ends = _end(peer), _end(ours)
    found = _asked_for(*ends) or _listed(*ends)
    return found.user if found is not None and found.inode else None


class OwnUsersSocket(socket.socket):
    """A listening socket, without blocking, that drops the connections of other users' programs.

    They cost little and take nobody's place. Root's are taken, which can do everything anyway: a
    tunnel's may be. So are those of which the system does not say whose they are.
    """

    def accept(self) -> tuple[socket.socket, Any]:
        for _ in range(_REFUSED_AT_ONCE):
            connection, peer = super().accept()
            try:
                user = user_of(peer, connection.getsockname())
            except OSError:  # it is closed again
                user = None
            if user is None or user in own_users():
                return connection, peer
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _CLOSED_AT_ONCE)
            connection.close()
        raise BlockingIOError  # whoever has been let in is served before the next ones


def own_users() -> set[int]:
    """This user, root, and who became root by `sudo`."""
    behind = os.environ.get("SUDO_UID", "") if os.geteuid() == 0 else ""
    return {os.geteuid(), 0, *([int(behind)] if behind.isdecimal() else [])}


def _end(name: tuple[Any, ...]) -> _End:
    address = ipaddress.ip_address(str(name[0]).partition("%")[0])
    inside = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return _End((inside or address).packed, int(name[1]))


def _asked_for(peer: _End, ours: _End) -> _Socket | None:
    """What the kernel says of one socket; None if it does not say."""
    family = socket.AF_INET if len(peer.address) == 4 else socket.AF_INET6
    wanted = (
        _ASKED.pack(family, socket.IPPROTO_TCP, 0, 0, 0xFFFFFFFF)
        + struct.pack(">HH", peer.port, ours.port)
        + peer.address.ljust(16, b"\0")
        + ours.address.ljust(16, b"\0")
        + bytes(4)
        + _ANY_COOKIE
    )
    head = _HEAD.pack(_HEAD.size + len(wanted), _BY_FAMILY, _REQUEST, 1, 0)
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as asking:
            asking.send(head + wanted)
            answer = asking.recv(4096)
    except OSError:
        return None
    if _HEAD.unpack_from(answer)[1] != _BY_FAMILY:
        return None
    _, state, user, inode = _FOUND.unpack_from(answer, _HEAD.size)
    # Where there is no connection, who listens at the peer's end is found instead.
    return _Socket(user, inode) if state != _LISTENING else None


def _listed(peer: _End, ours: _End) -> _Socket | None:
    for _ in range(_TRIES):
        for table, ends in _written(peer, ours):
            row = _row(table, ends)
            if row is not None:
                return _Socket(int(row[_USER]), int(row[_INODE]))
    return None


def _row(table: Path, ends: bytes) -> list[bytes] | None:
    try:
        rows = table.read_bytes()
    except OSError:
        return None
    place = rows.find(ends)
    if place < 0:
        return None
    start = rows.rfind(b"\n", 0, place) + 1
    return rows[start : rows.find(b"\n", place)].split()


def _written(*ends: _End) -> Iterator[tuple[Path, bytes]]:
    """Where and how the kernel writes two ends; those of IPv4 can be in the table of IPv6."""
    for length, table in _TABLES.items():
        if all(len(end.address) <= length for end in ends):
            written = (_hexadecimal(_widened(end.address, length), end.port) for end in ends)
            yield table, b" " + b" ".join(written) + b" "


def _widened(address: bytes, length: int) -> bytes:
    return address if len(address) == length else bytes(10) + b"\xff\xff" + address


def _hexadecimal(address: bytes, port: int) -> bytes:
    words = (address[start : start + 4] for start in range(0, len(address), 4))
    written = "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words)
    return f"{written}:{port:04X}".encode()
