from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawkit.assistant.media.containers import duration, readable_duration
from tests.assistant.media import samples


def box(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content) + 8) + name + content


def movie(head: bytes) -> bytes:
    return samples.mp4() + box(b"moov", box(b"trak", b"") + box(b"mvhd", head))


def page(granule: int) -> bytes:
    return b"OggS\0\4" + struct.pack("<q", granule) + bytes(12)


WAV = samples.wav(2.5)
RECORDING = WAV[:40] + b"\xff\xff\xff\xff" + WAV[44:]
FLAC = b"fLaC\x80\0\0\x22" + bytes(10) + ((44100 << 44) | 66150).to_bytes(8, "big") + bytes(16)
VORBIS = samples.ogg(b"\x01vorbis" + bytes(5) + struct.pack("<I", 22050)) + page(33075)
OPUS = samples.ogg(b"OpusHead\1\1" + struct.pack("<H", 312)) + page(312 + 96000)
MOVIE = movie(bytes(12) + struct.pack(">II", 600, 1500))
LONG_MOVIE = movie(b"\1" + bytes(19) + struct.pack(">IQ", 1000, 7_200_000))


@pytest.mark.parametrize(
    ("data", "seconds"),
    [
        (WAV, 2.5),
        (RECORDING, 2.5),
        (FLAC, 1.5),
        (b"ID3\x04\0\0\0\0\0\x0a" + bytes(10) + FLAC, 1.5),
        (VORBIS, 1.5),
        (OPUS, 2.0),
        (MOVIE, 2.5),
        (LONG_MOVIE, 7200.0),
        (samples.mp3(100), pytest.approx(100 * 1152 / 44100)),
        (samples.mp3_with_tag(), pytest.approx(3 * 1152 / 44100)),
        (samples.mp4(), None),
        (samples.FLAC, None),
        (samples.OPUS, None),
        (WAV[:30], None),
        (b"", None),
        (b"no sound at all", None),
    ],
)
def test_the_length_is_read_from_the_headers(data: bytes, seconds: float | None) -> None:
    assert duration(data) == seconds


@given(st.sampled_from([WAV[:36], FLAC[:20], VORBIS[:40], OPUS[:40], MOVIE[:60]]), st.binary())
def test_no_bytes_break_it(head: bytes, rest: bytes) -> None:
    duration(head + rest)


def test_a_length_is_written_as_one_would_say_it() -> None:
    assert [readable_duration(seconds) for seconds in (0.01, 2.54, 59.9, 60, 205.4)] == [
        "0.01 s",
        "2.5 s",
        "59.9 s",
        "1 min 0 s",
        "3 min 25 s",
    ]
