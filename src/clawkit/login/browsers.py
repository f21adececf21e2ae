"""Which browser asks, who is signed in with it, and whether a form came from a page of ours.

A visitor's cookie is set with the first page; the cookie of somebody who signed in is a new one,
made then. What a form carries is made of both, so that no other site can know it.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable

from starlette.responses import Response

from clawkit.login import pages, people
from clawkit.login.records import BROWSER_SECONDS, User, new_secret
from clawkit.login.requests import LoginRequest, OAuthRefusal, is_same_secret
from clawkit.login.resources import ServerAddress
from clawkit.store.database import Database
from clawkit.system.addresses import is_ip_address

HOME = "/login"
AUTHORIZE = "/login/authorize"


class Browsers:
    def __init__(
        self, database: Database, address: ServerAddress, clock: Callable[[], float]
    ) -> None:
        self._database = database
        self._address = address
        self._clock = clock
        # Cookies know no ports: two servers on one machine must not share them.
        suffix = address.port
        prefix = "__Host-" if address.is_secure else ""
        self._login = f"{prefix}claw-login-{suffix}"
        self._visit = f"{prefix}claw-visit-{suffix}"

    def person(self, asked: LoginRequest) -> User | None:
        secret = asked.cookies.get(self._login, "")
        if not secret:
            return None
        with self._database.registry() as connection:
            return people.signed_in(connection, secret, self._clock())

    def visitor(self, asked: LoginRequest) -> str:
        """The secret of a browser that was here; OAuthRefusal if it has none."""
        secret = asked.cookies.get(self._visit, "")
        if not secret:
            raise OAuthRefusal(
                "invalid_request", "This page needs cookies: allow them, go back and load it again"
            )
        return secret

    def shown(
        self, asked: LoginRequest, page: Callable[[pages.Form], Response], next_: str
    ) -> Response:
        """A page with a form, for this browser."""
        visit = asked.cookies.get(self._visit, "")
        new = not visit
        visit = visit or new_secret()
        secret = self._form_secret(visit, asked.cookies.get(self._login, ""))
        response = page(pages.Form(secret, next_, self.passkeys_work(asked)))
        if new:
            self._set(response, self._visit, visit)
        return response

    def passkeys_work(self, asked: LoginRequest) -> bool:
        """Passkeys belong to a host name, and to no IP address."""
        here = self._address.seen_as(asked.authority) == self._address.origin
        return here and not is_ip_address(self._address.host)

    def check_form(self, asked: LoginRequest, given: str) -> None:
        """Refuse what was not sent by a page of ours, in this browser."""
        origin = asked.headers.get("origin", "")
        site = asked.headers.get("sec-fetch-site", "same-origin")
        here = self._address.seen_as(asked.authority)
        wanted = self._form_secret(self.visitor(asked), asked.cookies.get(self._login, ""))
        foreign = site not in ("same-origin", "none") or (origin and origin != here)
        if foreign or not is_same_secret(given, wanted):
            raise OAuthRefusal(
                "invalid_request",
                "This form is not of this browser: go back and load it again",
                403,
            )

    def sign_in(self, asked: LoginRequest, response: Response, person: User) -> Response:
        """Give a browser new cookies, whatever it had."""
        with self._database.registry(write=True) as connection:
            people.sign_out(connection, asked.cookies.get(self._login, ""))
            secret = people.sign_in(connection, person, asked.agent, self._clock())
        self._set(response, self._login, secret)
        self._set(response, self._visit, new_secret())
        return response

    def sign_out(self, asked: LoginRequest, response: Response) -> Response:
        with self._database.registry(write=True) as connection:
            people.sign_out(connection, asked.cookies.get(self._login, ""))
        for name in (self._login, self._visit):
            response.delete_cookie(name, path="/", secure=self._address.is_secure, httponly=True)
        return response

    def _set(self, response: Response, name: str, secret: str) -> None:
        response.set_cookie(
            name,
            secret,
            max_age=int(BROWSER_SECONDS),
            path="/",
            secure=self._address.is_secure,
            httponly=True,
            samesite="lax",
        )

    def _form_secret(self, visit: str, login: str) -> str:
        return hmac.new(visit.encode(), login.encode(), hashlib.sha256).hexdigest()


def safe_next(text: str) -> str:
    """Where to go on after signing in: to what was asked for here, and nowhere else."""
    return text if text.startswith(f"{AUTHORIZE}?") and text.isprintable() else HOME
