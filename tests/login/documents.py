"""A web server with TLS that tests make up: it serves the documents of clients."""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from clawkit.login.document_fetch import DocumentFetcher
from tests.served import in_a_thread


def certificate(folder: Path) -> Path:
    """A certificate for localhost with its key, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = folder / "localhost.pem"
    file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + made.public_bytes(serialization.Encoding.PEM)
    )
    return file


class Documents:
    """What is served, by path, and how often it was asked for."""

    def __init__(self, port: int, pem: Path) -> None:
        self.origin = f"https://localhost:{port}"
        self.pages: dict[str, tuple[int, dict[str, str], bytes]] = {}
        self.asked: list[str] = []
        self.pause = 0.0
        self.head_pause = 0.0
        self._pem = pem

    def put(
        self,
        path: str,
        body: Any,
        status: int = 200,
        kind: str = "application/json",
        **headers: str,
    ) -> str:
        """Serve this from now on; gives its address."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.pages[path] = (status, {"content-type": kind, **headers}, data)
        return f"{self.origin}{path}"

    def client(self, path: str = "/client.json", **changed: Any) -> str:
        """A client's document; gives its address, which is the client's id."""
        about = {
            "client_id": f"{self.origin}{path}",
            "client_name": "Good Editor",
            "redirect_uris": ["http://127.0.0.1/callback"],
            "token_endpoint_auth_method": "none",
        }
        return self.put(path, {**about, **changed})

    def fetcher(self, seconds: float = 60.0) -> DocumentFetcher:
        """A fetcher that trusts this server, although it is on this machine."""
        trusted = ssl.create_default_context(cafile=self._pem)
        return DocumentFetcher(may_connect=lambda _: True, tls=trusted, seconds=seconds)


@contextmanager
def documents(folder: Path) -> Iterator[Documents]:
    pem = certificate(folder)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found.asked.append(self.path)
            status, headers, body = found.pages.get(self.path, (404, {}, b""))
            for byte in b"HTTP/1.0 200 OK\r\nX-Slow: " + b"x" * 100 if found.head_pause else b"":
                self.wfile.write(bytes([byte]))
                time.sleep(found.head_pause)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            for byte in body if found.pause else (body,):
                self.wfile.write(bytes([byte]) if isinstance(byte, int) else byte)
                time.sleep(found.pause)

        def log_message(self, format: str, *args: Any) -> None:
            """Tests say what is wrong."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """Callers that leave, or do not trust it, are what some tests are about."""

    server = Server(("127.0.0.1", 0), Handler)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(pem)
    server.socket = tls.wrap_socket(server.socket, server_side=True)
    found = Documents(server.server_address[1], pem)
    with in_a_thread(server):
        yield found
