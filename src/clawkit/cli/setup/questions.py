"""Questions of `claw setup` at a terminal, each repeated until its answer is valid."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence

from clawkit.cli.commands import say
from clawkit.errors import SettingsError
from clawkit.text.normalization import visible

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
_KEY = re.compile(r"(?:sk|rk|pk|gsk|xai|hf|nvapi|pplx)[-_]|AIza|AKIA", re.IGNORECASE)
"""How keys of providers begin, and no name of a model."""
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def ask(question: str, default: str, check: Callable[[str], object]) -> str:
    """Asks until the answer is one; an empty one is the default."""
    while True:
        answer = _line(f"{question}{f' [{default}]' if default else ''}: ").strip() or default
        try:
            check(answer)
        except SettingsError as error:
            say(visible(str(error)))
            continue
        return answer


def _line(question: str) -> str:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.output import create_output

    session: PromptSession[str] = PromptSession(output=create_output(sys.stderr))
    return session.prompt(question)


def agreed(question: str, *, default: bool) -> bool:
    choices = {"y": True, "yes": True, "n": False, "no": False, "": default}

    def known(answer: str) -> None:
        if answer.casefold() not in choices:
            raise SettingsError("answer y or n")

    return choices[ask(f"{question} {'[Y/n]' if default else '[y/N]'}", "", known).casefold()]


def one_of(question: str, choices: Sequence[str], default: str) -> str:
    """One of a few words, of which the first letter is enough."""
    letters = {word[0]: word for word in choices}

    def known(answer: str) -> None:
        if answer.casefold()[:1] not in letters:
            raise SettingsError(f"answer {', '.join(letters)}")

    return letters[ask(question, default[0], known).casefold()[0]]


def some_of(question: str, items: Sequence[str], default: str) -> list[int]:
    """The places of the chosen items, which are listed with numbers: all, none, or some."""
    for number, item in enumerate(items, 1):
        say(f"  {number}  {visible(item)}")

    def places(answer: str) -> list[int]:
        if answer.casefold() in ("all", "none"):
            return list(range(len(items))) if answer.casefold() == "all" else []
        numbers = answer.replace(",", " ").split()
        if not all(one.isdecimal() and 1 <= int(one) <= len(items) for one in numbers):
            raise SettingsError(f"answer all, none, or numbers from 1 to {len(items)}")
        return sorted({int(one) - 1 for one in numbers})

    return places(ask(f"{question} (all, none, or numbers)", default, places))


def numbered(question: str, items: Sequence[str], default: str) -> str:
    """One of the listed models by its number, or another's name."""
    for number, item in enumerate(items, 1):
        say(f"  {number}  {visible(item)}")
    answer = ask(question, default, valid_model)
    known = answer.isdecimal() and 1 <= int(answer) <= len(items)
    return items[int(answer) - 1] if known else answer


def ask_key(question: str) -> str:
    """Asks for a key, which is not shown, until it can be one."""
    import getpass

    while True:
        try:
            return valid_key(getpass.getpass(question, stream=sys.stderr))
        except SettingsError as error:
            say(visible(str(error)))


def something(answer: str) -> None:
    if not answer:
        raise SettingsError("there is no default: write one")


def valid_model(name: str) -> None:
    something(name)
    no_key(name, "a model's name")


def no_key(text: str, wanted: str) -> None:
    """Refuse what looks like a key where a name is wanted; it is not repeated."""
    from clawkit.text.secrets import redact_secrets

    if redact_secrets(text)[1] or any(map(_KEY.match, text.split("/"))):
        problem = f"this looks like a key, and {wanted} is wanted: keys are asked for by themselves"
        raise SettingsError(f"{problem}, or read from stdin with --key-stdin").of_usage()


def valid_name(name: str) -> None:
    no_key(name, "a provider's name")
    if not _NAME.fullmatch(name):
        problem = f"`{name}` cannot be a provider's name: use small letters, digits, - _"
        raise SettingsError(problem).of_usage()


def valid_variable(name: str) -> None:
    if not _VARIABLE.fullmatch(name):
        # What was given is not repeated: it may be the key itself.
        problem = "--key-env wants the name of a variable, such as MY_KEY"
        raise SettingsError(problem).of_usage()


def valid_key(text: str) -> str:
    key = text.strip()
    if not key or not key.isprintable() or " " in key:
        raise SettingsError("the key is empty or not one word").of_usage()
    return key
