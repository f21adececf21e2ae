"""What `claw policy replay` prints: the decisions that another policy would change."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from clawkit.cli.policy_output import count_of, print_json, rule_label
from clawkit.guard.scan import visible

if TYPE_CHECKING:
    from clawkit.guard.policy.recorded import Recorded
    from clawkit.guard.policy.replay import Change, Replayed

_MOST_SHOWN = 10


def print_changes(replayed: list[Replayed], changes: list[Change], *, as_json: bool) -> None:
    """A summary, then each change with the calls that it is about."""
    total = sum(item.recorded.count for item in replayed)
    changed = sum(item.recorded.count for item in replayed if item.changed)
    unsure = sum(item.recorded.count for item in replayed if item.decision is None)
    answered = sum(item.recorded.count for item in replayed if item.recorded.answer)
    if as_json:
        summary = {"calls": total, "changed": changed, "uncertain": unsure, "answered": answered}
        print_json({**summary, "changes": [_change_json(change) for change in changes]})
        return
    print(f"{count_of(total, 'call')}: {total - changed - unsure} stay, {changed} change")
    if unsure:
        print(
            f"{count_of(unsure, 'call')} uncertain: the audit has their arguments redacted or cut"
        )
    if answered:
        print(f"{count_of(answered, 'prompt')} answered by a person: the answer is what counts")
    for change in changes:
        print()
        print(f"{_title(change)}  ({count_of(change.count, 'call')})")
        for recorded in change.calls[:_MOST_SHOWN]:
            print(f"  {_call_line(recorded)}")
        if len(change.calls) > _MOST_SHOWN:
            print(f"  … and {len(change.calls) - _MOST_SHOWN} more kinds; --json has them all")
    print("\nPaths were compared as text.")


def _title(change: Change) -> str:
    said = {"allow": " (approved by a person)", "deny": " (denied by a person)"}
    by = f"by rule {change.was_rule}" if change.was_rule else "by no rule"
    was = f"{change.was}{said.get(change.answer, '')} {by}"
    if change.now == "uncertain":
        return f"was {was} → uncertain: {rule_label(change.now_rule)} looks at what is not recorded"
    if change.now_rule is None:
        return f"was {was} → would be {change.now}: no rule matches"
    return f"was {was} → would be {change.now} by {rule_label(change.now_rule)}"


def _call_line(recorded: Recorded) -> str:
    arguments = json.dumps(recorded.call.arguments, ensure_ascii=False)
    server = f"{visible(recorded.server, 40)}  " if recorded.server else ""
    why = f"  ({visible(recorded.reason, 100)})" if recorded.decision == "deny" else ""
    line = f"{server}{visible(recorded.call.tool, 60)}  {visible(arguments, 160)}{why}"
    return f"{line}  ×{recorded.count}" if recorded.count > 1 else line


def _change_json(change: Change) -> dict[str, Any]:
    return {
        "was": change.was,
        "answer": change.answer or None,
        "was_rule": change.was_rule or None,
        "now": change.now,
        "now_rule": None if change.now_rule is None else change.now_rule.number,
        "count": change.count,
        "calls": [
            {
                "server": recorded.server,
                "method": recorded.call.method,
                "tool": recorded.call.tool,
                "arguments": recorded.call.arguments,
                "count": recorded.count,
            }
            for recorded in change.calls
        ],
    }
