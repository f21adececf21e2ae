"""`claw proxy`: the guard in front of a server, as an MCP client starts it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from clawkit.errors import ClawError
from clawkit.wire.line_io import claim_stdio

if TYPE_CHECKING:
    from clawkit.guard.http.callers import Callers
    from clawkit.wire.http.request_checks import Origins


class ProxyRequest(Struct, frozen=True, kw_only=True):
    """What the command line asks for."""

    command: tuple[str, ...] = ()
    url: str = ""
    entry: str = ""
    name: str = ""
    policy: Path | None = None
    listen: int | None = None
    host: str = "127.0.0.1"
    max_connections: int = 1000
    token_file: Path | None = None
    login: bool = False
    members: bool = False
    public_url: str = ""
    trusted_proxies: tuple[str, ...] = ()


_NAMELESS = """claw proxy: this command was not wrapped: its name is not known. Rules with `server`
that deny or ask apply to it, those that allow do not. --name sets it; the log says {name}."""
_OPTIONS = {"--url": "url", "--entry": "entry", "--name": "name", "--policy": "policy"}


def quick_request(arguments: Sequence[str]) -> ProxyRequest | None:
    """What a wrapped entry says, read without a command-line library; None for anything else."""
    found: dict[str, str] = {}
    for position in range(0, len(arguments), 2):
        word = arguments[position]
        if word == "--":
            command = tuple(arguments[position + 1 :])
            return _request(found, command) if command and "url" not in found else None
        if word not in _OPTIONS or position + 1 == len(arguments):
            return None
        found[_OPTIONS[word]] = arguments[position + 1]
    return _request(found, ()) if "url" in found else None


def _request(found: dict[str, str], command: tuple[str, ...]) -> ProxyRequest:
    policy = found.get("policy")
    return ProxyRequest(
        command=command,
        url=found.get("url", ""),
        entry=found.get("entry", ""),
        name=found.get("name", ""),
        policy=None if policy is None else Path(policy),
    )


def run_guard(request: ProxyRequest) -> int:
    """Run it until its server or its client ends."""
    try:
        if request.listen is not None:
            return _listen(request, request.listen)
        if request.url:
            from clawkit.guard.http.stdio_bridge import run_remote

            return run_remote(request.url, request.entry, request.name, request.policy)
        return _guard_process(request)
    except ClawError as error:
        print(f"claw proxy: {error}", file=sys.stderr)
        return 1 + error.is_usage


_OWN = "It is for programs of your user on this machine; --token-file or --login lets others in."
_TOKEN = """Clients show the token in {file}: in the header X-Claw-Token, or as the bearer token if
they do not log in to the server itself."""


def _listen(request: ProxyRequest, port: int) -> int:
    """Serve HTTP, to programs of this user, to who has the token, or to people who log in."""
    from clawkit.cli.server_logins import hint, hosts_behind, login_for, read_token
    from clawkit.guard.http.callers import Callers, PinnedTools, with_token
    from clawkit.guard.http.reverse_proxy import serve_reverse_proxy
    from clawkit.guard.http.upstream import open_guarded
    from clawkit.system.addresses import is_loopback_host
    from clawkit.wire.http.uvicorn_server import HttpLimits

    token = None if request.token_file is None else read_token(request.token_file)
    if request.public_url:
        from clawkit.login.resources import checked_origin

        checked_origin(request.public_url)
    guarded = open_guarded(request.url, request.entry, request.name, request.policy)
    hosts = hosts_behind(request.public_url, None, on_loopback=is_loopback_host(request.host))
    run = partial(
        serve_reverse_proxy,
        guarded,
        request.host,
        port,
        public_url=request.public_url,
        hosts=hosts or (),
        limits=HttpLimits(connections=request.max_connections),
    )
    if token is not None:

        def with_it(_host: str, _port: int, _origins: Origins) -> Callers:
            return with_token(token)

        return run(callers=with_it, hint=_TOKEN.format(file=request.token_file))
    if not request.login:
        return run(hint=_OWN)
    from clawkit.login.options import LoginOptions

    options = LoginOptions(public_url=request.public_url)
    with login_for(
        PinnedTools(guarded.judge.pins, guarded.target.origin),
        guarded.judge.server,
        options,
        request.trusted_proxies,
        kind="guard",
        members=request.members,
    ) as login:

        def logged_in(host: str, place: int, origins: Origins) -> Callers:
            return Callers("login", login(host, place, origins))

        return run(callers=logged_in, hint=hint(options))


def _guard_process(request: ProxyRequest) -> int:
    from clawkit.guard.judge import open_judge, server_name_of
    from clawkit.guard.policy.paths import Paths, directories
    from clawkit.guard.profiles.profile import profile_of
    from clawkit.guard.stdio import run_proxy
    from clawkit.hosts.ledger import WrappedCommand, wrapped_command

    fds = claim_stdio()
    # Rules that deny or ask take a server without a name for theirs, rules that allow do not.
    known = WrappedCommand((request.name,)) if request.name else wrapped_command(request.command)
    names = known.servers
    cwd, home = str(Path.cwd()), str(Path.home())
    bases = directories(request.command[1:], cwd, home)
    paths = Paths(cwd=cwd, home=home, resolve=True, bases=bases)
    name = names[0] if names else server_name_of(request.command)
    # A guard that a person starts has no entry, and so no variables of one.
    entry = () if request.name or not names else known.variables
    profile = profile_of(request.command, cwd, home, entry)
    judge = open_judge(request.policy, names, paths, name, profile)
    policy = judge.policy.current()
    if policy.problem:
        print(f"claw proxy: {policy.problem}", file=sys.stderr, flush=True)
    if not names and any(rule.server for rule in policy.rules):
        print(_NAMELESS.format(name=name), file=sys.stderr, flush=True)
    environment = policy.env.narrow(os.environ, names, known.variables)
    return run_proxy(judge, request.command, environment, fds)
