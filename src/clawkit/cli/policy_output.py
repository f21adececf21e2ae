"""What `claw policy` prints: for people by default, as JSON on request."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clawkit.guard.scan import visible

if TYPE_CHECKING:
    from clawkit.cli.policy_files import Made
    from clawkit.guard.policy.explain import Explanation, Reading
    from clawkit.guard.policy.fixtures import Outcome
    from clawkit.guard.policy.learn import Learnt
    from clawkit.guard.policy.lint import Issue
    from clawkit.guard.policy.policy import Decision, Paths, Policy
    from clawkit.guard.policy.rules import Rule

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


def print_outcomes(outcomes: list[Outcome], *, as_json: bool) -> None:
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


def _outcome_line(outcome: Outcome, width: int) -> str:
    decision = outcome.decision
    assert decision is not None  # the caller prints only what was decided
    file = visible(outcome.file).ljust(width)
    by = f"({rule_label(decision.rule)})"
    if outcome.failed:
        return f"FAIL {file}  expected {outcome.expected}, got {decision.action} {by}"
    mark = "-   " if outcome.expected is None else "ok  "
    return f"{mark} {file}  {decision.action}  {by}"


def _outcome_json(outcome: Outcome) -> dict[str, Any]:
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


def _near_line(reading: Reading) -> str:
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
    from clawkit.guard.policy.fixtures import fixture_json
    from clawkit.guard.policy.learn import fixture_name

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
