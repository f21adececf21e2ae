"""Calls to try a policy with: fixtures in JSON files, or typed as a tool and its arguments."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import msgspec

from clawkit.errors import InvalidParamsError, PolicyError
from clawkit.guard.policy.call import Call, call_of
from clawkit.guard.policy.parser import decoded_policy, read_policy
from clawkit.guard.policy.policy import Decision, Paths, Policy
from clawkit.guard.policy.rules import Action, Rule
from clawkit.guard.strict_parser import refuse_constant, refuse_duplicates

ACTIONS: tuple[Action, ...] = ("allow", "deny", "prompt")
NAMELESS = ("",)
"""The names of a server that nobody named: a rule for a certain server does not match it."""

NO_POLICY = "`claw policy init` makes a policy"
CHECK_PATH = "check the path"
"""What to do about a file that is not there: the one in use, and one that was named."""

_FIELDS = ("method", "params", "expected", "server", "cwd", "home")


class Fixture(msgspec.Struct, frozen=True):
    """A call, where it would happen, and what is expected. The file's machine plays no part."""

    file: str
    call: Call
    expected: Action | None = None
    server: str = ""
    cwd: str | None = None
    home: str | None = None


class FixtureOutcome(msgspec.Struct, frozen=True):
    """What a policy decided about a fixture; `problem` says why it could not be asked."""

    file: str
    expected: Action | None = None
    decision: Decision | None = None
    problem: str = ""

    @property
    def failed(self) -> bool:
        if self.decision is None or self.expected is None:
            return False
        return self.decision.action != self.expected


def load_policy(path: Path, missing: str = NO_POLICY, profile: tuple[Rule, ...] = ()) -> Policy:
    """The policy in a file. Raises PolicyError, also where the guard would deny everything."""
    return read_policy(read_text(path, missing), str(path), profile)


def read_text(path: Path, missing: str = CHECK_PATH) -> str:
    """A file's text. Raises PolicyError with what to do about it."""
    try:
        return decoded_policy(path.read_bytes(), str(path))
    except FileNotFoundError:
        raise PolicyError(str(path), 0, f"there is no such file: {missing}") from None
    except OSError as error:
        raise PolicyError(str(path), 0, f"cannot be read: {error.strerror}") from None


def fixtures_in(directory: Path) -> list[Path]:
    """Every *.json below a directory, in the order of their names."""
    if not directory.is_dir():
        raise PolicyError(str(directory), 0, "there is no such directory")
    found = sorted(path for path in directory.rglob("*.json") if path.is_file())
    if not found:
        raise PolicyError(str(directory), 0, "has no *.json in it, so nothing was tested")
    return found


def run(
    policy: Policy, files: list[Path], *, expect: Action | None = None, server: str | None = None
) -> Iterator[FixtureOutcome]:
    """Decide each fixture; `expect` and `server` stand over what the fixtures say."""
    for file in files:
        try:
            fixture = read_fixture(read_text(file), str(file))
        except PolicyError as error:
            yield FixtureOutcome(file=str(file), problem=str(error))
            continue
        yield FixtureOutcome(
            file=str(file),
            expected=expect or fixture.expected,
            decision=decide(policy, fixture, server),
        )


def decide(policy: Policy, fixture: Fixture, server: str | None = None) -> Decision:
    """What a policy says about a fixture, with paths as text: the same on every machine."""
    name = fixture.server if server is None else server
    servers = (name,) if name else NAMELESS
    return policy.decide(fixture.call, servers, Paths(cwd=fixture.cwd, home=fixture.home))


def read_fixture(text: str, file: str) -> Fixture:
    """The fixture that a file's text says. Raises PolicyError with the line and the reason."""
    content = _parsed(text, file)
    _refuse_near_misses(content, file)
    expected = content.get("expected")
    if expected is not None and expected not in ACTIONS:
        raise PolicyError(file, 0, f'"expected" is {expected!r}, but can be allow, deny or prompt')
    return Fixture(
        file=file,
        call=_call(content, file),
        expected=expected,
        server=_text(content, "server", file) or "",
        cwd=_text(content, "cwd", file),
        home=_text(content, "home", file),
    )


def fixture_json(fixture: Fixture) -> str:
    """A fixture as the text of its file; `read_fixture` gives the same one back."""
    content: dict[str, Any] = {
        "method": fixture.call.method,
        "params": params_of(fixture.call),
        "expected": fixture.expected,
        "server": fixture.server or None,
        "cwd": fixture.cwd,
        "home": fixture.home,
    }
    kept = {key: value for key, value in content.items() if value is not None}
    return json.dumps(kept, indent=2) + "\n"


def params_of(call: Call) -> dict[str, Any]:
    """The parameters of a request that is this call."""
    if call.method == "tools/call":
        return {"name": call.tool, "arguments": call.arguments}
    if call.method == "prompts/get":
        given = {_own(key): value for key, value in call.arguments.items() if key != "name"}
        return {"name": call.arguments.get("name"), "arguments": given}
    return call.arguments


def _own(key: str) -> str:
    """A prompt's argument as the request calls it: `call_of` moves one called `name` aside."""
    inner = key.removeprefix("arguments.")
    return inner if inner.rpartition("arguments.")[2] == "name" else key


def _parsed(text: str, file: str) -> dict[str, Any]:
    try:
        # What the guard refuses is refused here too: no decision about it would mean anything.
        content = json.loads(
            text, object_pairs_hook=refuse_duplicates, parse_constant=refuse_constant
        )
    except json.JSONDecodeError as error:
        raise PolicyError(file, error.lineno, f"not JSON: {error.msg}") from None
    except RecursionError:
        raise PolicyError(file, 0, "nested too deeply to be a call") from None
    except ValueError as error:
        raise PolicyError(file, 0, str(error)) from None
    if not isinstance(content, dict):
        raise PolicyError(file, 0, 'must be an object with "method" and "params"')
    return cast("dict[str, Any]", content)


def _refuse_near_misses(content: dict[str, Any], file: str) -> None:
    """A misspelt `expected` would test nothing, and nobody would notice."""
    from difflib import get_close_matches

    for key in content:
        meant = get_close_matches(key.lower(), _FIELDS, n=1, cutoff=0.75)
        if meant and key not in _FIELDS:
            raise PolicyError(file, 0, f'unknown key "{key}": did you mean "{meant[0]}"?')


def _call(content: dict[str, Any], file: str) -> Call:
    method = _text(content, "method", file)
    if not method:
        raise PolicyError(file, 0, 'has no "method", such as "tools/call"')
    params = content.get("params", {})
    if not isinstance(params, dict):
        raise PolicyError(file, 0, '"params" must be an object')
    try:
        return call_of(method, cast("dict[str, Any]", params))
    except InvalidParamsError as error:
        raise PolicyError(file, 0, error.message) from None


def _text(content: dict[str, Any], key: str, file: str) -> str | None:
    value = content.get(key)
    if value is not None and not isinstance(value, str):
        raise PolicyError(file, 0, f'"{key}" must be a string')
    return value


_GIVEN = "CALL"
_USAGE = ": write TOOL NAME=VALUE …, or JSON"
_METHOD_FAMILIES = ("completion", "elicitation", "resources", "sampling", "subscriptions")


def typed_call(text: str) -> Fixture:
    """The call in JSON text, or in `tool name=value …`."""
    if text.lstrip().startswith("{"):
        return read_fixture(_as_request(text), _GIVEN)
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise _usage_error(f"{error}{_USAGE}") from None
    if not words:
        raise _usage_error(f"it is empty{_USAGE}")
    return call_from_words(words)


def _usage_error(reason: str) -> PolicyError:
    return PolicyError(_GIVEN, 0, reason).of_usage()


def paths_for(fixture: Fixture, cwd: Path | None, *, as_text: bool) -> Paths:
    """This machine, or nothing but the text."""
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


def call_from_words(words: list[str]) -> Fixture:
    """The call of a tool, or of a method, with the arguments that follow its name."""
    if "=" in words[0]:
        raise _usage_error(f"{words[0]!r} is an argument, and no tool is named before it{_USAGE}")
    name, arguments = words[0], _arguments(words[1:])
    family, slash, _ = name.partition("/")
    try:
        if name == "prompts/get":
            prompt = arguments.pop("name", None)
            return Fixture(_GIVEN, call_of(name, {"name": prompt, "arguments": arguments}))
        if slash and family in _METHOD_FAMILIES:
            return Fixture(_GIVEN, call_of(name, arguments))
        return Fixture(_GIVEN, call_of("tools/call", {"name": name, "arguments": arguments}))
    except InvalidParamsError as error:
        raise _usage_error(error.message) from None


def _arguments(words: list[str]) -> dict[str, Any]:
    """`a.b=1` is {"a": {"b": 1}}; what is no JSON is text."""
    found: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not name:
            raise _usage_error(f"{word!r} is no argument: write NAME=VALUE")
        place = found
        *above, last = name.split(".")
        for part in above:
            inner = place.setdefault(part, {})
            if not isinstance(inner, dict):
                raise _usage_error(f"{part!r} in {word!r} has a value already")
            place = cast("dict[str, Any]", inner)
        place[last] = _value(text)
    return found


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
