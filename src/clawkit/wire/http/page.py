"""The page at `/` of an HTTP server: its description, its tools, and what to paste into clients.

It runs no script and loads nothing; all that a server says about itself is escaped. Only browsers
get it, not programs.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Struct
from starlette.exceptions import HTTPException

from clawkit.errors import ProtocolError
from clawkit.text.normalization import visible
from clawkit.wire.http.request_checks import Headers, Origins, read_headers
from clawkit.wire.http.response import HeaderList, Receive, SendAsgi

_UNLIMITED = 1 << 60
_HOST = re.compile(r"[\w.:\[\]-]+", re.ASCII)

_STYLE = """
:root{color-scheme:light dark;--line:#8884;--soft:#8881;--dim:#666}
@media(prefers-color-scheme:dark){:root{--dim:#aaa}}
body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:0 auto;padding:2rem 1rem 4rem}
h1{margin:0;font-size:1.7rem}h2{margin:2.2rem 0 .6rem;font-size:1.1rem}
h3{margin:0;font:600 1rem/1.5 ui-monospace,monospace}
p{margin:.3rem 0}.dim{color:var(--dim)}.keep{white-space:pre-wrap}
article,details{border:1px solid var(--line);border-radius:.5rem;padding:.6rem .9rem;margin:.5rem 0}
h3,p,summary,td:last-child{overflow-wrap:anywhere}
table{border-collapse:collapse;font-size:.9rem;margin-top:.4rem}
td{padding:.1rem 1rem .1rem 0;vertical-align:top}
code,pre{font:.875rem/1.45 ui-monospace,monospace}
pre{background:var(--soft);border-radius:.4rem;padding:.6rem .8rem;margin:.6rem 0 .2rem;
white-space:pre-wrap;overflow-wrap:anywhere;user-select:all;-webkit-user-select:all}
summary{cursor:pointer}
""".strip().replace("\n", "")
_DIGEST = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_RULES = f"default-src 'none'; style-src 'sha256-{_DIGEST}'; base-uri 'none'; form-action 'none'"
HEADERS: HeaderList = [
    (b"content-type", b"text/html; charset=utf-8"),
    (b"content-security-policy", f"{_RULES}; frame-ancestors 'none'".encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"vary", b"accept"),
]


class PagePart(Struct, frozen=True):
    """A tool: `rows` are its parameters, each a row of cells."""

    name: str
    about: str
    rows: tuple[tuple[str, ...], ...] = ()


class PasteText(Struct, frozen=True):
    """What to paste into one client, and where."""

    client: str
    place: str
    text: str


class ServerPage(Struct, frozen=True):
    """All that a page shows; `address` is the end of a sentence about an MCP server."""

    title: str
    address: str
    about: str
    tools: tuple[PagePart, ...] = ()
    pastes: tuple[PasteText, ...] = ()
    note: str = ""


PageMaker = Callable[[str, bool], ServerPage]
"""The page of a server at this origin; the bool says whether the caller may see its tools."""
MaySee = Callable[[Any, Receive], Awaitable[bool]]


def render(page: ServerPage) -> str:
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_text(_RULES)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{_text(page.title)}</title><style>{_STYLE}</style></head><body><main>",
        f"<h1>{_text(page.title)}</h1>",
        f'<p class="dim">An MCP server {_text(page.address)}</p>',
        f'<p class="keep">{_lines(page.about)}</p>' if page.about else "",
        *(["<h2>Tools</h2>", *map(_tool, page.tools)] if page.tools else ()),
        *(["<h2>Add it to a client</h2>", *map(_paste, page.pastes)] if page.pastes else ()),
        f'<p class="dim keep">{_lines(page.note)}</p>' if page.note else "",
        "</main></body></html>",
    ]
    return "\n".join(filter(None, parts)) + "\n"


def _tool(tool: PagePart) -> str:
    rows = (f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>" for row in tool.rows)
    table = f"<table>{''.join(rows)}</table>" if tool.rows else ""
    about = f'<p class="keep">{_lines(tool.about)}</p>' if tool.about else ""
    return f"<article><h3>{_text(tool.name)}</h3>{about}{table}</article>"


def _paste(one: PasteText) -> str:
    place = f' <span class="dim">{_text(one.place)}</span>' if one.place else ""
    return (
        f"<details><summary>{_text(one.client)}{place}</summary>"
        f"<pre>{_lines(one.text)}</pre></details>"
    )


def _text(text: str) -> str:
    """Escape one line of text and make hidden characters visible."""
    return html.escape(visible(text, _UNLIMITED))


def _lines(text: str) -> str:
    return "\n".join(map(_text, text.replace("\r\n", "\n").strip("\n").split("\n")))


def wants_page(method: str, headers: Headers) -> bool:
    """Whether a browser asks, or a program that accepts anything."""
    accepted = headers.get("accept", "*/*").lower()
    if method not in ("GET", "HEAD"):
        return False
    if "text/html" in accepted:
        return True
    other = "application/json" in accepted or "text/event-stream" in accepted
    return not other and ("*/*" in accepted or "text/*" in accepted)


async def send_page(send: SendAsgi, page: ServerPage, method: str) -> None:
    body = render(page).encode()
    size = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": 200, "headers": [*HEADERS, size]})
    await send({"type": "http.response.body", "body": b"" if method == "HEAD" else body})


class PageEndpoint:
    def __init__(self, page: PageMaker, origins: Origins, may_see: MaySee) -> None:
        self._page = page
        self._origins = origins
        self._may_see = may_see

    async def __call__(self, scope: Any, receive: Receive, send: SendAsgi) -> None:
        try:
            headers = read_headers(scope["headers"])
        except ProtocolError as error:
            raise HTTPException(400, error.message) from None
        if not wants_page(scope["method"], headers):
            raise HTTPException(404)
        reason = self._origins.refuse(headers)
        if reason is not None:
            raise HTTPException(403, reason)
        page = self._page(origin_of(scope, headers), await self._may_see(scope, receive))
        await send_page(send, page, scope["method"])


def origin_of(scope: Any, headers: Headers) -> str:
    """The origin by which the caller has reached this server."""
    host = headers.get("host", "")
    return f"{scope['scheme']}://{host if _HOST.fullmatch(host) else 'localhost'}"
