"""Asks models until one answers: retries after a pause, then the next model."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from typing import cast

from msgspec.structs import replace

from clawkit.errors import (
    ContextTooLongError,
    ModelError,
    ModelTimeoutError,
    ProviderDownError,
    RateLimitError,
)
from clawkit.models.json_fields import joined
from clawkit.models.protocol import Called, Event, Finished, Message, Model, Prompt, Text, TextDelta

FIRST_WAIT = 0.5
LONGEST_WAIT = 20.0
LONGEST_ASKED = 60.0
"""A provider that asks for a longer wait is not waited for."""
PING_SECONDS = 30.0
_PING_TOKENS = 16

Notice = Callable[[str], None]
TakeBack = Callable[[], bool]


def _never() -> bool:
    """By default, whatever was passed on counts as seen."""
    return False


async def answer(
    models: Sequence[Model],
    prompt: Prompt,
    *,
    retries: int,
    notice: Notice,
    step: Notice | None = None,
    take_back: TakeBack = _never,
) -> AsyncGenerator[Event]:
    """The answer of the first model that gives one, each asked again where waiting may help.

    `notice` hears that another model is asked, which is true of the answer; `step` hears of waits.
    `take_back` forgets what was passed on of an answer, and says whether nobody had seen it.
    """
    left, tried = list(models), 0
    while left:
        model = left[0]
        begun = False
        try:
            async with aclosing(_complete(model, prompt)) as events:
                async for event in events:
                    begun = True
                    yield event
            return
        except ModelError as error:
            wait = None if tried >= retries else pause_before_retry(error, tried)
            if wait is None:
                left = _after(model, error, left[1:])
            if not left or (begun and not take_back()):
                raise
            if wait is None:
                tried = 0
                notice(f"{_short(error)}; asking {left[0].name} instead")
                continue
            tried += 1
            again = f"trying again in {wait:.1f} s ({tried} of {retries})"
            (step or notice)(f"{_short(error)}; {again}")
        await asyncio.sleep(wait)


async def ping(model: Model, *, seconds: float = PING_SECONDS) -> str:
    """Ask for next to nothing, once; says who answered how fast, or raises why nobody did."""
    began = time.monotonic()
    prompt = Prompt("", (Message("user", (Text("Say OK."),)),), max_tokens=_PING_TOKENS)
    used = model.name
    try:
        async with asyncio.timeout(seconds), aclosing(_complete(model, prompt)) as events:
            async for event in events:
                if isinstance(event, Finished):
                    used = event.model or used
    except TimeoutError:
        provider = model.name.partition("/")[0]
        raise ModelTimeoutError(
            provider, f"{model.name} did not answer within {seconds:g} s"
        ) from None
    return f"{used} answered in {time.monotonic() - began:.1f} s"


async def _complete(model: Model, prompt: Prompt) -> AsyncGenerator[Event]:
    """A model's stream, closed for sure; one that stops without its last event has failed."""
    events = model.stream(prompt)
    finished = False
    half = ""
    try:
        async for event in events:
            finished = finished or isinstance(event, Finished)
            if isinstance(event, TextDelta):
                if not half and event.text.isascii():
                    yield event
                    continue
                text, half = _whole(half + event.text)
                if text:
                    yield TextDelta(text)
                continue
            if half:
                yield TextDelta(joined(half))
                half = ""
            yield _without_surrogates(event) if isinstance(event, Called) else event
    finally:
        await _close(events)
    if not finished:
        provider = model.name.partition("/")[0]
        raise ProviderDownError(provider, f"{model.name} stopped before its answer was complete")


def _whole(text: str) -> tuple[str, str]:
    """The text without half a character at its end, and that half: the other may come next."""
    if "\ud800" <= text[-1:] <= "\udbff":
        return joined(text[:-1]), text[-1]
    return joined(text), ""


def _without_surrogates(event: Called) -> Called:
    call = event.call
    return Called(replace(call, id=joined(call.id), name=joined(call.name)))


async def _close(events: AsyncIterator[Event]) -> None:
    """An iterator that is a generator, as most are, lets go of its connection now."""
    if hasattr(events, "aclose"):
        await cast("AsyncGenerator[Event]", events).aclose()


def pause_before_retry(error: ModelError, tried: int) -> float | None:
    """How long to wait before asking again; None if that would not help."""
    from clawkit.models.provider_errors import BusyError, WrongAddressError

    if not isinstance(error, (RateLimitError, ModelTimeoutError, ProviderDownError)):
        return None
    if isinstance(error, WrongAddressError):
        return None
    if isinstance(error, ModelTimeoutError) and tried:
        return None  # Each time costs the whole of the timeout.
    if isinstance(error, (RateLimitError, BusyError)) and error.retry_after is not None:
        asked = error.retry_after
        return None if asked > LONGEST_ASKED else asked * random.uniform(1.0, 1.1)
    # Many who were refused together must not come back together.
    return min(LONGEST_WAIT, FIRST_WAIT * 2**tried * random.uniform(0.5, 1.5))


def _after(model: Model, error: ModelError, left: list[Model]) -> list[Model]:
    """The models that may still answer."""
    if isinstance(error, ContextTooLongError):
        # The embedded default would take it, and understand nothing of it.
        return [m for m in left if m.context > model.context and m.name != "offline"]
    return [] if error.final else left


def _short(error: ModelError) -> str:
    """The first sentence: what to do is for when nothing else helps."""
    text = str(error)
    quoted, end, _ = text.partition('"). ')
    return f'{quoted}")' if end else text.partition(". ")[0].rstrip(".")
