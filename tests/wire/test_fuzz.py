"""Made-up input for the parser, the router and the line splitter: whatever comes, nothing is raised
but what is documented, every request gets one valid reply under its id, and nothing else gets any.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from collections.abc import Coroutine
from copy import deepcopy
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clawkit import Context, SdkMcpServerImpl, Session
from clawkit.errors import InvalidRequestError, ParseError
from clawkit.wire import jsonrpc
from clawkit.wire.line_io import LineReader
from clawkit.wire.methods import ROUTES
from tests.wire.samples.messages import (
    CAPABILITIES_KEY,
    MODERN,
    TASKS,
    VERSION_KEY,
    Message,
    cancel,
)

common = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


@dataclass
class Point:
    x: int
    y: float = 0.0


def make_server() -> SdkMcpServerImpl:
    """A little of everything, and all of it quick."""
    server = SdkMcpServerImpl("fuzzed", "1.0.0", instructions="Do as you like.")

    @server.tool
    async def add(a: int, b: int = 1) -> int:
        return a + b

    @server.tool
    def move(points: list[Point], how: Literal["up", "down"] = "up") -> list[Point]:
        del how
        return points

    @server.tool
    async def say(text: Any, context: Context) -> Any:
        context.progress(1, 2, "half")
        context.log("error", {"said": text})
        return text

    @server.tool
    async def ask(context: Context) -> str:
        return str(await context.elicit("Sure?", {"type": "object", "properties": {}}))

    @server.tool(task="allowed")
    async def later() -> str:
        return "done"

    @server.resource("note://one")
    def note() -> str:
        return "one"

    @server.resource("user://{number}")
    def user(number: int) -> Message:
        return {"number": number}

    @server.prompt()
    def greet(name: str, tone: str = "warm") -> str:
        return f"Greet {name} in a {tone} tone"

    @server.completion("greet")
    def complete(_name: str, value: str, _chosen: dict[str, str]) -> list[str]:
        return [value + "a", value + "b"]

    return server


SERVER = make_server()

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.just(10**400)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
)
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
odd = st.sampled_from([None, False, True, 0, 5, -1.5, "", "x", [], [1], ["x"], {}, {"x": 1}])
ids = st.integers(0, 3) | st.sampled_from(["", "a", "1"])

ADD: Message = {"name": "add", "arguments": {"a": 1, "b": 2}}
MOVE: Message = {"name": "move", "arguments": {"points": [{"x": 1, "y": 0.5}], "how": "up"}}
SAY: Message = {"name": "say", "arguments": {"text": "hello"}}
ASK: Message = {"name": "ask", "arguments": {}}
ANSWERED: Message = {
    **ASK,
    "inputResponses": {"input-1": {"action": "accept", "content": {}}},
    "requestState": "AAAA",
}
OPENING: Message = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"elicitation": {}},
    "clientInfo": {"name": "fuzz", "version": "1"},
}
CHANGES: Message = {
    "toolsListChanged": True,
    "resourceSubscriptions": ["note://one"],
    "taskIds": ["unknown"],
}
HALF: Message = {"name": "name", "value": "A"}
RIGHT: list[tuple[str, Message]] = [
    *(("tools/call", params) for params in (ADD, MOVE, SAY, ASK, ANSWERED, {"name": "later"})),
    ("initialize", OPENING),
    ("ping", {}),
    ("logging/setLevel", {"level": "debug"}),
    ("resources/subscribe", {"uri": "note://one"}),
    ("resources/unsubscribe", {"uri": "note://one"}),
    ("server/discover", {}),
    *((method, {"cursor": "bm90ZQ=="}) for method in ROUTES if method.endswith("/list")),
    *((method, {}) for method in ROUTES if method.endswith("/list")),
    ("resources/read", {"uri": "note://one"}),
    ("resources/read", {"uri": "user://7"}),
    ("prompts/get", {"name": "greet", "arguments": {"name": "Ada", "tone": "dry"}}),
    ("completion/complete", {"ref": {"type": "ref/prompt", "name": "greet"}, "argument": HALF}),
    ("completion/complete", {"ref": {"type": "ref/resource", "uri": "user://{number}"}}),
    ("subscriptions/listen", {"notifications": CHANGES}),
    *((f"tasks/{verb}", {"taskId": "unknown"}) for verb in ("get", "cancel")),
    ("tasks/update", {"taskId": "unknown", "inputResponses": {"input-1": {"action": "cancel"}}}),
    ("tools/destroy", {}),
]
METAS: list[Message] = [
    {},
    {"progressToken": 1},
    {VERSION_KEY: MODERN, CAPABILITIES_KEY: {}},
    {VERSION_KEY: MODERN, CAPABILITIES_KEY: TASKS, "progressToken": "a"},
    {VERSION_KEY: MODERN, CAPABILITIES_KEY: {"elicitation": {}, **TASKS}},
]


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every container inside a value, with every key or index it has."""
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    return [
        place
        for name, part in inside
        for place in [(value, name), *(places(part) if isinstance(part, dict | list) else [])]
    ]


@st.composite
def wronged(draw: st.DrawFn, message: Message) -> Message:
    """A message of which up to two parts are left out or replaced by anything."""
    message = deepcopy(message)
    for _ in range(draw(st.integers(0, 2))):
        if found := places(message["params"]):
            container, name = draw(st.sampled_from(found))
            if draw(st.booleans()):
                container[name] = deepcopy(draw(odd | anything))
            else:
                del container[name]
    return message


@st.composite
def requests(draw: st.DrawFn, metas: list[Message] = METAS) -> Message:
    method, params = draw(st.sampled_from(RIGHT))
    whole = {**params, "_meta": draw(st.sampled_from(metas))}
    message = {"jsonrpc": "2.0", "id": draw(ids), "method": method, "params": whole}
    return draw(wronged(message))


notifications = requests().map(lambda message: {k: message[k] for k in message if k != "id"})
cancellations = ids.map(cancel) | anything.map(cancel)
responses = st.fixed_dictionaries({"jsonrpc": st.just("2.0"), "id": ids, "result": anything}) | (
    st.fixed_dictionaries({"jsonrpc": st.just("2.0"), "id": ids, "error": anything})
)
messages = requests() | requests() | requests() | notifications | cancellations | responses


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """The bytes of a message, with a few of them cut out, doubled or changed."""
    data = json.dumps(draw(messages), ensure_ascii=draw(st.booleans())).encode()
    for _ in range(draw(st.integers(0, 3))):
        at, length = draw(st.integers(0, len(data))), draw(st.integers(0, 4))
        data = data[:at] + draw(st.binary(max_size=3)) + data[at + length :]
    return data


lines = damaged() | st.binary(max_size=40) | anything.map(lambda value: json.dumps(value).encode())


def key(id: Any) -> tuple[Any, type]:
    """Tells 1 from True and from 1.0."""
    return id, type(id)


def is_reply(message: Any, id: Any) -> bool:
    """Whether this is a reply as JSON-RPC has it, to the request with this id."""
    if "error" in message:
        error = message["error"]
        fits = {"code", "message"} <= set(error) <= {"code", "message", "data"}
        fits = fits and type(error["code"]) is int and bool(error["message"])
    else:
        fits = isinstance(message["result"], dict)
    parts = {"jsonrpc", "id", "error" if "error" in message else "result"}
    return fits and set(message) == parts and key(message["id"]) == key(id)


def is_telling(message: Any) -> bool:
    """Whether this is a notification or a question, as a server may send on its own."""
    return (
        {"jsonrpc", "method", "params"} <= set(message) <= {"jsonrpc", "method", "params", "id"}
        and isinstance(message["params"], dict)
        and isinstance(message["method"], str)
    )


@common
@given(lines)
def test_the_parser_gives_a_message_or_one_of_two_errors(line: bytes) -> None:
    try:
        message = jsonrpc.decode(line)
    except ParseError as error:
        expected = jsonrpc.failure(jsonrpc.readable_id(line), error)
    except InvalidRequestError as error:
        value = json.loads(line)
        id = value.get("id") if isinstance(value, dict) else None
        expected = jsonrpc.failure(id if type(id) in (str, int) else None, error)
    else:
        assert message["jsonrpc"] == "2.0"
        assert type(message.get("method", "")) is str
        assert type(message.get("params", {})) is dict
        assert type(message.get("id", 0)) in (str, int)
        assert jsonrpc.decode_or_error(line) == (message, None)
        return
    assert jsonrpc.decode_or_error(line) == (None, expected)
    assert is_reply(expected, expected["id"])


@common
@given(st.text(max_size=40))
def test_the_parser_takes_text_with_anything_in_it(text: str) -> None:
    message, problem = jsonrpc.decode_or_error(text)
    assert (message is None) != (problem is None)


@common
@given(messages)
def test_a_message_survives_being_written_and_read(message: Message) -> None:
    line = jsonrpc.encode(message)
    assert b"\n" not in line
    assert jsonrpc.decode(line) == message


@common
@given(lines)
def test_any_line_gets_one_reply_or_none(line: bytes) -> None:
    message, problem = jsonrpc.decode_or_error(line)
    reply = asyncio.run(SERVER.handle_line(line))
    if problem is not None:
        assert reply is not None
        assert json.loads(reply) == problem
    elif message is not None and "id" in message and "method" in message:
        assert reply is not None
        assert is_reply(json.loads(reply), message["id"])
    else:
        assert reply is None


@common
@given(anything | messages)
def test_any_value_may_be_handed_over_in_process(value: Any) -> None:
    reply = asyncio.run(SERVER.handle_jsonrpc(value))
    wants_none = isinstance(value, dict) and value.get("jsonrpc") == "2.0"
    wants_none = wants_none and not ("id" in value and "method" in value)
    if reply is not None:
        assert is_reply(reply, jsonrpc.reply_id(value))
    else:
        assert wants_none


async def converse(sent: list[Message]) -> tuple[list[Message], list[Message]]:
    """Everything that a session answers, and everything that it says on its own."""
    server, said = make_server(), list[Message]()
    session = Session(said.append)
    replies: list[Message] = []

    async def answer(work: Coroutine[Any, Any, Message | None]) -> None:
        if (reply := await work) is not None:
            replies.append(reply)

    working: list[asyncio.Task[None]] = []
    for message in sent:
        reply = server.begin(message, session, session.send)
        if isinstance(reply, Coroutine):
            working.append(asyncio.create_task(answer(reply)))
        elif reply is not None:
            replies.append(reply)
        await asyncio.sleep(0)
    for _ in range(10):
        await asyncio.sleep(0)
    server.hub.close()
    while sum(not task.done() for task in working) > sum("id" in message for message in said):
        await asyncio.wait(working, timeout=0.005)
    session.close()
    await asyncio.gather(*working)
    assert not session.running
    return replies, said


@common
@given(st.lists(messages, min_size=1, max_size=6))
def test_a_conversation_of_any_messages_is_answered_message_by_message(sent: list[Message]) -> None:
    replies, said = asyncio.run(converse(sent))
    asked = Counter(key(m["id"]) for m in sent if "id" in m and "method" in m)
    answered = Counter(key(reply["id"]) for reply in replies)
    for reply in replies:
        assert is_reply(json.loads(jsonrpc.encode(reply)), reply["id"])
        assert reply.get("error", {}).get("code") != -32603, "the server was surprised"
    assert answered <= asked
    unanswered = sum((asked - answered).values())
    # Only what was cancelled, or waits for an answer of the client, may go without a reply.
    may_wait = sum(m.get("method") in ("notifications/cancelled", "tools/call") for m in sent)
    assert unanswered <= may_wait
    assert all(is_telling(json.loads(jsonrpc.encode(message))) for message in said)


@pytest.mark.parametrize("era", ["legacy", "modern"])
@common
@given(st.data())
def test_a_request_is_answered_as_its_era_wants(era: str, data: st.DataObject) -> None:
    metas = [meta for meta in METAS if (VERSION_KEY in meta) == (era == "modern")]
    request = data.draw(requests(metas))
    meta = request["params"].get("_meta")
    reply = asyncio.run(SERVER.handle_jsonrpc(request, Session()))
    assert reply is not None
    assert is_reply(reply, request["id"])
    if "result" in reply:
        is_modern = isinstance(meta, dict) and VERSION_KEY in meta
        assert ("resultType" in reply["result"]) == is_modern


@common
@given(
    data=st.lists(st.sampled_from([b"\n", b"\r\n", b"a", b"bc", b"0123456789"])).map(b"".join),
    cuts=st.sets(st.integers(1, 60)),
    limit=st.integers(0, 12),
)
def test_lines_are_the_same_however_they_arrive(data: bytes, cuts: set[int], limit: int) -> None:
    edges = [0, *sorted(cut for cut in cuts if cut < len(data)), len(data)]
    chunks = [data[start:end] for start, end in pairwise(edges)]
    source, sink = os.pipe()
    found: list[bytes | None] = []
    try:
        splitter = LineReader(source, limit)
        for chunk in filter(None, chunks):
            os.write(sink, chunk)
            read = splitter.read()
            assert read is not None
            found += read
        os.close(sink)
        assert splitter.read() is None
        found += splitter.rest()
    finally:
        os.close(source)
    *ended, rest = data.split(b"\n")
    expected = ended + ([rest] if rest else [])
    assert found == [line if len(line) <= limit else None for line in expected]
