"""What a guard over HTTP loads before somebody logs in."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import httpx2

from tests.claw import environment
from tests.guard.guarded_server import ALLOW_ALL
from tests.guard.http.worlds import Script, call, obliging
from tests.processes import PATIENCE

LOGINS = ("clawkit.login", "clawkit.store", "clawkit.guard.http.login_relay", "argon2", "webauthn")


def test_a_guard_loads_nothing_of_logins_until_a_server_wants_one(tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(ALLOW_ALL)
    with Script(obliging) as script:
        options = ("--listen", "0", "--url", script.address, "--policy", str(policy))
        command = (sys.executable, "-X", "importtime", "-m", "clawkit", "proxy", *options)
        with subprocess.Popen(
            command, stderr=subprocess.PIPE, env=environment(), text=True
        ) as process:
            assert process.stderr is not None
            loaded: list[str] = []
            address = ""
            while not address:
                line = process.stderr.readline()
                assert line, loaded[-5:]
                loaded.append(line)
                address = line.partition(" is at ")[2].strip()
            response = httpx2.post(address, json=call("t"), timeout=PATIENCE)
            assert response.status_code == 200
            process.terminate()
            loaded += process.stderr.readlines()
    names = {line.rpartition("|")[2].strip() for line in loaded if line.startswith("import time:")}
    assert "clawkit.guard.http.reverse_proxy" in names
    assert not [name for name in names if name.startswith(LOGINS)]
