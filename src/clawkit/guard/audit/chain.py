"""How records are chained: the form of a line, and its hash.

A line is ``{"seq":1,…,"prev":"<64 hex>","hash":"<64 hex>"}``. Its hash is the SHA-256 of its bytes
up to ``,"hash":``, and `prev` is the hash of the line before, 64 zeros at the very start.
"""

from __future__ import annotations

from hashlib import sha256

import msgspec

GENESIS = b"0" * 64
LONGEST_LINE = 64 * 1024

_START = b'{"seq":'
_PREV = b',"prev":"'
_HASH = b',"hash":"'
_HASH_PART = len(_HASH) + 64 + len(b'"}\n')
_PREV_PART = len(_PREV) + 64 + len(b'"')
LONGEST_BODY = LONGEST_LINE - 256  # what the log puts around it is shorter than that


class Link(msgspec.Struct, frozen=True):
    """What a line says of its place in the chain."""

    seq: int
    prev: bytes
    hash: bytes


def seal(seq: int, body: bytes, prev: bytes) -> tuple[bytes, bytes]:
    """The line for a record's `body` (its JSON without the braces), and the line's hash."""
    text = b'{"seq":%d,%b,"prev":"%b"' % (seq, body, prev)
    digest = sha256(text).hexdigest().encode()
    return b'%b,"hash":"%b"}\n' % (text, digest), digest


def link_of(line: bytes) -> Link | None:
    """The place that a line claims, whether or not that is true; None if it is no such line."""
    hash_at = len(line) - _HASH_PART
    prev_at = hash_at - _PREV_PART
    seq = line[len(_START) : line.find(b",")]
    if (
        prev_at < len(_START)
        or not line.startswith(_START)
        or not line.endswith(b'"}\n')
        or not line.startswith(_HASH, hash_at)
        or not line.startswith(_PREV, prev_at)
        or len(seq) > 18
        or not seq.isdigit()
    ):
        return None
    return Link(int(seq), line[prev_at + len(_PREV) : hash_at - 1], line[hash_at + len(_HASH) : -3])


def true_hash(line: bytes) -> bytes:
    """What the hash of a line must be."""
    return sha256(line[:-_HASH_PART]).hexdigest().encode()
