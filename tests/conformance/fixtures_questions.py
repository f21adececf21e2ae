"""Owns the tools, and the prompt, that ask the client something before they can answer.

One function serves both eras: what it asks is a request to a handshake client, and an
`input_required` result to a modern one.
"""

from __future__ import annotations

from typing import Any

import msgspec

from clawkit import Context
from clawkit.errors import InvalidParamsError
from clawkit.wire import input_requests
from clawkit.wire.input_requests import Elicited, InputRequest
from tests.conformance.everything import server

CHOICES = ["option1", "option2", "option3"]


class Person(msgspec.Struct):
    name: str


class Account(msgspec.Struct):
    username: str
    email: str


class Confirmation(msgspec.Struct):
    ok: bool


class Colour(msgspec.Struct):
    color: str


class Background(msgspec.Struct):
    context: str


def told(answer: Elicited) -> str:
    content = msgspec.json.encode(answer.content).decode()
    return f"action={answer.action}, content={content}"


def titled(**titles: str) -> list[dict[str, str]]:
    return [{"const": value, "title": title} for value, title in titles.items()]


@server.tool(name="test_sampling")
async def sampling(prompt: str, context: Context) -> str:
    """Asks the client's model."""
    answer = await context.sample(prompt, max_tokens=100)
    return f"LLM response: {answer['content']['text']}"


@server.tool(name="test_elicitation")
async def elicitation(message: str, context: Context) -> str:
    """Asks the person for an account."""
    return f"User response: {told(await context.elicit(message, Account))}"


@server.tool(name="test_elicitation_sep1034_defaults")
async def elicitation_defaults(context: Context) -> str:
    """Asks with a form that is filled in already."""
    statuses = ["active", "inactive", "pending"]
    form = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "default": "John Doe"},
            "age": {"type": "integer", "default": 30},
            "score": {"type": "number", "default": 95.5},
            "status": {"type": "string", "enum": statuses, "default": "active"},
            "verified": {"type": "boolean", "default": True},
        },
        "required": [],
    }
    answer = await context.elicit("Please review and update the form fields", form)
    return f"Elicitation completed: {told(answer)}"


@server.tool(name="test_elicitation_sep1330_enums")
async def elicitation_enums(context: Context) -> str:
    """Asks with every kind of choice a form may have."""
    values = titled(value1="First Option", value2="Second Option", value3="Third Option")
    names = ["Option One", "Option Two", "Option Three"]
    form = {
        "type": "object",
        "properties": {
            "untitledSingle": {"type": "string", "enum": CHOICES},
            "titledSingle": {"type": "string", "oneOf": values},
            "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": names},
            "untitledMulti": {"type": "array", "items": {"type": "string", "enum": CHOICES}},
            "titledMulti": {"type": "array", "items": {"anyOf": values}},
        },
    }
    return f"Elicitation completed: {told(await context.elicit('Please choose', form))}"


@server.tool(name="test_missing_capability")
async def missing_capability(context: Context) -> str:
    """Needs a client that can sample."""
    answer = await context.sample("Say anything.", max_tokens=10)
    return answer["content"]["text"]


@server.tool(name="test_streaming_elicitation")
async def streaming_elicitation(context: Context) -> str:
    """Tells how far it is, and asks."""
    context.progress(1, 2)
    return told(await context.elicit("Go on?", Confirmation, key="confirm"))


@server.tool(name="test_input_required_result_elicitation")
async def one_elicitation(context: Context) -> str:
    """Asks for a name."""
    answer = await context.elicit("What is your name?", Person, key="user_name")
    return f"Hello, {answer.content.name}!" if answer.accepted else "Hello, whoever you are!"


@server.tool(name="test_input_required_result_sampling")
async def one_sampling(context: Context) -> str:
    """Asks the client's model one question."""
    question = "What is the capital of France?"
    answer = await context.sample(question, max_tokens=100, key="capital_question")
    return answer["content"]["text"]


@server.tool(name="test_input_required_result_list_roots")
async def one_list_of_roots(context: Context) -> str:
    """Asks for the client's roots."""
    roots = await context.roots(key="client_roots")
    return "Roots: " + ", ".join(root["uri"] for root in roots)


@server.tool(name="test_input_required_result_request_state")
async def request_state(context: Context) -> str:
    """Asks for a confirmation that counts only with the state that was sent along."""
    answer = await context.elicit("Please confirm", Confirmation, key="confirm")
    if context.round != 1:
        raise InvalidParamsError("Invalid params: the answer came without its requestState")
    return f"state-ok, {told(answer)}"


@server.tool(name="test_input_required_result_tampered_state")
async def tampered_state(context: Context) -> str:
    """Asks for a confirmation; the suite then damages the state."""
    return told(await context.elicit("Please confirm", Confirmation, key="confirm"))


@server.tool(name="test_input_required_result_multiple_inputs")
async def three_questions(context: Context) -> str:
    """Asks the person, the model and the client at once."""
    answers = await context.ask(
        {
            "user_name": input_requests.elicitation("What is your name?", Person),
            "greeting": input_requests.sampling("Generate a greeting", 50),
            "client_roots": input_requests.roots(),
        }
    )
    greeting = answers["greeting"]["content"]["text"]
    return (
        f"{told(answers['user_name'])}; {greeting}; {len(answers['client_roots']['roots'])} roots"
    )


@server.tool(name="test_input_required_result_multi_round")
async def two_rounds(context: Context) -> str:
    """Asks one thing after the other."""
    name = await context.elicit("Step 1: What is your name?", Person, key="step1")
    color = await context.elicit("Step 2: What is your favorite color?", Colour, key="step2")
    return f"{told(name)}; {told(color)}"


@server.tool(name="test_input_required_result_capabilities")
async def only_what_the_client_can(context: Context) -> str:
    """Asks for everything that this client can answer, and for nothing else."""
    possible: dict[str, InputRequest] = {
        "user_name": input_requests.elicitation("What is your name?", Person),
        "greeting": input_requests.sampling("Generate a greeting", 50),
        "client_roots": input_requests.roots(),
    }
    asked = {key: q for key, q in possible.items() if q.capability in context.capabilities}
    answers: dict[str, Any] = await context.ask(asked)
    return f"Answered: {', '.join(answers) or 'nothing'}"


@server.prompt("test_input_required_result_prompt")
async def asking_prompt(context: Context) -> str:
    """Asks for its context before it is rendered."""
    question = "What context should the prompt use?"
    answer = await context.elicit(question, Background, key="user_context")
    return f"Use this context: {answer.content.context if answer.accepted else 'none'}"
