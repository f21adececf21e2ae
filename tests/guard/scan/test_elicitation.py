"""Questions that ask a person for a secret."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawkit.guard.scan.elicitation import asks_for_secret, host_of


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


@pytest.mark.parametrize(
    "message",
    [
        "password", "Password:", "GitHub password", "[sudo] password for user", "paSSword", "Pass:",
        "Password (will not be stored)", "API key", "private key", "PIN", "Card number",
        "Enter your PIN to continue", "Credit card number?", "Enter the 2FA code", "seed phrase",
        "Please paste the content of ~/.ssh/id_rsa", "What is in your .env?",
        "Geben Sie Ihr Passwort ein", "Bitte Kennwort eingeben", "Datenbankpasswort",
        "API-Schlüssel eingeben", "Kreditkartennummer", "Votre mot de passe", "Clé privée",
        "Numéro de carte", "Inserisci la password", "clave de acceso", "Contrasena",
        "Введите пароль", "Укажите ваш токен", "请输入验证码", "API 키",
    ],
)  # fmt: skip
def test_a_message_may_not_name_a_secret_where_something_can_be_written(message: str) -> None:
    assert asks_for_secret(form(value=TEXT), message) == "a secret"
    assert asks_for_secret(form(yes={"type": "boolean"}, value=TEXT), message) == "a secret"
    assert asks_for_secret(form(), message) == "a secret"
    assert asks_for_secret(None, message) == "a secret"
    assert asks_for_secret(form(yes={"type": "boolean"}), message) is None


def test_numbers_may_be_asked_for_beside_a_password_but_not_for_a_pin() -> None:
    number = form(days={"type": "integer"}, now={"type": "boolean"})
    assert asks_for_secret(number, "Rotate the password after how many days?") is None
    assert asks_for_secret(number, "Your PIN") == "a secret"
    assert asks_for_secret(number, "Kreditkartennummer") == "a secret"


def test_nothing_beside_a_free_field_may_name_a_secret() -> None:
    option = {"type": "string", "oneOf": [{"const": "a", "title": "API key"}]}
    names = {"type": "string", "enum": ["a"], "enumNames": ["API key"]}
    for choice in (option, names, {"type": "string", "enum": ["API key"]}):
        assert asks_for_secret(form(value=TEXT, kind=choice)) == "a secret"
        assert asks_for_secret(form(kind=choice)) is None
    assert asks_for_secret(form(value=TEXT, enter_password={"type": "boolean"})) == "a secret"


def test_a_text_that_is_too_long_to_be_looked_through_is_refused() -> None:
    assert asks_for_secret(form(value=TEXT), "colour " * 2_000 + "password") == "a secret"
    assert asks_for_secret(form(value=TEXT), "colour " * 20_000) == "a secret"


@pytest.mark.parametrize(
    "field",
    [
        {"anyOf": [{"type": "string", "title": "Password"}]},
        {"oneOf": [{"const": "none"}, {"type": "string", "title": "Password"}]},
        {"allOf": [{"type": "string"}, {"description": "Your API key"}]},
        {"type": "array", "items": {"type": "string", "title": "Passwords"}},
        {"type": "string", "enumNames": ["Your password"]},
        {"type": "string", "examples": ["my password"]},
        {"type": "string", "ui:widget": "password"},
        {"type": "string", "x-secret": True},
        {"type": ["string", "null"], "format": "Password"},
        {"enum": ["a"], "format": "password"},
        {"type": "boolean", "anyOf": [{"type": "string", "title": "PIN"}]},
        {"type": "string", "const": "a", "title": "Password"},
        {"type": "string", "default": "your password"},
    ],
)
def test_a_secret_is_found_wherever_the_schema_puts_it(field: dict[str, Any]) -> None:
    assert asks_for_secret(form(value=field)) == "value"


def test_a_secret_is_found_behind_a_reference() -> None:
    schema = {**form(value={"$ref": "#/$defs/a"}), "$defs": {"a": {"title": "Your password"}}}
    assert asks_for_secret(schema) == "a"
    assert asks_for_secret({**form(value=TEXT), "title": "Your password"}) == "a secret"


def test_a_form_that_is_too_deep_to_be_looked_through_is_refused() -> None:
    schema = form(password=TEXT)
    for _ in range(150):
        schema = form(inner=schema)
    assert asks_for_secret(schema) == "a secret"


@pytest.mark.parametrize(
    "name",
    [
        "pass_word",
        "p a s s",
        "p.a.s.s.w.o.r.d",
        "P-A-S-S",
        "p4ssw0rd",
        "p@ssword",
        "PassWord",
        "pass",
        "userPass",
        "dbpass",
    ],
)
def test_a_name_may_not_be_written_apart_or_with_digits(name: str) -> None:
    assert asks_for_secret(form(**{name: {"anyOf": [TEXT]}})) == name


@pytest.mark.parametrize(
    "title",
    [
        "Mot de passe", "Wachtwoord", "Hasło", "Heslo", "Lösenord", "Senha", "Jelszó", "Şifre",
        "Ваш пароль", "Κωδικός πρόσβασης", "סיסמה", "كلمة المرور", "पासवर्ड", "รหัสผ่าน", "Mật khẩu",
        "パスワード", "비밀번호", "密碼",
    ],
)  # fmt: skip
def test_a_password_is_one_in_other_languages_too(title: str) -> None:
    assert asks_for_secret(form(value={"type": "string", "title": title})) == "value"


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://example.com/a?b#c", "example.com"),
        ("https://example.com:8443/", "example.com:8443"),
        ("HTTPS://Example.COM", "example.com"),
        ("https://xn--e1afmkfd.example/", "xn--e1afmkfd.example"),
        ("http://localhost:8080/callback", "localhost:8080"),
        ("http://127.0.0.1/", "127.0.0.1"),
        ("http://[::1]:3000/", "[::1]:3000"),
        ("http://example.com/", ""),
        ("http://127.0.0.1.example.com/", ""),
        ("http://localhost@example.com/", ""),
        ("https://github.com@example.com/", ""),
        ("https://example.com\\@github.com/", ""),
        ("https://ex\u0430mple.com/", ""),
        ("https://example.com/\u202emoc.elpmaxe", ""),
        ("https:example.com", ""),
        ("https:///example.com", ""),
        ("https://example.com:x/", ""),
        ("javascript:alert(1)", ""),
        ("java\nscript:alert(1)", ""),
        ("data:text/html,x", ""),
        ("file:///etc/passwd", ""),
        ("vscode://install", ""),
        ("//example.com", ""),
        ("", ""),
    ],
)
def test_only_addresses_that_say_where_they_lead_may_be_opened(url: str, host: str) -> None:
    assert host_of(url) == host


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
        (None, "Open the page and go on there"),
        (form(passenger=TEXT, compass=TEXT, passport=TEXT, bypass=TEXT, compassWord=TEXT), ""),
        (form(tokenCount=TEXT, passage=TEXT, keyword=TEXT), "What is the token count?"),
        (form(yes={"type": "boolean"}), "It needs a token with more rights. Go on?"),
        (
            form(kind={"oneOf": [{"const": "a", "title": "Password"}, {"const": "b"}]}),
            "Please choose",
        ),
        (form(kinds={"type": "array", "items": {"enum": ["password"]}}), "Please choose"),
        ({**form(reset={"type": "boolean"}), "required": ["password"]}, "Please choose"),
        (form(column=TEXT), "Which primary key, and which foreign key?"),
        (form(name=TEXT), "Name of the passenger, and number of the passport"),
        (form(code=TEXT), "Postal code of the author's secretary"),
        (form(layout=TEXT), "Which keyboard layout? Did the tests pass?"),
        (form(city=TEXT), "Which class is your boarding pass for?"),
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
