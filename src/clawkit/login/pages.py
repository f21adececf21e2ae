"""The pages that people see: to sign in, to begin with a link, to agree, and what they agreed to.

Plain HTML that needs no script, but for passkeys; nothing is loaded from elsewhere. All that
clients say about themselves is text in it, with what is hidden in it made visible.
"""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
from starlette.responses import HTMLResponse

from clawkit.login.people import SHORTEST_PASSWORD
from clawkit.login.records import Client, Grant, User
from clawkit.login.resources import Offer, ScopeChoice
from clawkit.text.normalization import visible

SCRIPT = Path(__file__).with_name("passkeys.js")
_STYLE = """
:root{color-scheme:light dark;--line:#8886;--soft:#8882;--dim:#595959;--go:#0b57d0;--on:#fff;
--warn:#8a4b00}
@media(prefers-color-scheme:dark){:root{--dim:#b3b3b3;--go:#a8c7fa;--on:#062e6f;--warn:#ffb95c}}
*{box-sizing:border-box}
body{font:16px/1.5 system-ui,sans-serif;max-width:30rem;margin:0 auto;padding:2rem 1rem 4rem}
h1{margin:0 0 .2rem;font-size:1.5rem;overflow-wrap:anywhere}p{margin:.5rem 0;overflow-wrap:anywhere}
.dim{color:var(--dim)}.warn{border-left:4px solid var(--warn);padding:.2rem .8rem;margin:1rem 0}
.wrong{color:var(--warn);font-weight:600}
fieldset{border:1px solid var(--line);border-radius:.5rem;margin:1rem 0;padding:.4rem .9rem .8rem}
legend{padding:0 .3rem;font-weight:600}
label{display:flex;gap:.6rem;align-items:flex-start;padding:.45rem 0;min-height:2.4rem}
label.field{display:block;padding:.3rem 0}
input[type=text],input[type=password]{width:100%;font:inherit;padding:.6rem;border:1px solid
var(--line);border-radius:.4rem;background:var(--soft);color:inherit}
input[type=radio],input[type=checkbox]{width:1.15rem;height:1.15rem;margin:.2rem 0 0;flex:none}
button{font:inherit;font-weight:600;padding:.7rem 1.1rem;border-radius:.5rem;border:1px solid
var(--line);background:transparent;color:inherit;min-width:7rem;cursor:pointer}
button.go{background:var(--go);color:var(--on);border-color:var(--go)}
:focus-visible{outline:3px solid var(--go);outline-offset:2px}
.row{display:flex;gap:.8rem;flex-wrap:wrap;margin-top:1.2rem}
li{margin:.8rem 0}ul{padding:0;list-style:none}.extras{padding-left:1.7rem}
""".strip().replace("\n", " ")
_DIGEST = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()


class Form(msgspec.Struct, frozen=True):
    """What every form on a page carries: its secret, and where to go on."""

    secret: str
    next: str = ""
    passkeys: bool = False


def _page(
    title: str, *parts: str, status: int = 200, script: bool = False, target: str = ""
) -> HTMLResponse:
    tag = '<script src="/login/passkeys.js" defer></script>' if script else ""
    body = "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{_text(title)}</title><style>{_STYLE}</style>{tag}</head><body><main>",
            f"<h1>{_text(title)}</h1>",
            *filter(None, parts),
            "</main></body></html>\n",
        ]
    )
    return HTMLResponse(body, status, headers=page_headers(script=script, target=target))


def page_headers(*, script: bool, target: str = "") -> dict[str, str]:
    """Browsers hold a form's redirects against `form-action`, too: `target` is where one leads."""
    rules = [
        "default-src 'none'",
        f"style-src 'sha256-{_DIGEST}'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        f"form-action 'self' {target}".strip(),
        *(("script-src 'self'", "connect-src 'self'") if script else ()),
    ]
    return {
        "content-security-policy": "; ".join(rules),
        "x-frame-options": "DENY",
        "x-content-type-options": "nosniff",
        # Not no-referrer: browsers would then send no origin with our own forms.
        "referrer-policy": "same-origin",
        "cache-control": "no-store",
    }


def sign_in(form: Form, problem: str = "", status: int = 200) -> HTMLResponse:
    return _page(
        "Sign in",
        _wrong(problem),
        _passkey_button("sign-in", "Sign in with a passkey", form) if form.passkeys else "",
        '<form method="post" action="/login/password">',
        _hidden(form),
        _field("name", "Name", "text", "username"),
        _field("password", "Password", "password", "current-password"),
        '<div class="row"><button class="go">Sign in</button></div></form>',
        '<p class="dim">Lost your passkey or password? Whoever runs this server can make you a new '
        "link.</p>",
        status=status,
        script=form.passkeys,
    )


def welcome(person: User, form: Form, problem: str = "", status: int = 200) -> HTMLResponse:
    """What a one-time link opens; `next` of the form is the link's secret."""
    password = "A password instead" if form.passkeys else "Choose a password"
    return _page(
        f"Welcome, {person.name}",
        _wrong(problem),
        '<p class="dim">Choose how you sign in here from now on. This link works once.</p>',
        _passkey_button("register", "Make a passkey", form) if form.passkeys else "",
        '<form method="post" action="/login/link"><fieldset>',
        f"<legend>{password}</legend>",
        _hidden(form),
        f'<input type="hidden" name="name" autocomplete="username" value="{_text(person.name)}">',
        _field("password", f"At least {SHORTEST_PASSWORD} characters", "password", "new-password"),
        _field("again", "Once more", "password", "new-password"),
        '</fieldset><div class="row"><button>Use this password</button></div></form>',
        status=status,
        script=form.passkeys,
    )


def provider_sign_in(provider: str, person: User | None, form: Form) -> HTMLResponse:
    """The page that leads to an identity provider; `next` of a person's form is their link."""
    return _page(
        f"Welcome, {person.name}" if person is not None else "Sign in",
        '<p class="dim">Your account there is the one you sign in with here from now on. This '
        "link works once.</p>"
        if person is not None
        else "",
        '<form method="post" action="/login/provider">',
        _hidden(form),
        '<input type="hidden" name="link" value="1">' if person is not None else "",
        f'<div class="row"><button class="go">Continue with {_text(provider)}</button></div>',
        "</form>",
    )


def redirect_page(provider: str, address: str) -> HTMLResponse:
    """A page that leads to another site without script: browsers may block a form's redirect."""
    response = _page(
        f"Going to {provider}",
        f"<p>{_link(address, 'Go on, if nothing happens')}</p>",
    )
    response.headers["refresh"] = f"0;url={address}"
    response.headers["referrer-policy"] = "no-referrer"
    return response


def consent(
    title: str,
    client: Client,
    redirect_uri: str,
    person: User,
    offer: Offer,
    form: Form,
    problem: str = "",
) -> HTMLResponse:
    name = client.name or "A program without a name"
    return _page(
        f"Let {name} use {title}?",
        _wrong(problem),
        _who(client, redirect_uri),
        f'<p class="dim">You are signed in as {_text(person.name)}.</p>',
        '<form method="post" action="/login/authorize">',
        _hidden(form),
        _beings(offer),
        _levels(offer),
        '<div class="row"><button class="go" name="answer" value="yes">Agree</button>',
        '<button name="answer" value="no">Cancel</button></div></form>',
        f'<p class="dim">You can end this at any time: on {_link("/login", "your page")}, or with '
        "<code>claw user</code>.</p>",
        target=redirect_target(redirect_uri),
        status=400 if problem else 200,
    )


def not_allowed_page(title: str, redirect_uri: str, person: User, form: Form) -> HTMLResponse:
    """Tells somebody that this is not for them; the client learns it only if they go back."""
    return _page(
        f"You may not use {title}",
        f"<p>{_text(person.name)} may not use this here. Whoever runs this server can change that."
        "</p>",
        '<form method="post" action="/login/authorize">',
        _hidden(form),
        '<div class="row"><button name="answer" value="no">Back to the program</button></div>',
        "</form>",
        target=redirect_target(redirect_uri),
        status=403,
    )


def redirect_target(redirect_uri: str) -> str:
    """An address as `form-action` has it: its origin, or the scheme of a program."""
    parts = urlsplit(redirect_uri)
    return (
        f"{parts.scheme}://{parts.netloc}"
        if parts.netloc and parts.scheme.startswith("http")
        else f"{parts.scheme}:"
    )


def logins(
    person: User, grants: Sequence[tuple[Grant, str]], browsers: int, form: Form
) -> HTMLResponse:
    """What somebody agreed to; each grant with the name of its Being."""
    shown = [
        f"<li><strong>{_text(grant.client_name or 'A program without a name')}</strong> may use "
        f"{_text(being or grant.resource)} ({_text(grant.scope)})"
        '<form method="post" action="/login/end">'
        f'{_hidden(form)}<input type="hidden" name="grant" value="{_text(grant.id)}">'
        f'<button aria-label="End {_text(grant.client_name)}">End</button></form></li>'
        for grant, being in grants
    ]
    return _page(
        f"You are signed in as {person.name}",
        f'<p class="dim">In {browsers} browser{"s" if browsers != 1 else ""}.</p>',
        "<h2>What you let in</h2>",
        f"<ul>{''.join(shown)}</ul>" if shown else "<p>No program yet.</p>",
        '<form method="post" action="/login/sign-out">',
        _hidden(form),
        '<div class="row"><button>Sign out</button></div></form>',
    )


def error_page(why: str, status: int = 400) -> HTMLResponse:
    """Says what cannot go on, and why."""
    return _page("This cannot go on", f"<p>{_text(why)}</p>", status=status)


def _who(client: Client, redirect_uri: str) -> str:
    parts = urlsplit(redirect_uri)
    local = True
    if parts.hostname in ("127.0.0.1", "::1", "localhost"):
        place = "a program on the computer that this browser runs on"
    elif parts.scheme in ("http", "https"):
        place, local = parts.netloc, False
    else:
        place = f"the program that opens “{parts.scheme}:” on this device"
    goes = f'<p class="dim">Your answer goes to {_text(place)}.</p>'
    if client.verified and not local:
        return f"<p>It is the program of <strong>{_text(client.host)}</strong>.</p>{goes}"
    if client.verified:
        return (
            '<div class="warn" role="note"><p>It says that it is the program of '
            f"<strong>{_text(client.host)}</strong>. A program on this computer gets the login, "
            "and for that its name cannot be checked. Agree only if you have just started this "
            f"yourself.</p></div>{goes}"
        )
    return (
        '<div class="warn" role="note"><p><strong>Nobody has checked who this is.</strong> The '
        "name is what the program calls itself. Agree only if you have just started this "
        f"yourself.</p></div>{goes}"
    )


def _beings(offer: Offer) -> str:
    if offer.beings is None:
        return ""
    if len(offer.beings) == 1:
        return f"<p>For the Being <strong>{_text(offer.beings[0].name)}</strong>.</p>"
    rows = [
        _choice("radio", "being", str(one.number), one.name, checked=False, required=True)
        for one in offer.beings
    ]
    return f"<fieldset><legend>For which Being?</legend>{''.join(rows)}</fieldset>"


def _levels(offer: Offer) -> str:
    single = len(offer.levels) == 1
    rows: list[str] = []
    for number, level in enumerate(offer.levels):
        kind = "hidden" if single else "radio"
        rows.append(
            f'<p>{_text(level.words)}</p><input type="hidden" name="level" '
            f'value="{_text(level.scope)}">'
            if kind == "hidden"
            else _choice("radio", "level", level.scope, level.words, checked=number == 0)
        )
        extras = [one for one in offer.extras if one.within == level.scope]
        if extras:
            rows.append(
                f'<div class="extras">{"".join(_extra(one, offer) for one in extras)}</div>'
            )
    return f"<fieldset><legend>What it may do</legend>{''.join(rows)}</fieldset>"


def _extra(extra: ScopeChoice, offer: Offer) -> str:
    return _choice("checkbox", "extra", extra.scope, extra.words, extra.scope in offer.ticked)


def _choice(
    kind: str, name: str, value: str, words: str, checked: bool, required: bool = False
) -> str:
    marks = f"{' checked' if checked else ''}{' required' if required else ''}"
    return (
        f'<label><input type="{kind}" name="{name}" value="{_text(value)}"{marks}>'
        f"<span>{_text(words)}</span></label>"
    )


def _field(name: str, label: str, kind: str, complete: str) -> str:
    return (
        f'<label class="field">{_text(label)}<input type="{kind}" name="{name}" required '
        f'autocomplete="{complete}" maxlength="1000"></label>'
    )


def _passkey_button(does: str, words: str, form: Form) -> str:
    return (
        f'<div id="passkey" hidden data-does="{does}" data-secret="{_text(form.secret)}" '
        f'data-next="{_text(form.next)}"><div class="row"><button class="go" type="button">'
        f'{_text(words)}</button></div><p class="wrong" role="alert"></p></div>'
    )


def _hidden(form: Form) -> str:
    return (
        f'<input type="hidden" name="csrf" value="{_text(form.secret)}">'
        f'<input type="hidden" name="next" value="{_text(form.next)}">'
    )


def _wrong(problem: str) -> str:
    return f'<p class="wrong" role="alert">{_text(problem)}</p>' if problem else ""


def _link(address: str, words: str) -> str:
    return f'<a href="{_text(address)}">{_text(words)}</a>'


def _text(text: str) -> str:
    return html.escape(visible(text, 1 << 20))
