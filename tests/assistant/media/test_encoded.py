"""Base64, to the last bit."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clawkit.assistant.media.inbound import (
    Base64Data,
    Base64Error,
    TooLargeError,
    decode_base64,
    parse_base64,
)


@given(st.binary(min_size=1, max_size=400))
def test_what_was_encoded_is_decoded(data: bytes) -> None:
    assert decode_base64(Base64Data(base64.b64encode(data).decode())) == data
    assert (
        decode_base64(Base64Data(base64.encodebytes(data).decode().replace("\n", "\r\n"))) == data
    )


@settings(max_examples=10 * settings().max_examples)
@given(st.text(alphabet="AQgz+/=-_ \né", max_size=16))
def test_a_text_is_the_encoding_of_its_bytes_or_an_error(text: str) -> None:
    try:
        data = decode_base64(Base64Data(text))
    except Base64Error:
        return
    assert base64.b64encode(data).decode() == text.replace(" ", "").replace("\n", "")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        (" \n", "is empty"),
        ("QUJD!A==", "'!' at character 5 does not belong there"),
        ("QU-_", "the URL-safe alphabet"),
        ("QUJ", "3 characters and 0 `=` make no groups of four"),
        ("QQ", "its padding is wrong"),
        ("QQ=", "its padding is wrong"),
        ("====", "not base64"),
        ("AAAA=", "4 characters and 1 `=` make no groups of four"),
        ("AAAA====", "4 characters and 4 `=` make no groups of four"),
        ("QQ==QQ==", "'=' at character 3"),
        ("QR==", "its last group 'QR==' has bits left over"),
        ("QUé=", "'é' at character 3"),
    ],
)
def test_what_is_wrong_is_said(text: str, said: str) -> None:
    with pytest.raises(Base64Error) as caught:
        decode_base64(Base64Data(text))
    assert said in str(caught.value)


@given(st.integers(0, 40), st.booleans())
def test_the_limit_is_exact_with_line_breaks_or_without(size: int, wrapped: bool) -> None:
    data = bytes(size + 1)
    text = base64.encodebytes(data).decode() if wrapped else base64.b64encode(data).decode()
    assert decode_base64(Base64Data(text), limit=size + 1) == data
    with pytest.raises(TooLargeError):
        decode_base64(Base64Data(text), limit=size)


def test_a_prefix_is_taken_off() -> None:
    assert parse_base64("data:image/png;base64,QQ==") == Base64Data("QQ==", "image/png")
    assert parse_base64("QQ==") == Base64Data("QQ==")
