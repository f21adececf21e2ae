"""API keys from the environment, from `.env` beside the config, or from the keyring.

A key is asked for by the name of its variable and never stands in the config itself.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from msgspec import Struct

from clawkit.assistant.config import Config
from clawkit.assistant.redaction import given_out
from clawkit.errors import SettingsError

Where = Literal["environment", ".env", "keyring"]

_SERVICE = "clawkit"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TEMPLATE = re.compile(r"\$\{([^}]*)\}?")
_ASSIGNMENT = re.compile(r"\s*(?:export\s+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)\s*=\s*(?P<rest>.*)")
_DOUBLE = re.compile(r'"((?:[^"\\]|\\.)*)"')
_SINGLE = re.compile(r"'([^']*)'")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
_PLAIN = re.compile(r"[\w./:@+=,~-]+", re.ASCII)
# What a config may want from the environment without it being a secret.
_NO_SECRETS = re.compile(
    r"HOME|PATH|PWD|USER|LOGNAME|SHELL|LANG|TERM|TMPDIR|TEMP|TMP"
    r"|USERPROFILE|(?:LOCAL)?APPDATA|XDG_\w+|CLAW_HOME"
)


class FoundKey(Struct, frozen=True):
    """A key, and where it was. Nothing that shows this object shows the key."""

    value: str
    where: Where

    def __repr__(self) -> str:
        return f"FoundKey(where={self.where!r})"

    def __rich_repr__(self) -> list[tuple[str, str]]:
        return [("where", self.where)]


class Assignment(Struct, frozen=True):
    """A line of `.env` that is not empty and no comment. With a `problem` it has no value."""

    line: int
    name: str
    value: str = ""
    problem: str = ""

    def __repr__(self) -> str:
        return f"Assignment({self.name!r}, line {self.line})"


class Keys:
    """The keys of this person; remembers those it gave out, so that they can be redacted."""

    def __init__(self, config: Config, environment: Mapping[str, str] | None = None) -> None:
        self._config = config
        self._environment = os.environ if environment is None else environment
        self._from_keyring: dict[str, str] = {}
        self._given: set[str] = set()

    @property
    def file(self) -> Path:
        """The `.env`, which need not exist."""
        return self._config.places.config / ".env"

    def find(self, variable: str) -> FoundKey | None:
        """The key in a variable; None where it is unset or empty."""
        found = self._look_up(variable)
        if found is not None and not _NO_SECRETS.fullmatch(variable):
            self.hide(found.value)
        return found

    def expand(self, text: str) -> str:
        """A value of the config with each `${NAME}` in it filled in."""
        return _TEMPLATE.sub(self._fill_in, text)

    def values(self) -> frozenset[str]:
        """Every key given out or kept so far."""
        return frozenset(self._given)

    def hide(self, value: str) -> None:
        """Show this value nowhere from now on."""
        self._given.add(value)
        given_out.add(value)

    def store(self, variable: str, value: str, where: Literal[".env", "keyring"]) -> None:
        """Keep a key where `find` will see it; other lines of `.env` stay as they are."""
        value = value.strip()
        if not _NAME.fullmatch(variable):
            raise SettingsError(f"'{variable}' cannot be the name of a variable")
        if not value or not value.isprintable():
            raise SettingsError(f"the value for {variable} is empty, or not on one line")
        self.hide(value)
        if where == "keyring":
            with _keyring_errors(variable):
                import keyring

                keyring.set_password(_SERVICE, variable, value)
            self._from_keyring[variable] = value
        else:
            _write_assignment(self.file, variable, value)

    def _look_up(self, variable: str) -> FoundKey | None:
        if value := self._environment.get(variable, "").strip():
            return FoundKey(value, "environment")
        if value := _value_in(self.file, variable):
            return FoundKey(value, ".env")
        if self._config.secrets.keyring and (value := self._ask_keyring(variable)):
            return FoundKey(value, "keyring")
        return None

    def _ask_keyring(self, variable: str) -> str:
        if variable not in self._from_keyring:
            with _keyring_errors(variable):
                import keyring

                value = (keyring.get_password(_SERVICE, variable) or "").strip()
            if not value:
                return ""
            # It may be a question to another process, or to the person: one is enough.
            self._from_keyring[variable] = value
        return self._from_keyring[variable]

    def _fill_in(self, template: re.Match[str]) -> str:
        name = template[1]
        if not _NAME.fullmatch(name) or not template[0].endswith("}"):
            raise SettingsError(f"'{template[0]}' in the config is not of the form ${{NAME}}")
        found = self.find(name)
        if found is None:
            raise SettingsError(
                f"the config wants ${{{name}}}, which is not set: "
                f"set it in the environment or write {name}=… into {self.file}"
            )
        return found.value


def read_env(file: Path) -> tuple[Assignment, ...]:
    """The assignments in a `.env`; none where there is no file."""
    return tuple(_assignments(_text_of(file)))


def _value_in(file: Path, variable: str) -> str:
    """As in a shell, the last assignment counts."""
    found = next((a for a in reversed(read_env(file)) if a.name == variable), None)
    if found is None:
        return ""
    if found.problem:
        raise SettingsError(f"{file}:{found.line}: {variable}: {found.problem}")
    return found.value.strip()


def _text_of(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError:
        raise SettingsError(f"{file} is not UTF-8: save it as such") from None
    except OSError as error:
        raise SettingsError(f"{file} cannot be read: {error.strerror}") from None


def _assignments(text: str) -> Iterator[Assignment]:
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        match = _ASSIGNMENT.fullmatch(line.rstrip("\r"))
        if match is None:
            # The line is not quoted anywhere: it may be a key without its name.
            yield Assignment(number, "", problem="is not of the form NAME=value")
        else:
            yield _assignment(number, match["name"], match["rest"].strip())


def _assignment(line: int, name: str, rest: str) -> Assignment:
    if rest[:1] not in ('"', "'"):
        return Assignment(line, name, re.split(r"(?:^|\s)#", rest, maxsplit=1)[0].strip())
    double = rest[0] == '"'
    quoted = (_DOUBLE if double else _SINGLE).match(rest)
    if quoted is None:
        return Assignment(line, name, problem="the quote at its start is not closed on this line")
    after = rest[quoted.end() :].strip()
    if after and not after.startswith("#"):
        return Assignment(line, name, problem="something stands after the closing quote")
    return Assignment(line, name, _unescaped(quoted[1]) if double else quoted[1])


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), text)


def _write_assignment(file: Path, variable: str, value: str) -> None:
    from clawkit.system.files import make_private, write_whole

    text = _text_of(file)
    lines = text.split("\n")
    end = "\r" if "\r\n" in text else ""
    new = f"{variable}={_quoted(value)}"
    at = max((a.line for a in _assignments(text) if a.name == variable), default=0)
    if at:
        lines[at - 1] = new + ("\r" if lines[at - 1].endswith("\r") else "")
    elif lines[-1]:
        lines[-1:] = [lines[-1] + end, new + end, ""]
    else:
        lines[-1:] = [new + end, ""]
    target = file.resolve()
    try:
        make_private(target.parent)
        write_whole(target, "\n".join(lines).encode())
    except OSError as error:
        raise SettingsError(f"{file} cannot be written: {error.strerror}") from None


def _quoted(value: str) -> str:
    if _PLAIN.fullmatch(value):
        return value
    if "'" not in value:
        return f"'{value}'"
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


@contextmanager
def _keyring_errors(variable: str) -> Generator[None]:
    """Whatever keeps the keyring from answering, as an error that says what to do."""
    elsewhere = f"or set {variable} in the environment and `keyring = false` under [secrets]"
    try:
        from keyring.errors import KeyringError
    except ImportError:
        raise SettingsError(
            "the keyring is wanted, but the package `keyring` is not installed: "
            f"pip install 'clawkit[keyring]', {elsewhere}"
        ) from None
    try:
        yield
    except KeyringError as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise SettingsError(
            f"the keyring cannot be used: {reason}. Unlock it or install a backend, {elsewhere}"
        ) from None
