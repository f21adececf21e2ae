"""A running console, and a person who looks at it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, ConsoleMessage, Page

from tests.claw import CLAW
from tests.processes import PATIENCE, ROOT

_LINK = re.compile(r"http://[\w.-]+:(\d+)/#open=[\w-]+")


class RunningConsole:
    """`claw console`, and the link that it printed."""

    def __init__(self, process: subprocess.Popen[str], link: str) -> None:
        self.process = process
        self.link = link
        self.origin = link.partition("/#")[0]
        self.port = int(self.origin.rpartition(":")[2])


@contextmanager
def running_console(
    *options: str, command: str = "console", **env: str
) -> Iterator[RunningConsole]:
    process = subprocess.Popen(
        (*CLAW, command, "--no-open", "--port", "0", *options),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=ROOT,
        env={**os.environ, **env},
        text=True,
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    found = _LINK.search(line)
    said = [line]
    drain = threading.Thread(target=lambda: said.extend(process.stdout or ()), daemon=True)
    drain.start()
    try:
        assert found is not None, line
        yield RunningConsole(process, found[0])
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(PATIENCE)
        finally:
            process.kill()
            process.wait(PATIENCE)
            drain.join(PATIENCE)
            process.stdout.close()
    assert not any("Traceback" in each for each in said), "".join(said)


class Visitor:
    """A person at a browser of their own, and whatever its console complained about."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.complaints: list[str] = []
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def _heard(self, message: ConsoleMessage) -> None:
        refused = message.text.startswith("Failed to load resource")  # the page says so itself
        if message.type in ("error", "warning") and not refused:
            self.complaints.append(message.text)

    def open(self, link: str, name: str = "approvals") -> Page:
        """Use a link; the page of this name is then shown whole."""
        self.page.goto(link)
        self.ready("approvals")
        self.page.mouse.move(1, 1)  # a press counts for nothing where the pointer has just come
        if name != "approvals":
            self.go(name)
        return self.page

    def go(self, name: str, query: str = "") -> None:
        self.page.evaluate("(to) => { location.hash = to; }", f"#/{name}{query}")
        self.ready(name)

    def ready(self, name: str) -> None:
        self.page.wait_for_selector(f".page-{name}[data-ready]", state="attached")


@contextmanager
def visiting(browser: Browser, **options: object) -> Iterator[Visitor]:
    """A new browser profile with one page; it may complain about nothing."""
    context = browser.new_context(**options)  # pyright: ignore[reportArgumentType]
    context.set_default_timeout(PATIENCE * 1000)
    try:
        visitor = Visitor(context.new_page())
        yield visitor
        assert visitor.complaints == []
    finally:
        context.close()
