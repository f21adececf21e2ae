"""Prompts and completions from functions."""

from __future__ import annotations

from typing import Any

import pytest

from clawkit import Media, SdkMcpServerImpl, Session
from clawkit.tools.text_features import assistant, user


@pytest.fixture
def server() -> SdkMcpServerImpl:
    server = SdkMcpServerImpl("s", "1")

    @server.prompt()
    def code_review(path: str, depth: int = 1) -> str:
        """Review a file.

        Args:
            path: Which file.
        """
        return f"Review {path} to depth {depth + 1}"

    @server.prompt("talk", title="A talk")
    async def talk() -> list[Any]:
        return [user("Hi"), assistant("Hello"), Media(b"\x00", "image/png")]

    @server.completion("code-review")
    def paths(argument: str, typed: str, chosen: dict[str, str]) -> list[str]:
        return [f"{argument}-{typed}{n}-{len(chosen)}" for n in range(150)]

    return server


async def ask(server: SdkMcpServerImpl, method: str, params: Any) -> dict[str, Any]:
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    reply = await server.handle_jsonrpc(request, Session())
    assert reply is not None
    return reply


async def test_the_parameters_are_the_arguments(server: SdkMcpServerImpl) -> None:
    listed = (await ask(server, "prompts/list", {}))["result"]["prompts"]
    assert listed == [
        {
            "name": "code-review",
            "description": "Review a file.",
            "arguments": [
                {"name": "path", "description": "Which file.", "required": True},
                {"name": "depth", "required": False},
            ],
        },
        {"name": "talk", "title": "A talk"},
    ]


async def test_a_text_becomes_one_message_of_the_person(server: SdkMcpServerImpl) -> None:
    params = {"name": "code-review", "arguments": {"path": "a.py", "depth": "2"}}
    assert (await ask(server, "prompts/get", params))["result"] == {
        "description": "Review a file.",
        "messages": [
            {"role": "user", "content": {"type": "text", "text": "Review a.py to depth 3"}}
        ],
    }


def test_the_decorator_works_bare() -> None:
    server = SdkMcpServerImpl("s", "1")

    @server.prompt
    def say_hello() -> str:
        """Greet."""
        return "hello"

    assert server.prompts["say-hello"].definition["description"] == "Greet."


async def test_messages_keep_their_roles(server: SdkMcpServerImpl) -> None:
    found = (await ask(server, "prompts/get", {"name": "talk"}))["result"]["messages"]
    assert [(m["role"], m["content"]["type"]) for m in found] == [
        ("user", "text"),
        ("assistant", "text"),
        ("user", "image"),
    ]


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"name": "nothing"}, "Unknown prompt"),
        ({"name": "code-review"}, "needs the argument path"),
        ({"name": "code-review", "arguments": {"path": "a", "depth": "deep"}}, "code-review"),
        ({"name": "code-review", "arguments": {"path": 5}}, "path must be a string"),
    ],
)
async def test_a_bad_request_says_what_is_wrong(
    server: SdkMcpServerImpl, params: Any, words: str
) -> None:
    error = (await ask(server, "prompts/get", params))["error"]
    assert error["code"] == -32602
    assert words in error["message"]


async def test_completion_shows_a_hundred_and_says_how_many_there_are(
    server: SdkMcpServerImpl,
) -> None:
    params = {
        "ref": {"type": "ref/prompt", "name": "code-review"},
        "argument": {"name": "path", "value": "x"},
        "context": {"arguments": {"depth": "1"}},
    }
    found = (await ask(server, "completion/complete", params))["result"]["completion"]
    assert found["values"][0] == "path-x0-1"
    assert (len(found["values"]), found["total"], found["hasMore"]) == (100, 150, True)


async def test_completing_what_has_no_completer_gives_nothing_and_what_is_unknown_an_error(
    server: SdkMcpServerImpl,
) -> None:
    argument = {"name": "x", "value": ""}
    nothing = {"ref": {"type": "ref/prompt", "name": "talk"}, "argument": argument}
    found = await ask(server, "completion/complete", nothing)
    assert found["result"]["completion"]["values"] == []
    unknown = {"ref": {"type": "ref/resource", "uri": "a://b"}, "argument": argument}
    assert (await ask(server, "completion/complete", unknown))["error"]["code"] == -32602
