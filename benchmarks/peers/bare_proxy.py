"""A pass-through that looks at nothing: what a second process costs by itself."""

import os
import subprocess
import sys
import threading

READ_SIZE = 1 << 16


def pump(source: int, sink: int) -> None:
    """Copy until the end of input."""
    while data := os.read(source, READ_SIZE):
        view = memoryview(data)
        while view:
            view = view[os.write(sink, view) :]
    os.close(sink)


if __name__ == "__main__":
    server = subprocess.Popen(
        sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    )
    assert server.stdin is not None
    assert server.stdout is not None
    there = (0, server.stdin.fileno())
    threading.Thread(target=pump, args=there, daemon=True).start()
    pump(server.stdout.fileno(), 1)
    sys.exit(server.wait())
