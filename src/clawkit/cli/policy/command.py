"""`claw policy`: make a policy, test it, explain a decision, and learn one from the audit."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, cast

import typer

from clawkit.errors import ClawError, InvalidParamsError, PolicyError

if TYPE_CHECKING:
    from clawkit.guard.authoring.fixtures import Fixture
    from clawkit.guard.policy.policy import Paths, Policy

_GIVEN = "CALL"


def call_from(words: list[str]) -> Fixture:
    """A fixture from a file, from stdin, from JSON text or from `tool name=value …`."""
    from clawkit.guard.authoring.fixtures import read_fixture, read_text

    first = words[0]
    if len(words) > 1:
        return _from_words(words)
    if first == "-":
        return read_fixture(sys.stdin.read(), "stdin")
    if first.lstrip().startswith("{"):
        return read_fixture(_as_request(first), _GIVEN)
    if Path(first).is_file() or first.endswith(".json"):
        return read_fixture(read_text(Path(first)), first)
    if " " in first:
        import shlex

        return _from_words(shlex.split(first))
    return _from_words(words)


def paths_for(fixture: Fixture, cwd: Path | None, *, as_text: bool) -> Paths:
    """This machine, or nothing but the text."""
    from clawkit.guard.policy.policy import Paths

    given = fixture.cwd if cwd is None else os.fspath(cwd)
    if as_text:
        return Paths(cwd=given, home=fixture.home)
    place = os.path.abspath(given or os.curdir)  # noqa: PTH100 - links are for the guard to follow
    return Paths(cwd=place, home=fixture.home or os.path.expanduser("~"), resolve=True)  # noqa: PTH111 - text


def _as_request(text: str) -> str:
    """The parameters of a tool call stand for the whole request."""
    try:
        content = json.loads(text)
    except ValueError:
        return text
    if "name" in content and "method" not in content:
        return f'{{"method": "tools/call", "params": {text}}}'
    return text


def _from_words(words: list[str]) -> Fixture:
    from clawkit.guard.authoring.fixtures import Fixture
    from clawkit.guard.policy.call import call_of

    tool, arguments = words[0], _arguments(words[1:])
    params: dict[str, Any] = {"name": tool, "arguments": arguments}
    method = "tools/call"
    if tool == "prompts/get":
        method = tool
        name = arguments.pop("name", None)
        params = {"name": name, "arguments": arguments}
    elif _is_method(tool):
        method, params = tool, arguments
    try:
        return Fixture(_GIVEN, call_of(method, params))
    except InvalidParamsError as error:
        raise PolicyError(_GIVEN, 0, error.message) from None


def _is_method(word: str) -> bool:
    family, slash, _ = word.partition("/")
    known = ("completion", "elicitation", "resources", "sampling", "subscriptions")
    return bool(slash) and family in known


def _arguments(words: list[str]) -> dict[str, Any]:
    """`a.b=1` is {"a": {"b": 1}}; what is no JSON is text."""
    found: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not name:
            raise PolicyError(_GIVEN, 0, f"{word!r} is no argument: write NAME=VALUE")
        place = found
        *above, last = name.split(".")
        for part in above:
            inner = place.setdefault(part, {})
            if not isinstance(inner, dict):
                raise PolicyError(_GIVEN, 0, f"{part!r} in {word!r} has a value already")
            place = cast("dict[str, Any]", inner)
        place[last] = _value(text)
    return found


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


_Given = TypeVar("_Given")
_Read = TypeVar("_Read")

app = typer.Typer(
    help="Make, test and understand the guard's policy.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

PolicyOption = Annotated[
    Path | None,
    typer.Option("--policy", metavar="FILE", help="The policy; without, the one in use."),
]
ServerOption = Annotated[
    str | None, typer.Option("--server", metavar="NAME", help="The server that is called.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
AuditArgument = Annotated[
    Path, typer.Argument(metavar="AUDIT", help="A directory or a file of audit records.")
]


class Expected(StrEnum):
    """What a policy can decide."""

    allow = "allow"
    deny = "deny"
    prompt = "prompt"


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
        Expected | None, typer.Option(help="What each is expected to be, whatever it says itself.")
    ] = None,
    server: ServerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Decide fixtures, and fail if one is not decided as expected.

    Paths are compared as text, so that a fixture decides the same on every machine.
    """
    from clawkit.cli.policy.output import print_outcomes
    from clawkit.guard.authoring.fixtures import fixtures_in, run

    if not fixture and fixture_dir is None:
        raise typer.BadParameter("give --fixture FILE or --fixture-dir DIR")
    files, status = list(fixture or ()), 0
    try:
        rules = _load(policy)
    except PolicyError as error:
        _complain("test", error)
        raise typer.Exit(2) from None
    try:
        files += fixtures_in(fixture_dir) if fixture_dir is not None else []
    except PolicyError as error:
        _complain("test", error)
        status = 2
    wanted = None if expect is None else expect.value
    outcomes = list(run(rules, files, expect=wanted, server=server))
    for outcome in outcomes:
        if outcome.problem:
            _complain("test", outcome.problem)
            status = 2
    print_outcomes(outcomes, as_json=as_json)
    raise typer.Exit(status or int(any(outcome.failed for outcome in outcomes)))


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
    as_json: JsonOption = False,
) -> None:
    """Say which rule decides about a call, why, and which rules came close."""
    from clawkit.cli.policy.output import print_explanation
    from clawkit.guard.authoring.explain import explain as explain_call
    from clawkit.guard.authoring.fixtures import NAMELESS

    try:
        rules = _load(policy)
        fixture = call_from(call)
    except PolicyError as error:
        _complain("explain", error)
        raise typer.Exit(1) from None
    name = fixture.server if server is None else server
    servers = (name,) if name else NAMELESS
    paths = paths_for(fixture, cwd, as_text=text)
    print_explanation(explain_call(rules, fixture.call, servers, paths), paths, as_json=as_json)


@app.command()
def lint(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="The policy; without, the one in use.")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Fail on warnings too.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Look for rules that never decide, patterns that miss, and other traps."""
    from clawkit.cli.policy.output import print_issues
    from clawkit.guard.authoring.lint import lint_file

    path = _path(file)
    issues = lint_file(path, _if_missing(file))
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
    as_json: JsonOption = False,
) -> None:
    """Decide recorded calls anew: what would another policy change?"""
    from clawkit.cli.policy.output import print_changes
    from clawkit.guard.authoring.replay import changes, recorded_calls
    from clawkit.guard.authoring.replay import replay as replay_calls

    rules, calls = _tried("replay", _load, policy), _tried("replay", recorded_calls, audit)
    if rules is None or calls is None:
        raise typer.Exit(1)
    replayed = replay_calls(rules, calls)
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
    as_json: JsonOption = False,
) -> None:
    """Make a minimal policy from what was seen and allowed, and fixtures that test it."""
    from clawkit.cli.policy.output import print_learnt, write_fixtures, write_new
    from clawkit.guard.authoring.learn import learn as learn_from
    from clawkit.guard.authoring.replay import recorded_calls

    try:
        calls = recorded_calls(audit)
        learnt = learn_from([c for c in calls if server is None or c.server == server])
        if out is not None:
            write_new(out, learnt.policy)
        if fixtures is not None:
            write_fixtures(fixtures, learnt.fixtures)
    except ClawError as error:
        _complain("learn", error)
        raise typer.Exit(1) from None
    print_learnt(learnt, out, fixtures, as_json=as_json)


@app.command()
def init(
    force: Annotated[
        bool, typer.Option("--force", help="Replace the policy; the old one is kept beside it.")
    ] = False,
    to_stdout: Annotated[bool, typer.Option("--print", help="Print it and write nothing.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Write the default policy: secrets denied, shells and all the rest prompted."""
    if to_stdout:
        from clawkit.guard.authoring.default_policy import DEFAULT_POLICY

        print(DEFAULT_POLICY, end="")
        return
    from clawkit.cli.policy.output import make_default, print_made

    path = _path(None)
    try:
        made = make_default(path, force=force)
    except ClawError as error:
        _complain("init", error)
        raise typer.Exit(1) from None
    print_made(made, as_json=as_json)
    raise typer.Exit(int(not made.written))


@app.command()
def show(policy: PolicyOption = None, as_json: JsonOption = False) -> None:
    """List the rules of the policy in short."""
    from clawkit.cli.policy.output import print_rules

    path = _path(policy)
    try:
        rules = _load(policy)
    except PolicyError as error:
        _complain("show", error)
        raise typer.Exit(1) from None
    print_rules(path, rules, as_json=as_json)


def _path(given: Path | None) -> Path:
    from clawkit.guard.locations import policy_file

    return given or policy_file()


def _load(given: Path | None) -> Policy:
    from clawkit.guard.authoring.fixtures import load_policy

    return load_policy(_path(given), _if_missing(given))


def _if_missing(given: Path | None) -> str:
    """`policy init` makes the policy in use, not one that was named."""
    from clawkit.guard.authoring.fixtures import CHECK_PATH, NO_POLICY

    return NO_POLICY if given is None else CHECK_PATH


def _tried(verb: str, read: Callable[[_Given], _Read], given: _Given) -> _Read | None:
    """What is read, or None after a complaint: so that one problem does not hide another."""
    try:
        return read(given)
    except ClawError as error:
        _complain(verb, error)
        return None


def _complain(verb: str, problem: ClawError | str) -> None:
    from clawkit.guard.scan import visible

    print(f"claw policy {verb}: {visible(str(problem))}", file=sys.stderr)
