"""Arguments as the log keeps them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawkit.guard.scan.logged_arguments import redact_arguments


@pytest.mark.parametrize(
    "name",
    [
        "password",
        "Passwort",
        "db_passwd",
        "token",
        "accessToken",
        "API_KEY",
        "apiKey",
        "x-api-key",
        "client_secret",
        "Authorization",
        "Set-Cookie",
        "private key",
        "sshPrivateKey",
        "credentials",
        "pin",
        "otp",
        "passphrase",
    ],
)
def test_a_value_with_the_name_of_a_secret_is_redacted(name: str) -> None:
    assert redact_arguments({name: "hunter2", "n": {name: ["x"]}}) == {
        name: "[redacted]",
        "n": {name: "[redacted]"},
    }


@pytest.mark.parametrize(
    "name",
    [
        "path",
        "max_tokens",
        "tokenCount",
        "author",
        "keyboard",
        "key",
        "pinned",
        "monkey",
        "passenger",
        "compass",
    ],
)
def test_other_names_are_left_alone(name: str) -> None:
    assert redact_arguments({name: "value"}) == {name: "value"}


def test_a_secret_is_known_by_its_format_anywhere() -> None:
    token = "gh" + "p_" + "aB3d" * 9
    assert redact_arguments({"cmd": ["curl", f"-u {token}"]}) == {
        "cmd": ["curl", "-u [redacted: github-token]"]
    }


def test_long_text_is_cut() -> None:
    text = "word " * 1000
    assert redact_arguments(text) == f"{text[:256]}…(5000 characters)"


def test_a_secret_at_the_cut_does_not_show() -> None:
    token = "gh" + "p_" + "aB3d" * 9
    shown = redact_arguments("x" * 239 + " " + token + " " + "y" * 1000)
    assert "aB3d" not in shown


def test_deep_and_wide_values_are_bounded() -> None:
    deep: Any = "end"
    for _ in range(500):
        deep = [deep]
    assert redact_arguments(deep) == [[[[[["…(1 items)"]]]]]]
    wide = redact_arguments({str(number): "x" * 100 for number in range(100_000)})
    assert wide["…"].endswith("more members")
    assert len(json.dumps(wide)) < 8192
    assert redact_arguments(list(range(100_000)))[-1].endswith("more items)")


def test_a_number_without_end_is_cut() -> None:
    assert len(str(redact_arguments(10**4000))) < 300


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(_JSON)
def test_any_value_can_be_logged(value: Any) -> None:
    assert len(json.dumps(redact_arguments(value), ensure_ascii=False)) < 16_384


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("DB_PASSWORD=hunter2secret", "DB_PASSWORD=[redacted]"),
        ("export PGPASSWORD='a b' x=1", "export PGPASSWORD='[redacted]' x=1"),
        ("mysql --password hunter2 -u me", "mysql --password [redacted] -u me"),
        ("run --api-key=abc now", "run --api-key=[redacted] now"),
        ('{"password": "a b", "n": 1}', '{"password": "[redacted]", "n": 1}'),
        ("https://a.example/?token=abc&x=1", "https://a.example/?token=[redacted]&x=1"),
        ("password: DB_PASSWORD=x", "password: [redacted]"),
        ("password DB_PASSWORD=x", "password DB_PASSWORD=[redacted]"),
        ("curl -H 'X-Api-Key: abc'", "curl -H 'X-Api-Key: [redacted]'"),
        ("max_tokens=5 key=a --keyboard de", "max_tokens=5 key=a --keyboard de"),
        ("the password is old; see a:b", "the password is old; see a:b"),
    ],
)
def test_what_a_text_assigns_to_the_name_of_a_secret_is_redacted(text: str, kept: str) -> None:
    assert redact_arguments({"command": text}) == {"command": kept}


PARTS = st.sampled_from(
    [
        *("password", "key", "api-key", "secretoken", "PASSN", "x" * 39, "name", "_", "-", "--"),
        *("=", ":", " = ", '": "', "'", '"', "\\", "\n", " ", "hunter2", "bearer ", "&", ";", "["),
    ]
)


@given(st.lists(PARTS, max_size=30).map("".join).filter(lambda text: len(text) < 500))
def test_a_text_in_ascii_loses_what_the_same_text_loses_beside_another_letter(text: str) -> None:
    assert redact_arguments(f"\u00e9\n{text}") == f"\u00e9\n{redact_arguments(text)}"
