"""The model that the assistant's benchmarks ask, as the assistant asks it and without it.

What it takes to answer is the model's own time, which every order pays and no assistant can save.
"""

import http.client
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

from benchmarks.contenders import HERE
from benchmarks.measure import ChildFailed, Command
from benchmarks.messages import WrongReply

TOOL = "order_openclaw"


@contextmanager
def thinking_model(seconds: float) -> Iterator[str]:
    """A model that answers with the last message after so long; gives its base URL."""
    script = str(HERE / "servers" / "thinking_model.py")
    command = (sys.executable, script, str(seconds))
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            url = process.stdout.readline().strip()
            if not url:
                raise ChildFailed("the model did not start", "")
            yield url
        finally:
            process.kill()


@contextmanager
def assistant(url: str) -> Iterator[Command]:
    """How to start the assistant with this model, in a home that is gone afterwards."""
    with TemporaryDirectory(prefix="bench-assistant-") as folder:
        home = Path(folder)
        config = home / "config" / "claw" / "config.toml"
        config.parent.mkdir(parents=True)
        config.write_text(
            f'[model]\nuse = "llamacpp/thinking"\n[providers.llamacpp]\nbase_url = "{url}"\n'
        )
        openclaw = str(Path(sys.executable).with_name("openclaw"))
        yield Command((openclaw, "mcp-server"), home, {"HOME": folder, "CLAW_HOME": folder})


class DirectCaller:
    """Asks the model what it was last asked: one connection, and no more work than HTTP is."""

    def __init__(self, url: str) -> None:
        """Connect, and learn what the assistant asked."""
        parts = urlsplit(url)
        self._path = f"{parts.path}/chat/completions"
        self._connection = http.client.HTTPConnection(parts.netloc)
        self._connection.request("GET", "/last")
        self._body = self._connection.getresponse().read()

    def ask(self) -> float:
        """The seconds until the last byte of the answer."""
        start = time.perf_counter()
        headers = {"content-type": "application/json"}
        self._connection.request("POST", self._path, self._body, headers)
        answer = self._connection.getresponse().read()
        seconds = time.perf_counter() - start
        if not answer.rstrip().endswith(b"[DONE]"):
            raise WrongReply(f"the model answered {answer[:300]!r}")
        return seconds

    def close(self) -> None:
        """Disconnect."""
        self._connection.close()
