"""`claw login`, `claw logout` and `claw status`, at our own server and at those of others."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.responses import Response

from clawkit.login.client.stored import LoginFile, read_logins
from tests.claw import CLAW, claw, environment
from tests.guard.http.worlds import call, initialize, remote_command
from tests.login.client.foreign import ForeignServer
from tests.login.client.official import SCOPE, official_server
from tests.login.client.person import log_in
from tests.login.visitors import Logins
from tests.processes import PATIENCE, stdio_server


def agreeing(logins: Logins, **chosen: Any) -> Any:
    """Ada's browser, in which she agrees."""

    def browser(address: str) -> str:
        page = logins.visitor.get(address.removeprefix(logins.origin))
        assert page.status_code == 200, page.text
        return logins.visitor.submit(page, answer="yes", **chosen).headers["location"]

    return browser


def told(text: str) -> str:
    return " ".join(text.split())


def test_a_person_logs_in_to_our_own_server_and_a_guard_uses_it(
    ours: Logins, tmp_path: Path
) -> None:
    url = f"{ours.origin}/mcp"
    done = log_in(url, browser=agreeing(ours, level="full"))
    assert f"Logged in to {url}: full; good for 59 minutes, then renewed." in told(done.stdout)
    with stdio_server(*remote_command(url, tmp_path)) as guard:
        assert "result" in guard.ask(initialize())
        reply = guard.ask(call("update_notes", 2, notes=["Buy milk."]))
        assert not reply["result"].get("isError")
    assert claw("logout", url, code=0).stdout == f"Logged out of {url}.\n"
    with stdio_server(*remote_command(url, tmp_path)) as guard:
        assert f"run `claw login {url}`" in guard.ask(initialize())["error"]["message"]


def test_the_answer_can_be_pasted(ours: Logins) -> None:
    url = f"{ours.origin}/mcp"
    done = log_in(url, browser=agreeing(ours), pastes=True)
    assert "This is not the answer to this login." in done.stderr
    assert "Logged in" in done.stdout


def test_who_refuses_is_not_logged_in(ours: Logins) -> None:
    def refusing(address: str) -> str:
        page = ours.visitor.get(address.removeprefix(ours.origin))
        return ours.visitor.submit(page, answer="no").headers["location"]

    done = log_in(f"{ours.origin}/mcp", browser=refusing, code=1)
    assert "did not let you in: access_denied" in done.stderr
    assert read_logins()[0] == []


def test_a_guard_does_more_after_the_command_that_it_advises(ours: Logins, tmp_path: Path) -> None:
    url = f"{ours.origin}/mcp"
    log_in(url, browser=agreeing(ours, level="read-only"))
    with stdio_server(*remote_command(url, tmp_path)) as guard:
        guard.ask(initialize())
        problem = guard.ask(call("update_notes", 2, notes=["Buy milk."]))["error"]["message"]
        assert f"run `claw login {url} --scope full`" in problem
        log_in(url, "--scope", "full", browser=agreeing(ours, level="full"))
        # The same guard, without being started anew.
        reply = guard.ask(call("update_notes", 3, notes=["Buy milk."]))
        assert not reply["result"].get("isError")


@pytest.mark.parametrize("era", ["handshake", "modern"])
def test_a_person_logs_in_to_the_official_server(tmp_path: Path, era: str) -> None:
    with official_server() as (url, provider):
        done = log_in(url, "--json")
        made = json.loads(done.stdout)
        assert (made["scope"], made["renews"], made["kept_in"]) == (SCOPE, True, "file")
        with stdio_server(*remote_command(url, tmp_path)) as guard:
            if era == "handshake":
                assert "result" in guard.ask(initialize())
                guard.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
            reply = guard.ask(call("greet", 2, modern=era == "modern"))
            assert reply["result"]["content"][0]["text"] == "hello from the SDK"
            provider.access.clear()  # it was started anew
            reply = guard.ask(call("greet", 3, modern=era == "modern"))
            assert reply["result"]["content"][0]["text"] == "hello from the SDK"
        assert claw("logout", url, code=0).stderr == ""
        assert provider.access == provider.refresh == {}


def test_claw_call_uses_the_login(foreign: ForeignServer) -> None:
    refused = claw("call", "--url", foreign.url, "greet", code=1)
    assert f"run `claw login {foreign.url}`" in refused.stderr
    log_in(foreign.url)
    assert "hello" in claw("call", "--url", foreign.url, "greet", code=0).stdout
    foreign.forget_access()
    assert "hello" in claw("call", "--url", foreign.url, "greet", code=0).stdout


def test_a_server_is_called_by_its_name(foreign: ForeignServer, home: Path) -> None:
    config = home / "claw" / "config" / "claw" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f'[mcp.servers.greeter]\nurl = "{foreign.url}"\n')
    done = log_in("greeter")
    assert f"Logged in to greeter ({foreign.url})" in done.stdout
    shown = claw("status").stdout
    assert f"greeter ({foreign.url}): basic; good for 59 minutes, then renewed" in told(shown)
    (login,) = json.loads(claw("status", "--json").stdout)["logins"]
    assert login["names"] == ["greeter"]
    assert login["expires"] == pytest.approx(time.time() + 3600, abs=600)
    assert "Logged out of greeter" in claw("logout", "greeter", code=0).stdout
    assert "logins" not in claw("status").stdout


def test_an_unknown_name_is_an_error_that_says_what_there_is(home: Path) -> None:
    config = home / "claw" / "config" / "claw" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[mcp.servers.greeter]\nurl = "https://mcp.example.com"\n')
    done = claw("login", "grreter", code=2)
    assert "no server 'grreter' has an address" in done.stderr
    assert "there is greeter" in done.stderr


def test_a_wrapped_entry_is_called_by_its_name(foreign: ForeignServer, home: Path) -> None:
    cursor = home / ".cursor" / "mcp.json"
    cursor.parent.mkdir()
    cursor.write_text(json.dumps({"mcpServers": {"greeter": {"url": foreign.url}}}))
    claw("wrap", "greeter", code=0)
    entry = json.loads(cursor.read_text())["mcpServers"]["greeter"]
    with stdio_server(entry["command"], *entry["args"]) as guard:
        assert "run `claw login greeter`" in guard.ask(initialize())["error"]["message"]
        log_in("greeter")
        assert "result" in guard.ask(initialize())
    assert not any(secret in cursor.read_text() for secret in foreign.given)


def test_the_file_is_for_its_owner_only(foreign: ForeignServer) -> None:
    done = log_in(foreign.url)
    file = LoginFile(foreign.url).path
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert file.name in done.stdout
    assert "for you only" in done.stdout


def test_logging_out_revokes_both_tokens(foreign: ForeignServer) -> None:
    log_in(foreign.url)
    tokens = {*foreign.access, *foreign.refresh}
    claw("logout", foreign.url, code=0)
    assert set(foreign.revoked) == tokens
    assert not LoginFile(foreign.url).path.exists()


def test_logging_in_again_revokes_the_earlier_tokens_only(foreign: ForeignServer) -> None:
    log_in(foreign.url)
    earlier = {*foreign.access, *foreign.refresh}
    log_in(foreign.url)
    assert set(foreign.revoked) == earlier
    assert "hello" in claw("call", "--url", foreign.url, "greet", code=0).stdout
    foreign.replies["/revoke"] = Response(status_code=500)
    log_in(foreign.url)


def test_a_client_that_stays_the_same_has_nothing_revoked(foreign: ForeignServer) -> None:
    log_in(foreign.url, "--client-id", "mine")
    log_in(foreign.url, "--client-id", "mine")
    assert foreign.revoked == []


def test_logging_out_says_what_could_not_be_revoked(foreign: ForeignServer) -> None:
    foreign.metadata = {"revocation_endpoint": None}
    log_in(foreign.url)
    done = claw("logout", foreign.url, "--json", code=0)
    assert json.loads(done.stdout)["revoked"] is False
    assert claw("logout", foreign.url, code=1).stderr.count("you are not logged in") == 1


def test_a_client_secret_comes_from_a_file_or_the_environment(
    foreign: ForeignServer, tmp_path: Path
) -> None:
    foreign.metadata = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    file = tmp_path / "secret"
    file.write_text("made-up-secret\n")
    log_in(foreign.url, "--client-id", "mine", "--client-secret-file", file)
    log_in(
        foreign.url, "--client-id", "mine", "--client-secret-env", "THEIRS", env={"THEIRS": "other"}
    )
    assert [form["client_secret"] for form in foreign.token_forms] == ["made-up-secret", "other"]
    assert foreign.registered == []
    done = log_in(foreign.url, "--client-id", "mine", code=1)
    assert "needs a secret there: give --client-secret-file" in done.stderr


def test_credentials_of_a_client_are_used_again_when_the_token_is_over(
    foreign: ForeignServer, tmp_path: Path
) -> None:
    foreign.metadata = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    foreign.tokens = {"refresh_token": None}
    options = ("--client-credentials", "--client-id", "mine", "--client-secret-env", "THEIRS")
    log_in(foreign.url, *options, env={"THEIRS": "made-up-secret"})
    with stdio_server(*remote_command(foreign.url, tmp_path)) as guard:
        assert "result" in guard.ask(initialize())
        foreign.forget_access()
        assert "result" in guard.ask(call("greet", 2))
    kinds = [form["grant_type"] for form in foreign.token_forms]
    assert kinds == ["client_credentials", "client_credentials"]
    assert foreign.asked == []


def test_a_document_of_ours_is_named_where_that_is_taken(foreign: ForeignServer) -> None:
    foreign.metadata = {"client_id_metadata_document_supported": True}
    document = "https://claw.example.com/client.json"
    log_in(foreign.url, env={"CLAW_CLIENT_METADATA": document})
    assert foreign.asked[0]["client_id"] == document
    assert foreign.registered == []


def test_a_redirect_address_of_ones_own_is_listened_on(foreign: ForeignServer) -> None:
    log_in(foreign.url, "--redirect-uri", "http://localhost/back")
    back = foreign.asked[0]["redirect_uri"]
    assert back.startswith("http://localhost:")
    assert back.endswith("/back")
    assert foreign.token_forms[0]["redirect_uri"] == back


def test_a_redirect_address_elsewhere_is_pasted(foreign: ForeignServer) -> None:
    back = "https://claw.example.com/back"
    log_in(foreign.url, "--redirect-uri", back, pastes=True)
    assert foreign.token_forms[0]["redirect_uri"] == back


BROWSER = """
import html, pathlib, re, sys, urllib.parse, urllib.request
(shown,) = sys.argv[1:]
file = pathlib.Path(urllib.parse.unquote(urllib.parse.urlsplit(shown).path))
link = html.unescape(re.search(r"url=([^\\">]+)", file.read_text())[1])
pathlib.Path({notes!r}).write_text(f"{{shown}} {{oct(file.stat().st_mode & 0o777)}} {{link}}")
urllib.request.urlopen(link).read()
"""


def test_a_browser_is_opened_by_way_of_a_private_file(
    foreign: ForeignServer, tmp_path: Path
) -> None:
    """Every user of a machine can read a command line, and who has the state could answer."""
    notes, program = tmp_path / "notes", tmp_path / "browser.py"
    program.write_text(BROWSER.format(notes=str(notes)))
    env = {"DISPLAY": ":0", "BROWSER": f"{sys.executable} {program} %s", "SSH_CONNECTION": ""}
    shown = environment(**env)
    del shown["SSH_CONNECTION"]
    done = subprocess.run(
        [*CLAW, "login", foreign.url],
        env=shown,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    assert "Logged in" in done.stdout
    address, mode, link = notes.read_text().split(" ", 2)
    assert address.startswith("file://")
    assert mode == "0o600"
    assert "code_challenge" in link
    assert "code_challenge" not in address
    assert not Path(httpx2.URL(address).path).exists()


def test_nobody_waits_for_ever(foreign: ForeignServer) -> None:
    done = log_in(foreign.url, "--timeout", "1", browser=_closed, code=1)
    assert "no answer came within 1 s" in done.stderr


def _closed(address: str) -> str:
    """A browser that does something else."""
    back = httpx2.URL(httpx2.URL(address).params["redirect_uri"])
    response = httpx2.get(f"{back}?state=another&code=x", timeout=30)
    assert response.status_code == 400
    return ""
