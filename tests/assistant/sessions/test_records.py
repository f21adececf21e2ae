from __future__ import annotations

import pytest

from clawkit.assistant.sessions import records
from clawkit.assistant.sessions.records import MessageCache, Saved
from tests.assistant.sessions.turns import user


def message(number: int, tokens: int) -> Saved:
    return Saved(number, user("x"), float(number), tokens, 1)


def test_what_was_read_last_stays_within_so_many_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "MOST_CACHED_TOKENS", 10_000)
    messages = MessageCache()
    for number in range(100):
        messages.add(message(number, 950))
        messages.add(message(number, 950))
    assert messages.tokens == 10_000
    kept = [number for number in range(100) if messages.get((number, float(number))) is not None]
    assert kept == list(range(90, 100))


def test_one_giant_does_not_push_out_all_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "MOST_CACHED_TOKENS", 10_000)
    messages = MessageCache()
    messages.add(message(1, 10))
    messages.add(message(2, 9000))
    assert messages.get((1, 1.0)) is not None
    assert messages.get((2, 2.0)) is None


def test_the_same_number_at_another_time_is_another_message() -> None:
    messages = MessageCache()
    messages.add(message(1, 10))
    assert messages.get((1, 2.0)) is None
