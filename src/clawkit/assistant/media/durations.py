"""How long audio and video last, as far as their headers say it."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from clawkit.assistant.media.containers import after_id3, first_byte, mp3_frame

_OPUS_RATE = 48_000
_LONGEST = 10 * 24 * 3600
"""Seconds; a file of the size that we take which says more is mistaken."""


def duration(data: bytes) -> float | None:
    """Seconds of a WAV, FLAC, Ogg, MP4, QuickTime or MP3 file; None if it cannot be told."""
    try:
        seconds = _duration(data)
    except (struct.error, IndexError):
        return None
    return seconds if seconds is not None and 0 < seconds <= _LONGEST else None


def readable_duration(seconds: float) -> str:
    """`2.5 s`, `3 min 20 s`."""
    if seconds < 59.95:
        return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds:.2g} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def _duration(data: bytes) -> float | None:
    if data[:4] == b"RIFF" and data[8:12] == b"WAVE":
        return _wav(data)
    if data[4:8] == b"ftyp":
        return _mp4(data)
    if data[:4] == b"OggS":
        return _ogg(data)
    start = after_id3(data)
    if data[start : start + 4] == b"fLaC":
        return _flac(data[start:])
    return _mp3(data, start or first_byte(data))


def _wav(data: bytes) -> float | None:
    rate, at = 0, 12
    while at + 8 <= len(data):
        name, size = struct.unpack_from("<4sI", data, at)
        if name == b"fmt ":
            (rate,) = struct.unpack_from("<I", data, at + 16)
        elif name == b"data":
            # Who writes while it records does not know the size yet.
            return min(size, len(data) - at - 8) / rate if rate else None
        at += 8 + size + size % 2
    return None


def _flac(data: bytes) -> float | None:
    rate = int.from_bytes(data[18:21], "big") >> 4
    samples = int.from_bytes(data[21:26], "big") & 0xF_FFFF_FFFF
    return samples / rate if rate else None


def _ogg(data: bytes) -> float | None:
    """The last page says how many samples there are up to its end."""
    packet = data[27 + data[26] :]
    skipped, rate = 0, 0
    if packet[:8] == b"OpusHead":
        (skipped,), rate = struct.unpack_from("<H", packet, 10), _OPUS_RATE
    elif packet[:7] == b"\x01vorbis":
        (rate,) = struct.unpack_from("<I", packet, 12)
    (samples,) = struct.unpack_from("<q", data, data.rfind(b"OggS") + 6)
    return (samples - skipped) / rate if rate else None


def _mp4(data: bytes) -> float | None:
    for name, start, end in _boxes(data, 0, len(data)):
        if name == b"moov":
            for inner, at, _ in _boxes(data, start, end):
                if inner == b"mvhd":
                    form, offset = (">IQ", 20) if data[at] == 1 else (">II", 12)
                    scale, length = struct.unpack_from(form, data, at + offset)
                    return length / scale if scale else None
    return None


def _boxes(data: bytes, at: int, end: int) -> Iterator[tuple[bytes, int, int]]:
    """The name of each box, and where its content begins and ends."""
    while at + 8 <= end:
        size, name = struct.unpack_from(">I4s", data, at)
        start = at + 8
        if size == 1:
            (size,) = struct.unpack_from(">Q", data, start)
            start += 8
        size = size or end - at
        if size < start - at:
            return
        yield name, start, min(end, at + size)
        at += size


def _mp3(data: bytes, at: int) -> float | None:
    """Frame by frame: each may have another bit rate."""
    seconds = 0.0
    while (frame := mp3_frame(data, at)) is not None:
        seconds += frame.samples / frame.rate
        at += frame.length
    return seconds or None
