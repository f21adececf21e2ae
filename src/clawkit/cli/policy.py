"""`claw policy`: make a policy, test it, explain a decision, and learn one from the audit."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import typer

from clawkit.cli.commands import (
    AsJson,
    CommandFailure,
    command_group,
    print_ascii_json,
    print_lines,
    read_stdin,
)
from clawkit.cli.tables import table_lines
from clawkit.errors import ClawError, PolicyError
from clawkit.guard.authoring.default_policy import DEFAULT_POLICY, write_default_policy
from clawkit.guard.authoring.edit import backup_path
from clawkit.guard.authoring.explain import Explanation, RuleReport
from clawkit.guard.authoring.explain import explain as explain_call
from clawkit.guard.authoring.fixtures import (
    CHECK_PATH,
    NAMELESS,
    NO_POLICY,
    Fixture,
    FixtureOutcome,
    call_from_words,
    fixture_json,
    fixtures_in,
    load_policy,
    paths_for,
    read_fixture,
    read_text,
    run,
    typed_call,
)
from clawkit.guard.authoring.learn import Learnt, fixture_name
from clawkit.guard.authoring.learn import learn as learn_from
from clawkit.guard.authoring.lint import Issue, lint_file
from clawkit.guard.authoring.replay import (
    DecisionChange,
    Recorded,
    Replayed,
    changes,
    recorded_calls,
)
from clawkit.guard.authoring.replay import replay as replay_calls
from clawkit.guard.locations import policy_file
from clawkit.guard.policy.policy import Decision, Paths, Policy
from clawkit.guard.policy.reloader import PolicyFile
from clawkit.guard.policy.rules import Rule
from clawkit.guard.profiles.profile import (
    profile_about,
    profile_names,
    profile_of_server,
    profile_text,
)
from clawkit.system import files
from clawkit.text.counts import counted
from clawkit.text.normalization import visible


def call_from(words: list[str]) -> Fixture:
    """A fixture from a file, from stdin, from JSON text or from `tool name=value …`."""
    first = words[0]
    if len(words) > 1:
        return call_from_words(words)
    if first == "-":
        return read_fixture(read_stdin(), "stdin")
    is_json = first.lstrip().startswith("{")
    if not is_json and (Path(first).is_file() or first.endswith(".json")):
        return read_fixture(read_text(Path(first)), first)
    return typed_call(first)


app = command_group("Make, test and understand the guard's policy.")

PolicyOption = Annotated[
    Path | None,
    typer.Option("--policy", metavar="FILE", help="The policy; without, the one in use."),
]
ServerOption = Annotated[
    str | None, typer.Option("--server", metavar="NAME", help="The server that is called.")
]
AuditArgument = Annotated[
    Path, typer.Argument(metavar="AUDIT", help="A directory or a file of audit records.")
]


@app.command("test")
def run_fixtures(
    policy: PolicyOption = None,
    fixture: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="A call in JSON; can be given again."),
    ] = None,
    fixture_dir: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Every *.json in it and below.")
    ] = None,
    expect: Annotated[
        Literal["allow", "deny", "prompt"] | None,
        typer.Option(help="What each is expected to be, whatever it says itself."),
    ] = None,
    server: ServerOption = None,
    as_json: AsJson = False,
) -> None:
    """Decide fixtures, and fail if one is not decided as expected.

    Paths are compared as text, so that a fixture decides the same on every machine.
    """
    if not fixture and fixture_dir is None:
        raise typer.BadParameter("give --fixture FILE or --fixture-dir DIR")
    paths, problems = list(fixture or ()), list[str]()
    try:
        rules = _load(policy)
    except PolicyError as error:
        raise CommandFailure(str(error), 2) from None
    try:
        paths += fixtures_in(fixture_dir) if fixture_dir is not None else []
    except PolicyError as error:
        problems.append(str(error))
    outcomes = list(run(rules, paths, expect=expect, server=server))
    problems += [outcome.problem for outcome in outcomes if outcome.problem]
    print_outcomes(outcomes, as_json=as_json)
    if problems:
        raise CommandFailure("\n".join(problems), 2)
    raise typer.Exit(int(any(outcome.failed for outcome in outcomes)))


@app.command()
def explain(
    call: Annotated[
        list[str],
        typer.Argument(
            metavar="CALL",
            help="A fixture file, - for one on stdin, JSON, or: TOOL NAME=VALUE …",
        ),
    ],
    policy: PolicyOption = None,
    server: ServerOption = None,
    cwd: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The server's directory; without, this one.")
    ] = None,
    text: Annotated[
        bool, typer.Option("--text", help="Compare paths as text, as `policy test` does.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Say which rule decides about a call, why, and which rules came close."""
    # Before there is a policy, the guard goes by one that refuses, and so does this.
    absent = policy is None and not os.path.lexists(policy_file())
    fixture = call_from(call)
    name = fixture.server if server is None else server
    rules = PolicyFile(policy_file()).current() if absent else _load(policy, name)
    servers = (name,) if name else NAMELESS
    paths = paths_for(fixture, cwd, as_text=text)
    explanation = explain_call(rules, fixture.call, servers, paths)
    print_explanation(explanation, paths, rules.problem, as_json=as_json)


@app.command()
def lint(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="The same as --policy FILE.")
    ] = None,
    policy: PolicyOption = None,
    strict: Annotated[bool, typer.Option("--strict", help="Fail on warnings too.")] = False,
    as_json: AsJson = False,
) -> None:
    """Look for rules that never decide, patterns that miss, and other traps."""
    if file is not None and policy is not None:
        raise typer.BadParameter("give the policy once: --policy FILE, or FILE")
    given = policy or file
    path = given or policy_file()
    issues = lint_file(path, _if_missing(given))
    print_issues(path, issues, as_json=as_json)
    failing = {"error", "warning"} if strict else {"error"}
    raise typer.Exit(int(any(issue.level in failing for issue in issues)))


@app.command()
def replay(
    audit: AuditArgument,
    policy: Annotated[Path, typer.Option(metavar="NEW", help="The policy to try.")],
    fail_on_change: Annotated[
        bool, typer.Option("--fail-on-change", help="Exit with 1 if a decision changes.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Decide recorded calls anew: what would another policy change?"""
    problems: list[str] = []
    calls = list[Recorded]()
    try:
        _load(policy)
    except ClawError as error:
        problems.append(str(error))
    try:
        calls = recorded_calls(audit)
    except ClawError as error:
        problems.append(str(error))
    if problems:
        raise CommandFailure("\n".join(problems))
    replayed = replay_calls(lambda server: _load(policy, server), calls)
    print_changes(replayed, changes(replayed), as_json=as_json)
    raise typer.Exit(int(fail_on_change and any(item.changed for item in replayed)))


@app.command()
def learn(
    audit: AuditArgument,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the policy here; it must be new.")
    ] = None,
    fixtures: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write a fixture for each distinct call.")
    ] = None,
    server: ServerOption = None,
    as_json: AsJson = False,
) -> None:
    """Make a minimal policy from what was seen and allowed, and fixtures that test it."""
    calls = recorded_calls(audit)
    learnt = learn_from([c for c in calls if server is None or c.server == server])
    if out is not None:
        write_new(out, learnt.policy)
    if fixtures is not None:
        write_fixtures(fixtures, learnt.fixtures)
    print_learnt(learnt, out, fixtures, as_json=as_json)


@app.command()
def init(
    force: Annotated[
        bool, typer.Option("--force", help="Replace the policy; the old one is kept beside it.")
    ] = False,
    to_stdout: Annotated[bool, typer.Option("--print", help="Print it and write nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write the default policy: secrets denied, shells and all the rest prompted."""
    if to_stdout:
        print(DEFAULT_POLICY, end="")
        return
    made = make_default(policy_file(), force=force)
    print_made(made, as_json=as_json)
    raise typer.Exit(int(not made.written))


@app.command()
def show(policy: PolicyOption = None, server: ServerOption = None, as_json: AsJson = False) -> None:
    """List the rules of the policy in short; for a wrapped server, with those of its profile."""
    print_rules(policy or policy_file(), _load(policy, server), as_json=as_json)


@app.command()
def profiles(
    name: Annotated[
        str | None, typer.Argument(metavar="PROFILE", help="Print this one, as TOML.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the profiles of known servers, or print one: what they may do unasked."""
    names = profile_names()
    if name is None:
        found = [(each, *profile_about(each)) for each in names]
        if as_json:
            print_ascii_json([{"name": n, "passes": p, "asks": a} for n, p, a in found])
        else:
            rows = [("profile", "passes unasked", "asks"), *found]
            print_lines(table_lines(rows))
    elif name in names:
        print_lines([profile_text(name).rstrip("\n")])
    else:
        raise CommandFailure(f"no profile is called {name!r}: there are {', '.join(names)}", 2)


def _load(given: Path | None, server: str | None = None) -> Policy:
    """The policy; with the profile's rules where a wrapped server of this name has one."""
    path, missing = given or policy_file(), _if_missing(given)
    profile = server and profile_of_server(server, str(Path.cwd()), str(Path.home()))
    return load_policy(path, missing, profile.rules if profile else ())


def _if_missing(given: Path | None) -> str:
    """`policy init` makes the policy in use, not one that was named."""
    return NO_POLICY if given is None else CHECK_PATH


class Made(msgspec.Struct, frozen=True):
    """A policy file: whether it was written now, and where the one before it went."""

    path: Path
    written: bool
    backup: Path | None = None


def make_default(path: Path, *, force: bool) -> Made:
    """The default policy, unless there is one; with `force` that one is moved beside it."""
    backup = None
    try:
        if force and path.exists():
            backup = backup_path(path)
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
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write_new(path, text.encode())
    except FileExistsError:
        raise PolicyError(str(path), 0, "exists already: choose another name") from None
    except OSError as error:
        raise PolicyError(str(path), 0, f"cannot be written: {error.strerror}") from None


def write_fixtures(directory: Path, fixtures: tuple[Fixture, ...]) -> None:
    """One file for each; those of an earlier run are the same files."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for fixture in fixtures:
            place = directory / fixture_name(fixture)
            files.write_whole(place, fixture_json(fixture).encode())
    except OSError as error:
        raise PolicyError(str(directory), 0, f"cannot be written: {error.strerror}") from None


_NO_RULE = "no rule matches"


def rule_label(rule: Rule | None) -> str:
    """`rule 3: Block keys`."""
    if rule is None:
        return _NO_RULE
    said = f": {visible(rule.description, 100)}" if rule.description else ""
    profile = f" (profile {rule.profile})" if rule.profile else ""
    return f"rule {rule.number}{profile}{said}"


def print_outcomes(outcomes: list[FixtureOutcome], *, as_json: bool) -> None:
    """One line a fixture, and a count."""
    if as_json:
        print_ascii_json({"fixtures": [_outcome_json(outcome) for outcome in outcomes]})
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
    print(f"{counted(len(outcomes), 'fixture')}: {told or 'nothing was tested'}")


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


def print_explanation(
    explanation: Explanation, paths: Paths, problem: str, *, as_json: bool
) -> None:
    """The decision, its reasons or the problem behind it, near misses, what would be needed."""
    because = [problem] if problem else [clause.text for clause in explanation.because]
    needed = () if problem else explanation.needed
    if as_json:
        reasons = {"because": because, "needed": needed}
        print_ascii_json({**_explanation_json(explanation), **reasons})
        return
    call, decision = explanation.call, explanation.decision
    print(f"{decision.action}  {_at(decision.rule)}")
    print(f"  call     {visible(call.tool, 200)} {_shown(call.arguments)}")
    _print_all("because", because or [_default(explanation)])
    _print_all("near", [_near_line(reading) for reading in explanation.near])
    _print_all("needed", needed)
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


def _print_all(label: str, texts: Iterable[str]) -> None:
    for text in texts:
        print(f"  {label:<8} {visible(text)}")
        label = ""


def _shown(arguments: dict[str, Any]) -> str:
    return visible(json.dumps(arguments, ensure_ascii=False), 300)


def _explanation_json(explanation: Explanation) -> dict[str, Any]:
    return {
        "method": explanation.call.method,
        "tool": explanation.call.tool,
        "arguments": explanation.call.arguments,
        **decision_json(explanation.decision),
        "near": [
            {
                "rule": reading.rule.number,
                "action": reading.rule.action,
                "missing": [clause.text for clause in reading.missing],
            }
            for reading in explanation.near
        ],
    }


def print_issues(path: Path, issues: list[Issue], *, as_json: bool) -> None:
    """One line a remark, as compilers print them, and a count."""
    if as_json:
        remarks = [
            {"level": i.level, "line": i.line, "rule": i.rule or None, "reason": i.reason}
            for i in issues
        ]
        print_ascii_json({"policy": str(path), "issues": remarks})
        return
    file = visible(str(path))
    for issue in issues:
        place = f"{file}:{issue.line}" if issue.line else file
        print(f"{place}: {issue.level}: {visible(issue.reason)}")
    counts = [
        counted(number, level)
        for level in ("error", "warning", "note")
        if (number := sum(issue.level == level for issue in issues))
    ]
    print(", ".join(counts) or f"{file}: nothing to remark")


def print_made(made: Made, *, as_json: bool) -> None:
    path = visible(str(made.path))
    if as_json:
        backup = None if made.backup is None else str(made.backup)
        print_ascii_json({"policy": str(made.path), "written": made.written, "backup": backup})
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
        made = counted(len(learnt.fixtures), "fixture")
        test = f"claw policy test --policy {out or 'FILE'} --fixture-dir {fixtures}"
        print(f"{made}: {test}", file=sys.stderr)


def _print_learnt_json(learnt: Learnt, out: Path | None, fixtures: Path | None) -> None:
    print_ascii_json(
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
    if as_json:
        rules = [_rule_json(rule) for rule in policy.rules]
        print_ascii_json({"policy": str(path), "digest": policy.digest, "rules": rules})
        return
    print(f"{visible(str(path))}  {counted(policy.written, 'rule')}, the first match decides")
    taken = {rule.number for rule in policy.rules}
    rows = [_rule_row(rule) for rule in policy.rules]
    rows += [_place_row(*place) for place in policy.places.items() if place[0] not in taken]
    if rows:
        print_lines(table_lines(sorted(rows, key=lambda row: int(row[0]))))
    print(
        "What no rule matches is denied if it is a tool call, a resource, a prompt or sampling; "
        "other methods pass."
    )


def _rule_row(rule: Rule) -> tuple[str, str, str, str]:
    parts = [_subject(rule)]
    parts += [f"{argument.label}={_few(argument.patterns)}" for argument in rule.args]
    parts += ["only_args"] if rule.only_args else []
    parts += ["confined"] if rule.confined else []
    parts += [f"server={_few(rule.server)}"] if rule.server else []
    parts += [f"rate={rule.rate}"] if rule.rate else []
    matched = visible("  ".join(parts), 100)
    said = f"{rule.description} (profile {rule.profile})" if rule.profile else rule.description
    return f"{rule.number:>3}", rule.action, matched, visible(said, 80)


def _place_row(number: int, place: str) -> tuple[str, str, str, str]:
    said = "A known server's own rules stand here: `claw policy profiles`"
    return f"{number:>3}", "profile", place, said


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
        "confined": rule.confined,
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
    asked = (item.recorded for item in replayed if item.recorded.answer)
    answered = sum(recorded.count for recorded in asked if not recorded.unanswered)
    if as_json:
        summary = {"calls": total, "changed": changed, "uncertain": unsure, "answered": answered}
        print_ascii_json({**summary, "changes": [_change_json(change) for change in changes]})
        return
    # As `claw log stats` counts: what needs no decision of the policy is no call.
    others = sum(item.recorded.count for item in replayed if item.recorded.decision == "pass")
    beside = f" and {counted(others, 'other request')}" if others else ""
    print(
        f"{counted(total - others, 'call')}{beside}: {total - changed - unsure} stay, "
        f"{changed} change"
    )
    if unsure:
        print(f"{counted(unsure, 'call')} uncertain: the audit has their arguments redacted or cut")
    if answered:
        print(f"{counted(answered, 'prompt')} answered by a person: the answer is what counts")
    for change in changes:
        print()
        print(f"{_title(change)}  ({counted(change.count, 'call')})")
        for recorded in change.calls[:_MOST_SHOWN]:
            print(f"  {_call_line(recorded)}")
        if len(change.calls) > _MOST_SHOWN:
            print(f"  … and {len(change.calls) - _MOST_SHOWN} more kinds; --json has them all")
    print("\nPaths were compared as text.")


def _title(change: DecisionChange) -> str:
    said = f" ({visible(change.came_of_it, 100)})" if change.came_of_it else ""
    by = f"by rule {change.was_rule}" if change.was_rule else "by no rule"
    was = f"{change.was}{said} {by}"
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
        "unanswered": change.unanswered or None,
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
