"""Owns the server object that the fixture files fill, and the bytes that several of them show."""

from __future__ import annotations

import io
import struct
import wave
import zlib

from clawkit import SdkMcpServerImpl

server = SdkMcpServerImpl(
    "clawkit-conformance",
    "1.0.0",
    title="Clawkit conformance fixtures",
    instructions="Every tool, resource and prompt that the MCP conformance suite asks for.",
)


def red_pixel() -> bytes:
    """A PNG of one red pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"\0\xff\0\0")
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    )


def silence() -> bytes:
    """A WAV of ten silent samples."""
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(8000)
        sound.writeframes(bytes(20))
    return file.getvalue()
