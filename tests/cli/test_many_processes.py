"""Several processes behind one address: a question that one asked, another can continue."""

from __future__ import annotations

from typing import Any

import pytest

from tests.processes import ROOT, http_server
from tests.wire.samples.messages import call
from tests.wire.samples.peers import Peer

GREENHOUSE = ROOT / "examples" / "greenhouse.py"
PERSON: dict[str, Any] = {"elicitation": {}}


def ask_one_answer_another() -> dict[str, Any]:
    """Ask a first process, answer a second one."""
    with (
        http_server(GREENHOUSE) as one,
        http_server(GREENHOUSE) as another,
        Peer(one) as first,
        Peer(another) as second,
    ):
        question = first.post_modern(call(1, "clear", bed="basil"), PERSON).json()["result"]
        retry = call(2, "clear", bed="basil")
        retry["params"]["requestState"] = question["requestState"]
        retry["params"]["inputResponses"] = {
            key: {"action": "accept"} for key in question["inputRequests"]
        }
        return second.post_modern(retry, PERSON).json()


def test_processes_with_one_secret_continue_each_others_questions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CLAW_SECRET", "the same for all of them")
    assert ask_one_answer_another()["result"]["content"][0]["text"] == "basil is empty"


def test_processes_with_secrets_of_their_own_refuse_each_others_state() -> None:
    assert ask_one_answer_another()["error"]["code"] == -32602
