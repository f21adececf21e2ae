"""Pictures written as PNG, with nothing but zlib."""

from __future__ import annotations

import struct
import zlib

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_COLOURS = {1: 0, 3: 2, 4: 6}
"""What PNG calls grey, RGB and RGBA, by the number of their channels."""
_NONE, _UP = b"\0", b"\2"


def write_png(width: int, height: int, channels: int, rows: list[bytes]) -> bytes:
    """A PNG of `height` rows, each with `width` pixels of `channels` bytes."""
    header = struct.pack(">IIBBBBB", width, height, 8, _COLOURS[channels], 0, 0, 0)
    plain = zlib.compress(b"".join(_NONE + row for row in rows), 6)
    # Drawings are smaller as they are, photographs as differences to the row above.
    differing = zlib.compress(b"".join(_UP + row for row in _differences(rows)), 6)
    return b"".join(
        (
            _SIGNATURE,
            _chunk(b"IHDR", header),
            _chunk(b"IDAT", min(plain, differing, key=len)),
            _chunk(b"IEND", b""),
        )
    )


def _chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def _differences(rows: list[bytes]) -> list[bytes]:
    """Each row minus the one above, byte by byte modulo 256, a whole row in one subtraction."""
    size = len(rows[0])
    tops = int.from_bytes(b"\x80" * size, "little")
    rest = int.from_bytes(b"\x7f" * size, "little")
    above = 0
    found: list[bytes] = []
    for row in rows:
        here = int.from_bytes(row, "little")
        # With the top bit of each byte set no byte borrows from the next; it is put right after.
        difference = ((here | tops) - (above & rest)) ^ ((here ^ above ^ tops) & tops)
        found.append(difference.to_bytes(size, "little"))
        above = here
    return found
