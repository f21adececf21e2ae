from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, aclosing
from typing import Any

import pytest

from clawkit.errors import (
    ContextTooLongError,
    ModelTimeoutError,
    NoSuchModelError,
    ProviderDownError,
    RateLimitError,
    RefusedKeyError,
    RefusedRequestError,
)
from clawkit.models import retries
from clawkit.models.protocol import Event, Finished, Model, Prompt, TextDelta
from clawkit.models.retries import answer, ping
from tests.assistant.models.adapters import WIRES, adapter, heard, prompt
from tests.assistant.providers.scripted import (
    Call,
    Cut,
    Fault,
    Hang,
    Say,
    Status,
    eventually,
    scripted_anthropic,
    scripted_openai,
)


class Asked:
    """What came of one prompt: the text, the notices, and how often each server was asked."""

    def __init__(self) -> None:
        self.text = ""
        self.calls = 0
        self.model = ""
        self.notices: list[str] = []
        self.requests: list[int] = []


async def ask(
    *scripts: Any,
    retries: int = 3,
    contexts: Sequence[int] = (),
    into: Asked | None = None,
    unseen: bool = False,
) -> Asked:
    """The models of these scripts, Anthropic's and OpenAI's in turn, one standing in for another"""
    found = into or Asked()
    async with AsyncExitStack() as stack:
        servers: list[Any] = []
        models: list[Model] = []
        for number, script in enumerate(scripts):
            wire = ("anthropic", "openai")[number % 2]
            servers.append(stack.enter_context(WIRES[wire](script)))
            model = await stack.enter_async_context(adapter(wire, servers[-1].url))
            model.context = contexts[number] if contexts else model.context
            models.append(model)

        def take_back() -> bool:
            found.text = "" if unseen else found.text
            return unseen

        try:
            events = answer(
                models,
                prompt(),
                retries=retries,
                notice=found.notices.append,
                take_back=take_back,
            )
            async for event in events:
                if isinstance(event, TextDelta):
                    found.text += event.text
                elif isinstance(event, Finished):
                    found.model = event.model
                else:
                    found.calls += 1
        finally:
            found.requests = [len(server.requests) for server in servers]
    return found


@pytest.mark.parametrize(
    "trouble",
    [
        Status(500),
        Status(503),
        Status(529),
        Status(429, headers={"retry-after": "0"}),
        Status(429),
        [Cut()],
        [Fault()],
        [Call("add", {"a": 1}), Cut()],
    ],
)
async def test_trouble_that_passes_is_waited_out_and_told(trouble: Any) -> None:
    found = await ask([trouble, trouble, Say("Hello")])
    assert (found.text, found.requests, found.calls) == ("Hello", [3], 0)
    first, second = found.notices
    assert first.startswith("anthropic")
    assert "trying again in" in first
    assert "(1 of 3)" in first
    assert "(2 of 3)" in second


async def test_after_the_last_retry_the_error_is_raised() -> None:
    found = Asked()
    with pytest.raises(ProviderDownError):
        await ask([Status(500)] * 9, retries=2, into=found)
    assert (found.requests, len(found.notices)) == ([3], 2)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (Status(400), RefusedRequestError),
        (Status(401), RefusedKeyError),
        (Status(404, message="model: m-1"), NoSuchModelError),
        (Status(413), ContextTooLongError),
        (Status(200, "<html>"), ProviderDownError),
        (Status(429, headers={"retry-after": "3600"}), RateLimitError),
    ],
)
async def test_what_waiting_does_not_mend_is_not_tried_again(
    status: Status, error: type[Exception]
) -> None:
    found = Asked()
    with pytest.raises(error):
        await ask([status] * 3, into=found)
    assert (found.requests, found.notices) == ([1], [])


async def test_what_was_shown_is_never_followed_by_another_answer() -> None:
    found = Asked()
    with pytest.raises(ProviderDownError, match="broke off"):
        await ask([[Say("Hel"), Cut()], Say("Hello")], [Say("Hi")], into=found)
    assert (found.text, found.requests, found.notices) == ("Hel", [1, 0], [])


async def test_what_nobody_has_seen_is_asked_for_again_from_the_same_model_and_the_next() -> None:
    broken = [Say("Hel"), Cut()]
    found = await ask([broken, broken, Say("Hello")], [Say("Hi")], unseen=True)
    assert (found.text, found.requests) == ("Hello", [3, 0])
    found = await ask([broken] * 9, [broken, Say("Hi")], retries=1, unseen=True)
    assert (found.text, found.requests) == ("Hi", [2, 2])
    assert "asking openai/m-1 instead" in found.notices[1]
    with pytest.raises(ProviderDownError, match="broke off"):
        await ask([broken] * 9, [broken] * 9, retries=1, unseen=True)


async def test_a_wait_that_the_provider_asks_for_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "FIRST_WAIT", 1000.0)
    for code in (429, 503, 529):
        found = await ask([Status(code, headers={"retry-after-ms": "10"}), Say("ok")])
        assert found.text == "ok"
    assert 30 <= (retries.pause_before_retry(RateLimitError("x", "busy", 30), 0) or 0) <= 33


def test_waits_grow_differ_and_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    down = ProviderDownError("x", "down")
    for tried in range(3):
        waits = [retries.pause_before_retry(down, tried) or 0 for _ in range(50)]
        assert len(set(waits)) > 1
        assert 0.25 * 2**tried <= min(waits)
        assert max(waits) <= 0.75 * 2**tried
    assert retries.pause_before_retry(down, 50) == retries.LONGEST_WAIT


async def test_a_timeout_is_tried_again_once_only() -> None:
    found: list[str] = []
    with scripted_anthropic([[Hang()]] * 5) as server:
        async with adapter("anthropic", server.url, timeout=1) as model:
            with pytest.raises(ModelTimeoutError):
                await heard(answer((model,), prompt(), retries=3, notice=found.append))
        await eventually(lambda: len(server.requests) == 2)
    assert "Nothing came from anthropic/m-1" in found[0]


@pytest.mark.parametrize(
    "trouble", [Status(401), Status(404, message="model: x"), Status(500), Status(402)]
)
async def test_a_fallback_answers_and_says_who_it_is(trouble: Status) -> None:
    found = await ask([trouble] * 5, [Say("Hi")], retries=1)
    assert (found.text, found.model) == ("Hi", "openai/m-1")
    assert "asking openai/m-1 instead" in found.notices[-1]
    assert found.requests[1] == 1


async def test_fallbacks_are_asked_in_order_and_the_last_error_is_raised() -> None:
    found = Asked()
    with pytest.raises(RateLimitError):
        await ask([Status(401)], [Status(500)], [Status(429)], retries=0, into=found)
    assert found.requests == [1, 1, 1]
    assert len(found.notices) == 2


async def test_a_request_at_fault_is_not_carried_to_a_fallback() -> None:
    found = Asked()
    with pytest.raises(RefusedRequestError):
        await ask([Status(400)], [Say("Hi")], into=found)
    assert found.requests == [1, 0]


async def test_what_is_too_long_goes_only_where_more_fits() -> None:
    scripts = ([Status(413)], [Say("small")], [Say("large")])
    found = await ask(*scripts, contexts=(1000, 1000, 2000))
    assert (found.text, found.requests) == ("large", [1, 0, 1])
    with pytest.raises(ContextTooLongError):
        await ask(*scripts, contexts=(1000, 500, 1000))


class Plain:
    """A model as somebody else may write it: its stream is not a generator."""

    name = "plain/one"
    context = 1000

    def __init__(self, *events: Event) -> None:
        self._events = events

    def stream(self, prompt: Prompt) -> AsyncIterator[Event]:
        assert prompt.messages
        return _Plainly(self._events)

    async def close(self) -> None:
        pass


class _Plainly:
    def __init__(self, events: tuple[Event, ...]) -> None:
        self._events = iter(events)

    def __aiter__(self) -> _Plainly:
        return self

    async def __anext__(self) -> Event:
        for event in self._events:
            return event
        raise StopAsyncIteration


async def test_any_iterator_is_a_stream_and_one_without_an_end_has_failed() -> None:
    good = Plain(TextDelta("a"), Finished("end"))
    assert (await heard(answer([good], prompt(), retries=0, notice=print)))[0] == "a"
    with pytest.raises(ProviderDownError, match="before its answer was complete"):
        await heard(answer([Plain(TextDelta("a"))], prompt(), retries=0, notice=print))


async def test_cancelling_reaches_the_server_through_everything() -> None:
    with scripted_openai([[Say("a"), Hang()]]) as server:
        async with adapter("openai", server.url) as model:
            task = asyncio.ensure_future(
                heard(answer([model], prompt(), retries=3, notice=lambda _: None))
            )
            await eventually(lambda: server.open)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await eventually(lambda: server.left == 1)
            assert len(server.requests) == 1


async def test_leaving_an_answer_closes_the_connection() -> None:
    with scripted_openai([[Say("a"), Hang()]]) as server:
        async with adapter("openai", server.url) as model:
            events = answer([model], prompt(), retries=3, notice=lambda _: None)
            async with aclosing(events):
                await anext(events)
            await eventually(lambda: server.left == 1)


async def test_a_ping_says_who_answered_and_asks_for_little() -> None:
    with scripted_anthropic([Say("OK")]) as server:
        async with adapter("anthropic", server.url) as model:
            assert (await ping(model)).startswith("anthropic/m-1 answered in ")
        assert server.last.json["max_tokens"] <= 16


async def test_a_ping_raises_what_is_wrong_at_once() -> None:
    with scripted_anthropic([Status(401), Status(500), [Hang()]]) as server:
        async with adapter("anthropic", server.url) as model:
            with pytest.raises(RefusedKeyError):
                await ping(model)
            with pytest.raises(ProviderDownError):
                await ping(model)
            with pytest.raises(ModelTimeoutError):
                await ping(model, seconds=1)
        await eventually(lambda: len(server.requests) == 3)
