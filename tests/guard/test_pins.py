"""Pins: what a server's tools are compared with, and which are kept away."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from clawkit.errors import PinError
from clawkit.guard.pins import Pins, Sifted, pin_file, pinned_servers


def tool(name: str, description: str = "does it", **more: Any) -> dict[str, Any]:
    return {"name": name, "description": description, "inputSchema": {"type": "object"}, **more}


def kept(sifted: Sifted) -> list[str]:
    return [each["name"] for each in sifted.kept]


def held(sifted: Sifted) -> list[str]:
    return [name for name, _ in sifted.quarantined]


READ, WRITE = tool("read"), tool("write")


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "data" / "pins"


@pytest.fixture
def pins(directory: Path) -> Pins:
    """A server that was seen once, with two tools."""
    pins = Pins(directory, "files")
    pins.sift([READ, WRITE])
    return pins


def test_all_tools_are_accepted_at_first_sight(directory: Path) -> None:
    pins = Pins(directory, "files")
    assert pins.quarantined("read") is None
    assert pins.digest("read") == ""
    assert pins.sift([READ, WRITE]) == Sifted([READ, WRITE])
    assert pins.quarantined("read") is None
    assert len(pins.digest("read")) == 64
    assert pins.digest("read") != pins.digest("write")


def test_the_same_tools_pass_again_in_any_order(pins: Pins, directory: Path) -> None:
    turned = dict(reversed(READ.items()))
    assert pins.sift([WRITE, turned]) == Sifted([WRITE, turned])
    assert Pins(directory, "files").sift([READ]) == Sifted([READ])


def test_nothing_is_written_when_nothing_changed(pins: Pins, directory: Path) -> None:
    before = pin_file(directory, "files").stat()
    pins.sift([READ, WRITE])
    after = pin_file(directory, "files").stat()
    assert (after.st_mtime_ns, after.st_ino) == (before.st_mtime_ns, before.st_ino)


@pytest.mark.parametrize(
    "changed",
    [
        tool("read", "does something else"),
        tool("read", annotations={"readOnlyHint": True}),
        tool("read", _meta={"x": 1}),
        tool("read", icons=[{"src": "https://example.com/i.png"}]),
        tool("read", outputSchema={"type": "object"}),
        {**READ, "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}}},
        {"name": "read"},
    ],
    ids=["description", "annotations", "meta", "icons", "output", "input", "less"],
)
def test_a_tool_that_changes_is_kept_away(pins: Pins, changed: dict[str, Any]) -> None:
    digest = pins.digest("read")
    sifted = pins.sift([changed, WRITE])
    assert kept(sifted) == ["write"]
    assert held(sifted) == ["read"]
    assert "has changed" in sifted.quarantined[0][1]
    assert "claw pins accept 'files' 'read'" in (pins.quarantined("read") or "")
    assert pins.quarantined("write") is None
    assert pins.digest("read") == digest


def test_one_and_true_are_not_the_same(directory: Path) -> None:
    pins = Pins(directory, "files")
    pins.sift([tool("read", x=1)])
    assert held(pins.sift([tool("read", x=True)])) == ["read"]
    pending = pins.tools()["read"].pending
    assert pending is not None
    assert pending["x"] is True
    assert held(pins.sift([tool("read", x=1.0)])) == ["read"]
    assert json.dumps(pins.tools()["read"].pending) == json.dumps(tool("read", x=1.0))


def test_a_tool_that_changes_back_is_free_again(pins: Pins) -> None:
    pins.sift([tool("read", "evil"), WRITE])
    assert pins.quarantined("read") is not None
    assert pins.sift([READ, WRITE]) == Sifted([READ, WRITE])
    assert pins.quarantined("read") is None


def test_what_a_person_accepts_is_the_new_pin(pins: Pins) -> None:
    changed = tool("read", "better")
    pins.sift([changed])
    pins.accept("read", changed)
    assert pins.quarantined("read") is None
    assert pins.sift([changed]) == Sifted([changed])
    assert held(pins.sift([READ])) == ["read"]


def test_only_what_was_shown_is_accepted(pins: Pins) -> None:
    pins.sift([tool("read", "better")])
    pins.sift([tool("read", "worse")])
    with pytest.raises(PinError, match="changed again"):
        pins.accept("read", tool("read", "better"))
    with pytest.raises(PinError, match="nothing waits"):
        pins.accept("write", WRITE)
    assert pins.quarantined("read") is not None


def test_a_new_tool_is_named_and_passes(pins: Pins) -> None:
    new = tool("search")
    assert pins.sift([READ, WRITE, new]) == Sifted([READ, WRITE, new], new=("search",))
    assert pins.sift([READ, WRITE, new]) == Sifted([READ, WRITE, new])


def test_a_tool_that_disappears_stays_pinned(pins: Pins) -> None:
    pins.sift([WRITE])
    assert held(pins.sift([tool("read", "back, but another")])) == ["read"]


@pytest.mark.parametrize(
    "name",
    ["READ", "re\u200bad", "re\u0430d", "\uff52ead", "read\u202e", "re\u00adad"],
    ids=["case", "zero-width", "cyrillic", "fullwidth", "bidi", "soft-hyphen"],
)
def test_a_name_that_looks_like_another_is_kept_away(
    pins: Pins, directory: Path, name: str
) -> None:
    twin = tool(name)
    assert kept(pins.sift([READ, twin])) == ["read"]
    assert pins.quarantined(name) is not None
    assert pins.quarantined("read") is None
    first = Pins(directory, "another")
    sifted = first.sift([READ, twin])
    assert kept(sifted) == ["read"]
    assert held(sifted) == [name]
    assert held(first.sift([twin])) == [name]


def test_a_call_by_a_name_that_looks_like_one_in_quarantine_is_refused(pins: Pins) -> None:
    pins.sift([tool("read", "evil")])
    assert pins.quarantined("Read") is not None
    assert pins.quarantined("unknown") is None


def test_of_two_tools_with_one_name_the_first_passes(directory: Path) -> None:
    pins = Pins(directory, "files")
    sifted = pins.sift([READ, tool("read", "evil"), WRITE])
    assert sifted.kept == [READ, WRITE]
    assert held(sifted) == ["read"]
    assert pins.quarantined("read") is None
    sifted = pins.sift([tool("read", "evil"), READ])
    assert sifted.kept == [READ]
    assert pins.quarantined("read") is None


def test_a_second_tool_of_a_name_on_the_next_page_is_kept_away(directory: Path) -> None:
    pins = Pins(directory, "files")
    pins.sift([READ])
    assert pins.sift([tool("read", "evil"), WRITE], first_page=False).kept == [WRITE]
    assert pins.quarantined("read") is not None


def test_the_same_page_can_be_asked_for_again(directory: Path) -> None:
    pins = Pins(directory, "files")
    for _ in range(2):
        assert pins.sift([READ]).kept == [READ]
        assert pins.sift([WRITE], first_page=False).kept == [WRITE]


def test_a_tool_without_a_name_is_kept_away(pins: Pins) -> None:
    assert pins.sift([{"description": "?"}, READ]).kept == [READ]


def test_two_servers_may_have_a_tool_of_the_same_name_from_the_start(
    pins: Pins, directory: Path
) -> None:
    other = Pins(directory, "web")
    mine = tool("read", "reads pages")
    assert other.sift([mine]) == Sifted([mine])
    assert pins.sift([READ, WRITE]) == Sifted([READ, WRITE])


@pytest.mark.parametrize("name", ["read", "Read", "re\u0430d"])
def test_a_new_tool_may_not_take_the_name_of_another_servers_tool(
    pins: Pins, directory: Path, name: str
) -> None:
    other = Pins(directory, "web")
    other.sift([tool("fetch")])
    sifted = other.sift([tool("fetch"), tool(name, "reads, and more")])
    assert kept(sifted) == ["fetch"]
    assert "of the server 'files'" in sifted.quarantined[0][1]
    assert pins.quarantined("read") is None


def test_the_very_same_tool_of_another_server_is_no_shadow(pins: Pins, directory: Path) -> None:
    assert pins.server == "files"
    other = Pins(directory, "files-again")
    other.sift([WRITE])
    assert other.sift([WRITE, READ]) == Sifted([WRITE, READ], new=("read",))


def test_every_page_of_the_first_list_is_first_sight(pins: Pins, directory: Path) -> None:
    assert pins.server == "files"
    other = Pins(directory, "web")
    mine, late = tool("read", "pages"), tool("write", "pages")
    assert other.sift([tool("fetch")]) == Sifted([tool("fetch")])
    assert other.sift([mine], first_page=False) == Sifted([mine])
    assert held(other.sift([tool("fetch"), mine, late])) == ["write"]


def test_a_server_that_is_forgotten_is_seen_for_the_first_time(pins: Pins, directory: Path) -> None:
    pins.sift([tool("read", "evil")])
    assert Pins(directory, "files").forget()
    assert not Pins(directory, "files").forget()
    assert pins.quarantined("read") is None
    assert pins.sift([tool("read", "evil")]) == Sifted([tool("read", "evil")])


def test_files_are_for_their_owner_only(pins: Pins, directory: Path) -> None:
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    for file in directory.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert pins.server


def test_names_of_servers_are_kept_apart_and_inside_the_directory(directory: Path) -> None:
    names = ["files", "Files", "fi/les", "../files", "", "文件", "x" * 300, "a\u0000b"]
    files = {pin_file(directory, name) for name in names}
    assert len(files) == len(names)
    assert all(file.parent == directory and len(file.name) < 64 for file in files)
    for name in names:
        Pins(directory, name).sift([READ])
    assert {found.server for found in pinned_servers(directory)} == set(names)


def test_servers_are_listed_with_what_is_in_quarantine(pins: Pins, directory: Path) -> None:
    pins.sift([tool("read", "evil")])
    (found,) = pinned_servers(directory)
    assert (found.server, found.tools, found.quarantined) == ("files", 2, ("read",))
    assert pinned_servers(directory / "nowhere") == ()


BROKEN = [
    "",
    "{",
    "[]",
    '{"server": "files"}',
    '{"server": "web", "tools": {}}',
    "[" * 100_000,
    '{"server":"files","tools":{"read":3}}',
]


@pytest.mark.parametrize("content", BROKEN, ids=[text[:24] or "empty" for text in BROKEN])
def test_pins_that_cannot_be_read_let_nothing_pass(
    pins: Pins, directory: Path, content: str
) -> None:
    file = pin_file(directory, "files")
    file.write_text(content)
    for use in (
        lambda: pins.sift([READ]),
        lambda: pins.quarantined("read"),
        lambda: pins.digest("read"),
        pins.tools,
    ):
        with pytest.raises(PinError, match=r"files-[0-9a-f]{8}\.json: cannot be used: .*repair it"):
            use()
    assert pins.forget()
    assert pins.sift([READ]) == Sifted([READ])


def test_pins_that_cannot_be_written_let_nothing_pass(tmp_path: Path) -> None:
    (tmp_path / "pins").write_text("in the way")
    with pytest.raises(PinError, match="Not a directory"):
        Pins(tmp_path / "pins", "files").sift([READ])
