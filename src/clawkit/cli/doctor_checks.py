"""The checks of `claw doctor` that look at programs and at what the config wants; no network."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import re
import shutil
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

import clawkit
from clawkit.assistant.config import Config, McpServer, config_file, read_config
from clawkit.assistant.redaction import redact
from clawkit.assistant.secrets import Keys
from clawkit.cli.status_assistant import (
    ANOTHER_MODEL,
    NOT_TRIED,
    check_model,
    key_of,
    tool_files,
    tool_problems,
    try_everything,
)
from clawkit.errors import ClawError
from clawkit.settings import Settings

if TYPE_CHECKING:
    from clawkit.hosts.entries import Entry

_NAMES = ("claw", "openclaw", "clawdbot", "clawai")
_OLDEST = (3, 11)
_LOOKED_AT = 65536
_PATIENCE = 60.0
NO_RULES = "the guard refuses every call"
OUR_VERSION = f"clawkit {clawkit.__version__}"

State = Literal["ok", "warning", "problem"]


class Check(Struct, frozen=True):
    """How one thing stands. `hint` is what to do about it, `fixed` what was just done."""

    name: str
    state: State
    detail: str
    hint: str = ""
    fixed: str = ""


def check_program() -> Iterator[Check]:
    """The Python we run in, and whether our commands are the ones that a shell would start."""
    version = ".".join(str(part) for part in sys.version_info[:3])
    if sys.version_info[:2] < _OLDEST:
        yield Check("python", "problem", version, "install Python 3.11 or newer")
    else:
        yield Check("python", "ok", f"{version}, {sys.executable}")
    with ThreadPoolExecutor() as pool:  # each may have to be asked who it is
        yield from pool.map(_command, _NAMES)


def _command(name: str) -> Check:
    found = shutil.which(name)
    folder = Path(sys.executable).parent
    if found is None:
        hint = f"add {folder} to PATH, or write the full path into the clients' files"
        return Check(name, "warning", "not on PATH", hint)
    said = OUR_VERSION if _names_us(Path(found)) else _says_its_version(found)
    if said is None:
        silent = f"{found} does not say its version within {_PATIENCE:g} s"
        return Check(name, "warning", silent, f"see what `{found} --version` does")
    if said != OUR_VERSION:
        hint = f"put {folder} before {Path(found).parent} on PATH, or write the full path"
        return Check(name, "problem", f"{found} comes first on PATH and is another program", hint)
    if Path(found).resolve().parent not in (folder, folder.resolve()) and _names_us(Path(found)):
        hint = f"this one is in {folder}; whichever you want must come first on PATH"
        return Check(name, "warning", f"{found} is another installation of Clawkit", hint)
    return Check(name, "ok", found)


def _names_us(program: Path) -> bool:
    """Whether it is a launcher as installers write them, which names the package it starts."""
    try:
        with program.open("rb") as file:
            start = file.read(_LOOKED_AT)
            # On Windows the script stands at the end of the launcher.
            file.seek(max(0, program.stat().st_size - _LOOKED_AT))
            return b"clawkit" in start + file.read()
    except OSError:
        return False


def _says_its_version(program: str) -> str | None:
    """Of a script that starts who knows what, as those of version managers are."""
    import subprocess

    try:
        done = subprocess.run(
            (program, "--version"),
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return None
    except OSError:
        return ""
    return done.stdout.decode(errors="replace").strip()


def check_config(places: Settings) -> tuple[Config | None, Check]:
    file = config_file(places)
    try:
        config = read_config(places)
    except ClawError as error:
        hint = "correct that line, or move the file away and run `claw setup`"
        return None, Check("config", "problem", redact(str(error)), hint)
    detail = str(file) if os.path.lexists(file) else f"{file} is not there: the defaults count"
    return config, Check("config", "ok", detail)


def check_assistant(config: Config, *, deep: bool) -> Iterator[Check]:
    """What the config wants, as far as that can be seen without asking; `deep` asks, too."""
    keys = Keys(config)
    yield from _models(config, keys, deep=deep)
    yield from _packages(config)
    yield from _transcription(config, keys)
    yield _tool_files(config)
    for name, server in config.mcp.servers.items():
        yield _server(f"server {name}", server, keys)
    for one in try_everything(config, keys) if deep else ():
        yield Check(f"asked {one.name}", "ok" if one.ok else "problem", one.detail)


def _models(config: Config, keys: Keys, *, deep: bool) -> Iterator[Check]:
    from clawkit.assistant.model_choice import choose

    try:
        chosen = choose(config, keys)
    except ClawError as error:
        hint = "correct [model] in the config, or run `claw setup`"
        yield Check("model", "problem", redact(str(error), keys), hint)
        return
    for number, one in enumerate(chosen):
        name, worst = ("fallback", "warning") if number else ("model", "problem")
        if one.provider == "offline":
            state = "ok" if number else "warning"
            yield Check(name, state, f"{one.name} ({one.why}): not a language model", ANOTHER_MODEL)
            continue
        try:
            asyncio.run(check_model(one, config, keys))
            key = key_of(one, config, keys)
        except ClawError as error:
            yield Check(name, worst, redact(f"{one.name}: {error}", keys))
            continue
        where = f"; {key.variable} found ({key.where})" if key and key.where else ""
        untried = "; not tried" if number else "" if deep else f"; {NOT_TRIED}"
        yield Check(name, "ok", f"{one.name} ({one.why}){where}{untried}")


def _packages(config: Config) -> Iterator[Check]:
    """Packages that come with an extra: those the config needs must be there."""
    servers = any(server.enabled for server in config.mcp.servers.values())
    wanted = (
        ("mcp", "servers", servers, "[mcp.servers] in the config needs it"),
        ("keyring", "keyring", config.secrets.keyring, "[secrets] keyring = true needs it"),
        ("pypdfium2", "scans", False, "pages of PDFs that are pictures are not shown to the model"),
    )
    for package, extra, needed, why in wanted:
        there = importlib.util.find_spec(package) is not None
        if there and (needed or package == "pypdfium2"):
            yield Check(f"package {package}", "ok", "installed")
        elif not there and (needed or package == "pypdfium2"):
            state = "problem" if needed else "ok"
            hint = f"pip install 'clawkit[{extra}]'"
            yield Check(f"package {package}", state, f"not installed: {why}", hint)


def _transcription(config: Config, keys: Keys) -> Iterator[Check]:
    wanted = config.transcription
    if wanted.provider == "whisper":
        command = wanted.command[0] if wanted.command else ""
        yield _program("transcription", command, "[transcription] command")
    elif wanted.provider:
        variable = wanted.key_env or f"{wanted.provider.upper()}_API_KEY"
        try:
            found = keys.find(variable)
        except ClawError as error:
            yield Check("transcription", "problem", redact(str(error), keys))
            return
        if found is None and (wanted.key_env or not wanted.base_url):
            detail = f"{wanted.provider} needs a key, and {variable} is not set"
            yield Check("transcription", "problem", detail, f"set {variable}")
        else:
            where = f"; {variable} found ({found.where})" if found else ""
            yield Check("transcription", "ok", f"{wanted.provider}{where}")


def _tool_files(config: Config) -> Check:
    directory = config.tools_directory
    if problems := tool_problems(config):
        return Check("tools", "problem", "; ".join(problems), "correct the file, or move it away")
    names = ", ".join(file.name for file in tool_files(config))
    return Check("tools", "ok", f"{names or 'no file'} in {directory}")


def _server(name: str, server: McpServer, keys: Keys) -> Check:
    if not server.enabled:
        return Check(name, "ok", "switched off")
    try:
        for value in (*server.env.values(), *server.headers.values()):
            keys.expand(value)
        address = keys.expand(server.url)
    except ClawError as error:
        return Check(name, "problem", redact(str(error), keys))
    if server.cwd and _is_no_directory(Path(server.cwd).expanduser()):
        return Check(name, "problem", f"its `cwd` in the config, {server.cwd}, is not a directory")
    if server.command:
        return _program(name, server.command, "its `command` in the config")
    from clawkit.hosts.forms import shown_address

    if not re.match("(?i)https?://.", address):
        return Check(name, "problem", "its `url` in the config begins with neither http nor https")
    return Check(name, "ok", shown_address(server.url), "`claw status --deep` asks it")


def _is_no_directory(path: Path) -> bool:
    try:
        return not path.is_dir()
    except OSError:
        return True


def _program(name: str, command: str, where: str) -> Check:
    found = shutil.which(str(Path(command).expanduser()))
    if found is None:
        hint = f"install it, or correct {where}"
        return Check(name, "problem", f"there is no program '{command}'", hint)
    return Check(name, "ok", found)


def check_clients() -> Iterator[Check]:
    """The clients that start us: the command in their files must still be there."""
    from clawkit.hosts.finding import Scope, find, host_files

    try:
        found = find(host_files(Scope()))
    except OSError as error:
        yield Check("clients", "warning", f"{error.filename} cannot be read: {error.strerror}")
        return
    for problem in found.problems:
        yield Check("clients", "warning", problem)
    ours = [entry for entry in found.entries if _starts_us(entry)]
    if not ours:
        yield Check("clients", "ok", "none has the assistant", "`claw install` adds it to one")
    yield from map(_client, ours)


def _starts_us(entry: Entry) -> bool:
    from clawkit.hosts.entries import Stdio, our_server

    return isinstance(entry.launch, Stdio) and our_server(entry.launch.argv) == "assistant"


def _client(entry: Entry) -> Check:
    from clawkit.hosts.entries import Stdio

    assert isinstance(entry.launch, Stdio)
    command = entry.launch.argv[0]
    name = f"client {entry.client}"
    if shutil.which(command) is None:
        hint = f"`claw install {entry.client}` writes the command as it is now"
        there = f"{entry.file}: {entry.name} starts '{command}', which does not exist"
        return Check(name, "problem", there, hint)
    return Check(name, "ok", f"{entry.file}: {entry.name} starts {command}")


def check_policy() -> Check:
    from clawkit.cli.log_text import plural
    from clawkit.guard.places import policy_file
    from clawkit.guard.policy.policy import PolicyFile

    file = policy_file()
    if not os.path.lexists(file):
        state, why = ("warning", "so the guard refuses everything") if _wrapped() else ("ok", "")
        hint = "`claw policy init` makes one"
        return Check("policy", state, f"{file} is not there{', ' if why else ''}{why}", hint)
    policy = PolicyFile(file).current()
    if policy.problem:
        return Check("policy", "problem", policy.problem, "`claw policy lint` explains it")
    if not policy.rules:
        hint = "move it away, then `claw policy init` makes one; or `claw policy init --force`"
        return Check("policy", "problem", f"{file} has no rule: {NO_RULES}", hint)
    return Check("policy", "ok", f"{file}: {plural(len(policy.rules), 'rule')}")


def _wrapped() -> bool:
    from clawkit.hosts.ledger import items

    try:
        return bool(items())
    except ClawError:
        return True
