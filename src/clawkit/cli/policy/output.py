"""What `claw policy` prints, as text or JSON, and the files that it writes."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from clawkit.errors import PolicyError
from clawkit.guard.scan import visible

if TYPE_CHECKING:
    from clawkit.guard.authoring.explain import Explanation, RuleReport
    from clawkit.guard.authoring.fixtures import Fixture, FixtureOutcome
    from clawkit.guard.authoring.learn import Learnt
    from clawkit.guard.authoring.lint import Issue
    from clawkit.guard.authoring.replay import DecisionChange, Recorded, Replayed
    from clawkit.guard.policy.policy import Decision, Paths, Policy
    from clawkit.guard.policy.rules import Rule


class Made(msgspec.Struct, frozen=True):
    """A policy file: whether it was written now, and where the one before it went."""

    path: Path
    written: bool
    backup: Path | None = None


def make_default(path: Path, *, force: bool) -> Made:
    """The default policy, unless there is one; with `force` that one is moved beside it."""
    from clawkit.guard.authoring.default_policy import write_default_policy

    backup = None
    try:
        if force and path.exists():
            backup = _free(path.with_name(f"{path.name}.{time.strftime('%Y%m%d-%H%M%S')}"))
            path.rename(backup)
        return Made(path, write_default_policy(path), backup)
    except (OSError, PolicyError) as error:
        if backup is not None and backup.exists() and not path.exists():
            backup.rename(path)
        if isinstance(error, PolicyError):
            raise
        raise PolicyError(str(path), 0, f"cannot be written: {error.strerror}") from error


def write_new(path: Path, text: str) -> None:
    """A file that was not there before, for its owner only."""
    from clawkit.system import files

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write_new(path, text.encode())
    except FileExistsError:
        raise PolicyError(str(path), 0, "exists already: choose another name") from None
    except OSError as error:
        raise PolicyError(str(path), 0, f"cannot be written: {error.strerror}") from None


def write_fixtures(directory: Path, fixtures: tuple[Fixture, ...]) -> None:
    """One file for each; those of an earlier run are the same files."""
    from clawkit.guard.authoring.fixtures import fixture_json
    from clawkit.guard.authoring.learn import fixture_name
    from clawkit.system.files import write_whole

    try:
        directory.mkdir(parents=True, exist_ok=True)
        for fixture in fixtures:
            place = directory / fixture_name(fixture)
            write_whole(place, fixture_json(fixture).encode())
    except OSError as error:
        raise PolicyError(str(directory), 0, f"cannot be written: {error.strerror}") from None


def _free(path: Path) -> Path:
    number, free = 1, path
    while free.exists():
        number += 1
        free = path.with_name(f"{path.name}-{number}")
    return free


_NO_RULE = "no rule matches"


def print_json(content: Any) -> None:
    """JSON in ASCII: whatever is in it does nothing to a terminal."""
    print(json.dumps(content, indent=2))


def count_of(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def rule_label(rule: Rule | None) -> str:
    """`rule 3: Block keys`."""
    if rule is None:
        return _NO_RULE
    said = f": {visible(rule.description, 100)}" if rule.description else ""
    return f"rule {rule.number}{said}"


def print_outcomes(outcomes: list[FixtureOutcome], *, as_json: bool) -> None:
    """One line a fixture, and a count."""
    if as_json:
        print_json({"fixtures": [_outcome_json(outcome) for outcome in outcomes]})
        return
    decided = [outcome for outcome in outcomes if outcome.decision is not None]
    width = max((len(visible(outcome.file)) for outcome in decided), default=0)
    for outcome in decided:
        print(_outcome_line(outcome, width))
    counts = (
        ("as expected", sum(o.expected is not None and not o.failed for o in decided)),
        ("not as expected", sum(o.failed for o in decided)),
        ("without expectation", sum(o.expected is None for o in decided)),
        ("unreadable", len(outcomes) - len(decided)),
    )
    told = ", ".join(f"{number} {what}" for what, number in counts if number)
    print(f"{count_of(len(outcomes), 'fixture')}: {told or 'nothing was tested'}")


def _outcome_line(outcome: FixtureOutcome, width: int) -> str:
    decision = outcome.decision
    assert decision is not None  # the caller prints only what was decided
    file = visible(outcome.file).ljust(width)
    by = f"({rule_label(decision.rule)})"
    if outcome.failed:
        return f"FAIL {file}  expected {outcome.expected}, got {decision.action} {by}"
    mark = "-   " if outcome.expected is None else "ok  "
    return f"{mark} {file}  {decision.action}  {by}"


def _outcome_json(outcome: FixtureOutcome) -> dict[str, Any]:
    if outcome.decision is None:
        return {"fixture": outcome.file, "problem": outcome.problem}
    return {
        "fixture": outcome.file,
        **decision_json(outcome.decision),
        "expected": outcome.expected,
        "ok": not outcome.failed,
    }


def decision_json(decision: Decision) -> dict[str, Any]:
    rule = decision.rule
    return {
        "decision": decision.action,
        "rule": None if rule is None else rule.number,
        "line": None if rule is None else rule.line,
        "description": None if rule is None else rule.description,
    }


def print_explanation(explanation: Explanation, paths: Paths, *, as_json: bool) -> None:
    """The decision, its reasons, the near misses, and what would be needed."""
    if as_json:
        print_json(_explanation_json(explanation))
        return
    call, decision = explanation.call, explanation.decision
    print(f"{decision.action}  {_at(decision.rule)}")
    print(f"  call     {visible(call.tool, 200)} {_arguments(call.arguments)}")
    _print_all(
        "because", [clause.text for clause in explanation.because] or [_default(explanation)]
    )
    _print_all("near", [_near_line(reading) for reading in explanation.near])
    _print_all("needed", list(explanation.needed))
    if decision.rule is not None and decision.rule.rate is not None:
        print(f"  rate     {decision.rule.rate} at most; earlier calls are not counted here")
    if paths.resolve:
        print(f"  paths    from {visible(paths.cwd or '')}, links followed; --text compares text")
    else:
        print("  paths    compared as text, as `claw policy test` does")


def _at(rule: Rule | None) -> str:
    return f"({rule_label(rule)})" if rule is None else f"({rule_label(rule)}, line {rule.line})"


def _default(explanation: Explanation) -> str:
    if explanation.decision.action == "allow":
        return f"{visible(explanation.call.method, 100)} passes unless a rule stops it"
    return f"no rule matches, and {visible(explanation.call.method, 100)} needs one that allows it"


def _near_line(reading: RuleReport) -> str:
    met = [clause.subject for clause in reading.clauses if clause.met]
    fits = f" matches the {met[0]} but" if met else ""
    missing = "; ".join(clause.text for clause in reading.missing)
    return f"rule {reading.rule.number} ({reading.rule.action}){fits} {missing}"


def _print_all(label: str, texts: list[str]) -> None:
    for text in texts:
        print(f"  {label:<8} {visible(text)}")
        label = ""


def _arguments(arguments: dict[str, Any]) -> str:
    return visible(json.dumps(arguments, ensure_ascii=False), 300)


def _explanation_json(explanation: Explanation) -> dict[str, Any]:
    return {
        "method": explanation.call.method,
        "tool": explanation.call.tool,
        "arguments": explanation.call.arguments,
        **decision_json(explanation.decision),
        "because": [clause.text for clause in explanation.because],
        "near": [
            {
                "rule": reading.rule.number,
                "action": reading.rule.action,
                "missing": [clause.text for clause in reading.missing],
            }
            for reading in explanation.near
        ],
        "needed": list(explanation.needed),
    }


def print_issues(path: Path, issues: list[Issue], *, as_json: bool) -> None:
    """One line a remark, as compilers print them, and a count."""
    if as_json:
        remarks = [
            {"level": i.level, "line": i.line, "rule": i.rule or None, "reason": i.reason}
            for i in issues
        ]
        print_json({"policy": str(path), "issues": remarks})
        return
    file = visible(str(path))
    for issue in issues:
        place = f"{file}:{issue.line}" if issue.line else file
        print(f"{place}: {issue.level}: {visible(issue.reason)}")
    counts = [
        count_of(number, level)
        for level in ("error", "warning", "note")
        if (number := sum(issue.level == level for issue in issues))
    ]
    print(", ".join(counts) or f"{file}: nothing to remark")


def print_made(made: Made, *, as_json: bool) -> None:
    path = visible(str(made.path))
    if as_json:
        backup = None if made.backup is None else str(made.backup)
        print_json({"policy": str(made.path), "written": made.written, "backup": backup})
    elif not made.written:
        print(f"{path} is there already and stays as it is; --force replaces it")
    else:
        if made.backup is not None:
            print(f"The old policy was kept as {visible(str(made.backup))}")
        print(f"Wrote {path}: secrets are denied, all the rest is prompted")
        print("Edit it, then `claw policy lint` looks for traps and `claw policy show` lists it.")


def print_learnt(learnt: Learnt, out: Path | None, fixtures: Path | None, *, as_json: bool) -> None:
    """The policy unless it is in a file; what to know about it on stderr."""
    if as_json:
        _print_learnt_json(learnt, out, fixtures)
        return
    if out is None:
        print(learnt.policy, end="")
    for note in learnt.notes:
        print(f"note: {visible(note)}", file=sys.stderr)
    if fixtures is not None and learnt.fixtures:
        made = count_of(len(learnt.fixtures), "fixture")
        test = f"claw policy test --policy {out or 'FILE'} --fixture-dir {fixtures}"
        print(f"{made}: {test}", file=sys.stderr)


def _print_learnt_json(learnt: Learnt, out: Path | None, fixtures: Path | None) -> None:
    from clawkit.guard.authoring.fixtures import fixture_json
    from clawkit.guard.authoring.learn import fixture_name

    print_json(
        {
            "policy": learnt.policy,
            "file": None if out is None else str(out),
            "fixtures": [
                {"file": fixture_name(each), **json.loads(fixture_json(each))}
                for each in learnt.fixtures
            ],
            "fixture_dir": None if fixtures is None else str(fixtures),
            "notes": list(learnt.notes),
        }
    )


def print_rules(path: Path, policy: Policy, *, as_json: bool) -> None:
    """The rules, one a line."""
    if as_json:
        rules = [_rule_json(rule) for rule in policy.rules]
        print_json({"policy": str(path), "digest": policy.digest, "rules": rules})
        return
    print(f"{visible(str(path))}  {count_of(len(policy.rules), 'rule')}, the first match decides")
    rows = [_rule_row(rule) for rule in policy.rules]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(4)]
    for row in rows:
        print(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        )
    print(
        "What no rule matches is denied if it is a tool call, a resource, a prompt or sampling; "
        "other methods pass."
    )


def _rule_row(rule: Rule) -> tuple[str, str, str, str]:
    parts = [_subject(rule)]
    parts += [f"{argument.label}={_few(argument.patterns)}" for argument in rule.args]
    parts += ["only_args"] if rule.only_args else []
    parts += [f"server={_few(rule.server)}"] if rule.server else []
    parts += [f"rate={rule.rate}"] if rule.rate else []
    matched = visible("  ".join(parts), 100)
    return f"{rule.number:>3}", rule.action, matched, visible(rule.description, 80)


def _subject(rule: Rule) -> str:
    named = (
        ("", rule.tools),
        ("method=", rule.methods),
        ("resource=", rule.resources),
        ("prompt=", rule.prompts),
    )
    return "  ".join(f"{name}{_few(patterns)}" for name, patterns in named if patterns)


def _few(patterns: tuple[str, ...]) -> str:
    shown = ",".join(patterns[:3])
    return f"{shown},… ({len(patterns)})" if len(patterns) > 3 else shown


def _rule_json(rule: Rule) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "number": rule.number,
        "line": rule.line,
        "action": rule.action,
        "tool": rule.tools,
        "args": {argument.label.removeprefix("args."): argument.patterns for argument in rule.args},
        "only_args": rule.only_args,
        "server": rule.server,
        "method": rule.methods,
        "resource": rule.resources,
        "prompt": rule.prompts,
        "description": rule.description,
        "rate": None if rule.rate is None else rule.rate.text,
        "expires": rule.expires,
    }
    return {key: value for key, value in fields.items() if value}


_MOST_SHOWN = 10


def print_changes(
    replayed: list[Replayed], changes: list[DecisionChange], *, as_json: bool
) -> None:
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


def _title(change: DecisionChange) -> str:
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


def _change_json(change: DecisionChange) -> dict[str, Any]:
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
