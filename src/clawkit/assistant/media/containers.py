"""Headers of audio, video, pictures and tar files: the format inside, how long, how large."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator

from msgspec import Struct

_BLOCK = 512
_Length = Callable[[bytes, int], int]
_NAME_OF_RIFF = {b"WAVE": "audio/wav", b"AVI ": "video/x-msvideo", b"WEBP": "image/webp"}
_AUDIO_BRANDS = (b"M4A ", b"M4B ", b"M4P ", b"F4A ", b"F4B ")
_VIDEO_BRANDS = (b"M4V ", b"M4VH", b"M4VP", b"F4V ")
_MP4_BRANDS = (b"iso", b"mp4", b"avc", b"dash", b"msd", b"cmf", b"mmp4", b"MSNV", b"3gp", b"3g2")
_PICTURE_BRANDS = {b"heic": "image/heic", b"heix": "image/heic", b"mif1": "image/heic"}
_OLD_QUICKTIME = (b"moov", b"mdat", b"wide", b"pnot", b"skip", b"free")
_BITRATES = {
    # (MPEG 1, layer): kilobits a second by the index in the header
    (True, 2): (32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384),
    (True, 3): (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    (False, 2): (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
    (False, 3): (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
}
_RATES = {3: (44100, 48000, 32000), 2: (22050, 24000, 16000), 0: (11025, 12000, 8000)}


def riff(data: bytes) -> tuple[str, ...]:
    if data[:4] in (b"RIFF", b"RF64", b"BW64"):
        found = _NAME_OF_RIFF.get(data[8:12])
        return (found,) if found else ()
    return ()


def mp4(data: bytes) -> tuple[str, ...]:
    """The type of an MP4 file by its brands; old QuickTime files have none."""
    if data[4:8] in _OLD_QUICKTIME and _fits(int.from_bytes(data[:4], "big"), len(data)):
        return ("video/quicktime",)
    if data[4:8] != b"ftyp":
        return ()
    brands = list(_brands(data))
    if not brands:
        return ()
    if brands[0] == b"qt  ":
        return ("video/quicktime",)
    if brands[0] in _PICTURE_BRANDS:
        return (_PICTURE_BRANDS[brands[0]],)
    if brands[0] in (b"avif", b"avis"):
        return ("image/avif",)
    if brands[0] in _AUDIO_BRANDS:
        return ("audio/mp4",)
    if brands[0] in _VIDEO_BRANDS:
        return ("video/mp4",)
    return ("video/mp4", "audio/mp4") if any(b.startswith(_MP4_BRANDS) for b in brands) else ()


def _fits(size: int, whole: int) -> bool:
    """A box is as long as it says; 0 is up to the end, 1 has its length further on."""
    return size in (0, 1) or 8 <= size <= whole


def _brands(data: bytes) -> Iterator[bytes]:
    """The main brand of an `ftyp` box, then those that it is compatible with."""
    size = min(int.from_bytes(data[:4], "big"), len(data), 4096)
    yield data[8:12]
    for at in range(16, size - 3, 4):
        yield data[at : at + 4]


def ogg(data: bytes) -> tuple[str, ...]:
    """The types of an Ogg file by its first packet; Opus has two names."""
    if data[:5] != b"OggS\0" or len(data) < 28:
        return ()
    start = 27 + data[26]
    packet = data[start : start + 8]
    if packet == b"OpusHead":
        return ("audio/opus", "audio/ogg")
    if packet[:7] in (b"\x80theora", b"fishead"):
        return ("video/ogg",)
    return ("audio/ogg",)


def matroska(data: bytes) -> tuple[str, ...]:
    if data[:4] != b"\x1a\x45\xdf\xa3":
        return ()
    head = data[:4096]
    at = head.find(b"\x42\x82")  # DocType
    length = head[at + 2] & 0x7F if 0 <= at < len(head) - 2 else 0
    found = head[at + 3 : at + 3 + length].rstrip(b"\0")
    return ("video/webm",) if found == b"webm" else ("video/x-matroska",)


def is_tar(data: bytes) -> bool:
    """Whether it is a tar, by the checksum of its first header, which old ones have too."""
    head = data[:_BLOCK]
    field = head[148:156].strip(b" \0")
    if len(head) < _BLOCK or not field or field.strip(b"01234567"):
        return False
    return int(field, 8) == sum(head) - sum(head[148:156]) + 8 * 0x20


def is_empty_tar(data: bytes) -> bool:
    """Whether it is a tar without files: two blocks of zeros at least."""
    return len(data) >= 2 * _BLOCK and len(data) % _BLOCK == 0 and not data.strip(b"\0")


def is_compressed_tar(data: bytes) -> bool:
    """Whether the first kilobyte in a gzip is that of a tar; no more is unpacked."""
    try:
        start = zlib.decompressobj(wbits=31).decompress(data[:65536], 2 * _BLOCK)
    except zlib.error:
        return False
    return is_tar(start) or is_empty_tar(start)


def mpeg_audio(data: bytes) -> tuple[str, ...]:
    """MPEG audio, AAC in ADTS or FLAC, with an ID3 tag in front or without."""
    start = after_id3(data)
    if data[start : start + 4] == b"fLaC":
        return ("audio/flac",)
    if data[start : start + 4] == b"ADIF" or _is_chain(data, start, _adts_length):
        return ("audio/aac",)
    if start or _is_chain(data, first_byte(data), _mp3_length):
        return ("audio/mpeg",)
    return ()


def after_id3(data: bytes) -> int:
    if data[:3] != b"ID3" or len(data) < 10 or data[3] not in (2, 3, 4) or data[5] & 0x0F:
        return 0
    # Seven bits of each byte count.
    size = data[6] << 21 | data[7] << 14 | data[8] << 7 | data[9]
    return size + (20 if data[5] & 0x10 else 10)


def first_byte(data: bytes) -> int:
    """Where the first frame begins: some encoders write zeros before it."""
    head = data[:65536]
    return len(head) - len(head.lstrip(b"\0"))


def _is_chain(data: bytes, start: int, length_at: _Length) -> bool:
    """Whether a frame begins here and another one, or the end, where it says that it ends."""
    length = length_at(data, start)
    if not length:
        return False
    following = start + length
    return following >= len(data) - 4 or length_at(data, following) > 0


class Mp3Frame(Struct, frozen=True):
    """A frame of MPEG audio: how many bytes it has, how many samples, at how many a second."""

    length: int
    samples: int
    rate: int


def _mp3_length(data: bytes, at: int) -> int:
    frame = mp3_frame(data, at)
    return 0 if frame is None else frame.length


def mp3_frame(data: bytes, at: int) -> Mp3Frame | None:
    """The frame that begins here, if one does."""
    if len(data) < at + 4 or data[at] != 0xFF or data[at + 1] & 0xE0 != 0xE0:
        return None
    version, layer = data[at + 1] >> 3 & 3, 4 - (data[at + 1] >> 1 & 3)
    bitrate, rate = data[at + 2] >> 4, data[at + 2] >> 2 & 3
    # Nobody has layer 1, and the mark of UTF-16 looks like it.
    if version == 1 or layer in (1, 4) or bitrate in (0, 15) or rate == 3:
        return None
    bits = _BITRATES[version == 3, layer][bitrate - 1] * 1000
    hertz = _RATES[version][rate]
    padding = data[at + 2] >> 1 & 1
    samples = 576 if layer == 3 and version != 3 else 1152
    return Mp3Frame(samples // 8 * bits // hertz + padding, samples, hertz)


def _adts_length(data: bytes, at: int) -> int:
    if len(data) < at + 7 or data[at] != 0xFF or data[at + 1] & 0xF6 != 0xF0:
        return 0
    if data[at + 2] >> 2 & 15 > 12:
        return 0
    length = (data[at + 3] & 3) << 11 | data[at + 4] << 3 | data[at + 5] >> 5
    return length if length >= 7 else 0


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


def dimensions(data: bytes) -> tuple[int, int] | None:
    """Width and height from the head of a PNG, GIF, WebP or JPEG; None where it is none of them."""
    try:
        if data.startswith(b"\x89PNG\r\n\x1a\n"):
            return struct.unpack(">II", data[16:24])
        if data[:6] in (b"GIF87a", b"GIF89a"):
            return struct.unpack("<HH", data[6:10])
        if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
            return _webp(data)
        if data.startswith(b"\xff\xd8"):
            return _jpeg(data)
    except struct.error:
        return None
    return None


def _webp(data: bytes) -> tuple[int, int] | None:
    match data[12:16]:
        case b"VP8 ":
            width, height = struct.unpack("<HH", data[26:30])
            return width & 0x3FFF, height & 0x3FFF
        case b"VP8L":
            (bits,) = struct.unpack("<I", data[21:25])
            return (bits & 0x3FFF) + 1, ((bits >> 14) & 0x3FFF) + 1
        case b"VP8X":
            if len(data) < 30:
                return None
            width, height = data[24:27], data[27:30]
            return int.from_bytes(width, "little") + 1, int.from_bytes(height, "little") + 1
        case _:
            return None


def _jpeg(data: bytes) -> tuple[int, int] | None:
    """Walk the segments to the frame header, which every kind of JPEG has."""
    at = 2
    while at + 4 <= len(data):
        if data[at] != 0xFF:
            return None
        marker = data[at + 1]
        if marker == 0xFF:
            at += 1
            continue
        if marker in (0x01, *range(0xD0, 0xD9)):
            at += 2
            continue
        (length,) = struct.unpack(">H", data[at + 2 : at + 4])
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height
        if length < 2 or marker == 0xDA:
            return None
        at += 2 + length
    return None
