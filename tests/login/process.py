"""Our servers with logins as real processes, and people who were added by command."""

from __future__ import annotations

import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.claw import CLAW, claw, environment
from tests.login.visitors import LoginClient, Visitor
from tests.processes import PATIENCE, ROOT

TOOLS = """
from clawkit import claw_tool

@claw_tool
def add(a: int, b: int) -> int:
    '''Add two numbers.'''
    return a + b

@claw_tool
def shout(text: str) -> str:
    '''Say it loudly.'''
    return text.upper()
"""


class LoginProcess:
    """A server that people log in to."""

    def __init__(self, address: str, errors: list[str]) -> None:
        self.mcp = address
        self.port = int(re.findall(r":(\d+)/", address)[0])
        self.origin = f"http://localhost:{self.port}"
        self.errors = errors

    def link(self, *command: str) -> str:
        """The secret of the link that a command prints."""
        printed = claw("user", *command, code=0).stdout.strip()
        origin, _, secret = printed.partition("/login/link/")
        assert origin == self.origin
        return secret

    @contextmanager
    def person(self, *command: str) -> Iterator[Visitor]:
        """Somebody who was added by a command, signed in."""
        visitor = Visitor(self.origin)
        try:
            assert visitor.begin(self.link(*command)).status_code == 303
            yield visitor
        finally:
            visitor.http.close()

    @contextmanager
    def program(self) -> Iterator[LoginClient]:
        """A client that registered."""
        client = LoginClient(self.origin)
        try:
            client.register()
            yield client
        finally:
            client.http.close()


@contextmanager
def login_process(*command: str | Path) -> Iterator[LoginProcess]:
    """Run a server until the test is over."""
    process = subprocess.Popen(
        [*CLAW, *map(str, command)],
        cwd=ROOT,
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    errors = [process.stderr.readline()]
    reading = threading.Thread(target=lambda: errors.extend(process.stderr or ()), daemon=True)
    reading.start()
    try:
        found = re.findall(r"http://[^\s\"]+/mcp", errors[0])
        assert found, errors
        yield LoginProcess(found[0], errors)
    finally:
        process.terminate()
        process.wait(PATIENCE)
        reading.join(PATIENCE)
        process.stderr.close()
