"""Guards that are none, as processes: `python guards.py KIND COMMAND…`."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import termios
import threading
import time
from array import array
from typing import NoReturn

import psutil


def passes_everything(command: list[str]) -> NoReturn:
    """Copies bytes both ways, and leaves its server behind."""
    server = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    assert server.stdin is not None
    assert server.stdout is not None
    replies = server.stdout.fileno()
    threading.Thread(target=_copy, args=(replies, 1), daemon=True).start()
    threading.Thread(target=_exit_with, args=(server,), daemon=True).start()
    _copy(0, server.stdin.fileno())
    # What the server was given last is still on its way to its journal, until it waits for more.
    while _unread(server.stdin.fileno()) or psutil.Process(server.pid).status() != "sleeping":
        time.sleep(0.05)
    server.stdin.close()
    time.sleep(0.3)
    os._exit(0)


def _unread(pipe: int) -> int:
    count = array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, count)
    return count[0]


def _exit_with(server: subprocess.Popen[bytes]) -> None:
    server.wait()
    os._exit(1)


def _copy(source: int, target: int) -> None:
    while chunk := os.read(source, 1 << 16):
        rest = memoryview(chunk)
        while rest:
            rest = rest[os.write(target, rest) :]


def refuses_everything(_command: list[str]) -> None:
    for line in sys.stdin.buffer:
        message = json.loads(line)
        error = {"code": -32001, "message": "Denied, whatever it was"}
        if "id" in message:
            reply = {"jsonrpc": "2.0", "id": message["id"], "error": error}
            print(json.dumps(reply), flush=True)  # noqa: T201  its protocol


def says_nothing(_command: list[str]) -> None:
    for _ in sys.stdin.buffer:
        pass


def dies(_command: list[str]) -> NoReturn:
    sys.exit("no guard today")


KINDS = {
    "passes": passes_everything,
    "refuses": refuses_everything,
    "silent": says_nothing,
    "dies": dies,
}

if __name__ == "__main__":
    KINDS[sys.argv[1]](sys.argv[2:])
