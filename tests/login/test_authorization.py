"""A login as a client has it: found, asked for, agreed to, used, refreshed, given back."""

from __future__ import annotations

import re
from typing import Any

import pytest

from clawkit.login.records import ACCESS_SECONDS, REFRESH_SECONDS
from tests.login.visitors import Logins, sent_back
from tests.memory.http.being_store import Clock
from tests.memory.http.served_beings import text_of


def refused(logins: Logins, token: str, path: str = "/mcp") -> int:
    return logins.call(token, path=path).status_code


def test_a_login_from_the_challenge_to_the_answer(stored_logins: Logins) -> None:
    logins, http = stored_logins, stored_logins.client.http
    challenge = http.post("/mcp", json={}).headers["www-authenticate"]
    (place,) = re.findall(r'resource_metadata="([^"]+)"', challenge)
    assert 'scope="full"' in challenge
    resource = http.get(place).json()
    assert resource["resource"] == f"{logins.origin}/mcp"
    (issuer,) = resource["authorization_servers"]
    about = http.get(f"{issuer}/.well-known/oauth-authorization-server").json()
    assert about["issuer"] == issuer == logins.origin
    assert about["code_challenge_methods_supported"] == ["S256"]
    told = logins.visitor.agree(logins.client.address())
    assert (told["state"], told["iss"]) == ("xyz", issuer)
    tokens = logins.client.exchange(told["code"], resource=f"{issuer}/mcp").json()
    assert tokens["access_token"].startswith("bto_")
    assert tokens["scope"] == "full"
    assert "202" in text_of(logins.call(tokens["access_token"]))


def test_a_refresh_token_is_good_once_and_the_new_one_is_good(stored_logins: Logins) -> None:
    first = stored_logins.tokens()
    second = stored_logins.client.refresh(first["refresh_token"]).json()
    assert second["refresh_token"] != first["refresh_token"]
    assert stored_logins.call(second["access_token"]).status_code == 200
    third = stored_logins.client.refresh(second["refresh_token"])
    assert third.status_code == 200


def test_an_access_token_ends_after_an_hour_and_can_be_refreshed(
    logins: Logins, clock: Clock
) -> None:
    tokens = logins.tokens()
    clock.now += ACCESS_SECONDS + 1
    assert refused(logins, tokens["access_token"]) == 401
    new = logins.client.refresh(tokens["refresh_token"]).json()
    assert logins.call(new["access_token"]).status_code == 200


def test_a_login_that_is_not_used_for_a_month_is_over(logins: Logins, clock: Clock) -> None:
    tokens = logins.tokens()
    clock.now += REFRESH_SECONDS + 1
    again = logins.client.refresh(tokens["refresh_token"])
    assert (again.status_code, again.json()["error"]) == (400, "invalid_grant")


def test_the_person_narrows_what_the_client_asked_for(logins: Logins) -> None:
    tokens = logins.tokens(level="read-only")
    assert tokens["scope"] == "read-only"
    access = tokens["access_token"]
    assert logins.call(access).status_code == 200
    write = logins.server.call(access, "update_notes", {"notes": ["x"]}, path="/mcp")
    assert write.status_code == 403
    challenge = write.headers["www-authenticate"]
    assert 'error="insufficient_scope"' in challenge
    assert 'scope="full"' in challenge
    assert f'resource_metadata="{logins.server.url}/.well-known/oauth-protected-resource/mcp"' in (
        challenge
    )


def test_a_client_that_asks_to_read_only_cannot_be_given_more(logins: Logins) -> None:
    page = logins.visitor.get(logins.client.address(scope="read-only"))
    assert "write to it" not in page.text
    told = sent_back(logins.visitor.submit(page, answer="yes"))
    assert logins.client.exchange(told["code"]).json()["scope"] == "read-only"
    forged = logins.visitor.submit(page, answer="yes", level="full")
    assert forged.status_code == 400


def test_scopes_that_are_not_known_are_passed_over(logins: Logins) -> None:
    address = logins.client.address(scope="openid offline_access")
    code = logins.visitor.agree(address)["code"]
    assert logins.client.exchange(code).json()["scope"] == "full"


def test_only_the_owner_can_let_a_client_write_what_clients_obey(logins: Logins) -> None:
    soul = {"target": "souls", "action": "append", "content": "I am kind.", "key": "Ada"}
    plain = logins.tokens()["access_token"]
    told = logins.server.call(plain, "update_memory", soul, path="/mcp").json()
    assert told["result"]["isError"]
    trusted = logins.tokens(extra=["owner"])
    assert trusted["scope"] == "full owner"
    told = logins.server.call(trusted["access_token"], "update_memory", soul, path="/mcp").json()
    assert not told["result"].get("isError")


def test_a_member_sees_only_their_own_beings(logins: Logins) -> None:
    from clawkit.login import people

    store = logins.server.store
    garden, diary = store.create("garden"), store.create("diary")
    bob = logins.person("bob")
    visitor = logins.browser()
    visitor.begin(logins.link(bob))
    assert visitor.turned_away(logins.client.address())["error"] == "access_denied"
    with store.database.registry(write=True) as connection:
        people.allow(connection, bob, garden.n)
        people.allow(connection, bob, diary.n)
    page = visitor.get(logins.client.address())
    assert "garden" in page.text
    assert "<span>Ada</span>" not in page.text
    assert "soul" not in page.text
    ada = str(logins.server.being.n)
    assert visitor.submit(page, answer="yes", being=ada).status_code == 400
    told = sent_back(visitor.submit(page, answer="yes", being=str(garden.n)))
    access = logins.client.exchange(told["code"]).json()["access_token"]
    assert text_of(logins.call(access, "recall_memory"))
    other = logins.client.address(resource=f"{logins.origin}/mcp/{ada}")
    assert visitor.turned_away(other)["error"] == "access_denied"


def test_a_login_for_one_being_is_asked_for_by_its_address(logins: Logins) -> None:
    garden = logins.server.store.create("garden")
    resource = f"{logins.origin}/mcp/garden"
    page = logins.visitor.get(logins.client.address(resource=resource))
    assert "<strong>garden</strong>" in page.text
    told = sent_back(logins.visitor.submit(page, answer="yes"))
    access = logins.client.exchange(told["code"], resource=resource).json()["access_token"]
    assert logins.call(access, path="/mcp/garden").status_code == 200
    assert logins.call(access, path="/mcp/garden/").status_code == 200
    for elsewhere in ("/mcp", f"/mcp/{garden.id}", f"/mcp/{logins.server.being.id}"):
        assert refused(logins, access, elsewhere) in (401, 403), elsewhere


def test_loopback_has_several_names_and_an_origin_may_have_a_slash(logins: Logins) -> None:
    port = logins.server.port
    for resource in (
        f"http://127.0.0.1:{port}/mcp",
        f"http://[::1]:{port}/mcp/",
        logins.origin + "/",
    ):
        told = logins.visitor.agree(logins.client.address(resource=resource))
        access = logins.client.exchange(told["code"], resource=resource).json()["access_token"]
        assert logins.call(access).status_code == 200
    there = f"http://127.0.0.1:{port}/.well-known/oauth-protected-resource/mcp"
    about = logins.client.http.get(there).json()
    assert about["resource"] == f"http://127.0.0.1:{port}/mcp"
    assert about["authorization_servers"] == [logins.origin]


def test_a_client_of_the_first_revision_names_no_resource(logins: Logins) -> None:
    told = logins.visitor.agree(logins.client.address(resource=None))
    access = logins.client.exchange(told["code"]).json()["access_token"]
    assert logins.call(access).status_code == 200


def test_a_client_that_gives_its_login_back_has_none(logins: Logins) -> None:
    tokens = logins.tokens()
    fields = {"token": tokens["refresh_token"], "client_id": logins.client.id}
    assert logins.client.http.post("/login/revoke", data=fields).status_code == 200
    assert refused(logins, tokens["access_token"]) == 401
    assert logins.client.refresh(tokens["refresh_token"]).status_code == 400
    again = logins.client.http.post("/login/revoke", data=fields)
    assert again.status_code == 200


def test_giving_an_access_token_back_leaves_the_login(logins: Logins) -> None:
    tokens = logins.tokens()
    fields = {"token": tokens["access_token"], "client_id": logins.client.id}
    logins.client.http.post("/login/revoke", data=fields)
    assert refused(logins, tokens["access_token"]) == 401
    assert logins.client.refresh(tokens["refresh_token"]).status_code == 200


def test_a_refreshed_token_can_have_less_scope_and_never_more(logins: Logins) -> None:
    tokens = logins.tokens(extra=["owner"])
    less = logins.client.refresh(tokens["refresh_token"], scope="full").json()
    assert less["scope"] == "full"
    more = logins.client.refresh(less["refresh_token"], scope="full admin")
    assert (more.status_code, more.json()["error"]) == (400, "invalid_scope")


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"scope": "tool:weather"}, "invalid_scope"),
        ({"resource": "https://other.example/mcp"}, "invalid_target"),
        ({"resource": "{origin}/mcp/77"}, "invalid_target"),
    ],
)
def test_a_refresh_that_asks_for_too_much_leaves_the_refresh_token_as_it_is(
    stored_logins: Logins, wrong: dict[str, str], error: str
) -> None:
    logins = stored_logins
    tokens = logins.tokens()
    asked = {name: value.format(origin=logins.origin) for name, value in wrong.items()}
    for _ in range(2):
        told = logins.client.refresh(tokens["refresh_token"], **asked)
        assert (told.status_code, told.json()["error"]) == (400, error)
    renewed = logins.client.refresh(tokens["refresh_token"])
    assert renewed.status_code == 200
    assert logins.call(renewed.json()["access_token"]).status_code == 200


def test_who_says_no_tells_the_client_so(logins: Logins) -> None:
    page = logins.visitor.get(logins.client.address())
    told = sent_back(logins.visitor.submit(page, answer="no"))
    assert told == {"error": "access_denied", "state": "xyz", "iss": logins.origin}


def test_tokens_made_by_hand_go_on_as_before(logins: Logins) -> None:
    by_hand = logins.server.token(oauth=True)
    assert logins.call(by_hand).status_code == 200
    assert logins.server.call(logins.server.token(), "get_current_time").status_code == 200


def test_a_person_ends_a_login_on_their_page(logins: Logins) -> None:
    tokens = logins.tokens()
    page = logins.visitor.get("/login")
    assert "Editor" in page.text
    assert logins.visitor.submit(page, 0).status_code == 303
    assert refused(logins, tokens["access_token"]) == 401
    assert "No program yet" in logins.visitor.get("/login").text


def test_two_servers_over_one_store_know_each_others_logins(logins: Logins) -> None:
    from functools import partial

    from clawkit.memory.being_store import BeingStore
    from clawkit.store import open_store
    from tests.login.visitors import gate_maker
    from tests.memory.http.served_beings import served

    store = logins.server.store
    other = BeingStore(open_store(store.database.address), "none", clock=store.clock)

    def at_the_same_address(_: int) -> Any:
        return gate_maker(other, logins.server.port)

    tokens = logins.tokens()
    with served(other, logins=partial(at_the_same_address)) as second:
        answer = second.call(tokens["access_token"], "get_current_time", path="/mcp")
        assert answer.status_code == 200
        client = logins.program(origin=f"http://127.0.0.1:{second.port}")
        client.id, client.verifier = logins.client.id, logins.client.verifier
        assert client.refresh(tokens["refresh_token"]).status_code == 200
    assert logins.client.refresh(tokens["refresh_token"]).status_code == 400
