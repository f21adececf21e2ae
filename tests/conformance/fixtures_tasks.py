"""Owns the tools that run as tasks, and the one beside them that never does."""

from __future__ import annotations

import asyncio

import msgspec

from clawkit import Context
from clawkit.errors import InternalError, ToolExecutionError
from clawkit.wire import input_requests
from tests.conformance.everything import server
from tests.conformance.fixtures_questions import Person, told


class Deletion(msgspec.Struct):
    confirm: bool


@server.tool(name="greet")
def greet(name: str) -> str:
    """Greets at once, never as a task."""
    return f"Hello, {name}!"


@server.tool(name="slow_compute", task="allowed", task_after=0.05)
async def slow_compute(seconds: float, label: str = "work") -> str:
    """Takes its time: a task when that is more than a moment."""
    await asyncio.sleep(seconds)
    return f"{label} took {seconds:g} s"


@server.tool(name="failing_job", task="required")
async def failing_job() -> str:
    """Fails as tools do: with a result that says so."""
    await asyncio.sleep(0.1)
    raise ToolExecutionError("This job always fails")


@server.tool(name="protocol_error_job", task="allowed")
async def protocol_error_job() -> str:
    """Fails as servers do: with a JSON-RPC error."""
    await asyncio.sleep(0.1)
    raise InternalError("This job breaks the server's side")


@server.tool(name="confirm_delete", task="allowed")
async def confirm_delete(filename: str, context: Context) -> str:
    """Waits, as a task, for one answer."""
    answer = await context.elicit(f"Delete {filename}?", Deletion)
    return f"{filename}: {told(answer)}"


@server.tool(name="multi_input", task="allowed")
async def multi_input(context: Context) -> str:
    """Waits, as a task, for two answers, which may come one by one."""
    answers = await context.ask(
        {
            "who": input_requests.elicitation("What is your name?", Person),
            "whether": input_requests.elicitation("Go on?", Deletion),
        }
    )
    return f"{told(answers['who'])}; {told(answers['whether'])}"


@server.tool(name="test_tool_with_task", task="required", task_after=None)
async def tool_with_task(context: Context) -> str:
    """Asks first, in rounds, and becomes a task when it knows enough."""
    answer = await context.elicit("What is your name?", Person, key="user_name")
    await context.become_task()
    await asyncio.sleep(0.1)
    return f"Worked in the background for {told(answer)}"
