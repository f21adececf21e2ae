"""Multi-round-trip requests: one `await context.elicit(...)` across independent requests."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest

from clawkit import Context, Field, SdkMcpServerImpl, Session
from clawkit.errors import SchemaError
from clawkit.wire import input_requests
from clawkit.wire.session import Principal
from tests.wire.modern import ModernClient

NAME_FORM = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
}


def accept(**content: Any) -> dict[str, Any]:
    return {"action": "accept", "content": content}


@dataclass
class Size:
    width: int
    height: int = 1


@pytest.fixture
def server() -> SdkMcpServerImpl:
    server = SdkMcpServerImpl("s", "1")

    @server.tool
    async def greet(context: Context, salutation: str = "Hello") -> str:
        answer = await context.elicit("Your name?", NAME_FORM, key="name")
        return f"{salutation}, {answer.content['name']}! ({context.round})"

    @server.tool
    async def two_steps(context: Context) -> str:
        first = await context.elicit("First?", NAME_FORM)
        second = await context.elicit(f"After {first.content['name']}?", NAME_FORM)
        return f"{first.content['name']} {second.content['name']} ({context.round})"

    @server.tool
    async def all_at_once(context: Context) -> str:
        answers = await context.ask(
            {
                "who": input_requests.elicitation("Who?", NAME_FORM),
                "model": input_requests.sampling("Think", 10),
                "places": input_requests.roots(),
            }
        )
        return f"{answers['who'].content['name']} {len(answers['places']['roots'])}"

    @server.tool
    async def area(context: Context) -> str:
        answer = await context.elicit("Size?", Size)
        return str(answer.content.width * answer.content.height) if answer.accepted else "no"

    @server.tool
    async def moody(context: Context) -> str:
        context.state.append(1)
        answer = await context.elicit(f"Delete {len(context.state)} files?")
        return f"deleted {len(context.state)}" if answer.accepted else "kept"

    server.state = []
    return server


@pytest.fixture
def client(server: SdkMcpServerImpl) -> ModernClient:
    return ModernClient(server, {"elicitation": {}, "sampling": {}, "roots": {}})


async def test_a_question_ends_the_round_and_its_answer_completes_the_call(
    client: ModernClient,
) -> None:
    first = await client.call("greet")
    assert first["resultType"] == "input_required"
    assert first["inputRequests"] == {
        "name": {
            "method": "elicitation/create",
            "params": {"message": "Your name?", "requestedSchema": NAME_FORM},
        }
    }
    second = await client.call(
        "greet", requestState=first["requestState"], inputResponses={"name": accept(name="Ada")}
    )
    assert second["content"][0]["text"] == "Hello, Ada! (1)"
    assert second["resultType"] == "complete"


async def test_earlier_answers_travel_in_the_signed_state(client: ModernClient) -> None:
    first = await client.call("two-steps")
    second = await client.call(
        "two-steps",
        requestState=first["requestState"],
        inputResponses={"input-1": accept(name="one")},
    )
    assert list(second["inputRequests"]) == ["input-2"]
    assert second["inputRequests"]["input-2"]["params"]["message"] == "After one?"
    third = await client.call(
        "two-steps",
        requestState=second["requestState"],
        inputResponses={"input-2": accept(name="two")},
    )
    assert third["content"][0]["text"] == "one two (2)"


async def test_several_questions_are_asked_together_and_may_be_answered_one_by_one(
    client: ModernClient,
) -> None:
    first = await client.call("all-at-once")
    assert set(first["inputRequests"]) == {"who", "model", "places"}
    second = await client.call(
        "all-at-once",
        requestState=first["requestState"],
        inputResponses={"who": accept(name="Ada"), "places": {"roots": []}},
    )
    assert list(second["inputRequests"]) == ["model"]
    said = {"role": "assistant", "content": {"type": "text", "text": "hm"}, "model": "m"}
    third = await client.call(
        "all-at-once", requestState=second["requestState"], inputResponses={"model": said}
    )
    assert third["content"][0]["text"] == "Ada 0"


@pytest.mark.parametrize(
    "answer",
    [
        12345,
        None,
        {},
        {"action": "maybe"},
        accept(),
        accept(name=5),
        {"action": "accept", "content": [1]},
    ],
)
async def test_an_answer_that_cannot_be_used_is_an_error_that_names_it(
    client: ModernClient, answer: Any
) -> None:
    refused = await client.call("greet", inputResponses={"name": answer})
    assert refused["error"]["code"] == -32602
    assert "inputResponses.name" in refused["error"]["message"]


async def test_answers_nobody_asked_for_are_ignored(client: ModernClient) -> None:
    given = {"name": accept(name="Ada"), "extra": {"action": "accept"}}
    done = await client.call("greet", inputResponses=given)
    assert done["resultType"] == "complete"


async def test_a_form_made_from_a_class_gives_an_object_of_that_class(
    client: ModernClient,
) -> None:
    first = await client.call("area")
    form = first["inputRequests"]["input-1"]["params"]["requestedSchema"]
    assert form["properties"]["width"] == {"type": "integer"}
    assert form["required"] == ["width"]
    state = first["requestState"]
    wrong = await client.call(
        "area", requestState=state, inputResponses={"input-1": accept(width="x")}
    )
    assert wrong["error"]["code"] == -32602
    right = await client.call(
        "area", requestState=state, inputResponses={"input-1": accept(width=3)}
    )
    assert right["content"][0]["text"] == "3"
    declined = await client.call(
        "area", requestState=state, inputResponses={"input-1": {"action": "decline"}}
    )
    assert declined["content"][0]["text"] == "no"


async def test_an_answer_counts_only_for_the_question_it_was_given_to(
    client: ModernClient,
) -> None:
    first = await client.call("moody")
    assert "Delete 1 files" in str(first["inputRequests"])
    second = await client.call(
        "moody", requestState=first["requestState"], inputResponses={"input-1": accept()}
    )
    assert second["resultType"] == "input_required"
    assert "Delete 2 files" in str(second["inputRequests"])


async def test_the_state_fits_only_the_same_arguments_and_the_same_principal(
    server: SdkMcpServerImpl, client: ModernClient
) -> None:
    state = (await client.call("greet"))["requestState"]
    answers = {"name": accept(name="Ada")}
    other_arguments = await client.call(
        "greet", {"salutation": "Hi"}, requestState=state, inputResponses=answers
    )
    assert other_arguments["error"]["code"] == -32602
    stranger = ModernClient(server, {"elicitation": {}}, Principal("eve"))
    stolen = await stranger.call("greet", requestState=state, inputResponses=answers)
    assert stolen["error"]["code"] == -32602


async def test_the_state_of_a_resource_is_bound_to_its_uri_and_nothing_a_client_adds(
    server: SdkMcpServerImpl, client: ModernClient
) -> None:
    for uri in ("a://public", "a://secret"):

        @server.resource(uri)
        async def read(context: Context) -> str:
            return (await context.elicit("Sure?")).action

    stray = {"name": "a://secret", "arguments": 5}
    first = (await client.ask("resources/read", uri="a://public", **stray))["result"]
    given = {
        "requestState": first["requestState"],
        "inputResponses": {key: accept() for key in first["inputRequests"]},
    }
    honest = await client.ask("resources/read", uri="a://public", **given)
    assert honest["result"]["contents"][0]["text"] == "accept"
    stolen = await client.ask("resources/read", uri="a://secret", **given)
    assert stolen["error"]["code"] == -32602


async def test_a_client_without_the_capability_is_told_which_one_is_missing(
    server: SdkMcpServerImpl,
) -> None:
    refused = await ModernClient(server).call("greet")
    assert refused["error"]["code"] == -32021
    assert refused["error"]["data"] == {"requiredCapabilities": {"elicitation": {}}}


async def test_no_argument_is_hidden_from_whoever_approves(
    server: SdkMcpServerImpl, client: ModernClient
) -> None:
    @server.tool(requires_approval=True)
    def remove(note: str, path: str) -> str:
        return f"{path} {note}"

    asked = await client.call("remove", {"note": "n" * 5000, "path": "/etc"})
    message = asked["inputRequests"]["approval"]["params"]["message"]
    assert 'path = "/etc"' in message
    assert "5002 characters" in message
    assert len(message) < 600


async def test_a_tool_that_needs_approval_runs_only_when_the_person_agrees(
    server: SdkMcpServerImpl, client: ModernClient
) -> None:
    @server.tool(requires_approval=True)
    def launch(where: str) -> str:
        return f"launched to {where}"

    first = await client.call("launch", {"where": "Mars"})
    assert "Mars" in first["inputRequests"]["approval"]["params"]["message"]
    for action, text in (("accept", "launched to Mars"), ("decline", "launch was not approved")):
        done = await client.call(
            "launch",
            {"where": "Mars"},
            requestState=first["requestState"],
            inputResponses={"approval": {"action": action}},
        )
        assert done["content"][0]["text"] == text


async def test_a_client_that_can_only_open_pages_or_is_too_old_is_not_shown_a_form(
    server: SdkMcpServerImpl,
) -> None:
    refused = await ModernClient(server, {"elicitation": {"url": {}}}).call("greet")
    assert refused["error"]["code"] == -32021
    asked = await ModernClient(server, {"elicitation": {"form": {}, "url": {}}}).call("greet")
    assert asked["resultType"] == "input_required"
    old = Session(lambda _: None, version="2025-03-26")
    old.capabilities = {"elicitation": {}}
    params = {"name": "greet", "arguments": {}}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    reply = await server.handle_jsonrpc(request, old)
    assert reply is not None
    assert reply["result"]["isError"] is True


@pytest.mark.parametrize("how", ["gather", "task_group"])
async def test_questions_asked_beside_each_other_go_out_together(
    server: SdkMcpServerImpl, client: ModernClient, how: str
) -> None:
    @server.tool
    async def several(context: Context) -> str:
        asked = [context.elicit(f"{n}?", NAME_FORM, key=f"q{n}") for n in range(3)]
        if how == "gather":
            answers = await asyncio.gather(*asked)
        else:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(question) for question in asked]
            answers = [task.result() for task in tasks]
        return " ".join(answer.content["name"] for answer in answers)

    first = await client.call("several")
    assert set(first["inputRequests"]) == {"q0", "q1", "q2"}
    answers = {key: accept(name=key) for key in first["inputRequests"]}
    done = await client.call("several", requestState=first["requestState"], inputResponses=answers)
    assert done["content"][0]["text"] == "q0 q1 q2"


async def test_a_form_made_from_a_class_has_only_what_forms_allow() -> None:
    @dataclass
    class Order:
        size: Literal["small", "large"]
        count: Annotated[int, Field(ge=1, description="How many")] = 1
        note: str | None = None

    @dataclass
    class Nested:
        inside: Size

    form, _ = input_requests.form_schema(Order)
    assert form == {
        "type": "object",
        "properties": {
            "size": {"type": "string", "enum": ["large", "small"]},
            "count": {
                "type": "integer",
                "minimum": 1,
                "description": "How many",
                "default": 1,
            },
            "note": {"type": "string"},
        },
        "required": ["size"],
    }
    with pytest.raises(SchemaError, match=r"Nested\.inside"):
        input_requests.form_schema(Nested)
    with pytest.raises(SchemaError, match="class with fields"):
        input_requests.form_schema(int)
