"""Secrets by their formats. All of these are made up, and put together from parts."""

from __future__ import annotations

import base64
import json
import random
import uuid

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clawkit.guard.scan.sanitizer import ScanOptions, clean, suspicious
from clawkit.text import secrets
from clawkit.text.secrets import redact_secrets
from tests.work_counter import calls

DASHES = "-" * 5
MIXED = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0fG3iJ6lO9r"


def _pem(label: str, body: str) -> str:
    return f"{DASHES}BEGIN {label}{DASHES}{body}{DASHES}END {label}{DASHES}"


SECRETS = {
    "github": ("gh" + "p_" + MIXED[:36], "github-token"),
    "github-app": ("gh" + "s_" + MIXED[:36], "github-token"),
    "github-fine": ("github" + "_pat_" + MIXED[:22] + "_" + MIXED + MIXED[:19], "github-token"),
    "gitlab": ("gl" + "pat-" + "a-B_3" * 4, "gitlab-token"),
    "slack": ("xo" + "xb-123456789012-1234567890123-" + MIXED[:24], "slack-token"),
    "slack-app": ("xa" + "pp-1-A0123456789-1234567890-" + "0af" * 20, "slack-token"),
    "stripe": ("sk" + "_live_" + MIXED[:24], "stripe-key"),
    "stripe-restricted": ("rk" + "_test_" + MIXED[:24], "stripe-key"),
    "google": ("AI" + "za" + MIXED[:35], "google-api-key"),
    "openai": ("sk" + "-proj-" + MIXED + "_-" + MIXED, "openai-key"),
    "openai-old": ("sk" + "-" + MIXED + MIXED[:8], "openai-key"),
    "anthropic": ("sk" + "-ant-api03-" + MIXED + "-" + MIXED, "anthropic-key"),
    "openrouter": ("sk" + "-or-v1-" + "0af1" * 16, "openrouter-key"),
    "npm": ("np" + "m_" + MIXED[:36], "npm-token"),
    "pypi": ("py" + "pi-AgE" + MIXED * 3, "pypi-token"),
    "huggingface": ("h" + "f_" + MIXED[:34], "huggingface-token"),
    "jwt": ("eyJ" + "hbGciOiJIUzI1NiJ9.eyJ" + "zdWIiOiIxMjM0In0." + MIXED, "jwt"),
    "aws-id": ("AK" + "IA" + "Q3EXAMPLE7ABCDEF", "aws-access-key"),
    "being": ("br" + "t_" + "x" * 16, "being-token"),
    "being-oauth": ("bt" + "o_" + "a-B_" * 8, "being-token"),
    "pem": (_pem("RSA PRIVATE KEY", "\n" + (MIXED + MIXED[:24] + "\n") * 4), "private-key"),
    "pem-encrypted": (
        _pem("RSA PRIVATE KEY", f"\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0F\n\n{MIXED}\n"),
        "private-key",
    ),
    "pem-in-a-string": (_pem("PRIVATE KEY", f"\\n{MIXED}\\n"), "private-key"),
    "pem-cut-off": (f"{DASHES}BEGIN PRIVATE KEY{DASHES}\n{MIXED}\n{MIXED}", "private-key"),
    "pgp": (_pem("PGP PRIVATE KEY BLOCK", f"\n\n{MIXED}\n{MIXED}\n=aB3d\n"), "private-key"),
}
AWS_SECRET = "wJ4lrXUtnFE/K7MDENG/bPxRfiCYEXAMPLEKEY+9"
PARTS = {
    "database": ("postgres://app:", "s3cr!t%20x", "@db.example:5432/main", "url-password"),
    "database-without-a-user": ("redis://:", "hunter2", "@localhost", "url-password"),
    "header": ("Authorization: Bearer ", MIXED, "\nAccept: */*", "authorization"),
    "header-basic": ("-H 'authorization: basic ", "dXNlcjpwYXNzd29yZA==", "'", "authorization"),
    "header-in-capitals": ("AUTHORIZATION: BEARER ", MIXED, "", "authorization"),
    "azure": ("AccountName=x;AccountKey=", MIXED * 2 + "abcdef==", ";Suffix", "azure-storage-key"),
    "aws-setting": ("aws_secret_access_key = ", AWS_SECRET, "\n", "aws-secret-key"),
    "aws-variable": ("export AWS_SECRET_ACCESS_KEY='", AWS_SECRET, "'", "aws-secret-key"),
    "aws-json": ('{"SecretAccessKey": "', AWS_SECRET, '"}', "aws-secret-key"),
}


@pytest.mark.parametrize(("secret", "kind"), SECRETS.values(), ids=SECRETS)
@pytest.mark.parametrize("around", ["{}", "key={}", "see '{}', please", "a\n{}\nb", "{}, {}"])
def test_a_secret_is_replaced_by_its_kind(secret: str, kind: str, around: str) -> None:
    text = around.replace("{}", secret)
    assert redact_secrets(text) == (around.replace("{}", f"[redacted: {kind}]"), (kind,))
    assert suspicious(json.dumps(text).encode("utf-8", "surrogatepass"), ScanOptions())


@pytest.mark.parametrize(("before", "secret", "after", "kind"), PARTS.values(), ids=PARTS)
def test_only_the_secret_part_is_replaced(before: str, secret: str, after: str, kind: str) -> None:
    text = before + secret + after
    redacted = f"{before}[redacted: {kind}]{after}"
    assert redact_secrets(text) == (redacted, (kind,))
    assert redact_secrets(redacted) == (redacted, ())
    assert suspicious(json.dumps(text).encode("utf-8", "surrogatepass"), ScanOptions())
    assert suspicious(
        json.dumps(text).replace("/", "\\/").encode("utf-8", "surrogatepass"), ScanOptions()
    )


@pytest.mark.parametrize("name", ["github", "github-fine", "gitlab", "slack", "google", "aws-id"])
def test_letters_before_a_secret_do_not_hide_it(name: str) -> None:
    secret, kind = SECRETS[name]
    assert redact_secrets(f"x{secret}") == (f"x[redacted: {kind}]", (kind,))


def test_a_secret_in_wide_letters_is_one() -> None:
    secret, kind = SECRETS["github"]
    wide = "".join(chr(ord(letter) + 0xFEE0) for letter in secret)
    for written in (wide, wide[:3] + secret[3:]):
        assert redact_secrets(f"值 {written}") == (f"值 [redacted: {kind}]", (kind,))
    assert redact_secrets(wide[:12]) == (wide[:12], ())
    digits = secret.translate({ord("0") + digit: 0x1D7F6 + digit for digit in range(10)})
    assert not digits.isascii()
    assert redact_secrets(f"{digits} \u2026") == (f"[redacted: {kind}] ...", (kind,))


@pytest.mark.parametrize(
    "start",
    ["b3BlbnNz" + "aC1rZXktdjEA", "MIIEpA" + "IBAAKCAQEA", "MIIEvg" + "IBADANBgkqhkiG9w0BAQEFAAS",
     "MHcC" + "AQEEI", "MC4CAQAw" + "BQYDK2VwBCIEI"],
)  # fmt: skip
def test_a_private_key_is_one_without_the_line_that_says_so(start: str) -> None:
    lines = [(start + MIXED * 2)[:64], (MIXED * 2)[:64], "aB3dE6gH=="]
    redacted = ("it is\n[redacted: private-key]\nand so on", ("private-key",))
    assert redact_secrets("\n".join(["it is", *lines, "and so on"])) == redacted
    assert suspicious(json.dumps("\n".join(lines)).encode(), ScanOptions())


def test_a_file_that_is_sent_in_base64_is_looked_through() -> None:
    secret = SECRETS["github"][0]
    file = base64.b64encode(f"# settings\ntoken: {secret}\n".encode()).decode()
    for blob in (file, file.replace("=", ""), f"{file[:40]}\r\n{file[40:]}"):
        for message in ({"resource": {"blob": blob}}, [{"type": "image", "data": blob}]):
            assert suspicious(json.dumps(message).encode(), ScanOptions())
            cleaned, findings = clean(message, ScanOptions())
            assert findings.secrets == ("github-token",)
            assert blob not in json.dumps(cleaned)
            withheld = cleaned["resource"]["blob"] if isinstance(cleaned, dict) else "-"
            assert withheld == "-" or base64.b64decode(withheld) == b"[redacted: blob]"


def test_other_files_in_base64_stay_as_they_are() -> None:
    chance = random.Random(4)
    for content in (b"nothing to see", chance.randbytes(3_000), b"\x89PNG" + b"a" * 50, b""):
        message = {"blob": base64.b64encode(content).decode(), "data": "plain text"}
        assert clean(message, ScanOptions())[0] is message


def test_the_secret_next_to_an_access_key_id_goes_with_it() -> None:
    text = f"{SECRETS['aws-id'][0]}\n{AWS_SECRET}\n"
    assert redact_secrets(text)[0] == "[redacted: aws-access-key]\n[redacted: aws-secret-key]\n"


@pytest.mark.parametrize(
    ("members", "kind"),
    [
        ({"SecretAccessKey": AWS_SECRET}, "aws-secret-key"),
        ({"headers": {"Authorization": f"Bearer {MIXED}"}}, "authorization"),
        ({"proxy-authorization": "Basic dXNlcjpwYXNzd29yZA=="}, "authorization"),
    ],
)
def test_a_name_can_make_a_value_a_secret(members: dict[str, object], kind: str) -> None:
    cleaned, findings = clean(members, ScanOptions())
    assert findings.secrets == (kind,)
    assert suspicious(json.dumps(members).encode("utf-8", "surrogatepass"), ScanOptions())
    assert f"[redacted: {kind}]" in json.dumps(cleaned)
    assert clean(cleaned, ScanOptions()) == (cleaned, clean({}, ScanOptions())[1])


@pytest.mark.parametrize(
    "text",
    [
        "the task-management-and-planning-of-the-day",
        "https://example.com/path?q=a:b@c",
        "postgres://user:${DB_PASSWORD}@host/db and postgres://user:<password>@host",
        "git@github.com:owner/repository.git",
        "mail someone@example.com: it's at 10:30",
        "commit 0123456789abcdef0123456789abcdef01234567",
        "sk-learn, sk-0, xoxo-hugs-and-kisses-for-everyone-here",
        "-----BEGIN CERTIFICATE-----\n" + MIXED + "\n-----END CERTIFICATE-----",
        f"a file starts with {DASHES}BEGIN PRIVATE KEY{DASHES} and then comes base64",
        "gh" + "p_short and npm_config_registry and stripe_live_mode",
        "Authorization: see the chapter on bearer tokens",
        "eyJhbGciOiJIUzI1NiJ9 is how a header begins",
        "max_tokens_per_minute_for_each_organization",
    ],
)
def test_ordinary_text_holds_no_secret(text: str) -> None:
    assert redact_secrets(text) == (text, ())


def test_random_data_is_no_secret() -> None:
    chance = random.Random(4)
    for _ in range(40):
        image = base64.b64encode(chance.randbytes(30_000)).decode()
        address = base64.urlsafe_b64encode(chance.randbytes(3_000)).decode()
        hashes = " ".join(chance.randbytes(20).hex() for _ in range(100))
        ids = " ".join(str(uuid.UUID(bytes=chance.randbytes(16))) for _ in range(100))
        for text in (image, address, hashes, ids, f"sha512-{image[:86]}=="):
            assert redact_secrets(text) == (text, ())


STARTS = (
    *(f"gh{letter}_" for letter in "pousr"),
    *("github_pat_", "sk_live_", "rk_test_", "npm_", "hf_", "brt_", "bto_", "secret_access_key="),
    *(f"{DASHES}BEGIN PRIVATE KEY{DASHES}", f"{DASHES}END PRIVATE KEY{DASHES}", "-", "_", ".eyJ"),
    *(f"xox{letter}-1" for letter in "abeprs"),
    *("xapp-1-", "sk-", "sk-ant-api03-", "sk-or-v1-", "pypi-AgE", "glpat-", "gldt-", "glcbt-"),
    *("AKIA", "ASIA", "AIza", "AccountKey=", "SecretAccessKey=", "SECRET_ACCESS_KEY: ", "eyJ"),
    *("Authorization: Bearer ", "AUTHORIZATION=Basic ", "https://me:", "://:", "@", "/", "A", "n"),
)
FILLINGS = (
    MIXED,
    MIXED[:16],
    MIXED[:36],
    "A1B2C3D4E5F6G7H8",
    "0af" * 22,
    " ",
    "\n",
    "x",
    "",
    "\u00e9",
)


@settings(max_examples=10 * settings().max_examples)
@given(st.lists(st.tuples(st.sampled_from(STARTS), st.sampled_from(FILLINGS)), max_size=6))
def test_no_secret_is_passed_over_next_to_what_looks_like_another(
    parts: list[tuple[str, str]],
) -> None:
    text = "".join(start + filling for start, filling in parts)
    redacted, kinds = redact_secrets(text)
    assert bool(kinds) == bool(every_kind(text))
    assert not every_kind(redacted)


@pytest.mark.parametrize(
    "text",
    ["sk" + _pem("PRIVATE KEY", MIXED * 2), "AKI" + "AccountKey=" + MIXED * 2],
    ids=["key", "account"],
)
def test_a_word_that_ends_as_a_secret_begins_does_not_hide_it(text: str) -> None:
    assert redact_secrets(text)[1]


def every_kind(text: str) -> set[str]:
    """What there is to redact, whether it seems worth a try or not."""
    groups = secrets.groups().values()
    return {kind for one in groups for kind, redact in one.formats if redact(text, "")[1]}


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        "eyJ",
        "eyJaaaaaaaa.",
        "sk-",
        "-----BEGIN ",
        f"{DASHES}BEGIN PRIVATE KEY{DASHES}a",
        "://a:b",
        "://",
        "AK" + "IA",
        "AKIAAAAAAAAAAAAAAAAA ",
        "Authorization: ",
        "secret_access_key=",
        "gh" + "p_",
        "xo" + "xb-",
        "MHcCAQEEI",
        "MHcCAQEEI" + MIXED + "\n",
        '"blob":"aGVs',
        "x",
    ],
)
def test_the_cost_is_linear_whatever_is_repeated(piece: str) -> None:
    def look(size: int) -> None:
        text = piece * (size // len(piece))
        redact_secrets(text)
        suspicious(text.encode("utf-8", "surrogatepass"), ScanOptions())

    few, twice = (calls(lambda size=size: look(size)) for size in (20_000, 40_000))
    assert twice < 2.2 * few
    look(2_000_000)  # an expression that goes back and forth would take longer than a test may
