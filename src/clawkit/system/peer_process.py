"""The process at the other end of a unix socket, told from every other that gets its number.

A connection outlives the process that made it: passed on to another one, it would speak for
whatever has the number by then.
"""

from __future__ import annotations

import errno
import os
import select
import socket
import struct
from collections.abc import Container

from clawkit.system.watchdog import is_guarded, start_of

_CREDENTIALS = struct.Struct("3i")
_SO_PEERPIDFD = 77  # since Linux 6.5; Python has no name for it yet


class PeerProcess:
    """Who connected, or who listens where this process connected."""

    def __init__(self, end: socket.socket) -> None:
        """To be made as soon as there is a connection: from then on no other process is it."""
        self._end = end
        self.pid, self._user = _credentials(end)
        """Its number here; 0 for one that has none, or where no system says."""
        self._start = start_of(self.pid)

    def is_same_user(self) -> bool:
        """Whether it runs as this user, or the system does not say."""
        return self._user is None or self._user == os.getuid()

    def is_guarded(self, guards: Container[int] = ()) -> bool:
        """Whether it is a guarded server or of one; one that is gone, or outside, may have been."""
        # The number was its own while it was looked up if it is so afterwards.
        return is_guarded(self.pid, guards) or not self._is_there()

    def _is_there(self) -> bool:
        if not self.pid:  # it is outside of this process's namespace, or the system says nothing
            return self._user is None
        try:
            process = self._end.getsockopt(socket.SOL_SOCKET, _SO_PEERPIDFD)
        except OSError as error:
            is_old = error.errno == errno.ENOPROTOOPT
            return is_old and start_of(self.pid) == self._start != 0
        try:
            ended = select.poll()
            ended.register(process, select.POLLIN)
            return not ended.poll(0)
        finally:
            os.close(process)


def _credentials(end: socket.socket) -> tuple[int, int | None]:
    """The process and the user at the other end; 0 and None where the system does not say."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return 0, None
    pid, user, _ = _CREDENTIALS.unpack(end.getsockopt(socket.SOL_SOCKET, option, _CREDENTIALS.size))
    return pid, user
