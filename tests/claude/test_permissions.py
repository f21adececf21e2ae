"""Whoever decides about tools: `can_use_tool`, and hooks."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from clawkit import SdkMcpServerImpl
from clawkit.claude.permissions import (
    Allow,
    Deny,
    HookInput,
    HookMatcher,
    HookResult,
    ToolRequest,
)
from tests.assistant.providers.scripted import Call, Say
from tests.claude.conversations import talking


class Kitchen:
    """A server with one tool that remembers how it was called."""

    def __init__(self) -> None:
        self.calls: list[int] = []
        self.server = SdkMcpServerImpl("kitchen", "1.0.0")
        self.server.tool(name="boil", always_load=True)(self.boil)

    async def boil(self, minutes: int) -> str:
        self.calls.append(minutes)
        return f"boiled for {minutes}"


def boil(*minutes: int) -> list[Any]:
    calls = [Call("mcp__kitchen__boil", {"minutes": n}, id=f"boil{n}") for n in minutes]
    return [calls, Say("Done.")]


async def test_whoever_is_asked_can_allow_deny_and_change_a_call(project: Path) -> None:
    kitchen, asked = Kitchen(), []

    async def decide(request: ToolRequest) -> Allow | Deny | bool:
        asked.append(request)
        match request.input["minutes"]:
            case 1:
                return True
            case 2:
                return False
            case 3:
                return Allow(updated_input={"minutes": 30})
            case 4:
                return Deny("Four is too long")
            case _:
                raise RuntimeError("nobody is at home")

    script = boil(1, 2, 3, 4, 5)
    async with talking(project, script, kitchen.server, can_use_tool=decide) as talk:
        result = await talk.say("Boil.")
        assert talk.read("boil1") == "boiled for 1"
        assert talk.read("boil2") == "The person did not allow this"
        assert talk.read("boil3") == "boiled for 30"
        assert talk.read("boil4") == "Four is too long"
        assert talk.read("boil5").startswith("This could not be decided: RuntimeError: nobody")
    assert kitchen.calls == [1, 30]
    first = asked[0]
    assert (first.tool_name, first.server) == ("mcp__kitchen__boil", "kitchen")
    assert (first.input, first.tool_use_id) == ({"minutes": 1}, "boil1")
    assert first.suggestions[0]["type"] == "addRules"
    denied = [denial["tool_use_id"] for denial in result.permission_denials]
    assert denied == ["boil2", "boil4", "boil5"]


async def test_a_deny_can_stop_the_whole_turn(project: Path) -> None:
    kitchen = Kitchen()

    async def decide(_: ToolRequest) -> Deny:
        return Deny("Enough", interrupt=True)

    async with talking(project, boil(1), kitchen.server, can_use_tool=decide) as talk:
        result = await talk.say("Boil.")
        assert result.subtype == "error_during_execution"
        assert len(talk.api.requests) == 1


async def test_what_is_allowed_once_can_be_allowed_from_then_on(project: Path) -> None:
    kitchen, asked = Kitchen(), []

    async def decide(request: ToolRequest) -> Allow:
        asked.append(request.tool_use_id)
        rule = {**request.suggestions[0], "destination": "session"}
        return Allow(updated_permissions=[rule])

    async with talking(project, boil(1, 2), kitchen.server, can_use_tool=decide) as talk:
        await talk.say("Boil.")
    assert asked == ["boil1"]
    assert kitchen.calls == [1, 2]


async def test_hooks_hear_of_a_call_before_and_after_and_can_change_it(project: Path) -> None:
    kitchen, heard = Kitchen(), []

    async def before(event: HookInput) -> HookResult:
        heard.append((event.event, event.tool_name, event.server, event.tool_input))
        return HookResult(permission="allow", updated_input={"minutes": 12})

    async def after(event: HookInput) -> HookResult:
        heard.append((event.event, event.data["tool_response"][0]["text"]))
        return HookResult(context="The kettle is hot.")

    async def elsewhere(event: HookInput) -> None:
        heard.append(("never", event.tool_name))

    hooks = {
        "PreToolUse": [
            HookMatcher([before], "mcp__kitchen__.*", timeout=30),
            HookMatcher([elsewhere], "Bash"),
        ],
        "PostToolUse": [HookMatcher([after], "mcp__*")],
    }
    async with talking(project, boil(1), kitchen.server, hooks=hooks) as talk:
        await talk.say("Boil.")
        assert talk.read("boil1") == "boiled for 12"
        assert "The kettle is hot." in talk.api.last.body.decode()
    assert heard == [
        ("PreToolUse", "mcp__kitchen__boil", "kitchen", {"minutes": 1}),
        ("PostToolUse", "boiled for 12"),
    ]


async def test_a_hook_can_deny_and_one_that_fails_denies(project: Path) -> None:
    kitchen = Kitchen()

    async def before(event: HookInput) -> HookResult:
        if event.tool_input["minutes"] == 1:
            return HookResult(permission="deny", reason="Not before noon")
        raise RuntimeError("no clock")

    options: dict[str, Any] = {
        "hooks": {"PreToolUse": [HookMatcher([before])]},
        "allowed_tools": ["mcp__kitchen"],
    }
    async with talking(project, boil(1, 2), kitchen.server, **options) as talk:
        await talk.say("Boil.")
        assert "Not before noon" in talk.read("boil1")
        assert "A hook failed: no clock" in talk.read("boil2")
    assert kitchen.calls == []


async def test_a_hook_whose_answer_is_nonsense_or_late_keeps_the_tool_from_running(
    project: Path,
) -> None:
    kitchen, late = Kitchen(), asyncio.Event()

    async def before(event: HookInput) -> dict[str, Any]:
        if event.tool_input["minutes"] == 1:
            return {"hookSpecificOutput": "perhaps", "continue": "yes"}
        if event.tool_input["minutes"] == 2:
            return {"cannot": object()}
        await late.wait()
        return {}

    options: dict[str, Any] = {
        "hooks": {"PreToolUse": [HookMatcher([before], timeout=1)]},
        "allowed_tools": ["mcp__kitchen"],
    }
    async with talking(project, boil(1, 2, 3), kitchen.server, **options) as talk:
        await talk.say("Boil.")
        late.set()
        assert all(talk.result(f"boil{n}")["is_error"] for n in (1, 2, 3))
    assert kitchen.calls == []


async def test_hooks_hear_of_prompts_stops_and_the_end_and_can_block(project: Path) -> None:
    heard, stops = [], []

    async def hear(event: HookInput) -> HookResult | None:
        heard.append(event.event)
        if event.data.get("prompt") == "a secret":
            return HookResult(permission="deny", reason="That is a secret")
        return None

    async def once_more(event: HookInput) -> HookResult | None:
        stops.append(event.data["last_assistant_message"])
        return HookResult(permission="deny", reason="Say more") if len(stops) == 1 else None

    hooks = {name: [HookMatcher([hear])] for name in ("UserPromptSubmit", "SessionEnd")}
    hooks["Stop"] = [HookMatcher([once_more])]
    script = [Say("Short."), Say("And longer.")]
    async with talking(project, script, hooks=hooks) as talk:
        await talk.say("a secret")
        assert not talk.api.requests
        assert (await talk.say("Speak.")).result == "And longer."
    assert stops == ["Short.", "And longer."]
    assert heard == ["UserPromptSubmit", "UserPromptSubmit", "SessionEnd"]


async def test_a_hook_can_answer_the_question_before_the_person_who_is_asked_too(
    project: Path,
) -> None:
    kitchen, withdrawn = Kitchen(), []

    async def decide(event: HookInput) -> HookResult:
        if event.tool_input["minutes"] == 1:
            return HookResult(permission="allow", updated_input={"minutes": 11})
        return HookResult(permission="deny", reason="Only one")

    async def nobody(request: ToolRequest) -> bool:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            withdrawn.append(request.tool_use_id)
            raise
        return False

    options: dict[str, Any] = {
        "hooks": {"PermissionRequest": [HookMatcher([decide])]},
        "can_use_tool": nobody,
    }
    async with talking(project, boil(1, 2), kitchen.server, **options) as talk:
        await talk.say("Boil.")
        assert talk.read("boil1") == "boiled for 11"
        assert "Only one" in talk.read("boil2")
    assert kitchen.calls == [11]
    assert withdrawn == ["boil1", "boil2"]


@pytest.mark.parametrize(
    ("result", "event", "wire"),
    [
        (HookResult(), "PreToolUse", {"continue": True}),
        (
            HookResult(stop=True, reason="Enough", system_message="Stopped"),
            "PostToolUse",
            {"continue": False, "stopReason": "Enough", "systemMessage": "Stopped"},
        ),
        (
            HookResult(permission="deny", reason="No"),
            "UserPromptSubmit",
            {"continue": True, "decision": "block", "reason": "No"},
        ),
        (
            HookResult(permission="ask", reason="Who?"),
            "PreToolUse",
            {
                "continue": True,
                "hookSpecificOutput": {
                    "hookEventName": "PreToolUse",
                    "permissionDecision": "ask",
                    "permissionDecisionReason": "Who?",
                },
            },
        ),
    ],
)
def test_a_hooks_result_is_written_as_its_event_wants_it(
    result: HookResult, event: str, wire: dict[str, Any]
) -> None:
    assert result.to_wire(event) == wire
