"""Who may call `claw proxy --listen`: programs of one user, who has the token, who logged in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.requests import Request
from starlette.responses import Response

from clawkit.errors import AccessError, SettingsError
from clawkit.guard.http.callers import Callers, ClientLogins, own_user
from clawkit.guard.http.client_request import ClientPlace
from clawkit.guard.http.reverse_proxy import ReverseProxyApp
from clawkit.guard.http.upstream import open_guarded
from clawkit.system import peers
from clawkit.wire.http import endpoint
from clawkit.wire.http.endpoint import HttpLogin
from clawkit.wire.http.request_checks import Origins
from clawkit.wire.session import Principal
from tests.claw import CLAW, claw, finished
from tests.guard.approvals import until
from tests.guard.guarded_server import ALLOW_ALL, records
from tests.guard.http.worlds import (
    Script,
    call,
    initialize,
    obliging,
    result,
    reverse_proxy,
    served,
    with_session,
)
from tests.login.visitors import LoginClient, Visitor
from tests.processes import PATIENCE

SECRET = "s3cret-" * 6
TOKEN = "X-Claw-Token"

_AS_ANOTHER = """
import encodings.idna, json, os, sys, urllib.error, urllib.request
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
told = json.loads(sys.argv[1])
request = urllib.request.Request(told["url"], told["body"].encode(), told["headers"])
try:
    answer = urllib.request.urlopen(request)
except urllib.error.HTTPError as error:
    answer = error
print(json.dumps([answer.status, answer.read().decode()]))
"""


def as_another_user(url: str, **headers: str) -> tuple[int, str]:
    """What a program of another user is answered; only root can become one."""
    told = {
        "url": url,
        "body": json.dumps(call("t")),
        "headers": {"content-type": "application/json", **headers},
    }
    command = (sys.executable, "-c", _AS_ANOTHER, json.dumps(told))
    status, body = json.loads(finished(*command, code=0).stdout)
    return status, body


@pytest.fixture
def script() -> Iterator[Script]:
    with Script(obliging) as found:
        yield found


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    file = tmp_path / "token"
    file.write_text(SECRET)
    file.chmod(0o600)
    return file


def post(address: str, message: Any = None, **headers: str) -> httpx2.Response:
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx2.post(address, json=message or call("t"), headers=fields, timeout=PATIENCE)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "127.0.0.3"])
def test_programs_of_the_same_user_need_nothing(script: Script, tmp_path: Path, host: str) -> None:
    with reverse_proxy(script.address, tmp_path, ALLOW_ALL, "--host", host) as address:
        assert post(address, authorization="Bearer mine").json()["result"]
    assert script.heard[-1].headers["authorization"] == "Bearer mine"


def test_other_users_of_the_machine_are_kept_out(
    script: Script, tmp_path: Path, token_file: Path
) -> None:
    if os.geteuid() != 0:  # nobody else can be called as: what other systems have instead
        options = ("--token-file", str(token_file))
        with reverse_proxy(script.address, tmp_path, ALLOW_ALL, *options) as address:
            assert post(address).status_code == 401
            assert post(address, x_claw_token=SECRET).status_code == 200
        return
    with reverse_proxy(script.address, tmp_path) as address:
        status, body = as_another_user(address)
        assert status == 403
        assert (
            "programs of the user who started it (0), and this is a program of user 65534" in body
        )
        assert "--token-file FILE" in body
        for path in ("/", "/.well-known/oauth-protected-resource/mcp", "/claw-login/token"):
            assert as_another_user(address.replace("/mcp", path))[0] == 403
        assert script.heard == []
        assert post(address).status_code == 200
    with reverse_proxy(
        script.address, tmp_path, ALLOW_ALL, "--token-file", str(token_file)
    ) as address:
        assert as_another_user(address)[0] == 401
        assert as_another_user(address, **{TOKEN: SECRET})[0] == 200


def test_where_the_system_cannot_tell_a_token_is_needed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(peers, "_TABLES", {4: tmp_path / "none", 16: tmp_path / "none"})
    with pytest.raises(SettingsError, match="does not say whose program calls: give --token-file"):
        own_user(print)


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_beyond_this_machine_a_token_or_a_login_is_needed(host: str) -> None:
    done = claw("proxy", "--listen", "0", "--url", "http://127.0.0.1:9/mcp", "--host", host, code=2)
    assert (
        f"claw proxy: at {host} anybody who reaches this machine could use the server"
        in done.stderr
    )
    assert "--token-file FILE" in done.stderr
    assert "--login" in done.stderr
    assert "is at http" not in done.stderr


def test_beyond_this_machine_a_token_lets_in(
    script: Script, tmp_path: Path, token_file: Path
) -> None:
    options = ("--host", "0.0.0.0", "--token-file", str(token_file))
    with reverse_proxy(script.address, tmp_path, ALLOW_ALL, *options) as address:
        here = address.replace("0.0.0.0", "127.0.0.1")
        assert post(here).status_code == 401
        assert post(here, authorization=f"Bearer {SECRET}").status_code == 200


def test_a_token_is_for_the_guard_and_goes_no_further(
    script: Script, tmp_path: Path, token_file: Path, home: Path
) -> None:
    options = ("--token-file", str(token_file))
    with reverse_proxy(script.address, tmp_path, ALLOW_ALL, *options) as address:
        for wrong in ({}, {"authorization": "Bearer no"}, {"x_claw_token": SECRET[:-1]}):
            refused = post(address, **wrong)
            assert refused.status_code == 401
            assert "x-claw-token" in refused.json()["error"]["message"]
        wrong_beside = post(address, authorization=f"Bearer {SECRET}", x_claw_token="no")
        assert wrong_beside.status_code == 401
        assert httpx2.get(address, timeout=PATIENCE).status_code == 401
        assert httpx2.delete(address, timeout=PATIENCE).status_code == 401
        assert script.heard == []
        assert post(address, authorization=f"Bearer {SECRET}").status_code == 200
        assert "authorization" not in script.heard[-1].headers
        both = post(address, authorization="Bearer mine", x_claw_token=SECRET)
        assert both.status_code == 200
        assert script.heard[-1].headers["authorization"] == "Bearer mine"
        assert "x-claw-token" not in script.heard[-1].headers
    for file in (home / "claw").rglob("*"):
        assert not file.is_file() or SECRET.encode() not in file.read_bytes()


def test_a_page_tells_people_what_to_paste_with_the_token(
    script: Script, tmp_path: Path, token_file: Path
) -> None:
    with reverse_proxy(
        script.address, tmp_path, ALLOW_ALL, "--token-file", str(token_file)
    ) as address:
        page = httpx2.get(
            address.removesuffix("mcp"), headers={"accept": "text/html"}, timeout=PATIENCE
        )
        assert page.status_code == 200
        assert "YOUR_TOKEN" in page.text
        assert SECRET not in page.text


def test_a_token_file_that_others_can_read_is_refused(token_file: Path) -> None:
    token_file.chmod(0o644)
    options = ("--listen", "0", "--url", "http://127.0.0.1:9/mcp", "--token-file", str(token_file))
    assert "others can read it: chmod 600" in claw("proxy", *options, code=1).stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--url", "http://a.example/", "--token-file", "t"), "need --listen PORT"),
        (("--url", "http://a.example/", "--login"), "need --listen PORT"),
        (("--url", "http://a.example/", "--listen", "0", "--members"), "need --login"),
        (
            ("--url", "http://a.example/", "--listen", "0", "--public-url", "https://b.example"),
            "--public-url needs --login or --token-file",
        ),
        (
            ("--url", "http://a.example/", "--listen", "0", "--login", "--token-file", "t"),
            "give either --login or --token-file",
        ),
    ],
)
def test_options_that_do_not_fit_are_refused(options: tuple[str, ...], said: str) -> None:
    stderr = claw("proxy", *options, code=2).stderr
    assert said in " ".join(stderr.replace("│", " ").split())


async def two_tools(request: Request, message: Any) -> Response:
    """A server of the handshake era that can read and write."""
    if request.method == "POST" and message.get("method") == "tools/list":
        schema = {"type": "object"}
        listed = [
            {"name": name, "description": f"Can {name}.", "inputSchema": schema}
            for name in ("read", "write")
        ]
        return result(message, {"tools": listed})
    return await with_session(request, message)


class LoginGuard:
    """A guard that people log in to."""

    def __init__(self, address: str) -> None:
        self.address = address
        port = address.rpartition(":")[2].partition("/")[0]
        self.origin = f"http://localhost:{port}"

    @contextmanager
    def person(self, *command: str) -> Iterator[tuple[Visitor, LoginClient]]:
        """Somebody new who is signed in, and their client, which registered."""
        link = claw("user", "add", *command, code=0).stdout.strip()
        visitor, client = Visitor(self.origin), LoginClient(self.origin)
        with visitor.http, client.http:
            assert visitor.begin(link.partition("/login/link/")[2]).status_code == 303
            client.register()
            yield visitor, client

    def token(self, visitor: Visitor, client: LoginClient, **chosen: Any) -> str:
        code = visitor.agree(client.address(), **chosen)["code"]
        return client.exchange(code).json()["access_token"]


@contextmanager
def login_guard(script: Script, folder: Path, *options: str) -> Iterator[LoginGuard]:
    with reverse_proxy(script.address, folder, ALLOW_ALL, "--login", *options) as address:
        yield LoginGuard(address)


def test_people_log_in_to_the_guard(tmp_path: Path, home: Path) -> None:
    with Script(two_tools) as script, login_guard(script, tmp_path) as guard:
        refused = post(guard.address)
        assert refused.status_code == 401
        assert "/.well-known/oauth-protected-resource/mcp" in refused.headers["www-authenticate"]
        with guard.person("ada") as (ada, client):
            token = guard.token(ada, client)
            assert post(guard.address, authorization=f"Bearer {token}").json()["result"]
        assert "authorization" not in script.heard[-1].headers
        assert post(guard.address, authorization="Bearer bto_no").status_code == 401
    assert any("ada" in str(record.get("host")) for record in records(home))
    assert token not in "".join(map(str, records(home)))


def test_a_login_can_be_for_tools_by_name(tmp_path: Path) -> None:
    with (
        Script(two_tools) as script,
        login_guard(script, tmp_path) as guard,
        guard.person("ada") as (ada, client),
    ):
        everything = guard.token(ada, client)
        listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        assert post(guard.address, listing, authorization=f"Bearer {everything}").json()["result"]
        page = ada.get(client.address()).text
        assert "read: Can read." in page
        narrow = guard.token(ada, client, level="", extra=["tool:read"])
        bearer = f"Bearer {narrow}"
        assert post(guard.address, call("read"), authorization=bearer).status_code == 200
        more = post(guard.address, call("write"), authorization=bearer)
        assert more.status_code == 403
        assert 'error="insufficient_scope"' in more.headers["www-authenticate"]
        assert "tool:write" in more.headers["www-authenticate"]
        assert [m["params"]["name"] for m in script.messages("tools/call")] == ["read"]


def test_only_owners_may_log_in_unless_it_is_for_members(tmp_path: Path) -> None:
    claw("user", "add", "ada", code=0)
    claw("being", "create", "team", code=0)
    with Script(two_tools) as script:
        with (
            login_guard(script, tmp_path) as guard,
            guard.person("ben", "--being", "team") as (ben, client),
        ):
            assert ben.turned_away(client.address())["error"] == "access_denied"
        with (
            login_guard(script, tmp_path, "--members") as guard,
            guard.person("eve", "--being", "team") as (eve, client),
        ):
            token = guard.token(eve, client)
            assert post(guard.address, authorization=f"Bearer {token}").status_code == 200


def test_a_session_is_for_who_began_it(tmp_path: Path) -> None:
    with (
        Script(two_tools) as script,
        login_guard(script, tmp_path, "--members") as guard,
        guard.person("ada") as (ada, hers),
    ):
        claw("being", "create", "team", code=0)
        with guard.person("ben", "--being", "team") as (ben, his):
            ada_s = {"authorization": f"Bearer {guard.token(ada, hers)}"}
            ben_s = {"authorization": f"Bearer {guard.token(ben, his)}"}
            begun = post(guard.address, initialize(), **ada_s)
            session = {"mcp_session_id": begun.headers["mcp-session-id"]}
            assert post(guard.address, **ada_s, **session).status_code == 200
            heard = len(script.heard)
            assert post(guard.address, **ben_s, **session).status_code == 404
            fields = {name.replace("_", "-"): one for name, one in (ben_s | session).items()}
            for method in ("GET", "DELETE"):
                refused = httpx2.request(method, guard.address, headers=fields, timeout=PATIENCE)
                assert refused.status_code == 404
            assert post(guard.address, **ben_s, mcp_session_id="s-of-nobody").status_code == 404
            assert len(script.heard) == heard


def test_a_login_that_was_ended_ends_at_the_guard(tmp_path: Path) -> None:
    with (
        Script(two_tools) as script,
        login_guard(script, tmp_path) as guard,
        guard.person("ada") as (ada, client),
    ):
        token = guard.token(ada, client)
        assert post(guard.address, authorization=f"Bearer {token}").status_code == 200
        claw("user", "link", "ada", "--lost", code=0)
        assert post(guard.address, authorization=f"Bearer {token}").status_code == 401


def test_a_server_that_wants_a_login_of_its_own_says_so_where_people_log_in_to_the_guard(
    tmp_path: Path, token_file: Path
) -> None:
    async def locked(_: Request, __: Any) -> Response:
        return Response(status_code=401, headers={"www-authenticate": "Bearer"})

    with Script(locked) as script:
        with login_guard(script, tmp_path) as guard, guard.person("ada") as (ada, client):
            told = post(guard.address, authorization=f"Bearer {guard.token(ada, client)}")
            assert told.status_code == 502
            assert "cannot log in to the server as well" in told.json()["error"]["message"]
            assert "CLAW_HEADER_<NAME>" in told.json()["error"]["message"]
            assert "www-authenticate" not in told.headers
        options = ("--token-file", str(token_file))
        with reverse_proxy(script.address, tmp_path, ALLOW_ALL, *options) as address:
            told = post(address, authorization=f"Bearer {SECRET}")
            assert told.status_code == 502
            assert "send that as X-Claw-Token" in told.json()["error"]["message"]


def test_credentials_of_the_guard_that_are_refused_are_not_the_clients_affair(
    tmp_path: Path,
) -> None:
    async def locked(_: Request, __: Any) -> Response:
        return Response(status_code=401, headers={"www-authenticate": "Bearer"})

    env = {"CLAW_HEADER_AUTHORIZATION": "Bearer old"}
    with Script(locked) as script, reverse_proxy(script.address, tmp_path, **env) as address:
        told = post(address)
        assert told.status_code == 502
        assert "it wants other credentials" in told.json()["error"]["message"]
        assert "old" not in told.text


def test_a_guard_says_for_whom_it_is_and_whom_it_refused(script: Script, tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(ALLOW_ALL)
    command = (*CLAW, "proxy", "--listen", "0", "--url", script.address, "--policy", str(file))
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert " is at http://127.0.0.1:" in line
        assert "programs of your user" in process.stderr.readline()
        if os.geteuid() == 0:
            for _ in range(2):
                assert as_another_user(line.split(" is at ")[1].strip())[0] == 403
        process.terminate()
        rest = process.stderr.read()
    assert rest.count("refused a program of user 65534: to let others in") == (os.geteuid() == 0)


def test_a_host_beyond_loopback_with_a_login_needs_its_address(script: Script) -> None:
    done = claw(
        *("proxy", "--listen", "0", "--url", script.address, "--host", "0.0.0.0", "--login"),
        code=1,
    )
    assert "need --public-url https://" in done.stderr


class Fleeting:
    """A login that can end while a stream is open."""

    def __init__(self) -> None:
        self.over = False

    async def admit(self, _: Request) -> None:
        if self.over:
            raise AccessError("The login is over")

    async def who(self, request: Request, _: Any) -> Principal:
        await self.admit(request)
        return Principal("ada")


LISTENING = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": {}}


@pytest.mark.parametrize(("method", "message"), [("GET", None), ("POST", LISTENING)])
def test_a_stream_ends_with_its_login(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, method: str, message: Any
) -> None:
    monkeypatch.setattr(endpoint, "RECHECK_SECONDS", 0.05)
    policy = tmp_path / "policy.toml"
    policy.write_text(ALLOW_ALL)

    async def lasting(_: Request, __: Any) -> Response:
        return script.stream(b": hello\n\n", ends=False)

    with Script(lasting) as script:
        guarded = open_guarded(script.address, policy=policy)
        login = Fleeting()
        callers = Callers("login", HttpLogin(login.admit, login.who, ()))
        place = ClientPlace("", "127.0.0.1", 1)
        logins = ClientLogins(guarded.target, callers, place, ("/mcp",))
        app = ReverseProxyApp(guarded, Origins(None, ()), callers, logins)
        with (
            served(app) as origin,
            httpx2.stream(method, f"{origin}/mcp", json=message, timeout=PATIENCE) as stream,
        ):
            comments = stream.iter_bytes()
            for _ in range(20):  # it was looked at several times
                assert next(comments)
            login.over = True
            for _ in comments:
                pass
        until(lambda: script.left == 1)
    assert stream.status_code == 200


def test_a_client_of_the_old_transport_is_challenged_where_it_posts(tmp_path: Path) -> None:
    async def old(request: Request, _: Any) -> Response:
        if request.url.path not in ("/mcp", "/messages"):
            return Response(status_code=404)
        if request.method == "GET":
            return script.stream(b"event: endpoint\ndata: /messages\n\n", ends=False)
        return Response(status_code=401, headers={"www-authenticate": "Bearer x"})

    with Script(old) as script, reverse_proxy(script.address, tmp_path) as address:
        with httpx2.stream("GET", address, timeout=PATIENCE) as stream:
            lines = stream.iter_lines()
            place = next(line for line in lines if line.startswith("data: /"))
            told = post(address.replace("/mcp", place.removeprefix("data: ")))
        assert told.status_code == 401
        assert told.headers["www-authenticate"] == "Bearer x"
