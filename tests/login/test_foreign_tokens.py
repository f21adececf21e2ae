"""Tokens of another authorization server: what they open here, and which are no good."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import jwt
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from clawkit.errors import LoginError, SettingsError
from clawkit.login import identities, people
from clawkit.login.document_fetch import Unreachable
from clawkit.login.foreign_tokens import read_scopes
from clawkit.login.issuers import (
    AGAIN_SECONDS,
    KEPT_SECONDS,
    STALE_SECONDS,
    Issuer,
    checked_issuer,
)
from clawkit.login.metadata import metadata_places
from clawkit.login.options import LoginOptions
from clawkit.login.records import Role, User
from clawkit.memory.being_store import BeingStore
from clawkit.memory.http import authentication
from clawkit.memory.http.authentication import RequestLimits
from clawkit.store import open_store
from tests.login.issuer import Key, TestIssuer, issuing, moments, shared_key
from tests.login.served_tools import ServedTools, served_tools, tools
from tests.login.visitors import gate_maker
from tests.memory.http.being_store import Clock, store_at
from tests.memory.http.served_beings import Served, served
from tests.processes import PATIENCE

NOTE = {"notes": ["Buy milk."]}


@pytest.fixture
def issuer() -> Iterator[TestIssuer]:
    with issuing() as found:
        yield found


class Beings:
    """A server of Beings that an issuer's tokens open."""

    def __init__(self, server: Served, issuer: TestIssuer) -> None:
        self.server = server
        self.issuer = issuer
        self.origin = f"http://localhost:{server.port}"
        self.aud = f"{self.origin}/mcp"

    def person(
        self, name: str = "ada", role: Role = "owner", subject: str = "1001", *own: str
    ) -> User:
        store = self.server.store
        theirs = [store.find(one) for one in own]
        with store.database.registry(write=True) as connection:
            person = people.add(connection, name, role, store.clock())
            identities.bind_new(connection, person, self.issuer.url, subject, store.clock())
            for one in theirs:
                people.allow(connection, person, one.n)
        return person

    def call(
        self, tool: str = "get_current_time", path: str = "/mcp", **claims: Any
    ) -> httpx2.Response:
        arguments = NOTE if tool == "update_notes" else {}
        token = self.issuer.token(**{"aud": self.aud, **claims})
        return self.server.call(token, tool, arguments, path=path)


@contextmanager
def opened(store: BeingStore, issuer: TestIssuer, **more: Any) -> Iterator[Beings]:
    limits = more.pop("limits", None)
    options = LoginOptions(jwt_issuer=issuer.url, **more)
    maker = partial(gate_maker, store, options=options)
    with served(store, limits, logins=maker) as server:
        yield Beings(server, issuer)


@pytest.fixture
def beings(tmp_path: Path, issuer: TestIssuer) -> Iterator[Beings]:
    with opened(store_at(tmp_path), issuer) as found:
        yield found


@pytest.fixture
def stored_beings(address: str, issuer: TestIssuer) -> Iterator[Beings]:
    """The same over either database."""
    with opened(BeingStore(open_store(address), "none"), issuer) as found:
        yield found


def test_a_client_is_told_whose_tokens_open_this(beings: Beings) -> None:
    refused = httpx2.post(beings.aud, json={}, timeout=PATIENCE)
    assert refused.status_code == 401
    place = f"{beings.origin}/.well-known/oauth-protected-resource/mcp"
    assert f'resource_metadata="{place}"' in refused.headers["www-authenticate"]
    told = httpx2.get(place, timeout=PATIENCE).json()
    assert told["resource"] == beings.aud
    assert told["authorization_servers"] == [beings.issuer.url]
    for path in ("/.well-known/oauth-authorization-server", "/login", "/login/token"):
        assert httpx2.get(f"{beings.origin}{path}", timeout=PATIENCE).status_code == 404


def test_a_token_of_somebody_known_opens_their_being(stored_beings: Beings) -> None:
    stored_beings.person()
    assert stored_beings.call("update_notes").status_code == 200
    by_hand = stored_beings.server.token()
    assert stored_beings.server.call(by_hand, "get_current_time").status_code == 200


def test_scopes_narrow_what_a_person_may_do(beings: Beings) -> None:
    beings.person()
    beings.server.store.create("garden")
    garden: dict[str, Any] = {"path": "/mcp/garden", "aud": f"{beings.aud}/garden"}
    assert beings.call(**garden, scope="read-only").status_code == 200
    refused = beings.call("update_notes", **garden, scope="read-only")
    assert refused.status_code == 403
    assert 'error="insufficient_scope"' in refused.headers["www-authenticate"]
    assert 'scope="full"' in refused.headers["www-authenticate"]
    assert beings.call("update_notes", **garden, scope="full:garden").status_code == 200
    assert beings.call(**garden, scope="read-only:garden").status_code == 200
    for scope in ("full:Ada", "", None, "openid"):
        refused = beings.call(**garden, scope=scope)
        assert refused.status_code == 403
        assert 'scope="read-only"' in refused.headers["www-authenticate"]


@pytest.mark.parametrize("claim", ["scope", "scp"])
@pytest.mark.parametrize("scopes", ["openid full", ["openid", "full"]])
def test_scopes_are_a_text_or_a_list(beings: Beings, claim: str, scopes: Any) -> None:
    beings.person()
    assert beings.call("update_notes", **{"scope": None, claim: scopes}).status_code == 200


def test_which_being_is_meant(beings: Beings) -> None:
    beings.person()
    beings.person("ben", "member", "2002", "Ada")
    beings.server.store.create("garden")
    refused = beings.call()
    assert refused.status_code == 400
    assert "name one" in refused.text
    assert beings.call(scope="full:garden").status_code == 200
    assert beings.call(sub="2002").status_code == 200
    assert (
        beings.call(path="/mcp/garden", aud=f"{beings.aud}/garden", sub="2002").status_code == 403
    )


def test_a_stranger_of_the_issuer_is_told_so(beings: Beings) -> None:
    beings.person()
    refused = beings.call(sub="9009")
    assert refused.status_code == 403
    assert "claw user add" in refused.text
    assert "insufficient_scope" not in refused.headers["www-authenticate"]


def test_a_rule_lets_members_in_who_have_no_being_yet(tmp_path: Path, issuer: TestIssuer) -> None:
    with opened(store_at(tmp_path), issuer, let_in=("groups=staff",)) as beings:
        refused = beings.call(groups=["staff"])
        assert refused.status_code == 403
        assert "claw user allow member BEING" in refused.text
        with beings.server.store.database.registry(write=True) as connection:
            people.allow(connection, people.named(connection, "member"), beings.server.being.n)
        assert beings.call(groups=["staff"]).status_code == 200
        assert beings.call(groups=[]).status_code == 403
        assert beings.call(groups=["staff"]).status_code == 200


def test_somebody_who_comes_first_by_many_calls_at_once_is_one_person(
    address: str, issuer: TestIssuer
) -> None:
    with opened(BeingStore(open_store(address), "none"), issuer, let_in=("all",)) as beings:
        statuses: list[int] = []
        threads = [
            threading.Thread(target=lambda: statuses.append(beings.call().status_code))
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert statuses == [403] * 8
        with beings.server.store.database.registry() as connection:
            assert [one.name for one in people.everybody(connection)] == ["member"]


def test_who_was_removed_has_no_way_in(beings: Beings) -> None:
    beings.person()
    ben = beings.person("ben", "member", "2002", "Ada")
    assert beings.call(sub="2002").status_code == 200
    with beings.server.store.database.registry(write=True) as connection:
        people.remove(connection, ben)
    assert beings.call(sub="2002").status_code == 403


@pytest.mark.parametrize(
    "said",
    [
        {"aud": "https://another.example/mcp"},
        {"aud": None},
        {"aud": []},
        {"iss": "https://evil.example"},
        {"iss": None},
        {"exp": -90},
        {"exp": None},
        {"nbf": 90},
        {"iat": 4000},
        {"sub": None},
        {"sub": ""},
        {"sub": 7},
        {"header": {"typ": "id+jwt"}},
        {"header": {"typ": "JWT"}, "nonce": "n"},
        {"header": {"crit": ["exp"]}},
    ],
    ids=str,
)
def test_a_token_that_is_not_for_us_now_is_refused(beings: Beings, said: dict[str, Any]) -> None:
    beings.person()
    refused = beings.call(**moments(said))
    assert refused.status_code == 401
    assert 'error="invalid_token"' in refused.headers["www-authenticate"]


@pytest.mark.parametrize(
    "said",
    [{"exp": -20}, {"nbf": 30}, {"iat": 30}, {"header": {"typ": "JWT"}}, {"header": {"typ": None}}],
    ids=str,
)
def test_a_clock_or_a_type_may_be_a_little_different(beings: Beings, said: dict[str, Any]) -> None:
    beings.person()
    assert beings.call(**moments(said)).status_code == 200


def test_a_token_for_one_resource_opens_no_other(beings: Beings) -> None:
    beings.person()
    assert beings.call(path=f"/mcp/{beings.server.being.name}").status_code == 401


def test_an_audience_can_be_named(tmp_path: Path, issuer: TestIssuer) -> None:
    with opened(store_at(tmp_path), issuer, audiences=("api://claw", "other")) as beings:
        beings.person()
        name = beings.server.being.name
        assert beings.call(aud="api://claw").status_code == 200
        assert beings.call(path=f"/mcp/{name}", aud=["x", "other"]).status_code == 200
        assert beings.call().status_code == 401


@pytest.mark.parametrize("algorithm", ["RS256", "PS256", "ES256"])
def test_algorithms_with_a_public_key_count(
    tmp_path: Path, issuer: TestIssuer, algorithm: str
) -> None:
    issuer.rotate("only", algorithm)
    with opened(store_at(tmp_path), issuer) as beings:
        beings.person()
        assert beings.call().status_code == 200


HEADERS_THAT_CANNOT_BE = [
    b'{"alg": ["RS256"], "kid": "1"}',
    b'{"alg": {}, "kid": "1"}',
    b'{"alg": "RS256", "kid": ["1"]}',
    b'{"alg": "RS256", "kid": "\xff"}',
    b'{"alg": "RS256", "x": %s' % (b"[" * 8_000),
    b"[" * 8_000,
]


def unsigned(header: bytes) -> str:
    return base64.urlsafe_b64encode(header).rstrip(b"=").decode()


def test_only_keys_of_the_issuer_sign(beings: Beings) -> None:
    beings.person()
    claims = beings.issuer.claims(aud=beings.aud)
    own = beings.issuer.keys[0]
    embedded = Key("first")
    forged = [
        jwt.encode(claims, "", algorithm="none"),
        jwt.encode(claims, "", algorithm="none", headers={"kid": "first"}),
        shared_key(own, claims),
        Key("first").sign(claims, typ="at+jwt"),
        embedded.sign(claims, jwk=embedded.public, jku=f"{beings.issuer.url}/evil"),
        own.sign(claims)[:-6] + "AAAAAA",
        own.sign(claims).rpartition(".")[0] + ".",
        *(f"{unsigned(header)}.e30.AAAA" for header in HEADERS_THAT_CANNOT_BE),
        "a.b.c",
        "..",
        "é.é.é",
        "x" * 20_000 + ".y.z",
    ]
    for token in forged:
        headers = {b"authorization": b"Bearer " + token.encode()}
        refused = httpx2.post(beings.aud, json={}, headers=headers, timeout=PATIENCE)
        assert refused.status_code in (400, 401, 431), token
    assert "/evil" not in beings.issuer.asked
    assert beings.call().status_code == 200


def test_a_shared_key_among_its_keys_signs_nothing(tmp_path: Path, issuer: TestIssuer) -> None:
    shared = {"kty": "oct", "kid": "shared", "k": "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXM"}
    issuer.published.append({**shared, "alg": "HS256"})
    with opened(store_at(tmp_path), issuer) as beings:
        beings.person()
        secret = b"secret-secret-secret-secret-s"
        claims = issuer.claims(aud=beings.aud)
        token = jwt.encode(claims, secret + b"xxx", "HS256", headers={"kid": "shared"})
        assert beings.server.call(token, "get_current_time", path="/mcp").status_code == 401
        assert beings.call().status_code == 200


class Watched:
    """An issuer asked directly, at a time that the test sets."""

    def __init__(self, issuer: TestIssuer) -> None:
        self.clock = Clock(1000.0)
        self.served = issuer
        self.issuer = Issuer(issuer.url, clock=self.clock)

    def good(self, **changed: Any) -> bool:
        try:
            self.issuer.claims(self.served.token(aud="us", **changed), ["us"])
        except LoginError:
            return False
        return True

    @property
    def asked(self) -> int:
        return self.served.asked.count("/keys")


def test_keys_are_kept_and_a_new_one_is_found_at_once(issuer: TestIssuer) -> None:
    watched = Watched(issuer)
    assert all(watched.good() for _ in range(5))
    assert watched.asked == 1
    old = issuer.keys[0]
    watched.clock.now += AGAIN_SECONDS
    issuer.rotate("second")
    assert watched.good()
    assert watched.asked == 2
    assert not watched.good(key=old)


def test_keys_that_were_taken_back_count_an_hour_at_most(issuer: TestIssuer) -> None:
    watched = Watched(issuer)
    old = issuer.keys[0]
    assert watched.good()
    issuer.rotate("second")
    assert watched.good(key=old)
    watched.clock.now += KEPT_SECONDS
    assert not watched.good(key=old)


def test_a_flood_of_unknown_keys_asks_the_issuer_twice_a_minute_at_most(
    issuer: TestIssuer,
) -> None:
    watched = Watched(issuer)
    assert watched.good()
    for number in range(60):
        watched.clock.now += 1
        assert not watched.good(header={"kid": f"made up {number}"})
        assert watched.good()
    assert watched.asked <= 3


def test_an_issuer_that_is_away_leaves_what_was_known_for_a_day(issuer: TestIssuer) -> None:
    watched = Watched(issuer)
    assert watched.good()
    issuer.down = True
    watched.clock.now += KEPT_SECONDS
    assert watched.good()
    asked = len(issuer.asked)
    assert all(watched.good() for _ in range(5))
    assert len(issuer.asked) == asked
    watched.clock.now += STALE_SECONDS
    with pytest.raises(Unreachable):
        watched.issuer.claims(issuer.token(aud="us"), ["us"])
    issuer.down = False
    watched.clock.now += AGAIN_SECONDS
    assert watched.good()


def test_a_document_that_is_poisoned_later_leads_nowhere(issuer: TestIssuer) -> None:
    watched = Watched(issuer)
    assert watched.good()
    with issuing() as inside:
        issuer.metadata["jwks_uri"] = f"{inside.url}/keys"
        inside.published = [Key("evil").public]
        watched.clock.now += KEPT_SECONDS
        assert not watched.good(key=Key("evil"))
        issuer.metadata["issuer"] = inside.url
        watched.clock.now += KEPT_SECONDS
        assert watched.good()
        assert inside.asked == []


def test_an_issuer_that_is_away_from_the_start_is_no_reason_to_log_in_anew(
    tmp_path: Path, issuer: TestIssuer
) -> None:
    issuer.down = True
    with opened(store_at(tmp_path), issuer) as beings:
        beings.person()
        refused = beings.call()
        assert refused.status_code == 503
        assert refused.headers["retry-after"] == "30"


def test_a_token_opens_no_bridge(tmp_path: Path, issuer: TestIssuer) -> None:
    with opened(store_at(tmp_path), issuer, audiences=("claw",)) as beings:
        beings.person()
        assert beings.call(aud="claw").status_code == 200
        headers = {"authorization": f"Bearer {issuer.token(aud='claw')}"}
        address = f"ws://127.0.0.1:{beings.server.port}/bridge/{beings.server.being.id}"
        with (
            pytest.raises(InvalidStatus) as refused,
            connect(address, additional_headers=headers, open_timeout=PATIENCE),
        ):
            pass
        assert refused.value.response.status_code == 401


def test_good_tokens_pass_where_others_guess(
    tmp_path: Path, issuer: TestIssuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(authentication, "READ_EVERY", 0.05)
    limits = RequestLimits(failures=3, failures_a_minute=0.001)
    with opened(store_at(tmp_path), issuer, limits=limits) as beings:
        beings.person()
        statuses = [beings.call(exp=1).status_code for _ in range(5)]
        assert statuses == [401, 401, 401, 429, 429]
        assert beings.call().status_code == 200


@contextmanager
def opened_tools(folder: Path, issuer: TestIssuer, **more: Any) -> Iterator[ServedTools]:
    database = open_store(f"sqlite:{folder / 'beings.db'}")
    options = LoginOptions(jwt_issuer=issuer.url, let_in=("all",), **more)
    try:
        with served_tools(database, tools("pair", "add", "shout"), options=options) as server:
            yield server
    finally:
        database.close()


def test_tools_all_or_by_name(tmp_path: Path, issuer: TestIssuer) -> None:
    with opened_tools(tmp_path, issuer) as server:
        token = partial(issuer.token, aud=f"{server.origin}/mcp")
        assert server.call(token(scope="all"), "add").status_code == 200
        assert server.call(token(scope="tool:add"), "add").status_code == 200
        refused = server.call(token(scope="tool:add"), "shout")
        assert refused.status_code == 403
        challenge = refused.headers["www-authenticate"]
        assert 'error="insufficient_scope"' in challenge
        assert 'scope="tool:add tool:shout"' in challenge
        assert server.call(token(scope="all", exp=1), "add").status_code == 401
        assert server.call("bto_guessed", "add").status_code == 401


def test_scopes_can_have_other_names_at_the_issuer(tmp_path: Path, issuer: TestIssuer) -> None:
    with opened_tools(tmp_path, issuer, scopes=("mcp.use=all",)) as server:
        token = partial(issuer.token, aud=f"{server.origin}/mcp")
        assert server.call(token(scope="mcp.use"), "add").status_code == 200
        refused = server.call("nothing", "add")
        assert 'scope="mcp.use"' in refused.headers["www-authenticate"]
        place = f"{server.origin}/.well-known/oauth-protected-resource/mcp"
        told = httpx2.get(place, timeout=PATIENCE).json()
        assert told["scopes_supported"] == ["mcp.use"]


@pytest.mark.parametrize("text", ["all", "=all", "mcp=", 'a"b=all', "a b=all"])
def test_names_of_scopes_that_cannot_be(text: str) -> None:
    with pytest.raises(SettingsError, match="THEIRS=OURS"):
        read_scopes([text])


def test_the_assistant_is_for_owners_unless_members_are_let_in(
    tmp_path: Path, issuer: TestIssuer
) -> None:
    database = open_store(f"sqlite:{tmp_path / 'beings.db'}")
    options = LoginOptions(jwt_issuer=issuer.url, let_in=("all",))
    only = tools("assistant", "order")
    with served_tools(database, only, options=options, members=False) as server:
        token = issuer.token(aud=f"{server.origin}/mcp", scope="all")
        assert server.call(token, "order").status_code == 401
    database.close()


@pytest.mark.parametrize(
    "url",
    [
        "http://id.example.com",
        "id.example.com",
        "https://ada@id.example.com",
        "https://id.example.com?x=1",
        "https://id.example.com#x",
        "file:///etc",
        "",
    ],
)
def test_addresses_that_no_issuer_has(url: str) -> None:
    with pytest.raises(SettingsError, match="--jwt-issuer"):
        checked_issuer(url, "--jwt-issuer")


def test_where_an_issuer_has_its_metadata() -> None:
    assert metadata_places("https://id.example.com/realms/claw") == [
        "https://id.example.com/.well-known/oauth-authorization-server/realms/claw",
        "https://id.example.com/.well-known/openid-configuration/realms/claw",
        "https://id.example.com/realms/claw/.well-known/openid-configuration",
    ]
    assert metadata_places("https://id.example.com/")[-1] == (
        "https://id.example.com/.well-known/openid-configuration"
    )
