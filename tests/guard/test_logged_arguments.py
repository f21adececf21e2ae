"""What the log keeps of a call that is too long for it, and what stands outside its arguments."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

from tests.guard.audit.test_log_command import claw_log
from tests.guard.guarded_server import ALLOW_ALL, Guarded, guarded, records
from tests.guard.test_floods import leave
from tests.guard.test_prompt_rules import modern
from tests.guard.test_rounds import BROUGHT, ECHO, ONLY, asks

PATHS = '[[rule]]\naction = "deny"\ntool = "*"\nargs.path = "/etc/**"\n'


def calls(home: Path, tool: str = "echo") -> list[dict[str, Any]]:
    return [r for r in records(home) if r["kind"] == "call" and r.get("tool") == tool]


def call(guard: Guarded, number: int, arguments: dict[str, Any], **more: Any) -> None:
    params = {"name": "echo", "arguments": arguments, **more}
    assert guard.call("tools/call", params, number)["result"]


def test_no_argument_pushes_another_out_of_the_log(tmp_path: Path, home: Path) -> None:
    junk = {f"a{number}": "x" * 100 for number in range(70)}
    arguments = {**junk, "path": "/srv/data", "last": "unnamed"}
    with guarded(tmp_path, PATHS + ALLOW_ALL) as guard:
        call(guard, 1, {"text": "short"})
        call(guard, 2, arguments)
        leave(guard)
    short, long = calls(home)
    assert "digest" not in short
    assert long["arguments"]["path"] == "/srv/data"
    assert "last" not in long["arguments"]
    canonical = json.dumps(arguments, sort_keys=True, separators=(",", ":")).encode()
    assert long["digest"] == sha256(canonical).hexdigest()


def test_what_stands_outside_the_arguments_is_logged_without_secrets(
    tmp_path: Path, home: Path
) -> None:
    secret = "gh" + "p_" + "Zq7" * 12
    with guarded(tmp_path, ALLOW_ALL) as guard:
        call(guard, 1, {"text": "a"}, _meta={"progressToken": 1})
        call(guard, 2, {"text": "b"}, _meta={"progressToken": 1, "note": secret}, input="rm -rf /")
        call(guard, 3, {"text": "c"}, **BROUGHT)
        leave(guard)
    usual, beside, round = calls(home)
    assert "outside" not in usual
    assert beside["outside"][0]["input"] == "rm -rf /"
    assert "redacted" in beside["outside"][0]["_meta"]["note"]
    assert round["outside"] == [BROUGHT]
    assert "rm -rf /" in claw_log().stdout
    assert any(json.loads(line).get("outside") for line in claw_log("--json").stdout.splitlines())


def test_of_the_answers_in_a_next_round_there_is_a_digest(tmp_path: Path, home: Path) -> None:
    brought = {"inputResponses": {"k": {"content": {"name": "Ada"}}}, "requestState": "s"}
    with guarded(tmp_path, ONLY) as guard:
        asks(guard, 1, requestState="s")
        assert modern(guard, 2, **ECHO)["result"]
        assert modern(guard, 3, **ECHO, **brought)["result"]
        leave(guard)
    first, second = calls(home)
    assert "outside" not in first
    canonical = json.dumps(brought, sort_keys=True, separators=(",", ":")).encode()
    assert second["outside"] == [{"nextRound": f"sha256:{sha256(canonical).hexdigest()}"}]
