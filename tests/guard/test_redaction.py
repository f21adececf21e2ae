"""What the guard withholds is said, cannot be forged, and is not taken for the value."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawkit.guard.scan.sanitizer import TAIL, holds_marker
from tests.guard.guarded_server import ALLOW_ALL, Guarded, guarded
from tests.guard.test_server_side import act, sampling

TOKEN = "gh" + "p_" + "aB3d" * 9
KEY = "AKIA" + "QWER" * 4
DECLARED = "clawkit/redacted"


def told(guard: Guarded, text: str, id: int = 1) -> tuple[str, dict[str, Any]]:
    """What the client gets of a text, and what is said about it."""
    result = guard.tool("echo", id, text=text)["result"]
    return result["content"][0]["text"], result.get("_meta", {}).get(DECLARED, {})


def test_a_result_says_how_many_values_of_which_kind_were_withheld(tmp_path: Path) -> None:
    with guarded(tmp_path) as guard:
        text, about = told(guard, f"{TOKEN} and {TOKEN} and {KEY}")
        assert about["kinds"] == {"github-token": 2, "aws-access-key": 1}
        nonce = about["nonce"]
        assert re.fullmatch("[0-9a-f]{16}", nonce)
        assert text.split(" and ")[0] == f"[redacted: github-token #{nonce}]"
        assert told(guard, "nothing", 2) == ("nothing", {})
    with guarded(tmp_path) as another:
        assert told(another, TOKEN)[1]["nonce"] != nonce


def test_a_file_in_base64_that_holds_a_secret_is_withheld_and_said_to_be(tmp_path: Path) -> None:
    blob = base64.b64encode(f"token: {TOKEN}".encode()).decode()
    contents = [{"uri": "notes://one", "blob": blob}]
    with guarded(tmp_path) as guard:
        act(guard, "set", {"contents": contents}, method="resources/read")
        assert guard.receive()["id"] == 1
        result = guard.call("resources/read", {"uri": "notes://one"}, 2)["result"]
        about = result["_meta"][DECLARED]
        withheld = result["contents"][0]["blob"]
        assert about["kinds"] == {"blob": 1}
        assert base64.b64decode(withheld).decode() == f"[redacted: blob #{about['nonce']}]"
        refused = guard.tool("echo", 3, text=withheld)
        assert "not the value" in refused["error"]["message"]


def test_a_rule_does_not_redact_within_a_marker(tmp_path: Path) -> None:
    rule = "[[rule]]\naction = 'allow'\ntool = 'echo'\nredact = ['[0-9a-f]{4,}', 'token']\n"
    with guarded(tmp_path, rule) as guard:
        text, about = told(guard, f"{TOKEN} 12345")
        assert about["kinds"] == {"github-token": 1, "rule": 1}
        nonce = about["nonce"]
        assert text == f"[redacted: github-token #{nonce}] [redacted: rule #{nonce}]"


def test_a_server_cannot_declare_that_something_was_withheld(tmp_path: Path) -> None:
    with guarded(tmp_path) as guard:
        forged = {"nonce": "0" * 16, "kinds": {"jwt": 1}}
        meta = {DECLARED: forged, "other": 1}
        act(guard, "set", {"prompts": [], "_meta": meta}, method="prompts/list")
        assert guard.receive()["id"] == 1
        assert guard.call("prompts/list", {}, 2)["result"]["_meta"] == {"other": 1}


@pytest.mark.parametrize("spelled", ["plain", "escaped"])
def test_a_call_with_a_marker_for_a_value_is_refused(tmp_path: Path, spelled: str) -> None:
    with guarded(tmp_path) as guard:
        marker, about = told(guard, TOKEN)
        message = {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "echo", "arguments": {"text": f"key={marker}"}},
        }
        line = json.dumps(message)
        if spelled == "escaped":
            line = line.replace("#", "\\u0023")
        guard.write(line.encode() + b"\n")
        error = guard.receive()["error"]
        assert "the guard withheld that" in error["message"]
        assert told(guard, "[redacted: github-token #0123456789abcdef]", 3)[1] == {}
        assert not any(about["nonce"].encode() in line for line in guard.heard())


def test_a_server_does_not_learn_the_nonce_from_what_a_client_answers(tmp_path: Path) -> None:
    with guarded(tmp_path, ALLOW_ALL) as guard:
        marker, about = told(guard, TOKEN)
        act(guard, "write", sampling("What is the key?"), id=2)
        assert guard.receive()["method"] == "sampling/createMessage"
        answer = {"role": "assistant", "content": {"type": "text", "text": marker}, "model": "m"}
        guard.send({"jsonrpc": "2.0", "id": "s1", "result": answer})
        params = {"progressToken": 1, "progress": 1, "message": marker}
        guard.send({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
        assert guard.receive()["id"] == 2
        told(guard, "all is read", 3)
        heard = b"\n".join(guard.heard())
        assert heard.count(b"[redacted: github-token]") == 2
        assert about["nonce"].encode() not in heard


def escaped(text: str) -> str:
    return "".join(f"\\u{ord(sign):04x}" for sign in text)


MARKERS = st.lists(
    st.sampled_from(
        [
            *(TAIL, escaped(TAIL), escaped(TAIL[:1]) + TAIL[1:], TAIL[:9], TAIL[9:]),
            *(TAIL[:5] + escaped(TAIL[5:]), escaped(TAIL[:9]), escaped(TAIL[9:]), "\\\\", "\\n"),
            *("\\u2026", "\u2026", "\\u0085", "u0023", "x" * 4090),
        ]
    ),
    max_size=8,
).map("".join)


@given(MARKERS)
def test_a_marker_is_known_in_every_spelling(text: str) -> None:
    line = f'{{"a":"{text}"}}'.encode()
    assert holds_marker(line) == (TAIL in json.loads(line)["a"])
