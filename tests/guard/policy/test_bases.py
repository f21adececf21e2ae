"""Relative paths, where the server may start from another directory than the one it runs in."""

from __future__ import annotations

from pathlib import Path

import pytest

from clawkit.guard.policy.call import Call
from clawkit.guard.policy.matcher import RuleMatcher
from clawkit.guard.policy.paths import Paths, directories
from tests.guard.policy.decisions import SERVERS, action, allow, deny, on_path

HOME = "/home/user"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for folder in ("projects/src", "private"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "projects" / ".env").touch()
    (tmp_path / "projects" / "src" / "link.txt").symlink_to("../.env")
    return tmp_path


def at(cwd: Path | str, *bases: Path | str) -> Paths:
    return Paths(cwd=str(cwd), home=HOME, resolve=True, bases=tuple(map(str, bases)))


def test_an_allow_must_hold_from_every_directory(root: Path) -> None:
    rules, projects = allow(f"{root}/projects/**"), root / "projects"
    assert on_path(rules, "private/diary.txt", at(projects)) == "allow"
    assert on_path(rules, "private/diary.txt", at(projects, root)) == "deny"
    assert on_path(rules, f"{projects}/x", at(projects, root)) == "allow"
    assert on_path(rules, "x/../y", at(projects, projects / "src")) == "deny"
    assert on_path(rules, "x", at(projects, projects / "src")) == "allow"
    assert on_path(rules, "../private", at(projects / "src", projects)) == "deny"


@pytest.mark.parametrize("path", ["etc/passwd", "./etc/passwd", "x/../etc/passwd", "ETC"])
def test_a_deny_holds_from_any_directory(path: str) -> None:
    assert on_path(deny("/etc/**"), path, at("/tmp")) == "allow"
    assert on_path(deny("/etc/**"), path, at("/tmp", "/usr", "/")) == "deny"


def test_links_are_followed_from_every_directory(root: Path) -> None:
    place = at(root, root / "projects")
    assert on_path(deny("**/.env"), "src/link.txt", at(root)) == "allow"
    for _ in range(3):  # what is remembered of a text is right too
        assert on_path(deny("**/.env"), "src/link.txt", place) == "deny"
    (root / "projects" / "later").symlink_to("../private")
    assert on_path(allow(f"{root}/projects/**"), "later/x", place) == "deny"


def test_a_directory_that_is_a_link_is_followed_as_it_was_and_as_it_is(root: Path) -> None:
    link = root / "current"
    link.symlink_to("private")
    call = Call("tools/call", "read", {"path": "key"})
    matchers = {
        name: RuleMatcher(deny(f"{root}/{name}/key").rules, at("/tmp", link), links_hold=0)
        for name in ("private", "projects")
    }
    rules, place = allow(f"{root}/projects/**"), at(root / "projects", link)
    assert matchers["private"].first(call, SERVERS, None) == 0
    assert matchers["projects"].first(call, SERVERS, None) == 1
    assert on_path(rules, "key", place) == "deny"
    link.unlink()
    link.symlink_to("projects")
    assert matchers["private"].first(call, SERVERS, None) == 0
    assert matchers["projects"].first(call, SERVERS, None) == 0
    assert on_path(rules, "key", place) == "deny"
    assert on_path(allow(f"{root}/projects/**"), "key", place) == "allow"


@pytest.mark.parametrize("pattern", ["**/hidden/**", "/work/hidden/**", "/work/hidden/xx**"])
def test_a_long_text_is_read_from_every_directory(pattern: str) -> None:
    place = Paths(cwd="/elsewhere", home=HOME, bases=("/usr", "/work/hidden"))
    assert action(deny(pattern), {"text": "x" * 9000}, paths=place) == "deny"


def test_the_directories_that_a_command_names_are_found(root: Path) -> None:
    (root / "with space").mkdir()
    words = [
        "-y",
        "@scope/server",
        "private",
        f"--root={root}/projects",
        f"{root}/projects/src:/data",
        f"cd '{root}/projects/..' && exec serve",
        f"file://{root}/with%20space",
        "~/private",
        "no/such/folder",
        "",
    ]
    found = directories(words, str(root), str(root))
    assert {str(Path(path).resolve().relative_to(root.resolve())) for path in found} == {
        *("private", "projects", "projects/src", ".", "with space")
    }
