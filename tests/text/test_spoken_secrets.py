"""Secrets as people tell them. All of these are made up."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawkit.text.spoken_secrets import remove_secrets
from tests.work_counter import calls

VISA = " ".join(["4111", *["1" * 4] * 3])


@pytest.mark.parametrize(
    ("told", "kept", "kind"),
    [
        ("the wifi password is hunter2", "the wifi password is [removed: password]", "password"),
        (
            "The wifi password is sunflower.",
            "The wifi password is [removed: password].",
            "password",
        ),
        (
            "My password for Netflix is Blue-Whale-77, and Ana uses it too.",
            "My password for Netflix is [removed: password], and Ana uses it too.",
            "password",
        ),
        ("my password's hunter2", "my password's [removed: password]", "password"),
        ("password=secret", "password=[removed: password]", "password"),
        ("hunter2 is my password", "[removed: password] is my password", "password"),
        (
            "I changed my password to swordfish.",
            "I changed my password to [removed: password].",
            "password",
        ),
        (
            'The passphrase is "correct horse battery staple"',
            'The passphrase is "[removed: password]"',
            "password",
        ),
        (
            "The recovery phrase is apple banana cherry dog elephant fish.",
            "The recovery phrase is [removed: password].",
            "password",
        ),
        ("Mein Passwort ist Sommer2024!", "Mein Passwort ist [removed: password]", "password"),
        (
            "Das WLAN-Passwort lautet Sonne7 und der Router steht im Flur.",
            "Das WLAN-Passwort lautet [removed: password] und der Router steht im Flur.",
            "password",
        ),
        (
            "dass mein Passwort hunter2 ist",
            "dass mein Passwort [removed: password] ist",
            "password",
        ),
        (
            "La contraseña del wifi es Girasol99.",
            "La contraseña del wifi es [removed: password].",
            "password",
        ),
        (
            "le mot de passe est Soleil!99",
            "le mot de passe est [removed: password]",
            "password",
        ),
        (
            "la password del wifi è Girasole1",
            "la password del wifi è [removed: password]",
            "password",
        ),
        ("a senha do wifi é Sol2024", "a senha do wifi é [removed: password]", "password"),
        ("het wachtwoord is Zonnebloem9", "het wachtwoord is [removed: password]", "password"),
        ("hasło do wifi to Slonce1", "hasło do wifi to [removed: password]", "password"),
        ("пароль от вайфая: qwerty123", "пароль от вайфая: [removed: password]", "password"),
        ("wifi şifresi abc123", "wifi şifresi [removed: password]", "password"),
        ("密码是abc123\uff0c请记住", "密码是[removed: password]\uff0c请记住", "password"),
        ("パスワードはabc123です", "パスワードは[removed: password]です", "password"),
        ("비밀번호는 abc123입니다", "비밀번호는 [removed: password]입니다", "password"),
        (
            "Remember that my bank PIN is 4711.",
            "Remember that my bank PIN is [removed: pin].",
            "pin",
        ),
        ("my api key is abcd1234efgh5678", "my api key is [removed: key]", "key"),
        (
            f"My card is {VISA}, valid to 12/28",
            "My card is [removed: card-number], valid to 12/28",
            "card-number",
        ),
        (
            f"order 12 {VISA.replace(' ', '-')} is paid",
            "order 12 [removed: card-number] is paid",
            "card-number",
        ),
        ("CVV 123", "CVV [removed: card-code]", "card-code"),
        (
            "I use gh" + "p_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0fG3iJ6" + " at work",
            "I use [removed: github-token] at work",
            "github-token",
        ),
    ],
)
def test_a_secret_is_taken_out_of_its_sentence(told: str, kept: str, kind: str) -> None:
    assert remove_secrets(told) == (kept, (kind,))
    assert remove_secrets(kept) == (kept, ())


@pytest.mark.parametrize(
    "told",
    [
        "I forgot my password again.",
        "The password is wrong.",
        "My password is too short",
        "the password is the name of my dog",
        "The password is on the back of the router.",
        "The password manager is 1Password",
        "I use 1Password as my password manager",
        "I changed my password on Monday.",
        "I changed my password on 2026-01-02.",
        "I told Ana the password in 2024.",
        "My seed phrase is in the safe",
        "Das Passwort ist falsch.",
        "Ich habe das Passwort auf Papier.",
        "La contraseña es incorrecta",
        "Cambié la contraseña en mayo.",
        "la clave es la paciencia",
        "La clave del éxito es trabajo.",
        "le mot de passe est oublié",
        "La parola è bella.",
        "The key is to listen.",
        "My PIN was blocked",
        "She got a pin for her jacket",
        "the access token expires in 3600 seconds",
        "Call me at +49 151 2345 6789 01",
        "IBAN DE89 3704 0044 0532 0130 00",
        "My IMEI is 490154203237518",
        "ISBN 978-3-16-148410-0",
        "We ordered 1234567890123456 screws",
        "4111 1111 1111 1112 is no card: the last digit is wrong",
    ],
)
def test_what_is_only_about_secrets_stays(told: str) -> None:
    assert remove_secrets(told) == (told, ())


@pytest.mark.parametrize(
    "number", ["378282246310005", "5555555555554444", "6011111111111117", "3530111333300000"]
)
def test_cards_of_all_kinds_are_known(number: str) -> None:
    assert remove_secrets(f"pay with {number}") == (
        "pay with [removed: card-number]",
        ("card-number",),
    )


def test_several_secrets_are_taken_out_of_one_text() -> None:
    text, kinds = remove_secrets(f"My Visa {VISA} and the pin 1234. The password is hunter2.")
    assert text == (
        "My Visa [removed: card-number] and the pin [removed: pin]. "
        "The password is [removed: password]."
    )
    assert kinds == ("card-number", "pin", "password")


PARTS = ("password", "PIN", "is", "to", ":", "=", "my", "a1b2", "1234", '"', "[removed: pin]", VISA)


@given(st.lists(st.one_of(st.sampled_from(PARTS), st.text(max_size=5))).map(" ".join))
def test_what_is_kept_holds_no_secret_any_more(text: str) -> None:
    kept, kinds = remove_secrets(text)
    assert bool(kinds) == (kept != text)
    assert remove_secrets(kept) == (kept, ())


@pytest.mark.slow
@pytest.mark.parametrize(
    "part", ["password is a1 ", "password for ", "is my password ", "1 ", "4111111111111111 "]
)
def test_the_work_grows_no_faster_than_the_text(part: str) -> None:
    few, many = (calls(lambda n=n: remove_secrets(part * n)) for n in (200, 800))
    assert many < 6 * few
