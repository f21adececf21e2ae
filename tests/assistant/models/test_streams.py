"""Both adapters against streams as they come in life: split, slow, broken, cancelled, many."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Generator
from contextlib import aclosing, contextmanager

import pytest

from clawkit.errors import (
    ModelError,
    ModelTimeoutError,
    ProviderDownError,
    RateLimitError,
    RefusedKeyError,
)
from clawkit.models.protocol import ToolCall
from clawkit.models.provider_errors import WrongAddressError
from tests.assistant.models.adapters import KEY, WIRES, adapter, asked, heard, prompt, user
from tests.assistant.providers.scripted import (
    Call,
    Cut,
    Fault,
    Hang,
    Pause,
    Raw,
    Reply,
    Request,
    Say,
    Status,
    eventually,
)

ODD = "naïve 日本語 👩‍👩‍👧 \u2028 end"


@pytest.fixture(params=WIRES)
def wire(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.mark.parametrize("split", [1, 2, 3, 7])
async def test_a_stream_may_be_split_anywhere_also_inside_a_character(
    wire: str, split: int
) -> None:
    step = Reply(Say(ODD, ODD), Call("add", {"text": ODD}, "t1"), split=split)
    text, calls, _, _ = await asked(wire, [step])
    assert text == ODD + ODD
    assert calls == [ToolCall("t1", "add", {"text": ODD})]


async def test_text_arrives_while_the_rest_is_still_to_come(wire: str) -> None:
    with WIRES[wire]([[Say("first"), Hang()]]) as server:
        async with adapter(wire, server.url) as model, aclosing(model.stream(prompt())) as events:
            event = await anext(events)
            assert "first" in str(event)
            assert server.open == 1


@pytest.mark.parametrize("step", [[Cut()], [Say("Hel"), Cut()], [Call("add", {"a": 1}), Cut()]])
async def test_a_cut_stream_is_an_error_and_no_call_is_passed_on(
    wire: str, step: list[object]
) -> None:
    with pytest.raises(ProviderDownError, match="broke off in the middle") as caught:
        await asked(wire, [step])
    assert "claw status --deep" in str(caught.value)


async def test_a_stream_that_ends_in_good_order_but_too_early_is_an_error(wire: str) -> None:
    with pytest.raises(ProviderDownError, match="broke off"):
        await asked(wire, [Reply(Say("Hel"), ends=False)])


@pytest.mark.parametrize("junk", [b"data: {oops\n\n", b"data: 7\n\n", b"data: \xff\xfe\n\n"])
async def test_what_is_not_json_is_an_error(wire: str, junk: bytes) -> None:
    with pytest.raises(ProviderDownError, match="it sent an event that is not"):
        await asked(wire, [[Say("a"), Raw(junk), Say("b")]])


async def test_comments_and_empty_events_only_keep_a_stream_alive(wire: str) -> None:
    noise = Raw(b": PROCESSING\n\n\r\n\r\nevent: ping\n\nretry: 5\n\n")
    text, *_ = await asked(wire, [[noise, Say("a"), noise, Say("b"), noise]])
    assert text == "ab"


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Fault("overloaded_error", "Overloaded"), ProviderDownError),
        (Fault("rate_limit_error", "slow down"), RateLimitError),
        (Fault("authentication_error", "who are you"), RefusedKeyError),
        (Fault("unheard_of", "something"), ProviderDownError),
    ],
)
async def test_an_error_inside_a_stream_is_that_error(
    wire: str, fault: Fault, error: type[ModelError]
) -> None:
    with pytest.raises(error, match=fault.message):
        await asked(wire, [[Say("a"), fault]])


async def test_nothing_for_too_long_is_a_timeout_before_and_within_an_answer(wire: str) -> None:
    for step in ([Hang()], [Say("a"), Hang()]):
        with pytest.raises(ModelTimeoutError, match=r"for 0\.3 s"):
            await asked(wire, [step], timeout=0.3)


async def test_an_answer_may_take_longer_than_the_timeout_if_it_keeps_coming() -> None:
    slow = [part for _ in range(9) for part in (Say("x"), Pause(0.25))]
    found = await asyncio.gather(*(asked(wire, [slow], timeout=2) for wire in WIRES))
    assert [text for text, *_ in found] == ["xxxxxxxxx"] * len(WIRES)


@contextmanager
def deaf() -> Generator[str]:
    """A server that takes a request and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield "http://{}:{}".format(*listening.getsockname())


async def test_a_server_that_never_begins_is_a_timeout(wire: str) -> None:
    with deaf() as url:
        async with adapter(wire, url, timeout=0.3) as model:
            with pytest.raises(ModelTimeoutError, match="`timeout` under"):
                await heard(model.stream(prompt()))


async def test_cancelling_closes_the_connection(wire: str) -> None:
    with WIRES[wire]([[Say("a"), Hang()]]) as server:
        async with adapter(wire, server.url) as model:
            task = asyncio.ensure_future(heard(model.stream(prompt())))
            await eventually(lambda: server.open)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await eventually(lambda: server.left == 1)


async def test_leaving_the_stream_closes_the_connection(wire: str) -> None:
    with WIRES[wire]([[Say("a"), Hang()]]) as server:
        async with adapter(wire, server.url) as model:
            async with aclosing(model.stream(prompt())) as events:
                await anext(events)
            await eventually(lambda: server.left == 1)


async def test_a_hundred_streams_at_once_keep_their_answers_apart(wire: str) -> None:
    def answer(request: Request) -> Reply:
        words = request.last_text
        return Reply(Say(*[f"{words} " for _ in range(5)], pause=0.02), input=int(words))

    with WIRES[wire](answer) as server:
        async with adapter(wire, server.url) as model:
            streams = [heard(model.stream(prompt(user(str(n))))) for n in range(100)]
            found = await asyncio.gather(*streams)
    for n, (text, _, end) in enumerate(found):
        assert text == f"{n} " * 5
        assert end.usage.input == n


async def test_connections_are_used_again(wire: str) -> None:
    with WIRES[wire]([Say("a"), Say("b"), Say("c")]) as server:
        async with adapter(wire, server.url) as model:
            for _ in range(3):
                await heard(model.stream(prompt()))
        assert server.connections == 1


async def test_a_web_page_is_not_an_answer(wire: str) -> None:
    page = "<html><head><title>Log in to HotelNet</title></head></html>"
    with pytest.raises(WrongAddressError, match="Log in to HotelNet"):
        await asked(wire, [Status(200, page)])


async def test_a_redirect_is_not_followed_and_no_key_goes_there(wire: str) -> None:
    with WIRES[wire]([Say("stolen")]) as thief:
        target = thief.url.replace("127.0.0.1", "localhost") + "/v1/messages?token=hidden"
        with pytest.raises(WrongAddressError, match="redirect") as caught:
            await asked(wire, [Status(307, "", headers={"location": target})])
        assert thief.requests == []
    assert f" to {thief.origin.replace('127.0.0.1', 'localhost')} (307)" in str(caught.value)
    assert "hidden" not in str(caught.value)


async def test_nobody_there_says_where_and_how_to_start_it(wire: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = "http://{}:{}".format(*closed.getsockname())
    async with adapter(wire, url, provider="ollama") as model:
        with pytest.raises(WrongAddressError, match="connection refused") as caught:
            await heard(model.stream(prompt()))
    assert url in str(caught.value)
    assert "`ollama serve`" in str(caught.value)


async def test_a_name_that_does_not_exist_is_a_provider_that_is_down(wire: str) -> None:
    async with adapter(wire, "https://nowhere.invalid") as model:
        with pytest.raises(ProviderDownError, match=r"https://nowhere\.invalid") as caught:
            await heard(model.stream(prompt()))
    assert f"[providers.{wire}]" in str(caught.value)


async def test_no_key_in_logs_or_in_what_a_model_shows_of_itself(
    wire: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    secret = "header-secret-0123456789"
    with WIRES[wire]([Say("ok"), Status(500)]) as server:
        async with adapter(wire, server.url, headers={"x-secret": secret}) as model:
            await heard(model.stream(prompt()))
            with pytest.raises(ProviderDownError):
                await heard(model.stream(prompt()))
            shown = repr(model) + str(vars(model))
    for hidden in (KEY, secret):
        assert hidden not in caplog.text
        assert hidden not in shown


async def test_what_runs_on_this_machine_is_not_looked_for_behind_a_proxy(
    wire: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert (await asked(wire, [Say("Hi")]))[0] == "Hi"
