"""The official suite with `claw login` as the client under test: every revision, every scenario."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import msgspec
import pytest

from tests.conformance.suite import Check, run_suite
from tests.processes import PATIENCE

CLIENT = (sys.executable, "-m", "tests.login.client.conformance_client")
METHODS = ("token-endpoint-auth-basic", "token-endpoint-auth-post", "token-endpoint-auth-none")
SINCE_2025_11 = (
    *("metadata-default", "metadata-var1", "metadata-var2", "metadata-var3", "basic-cimd"),
    *("scope-from-www-authenticate", "scope-from-scopes-supported", "scope-omitted-when-undefined"),
    *("scope-step-up", "scope-retry-limit", *METHODS, "pre-registration"),
)
SCENARIOS = {
    "2025-03-26": ("2025-03-26-oauth-metadata-backcompat", "2025-03-26-oauth-endpoint-fallback"),
    "2025-06-18": METHODS,
    "2025-11-25": SINCE_2025_11,
    "2026-07-28": (
        *SINCE_2025_11,
        *("resource-mismatch", "offline-access-scope", "offline-access-not-supported"),
        *("authorization-server-migration", "iss-supported", "iss-not-advertised"),
        *("iss-supported-missing", "iss-wrong-issuer", "iss-unexpected", "iss-normalized"),
        "metadata-issuer-mismatch",
    ),
    "extension": ("client-credentials-jwt", "client-credentials-basic"),
}
LEFT_OUT = {"enterprise-managed-authorization", "dpop", "dpop-nonce", "wif-jwt-bearer"}


def test_no_scenario_of_the_suite_is_left_out() -> None:
    listed: dict[str, set[str]] = {}
    said = run_suite("list", "--client").stdout
    for name, revisions in re.findall(r"^  - auth/(\S+) \[(\S+)\]$", said, re.MULTILINE):
        for revision in revisions.split(","):
            listed.setdefault(revision, set()).add(name)
    ours = {revision: set(names) for revision, names in SCENARIOS.items()}
    ours["extension"] |= LEFT_OUT
    assert listed == ours


@pytest.mark.parametrize(
    ("revision", "scenario"),
    [(revision, name) for revision, names in SCENARIOS.items() for name in names],
)
def test_the_suite_finds_nothing_wrong(revision: str, scenario: str, tmp_path: Path) -> None:
    wire = () if revision == "extension" else ("--spec-version", revision)
    patience = ("--timeout", str(PATIENCE * 1000))
    command = ("--command", shlex.join(CLIENT), "--scenario", f"auth/{scenario}")
    done = run_suite("client", *command, *wire, *patience, "-o", str(tmp_path))
    said = done.stdout + done.stderr
    assert done.returncode == 0, said[-4000:]
    (file,) = tmp_path.glob("**/checks.json")
    checks = msgspec.json.decode(file.read_bytes(), type=list[Check])
    assert [str(one) for one in checks if one.status not in ("SUCCESS", "INFO")] == []
    assert any(one.status == "SUCCESS" for one in checks)
