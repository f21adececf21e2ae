"""The quick look at a long text: it may let too much through to be read, never too little."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clawkit.guard.policy.patterns import denied_globs
from clawkit.guard.policy.policy import Paths
from clawkit.guard.policy.prefilter import Prefilter, gists
from clawkit.guard.policy.readings import Reader
from tests.guard.policy.decisions import action, deny

LINKS = 4096
FILLER = "lorem ipsum dolor sit amet " * 200
PADDING = "./" * 3000
PATTERNS = (
    *("/etc/**", "**/.ssh/**", "**/*.pem", "**/id_rsa*", "**/.env", "~/notes/**", "data/private/*"),
    *("*rm -rf*", "** drop table **", "secret?key", "C:/Windows/**", "\\\\host\\share\\**"),
    *(
        "http://10.0.0.1/**",
        "https://*.example.com/**",
        "note:secret**",
        "*caf\u00e9*",
        "pr\u0456v*",
    ),
    *(
        "lorem*secret",
        "secret*amet",
        "**/project/secret",
        "etc",
        "***.key",
        "/home/user/project/k/**",
    ),
)
PLACES = (
    Paths(),
    Paths(cwd="/home/user/project", home="/home/user"),
    Paths(cwd="/", home="/root", resolve=True),
    Paths(cwd="/etc", home="/secret"),
)
NAMES = (
    *("etc", "passwd", ".ssh", "key.pem", "id_rsa", ".env", "notes", "data", "private", "x.key"),
    *(
        "rm -rf /",
        " drop table ",
        "secret",
        "secretXkey",
        "Windows",
        "host",
        "share",
        "k",
        "project",
    ),
    *("http://10.0.0.1/", "http://0xa000001/", "https://a.example.com/", "file:", "note:"),
    *(
        "caf\u00e9",
        "cafe\u0301",
        "priv",
        "pr\u0456v",
        "SECRET",
        "\uff53ecret",
        "s\u200becret",
        "sec\nret",
    ),
)
SIGNS = (
    *(
        "/",
        "\\",
        "//",
        "/./",
        "/../",
        "..",
        ".",
        "~",
        "~/",
        "~root/",
        " ",
        "\n",
        "\t",
        "\0",
        "\x08",
    ),
    *("--file=", "=", "<", ">", "'", "HEAD:", "URL:", "jar:file:///", "[::1]", "?", "*"),
    *("%2f", "%2e", "%252f", "%u002f", "%", "$HOME/", "${HOME}", "$", ":", "C:", "//?/", "@", "#"),
    *("\u2215", "\uff0f", "\u2026", "\u0301", "\u200b", "\ud800", "\uff9e", "\u00a0", "\u2028"),
)
PARTS = st.lists(st.sampled_from((*NAMES, *SIGNS, *SIGNS)), max_size=10)


@settings(max_examples=4 * settings().max_examples)
@given(
    before=PARTS,
    middle=PARTS,
    after=PARTS,
    filled=st.sampled_from(["before", "after", "between"]),
    place=st.sampled_from(PLACES),
)
def test_what_matches_in_any_reading_is_read(
    before: list[str], middle: list[str], after: list[str], filled: str, place: Paths
) -> None:
    parts = {"before": (FILLER, ""), "after": ("", FILLER), "between": ("", "")}[filled]
    inner = FILLER if filled == "between" else ""
    text = "".join((parts[0], *before, *middle, inner, *after, parts[1]))
    reader = Reader(place)
    globs = {pattern: denied_globs(pattern, reader) for pattern in PATTERNS}
    readings = list(reader.denied(text))
    found = gists(text, LINKS)
    for pattern, spellings in globs.items():
        matches = [r for r in readings if any(glob.matches(r) for glob in spellings)]
        if matches and found is not None:
            assert Prefilter(spellings, reader.cwd or "").may_match(found), (pattern, text)


@pytest.mark.parametrize(
    "text",
    [
        FILLER,
        f"# {FILLER}\n\tx = 'a\\n' # 50 %, $5 \u2026 {FILLER}",
        f"import x from '../../lib/y'\n{FILLER}",
        f"Note: {FILLER}\n{FILLER}",
        f"Gr\u00fc\u00dfe aus K\u00f6ln. {FILLER}",
    ],
)
def test_ordinary_text_is_not_read_in_every_way(text: str) -> None:
    reader = Reader(PLACES[1])
    globs = [glob for pattern in PATTERNS[:7] for glob in denied_globs(pattern, reader)]
    found = gists(text, LINKS)
    assert found is not None
    assert not Prefilter(globs, "/home/user/project").may_match(found)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("/etc/**", f"/etc\0{FILLER}"),
        ("/work/secret", f"\uff53ecret\0{FILLER}"),
        ("*secret*", f"\u00fc{FILLER}sec\x08ret"),
        ("lorem*secret", f"\x08/../lorem {FILLER}SECRET\uff0f\t"),
        ("/home/user/**", f"~/{FILLER}"),
        ("/home/user/**", f"//?/~/{FILLER}"),
        ("**/user/x", f"{FILLER}/$HOME/x"),
        ("**/userdata/**", f"{FILLER}/${{HOME}}data/x"),
        ("note:secret**", f"Note:sec\nret{FILLER}"),
        ("*caf\u00e9*", f"{FILLER}cafe\u0301{FILLER}"),
        ("http://10.0.0.1/**", f"http://0xa000001/{FILLER}"),
        ("http://10.0.0.1/**", f"{' ' * 9000}http://0xa000001/{FILLER}"),
        ("/home/user/**", f"\u1680~/{FILLER}"),
        ("/home/user/**", f"\u200b\u1680~/{FILLER}"),
        ("/etc/**", f"file:  etc/{FILLER}"),
        ("**/etc/**", f"{FILLER}%2fetc%2f"),
        ("**/etc/**", f"{FILLER}%u002fet\u0441/"),
        ("**/etc/**", f"{FILLER}\\ETC\u2215{FILLER}"),
        ("/work/**", f"a/{FILLER}"),
        ("/etc/**", f"--file=/etc/{FILLER}"),
        ("**/private/**", f"HEAD:private/{FILLER}"),
        ("**/private/**", f"HEAD:pri\nvate/{FILLER}"),
        ("secret*amet", f"HEAD:sec\nret{FILLER}".strip()),
        ("**/private/**", f"\uff28\u0415AD\uff1apriv\u200bate/{FILLER}"),
        ("/etc/**", f"<URL:file:///etc/{FILLER}>"),
        ("/etc/**", f"/e?c/{PADDING}passwd"),
        ("/etc/**", f"\uff0fe\uff1fc/{PADDING}passwd"),
        ("**/private/**", f"x/{{priv,y}}ate/{PADDING}passwd"),
        ("** x", f"{FILLER}/ x\n"),
    ],
)
def test_a_long_text_matches_as_a_short_one_does(pattern: str, text: str) -> None:
    place = Paths(cwd="/work", home="/home/user")
    for value in (text, text.replace(FILLER, "").replace(PADDING, "")):
        assert action(deny(pattern), {"text": value}, paths=place) == "deny"


def test_a_long_way_to_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "link").symlink_to("secret")
    place = Paths(cwd=str(tmp_path), resolve=True)
    rules = deny(f"{tmp_path}/secret/**")
    padding = ("x" * 250 + "/../") * 40
    folder = "x" * 9000
    for path in (
        f"{padding}link/key",
        f"{'./' * 4000}link/key",
        f"{' ' * 9000}link/key",
        f"{folder}/../link/key",
        f"{folder}\\x/../link/key",
        f"{folder}\\x\u2215..\u2215link/key",
    ):
        assert action(rules, {"path": path}, paths=place) == "deny", path[:20]


def test_text_in_text_is_looked_at_too() -> None:
    rules = deny("**/.ssh/**")
    inner = json.dumps({"text": FILLER, "paths": ["a/.ssh/b"]})
    assert action(rules, {"body": inner}) == "deny"


def test_an_escape_is_seen_behind_many_signs_that_are_none() -> None:
    for percents in (0, 1, 15, 16, 17, 100):
        signs = f"{FILLER}{'100% of ' * percents}"
        assert gists(signs, LINKS) is not None
        assert gists(f"{signs}%2e", LINKS) is None
