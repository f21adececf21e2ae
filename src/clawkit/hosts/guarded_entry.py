"""Rewrites an entry so that its server is reached through the guard, and back."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import msgspec

from clawkit.errors import HostError
from clawkit.hosts.clients import ClientApp, EntryForm
from clawkit.hosts.entries import (
    Data,
    RemoteLaunch,
    StdioLaunch,
    behind_guard,
    guard_program,
    policy_option,
)
from clawkit.hosts.ledger import TEMPLATE, RemoteRecord
from clawkit.settings import read_settings, settings

_ADDRESS = re.compile(
    r"(?P<scheme>[A-Za-z]+://)(?P<user>[^/?#${}]*@)?(?P<host>[^/?#${}@%]+)(?=[/?#]|$)"
    r"(?P<path>[^?#]*)"
)
_TOKEN = re.compile(r"/(?=[^/]*\d)(?=[^/]*[A-Za-z])[\w~.%+=-]{20,}(?=/|$)")
_BARE_VARIABLE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")

_KEPT_OUT = {
    "auth": "the client logs in to it",
    "oauth": "the client logs in to it",
    "oauth_resource": "the client logs in to it",
    "scopes": "the client logs in to it",
    "authProviderType": "the client logs in to it",
    "headersHelper": "the client runs a program for its headers",
    "headers_helper": "the client runs a program for its headers",
    "clientCert": "the client shows it a certificate",
    "clientKey": "the client shows it a certificate",
}

ELSEWHERE = "{CLAW_URL}"
"""Stands on the command line for an address that only the environment tells."""

NO_CREDENTIALS = (
    "it has no credentials here: if it wants a login in the browser, unwrap it, and let the "
    "client connect to `claw proxy --listen`, through which it can log in"
)


class GuardedEntry(msgspec.Struct, frozen=True):
    """An entry's new data, and for a remote one what the proxy needs to know."""

    data: Data
    remote: RemoteRecord | None = None
    note: str = ""


def launcher(name: str = "clawai") -> tuple[str, ...]:
    """How a client starts us: an absolute path, for clients start with a short PATH."""
    import shutil

    beside = Path(sys.executable).with_name(f"{name}.exe" if sys.platform == "win32" else name)
    if beside.is_file():
        return (str(beside.absolute()),)
    found = shutil.which(name)
    if found is not None:
        return (str(Path(found).absolute()),)
    return (str(Path(sys.executable).absolute()), "-m", "clawkit")


def foreign_program(argv: tuple[str, ...]) -> str:
    """A note where the guard on this command line is not the program that we would write."""
    program = guard_program(argv)
    if program == launcher():
        return ""
    return f"its program is `{' '.join(program)}`, not `{' '.join(launcher())}`"


def foreign_places(launch: StdioLaunch) -> str:
    """What this guard goes by, where that is not what `claw policy` and `claw log` look at."""
    ours = settings()
    theirs = read_settings({**os.environ, **dict(launch.places)})
    named = policy_option(launch.argv)
    policy = theirs.policy_file if named is None else Path(named)
    notes: list[str] = []
    if policy != ours.policy_file:
        missing = " (does not exist: everything is denied)"
        is_missing = policy.is_absolute() and not policy.exists()
        notes.append(f"its policy is {policy}{missing if is_missing else ''}")
    if theirs.data != ours.data:
        absent = "" if theirs.data.exists() else " (does not exist yet)"
        notes.append(f"its log and pins are in {theirs.data / 'guard'}{absent}")
    return "; ".join(notes)


def guard_stdio(form: EntryForm, data: Data, program: tuple[str, ...]) -> Data:
    """The documented form: our program first, then `proxy --` and the command as it was."""
    command = data[form.command]
    if isinstance(command, dict):
        inner = guard_stdio(EntryForm(command="path"), cast("Data", command), program)
        return {**data, form.command: inner}
    if not form.args:
        return {**data, form.command: [*program, "proxy", "--", *command]}
    args = [*program[1:], "proxy", "--", command, *(data.get(form.args) or ())]
    return _with_command(form, data, program[0], args)


def unguard_stdio(form: EntryForm, data: Data, launch: StdioLaunch) -> Data:
    """The entry without the guard, from nothing but what it says now."""
    argv = list(behind_guard(launch.argv))
    if not argv:
        raise HostError("its command line does not say which server it starts")
    command = data[form.command]
    if isinstance(command, dict):
        inner = unguard_stdio(EntryForm(command="path"), cast("Data", command), launch)
        return {**data, form.command: inner}
    if not form.args:
        return {**data, form.command: argv}
    return _with_command(form, data, argv[0], argv[1:])


def guard_remote(
    client: ClientApp, data: Data, launch: RemoteLaunch, program: tuple[str, ...], entry_id: str
) -> GuardedEntry:
    """A remote entry as one that the client starts; its headers go to our ledger."""
    _refuse_what_only_the_client_can_do(data)
    variables: dict[str, str] = {}
    forwarded: list[str] = []
    record = _record(client.form, data, launch, variables, forwarded)
    argv = [*program, "proxy", "--entry", entry_id, "--url", shown_address(launch.url)]
    lines: Data = {client.form.command: argv}
    if client.form.args:
        lines = {client.form.command: argv[0], client.form.args: argv[1:]}
    if variables:
        env = data.get(client.form.env)
        lines[client.form.env] = {**cast("Data", env), **variables} if env else variables
    if forwarded:
        lines["env_vars"] = [*(data.get("env_vars") or ()), *forwarded]
    note = "" if record.headers or record.expand_url or "?" in launch.url else NO_CREDENTIALS
    return GuardedEntry(_as_local(client.form, data, lines), record, note)


def shown_address(url: str) -> str:
    """The address for everybody to see: up to a query, or a token or template in the path."""
    match = _ADDRESS.match(url)
    if match is None:
        return ELSEWHERE
    path = match["path"]
    for secret in (_TOKEN.search(path), TEMPLATE.search(path)):
        path = path[: secret.start()] if secret and secret.start() < len(path) else path
    return match["scheme"] + match["host"] + path


def _without_user(url: str, headers: dict[str, str]) -> str:
    """The address without a user and password, which become the header that they stand for."""
    match = _ADDRESS.match(url)
    if match is None or not match["user"]:
        return url
    from base64 import b64encode
    from urllib.parse import unquote

    if not any(name.lower() == "authorization" for name in headers):
        user, _, password = match["user"].removesuffix("@").partition(":")
        pair = f"{unquote(user)}:{unquote(password)}".encode()
        headers["Authorization"] = f"Basic {b64encode(pair).decode()}"
    return match["scheme"] + url[match.end("user") :]


def _with_command(form: EntryForm, data: Data, command: str, args: list[Any]) -> Data:
    new: Data = {}
    for key, value in data.items():
        if key == form.command:
            new[key] = command
            if form.args not in data:
                new[form.args] = args
        else:
            new[key] = args if key == form.args else value
    return new


def _refuse_what_only_the_client_can_do(data: Data) -> None:
    for key, why in _KEPT_OUT.items():
        if data.get(key):
            raise HostError(f"it has `{key}`: {why}, which the guard cannot do in its place")
    if data.get("sslVerify") is False:
        raise HostError("it has `sslVerify: false`: the guard always checks certificates")


def _record(
    form: EntryForm,
    data: Data,
    launch: RemoteLaunch,
    variables: dict[str, str],
    forwarded: list[str],
) -> RemoteRecord:
    """Secrets go to the ledger as they are; what is filled in later stays a template.

    A client that fills in does so in `variables`, the entry's environment. Otherwise it passes
    variables on, in part only if they are `forwarded` by name, and the proxy fills in.
    """
    headers = dict(launch.headers)
    expand: list[str] = []
    for name, value in launch.headers.items():
        if form.templates != "nobody" and TEMPLATE.search(value):
            headers[name] = _template(form, _variable_for(name, variables), value, variables)
            expand.append(name)
    for name, prefix, variable in _variables_by_name(data):
        headers[name] = f"{prefix}${{{variable}}}"
        expand.append(name)
        forwarded.append(variable)
    url, expand_url = _without_user(launch.url, headers), False
    if form.templates == "client" and TEMPLATE.search(launch.url):
        url, expand_url = _template(form, "CLAW_URL", launch.url, variables), True
    return RemoteRecord(url, launch.transport, headers, tuple(expand), expand_url)


def _template(form: EntryForm, variable: str, value: str, variables: dict[str, str]) -> str:
    if form.templates == "sender":
        return _BARE_VARIABLE.sub(r"${\1}", value)
    variables[variable] = value
    return f"${{{variable}}}"


def _variable_for(header: str, taken: Mapping[str, str]) -> str:
    name = "CLAW_HEADER_" + re.sub(r"[^A-Z0-9]", "_", header.upper())
    while name in taken:
        name += "_"
    return name


def _variables_by_name(data: Data) -> Iterator[tuple[str, str, str]]:
    """Codex's headers that name a variable: header, what stands before the value, variable."""
    bearer = data.get("bearer_token_env_var")
    if isinstance(bearer, str) and bearer:
        yield "Authorization", "Bearer ", bearer
    named = data.get("env_http_headers")
    if isinstance(named, dict):
        for name, variable in cast("Data", named).items():
            yield name, "", str(variable)


def _as_local(form: EntryForm, data: Data, lines: Data) -> Data:
    """The data with `lines` where the address was, and without what only remote entries have."""
    addresses = [key for key, _ in form.urls]
    remote_only = {*addresses, form.headers, "bearer_token_env_var", "env_http_headers"}
    remote_only |= {*_KEPT_OUT, "sslVerify"}
    new: Data = {}
    for key, value in data.items():
        if key in addresses:
            new.update(lines)
        elif key in form.kinds:
            if form.stdio is not None:
                new[key] = form.stdio
        elif key not in remote_only and key not in lines:
            new[key] = value
    return new
