"""The profile of a server: found by its command line, filled in with its folders."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from clawkit.guard.policy.globs import is_wild
from clawkit.guard.policy.parser import read_profile
from clawkit.guard.policy.rules import Argument, Rule
from clawkit.guard.profiles.command_line import is_setting, started
from clawkit.hosts.ledger import items

ROOTS = "{roots}"
"""In a profile's patterns: each folder that the command line gives the server, links followed."""
HOME = "{home}"
"""In a profile's patterns: the person's home, where one of these folders holds it."""
_FOLDER = Path(__file__).parent


class Profile(Struct, frozen=True):
    """What a server may do unasked. `passes` and `asks` say it to a person, in a line each."""

    name: str
    rules: tuple[Rule, ...]
    roots: tuple[str, ...] = ()
    passes: str = ""
    asks: str = ""


def profile_of(
    command: Sequence[str], cwd: str, home: str, variables: Sequence[str] | None = ()
) -> Profile | None:
    """The profile of the server that a command starts; None for an unknown one.

    So is one whose entry sets `variables` that may change what is started, or unknown ones (None).
    """
    if variables is None or not all(map(is_setting, variables)):
        return None
    found = started(command, home)
    if found is None:
        return None
    for name, known in _servers().items():
        if found.name in known.get(found.kind, ()):
            if not _has_known_options(found.arguments, known):
                return None
            roots = tuple(_folders(known.get("roots", ()), found.arguments, cwd, home))
            return _filled(name, roots, home)
    return None


def profile_at(url: str) -> Profile | None:
    """The profile of the remote server at an address."""
    for name, known in _servers().items():
        if any(f"{url.rstrip('/')}/".startswith(each) for each in known.get("urls", ())):
            return _filled(name)
    return None


def profile_of_server(name: str, cwd: str, home: str) -> Profile | None:
    """The profile of a wrapped server, by its name; None where that has none, or several."""
    known = [item for item in items() if item.server == name]
    found = {
        profile_at(item.remote.url)
        if item.remote
        else profile_of(item.argv, cwd, home, item.variables)
        for item in known
    }
    return found.pop() if len(found) == 1 else None


def profile_names() -> tuple[str, ...]:
    return tuple(_servers())


def profile_about(name: str) -> tuple[str, str]:
    """What passes unasked by a profile, and what asks, in words."""
    about, _ = read_profile(profile_text(name), f"the profile {name}")
    return about["passes"].replace(ROOTS, "its folders"), about["asks"]


def profile_text(name: str) -> str:
    """The file of a profile, as it stands."""
    return (_FOLDER / f"{name}.toml").read_text(encoding="utf-8")


def _servers() -> dict[str, dict[str, Sequence[str]]]:
    import tomllib

    return tomllib.loads((_FOLDER / "servers.toml").read_text(encoding="utf-8"))


def _has_known_options(arguments: Sequence[str], known: dict[str, Sequence[str]]) -> bool:
    options = {*known.get("options", ()), *known.get("roots", ())}
    given = (word.partition("=")[0] for word in arguments if word.startswith("-"))
    return options.issuperset(given)


def _filled(name: str, roots: tuple[str, ...] = (), home: str = "") -> Profile:
    about, rules = read_profile(profile_text(name), f"the profile {name}")
    homes = dict.fromkeys(each for root in roots for each in _homes_in(root, home))
    places = {ROOTS: roots, HOME: tuple(homes)}
    filled = (_with_places(rule, places) for rule in rules)
    passes = about["passes"].replace(ROOTS, ", ".join(roots))
    return Profile(
        name,
        tuple(rule for rule in filled if rule is not None),
        roots,
        passes if roots else about.get("rootless", passes),
        about["asks"],
    )


def _with_places(rule: Rule, places: dict[str, tuple[str, ...]]) -> Rule | None:
    """The rule with folders for its words in braces; None where there is no such folder."""
    args: list[Argument] = []
    for argument in rule.args:
        patterns = tuple(each for pattern in argument.patterns for each in _placed(pattern, places))
        if not patterns:
            return None
        args.append(Argument(argument.name, patterns))
    return replace(rule, args=tuple(args))


def _placed(pattern: str, places: dict[str, tuple[str, ...]]) -> Iterator[str]:
    word = next((word for word in places if word in pattern), None)
    if word is None:
        yield pattern
    else:
        yield from (pattern.replace(word, folder) for folder in places[word])


def _folders(
    options: Sequence[str] | str, arguments: Sequence[str], cwd: str, home: str
) -> Iterator[str]:
    """The folders that a server is given, with links followed, as the server would.

    The whole disk is none, and nothing that is no plain path.
    """
    for folder in _given(options, arguments):
        path = home + folder[1:] if folder == "~" or folder.startswith("~/") else folder
        path = _slashed(os.path.realpath(os.path.join(cwd, path)))  # noqa: PTH118 - "" and all
        if (
            not _is_same(path, Path(path).anchor)
            and "\\" not in path  # in a pattern it would be a slash
            and not any(is_wild(each) or "{" in each or "$" in each for each in (folder, path))
        ):
            yield path


def _homes_in(root: str, home: str) -> Iterator[str]:
    """The home by each name that it has in a folder, also where that is another name of a folder
    above it."""
    real = Path(os.path.realpath(home))
    for above in (real, *real.parents):
        if _is_same(str(above), root):
            yield from (home, str(real), _slashed(str(Path(root, real.relative_to(above)))))


def _is_same(one: str, other: str) -> bool:
    """Whether two names are of one folder, in whatever case or by a second mount."""
    if _slashed(one).rstrip("/").casefold() == _slashed(other).rstrip("/").casefold():
        return True
    with suppress(OSError):
        return os.path.samefile(one, other)  # noqa: PTH121 - of text
    return False


def _slashed(path: str) -> str:
    return path.replace("\\", "/") if os.name == "nt" else path


def _given(options: Sequence[str] | str, arguments: Sequence[str]) -> Iterator[str]:
    if options == "all":
        yield from (each for each in arguments if not each.startswith("-"))
        return
    for option in options:
        for at, word in enumerate(arguments):
            if word == option:
                yield from arguments[at + 1 : at + 2]
            elif word.startswith(f"{option}=") and option.startswith("--"):
                yield word.partition("=")[2]
