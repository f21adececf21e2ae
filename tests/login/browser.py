"""A browser's profile with an authenticator in it, and a program that waits for its answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Browser, ConsoleMessage, Page

from tests.processes import PATIENCE
from tests.served import in_a_thread


@contextmanager
def visiting(browser: Browser, *, refused: bool = False, **options: Any) -> Iterator[Page]:
    """A new browser profile with one page; its console complains only where we refuse something."""
    context = browser.new_context(**options)
    context.set_default_timeout(PATIENCE * 1000)
    complaints: list[str] = []

    def heard(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            complaints.append(message.text)

    try:
        page = context.new_page()
        page.on("console", heard)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        yield page
        assert bool(complaints) is refused, complaints
    finally:
        context.close()


def add_authenticator(page: Page, *, verifies: bool = True) -> Any:
    """Give the browser passkeys of its own, as a phone or a laptop has; gives the connection."""
    devtools = page.context.new_cdp_session(page)
    devtools.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": verifies,
        "automaticPresenceSimulation": True,
    }
    devtools.send("WebAuthn.addVirtualAuthenticator", {"options": options})
    return devtools


class Callback:
    """Where a program on this machine waits for a browser."""

    def __init__(self, port: int) -> None:
        self.address = f"http://127.0.0.1:{port}/callback"
        self.heard: list[tuple[str, dict[str, str]]] = []

    @property
    def fields(self) -> dict[str, str]:
        """What the last answer said."""
        query = urlsplit(self.heard[-1][0]).query
        return {name: values[0] for name, values in parse_qs(query).items()}


@contextmanager
def callback() -> Iterator[Callback]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.startswith("/callback"):
                headers = {name.lower(): value for name, value in self.headers.items()}
                found.heard.append((self.path, headers))
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(b"<link rel=icon href=data:,><title>Done</title>You can close this.")

        def log_message(self, format: str, *args: Any) -> None:
            """Tests say what is wrong."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    found = Callback(server.server_address[1])
    with in_a_thread(server):
        yield found
