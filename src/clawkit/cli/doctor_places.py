"""The checks of `claw doctor` that look at files and folders of our own, and repair them."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from clawkit.assistant.config import Config
from clawkit.cli.doctor_checks import Check
from clawkit.errors import ClawError
from clawkit.settings import Settings
from clawkit.system.files import room_problem
from clawkit.system.locks import try_lock

_FIX = "`claw doctor --fix` repairs it"
SALVAGES = "`claw doctor --fix` saves what can be read, and sets it aside: nothing is deleted"
_OTHERS = 0o077
_MOST_PROBLEMS = 5
_HAS_MODES = sys.platform != "win32"


def check_directories(places: Settings, *, fix: bool) -> Iterator[Check]:
    """Ours, for ourselves only."""
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
    if full := room_problem(directory):
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
    if full := room_problem(above):
        detail = f"{directory} is not there and cannot be made: {full}"
        return Check(name, "problem", detail, "free space on its disk")
    if not fix:
        return Check(name, "ok", f"{directory} is not there yet: it is made when it is needed")
    try:
        directory.mkdir(mode=0o700, parents=True)
    except OSError as error:
        return Check(name, "problem", f"{directory} cannot be made: {error.strerror}")
    return Check(name, "ok", str(directory), fixed="made it")


def _is_there(path: Path) -> bool:
    """Also what we may not look at: whoever opens it is told so."""
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
    from clawkit.assistant.secrets import read_env

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
    from clawkit.assistant.media import folder
    from clawkit.assistant.sessions import owners
    from clawkit.cli.log_text import plural

    locks = owners.directory_for(store)
    if fix:
        folders, processes = folder.sweep(_temporary()), owners.sweep(locks)
    else:
        folders = _not_held(_temporary(), f"{folder.PREFIX}*/{folder.LOCK}")
        processes = _not_held(locks, "*.lock")
    if not folders and not processes:
        return Check("leftovers", "ok", "none")
    counted = f"{plural(folders, 'temporary folder')} and {plural(processes, 'lock')} of processes"
    if fix:
        return Check("leftovers", "ok", "none any more", fixed=f"removed {counted} that died")
    return Check("leftovers", "warning", f"{counted} that died", _FIX)


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
    from clawkit.assistant.sessions.salvaging import replace_damaged
    from clawkit.assistant.sessions.store import Store
    from clawkit.cli.log_text import plural

    try:
        problems = Store(file).check()
        if not problems and not _is_there(file):
            return Check("store", "ok", f"{file} is not there yet: the first message makes it")
        if not problems:
            count = plural(len(Store(file).list_sessions()), "session")
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
    saved = (plural(done.sessions, "session"), plural(done.messages, "message"))
    return salvaged("store", file, done.aside, saved if done.sessions else (), done.lost)
