"""What servers, networks and other programs may try against `claw login`, and get nothing."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import httpx2
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response

from clawkit.errors import LoginError
from clawkit.login.client import fetch
from clawkit.login.client.bearer import Bearer
from clawkit.login.client.callback import Callback
from clawkit.login.client.discovery import (
    Challenge,
    HowToLogIn,
    challenge_in,
    discover,
)
from clawkit.login.client.fetch import LONGEST, Web
from clawkit.login.client.flow import LoginScreen, NewLogin, _with_browser, log_in
from clawkit.login.client.stored import read_logins
from clawkit.login.metadata import ServerMetadata
from clawkit.wire.http.uvicorn_server import listen
from tests.claw import claw
from tests.guard.http.worlds import Script
from tests.login.client.foreign import ForeignServer
from tests.login.client.person import follows
from tests.processes import PATIENCE

TOO_DEEP = b'{"x":' + b"[" * 100_000
_NAMES = (b"resource", b"issuer", b"client_id", b"access_token", b"error")
NOT_UTF_8 = b"{" + b",".join(b'"%b": "\xff"' % name for name in _NAMES) + b"}"
ESCAPE = "\x1b]0;owned\x07"


def try_to_log_in(foreign: ForeignServer, **options: Any) -> None:
    """The flow behind the command, with a browser that agrees."""

    def show(address: str, callback: Callback) -> None:
        callback.take(follows(address))

    screen = LoginScreen(show, lambda _: "")
    log_in(foreign.url, NewLogin(timeout=5, keep_in="file", **options), screen)


def refused(foreign: ForeignServer, **options: Any) -> str:
    with pytest.raises(LoginError) as caught:
        try_to_log_in(foreign, **options)
    assert read_logins()[0] == []
    return str(caught.value)


def test_the_flow_of_these_tests_works_if_nobody_attacks(foreign: ForeignServer) -> None:
    try_to_log_in(foreign)
    assert [one.scope for one in read_logins()[0]] == ["basic"]


@pytest.mark.parametrize(
    "resource",
    [
        "https://evil.example.com/mcp",
        "{origin}/another",
        "{origin}/mc",
        "{origin}/mcp/deeper",
        "{origin}/mcp?x=1",
        "{origin}.evil.example.com/mcp",
        "{origin}/mcp#x",
        "http://[",
        "",
    ],
)
def test_metadata_of_another_resource_is_not_used(foreign: ForeignServer, resource: str) -> None:
    foreign.resource = {"resource": resource.format(origin=foreign.origin)}
    assert "not where you log in" in refused(foreign)
    assert foreign.registered == []


@pytest.mark.parametrize(
    "issuer",
    ["https://evil.example.com", "{origin}/tenant", "{origin}/?x", "{upper}", "{origin}//"],
)
def test_metadata_of_another_issuer_is_not_used(foreign: ForeignServer, issuer: str) -> None:
    upper = foreign.origin.replace("http", "HTTP")
    foreign.metadata = {"issuer": issuer.format(origin=foreign.origin, upper=upper)}
    assert "it is not used" in refused(foreign)
    assert foreign.registered == []


@pytest.mark.parametrize("name", ["authorization", "token", "registration", "revocation"])
@pytest.mark.parametrize(
    "place",
    [
        "http://as.example.com/x",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "https://user:pass@as.example.com/",
        "https://as.example.com/#x",
        "https://as.example.com/\n",
        "//as.example.com/",
        "https://as.example.com:0/",
    ],
)
def test_an_endpoint_that_is_not_safe_is_not_used(
    foreign: ForeignServer, name: str, place: str
) -> None:
    foreign.metadata = {f"{name}_endpoint": place}
    assert f"the {name} endpoint" in refused(foreign)
    assert foreign.registered == []


@pytest.mark.parametrize("methods", [None, [], ["plain"], "S256"])
def test_no_code_is_asked_for_without_pkce(foreign: ForeignServer, methods: Any) -> None:
    foreign.metadata = {"code_challenge_methods_supported": methods}
    refused(foreign)
    assert foreign.asked == []


@pytest.mark.parametrize(
    "server", ["http://as.example.com", "javascript:alert(1)", "https://u:p@as.example.com", ""]
)
def test_an_authorization_server_that_is_not_safe_is_not_asked(
    foreign: ForeignServer, server: str
) -> None:
    foreign.resource = {"authorization_servers": [server]}
    assert "the authorization server" in refused(foreign)


@pytest.mark.parametrize(
    "place",
    ["https://127.0.0.1:1/", "https://localhost:1/", "https://10.0.0.1/", "https://[::1]:1/"],
)
def test_a_server_on_the_internet_leads_to_no_place_inside(place: str) -> None:
    with pytest.raises(LoginError, match="in a network that the server itself is not in"):
        Web("https://93.184.216.34/mcp").get(place, "the metadata")


def test_a_server_in_a_private_network_does_not_lead_to_this_machine() -> None:
    with pytest.raises(LoginError, match="in a network that the server itself is not in"):
        Web("https://10.0.0.1/mcp").get("https://127.0.0.1:1/", "the metadata")


@pytest.mark.parametrize("server", ["https://93.184.216.34/mcp", "https://10.0.0.1/mcp"])
def test_a_server_elsewhere_leads_no_browser_to_this_machine(server: str) -> None:
    place = "http://127.0.0.1:7777/x"
    with pytest.raises(LoginError, match="would lead your browser to this machine"):
        _with_browser(Web(server), _how(place), "", NewLogin(), LoginScreen(_never, str))


def _how(place: str) -> HowToLogIn:
    found = ServerMetadata(
        issuer="https://93.184.216.34",
        token_endpoint="https://93.184.216.34/token",
        authorization_endpoint=place,
        code_challenge_methods_supported=("S256",),
    )
    return HowToLogIn(found, "", "")


def _never(address: str, _: Callback) -> None:
    pytest.fail(f"{address} was shown")


def resolve_to(patch: pytest.MonkeyPatch, *answers: list[str]) -> None:
    """Let names stand for these addresses: each look-up for the next, then for the last."""
    left = list(answers)

    def look_up(host: str | None, port: Any, *_: Any, **__: Any) -> list[Any]:
        name = host.decode() if isinstance(host, bytes) else host
        found = left.pop(0) if len(left) > 1 else left[0]
        assert name == "mcp.example.com"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port or 0)) for one in found]

    patch.setattr(socket, "getaddrinfo", look_up)


def test_a_server_that_is_also_here_does_not_lead_to_this_machine(
    foreign: ForeignServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolve_to(monkeypatch, ["93.184.216.34", "127.0.0.1"])
    web = Web("https://mcp.example.com/mcp")
    for place in (foreign.url, "https://mcp.example.com/"):
        with pytest.raises(LoginError, match="in a network that the server itself is not in"):
            web.get(place, "the metadata")
    assert foreign.calls == []


def test_a_name_that_moves_to_this_machine_is_sent_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(PATIENCE)
        resolve_to(monkeypatch, ["93.184.216.34"], ["93.184.216.34"], ["127.0.0.1"])
        place = f"https://mcp.example.com:{listening.getsockname()[1]}/"
        with pytest.raises(LoginError, match="in a network that the server itself is not in"):
            Web(place).get(place, "the metadata")
        connection, _ = listening.accept()
        with connection:
            connection.settimeout(PATIENCE)
            assert connection.recv(1) == b""


def test_a_redirect_to_another_host_is_not_followed(foreign: ForeignServer) -> None:
    async def answer(*_: Any) -> Response:
        return JSONResponse({})

    with Script(answer) as other:
        place = "/.well-known/oauth-authorization-server"
        foreign.replies[place] = RedirectResponse(f"{other.origin}{place}")
        assert "leads to another host" in refused(foreign)
        assert other.heard == []


@pytest.mark.parametrize("place", ["http://[", "http://127.0.0.1:99999/", "//", "javascript:x"])
def test_a_redirect_to_no_address_is_not_followed(foreign: ForeignServer, place: str) -> None:
    answer = Response(status_code=302, headers={"location": place})
    foreign.replies["/.well-known/oauth-authorization-server"] = answer
    refused(foreign)


@pytest.mark.parametrize(
    "place",
    ["http://[", "http://127.0.0.1:99999/", "javascript:x", "ftp://x", "http://x.example.com/"],
)
def test_a_browser_is_sent_back_to_no_address_that_is_not_safe(
    foreign: ForeignServer, place: str
) -> None:
    done = claw("login", foreign.url, "--redirect-uri", place, code=2)
    assert "--redirect-uri is" in done.stderr
    assert "Traceback" not in done.stderr
    assert foreign.calls == foreign.registered == []


def test_a_redirect_of_a_token_request_is_not_followed(foreign: ForeignServer) -> None:
    foreign.replies["/token"] = RedirectResponse(f"{foreign.origin}/revoke", 307)
    assert "gives no token: the status 307" in refused(foreign)
    assert foreign.revoked == []


def test_a_document_without_an_end_is_given_up(foreign: ForeignServer) -> None:
    large = JSONResponse({"resource": "x" * (LONGEST + 1)})
    foreign.replies["/.well-known/oauth-protected-resource/mcp"] = large
    assert f"more than {LONGEST} bytes" in refused(foreign)


def test_a_server_that_drips_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "SECONDS", 1.0)

    def drip() -> None:
        connection, _ = listening.accept()
        with connection, suppress(OSError):
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\n")
            while True:
                connection.sendall(b"X-Slow: x\r\n")
                time.sleep(0.05)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        dripping = threading.Thread(target=drip)
        dripping.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/"
        with pytest.raises(LoginError, match="did not answer within 1 s"):
            Web(url).get(url, "the metadata")
        dripping.join(PATIENCE)
        assert not dripping.is_alive()


def test_what_is_no_json_is_not_used(foreign: ForeignServer) -> None:
    foreign.replies["/token"] = PlainTextResponse("<html>")
    assert "cannot be used: it is not JSON" in refused(foreign)


@pytest.mark.parametrize("body", [TOO_DEEP, NOT_UTF_8, b"\xff\xfe"], ids=["deep", "utf8", "none"])
@pytest.mark.parametrize(
    "path",
    [
        "/.well-known/oauth-protected-resource/mcp",
        "/.well-known/oauth-authorization-server",
        "/register",
        "/token",
    ],
)
def test_a_document_that_cannot_be_decoded_is_not_used(
    foreign: ForeignServer, path: str, body: bytes
) -> None:
    foreign.replies[path] = Response(body, media_type="application/json")
    assert "cannot be used: it is" in refused(foreign)
    foreign.replies = {"/token": Response(body, 400)}
    assert "gives no token: the status 400" in refused(foreign)


def test_a_renewal_that_cannot_be_decoded_is_told(foreign: ForeignServer) -> None:
    try_to_log_in(foreign)
    foreign.replies["/token"] = Response(TOO_DEEP)
    bearer = Bearer(foreign.url)
    with pytest.raises(LoginError, match=r"cannot be renewed now: .* nested too deep"):
        bearer.renew(bearer.get())


@pytest.mark.parametrize(
    "tokens",
    [
        {"access_token": "a\r\nX-Evil: 1"},
        {"access_token": "a b"},
        {"access_token": ""},
        {"access_token": "ü"},
        {"access_token": "a" * 20000},
        {"access_token": 5},
        {"refresh_token": "a\nb"},
        {"token_type": "DPoP"},
        {"token_type": None},
    ],
)
def test_a_token_that_cannot_be_sent_is_not_kept(
    foreign: ForeignServer, tokens: dict[str, Any]
) -> None:
    foreign.tokens = tokens
    refused(foreign)


@pytest.mark.parametrize("seconds", ["3600", 3600.0, "soon", -1, 1e300, None])
def test_any_lifetime_is_borne(foreign: ForeignServer, seconds: Any) -> None:
    foreign.tokens = {"expires_in": seconds}
    try_to_log_in(foreign)
    (login,) = read_logins()[0]
    assert login.expires is None or login.expires > time.time()


def test_a_servers_words_do_nothing_to_a_terminal(foreign: ForeignServer) -> None:
    told = {"error": "invalid_grant", "error_description": f"{ESCAPE}no\nclaw: all is well"}
    foreign.replies["/token"] = JSONResponse(told, 400)
    text = refused(foreign)
    assert "\x1b" not in text
    assert "\n" not in text
    assert "invalid_grant" in text


def test_a_refusal_tells_nothing_of_what_was_sent(foreign: ForeignServer) -> None:
    async def echo(request: Request) -> Response:
        form = await request.form()
        told = f"{form['code']} {form['code_verifier']}"
        foreign.given.add(str(form["code_verifier"]))
        return JSONResponse({"error": "invalid_grant", "error_description": told}, 400)

    foreign.replies["/token"] = echo
    text = refused(foreign)
    assert len(foreign.given) >= 1
    assert not any(secret in text for secret in foreign.given)


def test_an_answer_with_another_state_does_not_count() -> None:
    callback = Callback("ours")
    try:
        place = callback.redirect_uri
        wrong = (
            f"{place}?code=x&state=another",
            f"{place}?code=x",
            f"{place}?code=x&state=ours&state=another",
            f"{place}?state=ours",
            f"{place.replace('/callback', '/other')}?code=x&state=ours",
        )
        for address in wrong:
            response = httpx2.get(address, timeout=PATIENCE)
            assert response.status_code == 400
            assert "x&" not in response.text
        good = httpx2.get(f"{place}?code=right&state=ours", timeout=PATIENCE)
        assert good.status_code == 200
        assert good.headers["referrer-policy"] == "no-referrer"
        assert "right" not in good.text
        assert callback.wait(PATIENCE)["code"] == "right"
    finally:
        callback.close()


def _until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_connection_that_breaks_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    callback = Callback("ours")
    try:
        port = callback._servers[0].server_address[1]
        before = threading.active_count()
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(b"GET /")
            reset = struct.pack("ii", 1, 0)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
            _until(lambda: threading.active_count() > before)
        _until(lambda: threading.active_count() <= before)
    finally:
        callback.close()
    assert capfd.readouterr().err == ""


def test_the_answer_is_heard_on_this_machine_only() -> None:
    callback = Callback("ours")
    try:
        assert callback.redirect_uri.startswith("http://127.0.0.1:")
        assert [server.server_address[0] for server in callback._servers] == ["127.0.0.1"]
    finally:
        callback.close()


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("http://mcp.example.com/mcp", "a login over plain HTTP can be stolen"),
        ("https://ada:pass@mcp.example.com/", "a user or password in it"),
        ("ftp://mcp.example.com/", "is not an address with https://"),
        ("https://", "is not an address with https://"),
        ("http://[", "is not an address with https://"),
        ("https://mcp.example.com:99999/", "is not an address with https://"),
    ],
)
@pytest.mark.parametrize("command", ["login", "logout"])
def test_an_address_where_a_login_would_be_lost_is_refused(
    command: str, url: str, problem: str
) -> None:
    done = claw(command, url, code=2)
    assert problem in done.stderr
    assert "pass@" not in done.stderr


def test_a_server_that_wants_no_login_is_said_so() -> None:
    async def open_to_all(request: Request, message: Any) -> Response:
        if request.method != "POST":
            return Response(status_code=404)
        return JSONResponse({"jsonrpc": "2.0", "id": message["id"], "result": {}})

    with Script(open_to_all) as script:
        done = claw("login", script.address, code=1)
    assert "asks for no login" in done.stderr


def test_who_is_not_there_is_said_so() -> None:
    done = claw("login", "http://127.0.0.1:1/mcp", code=1)
    assert "http://127.0.0.1:1 cannot be reached" in done.stderr


@pytest.mark.parametrize(
    ("values", "challenge"),
    [
        ([], None),
        (["Basic realm=x"], None),
        (["Bearer"], Challenge()),
        (["bearer scope=a"], Challenge(scope="a")),
        (['Bearer scope="a b", error="x"'], Challenge(scope="a b", error="x")),
        (['Basic realm="Bearer scope=no", Bearer scope="yes"'], Challenge(scope="yes")),
        (['Bearer scope="yes", Basic scope="no"'], Challenge(scope="yes")),
        (["Basic realm=x", 'Bearer resource_metadata="https://x/y"'], Challenge("https://x/y")),
        (['Bearer error="a\\"b"'], Challenge(error='a"b')),
        (['Bearer scope="a\x00b"'], Challenge()),
        (['Bearer scope="a'], Challenge()),
        (['Bearer scope="one", scope="two"'], Challenge(scope="one")),
        (["Negotiate abc==, Bearer scope=x"], Challenge(scope="x")),
    ],
)
def test_a_challenge_is_read(values: list[str], challenge: Challenge | None) -> None:
    assert challenge_in(values) == challenge


def test_a_server_of_the_old_transport_is_asked_as_its_clients_do(foreign: ForeignServer) -> None:
    async def old(request: Request, _: Any) -> Response:
        if request.url.path != "/sse":
            return Response(status_code=404)
        challenge = foreign.refusal(401, "invalid_token", "basic").headers["www-authenticate"]
        return Response(
            status_code=405 if request.method == "POST" else 401,
            headers={"www-authenticate": challenge},
        )

    with Script(old) as script:
        foreign.resource = {"resource": f"{script.origin}/sse"}
        how = discover(Web(script.origin), f"{script.origin}/sse")
    assert how.scope == "basic"


def test_an_answer_is_not_awaited_where_another_program_may_get_it() -> None:
    with listen("::1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(LoginError, match=rf"::1:{port} cannot be listened on"):
            Callback("state", f"http://localhost:{port}/back")
