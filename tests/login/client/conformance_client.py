"""The client that the conformance suite tests: `claw login`, and a guard that uses what it keeps.

`python -m tests.login.client.conformance_client URL` does what a person would: logs in, lets a
client call a tool through `claw proxy`, and runs the commands that errors advise.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import httpx2

from tests.claw import CLAW
from tests.processes import PATIENCE

DOCUMENT = "https://conformance-test.local/client-metadata.json"
POLICY = '[[rule]]\naction = "allow"\ntool = "*"\n'
_ADVICE = re.compile(r"run `claw (login [^`]+)`")
_MOST_LOGINS = 5


def main() -> None:
    url = sys.argv[1]
    with tempfile.TemporaryDirectory() as home:
        os.environ["CLAW_HOME"] = home
        (Path(home) / "policy.toml").write_text(POLICY)
        log_in("login", url, *_options(Path(home)))
        problem = _use(url, Path(home))
        for _ in range(_MOST_LOGINS):
            advice = _ADVICE.search(problem)
            if advice is None:
                break
            log_in(*shlex.split(advice[1]))
            problem = _use(url, Path(home))
        if problem:
            sys.exit(f"the guard could not use the login: {problem}")


def _options(home: Path) -> list[str]:
    """What somebody would add who knows what the suite says about this scenario."""
    scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    found: list[str] = []
    if "client_id" in context:
        found += ["--client-id", context["client_id"]]
    if "client_secret" in context:
        os.environ["THE_SECRET"] = context["client_secret"]
        found += ["--client-secret-env", "THE_SECRET"]
    if "private_key_pem" in context:
        (home / "key.pem").write_text(context["private_key_pem"])
        found += ["--private-key-file", str(home / "key.pem")]
    if "client-credentials" in scenario:
        found.append("--client-credentials")
    if "cimd" in scenario:
        found += ["--client-metadata", DOCUMENT]
    return found


def log_in(*arguments: str) -> None:
    """Run the command, and be the browser that agrees to everything."""
    command = (*CLAW, *arguments, "--no-browser")
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=sys.stderr, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            sys.stderr.write(line)
            if line.startswith("  http"):
                with httpx2.Client(follow_redirects=True, timeout=PATIENCE) as browser:
                    browser.get(line.strip())
    if process.returncode:
        sys.exit(process.returncode)


def _use(url: str, home: Path) -> str:
    """Call a tool through a guard, in the era that is tested; why that fails, if it does."""
    version = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION", "2025-11-25")
    guard = (*CLAW, "proxy", "--url", url, "--policy", str(home / "policy.toml"))
    with subprocess.Popen(
        guard, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=sys.stderr
    ) as process:
        client = _Client(process, version)
        try:
            problem = client.handshake() or client.ask("tools/list", {})
            return problem or client.ask("tools/call", {"name": "test-tool", "arguments": {}})
        finally:
            assert process.stdin is not None
            process.stdin.close()


class _Client:
    def __init__(self, process: subprocess.Popen[bytes], version: str) -> None:
        self._process = process
        self._version = version
        self._modern = version >= "2026"
        self._count = 0

    def handshake(self) -> str:
        if self._modern:
            return ""
        about = {"name": "conformance", "version": "1"}
        params = {"protocolVersion": self._version, "capabilities": {}, "clientInfo": about}
        problem = self.ask("initialize", params)
        if not problem:
            self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return problem

    def ask(self, method: str, params: dict[str, Any]) -> str:
        """Why a request failed; nothing if it did not."""
        self._count += 1
        if self._modern:
            meta = {
                "protocolVersion": self._version,
                "clientInfo": {"name": "conformance", "version": "1"},
                "clientCapabilities": {},
            }
            full = {f"io.modelcontextprotocol/{name}": value for name, value in meta.items()}
            params = {**params, "_meta": full}
        self._send({"jsonrpc": "2.0", "id": self._count, "method": method, "params": params})
        assert self._process.stdout is not None
        for line in self._process.stdout:
            message = json.loads(line)
            if message.get("id") == self._count:
                return str(message["error"]["message"]) if "error" in message else ""
        return "the guard ended"

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()


if __name__ == "__main__":
    main()
