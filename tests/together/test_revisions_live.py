"""What happens while a request runs: progress, log, notices, questions, cancellation, tasks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.samples.everything import NOTE
from tests.together.doors import DOORS, HTTP, IN_PROCESS, STDIO
from tests.together.raw_client import META, TASKS, RawClient, Refused, raw_client
from tests.validation import LEGACY, MODERN, REVISIONS

EVERYWHERE = [(door, version) for version in REVISIONS for door in DOORS]
# A stateless server forgets a client of the handshake era between two requests: it cannot ask it
# anything, nor remember a log level, a subscription or a request to cancel.
REMEMBERED = [(d, v) for d, v in EVERYWHERE if d != HTTP or v == MODERN]
ELICITING = [(d, v) for d, v in REMEMBERED if v >= "2025-06-18"]
MUTE = [(d, v) for d, v in EVERYWHERE if (d, v) not in ELICITING]

everywhere = pytest.mark.parametrize(("door", "version"), EVERYWHERE)
remembered = pytest.mark.parametrize(("door", "version"), REMEMBERED)
eliciting = pytest.mark.parametrize(("door", "version"), ELICITING)
modern = pytest.mark.parametrize(("door", "version"), [(door, MODERN) for door in DOORS])


@pytest.fixture
async def client(door: str, version: str, address: str | None) -> AsyncIterator[RawClient]:
    async with raw_client(door, version, address) as client:
        yield client


def text_of(result: dict[str, Any]) -> str:
    return result["content"][0]["text"]


def accepted(**content: Any) -> dict[str, Any]:
    return {"action": "accept", "content": content}


@everywhere
async def test_progress_is_told_in_order_to_those_who_asked(client: RawClient) -> None:
    await client.call("count", {"to": 2})
    assert client.seen("notifications/progress") == []
    await client.call("count", {"to": 3}, progressToken="steps")
    told = client.seen("notifications/progress")
    assert [(p["progressToken"], p["progress"], p["total"]) for p in told] == [
        ("steps", 1, 3),
        ("steps", 2, 3),
        ("steps", 3, 3),
    ]


@everywhere
async def test_log_messages_come_at_the_level_asked_for(client: RawClient, door: str) -> None:
    expected = ["info", "warning", "error"]
    if client.modern:
        await client.call("chatter")
        assert client.seen("notifications/message") == []
        await client.call("chatter", {}, **{f"{META}logLevel": "info"})
    elif door == HTTP:
        await client.call("chatter")
    else:
        await client.request("logging/setLevel", {"level": "warning"})
        await client.call("chatter")
        expected = ["warning", "error"]
    told = client.seen("notifications/message")
    assert [(m["level"], m["logger"], m["data"]) for m in told] == [
        (level, "chatter", {"said": level}) for level in expected
    ]


@everywhere
async def test_a_log_level_that_does_not_exist_is_refused(client: RawClient) -> None:
    with pytest.raises(Refused) as refusal:
        await client.request_unchecked("logging/setLevel", {"level": "loud"})
    assert refusal.value.code == (-32601 if client.modern else -32602)


@pytest.mark.parametrize(("door", "version"), [(d, v) for d, v in EVERYWHERE if v in LEGACY])
async def test_a_new_tool_is_announced_and_can_be_called(client: RawClient, version: str) -> None:
    name = f"leaf-{version}"
    await client.call("grow", {"name": name})
    assert await client.notice("notifications/tools/list_changed") == {}
    assert text_of(await client.call(name)) == f"I am {name}"
    await client.call("grow", {"name": name})
    await client.notice("notifications/tools/list_changed")
    with pytest.raises(Refused, match="Unknown tool"):
        await client.call(name)


@pytest.mark.parametrize(("door", "version"), [(d, v) for d, v in REMEMBERED if v in LEGACY])
async def test_a_subscriber_hears_of_its_resource_until_it_unsubscribes(client: RawClient) -> None:
    await client.request("resources/subscribe", {"uri": NOTE})
    await client.call("touch", {"uri": "image://dot"})
    await client.call("touch", {"uri": NOTE})
    assert await client.notice("notifications/resources/updated") == {"uri": NOTE}
    await client.request("resources/unsubscribe", {"uri": NOTE})
    await client.call("touch", {"uri": NOTE})
    await client.request("ping")
    assert client.seen("notifications/resources/updated") == []


@modern
async def test_a_listener_hears_what_it_asked_for_under_its_own_id(client: RawClient) -> None:
    wanted = {"toolsListChanged": True, "resourceSubscriptions": [NOTE]}
    listening = await client.start("subscriptions/listen", {"notifications": wanted})
    stamp = {"_meta": {f"{META}subscriptionId": listening}}
    granted = await client.notice("notifications/subscriptions/acknowledged")
    assert granted == {"notifications": wanted, **stamp}
    await client.call("touch", {"uri": "image://dot"})
    await client.call("touch", {"uri": NOTE})
    assert await client.notice("notifications/resources/updated") == {"uri": NOTE, **stamp}
    await client.call("grow", {"name": "twig"})
    assert await client.notice("notifications/tools/list_changed") == stamp
    await client.door.hang_up(listening)
    await client.call("grow", {"name": "twig"})
    await client.request("tools/list")
    assert client.seen("notifications/resources/updated") == []


@eliciting
async def test_the_person_fills_a_form(client: RawClient) -> None:
    client.answers["elicitation/create"] = lambda _: accepted(name="Ada", mood="good")
    assert text_of(await client.call("ask-name")) == "accept: Ada"
    (question,) = client.questions
    assert question["params"]["message"] == "Who are you?"
    assert question["params"]["requestedSchema"]["required"] == ["name"]
    for action in ("decline", "cancel"):
        client.answers["elicitation/create"] = lambda _, action=action: {"action": action}
        assert text_of(await client.call("ask-name")) == action


@eliciting
async def test_a_call_may_ask_twice_with_forms_made_from_a_class(client: RawClient) -> None:
    def answer(asked: dict[str, Any]) -> dict[str, Any]:
        return accepted(city="Oslo") if asked["message"] == "Where to?" else {"action": "accept"}

    client.answers["elicitation/create"] = answer
    assert text_of(await client.call("plan-trip")) == "Oslo, 3 days, accept"
    first, second = client.questions
    form = first["params"]["requestedSchema"]
    assert (set(form["properties"]), form["required"]) == ({"city", "days", "pets"}, ["city"])
    assert second["params"]["message"] == "Oslo for 3 days?"


@eliciting
async def test_a_tool_that_needs_approval_runs_only_with_it(client: RawClient) -> None:
    client.answers["elicitation/create"] = lambda _: {"action": "accept", "content": {}}
    assert text_of(await client.call("erase", {"what": "disk"})) == "erased disk"
    assert 'what = "disk"' in client.questions[0]["params"]["message"]
    client.answers["elicitation/create"] = lambda _: {"action": "decline"}
    result = await client.call("erase", {"what": "disk"})
    assert (result["isError"], text_of(result)) == (True, "erase was not approved")


@pytest.mark.parametrize(("door", "version"), MUTE)
async def test_a_client_that_cannot_be_asked_gets_an_error_the_model_can_read(
    client: RawClient,
) -> None:
    for tool, arguments in [("ask-name", {}), ("plan-trip", {}), ("erase", {"what": "disk"})]:
        result = await client.call(tool, arguments)
        assert result["isError"] is True
        assert "elicitation" in text_of(result)


@modern
async def test_a_capability_that_is_missing_is_named(client: RawClient) -> None:
    client.capabilities = {}
    for tool, arguments, missing in [
        ("ask-name", {}, "elicitation"),
        ("think", {"question": "?"}, "sampling"),
        ("folders", {}, "roots"),
    ]:
        with pytest.raises(Refused) as refusal:
            await client.call(tool, arguments)
        assert refusal.value.code == -32021
        assert refusal.value.data == {"requiredCapabilities": {missing: {}}}


@modern
async def test_prompts_may_ask_too(client: RawClient) -> None:
    client.answers["elicitation/create"] = lambda _: accepted(name="Ada")
    result = await client.fulfil("prompts/get", {"name": "introduce"})
    assert result["messages"][0]["content"]["text"] == "I am Ada"


@remembered
async def test_the_model_and_the_folders_of_the_client_can_be_asked_for(client: RawClient) -> None:
    def model(asked: dict[str, Any]) -> dict[str, Any]:
        (message,) = asked["messages"]
        assert (asked["maxTokens"], asked["systemPrompt"]) == (50, "Be brief.")
        block = {"type": "text", "text": f"not {message['content']['text']}"}
        return {"role": "assistant", "model": "tiny", "content": block}

    client.answers["sampling/createMessage"] = model
    client.answers["roots/list"] = lambda _: {"roots": [{"uri": "file:///home/ada"}]}
    assert text_of(await client.call("think", {"question": "that"})) == "tiny: not that"
    assert text_of(await client.call("folders")) == "file:///home/ada"


@remembered
@pytest.mark.parametrize("sleeper", ["sleep-softly", "sleep-deeply"])
async def test_a_call_that_is_no_longer_wanted_is_stopped(
    client: RawClient, door: str, sleeper: str
) -> None:
    name = f"{sleeper} in {client.version}"
    asked = {"name": sleeper, "arguments": {"name": name}}
    sleeping = await client.start("tools/call", asked, progressToken="sleep")
    await client.notice("notifications/progress")
    await client.door.hang_up(sleeping)
    done = await client.call("was-cancelled", {"name": name})
    assert text_of(done) == f"{name} was cancelled"
    if door == STDIO:
        assert not client.answered(sleeping)
    elif door == IN_PROCESS or not client.modern:
        # Who awaits `handle_jsonrpc` or a POST has to get something.
        assert (await client.response(sleeping))["error"]["code"] == -32800


@everywhere
async def test_slow_calls_do_not_delay_quick_ones(client: RawClient, door: str) -> None:
    names = [f"{door} {client.version} {n}" for n in range(3)]
    asked = [{"name": "was-cancelled", "arguments": {"name": name}} for name in names]
    slow = [await client.start("tools/call", params) for params in asked]
    quick = await asyncio.gather(*(client.call("greet", {"name": f"{n}"}) for n in range(5)))
    assert [text_of(result) for result in quick] == [f"Hello, {n}!" for n in range(5)]
    assert not any(client.answered(request_id) for request_id in slow)
    for request_id in slow:
        await client.door.hang_up(request_id)


@modern
async def test_a_task_is_polled_asked_and_finished(client: RawClient) -> None:
    client.capabilities = {**client.capabilities, "extensions": {TASKS: {}}}
    asked = {"name": "research", "arguments": {"topic": "cats"}}
    started = await client.request("tools/call", asked)
    assert started["resultType"] == "task"
    task = {"taskId": started["taskId"]}
    while (now := await client.request("tasks/get", task))["status"] == "working":
        pass
    assert now["status"] == "input_required"
    ((key, question),) = now["inputRequests"].items()
    assert question["params"]["message"] == "How deep?"
    await client.request("tasks/update", {**task, "inputResponses": {key: {"action": "accept"}}})
    while (now := await client.request("tasks/get", task))["status"] == "working":
        pass
    assert now["status"] == "completed"
    assert text_of(now["result"]) == "cats: accept"


@modern
async def test_a_task_can_be_followed_and_cancelled(client: RawClient) -> None:
    client.capabilities = {**client.capabilities, "extensions": {TASKS: {}}}
    asked = {"name": "research", "arguments": {"topic": "dogs"}}
    task = {"taskId": (await client.request("tools/call", asked))["taskId"]}
    await client.start("subscriptions/listen", {"notifications": {"taskIds": [task["taskId"]]}})
    await client.notice("notifications/subscriptions/acknowledged")
    await client.request("tasks/cancel", task)
    while (await client.notice("notifications/tasks"))["status"] != "cancelled":
        pass
    assert (await client.request("tasks/get", task))["status"] == "cancelled"


@everywhere
async def test_a_client_without_tasks_gets_the_result_at_once(client: RawClient) -> None:
    result = await client.call("research", {"topic": "birds"})
    assert text_of(result) == "birds: at once"
    with pytest.raises(Refused) as refusal:
        await client.request_unchecked("tasks/get", {"taskId": "1"})
    assert refusal.value.code == (-32021 if client.modern else -32601)
