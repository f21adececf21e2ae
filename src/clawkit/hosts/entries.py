"""A client's server entries: how each is started or called, and its text without secrets."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, cast

import msgspec

from clawkit.hosts.clients import ClientApp, EntryForm, Transport
from clawkit.hosts.documents.nodes import Dialect, Field, ValueNode, data_at

OUR_NAMES = frozenset({"claw", "clawai", "openclaw", "clawdbot", "clawkit"})
_AS_MODULE = 3
"""The words of `python -m clawkit`."""
_PYTHON = re.compile(r"python(?:w|3(?:\.\d+)?)?")
_PLACES = ("CLAW_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "HOME")

_KINDS: dict[str, Transport] = {
    "http": "http",
    "streamable-http": "http",
    "streamable_http": "http",
    "streamableHttp": "http",
    "sse": "sse",
}
_SSE_PATH = re.compile(r"/sse/?(?:[?#]|$)")
_WEB = re.compile(r"(?i)https?://|\$|\{")

Data = dict[str, Any]


class StdioLaunch(msgspec.Struct, frozen=True, tag="stdio"):
    """A server that the client starts; the values of its environment stay where they are."""

    argv: tuple[str, ...]
    env: tuple[str, ...] | None = ()
    """Their names; None where the client takes more of them from a file."""
    places: tuple[tuple[str, str], ...] = ()
    """The variables of `env` that say where a guard finds its policy, with their values."""


class RemoteLaunch(msgspec.Struct, frozen=True, tag="remote"):
    """A server that the client calls."""

    url: str
    headers: dict[str, str]
    transport: Transport


class ServerEntry(msgspec.Struct, frozen=True):
    """A server in a client's file; without a launch, `reason` says why it is not one for us."""

    name: str
    client: str
    file: str
    keys: tuple[str, ...]
    launch: StdioLaunch | RemoteLaunch | None
    reason: str = ""

    @property
    def argv(self) -> tuple[str, ...]:
        """The command line of a server that the client starts; empty for others."""
        return self.launch.argv if isinstance(self.launch, StdioLaunch) else ()


def entries_of(client: ClientApp, file: str, data: Any) -> Iterator[ServerEntry]:
    """Every server in the data of a client's file."""
    for pattern in client.keys:
        for keys in _matching(data, pattern):
            servers = data_at(data, keys)
            for name, value in cast("Data", servers).items():
                launch = launch_of(client.form, value)
                reason = launch if isinstance(launch, str) else ""
                known = None if isinstance(launch, str) else launch
                yield ServerEntry(str(name), client.id, file, (*keys, str(name)), known, reason)


def _matching(data: Any, pattern: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The paths of mappings that a pattern with `*` leads to."""
    if not isinstance(data, dict):
        return
    if not pattern:
        yield ()
        return
    mapping = cast("Data", data)
    for key in mapping if pattern[0] == "*" else pattern[:1]:
        if key in mapping:
            for rest in _matching(mapping[key], pattern[1:]):
                yield (key, *rest)


def launch_of(form: EntryForm, value: Any) -> StdioLaunch | RemoteLaunch | str:
    """How the client reaches the server, or why there is nothing to guard."""
    if not isinstance(value, dict):
        return "it is not a server"
    data = cast("Data", value)
    command = data.get(form.command)
    if isinstance(command, dict):
        return launch_of(EntryForm(command="path"), command)
    if command:
        return _stdio(form, data)
    for key, transport in form.urls:
        if data.get(key):
            return _remote(form, data, key, transport)
    return "it has neither a command nor an address"


def _stdio(form: EntryForm, data: Data) -> StdioLaunch | str:
    command = data[form.command]
    rest = data.get(form.args) if form.args else None
    argv = [command, *(cast("list[Any]", rest) or ())] if form.args else command
    if not isinstance(rest, list | None) or not isinstance(argv, list):
        return "its command line is not written as a list"
    parts = cast("list[Any]", argv)
    if not all(isinstance(part, str | int | float) for part in parts):
        return "its command line holds something that is not text"
    env = data.get(form.env)
    variables = cast("Data", env) if isinstance(env, dict) else {}
    places = tuple((name, str(variables[name])) for name in _PLACES if variables.get(name))
    return StdioLaunch(tuple(str(part) for part in parts), _names(data, variables), places)


def _names(data: Data, variables: Data) -> tuple[str, ...] | None:
    """The variables that a client gives a server by name: those of the entry, and passed on."""
    if any(data.get(key) for key in ("envFile", "env_file")):
        return None
    passed = [*(data.get("env_vars") or ()), *(data.get("env_keys") or ())]
    named = (cast("Data", each).get("name") if isinstance(each, dict) else each for each in passed)
    return (*variables, *(str(name) for name in named if name))


def _remote(
    form: EntryForm, data: Data, key: str, implied: Transport | Literal[""]
) -> RemoteLaunch | str:
    url = data[key]
    if not isinstance(url, str) or not _WEB.match(url):
        return "its address is not one of http or https"
    headers = data.get(form.headers)
    if not isinstance(headers, dict | None):
        return f"its `{form.headers}` is not a table of headers"
    pairs = cast("Data", headers or {})
    for name, value in pairs.items():
        if not isinstance(value, str):
            return f"its header `{name}` is not written as text"
    kind: Transport | None = next(
        (_KINDS[data[k]] for k in form.kinds if data.get(k) in _KINDS), None
    )
    guess: Transport = "sse" if _SSE_PATH.search(url) else form.transport
    return RemoteLaunch(url, dict(pairs), kind or implied or guess)


def is_guarded(argv: Sequence[str]) -> bool:
    """Whether this command line already starts our proxy, by our hand or somebody's own."""
    return _proxy_position(argv) is not None


def behind_guard(argv: Sequence[str]) -> tuple[str, ...]:
    """The command that the proxy on this command line would start; empty if it starts none."""
    position = _proxy_position(argv)
    if position is None or "--" not in argv[position:]:
        return ()
    return tuple(argv[argv.index("--", position) + 1 :])


def entry_id(argv: Sequence[str]) -> str | None:
    """The record of the ledger that the proxy on this command line is told to use."""
    return _proxy_option(argv, "--entry")


def policy_option(argv: Sequence[str]) -> str | None:
    """The policy file that the proxy on this command line is told to use."""
    return _proxy_option(argv, "--policy")


def _proxy_option(argv: Sequence[str], name: str) -> str | None:
    position = _proxy_position(argv)
    options = () if position is None else argv[position + 1 :]
    for index, part in enumerate(options):
        if part == "--":
            return None
        if part == name:
            return next(iter(options[index + 1 : index + 2]), None)
        if part.startswith(f"{name}="):
            return part.removeprefix(f"{name}=")
    return None


def guard_program(argv: Sequence[str]) -> tuple[str, ...]:
    """What stands before `proxy`: the program that is called like ours, and what starts it."""
    return tuple(argv[: _proxy_position(argv)])


def our_server(argv: Sequence[str]) -> Literal["assistant", "memory", "tools", ""]:
    """Which of our servers a command line starts, behind the guard or not; "" for another's.

    What `npx` and its kin start is another program of the same name.
    """
    asked = _asked_of_us(argv)
    if asked[:1] == ("mcp-server",):
        return "assistant"
    if asked[:1] == ("serve",):
        return "tools"
    return "memory" if asked[:2] == ("being", "stdio") else ""


def is_our_own(argv: Sequence[str]) -> bool:
    """Whether a server is code of this installation: not a file that it serves, nor a namesake."""
    return our_server(argv) in ("assistant", "memory") and is_this_installation(argv)


def served_file(argv: Sequence[str]) -> str:
    """The Python file whose tools a command line serves; "" if it serves none."""
    asked = _asked_of_us(argv)
    return (
        next((part for part in asked[1:] if part[:1] != "-"), "") if asked[:1] == ("serve",) else ""
    )


def _asked_of_us(argv: Sequence[str]) -> tuple[str, ...]:
    """What a command line tells our program to do, behind the guard or not."""
    command = behind_guard(argv) or tuple(argv)
    length = _program_length(command)
    return command[length:] if length else ()


def starts_our_program(argv: Sequence[str]) -> bool:
    """Whether a command line starts any server of this package, behind the guard or not."""
    command = behind_guard(argv) or tuple(argv)
    if is_guarded(command):  # by hand, before a remote server: that is another's
        return False
    return _program_length(command) > 0


def is_this_installation(argv: Sequence[str]) -> bool:
    """Whether a command line that looks like ours starts this very program, or whatever has its
    name on the PATH. A program of the same name elsewhere can be anybody's."""
    import shutil

    length = _program_length(argv)
    if length not in (1, _AS_MODULE):
        return False
    program, own = argv[0], Path(sys.executable).absolute()
    if length == _AS_MODULE:
        return Path(shutil.which(program) or program) == own
    if not re.search(r"[/\\]", program):
        return True
    found = shutil.which(_program(program))
    folders = {own.parent, *((Path(found).absolute().parent,) if found else ())}
    return Path(program).parent in folders


def _proxy_position(argv: Sequence[str]) -> int | None:
    length = _program_length(argv)
    return length if length and tuple(argv[length : length + 1]) == ("proxy",) else None


def _program_length(argv: Sequence[str]) -> int:
    """How many words at the start of a command line are a program that is called like ours."""
    first, *rest = map(_program, argv[:4]) if argv else ("",)
    if first in OUR_NAMES:
        return 1
    if _PYTHON.fullmatch(first) and rest[:2] == ["-m", "clawkit"]:
        return _AS_MODULE
    with_uvx = first == "uvx" and rest[:2] == ["--from", "clawkit"] and rest[2:]
    return 4 if with_uvx and rest[2] in OUR_NAMES else 0


def _program(path: str) -> str:
    name = re.split(r"[/\\]", path)[-1].casefold()
    return name.removesuffix(".exe").removesuffix(".cmd")


_VALUES = frozenset({"env", "environment", "envs", "headers", "http_headers"})
_SECRET = re.compile(r"(?i)key|token|secret|passw|auth|bearer|credential|cookie|session")
_ASSIGNED = re.compile(r"(?s)^(?P<name>[\"']?[^=:]*[=:]\s*)(?P<value>.+?)(?P<end>[\"']?)$")
_USER_INFO = re.compile(r"(?<=//)[^/@\s\"']*@")
_QUERY = re.compile(r"[?#][^\"'\s]*")
_LONG_SEGMENT = re.compile(r"(?<=/)(?=[^/]*\d)(?=[^/]*[A-Za-z])[\w~.%+=-]{20,}")
_HARMLESS = re.compile(r"[\"']?(?:Bearer )?\$?\{[^}]*\}[\"']?|[\"']{2}|true|false|null")
_HIDDEN = "…"

Cut = tuple[int, int, str]


def without_secrets(dialect: Dialect, block: str, file: str) -> str:
    """The entry's text with `…` for whatever may be a secret."""
    cuts = sorted(_cuts(block, dialect.block(block, file)), reverse=True)
    for start, end, text in cuts:
        block = block[:start] + text + block[end:]
    return block


def _cuts(text: str, node: ValueNode) -> Iterator[Cut]:
    for field in node.fields or ():
        if field.key in _VALUES:
            yield from _hidden(text, field.node)
        elif field.node.items is not None:
            yield from _arguments(text, field.node.items)
        elif field.node.fields is not None:
            yield from _cuts(text, field.node)
        else:
            yield from _scalar(text, field)


def _hidden(text: str, node: ValueNode) -> Iterator[Cut]:
    for field in node.fields or ():
        yield from _hidden(text, field.node)
    for item in node.items or ():
        yield from _hidden(text, item)
    if node.fields is None and node.items is None and not _HARMLESS.fullmatch(_raw(text, node)):
        yield node.start, node.end, _quoted(_raw(text, node))


def _scalar(text: str, field: Field) -> Iterator[Cut]:
    raw = _raw(text, field.node)
    if "//" in raw:
        yield from _address(field.node, raw)
    elif _SECRET.search(field.key) and not field.key.endswith("env_var"):
        yield from _hidden(text, field.node)


def _arguments(text: str, items: tuple[ValueNode, ...]) -> Iterator[Cut]:
    """A flag that names a secret hides its value, in the same argument or the next one."""
    follows = False
    for item in items:
        raw = _raw(text, item)
        assigned = _ASSIGNED.match(raw)
        if follows:
            yield from _hidden(text, item)
        elif assigned and _SECRET.search(assigned["name"]):
            yield item.start, item.end, assigned["name"] + _HIDDEN + assigned["end"]
        elif "//" in raw:
            yield from _address(item, raw)
        is_flag = raw.lstrip("\"'").startswith("-")
        follows = not assigned and not follows and is_flag and bool(_SECRET.search(raw))


def _address(node: ValueNode, raw: str) -> Iterator[Cut]:
    text = _USER_INFO.sub(f"{_HIDDEN}@", raw)
    text = _QUERY.sub(lambda match: match.group()[0] + _HIDDEN, text)
    text = _LONG_SEGMENT.sub(_HIDDEN, text)
    if text != raw:
        yield node.start, node.end, text


def _raw(text: str, node: ValueNode) -> str:
    return text[node.start : node.end]


def _quoted(raw: str) -> str:
    quote = raw[:1] if raw[:1] in ("'", '"') else ""
    return f"{quote}{_HIDDEN}{quote}"
