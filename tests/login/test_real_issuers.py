"""A certified OpenID provider signs our people in, and issues tokens that we accept."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from jwt.algorithms import ECAlgorithm, RSAAlgorithm
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata
from playwright.sync_api import expect
from pydantic import AnyUrl

from tests.browser import running_browser
from tests.claw import claw
from tests.login.browser import callback
from tests.login.issuer import Key, TestIssuer, issuing
from tests.login.process import TOOLS, login_process
from tests.login.test_processes import ask, order, tokens
from tests.login.test_real_clients import REDIRECT, Storage, free_port
from tests.login.visitors import LoginClient, Visitor, forms_of
from tests.nodejs import node_program
from tests.processes import PATIENCE, ROOT

PROVIDER = ROOT / "tests" / "node" / "identity_provider.mjs"
SECRET = "what only the two of them know"


@contextmanager
def identity_provider(port: int) -> Iterator[str]:
    """The provider, which knows our server at a port; gives its address."""
    ours = f"http://localhost:{port}/login/provider/back"
    keys = [(Key("ec"), ECAlgorithm, "ES256"), (Key("rsa", "RS256"), RSAAlgorithm, "RS256")]
    shown = [
        {**kind.to_jwk(key.private, as_dict=True), "kid": key.id, "alg": alg, "use": "sig"}
        for key, kind, alg in keys
    ]
    for one in shown:
        one.pop("key_ops", None)
    env = {**os.environ, "PROVIDER_KEYS": json.dumps(shown), "CLIENT_SECRET": SECRET}
    process = subprocess.Popen(
        [node_program(), str(PROVIDER), str(free_port()), "claw", ours],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    try:
        address = process.stdout.readline().strip()
        assert address.startswith("http://"), address
        yield address
    finally:
        process.terminate()
        process.wait(PATIENCE)
        process.stdout.close()


def agree_there(address: str, name: str) -> str:
    """Sign in at the provider and agree, without script; gives where it sends the browser."""
    origin = "{0.scheme}://{0.netloc}".format(urlsplit(address))
    with httpx2.Client(base_url=origin, timeout=PATIENCE) as http:
        response = http.get(address)
        for _ in range(10):
            if response.status_code == 200:
                ((action, fields),) = forms_of(response.text)[:1]
                form = {**dict(fields), "login": name, "password": "any"}
                response = http.post(action, data=form)
                continue
            assert response.status_code == 303, response.text
            place = response.headers["location"]
            if not place.startswith(("/", origin)):
                return place
            response = http.get(place)
    raise AssertionError("the provider leads nowhere")


def sign_in(visitor: Visitor, page: str, name: str) -> httpx2.Response:
    left = visitor.submit(visitor.get(page))
    back = agree_there(left.headers["refresh"].removeprefix("0;url="), name)
    return visitor.get(back.removeprefix(visitor.origin))


@pytest.fixture
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAW_OIDC_SECRET", SECRET)


@pytest.mark.usefixtures("secret")
def test_people_sign_in_at_a_certified_provider() -> None:
    claw("being", "create", "notes", code=0)
    port = free_port()
    with identity_provider(port) as issuer:
        options = ("--login", "--oidc", issuer, "--oidc-client", "claw")
        with login_process("being", "serve", "--port", str(port), *options) as server:
            told = claw("user", "add", "ada", "--email", "ada@example.com", code=0)
            assert told.stdout.startswith(f"ada is known at {issuer}")
            link = server.link("add", "eve")
            visitor, client = Visitor(server.origin), LoginClient(server.origin)
            client.register()
            back = sign_in(visitor, client.address(), "ada")
            assert back.headers["location"] == client.address()
            token = tokens(visitor, client)
            assert ask(server, token, "get_current_time", {}).status_code == 200
            other = Visitor(server.origin)
            assert sign_in(other, "/login", "eve").status_code == 403
            assert sign_in(other, f"/login/link/{link}", "eve").status_code == 303
            third = Visitor(server.origin)
            assert sign_in(third, "/login", "ben").status_code == 403
            shown = json.loads(claw("user", "show", "eve", "--json", code=0).stdout)
            assert [one["subject"] for one in shown["accounts"]] == ["eve"]
            listed = claw("user", "list", code=0).stdout
            assert urlsplit(issuer).netloc in listed
            for one in (visitor, other, third, client):
                one.http.close()
            assert SECRET not in "".join(server.errors)


def test_a_browser_goes_to_the_provider_and_comes_back(tmp_path: Path) -> None:
    file, secret_file = tmp_path / "tools.py", tmp_path / "secret"
    file.write_text(TOOLS)
    secret_file.write_text(f"{SECRET}\n")
    secret_file.chmod(0o600)
    port = free_port()
    with (
        identity_provider(port) as issuer,
        login_process(
            *("serve", file, "--http", str(port), "--login"),
            *("--oidc", issuer, "--oidc-client", "claw", "--oidc-secret-file", secret_file),
        ) as server,
        running_browser() as browser,
        callback() as waiting,
    ):
        link = server.link("add", "ada")
        client = LoginClient(server.origin, waiting.address)
        client.register()
        # Not `visiting`: of the provider's own pages the console complains.
        with closing(browser.new_context(java_script_enabled=False)) as context:
            page = context.new_page()
            page.goto(f"{server.origin}/login/link/{link}")
            page.get_by_role("button", name="Continue with").press("Enter")
            page.get_by_placeholder("Enter any login").fill("ada")
            page.get_by_placeholder("and password").fill("any")
            page.get_by_role("button", name="Sign-in").press("Enter")
            page.get_by_role("button", name="Continue").press("Enter")
            expect(page.get_by_role("heading")).to_contain_text(["You are signed in as ada"])
            page.goto(f"{server.origin}{client.address()}")
            page.get_by_role("button", name="Agree").press("Enter")
            page.wait_for_url(re.compile("callback"))
        token = client.exchange(waiting.fields["code"]).json()["access_token"]
        client.http.close()
        assert ask(server, token, "add", {"a": 1, "b": 2}).status_code == 200


class AtIssuer:
    """The official client, which logs in where our server says."""

    def __init__(self, url: str, name: str) -> None:
        self.url = url
        self.name = name
        self.asked: list[str] = []

    async def _redirect(self, address: str) -> None:
        self.asked.append(address)

    async def _callback(self) -> AuthorizationCodeResult:
        fields = parse_qs(urlsplit(agree_there(self.asked[-1], self.name)).query)
        told = {name: fields[name][0] for name in ("code", "state", "iss") if name in fields}
        return AuthorizationCodeResult(**told)

    @asynccontextmanager
    async def connected(self) -> AsyncGenerator[Client]:
        metadata = OAuthClientMetadata(client_name="Python", redirect_uris=[AnyUrl(REDIRECT)])
        auth = OAuthClientProvider(self.url, metadata, Storage(), self._redirect, self._callback)
        async with httpx2.AsyncClient(auth=auth, timeout=PATIENCE) as http:
            transport = streamable_http_client(self.url, http_client=http)
            async with Client(transport, mode="auto", read_timeout_seconds=PATIENCE) as client:
                yield client


async def test_the_python_client_logs_in_at_the_issuer_that_we_name() -> None:
    claw("being", "create", "notes", code=0)
    port = free_port()
    with identity_provider(port) as issuer:
        options = ("--jwt-issuer", issuer)
        public = f"http://localhost:{port}"
        with login_process(
            *("being", "serve", "--port", str(port), "--public-url", public), *options
        ):
            claw("user", "add", "ada", "--subject", "ada", code=0)
            python = AtIssuer(f"{public}/mcp", "ada")
            async with python.connected() as client:
                noted = await client.call_tool("update_notes", {"notes": ["Buy milk."]})
                assert not noted.is_error
            assert python.asked[0].startswith(issuer)


def test_a_program_with_credentials_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "tools.py"
    file.write_text(TOOLS)
    port = free_port()
    with identity_provider(port) as issuer:
        options = ("--jwt-issuer", issuer, "--audience", "urn:claw:tools", "--let-in", "all")
        with login_process("serve", file, "--http", str(port), *options) as server:
            basic = base64.b64encode(f"claw:{SECRET.replace(' ', '%20')}".encode()).decode()
            form = {
                "grant_type": "client_credentials",
                "scope": "all",
                "resource": "urn:claw:tools",
            }
            headers = {"authorization": f"Basic {basic}"}
            told = httpx2.post(f"{issuer}/token", data=form, headers=headers, timeout=PATIENCE)
            token = told.json()["access_token"]
            answer = ask(server, token, "add", {"a": 1, "b": 2})
            assert answer.json()["result"]["content"][0]["text"] == "3"
            # A member whom a rule let in does not keep the first person added from owning this.
            added = json.loads(claw("user", "add", "ada", "--json", code=0).stdout)
            assert added["role"] == "owner"


@pytest.fixture
def issuer() -> Iterator[TestIssuer]:
    with issuing() as found:
        yield found


def test_the_assistant_keeps_the_sessions_of_an_issuers_people_apart(issuer: TestIssuer) -> None:
    options = ("--jwt-issuer", issuer.url, "--audience", "claw", "--members", "--let-in", "all")
    with login_process("mcp-server", "--http", "0", *options) as server:
        of_ada, of_bob = (issuer.token(aud="claw", scope="all", sub=one) for one in ("ada", "bob"))
        order(server, of_ada, "My cat is called Zanzibar.", "home")
        assert "Zanzibar" in order(server, of_ada, "What is my cat called?", "home")
        assert "Zanzibar" not in order(server, of_bob, "What is my cat called?", "home")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--oidc", "https://id.example.com"), "--oidc needs --login"),
        (("--login", "--oidc", "https://id.example.com"), "--oidc needs --oidc-client"),
        (("--login", "--oidc-client", "claw"), "--oidc-client needs --oidc"),
        (("--login", "--let-in", "all"), "--let-in needs --oidc"),
        (("--login", "--audience", "x"), "--audience needs --jwt-issuer"),
        (("--scope", "a=all"), "--scope needs --jwt-issuer"),
        (("--login", "--jwt-issuer", "https://id.example.com"), "either --login or --jwt-issuer"),
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "command", [("being", "serve"), ("serve", "x.py", "--http", "0"), ("mcp-server", "--http", "0")]
)
def test_options_that_do_not_go_together(
    command: tuple[str, ...], options: tuple[str, ...], problem: str
) -> None:
    done = claw(*command, *options, code=2)
    said = " ".join(done.stderr.replace("│", " ").split())
    assert problem in said


def test_a_secret_that_others_can_read_is_refused(tmp_path: Path, issuer: TestIssuer) -> None:
    file = tmp_path / "secret"
    file.write_text("secret")
    file.chmod(0o644)
    options = ("--login", "--oidc", issuer.url, "--oidc-client", "claw")
    done = claw("being", "serve", "--port", "0", *options, "--oidc-secret-file", file, code=1)
    assert "chmod 600" in done.stderr


def test_an_issuer_by_another_name_is_refused_at_the_start(issuer: TestIssuer) -> None:
    done = claw("being", "serve", "--port", "0", "--jwt-issuer", f"{issuer.url}/", code=1)
    assert f"it calls itself '{issuer.url}'" in done.stderr


def test_people_are_known_at_an_issuer_that_is_named() -> None:
    done = claw("user", "add", "ada", "--subject", "1001", code=2)
    assert "--issuer" in done.stderr
    there = ("--issuer", "https://id.example.com")
    claw("user", "add", "ada", "--subject", "1001", *there, code=0)
    done = claw("user", "add", "ben", "--subject", "1001", *there, code=1)
    assert "that of ada already" in done.stderr
    claw("user", "add", "cai", "--email", "cai@example.com", *there, code=0)
    done = claw("user", "add", "dora", "--email", "Cai@example.com", *there, code=1)
    assert "expected as cai already" in done.stderr
    assert "dora" not in claw("user", "list", code=0).stdout
