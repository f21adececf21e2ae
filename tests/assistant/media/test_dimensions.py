from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawkit.assistant.media.containers import dimensions

PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 640, 480) + bytes(9)
GIF = b"GIF89a" + struct.pack("<HH", 320, 200) + bytes(4)
JPEG = (
    b"\xff\xd8\xff\xe0" + struct.pack(">H", 16) + bytes(14)  # APP0
    + b"\xff\xc4" + struct.pack(">H", 4) + bytes(2)  # a table, which looks like a frame
    + b"\xff\xff\xc2" + struct.pack(">HBHH", 11, 8, 600, 800) + bytes(4)  # fill byte, frame
)  # fmt: skip
VP8 = b"RIFF\0\0\0\0WEBPVP8 " + bytes(4) + bytes(3) + b"\x9d\x01\x2a" + struct.pack("<HH", 33, 44)
VP8L = b"RIFF\0\0\0\0WEBPVP8L" + bytes(4) + b"\x2f" + struct.pack("<I", (55 - 1) | (66 - 1) << 14)
VP8X = b"RIFF\0\0\0\0WEBPVP8X" + bytes(8) + (76).to_bytes(3, "little") + (87).to_bytes(3, "little")


@pytest.mark.parametrize(
    ("data", "size"),
    [
        (PNG, (640, 480)),
        (GIF, (320, 200)),
        (JPEG, (800, 600)),
        (VP8, (33, 44)),
        (VP8L, (55, 66)),
        (VP8X, (77, 88)),
        (b"", None),
        (PNG[:20], None),
        (JPEG[:30], None),
        (VP8X[:28], None),
        (b"no picture at all", None),
    ],
)  # fmt: skip
def test_the_dimensions_are_read_from_the_head(data: bytes, size: tuple[int, int] | None) -> None:
    assert dimensions(data) == size


@given(st.sampled_from([PNG[:16], GIF[:6], JPEG[:2], VP8[:16], VP8L[:16], VP8X[:16]]), st.binary())
def test_no_bytes_break_it(head: bytes, rest: bytes) -> None:
    dimensions(head + rest)
