"""What a bridge may say."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clawkit.memory import bridges
from clawkit.memory.bridges import (
    ActResult,
    Capability,
    FrameError,
    Ping,
    Register,
    Sense,
)

ACT = {"name": "light_on", "kind": "act"}


def registering(*capabilities: Any, name: str = "lamp") -> dict[str, Any]:
    return {"type": "register", "name": name, "capabilities": list(capabilities)}


def test_frames_are_told_apart_by_their_type() -> None:
    schema = {"type": "object"}
    full = {**ACT, "description": "On.", "input_schema": schema}
    assert bridges.decode_frame(json.dumps(registering(full))) == Register(
        "lamp", [Capability("light_on", "act", "On.", schema)]
    )
    sense = bridges.decode_frame(b'{"type":"sense","name":"warmth","value":[21.5]}')
    assert sense == Sense("warmth", [21.5])
    assert bridges.decode_frame('{"type":"result","id":"1","result":null}') == ActResult("1")
    assert bridges.decode_frame('{"type":"ping","more":1}') == Ping()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "[" * 100_000,
        '{"type":"act"}',
        '{"type":"sense","name":"warmth"}',
        '{"type":"sense","name":"warmth","value":"\\ud800"}',
        '{"type":"result"}',
        '{"type":"result","id":1}',
        b"\xff\xfe",
        '{"type":"ping"}' + " " * bridges.LONGEST_FRAME,
        json.dumps({"type": "sense", "name": "warmth", "value": "x" * 5000}),
        json.dumps(registering({**ACT, "kind": "smell"})),
        json.dumps(registering({**ACT, "input_schema": []})),
        json.dumps(registering({**ACT, "input_schema": {"a": "x" * 20_000}})),
        json.dumps(registering({**ACT, "input_schema": {"type": "string"}})),
        json.dumps(registering({**ACT, "description": "x" * 1001})),
        json.dumps(registering({**ACT, "name": ""})),
        json.dumps(registering({**ACT, "name": "a b"})),
        json.dumps(registering({**ACT, "name": "x" * 65})),
        json.dumps(registering(ACT, name="<lamp>")),
        json.dumps(registering(ACT, ACT)),
        json.dumps(registering(*({**ACT, "name": f"n{n}"} for n in range(101)))),
    ],
    ids=repr,
)
def test_what_is_no_frame_is_refused_in_words(text: str | bytes) -> None:
    with pytest.raises(FrameError) as caught:
        bridges.decode_frame(text)
    assert 0 < len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("at", "meant"),
    [
        (None, "1970-01-01T00:01:00.000+00:00"),
        (0, "1970-01-01T00:00:00.000+00:00"),
        ("2026-04-14T16:30:00+09:00", "2026-04-14T07:30:00.000+00:00"),
        ("2026-04-14T07:30:00", "2026-04-14T07:30:00.000+00:00"),
    ],
)
def test_a_moment_is_given_in_any_of_the_usual_ways(at: Any, meant: str) -> None:
    assert bridges.moment_of(Sense("warmth", 1, at), 60.0) == meant


@pytest.mark.parametrize("at", ["soon", 1e300, -1e300, "0001-01-01T00:00:00+23:59"])
def test_a_moment_that_is_none_is_refused(at: Any) -> None:
    with pytest.raises(FrameError, match="ISO time"):
        bridges.moment_of(Sense("warmth", 1, at), 60.0)
