"""Attacks with paths: the same place written in another way, and places that are somewhere else."""

from __future__ import annotations

import json
import unicodedata
from base64 import b64encode
from pathlib import Path
from urllib.parse import quote

from clawkit.guard.selftest import categories
from clawkit.guard.selftest.bench import Bench
from clawkit.guard.selftest.registry import attack, attacks_each
from clawkit.guard.selftest.scratch import ACCENTED, CANARY
from clawkit.guard.selftest.verdicts import Unclear, require_clear_error, short, text_of

_DENIED = "the call is denied whatever way the path is written"

_SPELLINGS = {
    "plain": "{root}/secret/key.txt",
    "dotdot": "{root}/work/../secret/key.txt",
    "dotdot-from-nowhere": "{root}/not/there/../../secret/key.txt",
    "dots": "{root}/./secret/./key.txt",
    "relative": "secret/key.txt",
    "relative-dot": "./work/.././secret/key.txt",
    "relative-dotdot": "../{name}/secret/key.txt",
    "from-home": "{home}/secret/key.txt",
    "from-home-of-user": "{user}/secret/key.txt",
    "bare-directory": "{root}/secret",
    "bare-directory-slash": "{root}/secret/",
    "bare-directory-dot": "{root}/secret/.",
    "backslashes": "{root}\\secret\\key.txt",
    "backslash-dotdot": "{root}/work\\..\\secret/key.txt",
    "doubled-slashes": "{root}//secret///key.txt",
    "leading-slashes": "//{root}/secret/key.txt",
    "above-the-top": "/../../../..{root}/secret/key.txt",
    "nul-after-directory": "{root}/secret\0.png",
    "spaces-around": " {root}/secret/key.txt\n",
}


@attacks_each("path", categories.PATHS, _DENIED, _SPELLINGS)
def other_spelling(bench: Bench, path: str) -> None:
    """The tool takes any argument: only the deny rule stands in the way."""
    bench.refuses_call("echo", {"text": bench.fill_in(path)})


_FROM_THE_SERVERS_FOLDER = {
    "dotdot": "../../secret/key.txt",
    "link": "up/link/key.txt",
    "percent": "%2e%2e/%2e%2e/secret/key.txt",
}


@attacks_each(
    "base",
    categories.PATHS,
    "a path counts from every folder that the server has",
    _FROM_THE_SERVERS_FOLDER,
)
def from_the_servers_folder(bench: Bench, path: str) -> None:
    """The server's command names ROOT/work/sub: relative paths may start there."""
    bench.refuses_call("echo", {"text": path})
    bench.refuses_call("read_file", {"path": path})


_ESCAPES = {
    "dotdot": "{root}/work/../secret/key.txt",
    "dotdot-harmless": "{root}/work/../guards",
    "dotdot-backslash": "{root}/work/..\\guards",
    "dotdot-percent": "{root}/work/%2e%2e/guards",
    "dotdot-percent-twice": "{root}/work/%252e%252e/guards",
    "relative": "guards",
    "empty": "",
    "prefix": "{root}/workshop/plain.txt",
    "the-root-itself": "/",
    "bare-star": "*",
    "case": "{root}/WORK/plain.txt",
    "url": "https://work.example{root}/work/plain.txt",
}


@attacks_each("allow", categories.PATHS, "an allow of a folder covers nothing outside it", _ESCAPES)
def escape_from_allowed(bench: Bench, path: str) -> None:
    """The tool is allowed for one folder only; nothing but that allow rule lets it through."""
    _require_allowed(bench)
    bench.refuses_call("read_file", {"path": bench.fill_in(path)})


def _require_allowed(bench: Bench) -> None:
    """A guard that refuses everything withstands nothing."""
    answer = bench.call("read_file", path=bench.fill_in("{root}/work/plain.txt"))
    if text_of(answer) is not None or "plain" not in short(answer):
        raise Unclear(f"a read that the policy allows was answered with {short(answer)}")


_LINKS = {
    "to-folder": "{root}/work/link/key.txt",
    "to-folder-itself": "{root}/work/link",
    "to-file": "{root}/work/file",
    "through-several": "{root}/work/chain/key.txt",
    "to-what-is-not-there-yet": "{root}/work/dangling",
    "new-file-behind": "{root}/work/link/new.txt",
    "then-dotdot": "{root}/work/link/../secret/key.txt",
    "in-circles": "{root}/way/way/way/way/secret/key.txt",
    "relative": "work/link/deep/key.txt",
    "percent": "{root}/work/l%69nk/key.txt",
}


@attacks_each("link", categories.LINKS, "links are followed before the path is compared", _LINKS)
def link_to_denied(bench: Bench, path: str) -> None:
    """The call is refused both where only a deny stands in the way and where an allow is needed."""
    bench.refuses_call("echo", {"text": bench.fill_in(path)})
    bench.refuses_call("read_file", {"path": bench.fill_in(path)})


_UNRESOLVABLE = {
    "loop": "{root}/work/loop",
    "inside-a-loop": "{root}/work/loop/file.txt",
    "nul": "{root}/work/plain.txt\0.png",
    "too-long": "{root}/work/" + "n" * 5000,
    "too-deep": "{root}/work" + "/d" * 5000,
    "link-out-and-up": "{root}/work/link/..",
    "hidden-character": "{root}/work/pl\N{ZERO WIDTH SPACE}ain.txt",
}


@attacks_each(
    "unresolvable",
    categories.LINKS,
    "what cannot be resolved is never allowed by a path",
    _UNRESOLVABLE,
)
def hard_to_resolve(bench: Bench, path: str) -> None:
    _require_allowed(bench)
    bench.refuses_call("read_file", {"path": bench.fill_in(path)})


@attack("link-through-proc", categories.LINKS, "links are followed before the path is compared")
def through_proc(bench: Bench) -> None:
    """Where the system has such a door, it leads to the same files."""
    door = "/proc/self/root" if Path("/proc/self/root").exists() else ""
    bench.refuses_call("echo", {"text": f"{door}{bench.secret}"})


@attack("link-made-meanwhile", categories.LINKS, "the path is judged as the server will find it")
def link_made_meanwhile(bench: Bench) -> None:
    """Two calls at once: one makes a link, the other reads through it."""
    since = bench.mark()
    link = bench.fill_in(f"{{root}}/work/made-{bench.token()}")
    making = {"do": "link", "data": b64encode(f"../secret\n{link}".encode()).decode()}
    calls = [("act", making), ("read_file", {"path": f"{link}/key.txt"})]
    lines: list[bytes] = []
    ids = [bench.new_id() for _ in calls]
    for id, (name, arguments) in zip(ids, calls, strict=True):
        params = {"name": name, "arguments": arguments}
        lines.append(json.dumps(bench.message("tools/call", params, id)).encode())
    bench.write(b"\n".join([*lines, b""]))
    answer = bench.reply(ids[-1])
    bench.unseen(since, CANARY)
    require_clear_error(answer)


_FULLWIDTH = "".join(chr(ord(letter) + 0xFEE0) for letter in "secret")
_FOLDED = {
    "upper-case": "{root}/SECRET/KEY.TXT",
    "mixed-case": "{root}/sEcReT/key.txt",
    "fullwidth": f"{{root}}/{_FULLWIDTH}/key.txt",
    "fullwidth-slash": "{root}\N{FULLWIDTH SOLIDUS}secret\N{FULLWIDTH SOLIDUS}key.txt",
    "fullwidth-dots": "{root}/work/\N{FULLWIDTH FULL STOP}\N{FULLWIDTH FULL STOP}/secret/key.txt",
    "fullwidth-percent": "{root}/\N{FULLWIDTH PERCENT SIGN}73ecret/key.txt",
    "fullwidth-backslash": "{root}\N{FULLWIDTH REVERSE SOLIDUS}secret/key.txt",
    "division-slash": "{root}\N{DIVISION SLASH}secret\N{DIVISION SLASH}key.txt",
    "two-dot-leader": "{root}/work/\N{TWO DOT LEADER}/secret/key.txt",
    "cyrillic": "{root}/s\N{CYRILLIC SMALL LETTER IE}cret/key.txt",
    "cyrillic-capital": "{root}/\N{CYRILLIC CAPITAL LETTER DZE}ecret/key.txt",
    "long-s": "{root}/\N{LATIN SMALL LETTER LONG S}ecret/key.txt",
    "mathematical": "{root}/\N{MATHEMATICAL BOLD SMALL S}ecret/key.txt",
    "zero-width": "{root}/sec\N{ZERO WIDTH SPACE}ret/key.txt",
    "zero-width-joiner": "{root}/sec\N{ZERO WIDTH JOINER}ret/key.txt",
    "soft-hyphen": "{root}/sec\N{SOFT HYPHEN}ret/key.txt",
    "bidi": "{root}/sec\N{RIGHT-TO-LEFT OVERRIDE}ret/key.txt",
    "tag-characters": "{root}/sec\N{TAG LATIN SMALL LETTER X}ret/key.txt",
    "byte-order-mark": "\N{ZERO WIDTH NO-BREAK SPACE}{root}/secret/key.txt",
    "percent": "{root}/%73ecret/key.txt",
    "percent-slash": "{root}%2fsecret%2Fkey.txt",
    "percent-twice": "{root}/%2573ecret/key.txt",
    "percent-many-times": "{root}/%25252525252573ecret/key.txt",
    "percent-dotdot": "{root}/work/%2e%2e/secret/key.txt",
    "percent-backslash": "{root}%5csecret%5ckey.txt",
    "percent-and-case": "{root}/%53ECRET/key.txt",
    "percent-of-percent": "{root}/%25%37%33ecret/key.txt",
    "percent-fullwidth": f"{{root}}/{quote(_FULLWIDTH)}/key.txt",
    "percent-zero-width": "{root}/%53e%E2%80%8Bcret/key.txt",
    "file-url": "file://{root}/secret/key.txt",
    "file-url-case": "FiLe://{root}/secret/key.txt",
    "file-url-host": "file://localhost{root}/secret/key.txt",
    "file-url-one-slash": "file:{root}/secret/key.txt",
    "file-url-percent": "file://{root}/%73ecret/key.txt",
    "file-url-dotdot": "file://{root}/work/../secret/key.txt",
    "file-url-query": "file://{root}/secret/key.txt?x=1#y",
    "file-url-address": "file://127.0.0.1{root}/secret/key.txt",
    "file-url-user": "file://user:word@host{root}/secret/key.txt",
    "file-url-slashes": "file:////{root}/secret/key.txt",
    "file-url-backslashes": "file:\\\\{root}\\secret\\key.txt",
    "file-url-percent-scheme": "file%3A//{root}/secret/key.txt",
    "file-url-tab": "file://{root}/sec\tret/key.txt",
    "file-url-newline": "fi\nle://{root}/secret/key.txt",
    "file-url-twice": "file://file://{root}/secret/key.txt",
    "decomposed": unicodedata.normalize("NFD", f"{{root}}/{ACCENTED}/key.txt"),
    "composed-upper-case": f"{{root}}/{ACCENTED.upper()}/key.txt",
}


@attacks_each("folded", categories.FOLDING, _DENIED, _FOLDED)
def folded_spelling(bench: Bench, path: str) -> None:
    bench.refuses_call("echo", {"text": bench.fill_in(path)})


_WRAPPED = {
    "option": "--file={root}/secret/key.txt",
    "short-option": "-f={root}/secret/key.txt",
    "at": "@{root}/secret/key.txt",
    "field-at": "body=@{root}/secret/key.txt",
    "angle-brackets": "<file://{root}/secret/key.txt>",
    "url-prefix": "URL:file://{root}/secret/key.txt",
    "both": "<URL:file://{root}/secret/key.txt>",
    "quotes": "'{root}/secret/key.txt'",
    "revision": "HEAD:secret/key.txt",
    "remote-revision": "origin/main:./secret/key.txt",
    "host": "user@host:{root}/secret/key.txt",
    "archive": "jar:file://{root}/secret/key.txt!/x",
    "question-mark": "{root}/s?cret/key.txt",
    "star": "{root}/sec*/key.txt",
    "class": "{root}/[s]ecret/key.txt",
    "braces": "{root}/{secret,other}/key.txt",
    "option-and-star": "--file={root}/secre*/k*",
    "option-long": "--file={root}/" + "./" * 3000 + "secret/key.txt",
}


@attacks_each("wrapped", categories.WRAPPED, _DENIED, _WRAPPED)
def wrapped_path(bench: Bench, path: str) -> None:
    bench.refuses_call("echo", {"text": bench.fill_in(path)})


_NAMES = {
    "plain": "tool_shell",
    "upper-case": "TOOL_SHELL",
    "mixed-case": "tool_Shell",
    "fullwidth": "tool_\N{FULLWIDTH LATIN SMALL LETTER S}hell",
    "cyrillic": "tool_sh\N{CYRILLIC SMALL LETTER IE}ll",
    "zero-width": "tool_sh\N{ZERO WIDTH SPACE}ell",
    "zero-width-at-the-end": "tool_shell\N{ZERO WIDTH NON-JOINER}",
    "spaces": " tool_shell ",
    "control": "tool_shell\x00",
}


@attacks_each(
    "name", categories.FOLDING, "a tool denied by its name is denied by any look-alike", _NAMES
)
def folded_tool_name(bench: Bench, name: str) -> None:
    """Its neighbours `tool_*` are allowed."""
    bench.refuses_call(name, {})
