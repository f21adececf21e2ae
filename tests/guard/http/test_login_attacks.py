"""What somebody could try with a login through the guard: each must come to nothing."""

from __future__ import annotations

import base64
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from clawkit.errors import LoginError
from clawkit.guard.http.login_relay import PendingLogin, Seal
from clawkit.guard.http.server_logins import ServerLogins
from clawkit.guard.http.upstream import find_target
from clawkit.login.document_fetch import LONGEST
from clawkit.login.metadata import bearer_challenge
from clawkit.system.addresses import Reach, reach_of
from tests.claw import CLAW
from tests.guard.guarded_server import ALLOW_ALL
from tests.guard.http.worlds import Script, call, reverse_proxy
from tests.processes import PATIENCE, ROOT

MINE = "http://127.0.0.1:7777/back"
RESOURCE = "/.well-known/oauth-protected-resource/mcp"
SERVER = "/.well-known/oauth-authorization-server"
CODE = "c0de-that-nobody-may-see"
TOKEN = "t0ken-that-nobody-may-see"


class Behind:
    """A server and its authorization server in one, whose documents a test can change."""

    def __init__(self) -> None:
        self.script = Script(self._answer)
        self.changed: dict[str, Any] = {}
        """What is different in a document, or another response, by its path."""
        self.challenge = ""

    def __enter__(self) -> Behind:
        self.script.__enter__()
        self.origin = self.script.origin
        self.challenge = f'Bearer resource_metadata="{self.origin}{RESOURCE}"'
        return self

    def __exit__(self, *_: object) -> None:
        self.script.stop()

    def _documents(self) -> dict[str, dict[str, Any]]:
        origin = self.origin
        return {
            RESOURCE: {"resource": f"{origin}/mcp", "authorization_servers": [origin]},
            SERVER: {
                "issuer": origin,
                "authorization_endpoint": f"{origin}/authorize",
                "token_endpoint": f"{origin}/token",
                "registration_endpoint": f"{origin}/register",
                "revocation_endpoint": f"{origin}/revoke",
                "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["private_key_jwt", "none"],
                "authorization_response_iss_parameter_supported": True,
                "client_id_metadata_document_supported": True,
            },
            "/register": {
                "client_id": "known-as-7",
                "client_secret": "s",
                "registration_client_uri": f"{origin}/register/7",
                "registration_access_token": "r",
            },
            "/token": {"access_token": TOKEN, "token_type": "Bearer"},
        }

    async def _answer(self, request: Request, _message: Any) -> Response:
        path = request.url.path
        change = self.changed.get(path)
        if isinstance(change, Response):
            return change
        if path == "/revoke":
            return Response(status_code=200)
        if path == "/mcp":
            return Response(status_code=401, headers={"www-authenticate": self.challenge})
        document = self._documents().get(path)
        if document is None:
            return Response(status_code=404)
        return JSONResponse(document | (change or {}), 201 if path == "/register" else 200)

    def heard(self, path: str) -> list[Any]:
        return [one for one in self.script.heard if one.path == path]

    def forms(self, path: str) -> list[dict[str, str]]:
        return [
            {name: value for name, (value,) in parse_qs(one.body.decode()).items()}
            for one in self.heard(path)
        ]


class Guard:
    """The guard before it, and a client that may register."""

    def __init__(self, address: str) -> None:
        self.mcp = address
        self.origin = address.removesuffix("/mcp")

    def post(self, **headers: str) -> httpx2.Response:
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        return httpx2.post(self.mcp, json=call("t"), headers=fields, timeout=PATIENCE)

    def get(self, path: str, **fields: str) -> httpx2.Response:
        query = f"?{urlencode(fields)}" if fields else ""
        return httpx2.get(f"{self.origin}{path}{query}", timeout=PATIENCE)

    def register(self, *uris: str, **more: Any) -> httpx2.Response:
        told = {"redirect_uris": list(uris or (MINE,)), **more}
        return httpx2.post(f"{self.origin}/claw-login/register", json=told, timeout=PATIENCE)

    def client(self) -> str:
        response = self.register()
        assert response.status_code == 201, response.text
        return response.json()["client_id"]

    def authorize(self, client: str, **changed: str) -> httpx2.Response:
        fields = {
            "response_type": "code",
            "client_id": client,
            "redirect_uri": MINE,
            "state": "mine",
            "code_challenge": "x" * 43,
            "code_challenge_method": "S256",
            "resource": self.mcp,
        }
        return self.get("/claw-login/authorize", **{**fields, **changed})

    def state(self, client: str) -> str:
        """The state with which the authorization server answers."""
        return led(self.authorize(client))["state"]

    def token(self, client: str, **changed: str) -> httpx2.Response:
        fields = {
            "grant_type": "authorization_code",
            "code": CODE,
            "client_id": client,
            "redirect_uri": MINE,
            "code_verifier": "v" * 43,
            "resource": self.mcp,
        }
        place = f"{self.origin}/claw-login/token"
        return httpx2.post(place, data={**fields, **changed}, timeout=PATIENCE)


def led(response: httpx2.Response) -> dict[str, str]:
    """What a redirect says."""
    assert response.status_code == 303, response.text
    query = urlsplit(response.headers["location"]).query
    return {name: value for name, (value,) in parse_qs(query).items()}


@pytest.fixture
def behind() -> Iterator[Behind]:
    with Behind() as found:
        yield found


@pytest.fixture
def guard(behind: Behind, tmp_path: Path) -> Iterator[Guard]:
    with reverse_proxy(f"{behind.origin}/mcp", tmp_path, ALLOW_ALL) as address:
        yield Guard(address)


def test_an_answer_goes_where_the_client_said_and_names_the_guard(
    behind: Behind, guard: Guard
) -> None:
    client = guard.client()
    asked = led(guard.authorize(client))
    assert asked["client_id"] == "known-as-7"
    assert asked["redirect_uri"] == f"{guard.origin}/claw-login/callback"
    assert asked["resource"] == f"{behind.origin}/mcp"
    assert asked["code_challenge"] == "x" * 43
    told = {"code": CODE, "state": asked["state"], "iss": behind.origin, "more": "x"}
    back = guard.get("/claw-login/callback", **told)
    assert back.headers["location"].startswith(f"{MINE}?")
    assert led(back) == {"code": CODE, "state": "mine", "iss": guard.origin}
    assert back.headers["referrer-policy"] == "no-referrer"
    assert guard.token(client).json()["access_token"] == TOKEN
    (form,) = behind.forms("/token")
    assert form["client_id"] == "known-as-7"
    assert form["redirect_uri"] == f"{guard.origin}/claw-login/callback"
    assert form["resource"] == f"{behind.origin}/mcp"


def test_no_code_is_sent_where_the_client_did_not_say(guard: Guard) -> None:
    client = guard.client()
    for uri in (
        "https://evil.example/",
        "http://127.0.0.1:7777/back/../evil",
        "http://127.0.0.1.evil.example:7777/back",
        "http://127.0.0.1:7777@evil.example/back",
        "http://127.0.0.1:7777/back?to=evil",
        "",
    ):
        response = guard.authorize(client, redirect_uri=uri)
        assert response.status_code == 400, uri
        assert "location" not in response.headers
        assert guard.token(client, redirect_uri=uri or "x").json()["error"] == "invalid_grant"


def test_a_client_cannot_say_just_any_address(behind: Behind, guard: Guard) -> None:
    for uri in ("javascript:alert(1)", "http://evil.example/", "data:x", "//x"):
        assert guard.register(uri).json()["error"] == "invalid_redirect_uri", uri
    assert guard.register(*([MINE] * 11)).json()["error"] == "invalid_redirect_uri"
    assert behind.heard("/register") == []


def test_a_client_id_cannot_be_made_or_changed(behind: Behind, guard: Guard) -> None:
    client = guard.client()
    raw = base64.urlsafe_b64decode(client.removeprefix("claw-") + "==")
    changed = raw.replace(b"7777", b"8888")
    assert changed != raw
    other = Seal(bytes(32), f"{behind.origin}/mcp").close(
        PendingLogin(MINE, None, guard.origin, 4e9)
    )
    for made in (
        "claw-" + base64.urlsafe_b64encode(changed).decode().rstrip("="),
        client[:-4],
        "claw-",
        "claw-*",
        other,
        guard.state(client),
    ):
        assert guard.authorize(made).status_code == 401
        assert guard.token(made).json()["error"] == "invalid_client"
    assert behind.heard("/token") == []


def test_an_answer_to_nothing_that_was_asked_goes_nowhere(behind: Behind, guard: Guard) -> None:
    client = guard.client()
    for state in ("", "mine", client, guard.state(client)[:-1] + "A"):
        answer = {"code": CODE, "state": state, "iss": behind.origin}
        response = guard.get("/claw-login/callback", **answer)
        assert response.status_code == 400
        assert CODE not in response.text


def test_an_answer_to_what_another_guard_asked_goes_nowhere(
    behind: Behind, guard: Guard, tmp_path: Path
) -> None:
    """A mix-up: the code would go to the server behind the other guard."""
    with (
        Behind() as evil,
        reverse_proxy(f"{evil.origin}/mcp", tmp_path, ALLOW_ALL) as address,
    ):
        other = Guard(address)
        theirs = other.state(other.client())
    answer = {"code": CODE, "state": theirs, "iss": behind.origin}
    response = guard.get("/claw-login/callback", **answer)
    assert response.status_code == 400
    assert CODE not in response.text


def test_a_challenge_of_a_megabyte_holds_nobody_up(behind: Behind, guard: Guard) -> None:
    """Read as long as it is, in steps that grow with its square, it would take hours."""
    behind.changed["/mcp"] = Response(
        status_code=401, headers={"www-authenticate": f"Bearer {'a' * 60_000}"}
    )
    assert guard.post().status_code in (401, 502)
    assert bearer_challenge(f"Bearer {'a' * 1_000_000}") == {}
    assert bearer_challenge(f'Bearer error="x", {" " * 9000} scope="late"') == {"error": "x"}


DEEP = b'{"redirect_uris": ' + b"[" * 30_000 + b"]" * 30_000 + b"}"


def test_metadata_that_is_nested_too_deep_is_refused(behind: Behind, guard: Guard) -> None:
    behind.changed[SERVER] = Response(DEEP, media_type="application/json")
    refused = guard.post()
    assert refused.status_code == 502
    assert "cannot be used" in refused.text


def test_a_registration_that_is_nested_too_deep_is_refused(guard: Guard) -> None:
    response = httpx2.post(
        f"{guard.origin}/claw-login/register",
        content=DEEP,
        headers={"content-type": "application/json"},
        timeout=PATIENCE,
    )
    assert response.status_code == 400


def test_an_answer_that_comes_too_late_goes_nowhere(
    home: Path, behind: Behind, guard: Guard
) -> None:
    guard.client()
    (key,) = home.rglob("login-relay.key")
    assert key.stat().st_mode & 0o777 == 0o600
    for until, status in ((time.time() + PATIENCE, 303), (time.time() - 1, 400)):
        pending = PendingLogin(MINE, "mine", guard.origin, until)
        state = Seal(key.read_bytes(), f"{behind.origin}/mcp").close(pending)
        answer = {"code": CODE, "state": state, "iss": behind.origin}
        assert guard.get("/claw-login/callback", **answer).status_code == status


def test_an_answer_of_another_authorization_server_goes_nowhere(guard: Guard) -> None:
    """A mix-up: the code would be sent to a server that it is not of."""
    answer = {"code": CODE, "state": guard.state(guard.client())}
    for more in ({}, {"iss": "https://evil.example"}):
        response = guard.get("/claw-login/callback", **answer, **more)
        assert response.status_code == 400
        assert CODE not in response.text


def test_a_token_for_another_resource_cannot_be_had(behind: Behind, guard: Guard) -> None:
    client = guard.client()
    for resource in ("https://evil.example/mcp", "http://127.0.0.1/mcp", f"{guard.origin}/x", "x"):
        response = guard.authorize(client, resource=resource)
        assert response.status_code == 400, resource
        assert "location" not in response.headers
        assert guard.token(client, resource=resource).json()["error"] == "invalid_target"
    twice = f"{guard.authorize(client).request.url}&resource=https://evil.example/"
    assert httpx2.get(twice, timeout=PATIENCE).status_code == 400
    assert behind.heard("/token") == []


def test_a_request_that_nobody_has_checked_is_not_passed_on(guard: Guard) -> None:
    asked = led(
        guard.authorize(
            guard.client(), request="eyJ", request_uri="https://x.example", response_mode="fragment"
        )
    )
    assert not {"request", "request_uri", "response_mode"} & set(asked)


def test_a_client_with_an_id_of_its_own_is_asked_for_as_it_is(behind: Behind, guard: Guard) -> None:
    asked = led(guard.authorize("my-own-id"))
    assert asked["client_id"] == "my-own-id"
    assert (asked["redirect_uri"], asked["state"]) == (MINE, "mine")
    assert asked["resource"] == f"{behind.origin}/mcp"
    assert guard.token("my-own-id").status_code == 200
    assert behind.forms("/token")[0]["client_id"] == "my-own-id"


def test_a_server_of_the_first_revision_is_named_no_resource(behind: Behind, guard: Guard) -> None:
    """It is its own authorization server, has no metadata of a resource, and knows of none."""
    behind.challenge = "Bearer"
    behind.changed[RESOURCE] = Response(status_code=404)
    behind.changed[SERVER] = {"authorization_response_iss_parameter_supported": False}
    told = guard.post()
    assert told.status_code == 401
    assert guard.get(RESOURCE).json()["resource"] == guard.mcp
    client = guard.client()
    assert client == "known-as-7"
    asked = led(guard.authorize(client))
    assert "resource" not in asked
    assert asked["redirect_uri"] == MINE
    assert guard.token(client).status_code == 200
    assert "resource" not in behind.forms("/token")[0]


def test_a_page_is_no_document(behind: Behind) -> None:
    page = Response(b"<html>", media_type="text/html")
    behind.changed[SERVER] = behind.changed["/.well-known/openid-configuration"] = page
    with pytest.raises(LoginError, match="none of the authorization servers"):
        logins_of(behind).find()
    behind.changed[RESOURCE] = behind.changed["/.well-known/oauth-protected-resource"] = page
    assert logins_of(behind).find() is None


def test_an_identity_provider_is_known_by_its_own_document(behind: Behind) -> None:
    issuer = f"{behind.origin}/tenant"
    about = {"authorization_endpoint": f"{issuer}/a", "token_endpoint": f"{issuer}/t"}
    behind.changed[RESOURCE] = {"authorization_servers": [issuer]}
    document = JSONResponse({"issuer": issuer, **about})
    behind.changed["/tenant/.well-known/openid-configuration"] = document
    found = logins_of(behind).find()
    assert found is not None
    assert found.server.token_endpoint == f"{issuer}/t"


def test_a_client_gets_no_way_past_the_guard(behind: Behind, guard: Guard) -> None:
    given = guard.register(software_statement="eyJ").json()
    assert given["redirect_uris"] == [MINE]
    assert "registration_client_uri" not in given
    assert "registration_access_token" not in given
    assert b"eyJ" not in behind.heard("/register")[0].body
    about = guard.get(SERVER).json()
    places = [value for name, value in about.items() if name.endswith(("_endpoint", "issuer"))]
    assert len(places) == 5
    assert all(place.startswith(guard.origin) for place in places)
    assert about["token_endpoint_auth_methods_supported"] == ["none"]
    assert about["client_id_metadata_document_supported"] is False
    resource = guard.get(RESOURCE).json()
    assert resource["resource"] == guard.mcp
    assert resource["authorization_servers"] == [guard.origin]
    assert guard.get("/.well-known/oauth-protected-resource/other").status_code == 404


def test_a_secret_of_the_client_is_shown_as_the_client_showed_it(
    behind: Behind, guard: Guard
) -> None:
    client = guard.client()
    basic = base64.b64encode(f"{client}:s%3A1".encode()).decode()
    httpx2.post(
        f"{guard.origin}/claw-login/revoke",
        data={"token": TOKEN},
        headers={"authorization": f"Basic {basic}"},
        timeout=PATIENCE,
    )
    (heard,) = behind.heard("/revoke")
    shown = base64.b64decode(heard.headers["authorization"].removeprefix("Basic "))
    assert shown == b"known-as-7:s%3A1"


def test_a_clients_token_goes_to_the_server_alone(behind: Behind, guard: Guard) -> None:
    guard.post(authorization=f"Bearer {TOKEN}")
    guard.client()
    assert behind.heard("/mcp")[-1].headers["authorization"] == f"Bearer {TOKEN}"
    others = [one for one in behind.script.heard if one.path != "/mcp"]
    assert len(others) >= 3
    assert not [one for one in others if "authorization" in one.headers]


def test_a_challenge_says_what_the_server_said_and_leads_to_the_guard(
    behind: Behind, guard: Guard
) -> None:
    behind.challenge = (
        'Basic realm="x", Bearer error="invalid_token", scope="a b", '
        'error_description="say \\"please\\"", resource_metadata="https://evil.example/m", '
        'authorization_uri="https://evil.example/a"'
    )
    told = guard.post()
    assert told.status_code == 401
    challenge = 'Bearer error="invalid_token", error_description="say  please ", scope="a b", '
    challenge += f'resource_metadata="{guard.origin}{RESOURCE}"'
    assert told.headers.get_list("www-authenticate") == [challenge]
    assert behind.heard("/m") == []


@pytest.mark.parametrize(
    ("path", "change", "said"),
    [
        (RESOURCE, {"resource": "https://evil.example/mcp"}, "about another resource"),
        (RESOURCE, {"resource": "{origin}/other"}, "about another resource"),
        (RESOURCE, {"authorization_servers": ["file:///etc/passwd"]}, "no address that can be"),
        (RESOURCE, {"authorization_servers": ["http://evil.example"]}, "must be an address with h"),
        (SERVER, {"issuer": "https://evil.example"}, "are those of another"),
        (SERVER, {"authorization_endpoint": "javascript:alert(1)"}, "no address that can be used"),
        (SERVER, {"authorization_endpoint": "http://evil.example/a"}, "must be an address with h"),
        (SERVER, {"token_endpoint": "http://evil.example/t"}, "must be an address with https://"),
        (SERVER, {"token_endpoint": "https://a:b@evil.example/t"}, "no address that can be used"),
        (SERVER, {"token_endpoint": 7}, "cannot be used"),
        (SERVER, {"require_pushed_authorization_requests": True}, "wants pushed requests"),
        (SERVER, {"registration_endpoint": None}, "registers no clients"),
    ],
)
def test_metadata_that_lead_astray_are_refused(
    behind: Behind, path: str, change: dict[str, Any], said: str
) -> None:
    behind.changed[path] = {
        name: value.replace("{origin}", behind.origin) if isinstance(value, str) else value
        for name, value in change.items()
    }
    with pytest.raises(LoginError, match=said):
        logins_of(behind).find()


def logins_of(behind: Behind, reach: Reach | None = None) -> ServerLogins:
    return ServerLogins(find_target(f"{behind.origin}/mcp", environment={}), reach)


def test_a_client_that_cannot_log_in_is_told_why(behind: Behind, guard: Guard) -> None:
    behind.changed[SERVER] = {"registration_endpoint": None}
    response = guard.post()
    assert response.status_code == 502
    assert "www-authenticate" not in response.headers
    told = response.json()["error"]["message"]
    assert f"{behind.origin} wants a login that cannot be done through the guard" in told
    assert "registers no clients" in told
    assert "CLAW_HEADER_<NAME>" in told
    assert guard.get(RESOURCE).status_code == 502
    assert "registers no clients" in guard.authorize("x").text


@pytest.mark.parametrize(
    ("response", "said"),
    [
        (Response(b"x" * (LONGEST + 1), media_type="application/json"), f"more than {LONGEST}"),
        (Response(b"<html>", media_type="application/json"), "cannot be used"),
        (Response(status_code=302, headers={"location": "/elsewhere"}), "the status 302"),
        (Response(status_code=500), "the status 500"),
    ],
    ids=["large", "no JSON", "a redirect", "broken"],
)
@pytest.mark.parametrize("path", [RESOURCE, SERVER])
def test_a_document_that_cannot_be_used_is_said_to_be_so(
    behind: Behind, path: str, response: Response, said: str
) -> None:
    behind.changed[path] = response
    with pytest.raises(LoginError, match=said):
        logins_of(behind).find()
    assert behind.heard("/elsewhere") == []


def test_a_code_is_not_sent_where_a_redirect_leads(behind: Behind, guard: Guard) -> None:
    client = guard.client()
    for status in (302, 307, 308):
        behind.changed["/token"] = Response(status_code=status, headers={"location": "/elsewhere"})
        response = guard.token(client)
        assert response.status_code == 502
        assert f"the status {status}" in response.json()["error_description"]
    assert behind.heard("/elsewhere") == []


def test_web_pages_and_other_names_get_nothing(behind: Behind, guard: Guard) -> None:
    place = f"{guard.origin}/claw-login/register"
    for headers in ({"origin": "https://evil.example"}, {"host": "evil.example"}):
        told = {"redirect_uris": ["https://evil.example/"]}
        response = httpx2.post(place, json=told, headers=headers, timeout=PATIENCE)
        assert response.status_code == 403
    assert behind.heard("/register") == []


def test_a_flood_of_requests_is_slowed_down(behind: Behind, guard: Guard) -> None:
    client = guard.client()
    with httpx2.Client(timeout=PATIENCE) as http:
        place = str(guard.authorize(client, redirect_uri="x").request.url)
        seen = {http.get(place).status_code for _ in range(150)}
    assert 429 in seen
    assert len(behind.heard("/register")) == 1


def test_codes_and_tokens_are_in_no_output(behind: Behind, tmp_path: Path, home: Path) -> None:
    policy, errors = tmp_path / "policy.toml", tmp_path / "stderr"
    policy.write_text(ALLOW_ALL)
    command = (*CLAW, "proxy", "--listen", "0", "--url", f"{behind.origin}/mcp")
    with (
        errors.open("w") as stderr,
        subprocess.Popen((*command, "--policy", str(policy)), stderr=stderr, cwd=ROOT) as process,
    ):
        try:
            while "is at " not in (said := errors.read_text()):
                assert process.poll() is None
            guard = Guard(said.split(" is at ")[1].splitlines()[0])
            client = guard.client()
            state = guard.state(client)
            guard.get("/claw-login/callback", code=CODE, state=state, iss=behind.origin)
            guard.get("/claw-login/callback", code=CODE, state="wrong", iss=behind.origin)
            assert guard.token(client).status_code == 200
            behind.changed["/token"] = Response(status_code=500)
            assert guard.token(client).status_code == 502
            guard.post(authorization=f"Bearer {TOKEN}")
        finally:
            process.terminate()
            process.wait(PATIENCE)
    kept = [errors, *(file for file in home.rglob("*") if file.is_file())]
    for file in kept:
        assert not [one for one in (CODE, TOKEN, client) if one.encode() in file.read_bytes()]


def test_beyond_this_machine_the_address_must_be_known(behind: Behind, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(TOKEN * 2)
    file.chmod(0o600)
    options = ("--host", "0.0.0.0", "--token-file", str(file))
    with reverse_proxy(f"{behind.origin}/mcp", tmp_path, ALLOW_ALL, *options) as address:
        guard = Guard(address.replace("0.0.0.0", "127.0.0.1"))
        response = guard.post(x_claw_token=TOKEN * 2)
        assert response.status_code == 502
        assert "--public-url https://" in response.json()["error"]["message"]
    options = (*options, "--public-url", "https://guard.example.com")
    with reverse_proxy(f"{behind.origin}/mcp", tmp_path, ALLOW_ALL, *options) as address:
        guard = Guard(address.replace("0.0.0.0", "127.0.0.1"))
        response = guard.post(x_claw_token=TOKEN * 2)
        assert response.status_code == 401
        assert f"https://guard.example.com{RESOURCE}" in response.headers["www-authenticate"]
        assert guard.get(RESOURCE).json()["resource"] == "https://guard.example.com/mcp"


@pytest.mark.parametrize(
    ("address", "reach"),
    [
        ("93.184.216.34", Reach.INTERNET),
        ("2606:4700::1111", Reach.INTERNET),
        ("10.0.0.5", Reach.NETWORK),
        ("192.168.1.1", Reach.NETWORK),
        ("fd00::1", Reach.NETWORK),
        ("100.64.0.1", Reach.NETWORK),
        ("127.0.0.1", Reach.MACHINE),
        ("::1", Reach.MACHINE),
        ("::ffff:127.0.0.1", Reach.MACHINE),
        ("64:ff9b::7f00:1", Reach.MACHINE),
        ("169.254.169.254", Reach.MACHINE),
        ("fe80::1%eth0", Reach.MACHINE),
        ("0.0.0.0", Reach.MACHINE),
    ],
)
def test_it_is_known_where_an_address_is(address: str, reach: Reach) -> None:
    assert reach_of(address) is reach


@pytest.mark.parametrize("reach", [Reach.INTERNET, Reach.NETWORK])
def test_a_server_elsewhere_cannot_lead_the_guard_to_this_machine(
    behind: Behind, reach: Reach
) -> None:
    logins = logins_of(behind, reach)
    with pytest.raises(LoginError, match="is not a public address"):
        logins.find()
    with pytest.raises(LoginError, match="is not a public address"):
        logins.fetcher.exchange("POST", f"{behind.origin}/token", b"code=x")
    assert behind.script.heard == []


def test_a_server_on_this_machine_may_name_others_on_it(behind: Behind) -> None:
    found = logins_of(behind).find()
    assert found is not None
    assert found.server.issuer == behind.origin
