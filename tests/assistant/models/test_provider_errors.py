"""What becomes of each way to be refused, in both providers' own words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from clawkit.errors import (
    ContextTooLongError,
    ModelError,
    NoSuchModelError,
    ProviderDownError,
    RateLimitError,
    RefusedKeyError,
    RefusedRequestError,
    SettingsError,
)
from clawkit.models.provider_errors import (
    ProviderIdentity,
    WrongAddressError,
    from_status,
    read_body,
    retry_after,
)
from tests.assistant.models.adapters import KEY, WIRES, adapter, asked, heard, prompt
from tests.assistant.providers.scripted import Status

BOTH = pytest.mark.parametrize("wire", ["anthropic", "openai"])


async def refused(wire: str, status: Status, **options: Any) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await asked(wire, [status], **options)
    return caught.value


@BOTH
@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (400, RefusedRequestError),
        (401, RefusedKeyError),
        (402, RefusedKeyError),
        (403, RefusedKeyError),
        (404, WrongAddressError),
        (408, ProviderDownError),
        (413, ContextTooLongError),
        (418, RefusedRequestError),
        (422, RefusedRequestError),
        (429, RateLimitError),
        (500, ProviderDownError),
        (502, ProviderDownError),
        (503, ProviderDownError),
        (529, ProviderDownError),
    ],
)
async def test_each_status_is_its_error_and_quotes_the_provider(
    wire: str, code: int, kind: type[ModelError]
) -> None:
    error = await refused(wire, Status(code, message="the provider's own words"))
    assert type(error) is kind
    assert error.provider == wire
    assert f'({code}: "the provider\'s own words")' in str(error)


@BOTH
async def test_a_refused_key_names_its_variable_and_the_way_out(wire: str) -> None:
    error = await refused(wire, Status(401), key_env="MY_KEY")
    assert "MY_KEY" in str(error)
    assert "claw setup" in str(error)


async def test_a_server_that_wants_a_key_and_got_none_says_so() -> None:
    error = await refused("openai", Status(401), provider="vllm", key="", key_env="")
    assert "`key_env` under [providers.vllm]" in str(error)


@pytest.mark.parametrize(
    ("wire", "status"),
    [
        ("anthropic", Status(404, message="model: m-1")),
        ("openai", Status(404, message="The model `m-1` does not exist", kind="model_not_found")),
        ("openai", Status(400, message="m-1 is not a valid model ID")),
        ("openai", Status(404, {"error": {"message": 'model "m-1" not found, try pulling it'}})),
        ("openai", Status(404, {"object": "error", "message": "The model `m-1` does not exist."})),
        ("openai", Status(404, message="No endpoints found for m-1.")),
    ],
)
async def test_an_unknown_model_is_recognised(wire: str, status: Status) -> None:
    error = await refused(wire, status)
    assert isinstance(error, NoSuchModelError)
    assert '"m-1"' in str(error)


async def test_ollama_is_told_to_pull_the_model() -> None:
    status = Status(404, message='model "m-1" not found, try pulling it first')
    assert "`ollama pull m-1`" in str(await refused("openai", status, provider="ollama"))


@pytest.mark.parametrize(
    ("code", "said", "fits"),
    [
        (400, "prompt is too long: 208310 tokens > 200000 maximum", 200_000),
        (400, "input length and `max_tokens` exceed context limit: 1 + 2 > 200000", None),
        (
            400,
            "This model's maximum context length is 8192 tokens. However, you requested 9000",
            8192,
        ),
        (
            400,
            "request (5000 tokens) exceeds the available context size (4096 tokens), try more",
            4096,
        ),
        (
            500,
            "the request exceeds the available context size. try increasing the context size",
            None,
        ),
        (400, "Please reduce the length of the messages or completion.", None),
        (400, "The input token count (99) exceeds the maximum number of tokens allowed", None),
        (400, "This model's maximum prompt length is 131072 but the request contains 2", 131072),
        (
            400,
            "The number of tokens to keep from the initial prompt is greater than the context",
            None,
        ),
        (400, "the model is loaded with context length of only 4096 tokens", 4096),
        (400, "Your input exceeds the context window of this model.", None),
        (422, "`inputs` tokens + `max_new_tokens` must be <= 4097", None),
    ],
)
@BOTH
async def test_a_conversation_that_is_too_long_is_recognised_and_its_limit_learnt(
    wire: str, code: int, said: str, fits: int | None
) -> None:
    with WIRES[wire]([Status(code, message=said)]) as server:
        async with adapter(wire, server.url) as model:
            model.context = 500_000
            with pytest.raises(ContextTooLongError, match="/compact"):
                await heard(model.stream(prompt()))
            assert model.context == (fits or 500_000)


async def test_a_code_is_enough_to_recognise_it() -> None:
    status = Status(400, message="no", kind="context_length_exceeded")
    assert isinstance(await refused("openai", status), ContextTooLongError)
    said = {"code": 400, "message": "no", "type": "exceed_context_size_error", "n_ctx": 512}
    assert isinstance(await refused("openai", Status(400, {"error": said})), ContextTooLongError)


@pytest.mark.parametrize(
    ("wire", "status"),
    [
        ("openai", Status(429, message="You exceeded your quota", kind="insufficient_quota")),
        ("anthropic", Status(400, message="Your credit balance is too low")),
        ("openai", Status(402, message="Insufficient credits")),
    ],
)
async def test_when_nothing_is_left_to_pay_with_waiting_does_not_help(
    wire: str, status: Status
) -> None:
    error = await refused(wire, status)
    assert isinstance(error, RefusedKeyError)
    assert "credit" in str(error)


@BOTH
async def test_how_long_to_wait_is_taken_from_the_header(wire: str) -> None:
    error = await refused(wire, Status(429, headers={"retry-after": "17"}))
    assert isinstance(error, RateLimitError)
    assert error.retry_after == 17
    assert "in 17 s" in str(error)


def test_a_wait_is_told_in_seconds_milliseconds_or_a_date() -> None:
    assert retry_after({"retry-after": "1.5"}) == 1.5
    assert retry_after({"retry-after-ms": "250", "retry-after": "9"}) == 0.25
    later = datetime.now(UTC) + timedelta(seconds=100)
    assert 90 < (retry_after({"retry-after": format_datetime(later, usegmt=True)}) or 0) <= 100
    assert retry_after({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0
    assert retry_after({"retry-after": "Wed, 21 Oct 2015 07:28:00 -0000"}) == 0
    for nothing in ("", "soon", "-3", "nan", "inf"):
        assert retry_after({"retry-after": nothing}) is None


@BOTH
@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("<html><title>502 Bad\nGateway</title><body>…", "502 Bad Gateway"),
        ("<h1>nginx</h1>", "nginx"),
        ("upstream connect error\n\nor reset", "upstream connect error or reset"),
        (b"\xff\x00\x1b[31mred", "red"),
        ({"detail": "Internal"}, "Internal"),
        ({"error": "plain"}, "plain"),
        ({"odd": [1, 2]}, "odd"),
        (b"[1, 2", "[1, 2"),
        (b"", "(502)"),
        (b"null", "(502"),
    ],
)
async def test_an_error_in_any_form_is_read(wire: str, body: Any, shown: str) -> None:
    error = await refused(wire, Status(502, body))
    assert isinstance(error, ProviderDownError)
    assert shown in str(error)
    assert str(error).isprintable()


@BOTH
async def test_a_quote_is_short_and_never_has_a_secret_in_it(wire: str) -> None:
    said = (
        f"Incorrect API key provided: {KEY[:9]}********{KEY[-4:]}, {KEY}, "
        f"Bearer {KEY}, {KEY[:12]}… and ****{KEY[-4:]}; team-secret-000111; "
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789 " + "x" * 5000
    )
    error = await refused(wire, Status(401, message=said), headers={"x-team": "team-secret-000111"})
    for hidden in (KEY, KEY[:9], KEY[-4:], "team-secret", "ghp_"):
        assert hidden not in str(error)
    assert len(str(error)) < 500


def test_a_flood_of_words_is_quoted_without_its_secret() -> None:
    identity = ProviderIdentity("vllm", "m", "http://127.0.0.1", secrets=(KEY,))
    # What took the square of their length would not end within a test's time.
    for flood in ("x" * 10**6, "*" * 10**6, "<title" * 10**5, f"{KEY} " * 10**5):
        for status in (400, 404, 500):
            said = read_body(flood.encode(), "text/html")
            assert KEY[:8] not in str(from_status(identity, status, said))


def test_a_short_secret_is_hidden_without_hiding_everything_else() -> None:
    identity = ProviderIdentity("vllm", "m", "http://127.0.0.1", secrets=("none", "x"))
    assert identity.quote("x is none of these") == "x is [redacted] of these"
    assert "none" not in repr(identity)
    assert "none" not in str(identity.__rich_repr__())


@pytest.mark.parametrize(
    "url",
    [
        "",
        "api.example.com/v1",
        "ftp://example.com",
        "https://",
        "https://example.com:0",
        "https://example.com:port",
        "https://me:pw@example.com",
        "https://example.com/v1?key=1",
        "https://example.com/#x",
        "https://exa mple.com",
        "https://[::1",
        "http://api.example.com",
        "http://8.8.8.8/v1",
    ],
)
async def test_addresses_that_cannot_be_asked_with_a_key_are_refused(url: str) -> None:
    with pytest.raises(SettingsError, match=r"\[providers\.openai\] base_url") as caught:
        async with adapter("openai", url):
            pass
    assert "pw" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com",
        "http://localhost:1",
        "http://[::1]:1/v1",
        "http://192.168.1.7:8000/v1",
        "http://100.64.0.1/v1",
        "http://ollama:11434/v1",
        "http://box.local",
    ],
)
async def test_addresses_that_a_key_may_be_sent_to(url: str) -> None:
    async with adapter("openai", url):
        pass


async def test_plain_http_without_a_key_may_go_anywhere() -> None:
    async with adapter("openai", "http://models.example.com/v1", key=""):
        pass


@pytest.mark.parametrize("key", ["sk-with space", "sk-with\nline", "sk-ümlaut"])
async def test_a_key_that_no_header_can_carry_is_refused_unseen(key: str) -> None:
    with pytest.raises(RefusedKeyError) as caught:
        async with adapter("anthropic", "https://example.com", key=key):
            pass
    assert key not in str(caught.value)
    assert "ANTHROPIC_API_KEY" in str(caught.value)


@pytest.mark.parametrize("headers", [{"x y": "1"}, {"x": "a\nb"}, {"": "1"}])
async def test_a_header_that_cannot_be_sent_is_refused(headers: dict[str, str]) -> None:
    with pytest.raises(SettingsError, match="headers"):
        async with adapter("openai", "https://example.com", headers=headers):
            pass


async def test_another_path_of_the_server_is_a_clear_error() -> None:
    with WIRES["openai"]([]) as server:
        async with adapter("openai", server.origin) as model:
            with pytest.raises(WrongAddressError, match="often ends in /v1"):
                await heard(model.stream(prompt()))
