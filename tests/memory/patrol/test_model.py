"""The model client over the real wires, from a scripted server."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor

import pytest

from clawkit.errors import (
    ModelError,
    ModelTimeoutError,
    ProviderDownError,
    RateLimitError,
    RefusedKeyError,
    RefusedRequestError,
)
from clawkit.memory.model import Llm, llm
from tests.assistant.providers.scripted import (
    Cut,
    Fault,
    Hang,
    Raw,
    Reply,
    Say,
    ScriptedServer,
    Status,
    scripted_anthropic,
    scripted_openai,
)

ANTHROPIC_KEY = "sk-ant-test-0123456789"
OPENAI_KEY = "sk-proj-test-0123456789"
_WIRES = {ANTHROPIC_KEY: scripted_anthropic, OPENAI_KEY: scripted_openai}
both = pytest.mark.parametrize("key", [ANTHROPIC_KEY, OPENAI_KEY])


def _model(key: str, server: ScriptedServer, timeout: float = 20.0) -> Llm:
    return llm(key, url=server.url, timeout=timeout)


@both
def test_an_answer_is_the_text_of_all_its_pieces(key: str) -> None:
    with _WIRES[key]([Say("Hello ", "there, ", "日本")]) as server:
        assert _model(key, server).complete("Be kind.", "Hi", 50) == "Hello there, 日本"


def test_an_anthropic_key_speaks_the_messages_api() -> None:
    with scripted_anthropic([Say("ok")]) as server:
        _model(ANTHROPIC_KEY, server).complete("Be kind.", "Hi", 50)
    asked = server.last
    assert (asked.path, asked.headers["x-api-key"]) == ("/v1/messages", ANTHROPIC_KEY)
    assert asked.headers["anthropic-version"] == "2023-06-01"
    assert asked.json["model"] == "claude-sonnet-4-6"
    assert (asked.json["system"][0]["text"], asked.json["max_tokens"]) == ("Be kind.", 50)
    assert [message["role"] for message in asked.messages] == ["user"]


def test_any_other_key_speaks_chat_completions() -> None:
    with scripted_openai([Say("ok")]) as server:
        llm(OPENAI_KEY, url=server.url, model="small").complete("Be kind.", "Hi", 50)
    asked = server.last
    assert asked.headers["authorization"] == f"Bearer {OPENAI_KEY}"
    assert (asked.json["model"], asked.json["max_tokens"]) == ("small", 50)
    assert [message["role"] for message in asked.messages] == ["system", "user"]


def test_the_environment_says_where_providers_are(monkeypatch: pytest.MonkeyPatch) -> None:
    with scripted_anthropic([Say("a")]) as one, scripted_openai([Say("o")]) as two:
        monkeypatch.setenv("CLAW_ANTHROPIC_URL", one.url)
        monkeypatch.setenv("CLAW_OPENAI_URL", two.url)
        assert llm(ANTHROPIC_KEY).complete("", "Hi", 5) == "a"
        assert llm(OPENAI_KEY).complete("", "Hi", 5) == "o"


@both
@pytest.mark.parametrize(
    "trouble",
    [Status(429), Status(503), Status(529), Reply(Say("Hel"), Cut()), Fault(), Raw(b"data: {\n\n")],
)
def test_trouble_that_passes_is_asked_again_twice(key: str, trouble: object) -> None:
    with _WIRES[key]([trouble, trouble, Say("at last")]) as server:
        assert _model(key, server).complete("", "Hi", 5) == "at last"
    assert len(server.requests) == 3


@both
@pytest.mark.parametrize(
    ("trouble", "error", "asked"),
    [
        (Status(429), RateLimitError, 3),
        (Status(429, headers={"retry-after": "3600"}), RateLimitError, 1),
        (Status(500), ProviderDownError, 3),
        (Status(401), RefusedKeyError, 1),
        (Status(403), RefusedKeyError, 1),
        (Status(404), ProviderDownError, 1),
        (Status(400), RefusedRequestError, 1),
        (Status(302, headers={"location": "http://127.0.0.1:9/"}), ProviderDownError, 1),
        (Reply(Say("Hel"), ends=False), ProviderDownError, 3),
    ],
)
def test_trouble_that_stays_is_the_error_that_it_is(
    key: str, trouble: Status | Reply, error: type[ModelError], asked: int
) -> None:
    with _WIRES[key](lambda _: trouble) as server, pytest.raises(error) as raised:
        _model(key, server).complete("", "Hi", 5)
    assert len(server.requests) == asked
    assert raised.value.provider in ("anthropic", "openai")


def test_silence_is_a_timeout_and_asked_again_once() -> None:
    silent = Reply(Say("Hel"), Hang())

    def asked(key: str) -> int:
        with _WIRES[key](lambda _: silent) as server, pytest.raises(ModelTimeoutError):
            _model(key, server, timeout=1).complete("", "Hi", 5)
        return len(server.requests)

    with ThreadPoolExecutor() as pool:  # both wait
        assert list(pool.map(asked, _WIRES)) == [2, 2]


def test_a_server_that_is_not_there_is_down() -> None:
    with scripted_openai([]) as server:
        url = server.url
    with pytest.raises(ProviderDownError, match="cannot be reached"):
        llm(OPENAI_KEY, url=url).complete("", "Hi", 5)


@pytest.mark.parametrize("key", ["sk-ant-a\nb", "sk-ant-ключ", "two words", ""])
def test_what_cannot_be_a_key_is_refused_without_being_repeated(key: str) -> None:
    with pytest.raises(RefusedKeyError) as raised:
        llm(key)
    assert not key or key[:8] not in str(raised.value)


def test_an_answer_that_drips_for_ever_is_given_up() -> None:
    dripping = Say(*["x"] * 400, pause=0.01)
    with scripted_openai([dripping]) as server, pytest.raises(ModelTimeoutError):
        llm(OPENAI_KEY, url=server.url, longest=0.2).complete("", "Hi", 5)


@both
def test_the_key_is_in_no_error_log_or_name(key: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    echo = Status(401, body=f'{{"error": "the key {key} is wrong, {key}"}}')
    with _WIRES[key]([echo]) as server:
        model = _model(key, server)
        with pytest.raises(RefusedKeyError) as raised:
            model.complete("", "Hi", 5)
    assert key not in repr(model)
    assert key not in str(raised.value)
    assert "[redacted]" in str(raised.value)
    assert raised.value.__cause__ is None
    assert key not in caplog.text


@pytest.mark.parametrize(
    "url", ["http://example.com/v1", "http://8.8.8.8", "HTTP://1.1.1.1", "ftp://localhost", "x"]
)
@both
def test_no_key_goes_unencrypted_over_the_internet(key: str, url: str) -> None:
    with pytest.raises(RefusedKeyError, match="https://") as raised:
        llm(key, url=url)
    assert key not in str(raised.value)


@both
def test_a_key_may_go_unencrypted_to_this_machine_and_its_network(key: str) -> None:
    for host in ("localhost:1", "127.0.0.1", "[::1]:80", "10.0.0.7", "models.lan"):
        llm(key, url=f"http://{host}/v1")
