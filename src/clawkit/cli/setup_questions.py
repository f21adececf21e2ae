"""Questions on the terminal, and which answers will do."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable

from clawkit.cli.rows import shown
from clawkit.errors import SettingsError

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def ask(question: str, default: str, check: Callable[[str], object]) -> str:
    """Asks until the answer is one; an empty one is the default."""
    while True:
        say(f"{question}{f' [{default}]' if default else ''}: ", end="")
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        answer = line.strip() or default
        try:
            check(answer)
        except SettingsError as error:
            say(shown(str(error)))
            continue
        return answer


def agreed(question: str, *, default: bool) -> bool:
    choices = {"y": True, "yes": True, "n": False, "no": False, "": default}

    def known(answer: str) -> None:
        if answer.casefold() not in choices:
            raise SettingsError("answer y or n")

    return choices[ask(f"{question} {'[Y/n]' if default else '[y/N]'}", "", known).casefold()]


def ask_key(question: str) -> str:
    """Asks for a key, which is not shown, until it can be one."""
    import getpass

    while True:
        try:
            return valid_key(getpass.getpass(question, stream=sys.stderr))
        except SettingsError as error:
            say(shown(str(error)))


def something(answer: str) -> None:
    if not answer:
        raise SettingsError("there is no default: write one")


def valid_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise SettingsError(f"`{name}` cannot be a provider's name: use small letters, digits, - _")


def valid_variable(name: str) -> None:
    if not _VARIABLE.fullmatch(name):
        # What was given is not repeated: it may be the key itself.
        raise SettingsError("--key-env wants the name of a variable, such as MY_KEY")


def valid_key(text: str) -> str:
    key = text.strip()
    if not key or not key.isprintable() or " " in key:
        raise SettingsError("the key is empty or not one word")
    return key


def say(text: str, end: str = "\n") -> None:
    """Questions and remarks; stdout has the result only."""
    print(text, end=end, file=sys.stderr, flush=True)
