"""The configs that the page shows for Caddy and nginx, with the real programs before a server."""

from __future__ import annotations

import re
import shutil
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.claw import claw
from tests.login.documents import certificate
from tests.login.process import login_process
from tests.login.test_real_clients import free_port
from tests.login.visitors import LoginClient, Visitor
from tests.processes import PATIENCE, ROOT

PAGE = (ROOT / "docs" / "login.md").read_text()
NGINX = re.findall(r"```nginx\n(.*?)```", PAGE, re.DOTALL)[0]
CADDY = re.findall(r"```\n(claw\.example\.com \{.*?)```", PAGE, re.DOTALL)[0]


def nginx(folder: Path, pem: Path, port: int, upstream: int) -> list[str]:
    """The command that runs nginx with the page's config."""
    server = NGINX.replace("listen 443", f"listen 127.0.0.1:{port}")
    server = server.replace("/etc/ssl/claw.example.com.pem", str(pem))
    server = server.replace("/etc/ssl/claw.example.com.key", str(pem))
    server = server.replace("claw.example.com", "localhost").replace("8765", str(upstream))
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    places = " ".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
    config = folder / "nginx.conf"
    config.write_text(
        f"daemon off; master_process off; pid {folder}/pid; error_log {folder}/errors;"
        f"events {{}} http {{ access_log off; {places} {server} }}"
    )
    program = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/bin:/opt/homebrew/bin")
    assert program is not None, "nginx is not installed; on Debian and Ubuntu: apt install nginx"
    return [program, "-e", f"{folder}/errors", "-c", str(config)]


def caddy(folder: Path, pem: Path, port: int, upstream: int) -> list[str]:
    """The command that runs Caddy with the page's config."""
    site = CADDY.replace("claw.example.com {", f"https://localhost:{port} {{\n    tls {pem} {pem}")
    config = folder / "Caddyfile"
    options = "{\n    admin off\n    auto_https disable_redirects\n}\n"
    config.write_text(options + site.replace("8765", str(upstream)))
    program = shutil.which("caddy")
    assert program is not None, "Caddy is not installed; on Debian and Ubuntu: apt install caddy"
    return [program, "run", "--adapter", "caddyfile", "--config", str(config)]


@contextmanager
def running(command: list[str], home: Path) -> Iterator[None]:
    env = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
    process = subprocess.Popen(
        command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield
        assert process.poll() is None
    finally:
        process.terminate()
        process.wait(PATIENCE)


def answering(http: httpx2.Client) -> None:
    """Wait until the proxy passes something on."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            if http.get("/healthz").status_code == 200:
                return
        except httpx2.TransportError:
            assert time.monotonic() < until
        time.sleep(0.05)


@pytest.mark.parametrize("proxy", [nginx, caddy], ids=["nginx", "caddy"])
def test_a_login_behind_a_proxy(proxy: Any, tmp_path: Path, home: Path) -> None:
    claw("being", "create", "notes", code=0)
    port, pem = free_port(), certificate(tmp_path)
    public = f"https://localhost:{port}"
    options = ("--login", "--public-url", public, "--trusted-proxy", "127.0.0.1")
    with (
        login_process("being", "serve", "--port", "0", *options) as server,
        running(proxy(tmp_path, pem, port, server.port), home),
        httpx2.Client(
            base_url=public, verify=ssl.create_default_context(cafile=pem), timeout=PATIENCE
        ) as http,
    ):
        answering(http)
        assert http.get("/metrics").status_code == 404
        assert httpx2.get(f"{server.origin}/metrics", timeout=PATIENCE).status_code == 200
        visitor, client = Visitor(public), LoginClient(public)
        visitor.http.close()
        client.http.close()
        visitor.http = client.http = http
        refused = http.post("/mcp", json={})
        assert (
            f"{public}/.well-known/oauth-protected-resource/mcp"
            in (refused.headers["www-authenticate"])
        )
        link = claw("user", "add", "ada", code=0).stdout.strip()
        assert link.startswith(f"{public}/login/link/")
        visitor.begin(link.rpartition("/")[2])
        client.register()
        tokens = client.exchange(visitor.agree(client.address())["code"]).json()
        message = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "get_current_time", "arguments": {}},
        }
        headers = {"authorization": f"Bearer {tokens['access_token']}"}
        assert http.post("/mcp", json=message, headers=headers).status_code == 200
