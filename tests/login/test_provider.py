"""An identity provider signs people in: who they are here then, and what is not believed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2
import jwt
import pytest

from clawkit.errors import SettingsError
from clawkit.login import grants, identities, people
from clawkit.login.options import LoginOptions
from clawkit.login.records import Role, User
from clawkit.memory.being_store import BeingStore
from clawkit.store import open_store
from clawkit.wire.http.request_checks import Origins, TrustedProxies
from tests.login.issuer import CLIENT, SECRET, Key, TestIssuer, issuing, moments, shared_key
from tests.login.visitors import LoginClient, Visitor, gate_maker
from tests.memory.http.being_store import Clock, store_at
from tests.memory.http.served_beings import Served, served
from tests.processes import PATIENCE


class Site:
    """A server of Beings whose people an issuer signs in."""

    def __init__(self, server: Served, issuer: TestIssuer) -> None:
        self.server = server
        self.store = server.store
        self.issuer = issuer
        self.origin = f"http://localhost:{server.port}"
        self.away = httpx2.Client(timeout=PATIENCE)
        self._open = [self.away]

    def browser(self) -> Visitor:
        found = Visitor(self.origin)
        self._open.append(found.http)
        return found

    def person(self, name: str, role: Role = "member", email: str = "") -> User:
        with self.store.database.registry(write=True) as connection:
            person = people.add(connection, name, role, self.store.clock())
            if email:
                identities.invite(connection, person, self.issuer.url, email)
        return person

    def link(self, person: User) -> str:
        with self.store.database.registry(write=True) as connection:
            return people.make_link(connection, person, self.store.clock())

    def leave(self, visitor: Visitor, page: str = "/login") -> str:
        """Where a browser is sent that wants to sign in."""
        left = visitor.submit(visitor.get(page))
        assert left.status_code == 200, left.text
        assert "script" not in left.text
        return left.headers["refresh"].removeprefix("0;url=")

    def answer(self, address: str) -> str:
        """Where the provider sends it back to."""
        return self.away.get(address).headers["location"].removeprefix(self.origin)

    def sign_in(self, visitor: Visitor, page: str = "/login") -> httpx2.Response:
        return visitor.get(self.answer(self.leave(visitor, page)))

    def name(self, visitor: Visitor) -> str:
        """Who is signed in."""
        text = visitor.get("/login").text
        return text.partition("You are signed in as ")[2].partition("<")[0]

    def close(self) -> None:
        for http in self._open:
            http.close()


@pytest.fixture
def issuer() -> Iterator[TestIssuer]:
    with issuing() as found:
        yield found


@contextmanager
def sited(store: BeingStore, issuer: TestIssuer, **more: Any) -> Iterator[Site]:
    options = LoginOptions(oidc=issuer.url, oidc_client=CLIENT, oidc_secret=SECRET, **more)
    with served(store, logins=partial(gate_maker, store, options=options)) as server:
        site = Site(server, issuer)
        try:
            yield site
        finally:
            site.close()


@pytest.fixture
def clock() -> Clock:
    return Clock(time.time())


@pytest.fixture
def site(tmp_path: Path, clock: Clock, issuer: TestIssuer) -> Iterator[Site]:
    with sited(store_at(tmp_path, clock), issuer) as found:
        yield found


@pytest.fixture
def stored_site(address: str, issuer: TestIssuer) -> Iterator[Site]:
    """The same over either database."""
    with sited(BeingStore(open_store(address), "none"), issuer) as found:
        yield found


def test_somebody_signs_in_at_the_provider_and_lets_a_client_in(stored_site: Site) -> None:
    stored_site.person("ada", "owner", "Ada@Example.com")
    visitor = stored_site.browser()
    client = LoginClient(stored_site.origin)
    client.register()
    page = visitor.get(client.address())
    assert "Continue with" in page.text
    back = stored_site.sign_in(visitor, client.address())
    assert (back.status_code, back.headers["location"]) == (303, client.address())
    code = visitor.agree(back.headers["location"])["code"]
    token = client.exchange(code).json()["access_token"]
    assert stored_site.server.call(token, "get_current_time", path="/mcp").status_code == 200
    client.http.close()


def test_a_link_binds_an_account_and_its_address_may_change_later(stored_site: Site) -> None:
    ada = stored_site.person("ada", "owner")
    visitor = stored_site.browser()
    stored_site.issuer.account = {"sub": "1001"}
    link = f"/login/link/{stored_site.link(ada)}"
    assert "Welcome, ada" in visitor.get(link).text
    assert stored_site.sign_in(visitor, link).status_code == 303
    assert stored_site.name(visitor) == "ada"
    assert visitor.get(link).status_code == 404
    stored_site.issuer.account = {"sub": "1001", "email": "new@example.com"}
    other = stored_site.browser()
    assert stored_site.sign_in(other).status_code == 303
    assert stored_site.name(other) == "ada"


def test_a_stranger_is_told_so_and_not_let_in(site: Site) -> None:
    site.person("ada", "owner")
    visitor = site.browser()
    refused = site.sign_in(visitor)
    assert refused.status_code == 403
    assert "ada@example.com" in refused.text
    assert "claw user add" in refused.text
    assert site.name(visitor) == ""


@pytest.mark.parametrize("verified", [False, None, "true", 1])
def test_an_address_that_the_provider_has_not_checked_is_nobodys(site: Site, verified: Any) -> None:
    site.person("ada", "owner", "ada@example.com")
    site.issuer.account["email_verified"] = verified
    visitor = site.browser()
    assert site.sign_in(visitor).status_code == 403
    assert site.name(visitor) == ""


def test_an_equal_address_at_another_issuer_is_another_person(site: Site, tmp_path: Path) -> None:
    site.person("ada", "owner", "ada@example.com")
    site.person("ben", "member", "ben@example.com")
    assert site.sign_in(site.browser()).status_code == 303
    with (
        issuing() as other,
        sited(store_at(tmp_path), other) as elsewhere,
    ):
        visitor = elsewhere.browser()
        assert elsewhere.sign_in(visitor).status_code == 403
        other.account["email"] = "ben@example.com"
        assert elsewhere.sign_in(visitor).status_code == 403
        assert elsewhere.name(visitor) == ""


def test_an_address_that_somebody_else_has_now_opens_nothing(site: Site) -> None:
    site.person("ada", "owner", "ada@example.com")
    assert site.sign_in(site.browser()).status_code == 303
    site.issuer.account["sub"] = "2002"
    assert site.sign_in(site.browser()).status_code == 403


def test_somebodys_account_cannot_be_bound_to_another_by_a_link(site: Site) -> None:
    site.person("ada", "owner", "ada@example.com")
    assert site.sign_in(site.browser()).status_code == 303
    link = f"/login/link/{site.link(site.person('ben'))}"
    visitor = site.browser()
    refused = site.sign_in(visitor, link)
    assert refused.status_code == 400
    assert "that of ada" in refused.text
    assert visitor.get(link).status_code == 200


def test_an_answer_is_for_the_browser_that_asked_and_good_once(site: Site, clock: Clock) -> None:
    site.person("ada", "owner", "ada@example.com")
    visitor, other = site.browser(), site.browser()
    other.get("/login")
    answer = site.answer(site.leave(visitor))
    assert other.get(answer).status_code == 400
    assert site.browser().get(answer).status_code == 400
    assert visitor.get(answer).status_code == 303
    assert visitor.get(answer).status_code == 400
    late = site.answer(site.leave(other))
    clock.now += 301
    assert other.get(late).status_code == 400
    assert site.issuer.asked.count("/token") == 1


@pytest.mark.parametrize("state", ["", "guessed"])
def test_an_answer_with_a_wrong_state_goes_nowhere(site: Site, state: str) -> None:
    visitor = site.browser()
    address = site.answer(site.leave(visitor))
    code = parse_qs(urlsplit(address).query)["code"][0]
    fields = urlencode({"code": code, "state": state, "iss": site.issuer.url})
    assert visitor.get(f"/login/provider/back?{fields}").status_code == 400
    assert "/token" not in site.issuer.asked


def test_a_code_of_another_sign_in_is_refused(site: Site) -> None:
    site.person("ada", "owner", "ada@example.com")
    thief, victim = site.browser(), site.browser()
    stolen = parse_qs(urlsplit(site.answer(site.leave(victim))).query)["code"][0]
    own = parse_qs(urlsplit(site.answer(site.leave(thief))).query)["state"][0]
    fields = urlencode({"code": stolen, "state": own, "iss": site.issuer.url})
    assert thief.get(f"/login/provider/back?{fields}").status_code == 502
    assert site.name(thief) == ""


@pytest.mark.parametrize("iss", ["https://evil.example", ""])
def test_an_answer_of_another_issuer_is_refused_before_its_code_is_used(
    site: Site, iss: str
) -> None:
    site.issuer.answer = {"iss": iss}
    assert site.sign_in(site.browser()).status_code == 400
    assert "/token" not in site.issuer.asked


def _unsigned(claims: dict[str, Any]) -> str:
    return jwt.encode(claims, "", algorithm="none")


def _strange(claims: dict[str, Any]) -> str:
    return Key("first").sign(claims)


@pytest.mark.parametrize(
    "said",
    [
        {"nonce": "another"},
        {"nonce": None},
        {"aud": "another"},
        {"aud": [CLIENT, "another"]},
        {"azp": "another"},
        {"iss": "https://evil.example"},
        {"exp": -90},
        {"exp": None},
        {"iat": 4000},
        {"iat": None},
        {"sub": ""},
        {"sub": None},
    ],
    ids=str,
)
def test_an_id_token_that_is_not_for_us_now_signs_nobody_in(
    site: Site, said: dict[str, Any]
) -> None:
    site.person("ada", "owner", "ada@example.com")
    site.issuer.id_claims = moments(said)
    visitor = site.browser()
    assert site.sign_in(visitor).status_code == 502
    assert site.name(visitor) == ""


@pytest.mark.parametrize(
    "said",
    [{"exp": -20}, {"iat": 30}, {"aud": [CLIENT]}],
    ids=str,
)
def test_a_clock_may_be_a_little_wrong(site: Site, said: dict[str, Any]) -> None:
    site.person("ada", "owner", "ada@example.com")
    site.issuer.id_claims = {**moments(said), "azp": CLIENT}
    assert site.sign_in(site.browser()).status_code == 303


def test_only_keys_of_the_provider_sign(site: Site) -> None:
    site.person("ada", "owner", "ada@example.com")
    for forge in (_unsigned, _strange, partial(shared_key, site.issuer.keys[0])):
        site.issuer.forge = forge
        visitor = site.browser()
        assert site.sign_in(visitor).status_code == 502
        assert site.name(visitor) == ""


def test_an_address_can_be_where_the_provider_tells_of_people(site: Site) -> None:
    site.person("ada", "owner", "ada@example.com")
    site.issuer.account = {"sub": "1001"}
    about = {"sub": "1001", "email": "ada@example.com", "email_verified": True}
    site.issuer.about = {**about, "sub": "2002"}
    assert site.sign_in(site.browser()).status_code == 403
    site.issuer.about = about
    assert site.sign_in(site.browser()).status_code == 303


@pytest.mark.parametrize(
    ("rule", "account", "let_in"),
    [
        ("@example.com", {"email": "Ben@Example.com", "email_verified": True}, True),
        ("@example.com", {"email": "ben@example.com", "email_verified": False}, False),
        ("@example.com", {"email": "ben@evil.example", "email_verified": True}, False),
        ("@example.com", {"email": "a@b@example.com", "email_verified": True}, False),
        ("groups=staff", {"groups": ["staff", "others"]}, True),
        ("groups=staff", {"groups": ["others"]}, False),
        ("hd=example.com", {"hd": "example.com"}, True),
        ("all", {}, True),
    ],
    ids=str,
)
def test_whom_a_rule_lets_in_as_a_member(
    tmp_path: Path, issuer: TestIssuer, rule: str, account: dict[str, Any], let_in: bool
) -> None:
    issuer.account = {"sub": "3003", **account}
    with sited(store_at(tmp_path), issuer, let_in=(rule,)) as site:
        site.person("ada", "owner")
        visitor = site.browser()
        assert site.sign_in(visitor).status_code == (303 if let_in else 403)
        with site.store.database.registry() as connection:
            others = [one for one in people.everybody(connection) if one.name != "ada"]
        assert [one.role for one in others] == ["member"] * let_in
        if let_in:
            assert site.name(visitor) == others[0].name


def test_who_no_longer_fits_the_rule_loses_what_they_had(
    tmp_path: Path, issuer: TestIssuer
) -> None:
    issuer.account = {"sub": "3003", "groups": ["staff"]}
    with sited(store_at(tmp_path), issuer, let_in=("groups=staff",)) as site:
        visitor = site.browser()
        assert site.sign_in(visitor).status_code == 303
        name = site.name(visitor)
        client = LoginClient(site.origin)
        client.register()
        with site.store.database.registry(write=True) as connection:
            people.allow(connection, people.named(connection, name), site.server.being.n)
        code = visitor.agree(client.address())["code"]
        token = client.exchange(code).json()["access_token"]
        assert site.server.call(token, "get_current_time", path="/mcp").status_code == 200
        issuer.account = {"sub": "3003", "groups": []}
        assert site.sign_in(site.browser()).status_code == 403
        assert site.server.call(token, "get_current_time", path="/mcp").status_code == 401
        assert site.name(visitor) == ""
        issuer.account = {"sub": "3003", "groups": ["staff"]}
        assert site.sign_in(visitor).status_code == 303
        assert site.name(visitor) == name
        client.http.close()


def test_nobody_is_named_by_what_they_chose_themselves(tmp_path: Path, issuer: TestIssuer) -> None:
    issuer.account = {"sub": "3003", "preferred_username": "ada", "name": "ada"}
    with sited(store_at(tmp_path), issuer, let_in=("all",)) as site:
        site.person("ada", "owner")
        visitor = site.browser()
        assert site.sign_in(visitor).status_code == 303
        assert site.name(visitor) == "member"
        issuer.account = {"sub": "4004"}
        other = site.browser()
        assert site.sign_in(other).status_code == 303
        assert site.name(other) == "member-2"


def test_the_provider_is_the_only_way_in(site: Site) -> None:
    ada = site.person("ada", "owner")
    with site.store.database.registry(write=True) as connection:
        people.set_password(connection, ada, people.hashed("correct horse battery"))
    visitor = site.browser()
    page = visitor.get("/login")
    assert 'type="password"' not in page.text
    assert "passkey" not in page.text
    for path in ("/login/password", "/login/link", "/login/passkey/ask"):
        assert visitor.post(path, "name=ada&password=correct+horse+battery").status_code == 404


def test_a_provider_that_says_no_or_is_away(site: Site, issuer: TestIssuer) -> None:
    site.issuer.answer = {"code": "", "error": "access_denied"}
    refused = site.sign_in(site.browser())
    assert refused.status_code == 403
    assert "access_denied" in refused.text
    assert "/token" not in issuer.asked


def test_a_provider_that_is_away_at_the_start_is_asked_again(
    tmp_path: Path, issuer: TestIssuer
) -> None:
    issuer.down = True
    with sited(store_at(tmp_path), issuer) as site:
        visitor = site.browser()
        left = visitor.submit(visitor.get("/login"))
        assert left.status_code == 503
        assert left.headers["retry-after"] == "30"


@pytest.mark.parametrize(
    "said",
    [
        {"issuer": "https://evil.example"},
        {"issuer": "http://localhost:1/"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"authorization_endpoint": "http://evil.example/authorize"},
        {"authorization_endpoint": "https://id.example.com/a\r\nset-cookie: x=y"},
        {"authorization_endpoint": None},
        {"token_endpoint": None},
        {"jwks_uri": 7},
    ],
    ids=str,
)
def test_a_provider_that_says_what_cannot_be_is_refused_at_the_start(
    tmp_path: Path, issuer: TestIssuer, said: dict[str, Any]
) -> None:
    issuer.metadata |= said
    with pytest.raises(SettingsError, match=issuer.url):
        started(tmp_path, issuer)


def started(folder: Path, issuer: TestIssuer) -> None:
    """Try what a server does at its start."""
    store = store_at(folder)
    options = LoginOptions(oidc=issuer.url, oidc_client=CLIENT, oidc_secret=SECRET)
    try:
        gate_maker(store, 1, options=options)(Origins(None, ()), TrustedProxies())
    finally:
        store.close()


@pytest.mark.parametrize("field", ["token_endpoint", "userinfo_endpoint"])
@pytest.mark.parametrize("place", ["http://127.0.0.1:{}/", "https://127.0.0.1:{}/", "file:///{}"])
def test_a_poisoned_document_makes_nobody_ask_the_local_network(
    tmp_path: Path, issuer: TestIssuer, field: str, place: str
) -> None:
    with issuing() as inside:
        issuer.metadata[field] = place.format(inside.url.rpartition(":")[2])
        issuer.account = {"sub": "1001"}
        with sited(store_at(tmp_path), issuer) as site:
            site.person("ada", "owner", "ada@example.com")
            assert site.sign_in(site.browser()).status_code in (403, 502)
        assert inside.asked == []


@pytest.mark.parametrize("place", ["http://127.0.0.1:{}/", "https://127.0.0.1:{}/", "file:///{}"])
def test_keys_in_the_local_network_are_not_asked_for(
    tmp_path: Path, issuer: TestIssuer, place: str
) -> None:
    with issuing() as inside:
        issuer.metadata["jwks_uri"] = place.format(inside.url.rpartition(":")[2])
        with pytest.raises(SettingsError, match=r"https|public"):
            started(tmp_path, issuer)
        assert inside.asked == []


def test_no_secret_of_a_sign_in_is_in_the_log_the_store_or_a_referrer(site: Site) -> None:
    site.person("ada", "owner", "ada@example.com")
    visitor = site.browser()
    left = visitor.submit(visitor.get("/login"))
    assert left.headers["referrer-policy"] == "no-referrer"
    address = left.headers["refresh"].removeprefix("0;url=")
    asked = {name: value[0] for name, value in parse_qs(urlsplit(address).query).items()}
    file = site.store.database.address.removeprefix("sqlite:")
    kept = b"".join(one.read_bytes() for one in Path(file).parent.glob("beings.db*"))
    code = parse_qs(urlsplit(site.answer(address)).query)["code"][0]
    query = urlencode({"code": code, "state": asked["state"], "iss": site.issuer.url})
    assert visitor.get(f"/login/provider/back?{query}").status_code == 303
    logged = site.server.raw_log
    for secret in (asked["state"], asked["nonce"], code, SECRET):
        assert secret.encode() not in kept
        assert secret not in logged
    assert SECRET not in repr(LoginOptions(oidc_secret=SECRET))


def test_going_away_is_limited_and_needs_a_form_of_ours(site: Site) -> None:
    visitor = site.browser()
    visitor.get("/login")
    assert visitor.post("/login/provider", "next=/login&csrf=guessed").status_code == 403
    assert visitor.get("/login/provider").status_code == 405
    page = visitor.get("/login")
    statuses = [visitor.submit(page).status_code for _ in range(31)]
    assert statuses == [200] * 30 + [429]


def test_signing_in_gives_a_browser_new_cookies(site: Site) -> None:
    site.person("ada", "owner", "ada@example.com")
    visitor = site.browser()
    visitor.get("/login")
    before = dict(visitor.http.cookies)
    assert site.sign_in(visitor).status_code == 303
    assert not set(before.values()) & set(dict(visitor.http.cookies).values())


def test_a_lost_account_is_bound_anew_by_a_link(site: Site) -> None:
    ada = site.person("ada", "owner", "ada@example.com")
    assert site.sign_in(site.browser()).status_code == 303
    with site.store.database.registry(write=True) as connection:
        people.lock_out(connection, ada)
        grants.end_all(connection, ada, "lost", site.store.clock())
    assert site.sign_in(site.browser()).status_code == 403
    site.issuer.account["sub"] = "5005"
    assert site.sign_in(site.browser(), f"/login/link/{site.link(ada)}").status_code == 303
