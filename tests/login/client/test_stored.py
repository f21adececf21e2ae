"""Where logins are kept: in the keyring if there is a real one, else in a private file."""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import keyring
import msgspec
import pytest

from clawkit.errors import LoginError
from clawkit.login.client.stored import (
    ClientIdentity,
    LoginFile,
    LoginRecord,
    LoginSecrets,
    read_logins,
    server_key,
)
from tests.claw import claw
from tests.keyrings import InMemory, keyring_in_memory
from tests.login.client.foreign import ForeignServer
from tests.login.client.person import log_in

URL = "https://mcp.example.com/mcp"
SECRETS = LoginSecrets("made-up-access", "made-up-refresh", "made-up-secret")


class PlainText(InMemory):
    """What calls itself a keyring, and is a file that everybody can read."""

    priority = 0.5


@pytest.fixture
def backend() -> Iterator[InMemory]:
    with keyring_in_memory() as found:
        yield found


def record() -> LoginRecord:
    now = time.time()
    return LoginRecord(URL, URL, f"{URL}/token", ClientIdentity("x"), now, now + 3600)


def test_secrets_are_in_the_keyring_and_in_no_file(backend: InMemory) -> None:
    file = LoginFile(URL)
    assert file.write(record(), SECRETS) == "keyring"
    assert "made-up" not in file.path.read_text()
    kept = file.read()
    assert kept is not None
    assert kept.secrets == SECRETS
    file.write(kept.record, LoginSecrets("another"))
    assert len(backend.kept) == 1
    file.remove()
    assert backend.kept == {}
    assert file.read() is None


def test_a_file_is_used_where_that_is_wanted(backend: InMemory) -> None:
    file = LoginFile(URL)
    file.write(record(), SECRETS)
    assert file.write(record(), SECRETS, "file") == "file"
    assert backend.kept == {}
    kept = file.read()
    assert kept is not None
    assert kept.secrets == SECRETS


def test_a_file_is_used_where_the_keyring_does_not_take_it(backend: InMemory) -> None:
    backend.longest = 10
    assert LoginFile(URL).write(record(), SECRETS) == "file"
    with pytest.raises(LoginError, match="there is no keyring that could keep it"):
        LoginFile(URL).write(record(), SECRETS, "keyring")


@pytest.mark.usefixtures("backend")
def test_a_keyring_in_plain_text_is_none() -> None:
    keyring.set_keyring(PlainText())
    assert LoginFile(URL).write(record(), SECRETS) == "file"


def test_a_keyring_that_gives_nothing_back_is_told(backend: InMemory) -> None:
    file = LoginFile(URL)
    file.write(record(), SECRETS)
    backend.kept.clear()
    with pytest.raises(LoginError, match="the keyring does not give the login"):
        file.read()
    assert [one.url for one in read_logins()[0]] == [URL]


@pytest.mark.parametrize(
    "damage", [b"\xff", b'"\xff"', b'{"x":' + b"[" * 100_000], ids=["a", "b", "c"]
)
def test_a_file_that_cannot_be_decoded_is_told(damage: bytes) -> None:
    file = LoginFile(URL)
    file.write(record(), SECRETS, "file")
    file.path.write_bytes(damage)
    with pytest.raises(LoginError, match="is damaged: remove it"):
        file.read()


def test_a_damaged_file_is_told_without_what_is_in_it() -> None:
    file = LoginFile(URL)
    file.write(record(), SECRETS, "file")
    file.path.write_text(file.path.read_text()[:-20] + "made-up")
    with pytest.raises(LoginError, match="is damaged: remove it") as caught:
        file.read()
    assert "made-up" not in str(caught.value)
    done = claw("status")
    assert "is damaged" in done.stdout
    assert done.returncode == 1


def test_a_damaged_file_hides_no_other_login_and_can_be_logged_out_of() -> None:
    other = "https://other.example.com/mcp"
    LoginFile(other).write(msgspec.structs.replace(record(), url=other), SECRETS, "file")
    file = LoginFile(URL)
    file.write(record(), SECRETS, "file")
    file.path.write_bytes(b"\xff")
    done = claw("status")
    assert "other.example.com" in done.stdout
    assert "is damaged" in done.stdout
    out = claw("logout", URL, code=0)
    assert "its file was damaged, and is removed" in out.stderr
    assert not file.path.exists()


def test_a_folder_that_others_could_write_to_is_taken_from_them() -> None:
    file = LoginFile(URL)
    file.path.parent.mkdir(parents=True)
    file.path.parent.chmod(0o777)
    file.write(record(), SECRETS, "file")
    assert stat.S_IMODE(file.path.parent.stat().st_mode) == 0o700


def test_a_login_takes_the_place_of_a_damaged_file(foreign: ForeignServer) -> None:
    file = LoginFile(foreign.url)
    file.write(record(), SECRETS, "file")
    file.path.write_bytes(b"\xff")
    log_in(foreign.url)
    assert file.record() is not None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://MCP.example.com:443/mcp/", URL),
        ("https://mcp.example.com./mcp", URL),
        ("http://[::1]:80/x", "http://[::1]/x"),
    ],
)
def test_the_same_server_is_one(one: str, other: str) -> None:
    assert server_key(one) == server_key(other)


@pytest.mark.parametrize(
    "other", ["https://mcp.example.com/MCP", f"{URL}?x=1", "http://mcp.example.com/mcp"]
)
def test_another_server_is_another(other: str) -> None:
    assert server_key(other) != server_key(URL)


BACKEND = """
import json, pathlib
from keyring.backend import KeyringBackend

class Box(KeyringBackend):
    priority = 9
    file = pathlib.Path({file!r})

    def _all(self):
        return json.loads(self.file.read_text()) if self.file.exists() else {{}}

    def get_password(self, service, username):
        return self._all().get(username)

    def set_password(self, service, username, password):
        self.file.write_text(json.dumps(self._all() | {{username: password}}))

    def delete_password(self, service, username):
        left = self._all()
        del left[username]
        self.file.write_text(json.dumps(left))
"""


def test_the_commands_say_that_the_keyring_keeps_it(foreign: ForeignServer, tmp_path: Path) -> None:
    """The keyring of a system, as a program that is not ours, which the commands find."""
    box = tmp_path / "box"
    (tmp_path / "a_keyring.py").write_text(BACKEND.format(file=str(box)))
    env = {"PYTHON_KEYRING_BACKEND": "a_keyring.Box", "PYTHONPATH": str(tmp_path)}
    env["PYTHONPATH"] += os.pathsep + os.environ.get("PYTHONPATH", "")
    done = log_in(foreign.url, env=env)
    assert "The tokens are kept in the keyring." in done.stdout
    assert not any(one in LoginFile(foreign.url).path.read_text() for one in foreign.given)
    assert "hello" in claw("call", "--url", foreign.url, "greet", code=0, env=env).stdout
    (login,) = json.loads(claw("status", "--json", env=env).stdout)["logins"]
    assert login["kept_in"] == "keyring"
    claw("logout", foreign.url, code=0, env=env)
    assert json.loads(box.read_text()) == {}
