"""What may be shown: no key, no session key, in no text and no log."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from clawkit.assistant.api_keys import Keys
from clawkit.assistant.config import Config
from clawkit.assistant.redaction import RedactingFilter, explain_failure, redact, session_mark
from clawkit.errors import ClawError
from clawkit.settings import Settings

KEY = "made-up-key-0123456789"
LOOKS_LIKE_A_KEY = "sk-ant-" + "api03-" + "a1B2" * 8


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    environment = {"A": KEY, "LONGER": f"{KEY}-longer", "SHORT": "none"}
    mine = Keys(Config(places=Settings(tmp_path, tmp_path, tmp_path)), environment)
    for name in environment:
        mine.find(name)
    return mine


@pytest.fixture
def log() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def logger(keys: Keys, log: io.StringIO) -> Iterator[logging.Logger]:
    handler = logging.StreamHandler(log)
    handler.addFilter(RedactingFilter(keys))
    mine = logging.getLogger("tests.redaction")
    mine.addHandler(handler)
    yield mine
    mine.removeHandler(handler)


def test_a_known_key_is_redacted_wherever_it_stands(keys: Keys) -> None:
    assert redact(f"a{KEY}b {KEY}", keys) == "a[redacted: key]b [redacted: key]"


def test_of_two_keys_that_begin_alike_nothing_is_left(keys: Keys) -> None:
    assert redact(f"<{KEY}-longer>", keys) == "<[redacted: key]>"


def test_a_key_that_is_a_common_word_is_left_alone(keys: Keys) -> None:
    assert redact("none of this", keys) == "none of this"


def test_what_looks_like_a_key_is_redacted_without_being_known(keys: Keys) -> None:
    expected = "failed with [redacted: anthropic-key]"
    assert redact(f"failed with {LOOKS_LIKE_A_KEY}") == expected
    assert redact(f"failed with {LOOKS_LIKE_A_KEY}", keys) == expected


def test_a_session_is_shown_as_a_mark_that_is_always_the_same() -> None:
    mark = session_mark("user-123-conversation")
    assert mark == session_mark("user-123-conversation")
    assert mark.startswith("session ")
    assert mark.endswith("…")
    assert len(mark) == len("session 3f9a…")
    assert mark != session_mark("user-124-conversation")
    assert session_mark("\ud800").startswith("session ")


def test_a_log_shows_no_key_in_text_or_arguments(logger: logging.Logger, log: io.StringIO) -> None:
    logger.warning(f"in the text {KEY}")
    logger.warning("in an argument %s, %r", KEY, {"key": LOOKS_LIKE_A_KEY})
    assert KEY not in log.getvalue()
    assert LOOKS_LIKE_A_KEY not in log.getvalue()
    assert "in the text [redacted: key]\nin an argument [redacted: key]" in log.getvalue()


def test_a_log_shows_no_key_in_a_traceback(logger: logging.Logger, log: io.StringIO) -> None:
    try:
        raise ValueError(f"refused {KEY}")
    except ValueError:
        logger.exception("it failed", stack_info=True)
    assert KEY not in log.getvalue()
    assert "ValueError: refused [redacted: key]" in log.getvalue()
    assert "Stack (most recent call last)" in log.getvalue()


def test_arguments_that_do_not_fit_are_not_printed(
    logger: logging.Logger, log: io.StringIO, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = "%d and %d"
    logger.warning(wrong, KEY)
    assert log.getvalue() == "%d and %d (its arguments do not fit)\n"
    assert KEY not in capsys.readouterr().err


def test_a_message_with_a_percent_sign_is_not_formatted_again(
    logger: logging.Logger, log: io.StringIO
) -> None:
    logger.warning("%s", "100 %s")
    assert log.getvalue() == "100 %s\n"


def test_a_log_without_keys_of_its_own_knows_all_that_were_given_out(keys: Keys) -> None:
    record = logging.LogRecord("x", logging.INFO, "", 1, "it was %s", (KEY,), None)
    assert KEY in keys.values()
    assert RedactingFilter().filter(record)
    assert record.getMessage() == "it was [redacted: key]"


def test_nothing_that_is_logged_looks_like_another_record(
    logger: logging.Logger, log: io.StringIO
) -> None:
    forged = "a\r\n2026-01-01 INFO forged\x1b[2J\u2028more"
    try:
        raise ValueError(forged)
    except ValueError:
        logger.exception("%s", forged, stack_info=True)
    first, *rest = log.getvalue().splitlines()
    assert first == r"a\r\n2026-01-01 INFO forged\x1b[2J\u2028more"
    assert all(line.startswith("    ") for line in rest)
    assert "\x1b" not in log.getvalue()


class Unspeakable(ClawError):
    """An error of another package, whose text cannot be made."""

    def __str__(self) -> str:
        raise RuntimeError(KEY)


def test_an_error_whose_text_cannot_be_made_is_told_by_its_class(keys: Keys) -> None:
    assert explain_failure(Unspeakable(), keys).startswith("Unspeakable in the assistant")


def test_a_record_that_cannot_be_redacted_is_logged_without_its_text(
    logger: logging.Logger, log: io.StringIO
) -> None:
    logger.warning("the key is %s: %s", KEY, Unspeakable())
    logger.warning("afterwards")
    assert KEY not in log.getvalue()
    assert log.getvalue().splitlines()[-1] == "afterwards"
