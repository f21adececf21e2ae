"""What somebody tries who has no business here, each tried for real."""

from __future__ import annotations

import base64
import re
import statistics
import time
from functools import partial
from pathlib import Path
from urllib.parse import quote, urlencode, urlsplit

import pytest

from clawkit.login import grants, people
from clawkit.login.records import ACCESS_SECONDS, CODE_SECONDS, User
from clawkit.login.requests import OAuthRefusal
from clawkit.login.sign_in import SignInLimits
from clawkit.system.addresses import network_of
from tests.login.visitors import (
    CALLBACK,
    PASSWORD,
    Logins,
    Visitor,
    forms_of,
    gate_maker,
    query_of,
    sent_back,
)
from tests.memory.http.being_store import Clock, store_at
from tests.memory.http.served_beings import served


def code_of(logins: Logins) -> str:
    return logins.visitor.agree(logins.client.address())["code"]


def test_a_code_that_is_used_again_ends_the_login(stored_logins: Logins) -> None:
    logins = stored_logins
    code = code_of(logins)
    tokens = logins.client.exchange(code).json()
    assert logins.call(tokens["access_token"]).status_code == 200
    again = logins.client.exchange(code)
    assert (again.status_code, again.json()["error"]) == (400, "invalid_grant")
    assert logins.call(tokens["access_token"]).status_code == 401
    assert logins.client.refresh(tokens["refresh_token"]).status_code == 400


def test_an_intercepted_code_is_worth_nothing_without_the_verifier(logins: Logins) -> None:
    code = code_of(logins)
    thief = logins.program()
    thief.id = logins.client.id
    assert thief.exchange(code).status_code == 400
    assert logins.client.exchange(code).status_code == 400  # it was shown once already


@pytest.mark.parametrize(
    "changed",
    [
        {"code_verifier": ""},
        {"code_verifier": "short"},
        {"client_id": "somebody-else"},
        {"redirect_uri": "http://127.0.0.1:7777/other"},
        {"resource": "https://other.example/mcp"},
    ],
)
def test_a_code_is_for_its_client_address_and_resource(
    logins: Logins, changed: dict[str, str]
) -> None:
    assert logins.client.exchange(code_of(logins), **changed).status_code == 400


def test_a_code_is_good_for_a_minute(logins: Logins, clock: Clock) -> None:
    code = code_of(logins)
    clock.now += CODE_SECONDS
    assert logins.client.exchange(code).status_code == 400


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"code_challenge": None}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge_method": None}, "invalid_request"),
        ({"code_challenge": "tooshort"}, "invalid_request"),
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"resource": "https://other.example/mcp"}, "invalid_target"),
        ({"resource": "http://localhost:1/mcp"}, "invalid_target"),
    ],
)
def test_pkce_cannot_be_left_out_nor_the_resource_be_elsewhere(
    logins: Logins, changed: dict[str, str | None], error: str
) -> None:
    told = sent_back(logins.visitor.get(logins.client.address(**changed)))
    assert (told["error"], told["iss"], told["state"]) == (error, logins.origin, "xyz")


@pytest.mark.parametrize(
    "uri",
    [
        "https://evil.example/callback",
        f"{CALLBACK}.evil.example",
        f"{CALLBACK}/../evil",
        f"{CALLBACK}?next=https://evil.example",
        CALLBACK.replace("127.0.0.1", "127.0.0.1@evil.example"),
        CALLBACK.upper(),
        "javascript:alert(1)",
    ],
)
def test_nothing_is_sent_to_an_address_that_the_client_did_not_give(
    logins: Logins, uri: str
) -> None:
    page = logins.visitor.get(logins.client.address(redirect_uri=uri))
    assert page.status_code == 400
    assert "location" not in page.headers
    assert "Nothing was sent there" in page.text


def test_a_parameter_that_is_there_twice_is_refused(logins: Logins) -> None:
    address = f"{logins.client.address()}&redirect_uri={quote('https://evil.example/')}"
    page = logins.visitor.get(address)
    assert page.status_code == 400
    assert "twice" in page.text


def test_every_answer_says_which_server_it_is_from(logins: Logins) -> None:
    """A client that talks to two servers can tell whose code it got: no mix-up."""
    about = logins.client.http.get("/.well-known/oauth-authorization-server").json()
    assert about["authorization_response_iss_parameter_supported"] is True
    assert logins.visitor.agree(logins.client.address())["iss"] == about["issuer"]


def test_a_token_opens_no_other_server_over_the_same_store(logins: Logins, tmp_path: Path) -> None:
    access = logins.tokens()["access_token"]
    other = store_at(tmp_path, Clock())
    with served(other, logins=partial(gate_maker, other)) as second:
        assert second.port != logins.server.port
        assert second.call(access, "get_current_time", path="/mcp").status_code == 401
    plain = store_at(tmp_path, Clock())
    with served(plain) as without_logins:
        assert without_logins.call(access, "get_current_time", path="/mcp").status_code == 401


def test_a_login_opens_no_bridge_and_no_other_being(logins: Logins) -> None:
    access = logins.tokens()["access_token"]
    diary = logins.server.store.create("diary")
    assert logins.call(access, path=f"/mcp/{diary.id}").status_code == 401
    assert logins.call(access, path=f"/mcp?being_id={diary.id}").status_code == 403
    headers = {"authorization": f"Bearer {access}"}
    bridge = logins.client.http.get(f"/bridge/{logins.server.being.id}", headers=headers)
    assert bridge.status_code in (401, 403, 404)


def test_a_stolen_refresh_token_ends_the_login_for_thief_and_owner(
    stored_logins: Logins,
) -> None:
    logins = stored_logins
    stolen = logins.tokens()["refresh_token"]
    thief = logins.client.refresh(stolen).json()
    assert logins.call(thief["access_token"]).status_code == 200
    assert logins.client.refresh(stolen).status_code == 400
    assert logins.call(thief["access_token"]).status_code == 401
    assert logins.client.refresh(thief["refresh_token"]).status_code == 400
    with logins.server.store.database.registry() as connection:
        (grant,) = grants.of_person(connection, logins.ada)
    assert grant.reason == "a refresh token of it was used twice"


def test_a_refresh_token_in_the_hands_of_another_client_ends_the_login(logins: Logins) -> None:
    tokens = logins.tokens()
    other = logins.program()
    other.register("Other")
    assert other.refresh(tokens["refresh_token"]).status_code == 400
    assert logins.call(tokens["access_token"]).status_code == 401


def test_an_access_token_is_no_refresh_token_and_the_other_way_round(logins: Logins) -> None:
    tokens = logins.tokens()
    assert logins.client.refresh(tokens["access_token"]).status_code == 400
    assert logins.call(tokens["refresh_token"]).status_code == 401
    other = logins.program()
    other.register()
    fields = {"token": tokens["refresh_token"], "client_id": other.id}
    other.http.post("/login/revoke", data=fields)
    assert logins.call(tokens["access_token"]).status_code == 200


def test_another_site_cannot_agree_for_somebody(logins: Logins) -> None:
    page = logins.visitor.get(logins.client.address())
    action, fields = forms_of(page.text)[0]
    good = {**dict(fields), "answer": "yes"}
    forged = urlencode({**good, "csrf": "0" * 64})
    assert logins.visitor.post(action, forged).status_code == 403
    assert logins.visitor.post(action, urlencode({"answer": "yes"})).status_code == 403
    body = urlencode(good)
    for headers in ({"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}):
        assert logins.visitor.post(action, body, **headers).status_code == 403
    assert logins.visitor.post(action, body).status_code == 303


def test_a_form_of_one_browser_is_none_of_another(logins: Logins) -> None:
    page = logins.browser().get("/login")
    other = logins.browser()
    other.get("/login")
    assert other.submit(page, name="ada", password=PASSWORD).status_code == 403


def test_no_page_can_be_framed_or_loads_anything_from_elsewhere(logins: Logins) -> None:
    link = logins.link(logins.person("bob"))
    for visitor, path in (
        (logins.visitor, logins.client.address()),
        (logins.visitor, "/login"),
        (logins.browser(), logins.client.address()),
        (logins.browser(), f"/login/link/{link}"),
        (logins.browser(), "/login/link/wrong"),
    ):
        page = visitor.get(path)
        rules = page.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in rules
        assert "default-src 'none'" in rules
        assert "unsafe" not in rules
        assert page.headers["x-frame-options"] == "DENY"
        assert page.headers["cache-control"] == "no-store"
        assert page.headers["referrer-policy"] == "same-origin"
        assert "access-control-allow-origin" not in page.headers
        assert not re.findall(r'(?:src|href)="(?:https?:)?//', page.text)
    consent = logins.visitor.get(logins.client.address()).headers["content-security-policy"]
    assert "script-src" not in consent
    assert "form-action 'self' http://127.0.0.1:7777" in consent


def test_signing_in_gives_a_browser_new_cookies(logins: Logins) -> None:
    """Whoever put a cookie into a browser before does not know the one that counts."""
    logins.visitor.sign_in("ada")
    port = logins.server.port
    victim = logins.browser()
    victim.http.cookies.set(f"claw-login-{port}", "planted")
    victim.http.cookies.set(f"claw-visit-{port}", "planted")
    page = victim.get("/login")
    assert "Sign in" in page.text
    answer = victim.submit(page, name="ada", password=PASSWORD)
    assert answer.status_code == 303
    cookies = answer.headers.get_list("set-cookie")
    assert len(cookies) == 2
    assert all("planted" not in one and "HttpOnly" in one for one in cookies)
    assert all("SameSite=lax" in one for one in cookies)
    attacker = logins.browser()
    attacker.http.cookies.set(f"claw-login-{port}", "planted")
    assert "Sign in" in attacker.get("/login").text


def test_signing_out_ends_the_browser_also_for_a_copy_of_its_cookies(logins: Logins) -> None:
    copy = logins.browser()
    copy.http.cookies.update(logins.visitor.http.cookies)
    assert "signed in as ada" in copy.get("/login").text
    page = logins.visitor.get("/login")
    logins.visitor.submit(page, len(forms_of(page.text)) - 1)
    assert "Sign in" in copy.get("/login").text


def test_nobody_learns_who_has_an_account(logins: Logins) -> None:
    logins.person("bob")  # has no password yet

    def answer(name: str) -> tuple[int, str]:
        page = logins.browser().sign_in(name, "wrong password")
        return page.status_code, re.sub(r'value="[^"]*"|data-\w+="[^"]*"', "", page.text)

    assert answer("ada") == answer("bob") == answer("nobody")
    assert answer("ada")[0] == 401


@pytest.mark.usefixtures("costly_passwords")
def test_a_wrong_name_takes_as_long_as_a_wrong_password() -> None:
    """In work, not in seconds: both hash a password with the same parameters."""
    known = people.hashed(PASSWORD)
    assert known.startswith("$argon2id$v=19$m=65536,t=3,p=4$")

    def seconds(password_hash: str) -> float:
        began = time.thread_time()
        assert not people.is_password(password_hash, "wrong")
        return time.thread_time() - began

    seconds("")
    right = statistics.median(seconds(known) for _ in range(3))
    wrong = statistics.median(seconds("") for _ in range(3))
    assert right / 3 < wrong < right * 3


def test_guessing_a_password_is_stopped_and_others_still_get_in(
    tmp_path: Path, clock: Clock
) -> None:
    store = store_at(tmp_path, clock)
    with served(store, logins=partial(gate_maker, store), trusted_proxies=("127.0.0.1",)) as server:
        logins = Logins(server)
        guesser, ada = logins.browser(), logins.browser()
        guesser.http.headers["x-forwarded-for"] = "198.51.100.1"
        ada.http.headers["x-forwarded-for"] = "198.51.100.2"
        answers = [guesser.sign_in("ada", f"guess {n}").status_code for n in range(8)]
        assert answers[:5] == [401] * 5
        assert set(answers[5:]) == {429}
        assert guesser.sign_in("ada", PASSWORD).status_code == 429
        assert ada.sign_in("ada").status_code == 303
        logins.close()


def test_a_guesser_is_one_whatever_address_of_a_network_and_spelling_of_a_name() -> None:
    limits = SignInLimits()
    spellings = ("ada", " Ada", "ADA ", "\uff41da", "ada\u3000")
    for n, name in enumerate(spellings):
        limits.count(network_of(f"2001:db8:1:2::{n}"), name)
    with pytest.raises(OAuthRefusal, match="Too many"):
        limits.count(network_of("2001:db8:1:2:ffff::1"), "A\uff24A")
    limits.count(network_of("2001:db8:1:3::1"), "ada")


def test_limits_count_a_network_of_ipv6(tmp_path: Path, clock: Clock) -> None:
    store = store_at(tmp_path, clock)
    with served(store, logins=partial(gate_maker, store), trusted_proxies=("127.0.0.1",)) as server:
        logins = Logins(server)
        guesser = logins.browser()
        answers: list[int] = []
        for n in range(6):
            guesser.http.headers["x-forwarded-for"] = f"2001:db8::{n}"
            answers.append(guesser.sign_in("ada", f"guess {n}").status_code)
        assert answers == [401] * 5 + [429]
        logins.close()


def test_strangers_cannot_lock_a_name_for_its_owner() -> None:
    limits = SignInLimits()
    for n in range(300):
        limits.count(f"198.51.{n // 200}.{n % 200}", "ada")
    limits.count("203.0.113.1", "ada")


def test_agreeing_is_limited_as_asking_is(logins: Logins) -> None:
    answers = [logins.visitor.post("/login/authorize", "").status_code for _ in range(80)]
    assert answers[0] == 403
    assert answers[-1] == 429


def test_a_one_time_link_works_once_and_looking_at_it_does_not_use_it(logins: Logins) -> None:
    bob = logins.person("bob")
    link = logins.link(bob)
    for _ in range(3):
        assert "Welcome, bob" in logins.browser().get(f"/login/link/{link}").text
    first, second = logins.browser(), logins.browser()
    late = second.get(f"/login/link/{link}")
    assert first.begin(link).status_code == 303
    assert second.submit(late, password="another one", again="another one").status_code == 404
    assert second.get(f"/login/link/{link}").status_code == 404
    assert logins.browser().sign_in("bob", "another one").status_code == 401


def test_a_link_is_good_for_a_day_and_a_new_one_replaces_it(logins: Logins, clock: Clock) -> None:
    bob = logins.person("bob")
    old = logins.link(bob)
    new = logins.link(bob)
    assert logins.browser().get(f"/login/link/{old}").status_code == 404
    clock.now += people.LINK_SECONDS
    assert logins.browser().get(f"/login/link/{new}").status_code == 404


@pytest.mark.parametrize("password", ["short", "bob12345678", "aaaaaaaaaaaaaa", "x" * 1001])
def test_passwords_that_are_easily_guessed_are_refused(logins: Logins, password: str) -> None:
    link = logins.link(logins.person("bob"))
    page = logins.browser().begin(link, password)
    assert page.status_code == 400
    assert logins.browser().get(f"/login/link/{link}").status_code == 200


@pytest.mark.parametrize(
    "next_",
    [
        "https://evil.example/",
        "//evil.example/",
        "/\\evil.example",
        "/login/authorize",
        "/login/authorize?x=\r\nset-cookie: a=b",
        "javascript:alert(1)",
    ],
)
def test_after_signing_in_nobody_is_sent_elsewhere(logins: Logins, next_: str) -> None:
    visitor = logins.browser()
    page = visitor.get("/login")
    answer = visitor.submit(page, name="ada", password=PASSWORD, next=next_)
    assert answer.headers["location"] == "/login"


def test_after_signing_in_the_client_is_asked_about(logins: Logins) -> None:
    visitor = logins.browser()
    page = visitor.get(logins.client.address())
    assert "Sign in" in page.text
    answer = visitor.submit(page, name="ada", password=PASSWORD)
    assert urlsplit(answer.headers["location"]).path == "/login/authorize"
    assert "Let Editor use" in visitor.get(answer.headers["location"]).text


def test_a_clock_that_goes_back_does_not_revive_what_is_over(logins: Logins, clock: Clock) -> None:
    tokens = logins.tokens()
    clock.now += ACCESS_SECONDS
    assert logins.call(tokens["access_token"]).status_code == 401
    logins.client.refresh(tokens["refresh_token"])
    clock.now -= 30
    assert logins.client.refresh(tokens["refresh_token"]).status_code == 400
    assert logins.call(tokens["access_token"]).status_code == 401


def test_somebody_who_was_removed_has_no_way_in(logins: Logins) -> None:
    bob = logins.person("bob")
    store = logins.server.store
    with store.database.registry(write=True) as connection:
        people.allow(connection, bob, logins.server.being.n)
    visitor = logins.browser()
    visitor.begin(logins.link(bob))
    told = sent_back(visitor.submit(visitor.get(logins.client.address()), answer="yes"))
    tokens = logins.client.exchange(told["code"]).json()
    assert logins.call(tokens["access_token"]).status_code == 200
    with store.database.registry(write=True) as connection:
        people.remove(connection, bob)
    assert logins.call(tokens["access_token"]).status_code == 401
    assert logins.client.refresh(tokens["refresh_token"]).status_code == 400
    assert "Sign in" in visitor.get("/login").text
    assert logins.browser().sign_in("bob").status_code == 401


def test_no_secret_is_in_the_log_the_store_or_a_referrer(logins: Logins) -> None:
    link = logins.link(logins.person("bob"))
    logins.browser().begin(link)
    page = logins.visitor.get(logins.client.address())
    answer = logins.visitor.submit(page, answer="yes")
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cache-control"] == "no-store"
    assert "code=btc_" in query_of(answer)
    code = sent_back(answer)["code"]
    tokens = logins.client.exchange(code).json()
    logins.call(tokens["access_token"])
    logins.client.exchange(code)
    secrets = [link, code, tokens["access_token"], tokens["refresh_token"], PASSWORD]
    secrets += list(logins.visitor.http.cookies.values())
    logins.server.log(1)
    file = Path(logins.server.store.database.address.removeprefix("sqlite:"))
    kept = b"".join(one.read_bytes() for one in file.parent.glob(f"{file.name}*"))
    for secret in secrets:
        assert secret not in logins.server.raw_log
        assert secret.encode() not in kept


def test_a_flood_of_wrong_tokens_is_stopped(logins: Logins) -> None:
    answers = [logins.client.refresh(f"btr_{n:043}").status_code for n in range(140)]
    assert answers[0] == 400
    assert answers[-1] == 429
    assert logins.client.refresh("btr_x").headers["retry-after"]


def test_a_flood_of_questions_to_passkeys_fills_nothing(logins: Logins) -> None:
    visitor = logins.browser()
    csrf = dict(forms_of(visitor.get("/login").text)[0][1])["csrf"]
    headers = {"origin": logins.origin}
    said = {"csrf": csrf}
    answers = [
        visitor.http.post("/login/passkey/ask", json=said, headers=headers).status_code
        for _ in range(40)
    ]
    assert answers[0] == 200
    assert answers[-1] == 429
    with logins.server.store.database.registry() as connection:
        assert connection.rows("SELECT count(*) FROM login_challenges")[0][0] <= 35


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 30_000 + b"]" * 30_000,
        b'{"csrf": "", "credential": %s}' % (b'{"a":' * 6_000),
        b'{"csrf": "\xff"}',
        b'{"csrf": "", "\xff": ""}',
        b'{"csrf": "\\ud800........"}',
        b'{"csrf": {}}',
        b"not json",
        b"",
    ],
)
def test_what_is_no_json_is_refused_where_passkeys_are(logins: Logins, body: bytes) -> None:
    headers = {"origin": logins.origin, "content-type": "application/json"}
    for path in ("ask", "check", "new", "keep"):
        told = logins.client.http.post(f"/login/passkey/{path}", content=body, headers=headers)
        assert (told.status_code, told.json()["error"]) == (400, "invalid_request"), path


@pytest.mark.parametrize("data", [b"[" * 30_000, b'{"challenge": "\xff"}', b'{"challenge": 1}'])
def test_what_is_no_answer_of_a_passkey_is_refused(logins: Logins, data: bytes) -> None:
    visitor = logins.browser()
    csrf = dict(forms_of(visitor.get("/login").text)[0][1])["csrf"]
    response = {"clientDataJSON": base64.urlsafe_b64encode(data).decode()}
    said = {"csrf": csrf, "credential": {"id": "x", "response": response}}
    headers = {"origin": logins.origin}
    told = visitor.http.post("/login/passkey/check", json=said, headers=headers)
    assert told.status_code == 400
    assert "cannot be used here" in told.json()["error_description"]


def test_a_host_that_is_not_ours_gets_nothing(logins: Logins) -> None:
    for path in ("/login", "/.well-known/oauth-authorization-server", logins.client.address()):
        answer = logins.client.http.get(path, headers={"host": "evil.example"})
        assert answer.status_code == 403


@pytest.mark.parametrize("origin", ["https://[2001:db8::1]", "https://[2001:db8::1]:8443"])
def test_an_address_in_numbers_has_a_page_too(tmp_path: Path, clock: Clock, origin: str) -> None:
    store = store_at(tmp_path, clock)
    maker = partial(gate_maker, store, public_url=origin)
    with served(store, logins=maker, hosts=None) as server:
        headers = {"host": origin.removeprefix("https://")}
        page = server.http.get("/login", headers=headers)
        assert page.status_code == 200
        assert "Sign in with a passkey" not in page.text
        assert "__Host-claw-visit-" in page.headers["set-cookie"]


def test_a_body_that_is_too_large_is_not_read(logins: Logins) -> None:
    answer = logins.client.http.post("/login/register", content=b" " * 70_000)
    assert answer.status_code == 413


def member(logins: Logins, name: str) -> tuple[User, Visitor]:
    """Somebody who may use the one Being, and is signed in."""
    person = logins.person(name)
    with logins.server.store.database.registry(write=True) as connection:
        people.allow(connection, person, logins.server.being.n)
    visitor = logins.browser()
    visitor.begin(logins.link(person))
    return person, visitor


def test_a_code_on_the_way_ends_with_what_it_was_for(stored_logins: Logins) -> None:
    logins = stored_logins
    bob, visitor = member(logins, "bob")
    database = logins.server.store.database
    code = visitor.agree(logins.client.address())["code"]
    with database.registry(write=True) as connection:
        people.disallow(connection, bob, logins.server.being.n)
        people.allow(connection, bob, logins.server.being.n)
    assert logins.client.exchange(code).status_code == 400
    code = visitor.agree(logins.client.address())["code"]
    with database.registry(write=True) as connection:
        people.lock_out(connection, bob)
    assert logins.client.exchange(code).status_code == 400


def test_a_being_that_somebody_may_no_longer_use_is_closed_at_once(stored_logins: Logins) -> None:
    """Whatever took it from them: each use of a login asks."""
    logins = stored_logins
    bob, visitor = member(logins, "bob")
    waiting = visitor.agree(logins.client.address())["code"]
    code = visitor.agree(logins.client.address())["code"]
    tokens = logins.client.exchange(code).json()
    assert logins.call(tokens["access_token"]).status_code == 200
    with logins.server.store.database.registry(write=True) as connection:
        connection.run("DELETE FROM login_beings WHERE person = ?", (bob.id,))
    assert logins.call(tokens["access_token"]).status_code == 401
    assert logins.client.refresh(tokens["refresh_token"]).status_code == 400
    assert logins.client.exchange(waiting).status_code == 400
