"""People and programs that log in, over real HTTP: a browser without script, and a client."""

from __future__ import annotations

import base64
import hashlib
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from html.parser import HTMLParser
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2

from clawkit.login import people
from clawkit.login.document_fetch import DocumentFetcher
from clawkit.login.options import LoginOptions
from clawkit.login.records import Role, User
from clawkit.login.resources import address_of
from clawkit.memory.being_store import BeingStore
from clawkit.memory.http.logins import GateMaker, login_gate
from tests.memory.http.served_beings import Served, served
from tests.processes import PATIENCE

PASSWORD = "correct horse battery"
CALLBACK = "http://127.0.0.1:7777/callback"


def gate_maker(
    store: BeingStore,
    port: int,
    *,
    public_url: str = "",
    fetcher: DocumentFetcher | None = None,
    options: LoginOptions | None = None,
) -> GateMaker:
    """What lets people log in to a server of Beings at this port."""
    address = address_of(public_url, "127.0.0.1", port)
    return partial(login_gate, store, address, fetcher=fetcher, options=options)


class _Fields(HTMLParser):
    """The fields of the forms on a page: all that is hidden or chosen, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[tuple[str, list[tuple[str, str]]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag == "form":
            self.forms.append((found.get("action") or "", []))
        if tag == "input" and self.forms:
            chosen = found.get("type") not in ("radio", "checkbox") or "checked" in found
            if chosen and found.get("name"):
                self.forms[-1][1].append((found["name"] or "", found.get("value") or ""))


def forms_of(page: str) -> list[tuple[str, list[tuple[str, str]]]]:
    parser = _Fields()
    parser.feed(page)
    return parser.forms


class Visitor:
    """A person's browser, without script."""

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self.http = httpx2.Client(base_url=origin, timeout=PATIENCE, verify=False)

    def get(self, path: str) -> httpx2.Response:
        return self.http.get(path)

    def submit(self, page: httpx2.Response, number: int = 0, **chosen: Any) -> httpx2.Response:
        """Send a form of a page, with these fields changed; a list gives a field several times."""
        action, fields = forms_of(page.text)[number]
        pairs = [(name, value) for name, value in fields if name not in chosen]
        for name, value in chosen.items():
            pairs += [(name, one) for one in (value if isinstance(value, list) else [value])]
        return self.post(action, urlencode(pairs))

    def post(self, path: str, body: str, **headers: str) -> httpx2.Response:
        kind = {"content-type": "application/x-www-form-urlencoded", "origin": self.origin}
        return self.http.post(path, content=body, headers={**kind, **headers})

    def begin(self, link: str, password: str = PASSWORD) -> httpx2.Response:
        """Choose a password with a one-time link."""
        return self.submit(self.get(f"/login/link/{link}"), password=password, again=password)

    def sign_in(self, name: str, password: str = PASSWORD) -> httpx2.Response:
        return self.submit(self.get("/login"), name=name, password=password)

    def agree(self, address: str, **chosen: Any) -> dict[str, str]:
        """Say yes to what a client asks; gives what the client gets."""
        page = self.get(address)
        assert page.status_code == 200, page.text
        return sent_back(self.submit(page, answer="yes", **chosen))

    def turned_away(self, address: str) -> dict[str, str]:
        """Read that this is not for them, and go back; gives what the client gets then."""
        page = self.get(address)
        assert page.status_code == 403, page.text
        assert "location" not in page.headers
        assert "may not use this here" in page.text
        return sent_back(self.submit(page, answer="no"))


def sent_back(response: httpx2.Response) -> dict[str, str]:
    """What a redirect tells a client."""
    assert response.status_code == 303, response.text
    return {name: value for name, (value,) in parse_qs(query_of(response)).items()}


def query_of(response: httpx2.Response) -> str:
    return urlsplit(response.headers["location"]).query


class LoginClient:
    """A program that wants to be let in."""

    def __init__(self, origin: str, redirect_uri: str = CALLBACK) -> None:
        self.origin = origin
        self.http = httpx2.Client(base_url=origin, timeout=PATIENCE, verify=False)
        self.redirect_uri = redirect_uri
        self.verifier = secrets.token_urlsafe(48)
        self.id = ""

    def register(self, name: str = "Editor", **more: Any) -> httpx2.Response:
        told = {"client_name": name, "redirect_uris": [self.redirect_uri], **more}
        response = self.http.post("/login/register", json=told)
        self.id = response.json().get("client_id", "")
        return response

    @property
    def challenge(self) -> str:
        hashed = hashlib.sha256(self.verifier.encode()).digest()
        return base64.urlsafe_b64encode(hashed).rstrip(b"=").decode()

    def address(self, **changed: str | None) -> str:
        """Where a browser is sent; a field that is None is left out."""
        fields: dict[str, str | None] = {
            "response_type": "code",
            "client_id": self.id,
            "redirect_uri": self.redirect_uri,
            "state": "xyz",
            "code_challenge": self.challenge,
            "code_challenge_method": "S256",
            "resource": f"{self.origin}/mcp",
            **changed,
        }
        given = {name: value for name, value in fields.items() if value is not None}
        return f"/login/authorize?{urlencode(given)}"

    def token(self, **fields: str) -> httpx2.Response:
        return self.http.post("/login/token", data=fields)

    def exchange(self, code: str, **changed: str) -> httpx2.Response:
        fields = {
            "grant_type": "authorization_code",
            "code": code,
            "client_id": self.id,
            "redirect_uri": self.redirect_uri,
            "code_verifier": self.verifier,
        }
        return self.token(**{**fields, **changed})

    def refresh(self, refresh_token: str, **changed: str) -> httpx2.Response:
        fields = {
            "grant_type": "refresh_token",
            "refresh_token": refresh_token,
            "client_id": self.id,
        }
        return self.token(**{**fields, **changed})


class Logins:
    """A server of Beings with logins, its owner Ada signed in, and a client that registered."""

    def __init__(self, server: Served) -> None:
        self.server = server
        self.origin = f"http://localhost:{server.port}"
        self._open: list[httpx2.Client] = []
        self.ada = self.person("ada", "owner")
        self.visitor = self.browser()
        self.visitor.begin(self.link(self.ada))
        self.client = self.program()
        self.client.register()

    def browser(self) -> Visitor:
        """Another browser, in which nobody is signed in."""
        found = Visitor(self.origin)
        self._open.append(found.http)
        return found

    def program(self, redirect_uri: str = CALLBACK, origin: str = "") -> LoginClient:
        """Another program, which has not registered."""
        found = LoginClient(origin or self.origin, redirect_uri)
        self._open.append(found.http)
        return found

    def person(self, name: str, role: Role = "member") -> User:
        with self.server.store.database.registry(write=True) as connection:
            return people.add(connection, name, role, self.server.store.clock())

    def link(self, person: User) -> str:
        with self.server.store.database.registry(write=True) as connection:
            return people.make_link(connection, person, self.server.store.clock())

    def tokens(self, **chosen: Any) -> dict[str, Any]:
        """What the client gets when Ada agrees."""
        code = self.visitor.agree(self.client.address(), **chosen)["code"]
        response = self.client.exchange(code)
        assert response.status_code == 200, response.text
        return response.json()

    def call(self, token: str, tool: str = "get_current_time", **more: Any) -> httpx2.Response:
        return self.server.call(token, tool, path=more.pop("path", "/mcp"), **more)

    def close(self) -> None:
        for http in self._open:
            http.close()


@contextmanager
def served_logins(store: BeingStore) -> Iterator[Logins]:
    """A server of Beings that people log in to."""
    with served(store, logins=partial(gate_maker, store)) as server:
        found = Logins(server)
        try:
            yield found
        finally:
            found.close()
