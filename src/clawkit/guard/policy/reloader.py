"""The policy in a file: reloaded when the file changes, denying while it cannot be used."""

from __future__ import annotations

import os
import threading
import time
from hashlib import sha256
from pathlib import Path

import msgspec

from clawkit.errors import PolicyError
from clawkit.guard.policy.parser import decoded_policy, read_policy
from clawkit.guard.policy.policy import Policy
from clawkit.guard.policy.rules import BASE_ENVIRONMENT, EnvOptions, Rule

# A file that is written twice within one tick of its clock can look unchanged.
_TICK = 100_000_000
_REST = 1.0  # seconds without a change, after which a file is no longer being written


class _Seen(msgspec.Struct, frozen=True):
    """A policy in full effect, and the file that it was read from: its time, size and inode."""

    status: tuple[int, int, int] | None
    inode: int
    policy: Policy


class _Fresh(msgspec.Struct, frozen=True):
    """A policy that may be half written yet, and since when its content is known."""

    policy: Policy
    since: float


class PolicyFile:
    """The policy in a file, read again whenever the file changes."""

    def __init__(self, path: Path, profile: tuple[Rule, ...] = ()) -> None:
        self.path = path
        self._profile = profile
        self._read: _Seen | None = None
        self._fresh: _Fresh | None = None
        self._reading = threading.Lock()

    def current(self) -> Policy:
        """The policy as the file is now; one that denies, if it is missing or cannot be used."""
        try:
            status = os.stat(self.path)  # noqa: PTH116 - runs on every call, and Path.stat costs more
        except FileNotFoundError:
            return self._missing()
        except OSError as error:
            return self._unreadable(error)
        seen = (status.st_mtime_ns, status.st_size, status.st_ino)
        if self._read is not None and self._read.status == seen:
            return self._read.policy
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return self._missing()
        except OSError as error:
            return self._unreadable(error)
        with self._reading:
            return self._taken_up(content, status)

    def _taken_up(self, content: bytes, status: os.stat_result) -> Policy:
        """The policy that a content says; within the one before, while it may be half written."""
        read, age = self._read, time.time_ns() - status.st_mtime_ns
        policy = self._parsed(content)
        if read is not None and read.policy is not policy:
            # What takes a file's place is whole, if it ends as texts do.
            replaced = status.st_ino != read.inode and content.endswith(b"\n")
            if not replaced and not self._has_rested(policy, age):
                assert self._fresh is not None
                return self._fresh.policy
        self._fresh = None
        seen = (status.st_mtime_ns, status.st_size, status.st_ino)
        self._read = _Seen(seen if age > _TICK else None, status.st_ino, policy)
        return policy

    def _parsed(self, content: bytes) -> Policy:
        digest = sha256(content).hexdigest()
        if self._read is not None and self._read.policy.digest == digest:
            return self._read.policy
        if self._fresh is not None and self._fresh.policy.digest == digest:
            return self._fresh.policy.alone()
        try:
            text = decoded_policy(content, str(self.path))
            return read_policy(text, str(self.path), self._profile)
        except PolicyError as error:
            return _broken(error, digest)

    def _has_rested(self, policy: Policy, age: int) -> bool:
        """Whether a changed file has not changed for a while, by its own time or by ours."""
        now = time.monotonic()
        if self._fresh is None or self._fresh.policy.digest != policy.digest:
            assert self._read is not None
            self._fresh = _Fresh(policy.within(self._read.policy), now)
        return age > _REST * 1e9 or now - self._fresh.since > _REST

    def _unreadable(self, error: OSError) -> Policy:
        return _broken(PolicyError(str(self.path), 0, error.strerror or str(error)), "")

    def _missing(self) -> Policy:
        problem = (
            f"No policy at {self.path}, so every call is refused: `claw policy init` makes one"
        )
        # One that was there and is gone may have denied more than calls.
        return Policy(problem=problem, closed="table" if self._read is None else "everything")


def _broken(error: PolicyError, digest: str) -> Policy:
    return Policy(
        digest=digest,
        # What else the file would have given a server is unknown.
        env=EnvOptions(allow=BASE_ENVIRONMENT),
        problem=f"The policy cannot be used, so nothing passes: {error}",
        closed="everything",
    )
