"""How people get in: a one-time link, a password, a passkey; and their own page.

Where a provider signs people in, it is the only way: who has left it has no other.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from clawkit.errors import LoginError
from clawkit.login import grants, pages, people
from clawkit.login.browsers import HOME, Browsers, safe_next
from clawkit.login.oauth import decoded
from clawkit.login.records import User, digest
from clawkit.login.requests import LoginRequest, OAuthRefusal, RouteMaker, count, slow_down
from clawkit.login.resources import ProtectedServer, ServerAddress
from clawkit.store.database import Database, folded
from clawkit.system.rate_limiter import TokenBuckets

if TYPE_CHECKING:
    from clawkit.login.provider import ProviderSignIn

_WRONG = "That name and password do not belong together."
_USED = "This link was used, or is too old: whoever runs this server can make you a new one."
_SEE_OTHER = 303


class _ScriptRequest(msgspec.Struct):
    csrf: str
    next: str = ""
    credential: Any = None


class SignInLimits:
    """How often may be guessed: by one address, and at one name from one address.

    None counts a name from everywhere: strangers could lock its owner out with that. Who has many
    addresses is slowed by what each password costs to verify, few at once.
    """

    def __init__(self) -> None:
        self._caller = TokenBuckets(1 / 15, 20)
        self._pair = TokenBuckets(1 / 30, 5)

    def count(self, caller: str, name: str) -> None:
        """One more attempt, or none if that would be too many."""
        attempts = ((self._caller, caller), (self._pair, (caller, folded(name[:200]))))
        wait = max(bucket.wait(key) for bucket, key in attempts)
        if wait:
            raise slow_down(wait)
        for bucket, key in attempts:
            bucket.take(key)


class SignIn:
    """The pages and routes of signing in, of one server."""

    def __init__(
        self,
        database: Database,
        server: ProtectedServer,
        address: ServerAddress,
        browsers: Browsers,
        clock: Callable[[], float],
        provider: ProviderSignIn | None = None,
    ) -> None:
        self._provider = provider
        self._database = database
        self._server = server
        self._address = address
        self._browsers = browsers
        self._clock = clock
        self._limits = SignInLimits()
        self._challenges = TokenBuckets(1 / 5, 30)

    def routes(self, make: RouteMaker) -> list[Route]:
        own = [
            make.page(HOME, self._home, "GET"),
            make.page("/login/link/{secret}", self._welcome, "GET"),
            make.page("/login/end", self._end, "POST"),
            make.page("/login/sign-out", self._sign_out, "POST"),
        ]
        if self._provider is not None:
            return [*own, *self._provider.routes(make)]
        return [
            *own,
            make.page("/login/password", self._password, "POST"),
            make.page("/login/link", self._choose_password, "POST"),
            make.page("/login/passkeys.js", _script, "GET"),
            make.script("/login/passkey/new", self._new_passkey),
            make.script("/login/passkey/keep", self._keep_passkey),
            make.script("/login/passkey/ask", self._ask_passkey),
            make.script("/login/passkey/check", self._check_passkey),
        ]

    def page(self, asked: LoginRequest, next_: str) -> Response:
        """The page to sign in, and to go on from."""
        if self._provider is not None:
            return self._provider.page(asked, next_)
        return self._browsers.shown(asked, pages.sign_in, next_)

    def _home(self, asked: LoginRequest) -> Response:
        person = self._browsers.person(asked)
        if person is None:
            return self.page(asked, HOME)
        with self._database.registry() as connection:
            open_ones = [g for g in grants.of_person(connection, person) if g.ended is None]
            browsers = people.browsers_of(connection, person, self._clock())
            shown = [(one, people.being_name(connection, one.being)) for one in open_ones]
        page = partial(pages.logins, person, shown, len(browsers))
        return self._browsers.shown(asked, page, HOME)

    def _password(self, asked: LoginRequest) -> Response:
        self._browsers.check_form(asked, asked.fields.get("csrf", ""))
        name, password = asked.fields.get("name", ""), asked.fields.get("password", "")
        next_ = safe_next(asked.fields.get("next", ""))
        self._limits.count(asked.caller, name)
        with self._database.registry() as connection:
            person, password_hash = people.password_of(connection, name)
        if not people.is_password(password_hash, password) or person is None:
            page = partial(pages.sign_in, problem=_WRONG, status=401)
            return self._browsers.shown(asked, page, next_)
        return self._browsers.sign_in(asked, RedirectResponse(next_, _SEE_OTHER), person)

    def _welcome(self, asked: LoginRequest) -> Response:
        secret = asked.parameters["secret"]
        person = self._of_link(secret)
        if self._provider is not None:
            return self._provider.page(asked, secret, person)
        return self._browsers.shown(asked, partial(pages.welcome, person), secret)

    def _of_link(self, secret: str) -> User:
        with self._database.registry() as connection:
            person = people.of_link(connection, secret, self._clock())
        if person is None:
            raise OAuthRefusal("invalid_request", _USED, 404)
        return person

    def _use_link(self, secret: str, keep: Callable[[Any, User], None]) -> User:
        """Whose link it is, with what they chose kept, all or nothing."""
        with self._database.registry(write=True) as connection:
            person = people.use_link(connection, digest(secret), self._clock())
            if person is not None:
                keep(connection, person)
        if person is None:
            raise OAuthRefusal("invalid_request", _USED, 404)
        return person

    def _choose_password(self, asked: LoginRequest) -> Response:
        self._browsers.check_form(asked, asked.fields.get("csrf", ""))
        secret, password = asked.fields.get("next", ""), asked.fields.get("password", "")
        person = self._of_link(secret)
        try:
            people.check_new_password(person.name, password)
            if password != asked.fields.get("again", ""):
                raise LoginError("The two passwords are not the same.")
        except LoginError as error:
            page = partial(pages.welcome, person, problem=str(error), status=400)
            return self._browsers.shown(asked, page, secret)
        hashed = people.hashed(password)
        self._use_link(secret, lambda c, who: people.set_password(c, who, hashed))
        return self._browsers.sign_in(asked, RedirectResponse(HOME, _SEE_OTHER), person)

    def _end(self, asked: LoginRequest) -> Response:
        self._browsers.check_form(asked, asked.fields.get("csrf", ""))
        person = self._browsers.person(asked)
        if person is not None:
            wanted = asked.fields.get("grant", "")
            with self._database.registry(write=True) as connection:
                for grant in grants.of_person(connection, person):
                    if grant.id == wanted:
                        grants.end(
                            connection, grant.id, "ended on the person's page", self._clock()
                        )
        return RedirectResponse(HOME, _SEE_OTHER)

    def _sign_out(self, asked: LoginRequest) -> Response:
        self._browsers.check_form(asked, asked.fields.get("csrf", ""))
        return self._browsers.sign_out(asked, RedirectResponse(HOME, _SEE_OTHER))

    def _read(self, asked: LoginRequest) -> _ScriptRequest:
        if not asked.headers.get("content-type", "").startswith("application/json"):
            raise OAuthRefusal("invalid_request", "This must be JSON", 415)
        said = decoded(asked.body, _ScriptRequest, "This cannot be read")
        self._browsers.check_form(asked, said.csrf)
        return said

    def _challenge(self, asked: LoginRequest) -> str:
        count(self._challenges, asked)
        challenge = secrets.token_urlsafe(32)
        with self._database.registry(write=True) as connection:
            visitor = self._browsers.visitor(asked)
            people.add_challenge(connection, challenge, visitor, self._clock())
        return challenge

    def _answered(self, asked: LoginRequest, credential: Any) -> tuple[str, str]:
        """The passkey that answers, and the challenge, which was asked in this browser."""
        from clawkit.login import passkeys

        key_id, challenge = passkeys.named_in(credential)
        with self._database.registry(write=True) as connection:
            visitor = self._browsers.visitor(asked)
            if not people.use_challenge(connection, challenge, visitor, self._clock()):
                raise LoginError("That took too long: try again.")
        return key_id, challenge

    def _new_passkey(self, asked: LoginRequest) -> Response:
        from clawkit.login import passkeys

        person = self._of_link(self._read(asked).next)
        with self._database.registry() as connection:
            others = people.passkeys_of(connection, person)
        challenge = self._challenge(asked)
        return _json(passkeys.new_options(self._address, person, others, challenge))

    def _keep_passkey(self, asked: LoginRequest) -> Response:
        from clawkit.login import passkeys

        said = self._read(asked)
        person = self._of_link(said.next)
        _, challenge = self._answered(asked, said.credential)
        key = passkeys.registered(self._address, person, said.credential, challenge)
        self._use_link(said.next, lambda c, _: people.add_passkey(c, key, self._clock()))
        return self._browsers.sign_in(asked, JSONResponse({"next": HOME}), person)

    def _ask_passkey(self, asked: LoginRequest) -> Response:
        from clawkit.login import passkeys

        self._read(asked)
        return _json(passkeys.ask_options(self._address, self._challenge(asked)))

    def _check_passkey(self, asked: LoginRequest) -> Response:
        from clawkit.login import passkeys

        said = self._read(asked)
        key_id, challenge = self._answered(asked, said.credential)
        with self._database.registry() as connection:
            found = people.passkey(connection, key_id)
        if found is None:
            raise OAuthRefusal("invalid_request", "This passkey is not known here.", 401)
        key, person = found
        uses = passkeys.verified(self._address, key, said.credential, challenge)
        with self._database.registry(write=True) as connection:
            people.note_passkey(connection, key_id, uses, self._clock())
        answer = JSONResponse({"next": safe_next(said.next)})
        return self._browsers.sign_in(asked, answer, person)


def _json(text: bytes) -> Response:
    headers = {"cache-control": "no-store"}
    return Response(text, media_type="application/json", headers=headers)


def _script(_: LoginRequest) -> Response:
    headers = {"cache-control": "no-cache", "x-content-type-options": "nosniff"}
    return Response(pages.SCRIPT.read_bytes(), media_type="text/javascript", headers=headers)
