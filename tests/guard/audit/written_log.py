"""Logs for the tests: records, many writers in real processes, a look at the files as they are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from clawkit.guard.audit.log import AuditLog
from clawkit.guard.audit.reader import read
from clawkit.guard.audit.record import AuditEntry, AuditRecord

# Writes COUNT records (0: until it is killed), and says after the first that it has begun.
WRITER = """
import itertools, sys
from pathlib import Path
from clawkit.guard.audit.log import AuditLog
from clawkit.guard.audit.record import AuditRecord

directory, name, count, max_bytes, keep = sys.argv[1:]
log = AuditLog(Path(directory), max_bytes=int(max_bytes), keep=int(keep))
for number in range(int(count)) if int(count) else itertools.count():
    log.write(AuditRecord(kind="call", id=f"{name}-{number}", server=name, arguments={"n": number}))
    if not number:
        print("begun", flush=True)
"""


def writer(
    directory: Path, name: str, count: int = 0, *, max_bytes: int = 1 << 20, keep: int = 1000
) -> subprocess.Popen[str]:
    numbers = (str(part) for part in (count, max_bytes, keep))
    return subprocess.Popen(
        (sys.executable, "-c", WRITER, str(directory), name, *numbers),
        stdout=subprocess.PIPE,
        text=True,
    )


def call(**fields: Any) -> AuditRecord:
    return AuditRecord(**{"kind": "call", "server": "files", "tool": "read_file", **fields})


def write_all(
    directory: Path, *records: AuditRecord, max_bytes: int = 1 << 20, keep: int = 16
) -> None:
    log = AuditLog(directory, max_bytes=max_bytes, keep=keep)
    for record in records:
        log.write(record)
    log.close()


def write_many(directory: Path, count: int, *, max_bytes: int = 1 << 20, keep: int = 16) -> None:
    records = (call(id=f"r{number}", arguments={"n": number}) for number in range(count))
    write_all(directory, *records, max_bytes=max_bytes, keep=keep)


def written(directory: Path) -> list[AuditEntry]:
    return list(read(directory))


def log_files(directory: Path) -> list[Path]:
    """Oldest first."""
    return [*sorted(directory.glob("audit-*.jsonl")), directory / "audit.jsonl"]
