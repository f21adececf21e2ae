"""What holds for every value, not only for those that somebody thought of."""

from __future__ import annotations

import posixpath
import random
from typing import Any
from urllib.parse import quote, unquote

from hypothesis import given
from hypothesis import strategies as st

from clawkit.guard.policy.call import Call
from clawkit.guard.policy.policy import Paths
from tests.guard.policy.decisions import SERVERS, TEXT_ONLY, allow, deny, on_path, policy

RULES = policy(
    'action = "deny"\ntool = "*"\nargs."*" = ["/etc/**", "**/.ssh/**", "http://10.0.0.1/**", "22"]',
    'action = "prompt"\ntool = "*"\nargs.a.b = "*x*"',
    'action = "allow"\ntool = "r*"\nargs.path = ["/w/**", "./d/**", "~/n/**", "https://g/**"]',
    'action = "allow"\ntool = "*"\nargs."*" = "5"',
)
CWD = "/home/user/project"
PLACES = [
    Paths(),
    Paths(cwd=CWD, home="/home/user"),
    Paths(cwd="/", home="/root", resolve=True),
    Paths(cwd="/nowhere/at all", resolve=True),
]
TRICKS = st.sampled_from(
    [
        *(
            "/",
            "\\",
            "..",
            ".",
            "~",
            "%2e",
            "%2F",
            "%",
            "%25",
            "file:",
            "//",
            "//?/",
            "\0",
            "$HOME",
        ),
        *(
            "http://",
            "@",
            "#",
            "?",
            ":",
            "C:",
            "etc",
            "w",
            "home",
            "user",
            "project",
            "{",
            "}",
            "[",
        ),
        *(
            '"',
            " ",
            "\ud800",
            "\u0130",
            "\ufdfa",
            "\u0301",
            "\u200b",
            "\uff0f",
            "\n",
            "~root",
            "1e5",
        ),
    ]
)
TEXTS = st.one_of(st.text(st.characters(), max_size=30), st.lists(TRICKS, max_size=12).map("".join))
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXTS)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)),
    max_leaves=12,
)
ARGUMENTS = st.dictionaries(st.one_of(st.sampled_from(["path", "a"]), TEXTS), VALUES, max_size=4)
SEGMENTS = st.lists(st.sampled_from(["work", "a", "..", ".", "", "secret", "..."]), max_size=8)


@given(arguments=ARGUMENTS, tool=st.one_of(st.just("read"), TEXTS), place=st.sampled_from(PLACES))
def test_every_call_gets_a_decision(arguments: dict[str, Any], tool: str, place: Paths) -> None:
    decision = RULES.decide(Call("tools/call", tool, arguments), SERVERS, place)
    assert decision.action in {"allow", "deny", "prompt"}


@given(pattern=TEXTS.filter(bool), value=TEXTS, place=st.sampled_from(PLACES))
def test_every_pattern_can_be_used(pattern: str, value: str, place: Paths) -> None:
    writable = pattern.encode("utf-8", "replace").decode()
    toml = "".join(f"\\U{ord(letter):08X}" for letter in writable)
    for action in ("allow", "deny"):
        rules = policy(
            f'action = "{action}"\ntool = "{toml}"\nargs.x = "{toml}"\nserver = "{toml}"'
        )
        rules.decide(Call("tools/call", writable, {"x": value}), (writable,), place)


@given(
    segments=SEGMENTS,
    escaped=st.booleans(),
    backwards=st.booleans(),
    start=st.sampled_from(["/", "", "file:///"]),
)
def test_what_is_allowed_is_inside(
    segments: list[str], escaped: bool, backwards: bool, start: str
) -> None:
    path = start + "/".join(segments)
    written = quote(path, safe="/:").replace(".", "%2e") if escaped else path
    written = written.replace("/", "\\") if backwards else written
    place = Paths(cwd="/work")
    if on_path(allow("/work/**"), written, place) == "allow":
        plain = unquote(written).replace("\\", "/").removeprefix("file:")
        real = posixpath.normpath(posixpath.join("/work", plain))
        assert ("/" + real.lstrip("/")).startswith("/work/")


@given(segments=SEGMENTS, seed=st.randoms(use_true_random=False))
def test_no_spelling_of_a_denied_path_is_let_through(
    segments: list[str], seed: random.Random
) -> None:
    place = Paths(cwd="/work/a")
    start = "/".join(segments).lstrip("/")
    real = posixpath.normpath(posixpath.join("/work/a", start))
    path = f"{start or '.'}/{posixpath.relpath('/work/secret/key', real)}"
    written = "".join(disguised(letter, seed) for letter in path)
    assert on_path(deny("/work/secret/**"), written, place) == "deny"


@given(seed=st.randoms(use_true_random=False), place=st.sampled_from([TEXT_ONLY, PLACES[1]]))
def test_no_spelling_of_an_absolute_denied_path_is_let_through(
    seed: random.Random, place: Paths
) -> None:
    written = "".join(disguised(letter, seed) for letter in "/etc/./ssl/../shadow")
    for value in (written, f"file://{written}", [written], {"x": {written: 1}}):
        assert on_path(deny("/etc/**"), value, place) == "deny"


LOOKALIKES = {
    "e": "\u0435",
    "c": "\u0441",
    "s": "\u0455",
    "o": "\u043e",
    "a": "\u0430",
    "/": "\u2215",
}


def disguised(letter: str, seed: random.Random) -> str:
    """The same letter for a careless reader."""
    return seed.choice(
        [
            letter,
            letter.upper(),
            f"%{ord(letter):02x}",
            f"%25{ord(letter):02X}",
            chr(ord(letter) + 0xFEE0),
            letter + "\u200b",
            LOOKALIKES.get(letter, letter),
            "\\" if letter == "/" else letter,
        ]
    )
