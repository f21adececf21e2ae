"""Who gets in: one-time links, cookies, tokens, hosts and origins, on a real socket."""

from __future__ import annotations

import hmac
import http.client
import json
import re
from typing import Any

import psutil
import pytest

from clawkit.console.access import IDLE_SECONDS, LINK_SECONDS, ConsoleAccess
from tests.console.browser import RunningConsole


class Asking:
    """A program that speaks HTTP with a console, in whatever way it likes."""

    def __init__(self, console: RunningConsole) -> None:
        self._port = console.port
        self._link = console.link.rpartition("=")[2]

    def ask(
        self, method: str, path: str, body: object = None, **headers: str
    ) -> tuple[int, Any, http.client.HTTPMessage]:
        connection = http.client.HTTPConnection("127.0.0.1", self._port)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            connection.putrequest(method, path, skip_host=True)
            for name, value in {"host": f"localhost:{self._port}", **named}.items():
                connection.putheader(name, value)
            data = (
                b""
                if body is None
                else body
                if isinstance(body, bytes)
                else json.dumps(body).encode()
            )
            connection.putheader("content-length", str(len(data)))
            connection.endheaders(data)
            response = connection.getresponse()
            content = response.read()
        finally:
            connection.close()
        is_json = (response.headers["content-type"] or "").startswith("application/json")
        return response.status, json.loads(content) if is_json else content, response.headers

    def open(self) -> dict[str, str]:
        """Use the link; the headers that a request then needs."""
        status, said, headers = self.ask("POST", "/api/open", {"link": self._link})
        assert status == 200, said
        cookie = headers["set-cookie"].partition(";")[0]
        return {"cookie": cookie, "x_claw_token": said["token"]}


@pytest.fixture
def asking(console: RunningConsole) -> Asking:
    return Asking(console)


@pytest.fixture
def opened(asking: Asking) -> tuple[Asking, dict[str, str]]:
    return asking, asking.open()


def test_a_link_is_used_once(asking: Asking) -> None:
    asking.open()
    status, said, headers = asking.ask("POST", "/api/open", {"link": asking._link})
    assert status == 403
    assert "was used already" in said["error"]
    assert headers["set-cookie"] is None


def test_a_cookie_is_for_this_site_only_and_no_script_reads_it(asking: Asking) -> None:
    _, _, headers = asking.ask("POST", "/api/open", {"link": asking._link})
    attributes = [part.strip() for part in headers["set-cookie"].split(";")[1:]]
    assert attributes == ["Path=/", "HttpOnly", "SameSite=Strict"]


def test_without_a_cookie_there_is_no_data(asking: Asking) -> None:
    for path in ("/api/session", "/api/activity/rows", "/api/watch", "/api/policy/shown"):
        status, said, _ = asking.ask("GET", path)
        assert (status, "session is over, or never began" in said["error"]) == (401, True)
    assert asking.ask("GET", "/api/session", cookie="claw_console_00000000=x")[0] == 401


def test_the_cookie_alone_which_every_port_of_the_machine_gets_opens_nothing(
    opened: tuple[Asking, dict[str, str]],
) -> None:
    asking, session = opened
    for path in ("/api/session", "/api/activity/rows", "/api/watch", "/api/policy/shown"):
        status, said, _ = asking.ask("GET", path, cookie=session["cookie"])
        assert (status, "token" in said) == (401, False)
        assert asking.ask("GET", path, cookie=session["cookie"], x_claw_token="guess")[0] == 401
    assert "token" not in asking.ask("GET", "/api/session", **session)[1]


def test_a_number_that_no_database_has_is_refused(opened: tuple[Asking, dict[str, str]]) -> None:
    asking, session = opened
    status, said, _ = asking.ask("GET", f"/api/memory/list?offset={10**20}", **session)
    assert status == 400
    assert "error" in said


def test_what_changes_something_needs_the_token_of_the_page(
    opened: tuple[Asking, dict[str, str]],
) -> None:
    asking, session = opened
    body = {"call": "read_file path=/a", "text": '[[rule]]\naction = "deny"\ntool = "*"\n'}
    cookie = {"cookie": session["cookie"]}
    assert asking.ask("POST", "/api/policy/try", body, **cookie)[0] == 403
    assert asking.ask("POST", "/api/policy/try", body, **cookie, x_claw_token="guess")[0] == 403
    status, said, _ = asking.ask("POST", "/api/policy/try", body, **session)
    assert (status, said["decision"]) == (200, "deny")


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1:1@evil.example", ""],
)
def test_a_name_that_is_not_this_machines_is_refused(
    opened: tuple[Asking, dict[str, str]], host: str
) -> None:
    """A page of others that makes its own name lead here gets nothing, not even the shell."""
    asking, session = opened
    assert asking.ask("GET", "/", host=host)[0] == 403
    assert asking.ask("GET", "/api/session", **{**session, "host": host})[0] == 403


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "http://localhost:1", "https://localhost", "null"]
)
def test_another_page_is_refused_also_one_of_this_machine(
    opened: tuple[Asking, dict[str, str]], origin: str
) -> None:
    asking, session = opened
    body = {"call": "read_file path=/a", "text": ""}
    assert asking.ask("POST", "/api/policy/try", body, **session, origin=origin)[0] == 403


def test_a_request_that_the_browser_says_comes_from_elsewhere_is_refused(
    opened: tuple[Asking, dict[str, str]],
) -> None:
    asking, session = opened
    for site in ("cross-site", "same-site", "none"):
        refused = asking.ask("GET", "/api/session", **session, sec_fetch_site=site)
        assert refused[0] == 403


def test_every_answer_forbids_what_the_page_does_not_need(
    opened: tuple[Asking, dict[str, str]],
) -> None:
    asking, session = opened
    for path in ("/", "/console.js", "/api/session", "/nowhere"):
        _, _, headers = asking.ask("GET", path, **session)
        rules = headers["content-security-policy"]
        assert "default-src 'none'" in rules
        assert "frame-ancestors 'none'" in rules
        assert "unsafe" not in rules
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers.get_all("cache-control") == ["no-store"]


def test_a_body_that_is_too_large_or_is_no_json_is_refused(
    opened: tuple[Asking, dict[str, str]],
) -> None:
    asking, session = opened
    status, said, _ = asking.ask("POST", "/api/policy/try", "x" * 5_000_000, **session)
    assert (status, "at most" in said["error"]) == (413, True)
    status, said, _ = asking.ask("POST", "/api/policy/try", ["call"], **session)
    assert (status, "cannot be read" in said["error"]) == (400, True)
    status, said, _ = asking.ask("POST", "/api/policy/try", b'{"call":"\xff"}', **session)
    assert (status, "cannot be read" in said["error"]) == (400, True)


def test_whoever_is_not_logged_in_makes_the_console_hold_little(console: RunningConsole) -> None:
    asking = Asking(console)
    status, said, _ = asking.ask("POST", "/api/open", {"link": "x" * 5000})
    assert (status, "at most 4096 bytes" in said["error"]) == (413, True)
    assert asking.ask("GET", f"/api/proof?text={'x' * 65}")[0] == 400
    assert asking.ask("GET", "/", x="y" * 70_000)[0] == 431
    asking.open()


def test_a_cookie_of_the_same_name_that_another_program_set_locks_nobody_out(
    opened: tuple[Asking, dict[str, str]],
) -> None:
    asking, session = opened
    name = session["cookie"].partition("=")[0]
    for cookies in (f"{name}=x; {session['cookie']}", f"{session['cookie']}; {name}=x"):
        assert asking.ask("GET", "/api/session", **{**session, "cookie": cookies})[0] == 200
    assert asking.ask("GET", "/api/session", **{**session, "cookie": f"{name}=x"})[0] == 401


def test_a_console_proves_that_it_is_the_one_that_gave_its_secret(asking: Asking) -> None:
    _, said, _ = asking.ask("POST", "/api/open", {"link": asking._link})
    proof = hmac.new(bytes.fromhex(said["secret"]), b"abc", "sha256").hexdigest()
    assert asking.ask("GET", "/api/proof?text=abc")[1] == {"proof": proof}
    assert ConsoleAccess().proof("abc") != proof


def test_each_start_has_a_name_of_its_own_and_takes_no_other_below_localhost(
    asking: Asking, console: RunningConsole
) -> None:
    own = console.origin.removeprefix("http://")
    assert re.fullmatch(r"claw-[0-9a-f]{16}\.localhost:\d+", own)
    assert ConsoleAccess().host != ConsoleAccess().host
    assert asking.ask("GET", "/", host=own)[0] == 200
    assert asking.ask("GET", "/", host=f"{ConsoleAccess().host}:{console.port}")[0] == 403


def test_only_loopback_is_listened_on(console: RunningConsole) -> None:
    sockets = psutil.Process(console.process.pid).net_connections("inet")
    assert {one.laddr[0] for one in sockets if one.status == psutil.CONN_LISTEN} == {
        "127.0.0.1",
        "::1",
    }


def test_a_link_and_a_session_end_with_time() -> None:
    now = [0.0]
    access = ConsoleAccess(clock=lambda: now[0])
    late = access.new_link()
    now[0] = LINK_SECONDS + 1
    assert access.exchange(late) is None
    session = access.exchange(access.new_link())
    assert session is not None
    headers = {"cookie": access.cookie_header(session).partition(";")[0]}
    assert access.session_of(headers) is session
    now[0] += IDLE_SECONDS + 1
    assert access.session_of(headers) is None


def test_two_consoles_have_cookies_of_different_names() -> None:
    names = set[str]()
    for access in (ConsoleAccess(), ConsoleAccess()):
        session = access.exchange(access.new_link())
        assert session is not None
        names.add(access.cookie_header(session).partition("=")[0])
    assert len(names) == 2
