"""A shell that ends a server, and all it started, when its parent is killed."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import subprocess
from collections.abc import Mapping

_MARK = "CLAW_GUARDED"
_SCRIPT = """
started() {
    for each in $(cat /proc/"$1"/task/*/children); do echo "$each"; started "$each"; done
}
all() {
    for each in $given $(grep -lsF "$1" /proc/[0-9]*/environ | cut -d / -f 3); do
        echo "$each"; started "$each"
    done
}
while read -r each; do given="$given $each"; done
found=$(all "$1")
sleep "$2"
kill -s TERM -- $found
sleep 1
kill -s KILL -- $found $(all "$1")
"""


class Watchdog:
    """Ends what carries its mark once this process is gone, unless it was told to stop.

    `grace` are the seconds in which servers may end by themselves, as their input does.
    """

    def __init__(self, grace: int = 0) -> None:
        self._grace = grace
        self._mark = secrets.token_hex(16)
        self._shell: subprocess.Popen[bytes] | None = None

    def marked(self, environment: Mapping[str, str]) -> dict[str, str]:
        """The environment of a server that is to be watched."""
        return {**environment, _MARK: self._mark}

    def begin(self, *processes: int) -> None:
        """Watch over these processes, groups if negative; where there is no shell, nobody does."""
        shell = shutil.which("sh")
        if shell is None:
            return
        self._shell = subprocess.Popen(
            [shell, "-c", _SCRIPT, "claw-watch", f"{_MARK}={self._mark}", str(self._grace)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={"PATH": os.environ.get("PATH", os.defpath)},
            bufsize=0,
            # Whoever ends the guard's whole process group does not end this.
            start_new_session=True,
        )
        assert self._shell.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._shell.stdin.write(b"".join(b"%d\n" % each for each in processes))

    def stop(self) -> None:
        if self._shell is not None:
            self._shell.kill()
            self._shell.communicate()
