"""Events come out whole, however they are cut, and go on in a form that reads one way only."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawkit.text.sse import SseEvent, SseParser, encode

STREAM = (
    b"\xef\xbb\xbf: welcome\r\n\r\n"
    b"id: 7\rretry: 250\rdata: \r\r"
    b'event: message\nid:8\ndata: {"a":\ndata:1}\n\n'
    b"event: endpoint\ndata: /here\n\n"
    b"data\nunknown: x\n\n"
)
FOUND = [
    SseEvent(comments=(b"welcome",)),
    SseEvent(id=b"7", retry=b"250"),
    SseEvent(kind=b"message", id=b"8", data=b'{"a":\n1}'),
    SseEvent(kind=b"endpoint", data=b"/here"),
    SseEvent(),
]


@given(st.lists(st.integers(0, len(STREAM))))
def test_events_are_the_same_wherever_the_stream_is_cut(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(STREAM)]
    events = SseParser(1000)
    found: list[SseEvent] = []
    for start, end in pairwise(places):
        found += events.feed(STREAM[start:end])
    assert found == FOUND


@given(st.binary(), st.binary())
def test_what_is_written_is_read_back_as_one_event(data: bytes, event_id: bytes) -> None:
    (read,) = SseParser(10_000).feed(
        b"data:" + data.replace(b"\n", b"").replace(b"\r", b"") + b"\n\n"
    )
    assert read.data is not None
    again = SseParser(10_000).feed(encode(SseEvent(id=b"1", comments=(event_id,)), read.data))
    assert len(again) == 1


def test_an_event_that_is_too_long_leaves_nothing_behind_but_that_it_was() -> None:
    events = SseParser(100)
    found: list[SseEvent] = []
    for _ in range(1000):
        found += events.feed(b"data: " + b"x" * 60 + b"\n")
    assert found == []
    assert events.feed(b"\ndata: 1\n\n") == [SseEvent(data=None), SseEvent(data=b"1")]


def test_a_line_that_never_ends_is_not_kept() -> None:
    events = SseParser(1000)
    assert all(events.feed(b"x" * 500) == [] for _ in range(1000))
    assert events.feed(b"\n\n") == [SseEvent(data=None)]


def test_lines_without_number_are_not_kept() -> None:
    events = SseParser(10_000_000)
    assert all(events.feed(b"d\n" * 10_000) == [] for _ in range(50))
    assert events.feed(b"\n") == [SseEvent(data=None)]


@pytest.mark.parametrize(
    ("field", "kept"),
    [
        (b"id: a\x00b", SseEvent(data=b"1")),
        (b"id: " + b"9" * 2000, SseEvent(data=b"1")),
        ("id: \u2028data: x".encode(), SseEvent(data=b"1")),
        (b"retry: soon", SseEvent(data=b"1")),
        (b"retry: 99999999999", SseEvent(data=b"1")),
    ],
    ids=["null", "long", "separator", "word", "huge"],
)
def test_an_id_or_a_time_that_cannot_be_used_is_left_out(field: bytes, kept: SseEvent) -> None:
    assert SseParser(10_000).feed(field + b"\ndata: 1\n\n") == [kept]


def test_a_comment_with_more_than_plain_text_is_passed_on_without_its_text() -> None:
    assert encode(SseEvent(comments=(b"ping", "\u2028data: x".encode())), b"") == b": ping\n:\n\n"


def test_an_event_that_only_marks_a_place_keeps_its_mark() -> None:
    assert encode(SseEvent(id=b"5"), b"") == b"id: 5\nevent: message\ndata: \n\n"
