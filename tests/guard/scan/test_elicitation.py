"""Questions that ask a person for a secret."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawkit.guard.scan import asks_for_secret


def form(**fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": fields}


TEXT = {"type": "string"}


@pytest.mark.parametrize(
    "name",
    [
        "password",
        "dbPassword",
        "user_passwd",
        "apiKey",
        "API_KEY",
        "access-token",
        "token",
        "pin",
        "PIN",
        "cvv",
        "creditCard",
        "card_number",
        "ssn",
        "otp",
        "seed_phrase",
        "secret",
        "p\u0430ssword",
        "pass\u200bword",
        "privateKey",
    ],
)
def test_a_field_may_not_be_named_like_a_secret(name: str) -> None:
    assert asks_for_secret(form(name=TEXT, **{name: TEXT})) == name


@pytest.mark.parametrize(
    "field",
    [
        {"type": "string", "title": "Your password"},
        {"type": "string", "description": "The API key of your account"},
        {"type": "string", "format": "password"},
        {"type": "number", "description": "The four-digit PIN of your card"},
        {"type": "string", "title": "Verification code"},
        {"type": "string", "title": "Contraseña"},
    ],
)
def test_a_field_may_not_be_described_like_a_secret(field: dict[str, Any]) -> None:
    assert asks_for_secret(form(value=field)) == "value"


def test_a_message_may_not_ask_what_the_fields_do_not_say() -> None:
    assert asks_for_secret(form(value=TEXT), "Please enter your GitHub password") == "value"
    assert asks_for_secret(form(yes={"type": "boolean"}), "Enter your password") is None
    assert asks_for_secret(form(), "Enter your password") is None


def test_fields_in_fields_are_looked_at() -> None:
    assert asks_for_secret(form(account=form(login=TEXT, token=TEXT))) == "token"
    assert asks_for_secret({"allOf": [form(), form(cvc=TEXT)]}) == "cvc"


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (form(name=TEXT, email={"type": "string", "format": "email"}), "Who are you?"),
        (form(max_tokens={"type": "integer", "title": "Number of tokens"}), "How long may it be?"),
        (form(resetPassword={"type": "boolean"}), "Do you want a new password?"),
        (form(kind={"type": "string", "enum": ["password", "token"]}), "How do you sign in?"),
        (form(spinner=TEXT, secretary=TEXT, keyboard=TEXT, compass=TEXT), "Anything else?"),
        (form(note={"type": "string", "description": "Pin this note to the board"}), ""),
        (None, "Enter your password"),
        ("properties", ""),
        ([], ""),
    ],
)
def test_ordinary_questions_may_be_asked(schema: Any, message: str) -> None:
    assert asks_for_secret(schema, message) is None


_JSON = st.recursive(
    st.none() | st.booleans() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.just("properties"), inner),
)


@given(_JSON, st.text())
def test_any_schema_can_be_looked_at(schema: Any, message: str) -> None:
    assert asks_for_secret(schema, message) is None or isinstance(schema, (dict, list))
