"""An issuer that tests make up: an OpenID provider and authorization server on a real socket.

It speaks the protocol as it is, with keys that it made itself; a test changes what it says to see
what is made of that.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from tests.served import in_a_thread

CLIENT = "claw"
SECRET = "a secret: of the client/"


class Key:
    """A key of an issuer, by its id."""

    def __init__(self, id: str, algorithm: str = "ES256") -> None:
        self.id = id
        self.algorithm = algorithm
        rsa_kind = algorithm.startswith(("RS", "PS"))
        self.private: Any = (
            rsa.generate_private_key(65537, 2048)
            if rsa_kind
            else ec.generate_private_key(ec.SECP256R1())
        )
        kind = RSAAlgorithm if rsa_kind else ECAlgorithm
        shown = kind.to_jwk(self.private.public_key(), as_dict=True)
        self.public = {**shown, "kid": id, "use": "sig"}

    @property
    def pem(self) -> bytes:
        """The public half as text."""
        return self.private.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )

    def sign(self, claims: dict[str, Any], **header: Any) -> str:
        return jwt.encode(
            claims, self.private, algorithm=self.algorithm, headers={"kid": self.id, **header}
        )


def shared_key(key: Key, claims: dict[str, Any]) -> str:
    """A token signed with the public key as if it were a shared one: careless libraries take it."""
    parts = ({"alg": "HS256", "typ": "at+jwt", "kid": key.id}, claims)
    text = ".".join(_base64(json.dumps(one).encode()) for one in parts)
    return f"{text}.{_base64(hmac.new(key.pem, text.encode(), hashlib.sha256).digest())}"


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def moments(claims: dict[str, Any]) -> dict[str, Any]:
    """Claims with moments that are told in seconds from now."""
    now = int(time.time())
    of_time = ("exp", "iat", "nbf")
    return {
        name: now + value if name in of_time and value is not None else value
        for name, value in claims.items()
    }


class TestIssuer:
    """What an issuer says, and what it was asked."""

    __test__ = False

    def __init__(self, port: int) -> None:
        self.url = f"http://localhost:{port}"
        self.keys = [Key("first")]
        self.published = [key.public for key in self.keys]
        self.metadata: dict[str, Any] = {
            "issuer": self.url,
            "jwks_uri": f"{self.url}/keys",
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "userinfo_endpoint": f"{self.url}/about",
            "authorization_response_iss_parameter_supported": True,
        }
        self.account: dict[str, Any] = {
            "sub": "1001",
            "email": "ada@example.com",
            "email_verified": True,
        }
        """Who is signed in there."""
        self.id_claims: dict[str, Any] = {}
        """What its ID tokens say otherwise."""
        self.about: dict[str, Any] | None = None
        """What it says of a person only when it is asked once more."""
        self.header: dict[str, Any] = {}
        self.answer: dict[str, str] = {}
        self.asked: list[str] = []
        self.authorized: list[str] = []
        self.down = False
        self.forge: Callable[[dict[str, Any]], str] | None = None
        """What signs an ID token instead of its key."""
        self._codes: dict[str, dict[str, str]] = {}

    def rotate(self, id: str, algorithm: str = "ES256") -> Key:
        """Sign with a new key from now on, and no longer have the old one."""
        self.keys = [Key(id, algorithm)]
        self.published = [key.public for key in self.keys]
        return self.keys[0]

    def token(self, **changed: Any) -> str:
        """An access token as RFC 9068 has it."""
        header = {"typ": "at+jwt", **changed.pop("header", {})}
        return changed.pop("key", self.keys[0]).sign(self.claims(**changed), **header)

    def claims(self, **changed: Any) -> dict[str, Any]:
        now = int(time.time())
        told = {"iss": self.url, "sub": "1001", "iat": now, "exp": now + 600, "scope": "full"}
        return {name: value for name, value in {**told, **changed}.items() if value is not None}

    def authorize(self, query: dict[str, str]) -> str:
        """Where a browser is sent back to: whoever is signed in agrees at once."""
        code = secrets.token_urlsafe()
        self._codes[code] = query
        told = {"code": code, "state": query["state"], "iss": self.url, **self.answer}
        return f"{query['redirect_uri']}?{urlencode({k: v for k, v in told.items() if v})}"

    def exchange(self, form: dict[str, str], authorization: str) -> tuple[int, dict[str, Any]]:
        asked = self._codes.pop(form.get("code", ""), None)
        basic = base64.b64encode(b"claw:a%20secret%3A%20of%20the%20client%2F").decode()
        hashed = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(hashed).rstrip(b"=").decode()
        self.authorized.append(authorization)
        if asked is None or asked["code_challenge"] != challenge:
            return 400, {"error": "invalid_grant"}
        if authorization != f"Basic {basic}" or form["redirect_uri"] != asked["redirect_uri"]:
            return 401, {"error": "invalid_client"}
        claims = self.claims(aud=CLIENT, scope=None, nonce=asked["nonce"], **self.account)
        claims = {**claims, **self.id_claims}
        claims = {name: value for name, value in claims.items() if value is not None}
        signed = self.keys[0].sign(claims, **self.header)
        if self.forge is not None:
            signed = self.forge(claims)
        return 200, {"id_token": signed, "access_token": "opaque", "token_type": "Bearer"}

    def answered(self, path: str) -> dict[str, Any] | None:
        if path == "/.well-known/openid-configuration":
            return self.metadata
        if path == "/keys":
            return {"keys": self.published}
        return self.about if path == "/about" else None


@contextmanager
def issuing() -> Iterator[TestIssuer]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            found.asked.append(parts.path)
            if parts.path == "/authorize":
                query = {name: values[0] for name, values in parse_qs(parts.query).items()}
                self.send_response(302)
                self.send_header("location", found.authorize(query))
                self.end_headers()
                return
            told = found.answered(parts.path)
            self._tell(503 if found.down else 404 if told is None else 200, told)

        def do_POST(self) -> None:
            found.asked.append(self.path)
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            form = {name: values[0] for name, values in parse_qs(body).items()}
            self._tell(*found.exchange(form, self.headers.get("authorization", "")))

        def _tell(self, status: int, told: Any) -> None:
            body = json.dumps(told).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Tests say what is wrong."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    found = TestIssuer(server.server_address[1])
    with in_a_thread(server):
        yield found
