"""A server that says very much: older records stay in the log, and nothing is left uncounted."""

from __future__ import annotations

import base64
import json
from collections import Counter
from pathlib import Path
from typing import Any

from clawkit.guard.audit.log import HOUR, Repeats
from clawkit.guard.audit.record import AuditRecord
from tests.guard.guarded_server import Guarded, guarded, records
from tests.processes import PATIENCE

MANY = 3000
ACT_ONLY = '[[rule]]\naction = "allow"\ntool = "act"\n'


def notice(method: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": {"data": "x"}}


def flood(guard: Guarded, messages: list[dict[str, Any]]) -> None:
    """Have the server say all this, and one more thing that shows that it has been said."""
    lines = "\n".join(json.dumps(message) for message in [*messages, notice("notifications/end")])
    encoded = base64.b64encode(lines.encode()).decode()
    params = {"name": "act", "arguments": {"do": "write", "data": encoded}}
    guard.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    while guard.receive().get("method") != "notifications/end":
        continue


def leave(guard: Guarded) -> None:
    """End as a client does; what was only counted is written down then."""
    guard.close_input()
    assert guard.process.wait(PATIENCE) == 0


def counted(found: list[dict[str, Any]], kind: str) -> Counter[str]:
    total: Counter[str] = Counter()
    for record in found:
        if record["kind"] == kind and record["side"] == "server":
            total[record.get("method", "")] += record.get("count", 1)
    return total


def test_notifications_of_one_kind_are_counted_together(tmp_path: Path, home: Path) -> None:
    with guarded(tmp_path, ACT_ONLY) as guard:
        flood(guard, [notice("notifications/message")] * MANY)
        leave(guard)
    found = records(home)
    assert len(found) < 40
    assert counted(found, "notice")["notifications/message"] == MANY
    sizes = [record["size"] for record in found if record.get("count")]
    assert max(sizes) > 1000 * len(json.dumps(notice("notifications/message")))


def test_names_that_a_server_invents_do_not_fill_the_log(tmp_path: Path, home: Path) -> None:
    with guarded(tmp_path, ACT_ONLY) as guard:
        flood(guard, [notice(f"notifications/{number}") for number in range(MANY)])
        leave(guard)
    found = records(home)
    assert len(found) < 100
    assert sum(counted(found, "notice").values()) == MANY + 1


def test_what_is_refused_is_counted_and_the_calls_stay(tmp_path: Path, home: Path) -> None:
    sampling = {"messages": [], "maxTokens": 1}
    requests = [
        {"jsonrpc": "2.0", "id": f"s{n}", "method": "sampling/createMessage", "params": sampling}
        for n in range(MANY)
    ]
    strays = [{"jsonrpc": "2.0", "id": f"a{n}", "result": {}} for n in range(MANY)]
    with guarded(tmp_path, ACT_ONLY) as guard:
        flood(guard, [*requests, *strays])
        for number in range(50):
            guard.tool("echo", id=100 + number)
        leave(guard)
    found = records(home)
    assert len(found) < 200
    assert counted(found, "call")["sampling/createMessage"] == MANY
    assert counted(found, "drop")[""] == MANY
    assert [record.get("tool") for record in found].count("echo") == 50


def test_names_that_a_server_invents_do_not_hide_its_questions(tmp_path: Path, home: Path) -> None:
    unknown = '[[rule]]\naction = "deny"\nmethod = "unknown"\n'
    elicit = '[[rule]]\naction = "allow"\nmethod = "elicitation/create"\n'
    invented = [{"jsonrpc": "2.0", "id": f"x{n}", "method": f"x{n}/y"} for n in range(200)]
    told = [f"Question {n}" for n in range(100)]
    schema = {"type": "object", "properties": {}}
    questions = [
        {
            "jsonrpc": "2.0",
            "id": text,
            "method": "elicitation/create",
            "params": {"message": text, "requestedSchema": schema},
        }
        for text in told
    ]
    changed = [notice("notifications/tools/list_changed")]
    for name, rules in (("passed", ""), ("allowed", elicit)):
        folder = tmp_path / name
        folder.mkdir()
        with guarded(folder, unknown + rules + ACT_ONLY) as guard:
            guard.initialize({"elicitation": {}})
            flood(guard, [*invented, *questions, *changed])
            for text in told:
                guard.send({"jsonrpc": "2.0", "id": text, "result": {"action": "decline"}})
            leave(guard)
    found = records(home)
    asked = [record for record in found if record.get("method") == "elicitation/create"]
    shown = [r["arguments"]["message"] for r in asked if r["kind"] == "call"]
    assert shown == [*told, *told]
    assert sum(record["kind"] == "answer" for record in asked) == len(shown)
    assert counted(found, "notice")["notifications/tools/list_changed"] == 2
    assert counted(found, "call")["(others)"] > 0


def test_questions_are_counted_by_name_beyond_what_a_person_could_answer() -> None:
    repeats = Repeats(lambda: 0.0)
    record = AuditRecord(kind="call", side="server", method="elicitation/create", decision="allow")
    written = [one for _ in range(1024) for one in repeats.take(record)]
    assert [one.count for one in written] == [*[0] * 256, 256, 512]


def test_a_new_hour_begins_with_what_the_last_one_counted() -> None:
    now = [0.0]
    repeats = Repeats(lambda: now[0])
    record = AuditRecord(kind="notice", side="server", method="notifications/message", size=10)
    written = [one for _ in range(20) for one in repeats.take(record)]
    now[0] = HOUR + 1
    left, fresh = repeats.take(record)
    assert [one.count for one in written] == [*[0] * 8, 8]
    assert (left.count, left.size) == (4, 40)
    assert fresh.count == 0
    assert repeats.drain() == []
