"""Completion candidates at the cursor. Run by the shell at every Tab, so imports are light.

The answer is one line with the kind of files that fit too (`files`, `folders` or `words`, for
none), and a line for each word that fits.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from clawkit.cli.completion.command_tree import CommandSpec, ParameterSpec

_UNSAFE = re.compile(r"([^\w@%+=:,./\-])")
_UNSHOWN = re.compile(r"[\x00-\x1f\x7f]")
_FILES = {"files": "files", "folders": "folders", "policies": "files"}


class _Word(NamedTuple):
    """A word that fits, with what its help says of it."""

    text: str
    help: str = ""


class _Completions(NamedTuple):
    kind: str
    words: list[_Word]


def complete(arguments: Sequence[str]) -> int:
    """Print what fits; whatever goes wrong, nothing fits: a Tab is no place for errors."""
    shell, rest = arguments[0], arguments[1:]
    try:
        lines = list(_for_bash(*rest) if shell == "bash" else _with_help(fitting(rest)))
    except Exception:  # noqa: BLE001 - see above
        return 1
    print("\n".join(lines))
    return 0


def fitting(words: Sequence[str]) -> _Completions:
    """What fits the last of the words, which begin with the program."""
    from clawkit.cli.completion.command_tree import command_tree

    *before, word = words[1:]
    place = _Position(command_tree())
    for one in before:
        place.pass_over(one)
    return place.offered(word)


class _Position:
    """Where a command line has led to: the command, and what is still expected of it."""

    def __init__(self, command: CommandSpec) -> None:
        self._command = command
        self._value_of: ParameterSpec | None = None
        self._passed = 0
        self._only_arguments = False
        self._given: set[str] = set()

    def pass_over(self, word: str) -> None:
        if self._value_of is not None:
            self._value_of = None
        elif self._only_arguments or not word.startswith("-") or word == "-":
            self._pass_argument(word)
        elif word == "--":
            self._only_arguments = True
        else:
            name, equals, _ = word.partition("=")
            option = self._command.options.get(name)
            self._given.add(name)
            if option is not None and not option.flag and not equals:
                self._value_of = option

    def _pass_argument(self, word: str) -> None:
        below = self._command.commands.get(word)
        if below is None:
            self._passed += 1
        else:
            self._command, self._passed, self._given = below, 0, set()

    def offered(self, word: str) -> _Completions:
        if self._value_of is not None:
            return _values(self._value_of, word)
        name, equals, value = word.partition("=")
        if equals and name in self._command.options:
            kind, words = _values(self._command.options[name], value)
            return _Completions(kind, [_Word(f"{name}={one.text}", one.help) for one in words])
        if word.startswith("-") and not self._only_arguments:
            return _Completions("words", list(self._options(word)))
        return self._argument(word)

    def _options(self, word: str) -> Iterator[_Word]:
        for name, option in self._command.options.items():
            if name.startswith(word) and (option.again or name not in self._given):
                yield _Word(name, option.help)

    def _argument(self, word: str) -> _Completions:
        below = [
            _Word(name, one.help)
            for name, one in self._command.commands.items()
            if name.startswith(word) and not self._passed
        ]
        known = self._command.arguments
        if below or not known:
            return _Completions("words", below)
        if self._passed >= len(known) and not known[-1].again:
            return _Completions("words", [])
        return _values(known[min(self._passed, len(known) - 1)], word)


def _values(parameter: ParameterSpec, word: str) -> _Completions:

    known = list(parameter.choices) or known_values(parameter.values)
    return _Completions(
        _FILES.get(parameter.values, "words"),
        [_Word(one) for one in known if one.startswith(word) and not _UNSHOWN.search(one)],
    )


def _with_help(answer: _Completions) -> Iterator[str]:
    """The lines for shells that show a word with its help."""
    yield answer.kind
    for word in answer.words:
        yield f"{word.text}\t{word.help}"


def _for_bash(breaks: str, line: str) -> Iterator[str]:
    """As readline wants them: quoted, and only what follows the last character that breaks words.

    bash takes `a:b` for three words, and replaces the last of them.
    """
    words, quoted = _split(line)
    kind, found = fitting(words)
    yield kind
    cut = 0
    if not quoted:
        cut = 1 + max(words[-1].rfind(one) for one in ":=" if one in breaks or one == "=")
    for word in found:
        rest = word.text[cut:]
        yield rest if quoted or kind != "words" else _UNSAFE.sub(r"\\\1", rest)


def _split(line: str) -> tuple[list[str], bool]:
    """The words of a line up to the cursor, and whether the last one stands in open quotes."""
    for quote in ("", '"', "'"):
        try:
            words = shlex.split(line + quote)
        except ValueError:
            continue
        if quote == "" and (not line or (line[-1].isspace() and not line.endswith("\\ "))):
            words.append("")
        return words, bool(quote)
    return [*shlex.split(line[:-1]), ""], False


def known_values(kind: str) -> list[str]:
    """All known values of a kind, each once; none of a kind that cannot be looked up."""
    find = _FINDERS.get(kind)
    return list(dict.fromkeys(find())) if find is not None else []


def _sessions() -> Iterable[str]:
    from clawkit.assistant.config import Config
    from clawkit.assistant.sessions.store import SessionStore

    return [one.key for one in SessionStore(Config().store_file).list_sessions()]


def _beings() -> Iterable[str]:
    from clawkit.assistant.config import read_config
    from clawkit.memory.store import beings
    from clawkit.store import default_address, embedded_file, open_store

    address = read_config().memory.store or default_address()
    file = embedded_file(address)
    if file is not None and not file.exists():
        return []
    with closing(open_store(address)) as store, store.registry() as connection:
        return [one.name for one in beings.every(connection)]


def _servers() -> Iterable[str]:
    from clawkit.hosts.discovery import SearchScope, find, host_files

    return [entry.name for entry in find(host_files(SearchScope())).entries]


def _logins() -> Iterable[str]:
    """What `claw login` knows by name, and where somebody is logged in."""
    from clawkit.cli.login import known_servers
    from clawkit.login.client.stored import read_logins

    return [*sorted(known_servers()), *(one.url for one in read_logins()[0])]


def _clients() -> Iterable[str]:
    from clawkit.hosts.clients import CLIENTS

    return [one.id for one in CLIENTS]


def _policies() -> Iterable[str]:
    """The policies that are kept where the one in use is; any other file may be one too."""
    from clawkit.guard.locations import policy_file

    return sorted(map(str, policy_file().parent.glob("*.toml")))


def _topics() -> Iterable[str]:
    from clawkit.cli.help import topics

    return topics()


_FINDERS: dict[str, Callable[[], Iterable[str]]] = {
    "beings": _beings,
    "clients": _clients,
    "logins": _logins,
    "policies": _policies,
    "servers": _servers,
    "sessions": _sessions,
    "topics": _topics,
}
