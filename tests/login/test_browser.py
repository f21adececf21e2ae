"""Signing in and agreeing as people do it: in a real browser, by keyboard, also without script."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from clawkit.login import people
from tests.browser import running_browser
from tests.login.browser import Callback, add_authenticator, callback, visiting
from tests.login.visitors import PASSWORD, LoginClient, Logins

PHONE = {"viewport": {"width": 360, "height": 640}, "has_touch": True}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_browser() as found:
        yield found


@pytest.fixture
def waiting() -> Iterator[Callback]:
    with callback() as found:
        yield found


@pytest.fixture
def editor(logins: Logins, waiting: Callback) -> LoginClient:
    """A client that waits for its answer on this machine."""
    client = logins.program(waiting.address)
    client.register()
    return client


def focus(page: Page, selector: str) -> None:
    """Go there with the Tab key alone."""
    wanted = page.locator(selector).first
    for _ in range(30):
        page.keyboard.press("Tab")
        if wanted.evaluate("(one) => one === document.activeElement"):
            return
    raise AssertionError(f"no Tab leads to {selector}")


def press(page: Page, selector: str) -> None:
    focus(page, selector)
    page.keyboard.press("Enter")


def finish(logins: Logins, client: LoginClient, waiting: Callback) -> dict[str, str]:
    """What the client makes of the answer that came."""
    told = waiting.fields
    assert told["iss"] == logins.origin
    answer = client.exchange(told["code"])
    assert answer.status_code == 200
    assert logins.call(answer.json()["access_token"]).status_code == 200
    return answer.json()


def test_a_passkey_from_the_link_to_the_answer_by_keyboard(
    browser: Browser, logins: Logins, editor: LoginClient, waiting: Callback
) -> None:
    link = logins.link(logins.ada)
    with visiting(browser) as page:
        add_authenticator(page)
        page.goto(f"{logins.origin}/login/link/{link}")
        press(page, "#passkey button")
        expect(page.locator("h1")).to_have_text("You are signed in as ada")
        press(page, "form[action='/login/sign-out'] button")
        expect(page.locator("h1")).to_have_text("Sign in")
        page.goto(f"{logins.origin}{editor.address()}")
        press(page, "#passkey button")
        expect(page.locator("h1")).to_have_text("Let Editor use your memory?")
        focus(page, "input[name=level]")
        page.keyboard.press("ArrowDown")
        press(page, "button[value=yes]")
        expect(page).to_have_title("Done")
    assert finish(logins, editor, waiting)["scope"] == "read-only"
    _, headers = waiting.heard[-1]
    assert "referer" not in headers


def test_a_password_and_consent_without_script_by_keyboard(
    browser: Browser, logins: Logins, editor: LoginClient, waiting: Callback
) -> None:
    link = logins.link(logins.ada)
    with visiting(browser, java_script_enabled=False) as page:
        page.goto(f"{logins.origin}/login/link/{link}")
        expect(page.locator("#passkey")).to_be_hidden()
        page.locator("input[name=password]").press_sequentially(PASSWORD)
        page.locator("input[name=again]").press_sequentially(PASSWORD)
        page.keyboard.press("Enter")
        expect(page.locator("h1")).to_have_text("You are signed in as ada")
        page.context.clear_cookies()
        page.goto(f"{logins.origin}{editor.address()}")
        page.locator("input[name=name]").press_sequentially("ada")
        page.keyboard.press("Tab")
        page.keyboard.type(PASSWORD)
        page.keyboard.press("Enter")
        expect(page.locator("h1")).to_have_text("Let Editor use your memory?")
        page.locator("button[value=yes]").press("Enter")
        expect(page).to_have_title("Done")
    assert finish(logins, editor, waiting)["scope"] == "full"


def test_who_cancels_sends_the_browser_back(
    browser: Browser, logins: Logins, editor: LoginClient, waiting: Callback
) -> None:
    with visiting(browser) as page:
        signed_in(page, logins)
        page.goto(f"{logins.origin}{editor.address()}")
        page.locator("button[value=no]").click()
        expect(page).to_have_title("Done")
    assert waiting.fields["error"] == "access_denied"


def signed_in(page: Page, logins: Logins) -> None:
    """Ada's browser, by the cookies that another of hers has."""
    cookies = [
        {"name": one.name, "value": one.value or "", "url": logins.origin}
        for one in logins.visitor.http.cookies.jar
    ]
    page.context.add_cookies(cookies)  # pyright: ignore[reportArgumentType]


def test_a_passkey_that_does_not_check_its_person_is_refused(
    browser: Browser, logins: Logins
) -> None:
    link = logins.link(logins.ada)
    with visiting(browser) as page:
        add_authenticator(page, verifies=False)
        page.goto(f"{logins.origin}/login/link/{link}")
        page.locator("#passkey button").click()
        expect(page.locator("#passkey p")).not_to_be_empty()
    with logins.server.store.database.registry() as connection:
        assert people.passkeys_of(connection, logins.ada) == []


def test_a_passkey_of_somebody_who_was_removed_opens_nothing(
    browser: Browser, logins: Logins
) -> None:
    bob = logins.person("bob")
    link = logins.link(bob)
    with visiting(browser, refused=True) as page:
        add_authenticator(page)
        page.goto(f"{logins.origin}/login/link/{link}")
        page.locator("#passkey button").click()
        expect(page.locator("h1")).to_have_text("You are signed in as bob")
        with logins.server.store.database.registry(write=True) as connection:
            people.remove(connection, bob)
        page.goto(f"{logins.origin}/login")
        with page.expect_response("**/login/passkey/check") as answer:
            page.locator("#passkey button").click()
        assert answer.value.status == 401
        expect(page.locator("#passkey p")).to_have_text("This passkey is not known here.")


def test_a_recorded_answer_of_a_passkey_is_worth_nothing(browser: Browser, logins: Logins) -> None:
    link = logins.link(logins.ada)
    with visiting(browser) as page:
        add_authenticator(page)
        page.goto(f"{logins.origin}/login/link/{link}")
        page.locator("#passkey button").click()
        expect(page.locator("h1")).to_have_text("You are signed in as ada")
        page.locator("form[action='/login/sign-out'] button").click()
        with page.expect_request("**/login/passkey/check") as sent:
            page.locator("#passkey button").click()
        expect(page.locator("h1")).to_have_text("You are signed in as ada")
    thief = logins.browser()
    form = thief.get("/login").text
    said = dict(sent.value.post_data_json or {})
    said["csrf"] = form.partition('name="csrf" value="')[2].partition('"')[0]
    headers = {"origin": logins.origin}
    answer = thief.http.post("/login/passkey/check", json=said, headers=headers)
    assert answer.status_code == 400
    assert "Sign in" in thief.get("/login").text


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_pages_fit_a_phone_in_light_and_dark(
    browser: Browser, logins: Logins, editor: LoginClient, scheme: str
) -> None:
    logins.server.store.create("a-being-with-a-name-that-is-much-longer-than-a-phone-is-wide")
    editor.register("An editor whose name goes on and on " + "x" * 60)
    link = logins.link(logins.person("bob"))
    with visiting(browser, color_scheme=scheme, **PHONE) as page:
        for path in ("/login", f"/login/link/{link}", editor.address()):
            if path == editor.address():
                signed_in(page, logins)
            page.goto(f"{logins.origin}{path}")
            wide = "document.documentElement.scrollWidth <= window.innerWidth"
            assert page.evaluate(wide), path
            small = page.evaluate(
                "[...document.querySelectorAll('button, label')]"
                ".filter((one) => one.checkVisibility() && one.clientHeight < 32).length"
            )
            assert small == 0, path
            dark = page.evaluate("getComputedStyle(document.body).color")
            assert (dark == "rgb(255, 255, 255)") is (scheme == "dark")


def test_a_page_of_another_site_is_told_where_to_log_in(
    browser: Browser, logins: Logins, waiting: Callback
) -> None:
    """As the Inspector does it: a preflight first, then the challenge is read."""
    ask = """async (url) => {
        const message = {jsonrpc: '2.0', id: 1, method: 'tools/list'};
        const headers = {'content-type': 'application/json', 'authorization': 'Bearer guessed'};
        const options = {method: 'POST', headers, body: JSON.stringify(message)};
        const answer = await fetch(url, options);
        return [answer.status, answer.headers.get('www-authenticate')];
    }"""
    with visiting(browser, refused=True) as page:
        page.goto(waiting.address)
        status, challenge = page.evaluate(ask, f"{logins.origin}/mcp")
    assert status == 401
    assert "/.well-known/oauth-protected-resource/mcp" in challenge


def test_no_other_site_can_frame_the_consent(
    browser: Browser, logins: Logins, editor: LoginClient, waiting: Callback
) -> None:
    with visiting(browser, refused=True) as page:
        signed_in(page, logins)
        page.goto(waiting.address.replace("/callback", "/evil"))
        page.evaluate(
            "(address) => new Promise((done) => { const frame = document.createElement('iframe');"
            "frame.onload = done; frame.src = address; document.body.append(frame); })",
            f"{logins.origin}{editor.address()}",
        )
        frame = page.frames[1]
        assert "Let Editor" not in frame.content()
