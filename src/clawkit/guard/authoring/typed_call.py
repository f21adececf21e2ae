"""A call as a person types it: JSON, or a tool's name and its arguments."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import Any, cast

from clawkit.errors import InvalidParamsError, PolicyError
from clawkit.guard.authoring.fixtures import Fixture, read_fixture
from clawkit.guard.policy.call import call_of
from clawkit.guard.policy.policy import Paths

_GIVEN = "CALL"


def typed_call(text: str) -> Fixture:
    """The call in JSON text, or in `tool name=value …`."""
    if text.lstrip().startswith("{"):
        return read_fixture(_as_request(text), _GIVEN)
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise _not_a_call(str(error)) from None
    if not words:
        raise _not_a_call("it is empty")
    return call_from_words(words)


def _not_a_call(why: str) -> PolicyError:
    return PolicyError(_GIVEN, 0, f"{why}: write TOOL NAME=VALUE …, or JSON").of_usage()


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
        raise _not_a_call(f"{words[0]!r} is an argument, and no tool is named before it")
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
        raise PolicyError(_GIVEN, 0, error.message).of_usage() from None


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
            raise PolicyError(_GIVEN, 0, f"{word!r} is no argument: write NAME=VALUE").of_usage()
        place = found
        *above, last = name.split(".")
        for part in above:
            inner = place.setdefault(part, {})
            if not isinstance(inner, dict):
                raise PolicyError(_GIVEN, 0, f"{part!r} in {word!r} has a value already").of_usage()
            place = cast("dict[str, Any]", inner)
        place[last] = _value(text)
    return found


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
