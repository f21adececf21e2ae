"""The entries of a client's file: which servers it starts or calls, and how."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal, cast

import msgspec

from clawkit.hosts.clients import Client, Form, Transport
from clawkit.hosts.documents.nodes import data_at

OUR_NAMES = frozenset({"claw", "clawai", "openclaw", "clawdbot", "clawkit"})
_LAUNCHER_DEPTH = 6
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


class Stdio(msgspec.Struct, frozen=True, tag="stdio"):
    """A server that the client starts; the values of its environment stay where they are."""

    argv: tuple[str, ...]
    env: tuple[str, ...] = ()
    places: tuple[tuple[str, str], ...] = ()
    """The variables of `env` that say where a guard finds its policy, with their values."""


class Remote(msgspec.Struct, frozen=True, tag="remote"):
    """A server that the client calls."""

    url: str
    headers: dict[str, str]
    transport: Transport


class Entry(msgspec.Struct, frozen=True):
    """A server in a client's file; without a launch, `reason` says why it is not one for us."""

    name: str
    client: str
    file: str
    keys: tuple[str, ...]
    launch: Stdio | Remote | None
    reason: str = ""


def entries_of(client: Client, file: str, data: Any) -> Iterator[Entry]:
    """Every server in the data of a client's file."""
    for pattern in client.keys:
        for keys in _matching(data, pattern):
            servers = data_at(data, keys)
            for name, value in cast("Data", servers).items():
                launch = launch_of(client.form, value)
                reason = launch if isinstance(launch, str) else ""
                known = None if isinstance(launch, str) else launch
                yield Entry(str(name), client.id, file, (*keys, str(name)), known, reason)


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


def launch_of(form: Form, value: Any) -> Stdio | Remote | str:
    """How the client reaches the server, or why there is nothing to guard."""
    if not isinstance(value, dict):
        return "it is not a server"
    data = cast("Data", value)
    command = data.get(form.command)
    if isinstance(command, dict):
        return launch_of(Form(command="path"), command)
    if command:
        return _stdio(form, data)
    for key, transport in form.urls:
        if data.get(key):
            return _remote(form, data, key, transport)
    return "it has neither a command nor an address"


def _stdio(form: Form, data: Data) -> Stdio | str:
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
    return Stdio(tuple(str(part) for part in parts), tuple(variables), places)


def _remote(form: Form, data: Data, key: str, implied: Transport | None) -> Remote | str:
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
    return Remote(url, dict(pairs), kind or implied or _guess(form, url))


def _guess(form: Form, url: str) -> Transport:
    return "sse" if _SSE_PATH.search(url) else form.transport


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


def our_server(argv: Sequence[str]) -> Literal["assistant", "memory", ""]:
    """Which of our servers a command line starts, behind the guard or not; "" for another's.

    What `npx` and its kin start is another program of the same name.
    """
    command = behind_guard(argv) or tuple(argv)
    program = 3 if command[1:3] == ("-m", "clawkit") else 1
    ours = program == 3 or _program(next(iter(command), "")) in OUR_NAMES
    asked = command[program : program + 2] if ours else ()
    if asked[:1] == ("mcp-server",):
        return "assistant"
    return "memory" if asked == ("being", "stdio") else ""


def _proxy_position(argv: Sequence[str]) -> int | None:
    for position, part in enumerate(argv[:_LAUNCHER_DEPTH]):
        if part == "--":
            return None
        if part == "proxy" and position and _program(argv[position - 1]) in OUR_NAMES:
            return position
    return None


def _program(path: str) -> str:
    name = re.split(r"[/\\]", path)[-1].casefold()
    return name.removesuffix(".exe").removesuffix(".cmd")
