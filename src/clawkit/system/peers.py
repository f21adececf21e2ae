"""Whose program is at the other end of a TCP connection within this machine."""

from __future__ import annotations

import ipaddress
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_TABLES = {4: Path("/proc/net/tcp"), 16: Path("/proc/net/tcp6")}
"""By the length of an address in bytes."""
_TRIES = 3
"""The kernel writes a table in pieces: a row can be missed while another one goes."""
_USER, _INODE = 7, 9


def can_tell_users() -> bool:
    """Whether this system says whose a connection is: Linux does."""
    return _TABLES[4].exists()


def user_of(peer: tuple[Any, ...], ours: tuple[Any, ...]) -> int | None:
    """The id of the user whose socket `peer` is, in a connection with ours; None if unknown."""
    for _ in range(_TRIES):
        for table, ends in _written(peer, ours):
            row = _row(table, ends)
            if row is not None:
                # A socket without an inode is closed, and its user is not kept.
                return int(row[_USER]) if row[_INODE] != b"0" else None
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


def _written(peer: tuple[Any, ...], ours: tuple[Any, ...]) -> Iterator[tuple[Path, bytes]]:
    """Where and how the kernel writes the two ends, the peer's first; IPv4 can be in IPv6."""
    ends = [_packed(one) for one in (peer, ours)]
    for length, table in _TABLES.items():
        widened = [(address, port) for packed, port in ends if (address := _as(packed, length))]
        if len(widened) == len(ends):
            yield table, b" " + b" ".join(_hexadecimal(*end) for end in widened) + b" "


def _packed(end: tuple[Any, ...]) -> tuple[bytes, int]:
    address = ipaddress.ip_address(str(end[0]).partition("%")[0])
    inside = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (inside or address).packed, int(end[1])


def _as(packed: bytes, length: int) -> bytes:
    if len(packed) == length:
        return packed
    return bytes(10) + b"\xff\xff" + packed if len(packed) < length else b""


def _hexadecimal(packed: bytes, port: int) -> bytes:
    words = (packed[start : start + 4] for start in range(0, len(packed), 4))
    written = "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words)
    return f"{written}:{port:04X}".encode()
