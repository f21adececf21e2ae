"""Writes rules as TOML, and inserts the rule for one call into a policy file."""

from __future__ import annotations

import glob
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

from msgspec.structs import replace

from clawkit.errors import PolicyError
from clawkit.guard.policy.call import Call
from clawkit.guard.policy.globs import is_wild
from clawkit.guard.policy.parser import decoded_policy, read_policy
from clawkit.guard.policy.paths import follow
from clawkit.guard.policy.policy import Paths
from clawkit.guard.policy.readings import holds_path, is_path_name, is_read_differently, texts
from clawkit.guard.policy.rules import Argument, Rule
from clawkit.system.files import make_private, write_new, write_whole
from clawkit.system.locks import locked

_PATIENCE = 5.0
"""How long others may hold the policy: each of them is done within milliseconds."""
_BACKUP_TIME = "%Y%m%d-%H%M%S"
_BACKUP = re.compile(r"\.(\d{8}-\d{6})(?:-(\d+))?")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def rule_text(rule: Rule) -> str:
    """One `[[rule]]` with the fields that a learnt rule has."""
    lines = ["[[rule]]", f"action = {quoted(rule.action)}"]
    if rule.tools:
        lines.append(f"tool = {_patterns(rule.tools)}")
    if rule.methods:
        lines.append(f"method = {_patterns(rule.methods)}")
    if rule.server:
        lines.append(f"server = {_patterns(rule.server)}")
    for argument in rule.args:
        key = ".".join(map(_key, argument.name))
        lines.append(f"args.{key} = {_patterns(argument.patterns)}")
    if rule.exempt:
        lines.append(f"except = {_patterns(rule.exempt)}")
    if rule.only_args is not None:
        also = f"[{', '.join(map(quoted, rule.also_args))}]" if rule.also_args else ""
        lines.append(f"only_args = {also or str(rule.only_args).lower()}")
    if rule.confined:
        lines.append("confined = true")
    if rule.each_call:
        lines.append("each_call = true")
    if rule.description:
        lines.append(f"description = {quoted(rule.description)}")
    return "\n".join(lines) + "\n"


def quoted(text: str) -> str:
    """A TOML string; what does not show is escaped, half a surrogate pair is replaced."""
    return f'"{"".join(map(_escaped, text))}"'


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else quoted(name)


def _patterns(patterns: tuple[str, ...]) -> str:
    texts = [quoted(pattern) for pattern in patterns]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if character.isprintable():
        return character
    code = ord(character)
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"


_HEADER = re.compile(rb"[ \t]*\[\[[ \t]*(rule|\"rule\"|'rule')[ \t]*\]\]")
_NEW = "the new rule"


def rule_for(
    tool: str, method: str, arguments: dict[str, Any], server: str | tuple[str, ...]
) -> str:
    """An allow rule for exactly this call, as TOML.

    Raises PolicyError where no rule can say it: then a person writes what they mean.
    """
    servers = (server,) if isinstance(server, str) else server
    text = rule_text(_allowing(tool, method, servers, tuple(_conditions(arguments)), True))
    _must_allow(text, Call(method=method, tool=tool, arguments=arguments), servers)
    return text


_TEXTS = frozenset(
    {
        *("content", "contents", "text", "body", "message", "edits", "file_text", "insert_text"),
        *("old_text", "new_text", "oldtext", "newtext", "old_str", "new_str"),
        *("old_string", "new_string"),
    }
)
"""Names of arguments that a person or a model writes anew each time."""
_MOST_CONDITIONS = 100  # nobody reads more, and each is compared with every argument
_SHALLOWEST = 2  # names below the root: /home and /home/me hold too much to be one folder
# A whole drive, or where people have their homes.
_TOO_MUCH = re.compile(
    r"(?:/mnt|/media|/run/media|/cygdrive|/Volumes)(?:/[^/]+)?|(?:/run)?/media/[^/]+/[^/]+"
    r"|(?:(?:/mnt|/cygdrive)?/[a-z]|/Volumes/[^/]+)?/(?:home|Users)(?:/[^/]+)?",
    re.IGNORECASE,
)


def tool_rule(tool: str, method: str, servers: tuple[str, ...]) -> str:
    """An allow rule for every call of a tool, as TOML."""
    return rule_text(_allowing(tool, method, servers, (), False))


def folder_rule(
    call: Call, servers: tuple[str, ...], home: str, *, follows_links: bool = True
) -> str:
    """An allow rule for calls of a tool whose paths are where those of this one are, as TOML.

    Its folder is the real one, for paths on this machine. An argument that holds no path has to
    be as it is in this call, except a text, which may be any that holds no path.
    """
    paths = dict(_paths_in(call.arguments))
    named = any(is_path_name(name[0]) for name in paths)
    if not named or call.method != "tools/call":
        raise _cannot_be_written("it names no file or folder by its whole path")
    given = [path for each in paths.values() for path in each]
    folder = _common_folder(given, home, follows_links=follows_links)
    args = [Argument(name, (_literal(folder), f"{folder}/**")) for name in paths]
    bound = {name[0] for name in paths}
    others = {name: value for name, value in call.arguments.items() if name not in bound}
    texts = tuple(_literal(name) for name in others if name.lower() in _TEXTS)
    args += _conditions({name: value for name, value in others.items() if name not in texts})
    rule = _allowing(call.tool, call.method, servers, tuple(args), True)
    text = rule_text(replace(rule, also_args=texts, confined=True))
    _must_allow(text, call, servers, Paths(cwd="/", home=home, resolve=follows_links))
    return text


def _allowing(
    tool: str, method: str, servers: tuple[str, ...], args: tuple[Argument, ...], only_args: bool
) -> Rule:
    if not servers or not all(servers):
        raise _cannot_be_written("the server has no name (`claw proxy --name` gives it one)")
    if len(args) > _MOST_CONDITIONS:
        raise _cannot_be_written(f"it has more than {_MOST_CONDITIONS} arguments")
    return Rule(
        action="allow",
        tools=(_literal(tool),) if method == "tools/call" else (),
        # A tool may have the name of a method, and `tool` alone would match both.
        methods=(_literal(method),) if method != "tools/call" or "/" in tool else (),
        server=tuple(map(_literal, servers)),
        args=args,
        only_args=only_args,
        description=f"Allowed by a person on {time.strftime('%Y-%m-%d')}",
    )


def _paths_in(arguments: dict[str, Any]) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """The arguments that are paths; one that only has some in it cannot be bound to a folder."""
    for name, value in arguments.items():
        if not holds_path(name, value):
            continue
        if isinstance(value, list) and value:
            yield (_literal(name), "*"), [_whole_path(each) for each in cast("list[Any]", value)]
        else:
            yield (_literal(name),), [_whole_path(value)]


def _whole_path(value: Any) -> str:
    if not isinstance(value, str) or not value.startswith(("/", "~/")) or "\n" in value:
        raise _cannot_be_written("it names a file that is not given by its whole path")
    return value


def _common_folder(paths: list[str], home: str, *, follows_links: bool) -> str:
    whole = [os.path.normpath(home + path[1:] if path[0] == "~" else path) for path in paths]
    if follows_links:
        found = [follow(path) for path in (*whole, home)]
        if not all(sure for _, sure in found):
            raise _cannot_be_written("it is open where a link in it leads")
        *whole, home = (path for path, _ in found)
    folders = [
        path if follows_links and os.path.isdir(path) else os.path.dirname(path)  # noqa: PTH112, PTH120 - text that may be no path
        for path in whole
    ]
    folder = os.path.commonpath(folders)
    holds_home = f"{home}/".startswith(f"{folder.rstrip('/')}/")
    if holds_home or folder.count("/") < _SHALLOWEST or _TOO_MUCH.fullmatch(folder):
        raise _cannot_be_written(f"{folder} holds too much")
    return folder


def insert_rule(
    policy: Path,
    rule: str,
    before: int,
    *,
    digest: str = "",
    last: Callable[[], None] | None = None,
) -> None:
    """Put a rule directly above the `[[rule]]` with this number; nothing else changes.

    No rule gets above one that denies, nor above the place of a profile's rules that do. `last` is
    called when nothing but the writing is left to do, and may raise to prevent that.
    With the sha256 `digest` of the file, a file that has changed since is left alone. The result
    is read before it is written, so that a policy which cannot be used never replaces one that can.
    """
    try:
        with _locked(policy):
            target, changed = _inserted(policy, rule, before, digest)
            if last is not None:
                last()
            write_whole(target, changed, target.stat().st_mode & 0o7777)
    except OSError as error:
        raise PolicyError(os.fspath(policy), 0, f"cannot be changed: {error}") from error


def _locked(policy: Path) -> AbstractContextManager[None]:
    return locked(policy.with_name(f".{policy.name}.lock"), _PATIENCE)


def check_insertion(policy: Path, rule: str, before: int, *, digest: str = "") -> None:
    """Raise PolicyError where `insert_rule` would, as far as it can be known before."""
    try:
        _inserted(policy, rule, before, digest)
    except OSError as error:
        raise PolicyError(os.fspath(policy), 0, f"cannot be read: {error}") from error


def _inserted(policy: Path, rule: str, before: int, digest: str) -> tuple[Path, bytes]:
    """The real file of a policy, and what it is to hold."""
    target = policy.resolve(strict=True)
    original = target.read_bytes()
    if digest and sha256(original).hexdigest() != digest:
        reason = "the policy has changed since the question was asked: nothing was written"
        raise PolicyError(os.fspath(policy), 0, reason)
    return target, _with_rule(original, rule, before, os.fspath(policy))


def save_policy(policy: Path, text: str, digest: str) -> Path | None:
    """Put a text in the place of the policy; gives where the one before it was kept.

    Like `insert_rule` it writes only what can be used, and not over what has changed since: the
    sha256 `digest` is that of the file that was edited, "" if there was none.
    """
    read_policy(text, os.fspath(policy))
    try:
        make_private(policy.parent)
        with _locked(policy):
            return _save(policy, text.encode(), digest)
    except OSError as error:
        raise PolicyError(os.fspath(policy), 0, f"cannot be changed: {error}") from error


def _save(policy: Path, new: bytes, digest: str) -> Path | None:
    target = policy.resolve()
    old = target.read_bytes() if target.exists() else None
    if (sha256(old).hexdigest() if old is not None else "") != digest:
        reason = "the policy has changed since it was opened: nothing was written"
        raise PolicyError(os.fspath(policy), 0, reason)
    if old is None:
        write_whole(target, new)
        return None
    backup = backup_path(policy)
    write_new(backup, old)
    write_whole(target, new, target.stat().st_mode & 0o7777)
    return backup


def backup_path(policy: Path) -> Path:
    """A free name beside a policy for what it was until now."""
    wanted = policy.with_name(f"{policy.name}.{time.strftime(_BACKUP_TIME)}")
    number, free = 1, wanted
    while free.exists():
        number += 1
        free = wanted.with_name(f"{wanted.name}-{number}")
    return free


def latest_backup(policy: Path) -> tuple[Path, float] | None:
    """What a policy was last, and until when; None if nothing was kept."""
    found = [
        (match[1], int(match[2] or 1), path)
        for path in policy.parent.glob(f"{glob.escape(policy.name)}.*")
        if (match := _BACKUP.fullmatch(path.name.removeprefix(policy.name)))
    ]
    if not found:
        return None
    until, _, path = max(found)
    return path, time.mktime(time.strptime(until, _BACKUP_TIME))


def leaves(
    value: dict[str, Any], above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The paths and values of arguments that are no objects, also of those within objects."""
    for name, item in value.items():
        if isinstance(item, dict) and item:
            yield from leaves(cast("dict[str, Any]", item), (*above, name))
        else:
            yield (*above, name), item


def _conditions(arguments: dict[str, Any]) -> Iterator[Argument]:
    for path, item in leaves(arguments):
        name = tuple(map(_literal, path))
        if isinstance(item, dict | list) or item == "":
            kind = "a list" if item else "empty"
            raise _cannot_be_written(f"argument {'.'.join(name)!r} is {kind}")
        if is_read_differently(item):
            raise _cannot_be_written(
                f"argument {'.'.join(name)!r} is a number that servers read differently"
            )
        yield Argument(name, tuple(map(_literal, texts(item))))


def _literal(word: str) -> str:
    """The word, if a pattern of it matches nothing else."""
    if not word:
        raise _cannot_be_written("a name is empty")
    if is_wild(word):
        raise _cannot_be_written(f"{word!r} has a `*` or `?`, which would match more than itself")
    if any("\ud800" <= character <= "\udfff" for character in word):
        raise _cannot_be_written("half a character (a lone surrogate) cannot be written")
    return word


def _must_allow(
    rule: str, call: Call, servers: tuple[str, ...], paths: Paths | None = None
) -> None:
    """Ask the policy itself: a rule that would not allow the call helps nobody."""
    decision = read_policy(rule, _NEW).decide(call, servers, paths or Paths())
    if decision.action != "allow":
        raise _cannot_be_written(
            "a value in it can be read in several ways, as a path with `..` can"
        )


def _cannot_be_written(why: str) -> PolicyError:
    return PolicyError(_NEW, 0, f"cannot be written for this call: {why}. Write it by hand")


def _with_rule(original: bytes, rule: str, before: int, file: str) -> bytes:
    import tomllib

    text = decoded_policy(original, file)
    read_policy(text, file)
    wanted = tomllib.loads(text)
    present = cast("list[object]", wanted.get("rule", []))
    if not 1 <= before <= len(present):
        raise PolicyError(file, 0, f"there is no rule {before}: the file has {len(present)}")
    if number := _denying(present, before):
        reason = f"rule {number} denies: no rule is put above it by an answer. Write it by hand"
        raise PolicyError(file, 0, reason)
    present.insert(before - 1, *tomllib.loads(rule)["rule"])
    for changed in _insertions(original, rule.encode(), before):
        with suppress(tomllib.TOMLDecodeError, UnicodeDecodeError):
            if tomllib.loads(changed.decode()) == wanted:
                read_policy(changed.decode(), file)
                return changed
    raise PolicyError(
        file, 0, f"rule {before} does not start with [[rule]]: write the new one by hand"
    )


def _denying(rules: list[object], first: int) -> int:
    """The number of a rule from this one on that denies, or holds a place above those; or 0."""
    for number, rule in enumerate(cast("list[dict[str, Any]]", rules), 1):
        denies = rule.get("action") == "deny" or rule.get("profile") == "before"
        if denies and number >= first:
            return number
    return 0


def _insertions(original: bytes, rule: bytes, before: int) -> Iterator[bytes]:
    """The file with the rule above each header that may be the one, likeliest first.

    A line in a longer string can look like a header or a comment: the caller sees by the outcome.
    """
    lines = original.splitlines(keepends=True)
    headers = [at for at, line in enumerate(lines) if _HEADER.match(line)]
    for header in headers[before - 1 :]:
        end = b"\r\n" if lines[header].endswith(b"\r\n") else b"\n"
        new = rule.replace(b"\n", end) + end
        top = header
        while top and lines[top - 1].lstrip().startswith(b"#"):
            top -= 1
        for at in (top, header):
            yield b"".join([*lines[:at], new, *lines[at:]])
