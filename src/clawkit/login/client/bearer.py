"""The access token of a login while it is used: read again when it changes, renewed when it ends.

Whoever renews holds the login's lock, and takes what another process has renewed meanwhile: a
refresh token is good once, and one that is shown twice ends the whole login.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable

import httpx2
import msgspec

from clawkit.errors import LoginError
from clawkit.login.client.fetch import Web
from clawkit.login.client.stored import KeptLogin, LoginFile, LoginRecord, LoginSecrets
from clawkit.login.client.tokens import TokenRefusedError, TokenReply, request_tokens
from clawkit.system.addresses import origin_of

_EARLY = 30.0
"""Seconds before its end at which a token is renewed, so that it does not end on its way."""
_FINAL = frozenset({"invalid_grant", "invalid_client", "unauthorized_client"})


class Bearer:
    """The login to one server, for a process that calls it."""

    def __init__(self, url: str) -> None:
        self._file = LoginFile(url)
        self._version: tuple[int, int] | None = None
        self._kept: KeptLogin | None = None

    def at_hand(self) -> str | None:
        """The token if it is good as far as is known; "" without a login, None if it must be got.

        This takes no time; `get` may.
        """
        version = self._file.version()
        if version is None:
            return ""
        kept = self._kept
        if version != self._version or kept is None or _is_over(kept):
            return None
        return kept.secrets.access_token

    def get(self) -> str:
        """The token, renewed if it is over; "" without a login that is still good."""
        kept = self._read()
        if kept is None or kept.record.ended:
            return ""
        if not _is_over(kept):
            return kept.secrets.access_token
        return self.renew(kept.secrets.access_token)

    def renew(self, refused: str) -> str:
        """Another token than the one that the server refused; "" if only a person can get one."""
        with self._file.alone():
            kept = self._read()
            if kept is None or kept.record.ended:
                return ""
            if kept.secrets.access_token != refused and not _is_over(kept):
                return kept.secrets.access_token
            if not kept.record.renews:
                return ""
            self._keep(_asked_again(kept))
        kept = self._kept
        return "" if kept is None or kept.record.ended else kept.secrets.access_token

    def _read(self) -> KeptLogin | None:
        version = self._file.version()
        if version != self._version or self._kept is None:
            self._kept = self._file.read()
            self._version = version
        return self._kept

    def _keep(self, kept: KeptLogin) -> None:
        # A keyring that is locked now must not cost the only refresh token that is good.
        self._file.write(
            kept.record, kept.secrets, "file" if kept.record.kept_in == "file" else None
        )
        self._kept, self._version = kept, self._file.version()


def credentials_form(record: LoginRecord) -> dict[str, str]:
    """What asks for a token in the name of a client itself."""
    form = {"grant_type": "client_credentials", "scope": record.scope, "resource": record.resource}
    return {name: value for name, value in form.items() if value}


def renewed(kept: KeptLogin, tokens: TokenReply) -> KeptLogin:
    """A login with the tokens that it was given just now."""
    now = time.time()
    refresh = tokens.refresh_token or kept.secrets.refresh_token
    client = kept.record.grant == "client_credentials"
    record = msgspec.structs.replace(
        kept.record,
        obtained=now,
        expires=tokens.expires(now),
        scope=tokens.scope if tokens.scope is not None else kept.record.scope,
        renews=bool(refresh) or client,
        ended="",
    )
    secrets = LoginSecrets(tokens.access_token, refresh, kept.secrets.client_secret)
    return KeptLogin(record, secrets)


def _is_over(kept: KeptLogin) -> bool:
    expires, obtained = kept.record.expires, kept.record.obtained
    if expires is None:
        return False
    return time.time() > expires - min(_EARLY, (expires - obtained) / 10)


def _asked_again(kept: KeptLogin) -> KeptLogin:
    """The login with a new token; or as ended, if the authorization server says so."""
    record, secrets = kept.record, kept.secrets
    form = credentials_form(record)
    if record.grant == "authorization_code":
        form = {"grant_type": "refresh_token", "refresh_token": secrets.refresh_token}
        form |= {"resource": record.resource} if record.resource else {}
    try:
        tokens = request_tokens(Web(record.url), record, secrets.client_secret, form)
    except TokenRefusedError as error:
        if error.code not in _FINAL:
            raise
        why = f"{origin_of(record.issuer)} did not renew it ({error.code})"
        ended = msgspec.structs.replace(record, ended=why, renews=False)
        over = msgspec.structs.replace(secrets, refresh_token="")
        return KeptLogin(ended, over)
    except LoginError as error:
        raise LoginError(f"the login cannot be renewed now: {error}") from None
    return renewed(kept, tokens)


class LoginAuth(httpx2.Auth):
    """A login for an HTTP client: one renewal and one more attempt where a server refuses it."""

    def __init__(
        self, url: str, learn: Callable[[str], object], on_retry: Callable[[], object]
    ) -> None:
        """`learn` is told each token before it is used, for those who hide what is secret."""
        self.problem = ""
        """Why a login that is there is not used."""
        self._bearer = Bearer(url)
        self._learn = learn
        self._on_retry = on_retry

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        token = self._bearer.at_hand()
        if token is None:
            token = await self._token(self._bearer.get)
        response = yield self._with(request, token)
        if token and response.status_code == 401:
            another = await self._token(lambda: self._bearer.renew(token))
            if another:
                self._on_retry()
                yield self._with(request, another)

    async def _token(self, find: Callable[[], str]) -> str:
        self.problem = ""
        try:
            return await asyncio.to_thread(find)
        except LoginError as error:
            self.problem = str(error)
            return ""

    def _with(self, request: httpx2.Request, token: str) -> httpx2.Request:
        if token:
            self._learn(token)
            request.headers["authorization"] = f"Bearer {token}"
        return request
