"""Paths on a real disk: links are followed, what cannot be followed is not allowed."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from clawkit.guard.policy.call import Call
from clawkit.guard.policy.matcher import RuleMatcher
from clawkit.guard.policy.policy import Paths
from tests.guard.policy.decisions import SERVERS, action, allow, deny, on_path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A place with `work` and `secret`, and links between them."""
    place = (tmp_path / "root").resolve()
    for folder in ("work/sub", "secret"):
        (place / folder).mkdir(parents=True)
    (place / "secret" / "key").write_text("k")
    (place / "work" / "file").write_text("f")
    (place / "work" / "link").symlink_to(place / "secret")
    (place / "work" / "key").symlink_to("../secret/key")
    (place / "work" / "dangling").symlink_to(place / "secret" / "new")
    (place / "work" / "inner").symlink_to("sub")
    (place / "work" / "loop").symlink_to("loop")
    return place


@pytest.fixture
def paths(root: Path) -> Paths:
    return Paths(cwd=str(root / "work"), home=str(root), resolve=True)


LEADING_OUT = [
    "link",
    "link/key",
    "link/new",
    "key",
    "dangling",
    "sub/../link/key",
    "inner/../link/x",
]


@pytest.mark.parametrize("name", LEADING_OUT)
def test_a_link_into_a_denied_folder_is_denied(root: Path, paths: Paths, name: str) -> None:
    rules = deny(f"{root}/secret/**")
    assert on_path(rules, f"{root}/work/{name}", paths) == "deny"
    assert on_path(rules, name, paths) == "deny"
    assert on_path(rules, f"./{name}", paths) == "deny"
    assert on_path(rules, f"~/work/{name}", paths) == "deny"
    assert on_path(rules, f"file://{root}/work/{name}", paths) == "deny"
    assert action(rules, {"x": [{name: 1}]}, paths=paths) == "deny"


@pytest.mark.parametrize("name", LEADING_OUT)
def test_a_link_out_of_an_allowed_folder_is_not_allowed(
    root: Path, paths: Paths, name: str
) -> None:
    for pattern in (f"{root}/work/**", "~/work/**", "./**"):
        assert on_path(allow(pattern), f"{root}/work/{name}", paths) == "deny"
        assert on_path(allow(pattern), name, paths) == "deny"


@pytest.mark.parametrize(
    "name", ["file", "sub/new", "inner/new", "inner", "not/there/yet", "sub/../file"]
)
def test_what_stays_inside_is_allowed(root: Path, paths: Paths, name: str) -> None:
    for pattern in (f"{root}/work/**", "~/work/**", "./**"):
        assert on_path(allow(pattern), f"{root}/work/{name}", paths) == "allow"
        assert on_path(allow(pattern), name, paths) == "allow"


@pytest.mark.parametrize(
    "name", ["loop", "loop/x", "file/below", "a" * 300, "x/" * 3000, "bad\udc00\ud800name"]
)
def test_what_cannot_be_resolved_is_never_allowed(root: Path, paths: Paths, name: str) -> None:
    assert on_path(allow(f"{root}/work/**"), f"{root}/work/{name}", paths) == "deny"


def test_what_cannot_be_resolved_is_still_denied_by_its_text(root: Path, paths: Paths) -> None:
    for name in ("loop", "loop/x", "a" * 300, "x/" * 3000):
        assert on_path(deny(f"{root}/work/**"), f"{root}/work/{name}", paths) == "deny"


def test_climbing_out_of_a_link_is_read_in_both_ways(root: Path, paths: Paths) -> None:
    """By name it is `work/secret`, on the disk it is beside what the link leads to."""
    (root / "deep" / "down").mkdir(parents=True)
    (root / "deep" / "target").write_text("t")
    (root / "work" / "jump").symlink_to(root / "deep" / "down")
    climbing = f"{root}/work/jump/../target"
    assert on_path(deny(f"{root}/deep/**"), climbing, paths) == "deny"
    assert on_path(deny(f"{root}/work/target"), climbing, paths) == "deny"
    assert on_path(allow(f"{root}/work/**"), climbing, paths) == "deny"
    assert on_path(allow(f"{root}/deep/**"), climbing, paths) == "deny"


def test_a_pattern_that_goes_through_a_link_covers_what_it_leads_to(
    root: Path, paths: Paths
) -> None:
    alias = root / "alias"
    alias.symlink_to(root / "secret")
    for path in (f"{root}/secret/key", f"{alias}/key", "../secret/key", "link/key"):
        assert on_path(deny(f"{alias}/**"), path, paths) == "deny"
        assert on_path(allow(f"{alias}/**"), path, paths) == "allow"


def test_a_link_made_after_the_start_does_not_widen_what_is_allowed(
    root: Path, paths: Paths
) -> None:
    rules = allow(f"{root}/work/current/**")
    (root / "work" / "current").mkdir()
    assert on_path(rules, f"{root}/work/current/x", paths) == "allow"
    (root / "work" / "current").rmdir()
    (root / "work" / "current").symlink_to(root / "secret")
    assert on_path(rules, f"{root}/work/current/key", paths) == "deny"


def test_a_link_made_after_the_start_is_followed(root: Path, paths: Paths) -> None:
    rules = deny(f"{root}/secret/**")
    assert on_path(rules, "later", paths) == "allow"
    (root / "work" / "later").symlink_to(root / "secret")
    assert on_path(rules, "later", paths) == "deny"


def test_a_denied_folder_that_becomes_a_link_is_denied_where_it_leads(
    root: Path, paths: Paths
) -> None:
    matcher = RuleMatcher(deny(f"{root}/vault/**").rules, paths, links_hold=0)
    call = Call("tools/call", "read", {"path": f"{root}/secret/key"})
    assert matcher.first(call, SERVERS, None) == 1
    (root / "vault").symlink_to(root / "secret")
    assert matcher.first(call, SERVERS, None) == 0
    (root / "vault").unlink()
    assert matcher.first(call, SERVERS, None) == 1


def test_a_directory_reached_through_a_link_is_the_same_directory(root: Path) -> None:
    (root / "here").symlink_to(root / "work")
    paths = Paths(cwd=str(root / "here"), resolve=True)
    for name in ("file", f"{root}/here/file", f"{root}/work/file"):
        assert on_path(allow(f"{root}/work/**"), name, paths) == "allow"
        assert on_path(allow("./**"), name, paths) == "allow"
        assert on_path(deny(f"{root}/work/**"), name, paths) == "deny"
        assert on_path(deny("./file"), name, paths) == "deny"


def test_a_folder_called_tilde_is_not_taken_for_the_home(root: Path, paths: Paths) -> None:
    assert on_path(allow("~/work/**"), "~/work/file", paths) == "allow"
    (root / "work" / "~").symlink_to(root)
    assert on_path(allow("~/work/sub/**"), "~/work/sub/x", paths) == "allow"
    (root / "work" / "~").unlink()
    (root / "work" / "~").symlink_to("/")
    assert on_path(allow("~/work/sub/**"), "~/work/sub/x", paths) == "deny"


def test_the_home_of_another_person_is_followed(paths: Paths) -> None:
    home = os.path.expanduser("~root")  # noqa: PTH111 - the text is what the test is about
    assert on_path(deny(f"{home}/**"), "~root/x", paths) == "deny"
    assert on_path(deny(f"{home}/**"), "~nobody-of-this-name/x", paths) == "allow"
    assert on_path(deny(f"{home}/**"), "~a\0b", paths) == "allow"


def test_a_socket_is_a_path_like_any_other(root: Path, paths: Paths) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.relpath(root / "work" / "s"))
        assert on_path(allow(f"{root}/work/**"), "s", paths) == "allow"


def test_by_text_alone_no_disk_is_asked(root: Path) -> None:
    assert on_path(allow(f"{root}/work/**"), f"{root}/work/link/key", Paths()) == "allow"
    assert on_path(deny(f"{root}/secret/**"), f"{root}/work/link/key", Paths()) == "allow"


@pytest.mark.parametrize(
    "spelled",
    [
        "/proc/self/cwd/key",
        "/proc/thread-self/cwd/key",
        "//proc/./self//cwd/key",
        "/proc/self/task/1/cwd/key",
        "/proc/self/root/proc/self/cwd/key",
        "/proc/self/cwd/../secret/key",
        "/proc/self/cwd/../work/link/key",
        "file:///proc/self/cwd/key",
    ],
)
def test_the_directory_of_the_process_is_the_servers_and_not_the_guards(
    root: Path, spelled: str
) -> None:
    there = Paths(cwd=str(root / "secret"), home=str(root), resolve=True)
    assert on_path(deny("**/secret/**"), spelled, there) == "deny"
    assert on_path(allow(f"{root}/work/**"), spelled, there) == "deny"
