"""Turns whose process is killed: what was said and done is in the session, once, with its end."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clawkit.assistant.sessions.store import SessionStore
from tests.assistant.orders import assistant, order, text_of, write_config
from tests.assistant.providers.scripted import ScriptedServer
from tests.assistant.providers.steps import Call, Hang, Request, Say, Step
from tests.assistant.replies import SCRIPTED, provider_config
from tests.claw import claw

PATIENCE = 60.0
TOOLS = """
import asyncio
from pathlib import Path
from clawkit import claw_tool

@claw_tool
async def water(bed: str) -> str:
    "Water a bed."
    Path(EFFECTS).joinpath(bed).write_text("wet")
    if bed == "endless":
        await asyncio.sleep(600)
    return f"{bed} is wet now"
"""
BASIL = Call("mcp__garden__water", {"bed": "basil"}, id="c1")
ENDLESS = Call("mcp__garden__water", {"bed": "endless"}, id="c2")

# A server that is asked to end, and not killed, may have the time to say so.
ENDS = ("interrupted", "cancelled")


def garden(home: Path) -> Path:
    """A tool that leaves a mark of each time it ran; gives where."""
    effects = home / "effects"
    tools = home / "config" / "claw" / "tools"
    for folder in (effects, tools):
        folder.mkdir(parents=True)
    (tools / "garden.py").write_text(TOOLS.replace("EFFECTS", repr(str(effects))))
    return effects


def wait_for(seen: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not seen():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


def interrupted(
    home: Path, provider: ScriptedServer, wire: str, number: int, seen: Callable[[], object]
) -> None:
    """Order, and end the server's process with a signal as soon as something is seen."""
    write_config(home, provider_config(provider, wire))
    with assistant(home) as server:
        server.send(order("Water the beds, please.", sessionKey="k"))
        wait_for(seen)
        server.process.send_signal(number)
        server.process.wait(PATIENCE)


def shown(home: Path, *arguments: str) -> str:
    """What a command about sessions prints."""
    return claw("sessions", *arguments, code=0, env={"CLAW_HOME": str(home)}).stdout


def has_outcome(home: Path) -> bool:
    messages = SessionStore(home / "data" / "claw" / "sessions.db").show("k").messages
    return any(one.message.role == "tool" for one in messages)


def told(request: Request) -> list[tuple[str, Any]]:
    """What a model was told, in the order it was told: who, and the words, calls and outcomes."""
    found: list[tuple[str, Any]] = []
    for message in request.messages:
        if message["role"] == "system":
            continue
        content = message.get("content")
        parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
        for part in parts:
            if part.get("type") == "tool_use":
                found.append(("call", part["input"]["bed"]))
            elif part.get("type") == "tool_result":
                found.append(("outcome", part["content"][0]["text"]))
            elif part.get("text"):
                role = message["role"]
                found.append(("outcome" if role == "tool" else role, part["text"]))
        calls = [json.loads(c["function"]["arguments"]) for c in message.get("tool_calls") or ()]
        found += [("call", call["bed"]) for call in calls]
    return found


@pytest.mark.parametrize(
    ("wire", "number"),
    [
        ("anthropic", signal.SIGKILL),
        ("openai", signal.SIGKILL),
        ("anthropic", signal.SIGINT),
        ("openai", signal.SIGHUP),
        ("anthropic", signal.SIGTERM),
    ],
)
def test_a_tool_that_ran_and_one_that_may_have_are_in_the_session(
    tmp_path: Path, wire: str, number: int
) -> None:
    effects = garden(tmp_path)

    def script(request: Request) -> Step:
        beds = "again?" in request.body.decode()
        return Say("They are wet.") if beds else [Say("I will."), BASIL, ENDLESS]

    with SCRIPTED[wire](script) as provider:
        # The outcome of the first is there when both have begun and the second goes on.
        interrupted(
            tmp_path,
            provider,
            wire,
            number,
            lambda: (effects / "endless").exists() and has_outcome(tmp_path),
        )
        text = shown(tmp_path, "show", "k")
        listed = shown(tmp_path)
        assert any(end in listed for end in ENDS)
        with assistant(tmp_path) as server:
            assert text_of(server.ask(order("again?", sessionKey="k"))) == "They are wet."
        heard = told(provider.last)
    user, said, first, second, *outcomes, note, again = heard
    assert user == ("user", "Water the beds, please.")
    assert said == ("assistant", "I will.")
    assert (first, second) == (("call", "basil"), ("call", "endless"))
    assert outcomes[0] == ("outcome", "basil is wet now")
    assert "it may have run" in outcomes[1][1]
    assert note[0] == "assistant"
    assert any(end in note[1] for end in ENDS)
    assert again == ("user", "again?")
    for words in ("Water the beds, please.", "basil is wet now", "it may have run", note[1]):
        assert text.count(words) == 1


@pytest.mark.parametrize("wire", ["anthropic", "openai"])
def test_what_tools_did_is_known_after_a_kill_while_the_model_speaks(
    tmp_path: Path, wire: str
) -> None:
    garden(tmp_path)
    script = [BASIL, [Say("Now it"), Hang()], Say("Yes.")]
    with SCRIPTED[wire](script) as provider:
        interrupted(tmp_path, provider, wire, signal.SIGKILL, lambda: len(provider.requests) == 2)
        listed = shown(tmp_path)
        assert "interrupted" in listed
        assert "Water the beds" in listed
        with assistant(tmp_path) as server:
            assert text_of(server.ask(order("Is it wet?", sessionKey="k"))) == "Yes."
        heard = told(provider.last)
    assert [who for who, _ in heard] == ["user", "call", "outcome", "assistant", "user"]
    assert heard[2] == ("outcome", "basil is wet now")
    assert "interrupted here" in heard[3][1]


def test_a_message_is_in_the_session_before_the_model_has_said_anything(tmp_path: Path) -> None:
    with SCRIPTED["anthropic"]([Hang(), Say("ok")]) as provider:
        interrupted(
            tmp_path, provider, "anthropic", signal.SIGKILL, lambda: len(provider.requests) == 1
        )
        records = shown(tmp_path, "export", "k").splitlines()
        _, turn, message, note = map(json.loads, records)
        assert turn["reason"] == "lost"
        assert message["parts"] == [{"type": "text", "text": "Water the beds, please."}]
        assert "interrupted here" in note["parts"][0]["text"]
        with assistant(tmp_path) as server:
            assert text_of(server.ask(order("well?", sessionKey="k"))) == "ok"
        assert [who for who, _ in told(provider.last)] == ["user", "assistant", "user"]
