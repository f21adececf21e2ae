"""Other users of the machine, who can have the console's port before it starts and after it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest
from playwright.sync_api import expect

from tests.console.browser import RunningConsole, Visitor, running_console
from tests.console.ssh import free_port
from tests.console.test_approvals_page import ENDED
from tests.guard.approvals import until
from tests.processes import PATIENCE, ROOT

WORKER = """
self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("fetch", (event) => {
  if (event.request.mode === "navigate")
    event.respondWith(
      new Response("<h1>Not ours</h1>", { headers: { "content-type": "text/html" } }));
});
"""
PAGE = "<script>navigator.serviceWorker.register('/worker.js')</script><h1>Not ours</h1>"


class Other(BaseHTTPRequestHandler):
    """Answers everything, and keeps what it is told."""

    heard: ClassVar[list[tuple[str, dict[str, str]]]] = []

    def do_GET(self) -> None:
        self.heard.append((self.path, {name.lower(): text for name, text in self.headers.items()}))
        script = self.path.endswith(".js")
        body = (WORKER if self.path == "/worker.js" else "alert(1)" if script else PAGE).encode()
        self.send_response(200)
        self.send_header("content-type", "text/javascript" if script else "text/html")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET  # noqa: N815 - the name that the server looks for

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing is written."""


@contextmanager
def other_at(port: int) -> Iterator[list[tuple[str, dict[str, str]]]]:
    """Another program at a port; gives what it is asked."""
    Other.heard.clear()
    with ThreadingHTTPServer(("127.0.0.1", port), Other) as server:
        serving = threading.Thread(target=server.serve_forever, daemon=True)
        serving.start()
        try:
            yield Other.heard
        finally:
            server.shutdown()
            serving.join(PATIENCE)


@pytest.mark.usefixtures("claw_home")
def test_a_service_worker_of_whoever_had_the_port_before_answers_for_no_console(
    visitor: Visitor,
) -> None:
    port = free_port()
    with other_at(port):
        visitor.page.goto(f"http://127.0.0.1:{port}/")
        visitor.page.evaluate("navigator.serviceWorker.ready.then(() => true)")
        visitor.page.reload()
    visitor.page.reload()
    expect(visitor.page.get_by_text("Not ours")).to_be_visible()  # it answers for the port
    with running_console("--port", str(port)) as console:
        visitor.page.goto(console.link)
        expect(visitor.page.locator("#connection")).to_have_text("Live")
        visitor.page.goto("about:blank")


def test_a_page_whose_console_ended_gives_its_token_to_nobody_and_runs_nothing_of_theirs(
    visitor: Visitor, console: RunningConsole
) -> None:
    page = visitor.open(console.link)
    expect(page.locator("#connection")).to_have_text("Live")
    console.process.kill()
    console.process.wait(PATIENCE)
    with other_at(console.port) as heard:
        expect(page.locator("#connection")).to_have_text(ENDED)
        asked = len(heard)
        page.locator("#to-memory").click()
        expect(page.get_by_role("alert").first).to_contain_text("This console has ended")
        page.wait_for_timeout(3000)
        assert len(heard) == asked
    for path, headers in heard:
        assert path.startswith("/api/proof?text=")
        assert {"cookie", "x-claw-token"}.isdisjoint(headers)
    assert page.evaluate("localStorage.length") == 0


def test_a_page_at_whose_port_nobody_is_any_more_stops_asking(
    visitor: Visitor, console: RunningConsole
) -> None:
    page = visitor.open(console.link)
    other = page.context.new_page()
    other.goto(console.origin)
    for one in (page, other):
        expect(one.locator("#connection")).to_have_text("Live")
    console.process.kill()
    console.process.wait(PATIENCE)
    for one in (page, other):
        expect(one.locator("#connection")).to_have_text(ENDED)
    asked: list[str] = []
    for one in (page, other):
        one.on("request", lambda request: asked.append(request.url))
    page.wait_for_timeout(3000)
    assert asked == []


def test_a_page_loads_all_its_code_at_the_start(visitor: Visitor, console: RunningConsole) -> None:
    visitor.open(console.link)
    later: list[str] = []
    visitor.page.on("request", lambda request: later.append(request.url))
    for name in ("activity", "policy", "memory", "sessions", "connect", "health"):
        visitor.go(name)
    until(lambda: later)
    assert [url for url in later if "/api/" not in url] == []


HOLDING = """
import socket, sys
from tests.ordinary_user import become_ordinary_user
become_ordinary_user()
held = [socket.socket() for _ in range(300)]
for one in held:
    one.settimeout(60)
    try:
        one.connect(("127.0.0.1", int(sys.argv[1])))
    except ConnectionResetError:
        pass
for one in held:
    try:
        assert one.recv(1) == b""
    except TimeoutError:
        raise
    except OSError:
        pass
"""


def test_connections_of_another_user_are_dropped_and_take_nobodys_place(
    visitor: Visitor, console: RunningConsole
) -> None:
    page = visitor.open(console.link)
    if os.geteuid() != 0:  # nobody else can be run as: the user's own wait as long as they like
        with socket.create_connection(("127.0.0.1", console.port)) as own:
            page.reload()
            visitor.ready("approvals")
            own.setblocking(False)
            with pytest.raises(BlockingIOError):
                own.recv(1)
        return
    program = (sys.executable, "-c", HOLDING, str(console.port))
    subprocess.run(program, check=True, timeout=PATIENCE, cwd=ROOT)
    page.reload()
    visitor.ready("approvals")
    expect(page.locator("#connection")).to_have_text("Live")
