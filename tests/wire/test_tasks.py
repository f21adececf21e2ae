"""The tasks extension: calls that outlive their request."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from clawkit import Context, SdkMcpServerImpl, ToolResult
from clawkit.errors import InternalError
from clawkit.wire.session import Principal
from clawkit.wire.tasks import MemoryTaskStore, TaskRecord, Tasks
from tests.processes import PATIENCE
from tests.wire.modern import TASK_CLIENT, ModernClient


@pytest.fixture
def server() -> SdkMcpServerImpl:
    server = SdkMcpServerImpl("s", "1")

    @server.tool(task="allowed")
    async def slow(seconds: float, context: Context) -> str:
        context.progress(1, 2, "half way")
        await asyncio.sleep(seconds)
        return "done"

    @server.tool(task="allowed", task_after=30)
    async def quick() -> str:
        return "at once"

    @server.tool(task="required")
    async def broken() -> str:
        raise InternalError("the disk is gone")

    @server.tool(task="required")
    async def raising() -> str:
        raise ValueError("wrong")

    @server.tool(task="allowed")
    async def asks(context: Context) -> str:
        one = context.elicit("One?", key="one")
        two = context.elicit("Two?", key="two")
        answers = await asyncio.gather(one, two)
        again = await context.elicit("One again?", key="one")
        return " ".join(answer.action for answer in (*answers, again))

    return server


@pytest.fixture
def client(server: SdkMcpServerImpl) -> ModernClient:
    return ModernClient(server, TASK_CLIENT)


async def until(client: ModernClient, task_id: str, *states: str) -> dict[str, Any]:
    while True:
        task = (await client.ask("tasks/get", taskId=task_id))["result"]
        if task["status"] in states:
            return task
        await asyncio.sleep(0.01)


async def test_a_task_can_be_polled_to_its_result(client: ModernClient) -> None:
    created = await client.call("slow", {"seconds": 0.05})
    assert created["resultType"] == "task"
    assert created["status"] == "working"
    working = (await client.ask("tasks/get", taskId=created["taskId"]))["result"]
    assert working["resultType"] == "complete"
    done = await until(client, created["taskId"], "completed")
    assert done["result"] == {"content": [{"type": "text", "text": "done"}]}


async def test_progress_describes_the_task_and_is_not_sent(client: ModernClient) -> None:
    created = await client.call("slow", {"seconds": 60}, _meta={"progressToken": "p"})
    await asyncio.sleep(0)
    task = (await client.ask("tasks/get", taskId=created["taskId"]))["result"]
    assert task["statusMessage"] == "half way"
    assert client.heard == []
    await client.ask("tasks/cancel", taskId=created["taskId"])


async def test_a_sync_tool_describes_its_task_from_its_thread(
    server: SdkMcpServerImpl, client: ModernClient
) -> None:
    go_on = threading.Event()

    @server.tool(task="required")
    def dig(context: Context) -> str:
        context.progress(3, 4)
        go_on.wait(PATIENCE)
        return "dug"

    task_id = (await client.call("dig"))["taskId"]
    message = None
    while not message:
        await asyncio.sleep(0.01)
        message = (await client.ask("tasks/get", taskId=task_id))["result"].get("statusMessage")
    go_on.set()
    assert message == "3 of 4"
    assert (await until(client, task_id, "completed"))["result"]["content"][0]["text"] == "dug"


async def test_a_call_that_ends_before_its_time_is_answered_directly(client: ModernClient) -> None:
    assert (await client.call("quick"))["content"][0]["text"] == "at once"


async def test_a_client_without_the_extension_waits_or_is_refused(
    server: SdkMcpServerImpl,
) -> None:
    plain = ModernClient(server)
    assert (await plain.call("slow", {"seconds": 0}))["resultType"] == "complete"
    refused = await plain.call("broken")
    assert refused["error"]["code"] == -32021
    polled = await plain.ask("tasks/get", taskId="x")
    assert polled["error"]["code"] == -32021


async def test_a_protocol_error_fails_the_task_and_a_raising_tool_completes_it(
    client: ModernClient,
) -> None:
    failed = await until(client, (await client.call("broken"))["taskId"], "failed")
    assert failed["error"] == {"code": -32603, "message": "the disk is gone"}
    assert "result" not in failed
    raised = await until(client, (await client.call("raising"))["taskId"], "completed")
    assert raised["result"]["isError"] is True


async def test_a_task_can_be_cancelled_and_cancelling_twice_is_harmless(
    client: ModernClient,
) -> None:
    task_id = (await client.call("slow", {"seconds": 60}))["taskId"]
    for _ in "ab":
        ack = await client.ask("tasks/cancel", taskId=task_id)
        assert ack["result"]["resultType"] == "complete"
        assert "taskId" not in ack["result"]
        await until(client, task_id, "cancelled")


async def test_a_task_waits_for_all_its_answers_and_never_uses_a_key_twice(
    client: ModernClient,
) -> None:
    task_id = (await client.call("asks"))["taskId"]
    waiting = await until(client, task_id, "input_required")
    assert set(waiting["inputRequests"]) == {"one", "two"}
    await client.ask("tasks/update", taskId=task_id, inputResponses={"one": {"action": "accept"}})
    partly = await until(client, task_id, "input_required")
    assert list(partly["inputRequests"]) == ["two"]
    useless: dict[str, Any] = {"two": 5, "three": {"action": "accept"}}
    await client.ask("tasks/update", taskId=task_id, inputResponses=useless)
    assert (await until(client, task_id, "input_required"))["status"] == "input_required"
    await client.ask("tasks/update", taskId=task_id, inputResponses={"two": {"action": "decline"}})
    while "one-2" not in (await until(client, task_id, "input_required"))["inputRequests"]:  # noqa: ASYNC110 - a client can only look
        await asyncio.sleep(0.01)
    await client.ask("tasks/update", taskId=task_id, inputResponses={"one-2": {"action": "cancel"}})
    done = await until(client, task_id, "completed")
    assert done["result"]["content"][0]["text"] == "accept decline cancel"


async def test_a_question_that_is_given_up_leaves_the_task_working(
    server: SdkMcpServerImpl, client: ModernClient
) -> None:
    tired, rested = asyncio.Event(), asyncio.Event()

    @server.tool(task="required")
    async def impatient(context: Context) -> str:
        question = asyncio.ensure_future(context.elicit("Quick?"))
        await tired.wait()
        question.cancel()
        await rested.wait()
        return "went on"

    task_id = (await client.call("impatient"))["taskId"]
    await until(client, task_id, "input_required")
    tired.set()
    working = await until(client, task_id, "working")
    assert "inputRequests" not in working
    rested.set()
    await until(client, task_id, "completed")


async def test_a_task_that_outlives_its_time_is_cancelled_and_gives_its_turn_back(
    server: SdkMcpServerImpl, client: ModernClient
) -> None:
    server.tasks = Tasks(server.hub, lifetime_ms=100)
    entered: list[str] = []

    @server.tool(task="required", concurrency=1)
    async def unanswered(name: str, context: Context) -> None:
        entered.append(name)
        await context.elicit("Anybody there?")

    await client.call("unanswered", {"name": "first"})
    await client.call("unanswered", {"name": "second"})
    await asyncio.sleep(0)
    assert entered == ["first"]
    await asyncio.sleep(0.5)
    assert server.end_tasks() == []
    await client.call("unanswered", {"name": "third"})
    await asyncio.sleep(0.01)
    assert entered[-1] == "third"


async def test_a_task_that_the_end_of_its_server_cuts_off_has_failed(
    server: SdkMcpServerImpl, client: ModernClient
) -> None:
    cleaned_up = asyncio.Event()

    @server.tool(task="required")
    async def forever() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            cleaned_up.set()

    created = await client.call("forever")
    await asyncio.sleep(0.01)
    await asyncio.wait(server.end_tasks(), timeout=PATIENCE)
    assert cleaned_up.is_set()
    ended = await until(client, created["taskId"], "failed")
    assert "stopped before this was done" in ended["error"]["message"]


async def test_a_task_belongs_to_its_principal(server: SdkMcpServerImpl) -> None:
    ada = ModernClient(server, TASK_CLIENT, Principal("ada"))
    eve = ModernClient(server, TASK_CLIENT, Principal("eve"))
    task_id = (await ada.call("slow", {"seconds": 0}))["taskId"]
    for method in ("tasks/get", "tasks/cancel"):
        assert (await eve.ask(method, taskId=task_id))["error"]["code"] == -32602
    assert "result" in await ada.ask("tasks/get", taskId=task_id)


@pytest.mark.parametrize("task_id", ["nothing", 5, None])
async def test_an_unknown_task_is_an_error(client: ModernClient, task_id: Any) -> None:
    assert (await client.ask("tasks/get", taskId=task_id))["error"]["code"] == -32602


async def test_a_listener_hears_how_its_task_goes(client: ModernClient) -> None:
    task_id = (await client.call("slow", {"seconds": 0.05}))["taskId"]
    wanted = {"taskIds": [task_id]}
    listening = asyncio.ensure_future(client.ask("subscriptions/listen", notifications=wanted))
    await until(client, task_id, "completed")
    client.server.hub.close()
    assert (await listening)["result"]["resultType"] == "complete"
    acknowledged, *rest = client.heard
    assert acknowledged["params"]["notifications"] == wanted
    assert rest[-1]["method"] == "notifications/tasks"
    assert rest[-1]["params"]["result"]["content"][0]["text"] == "done"


def test_ended_tasks_are_dropped_when_their_time_has_passed_or_there_are_too_many() -> None:
    store = MemoryTaskStore(limit=2)
    for number in range(4):
        store.save(TaskRecord(str(number), None, 1e12, float(number), status="completed"))
    assert [store.load(str(number)) is not None for number in range(4)] == [
        False,
        False,
        True,
        True,
    ]
    store.save(TaskRecord("old", None, 0.0, 0.0, status="completed", ttl_ms=1))
    assert store.load("old") is None


async def test_a_task_that_ends_at_once_is_still_announced_as_working(
    server: SdkMcpServerImpl, client: ModernClient
) -> None:
    @server.tool(task="required", task_after=None)
    async def hurry(context: Context) -> str:
        await context.become_task()
        return "there"

    created = await client.call("hurry")
    assert created["status"] == "working"
    assert "result" not in created
    done = await until(client, created["taskId"], "completed")
    assert done["result"]["content"][0]["text"] == "there"


async def test_a_result_that_is_not_json_fails_the_task_and_is_told_to_its_listener(
    server: SdkMcpServerImpl, client: ModernClient
) -> None:
    @server.tool(task="required")
    async def opaque() -> ToolResult:
        await asyncio.sleep(0.05)
        return ToolResult([], structured=object())

    task_id = (await client.call("opaque"))["taskId"]
    listening = asyncio.ensure_future(
        client.ask("subscriptions/listen", notifications={"taskIds": [task_id]})
    )
    failed = await until(client, task_id, "failed")
    assert "not JSON" in failed["error"]["message"]
    client.server.hub.close()
    await listening
    assert client.heard[-1]["params"]["status"] == "failed"
