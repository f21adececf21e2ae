"""A real tunnel: OpenSSH's server on loopback, with keys of its own, and `ssh -L` to it."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.guard.approvals import until
from tests.processes import PATIENCE

_CONFIG = """\
ListenAddress 127.0.0.1:{port}
HostKey {folder}/host
AuthorizedKeysFile {folder}/own.pub
PasswordAuthentication no
UsePAM yes
StrictModes no
PidFile none
"""
_OPTIONS = ("StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "ExitOnForwardFailure=yes")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


def is_open(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def ssh_tunnel(*forwardings: str) -> Iterator[None]:
    """What `ssh -L` opens for each, to a server on this machine that lets one key in."""
    with TemporaryDirectory(prefix="claw-ssh-") as name:
        folder, port = Path(name), free_port()
        for key in ("host", "own"):
            command = ("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / key)
            subprocess.run(command, check=True, timeout=PATIENCE)
        (folder / "config").write_text(_CONFIG.format(port=port, folder=folder))
        user, others = _ordinary_user(folder)
        sshd = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
        assert sshd is not None, (
            "no sshd is installed; on Debian and Ubuntu: apt install openssh-server"
        )
        options = [part for one in _OPTIONS for part in ("-o", one)]
        ends = [part for one in forwardings for part in ("-L", one)]
        client = ("ssh", "-F", "none", *options, "-i", folder / "client", "-N", *ends)
        near = int(forwardings[0].split(":")[-3])
        server = (sshd, "-D", "-e", "-f", folder / "config")
        with (
            _listening(port, server, **others),
            _listening(near, (*client, "-p", str(port), f"{user}@127.0.0.1")),
        ):
            yield


def who_logs_in() -> dict[str, str]:
    """The environment of a program that takes connections of whoever logs in, too."""
    return {} if os.getuid() else {"SUDO_UID": str(pwd.getpwnam("nobody").pw_uid)}


def _ordinary_user(folder: Path) -> tuple[str, dict[str, Any]]:
    """Who logs in, and how the server becomes that user: as root it would want more of a system."""
    shutil.copy(folder / "own", folder / "client")  # ssh takes no key that others may read
    if os.getuid():
        return pwd.getpwuid(os.getuid()).pw_name, {}
    nobody = pwd.getpwnam("nobody")
    for path in (folder, *folder.iterdir()):
        if path.name != "client":
            os.chown(path, nobody.pw_uid, nobody.pw_gid)
    return nobody.pw_name, {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


@contextmanager
def _listening(port: int, command: tuple[str | Path, ...], **options: Any) -> Iterator[None]:
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, **options)
    try:
        until(lambda: is_open(port) or process.poll() is not None)
        assert process.poll() is None, f"{command[0]} ended with {process.returncode}"
        yield
    finally:
        process.terminate()
        process.wait(PATIENCE)
