"""Memory that is kept: the same work, without a visit to the kernel for every page of it."""

from __future__ import annotations

import platform
import subprocess
import sys

from tests.processes import PATIENCE

WORK = """
import resource, sys
from clawkit.system.processes import keep_freed_memory
if sys.argv[1] == "keep":
    keep_freed_memory()
for turn in range(220):
    if turn == 20:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    blocks = [bytes(90_000) for _ in range(8)]
    del blocks
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(how: str) -> int:
    done = subprocess.run(
        [sys.executable, "-c", WORK, how],
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    )
    return int(done.stdout)


def test_freed_memory_is_used_again_without_asking_for_it() -> None:
    kept, left = faults("keep"), faults("leave")
    # Another C library does as it likes.
    assert kept * 10 < left or platform.libc_ver()[0] != "glibc"
