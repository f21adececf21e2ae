"""Another server whose signed tokens count here: what it says of itself, and the keys it has.

Both are kept for an hour, and its keys are asked for again when a token names one that is not
known, twice a minute at most. While it is away, what was known counts for a day.

It is asked where whoever runs this server said that it is, which can be in their own network. What
its documents name is asked there too, or at public addresses.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar
from urllib.parse import urlsplit

import jwt
import msgspec

from clawkit.errors import LoginError, SettingsError
from clawkit.login.document_fetch import NO_HEADERS, DocumentFetcher, Unreachable
from clawkit.login.metadata import ServerMetadata, metadata_places, read_server
from clawkit.login.oauth import decoded
from clawkit.login.records import digest
from clawkit.system.addresses import is_loopback, is_public, origin_of

KEPT_SECONDS = 3600.0
STALE_SECONDS = 86400.0
AGAIN_SECONDS = 30.0
SKEW_SECONDS = 60.0
LONGEST_TOKEN = 16 * 1024
LONGEST_DOCUMENT = 256 * 1024

_SECONDS = 10.0
_AT_ONCE = 16
_WAITING = 2
_MOST_SEEN = 1000
_RSA = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
_OF_CURVE = {"P-256": "ES256", "P-384": "ES384", "P-521": "ES512", "Ed25519": "EdDSA"}
ALGORITHMS = frozenset({*_RSA, *_OF_CURVE.values()})
"""Those with a public key alone: with a shared one, whoever checks could sign."""

_WRONG: dict[type[Exception], str] = {
    jwt.ExpiredSignatureError: "it is over",
    jwt.ImmatureSignatureError: "it is not good yet",
    jwt.InvalidAudienceError: "it is for another audience",
    jwt.InvalidIssuerError: "it is of another issuer",
    jwt.InvalidSignatureError: "its signature is wrong",
}

Value = TypeVar("Value")
_log = logging.getLogger("clawkit.login")


class _KeySet(msgspec.Struct, frozen=True):
    keys: list[dict[str, Any]]


class SigningKey(msgspec.Struct, frozen=True, eq=False):
    """A public key, and the one algorithm that it is used with here."""

    id: str | None
    algorithm: str
    key: jwt.PyJWK


class _Verified(NamedTuple):
    """A token that was good; as long as its key counts and it is not over, it is."""

    key: SigningKey
    header: dict[str, Any]
    claims: dict[str, Any]


class _Kept(Generic[Value]):
    """What was loaded, for a while."""

    def __init__(self, load: Callable[[], Value], clock: Callable[[], float]) -> None:
        self._load = load
        self._clock = clock
        self._value: Value | None = None
        self._problem = Unreachable("it was not asked yet")
        self._loaded = self._tried = -math.inf
        self._loading = threading.Lock()
        # Tokens that nobody signed must not keep all threads waiting for a slow server.
        self._waiting = threading.BoundedSemaphore(_WAITING)

    def value(self, *, anew: bool = False) -> Value:
        """What is known, loaded once more if that is old or `anew` is wanted; or Unreachable."""
        fresh = self._clock() - self._loaded < KEPT_SECONDS
        if (anew or not fresh) and self._waiting.acquire(blocking=self._value is None):
            try:
                with self._loading:
                    self._reload()
            finally:
                self._waiting.release()
        value = self._value
        if value is None or self._clock() - self._loaded > STALE_SECONDS:
            raise self._problem
        return value

    def load(self) -> None:
        self._tried = self._clock()
        self._value = self._load()
        self._loaded = self._tried

    def _reload(self) -> None:
        if self._clock() - self._tried < AGAIN_SECONDS:
            return
        try:
            self.load()
        except LoginError as error:
            self._problem = Unreachable(str(error))


class Issuer:
    """Another server that signs tokens, asked when something of it is needed."""

    def __init__(self, url: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.url = url
        self._origin = origin_of(url)
        self._own = _fetcher(lambda _: True, is_loopback)
        self._public = _fetcher(is_public, lambda _: False)
        self._metadata = _Kept(self._load_metadata, clock)
        self._keys = _Kept(self._load_keys, clock)
        self._seen: dict[tuple[str, ...], _Verified] = {}
        self._remembering = threading.Lock()

    @property
    def name(self) -> str:
        """What people know it by."""
        return urlsplit(self.url).netloc

    @property
    def metadata(self) -> ServerMetadata:
        return self._metadata.value()

    def check(self, *, signs_in: bool = False) -> None:
        """Refuse an issuer that says it is another, or cannot sign in; one away may come back."""
        try:
            self._metadata.load()
            about = self.metadata
            if signs_in and not (about.authorization_endpoint and about.token_endpoint):
                raise LoginError("it signs nobody in: it names no authorization_endpoint")
            self._keys.load()
        except Unreachable as error:
            _log.warning("%s: %s; it will be asked again", self.url, error)
        except LoginError as error:
            raise SettingsError(f"{self.url}: {error}") from None

    def get(self, url: str, headers: Mapping[str, str] = NO_HEADERS) -> bytes:
        """A document that this issuer named."""
        return self._fetcher_of(url).get(url, headers)

    def post(self, url: str, form: bytes, headers: Mapping[str, str] = NO_HEADERS) -> bytes:
        return self._fetcher_of(url).post(url, form, headers)

    def claims(
        self, token: str, audiences: Sequence[str], required: Collection[str] = ()
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """A token's header and claims, if this issuer signed it, for us; or LoginError."""
        if len(token) > LONGEST_TOKEN or not token.isascii():
            raise LoginError("it is no token")
        seen = self._seen.get((digest(token), *audiences))
        if seen is not None and seen.key in self._keys.value():
            if seen.claims["exp"] <= time.time() - SKEW_SECONDS:
                raise LoginError(_WRONG[jwt.ExpiredSignatureError])
            return seen.header, seen.claims
        found = self._verified(token, audiences, required)
        with self._remembering:
            if len(self._seen) >= _MOST_SEEN:
                del self._seen[next(iter(self._seen))]
            self._seen[digest(token), *audiences] = found
        return found.header, found.claims

    def _verified(
        self, token: str, audiences: Sequence[str], required: Collection[str]
    ) -> _Verified:
        try:
            header = jwt.get_unverified_header(token)
            key = self._key(header.get("kid"), header.get("alg"))
            claims = jwt.decode(
                token,
                key.key,
                algorithms=[key.algorithm],
                audience=audiences,
                issuer=self.url,
                leeway=SKEW_SECONDS,
                options={
                    "require": ["iss", "sub", "aud", "exp", *required],
                    "enforce_minimum_key_length": True,
                },
            )
        except (jwt.PyJWTError, RecursionError) as error:
            raise LoginError(_WRONG.get(type(error), "it cannot be used")) from None
        return _Verified(key, header, claims)

    def _key(self, key_id: str | None, algorithm: Any) -> SigningKey:
        if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
            raise LoginError("it is not signed with a public key")
        for anew in (False, True):
            fitting = [
                one
                for one in self._keys.value(anew=anew)
                if one.algorithm == algorithm and (key_id is None or one.id == key_id)
            ]
            if len(fitting) == 1:
                return fitting[0]
        raise LoginError("it is signed with a key that its issuer does not have")

    def _fetcher_of(self, url: str) -> DocumentFetcher:
        return self._own if origin_of(url) == self._origin else self._public

    def _load_metadata(self) -> ServerMetadata:
        problem = Unreachable("it cannot be reached")
        for place in reversed(metadata_places(self.url)):  # OpenID first: it is what most have
            try:
                found = read_server(self._own.get(place), "it cannot be read", "jwks_uri")
            except Unreachable as error:
                raise Unreachable(f"{place}: {error}") from None
            except LoginError as error:
                problem = LoginError(f"{place}: {error}")
                continue
            if found.issuer != self.url:
                raise LoginError(
                    f"it calls itself {found.issuer[:200]!r}: give it by that name, to the letter"
                )
            self._check_browser_address(found)
            return found
        raise problem

    def _check_browser_address(self, metadata: ServerMetadata) -> None:
        address = metadata.authorization_endpoint or self.url
        if urlsplit(address).scheme != "https" and origin_of(address) != self._origin:
            raise LoginError("its authorization_endpoint must have https://")
        if not address.isascii() or not address.isprintable() or " " in address or "#" in address:
            raise LoginError("its authorization_endpoint is no address")

    def _load_keys(self) -> tuple[SigningKey, ...]:
        address = self._metadata.value().jwks_uri
        found = decoded(self.get(address), _KeySet, "its keys cannot be read")
        return tuple(key for one in found.keys for key in _signing_keys(one))


def _fetcher(
    may_connect: Callable[[str], bool], may_be_plain: Callable[[str], bool]
) -> DocumentFetcher:
    return DocumentFetcher(
        may_connect=may_connect,
        may_be_plain=may_be_plain,
        seconds=_SECONDS,
        longest=LONGEST_DOCUMENT,
        at_once=_AT_ONCE,
    )


def checked_issuer(url: str, option: str) -> str:
    """An issuer's address as it was given; `option` is where."""
    parts = urlsplit(url) if origin_of(url) else urlsplit("")
    usable = parts.scheme == "https" or (parts.scheme == "http" and is_loopback(url))
    if not usable or "@" in parts.netloc or parts.query or "#" in url or not url.isprintable():
        raise SettingsError(
            f"{option} {url[:100]!r} must be an issuer such as https://id.example.com; http:// is "
            "for one on this machine alone"
        )
    return url


def _signing_keys(jwk: dict[str, Any]) -> list[SigningKey]:
    """A key with each algorithm that it may be used with; none if it is not for signatures."""
    kind, named = jwk.get("kty"), jwk.get("alg")
    if jwk.get("use", "sig") != "sig" or kind not in ("RSA", "EC", "OKP"):
        return []
    usual = _RSA if kind == "RSA" else (_OF_CURVE.get(str(jwk.get("crv")), ""),)
    found: list[SigningKey] = []
    for algorithm in usual:
        if algorithm and named in (None, algorithm):
            try:
                found.append(SigningKey(jwk.get("kid"), algorithm, jwt.PyJWK(jwk, algorithm)))
            except jwt.PyJWTError:
                return []
    return found
