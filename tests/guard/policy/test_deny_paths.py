"""A path that is denied stays denied however it is written."""

from __future__ import annotations

import pytest

from clawkit.guard.policy.policy import Paths
from tests.guard.policy.decisions import IN_PROJECT, TEXT_ONLY, deny, on_path

SECRET = deny("/home/user/secret/**")


@pytest.mark.parametrize(
    "path",
    [
        "/home/user/secret/key",
        "/home/user/secret",
        "/home/user/secret/",
        "/home/user/secret/.",
        "/home/user/secret/a/..",
        "/home/user/project/../secret/key",
        "/home/user/./secret//key",
        "//home//user//secret//key",
        "/../../home/user/secret/key",
        "/home/user/secret/../secret/key",
        "\\home\\user\\secret\\key",
        "/home/user\\secret\\key",
        "/home/user/project/..\\secret/key",
        "/HOME/User/SECRET/Key",
        "/home/user/secret/key\0.txt",
        "/home/user/secret\0",
        " /home/user/secret/key",
        "/home/user/secret/key\n",
        "/home/user/%73ecret/key",
        "/home/user/%2e%2e/user/secret/key",
        "%2fhome%2fuser%2fsecret%2fkey",
        "%252fhome%252fuser%252fsecret",
        "%25252525252fhome/user/secret/x",
        "/home/user/project/%c0%ae%c0%ae%c0%afsecret/key",
        "/home/user/project/%u002e%u002e/secret/key",
        "file:///home/user/secret/key",
        "FILE:///home/user/secret/key",
        "file:/home/user/secret/key",
        "file://localhost/home/user/secret/key",
        "file://anywhere/home/user/secret/key",
        "file:////home/user/secret/key",
        "file:home/user/secret/key",
        "file:///home/user/secret/key?x=1",
        "file:///home/user/secret/key#part",
        "file:///home/user/%73ecret/key",
        "file:\\\\\\home\\user\\secret\\key",
        " file:///home/user/secret/key",
        "fi\tle:///home/user/secret/key",
        "\\\\?\\/home/user/secret/key",
        "/home/user/sec\u200bret/key",
        "/home/user/secret\u2060/key",
        "\ufeff/home/user/secret/key",
        "/home/user/\u202esecret/key",
        "/home/user/se\x1bcret/key",
        "/home/user/s\u0435cret/key",
        "/home/user/\uff53ecret/key",
        "\uff0fhome\uff0fuser\uff0fsecret",
        "/home/user/project/\uff0e\uff0e/secret/key",
        "/home\u2215user\u2044secret\u29f8key",
        "/home/user/project/\u2024\u2024/secret/key",
        "\uff05\u0032\uff46home/user/secret/x",
        "/home/user/\U0001d42c\U0001d41e\U0001d41c\U0001d42b\U0001d41e\U0001d42d/key",
        "/home/user/\u0455\u0435\u0441r\u0435t/k\u0435y",
    ],
)
@pytest.mark.parametrize("paths", [TEXT_ONLY, IN_PROJECT], ids=["text", "project"])
def test_another_spelling_of_a_denied_path_is_denied(path: str, paths: Paths) -> None:
    assert on_path(SECRET, path, paths) == "deny"


@pytest.mark.parametrize(
    "path",
    [
        "../secret",
        "../secret/key",
        "./../secret/key",
        "..\\secret",
        "a/../../secret",
        "%2e%2e/secret",
    ],
)
def test_a_relative_path_starts_in_the_directory_of_the_server(path: str) -> None:
    assert on_path(SECRET, path, IN_PROJECT) == "deny"


@pytest.mark.parametrize(
    "path",
    ["~/secret/key", "~/project/../secret", "$HOME/secret/key", "${HOME}/secret", "~\\secret"],
)
def test_the_home_is_where_it_is(path: str) -> None:
    assert on_path(SECRET, path, IN_PROJECT) == "deny"


@pytest.mark.parametrize("path", ["/home/user/secret/key", "~/secret/key", "../secret/key"])
def test_a_pattern_may_begin_at_home(path: str) -> None:
    assert on_path(deny("~/secret/**"), path, IN_PROJECT) == "deny"


@pytest.mark.parametrize(
    "path", ["keys/a", "./keys/a", "/home/user/project/keys/a", "x/../keys", "KEYS"]
)
def test_a_relative_pattern_starts_in_the_directory_of_the_server(path: str) -> None:
    assert on_path(deny("keys/**"), path, IN_PROJECT) == "deny"
    assert on_path(deny("./keys/**"), path, IN_PROJECT) == "deny"


@pytest.mark.parametrize("path", ["notes.txt", "./notes.txt", "/home/user/project/notes.txt"])
def test_a_bare_name_is_a_file_of_the_directory_of_the_server(path: str) -> None:
    assert on_path(deny("notes.txt"), path, IN_PROJECT) == "deny"


@pytest.mark.parametrize(
    "path", [".ssh/id", "./.ssh/id", "a/.ssh", ".SSH", "..\\.ssh\\id", "~/.ssh/id"]
)
@pytest.mark.parametrize("paths", [TEXT_ONLY, IN_PROJECT], ids=["text", "project"])
def test_a_folder_anywhere_is_found_in_relative_paths_too(path: str, paths: Paths) -> None:
    assert on_path(deny("**/.ssh/**"), path, paths) == "deny"


@pytest.mark.parametrize(
    "path", ["../../etc/passwd", "..\\..\\etc\\passwd", "../etc", "%2e%2e/etc/x"]
)
def test_a_path_that_climbs_from_an_unknown_directory_may_have_reached_the_root(path: str) -> None:
    assert on_path(deny("/etc/**"), path) == "deny"


@pytest.mark.parametrize(
    "path",
    [
        "/home/user/secrets",
        "/home/user/secret2/key",
        "/home/user/project/file",
        "/other/home/user/secret",
        "secret/key",
        "",
        "/",
        ".",
        "hello world",
        "/home/user/se\u0441ond",
    ],
)
@pytest.mark.parametrize("paths", [TEXT_ONLY, IN_PROJECT], ids=["text", "project"])
def test_other_paths_are_not_denied(path: str, paths: Paths) -> None:
    assert on_path(SECRET, path, paths) == "allow"


@pytest.mark.parametrize(
    "path",
    ["C:\\Windows\\system32", "c:/windows", "C:\\Users\\..\\Windows", "file:///C:/Windows/x"],
)
@pytest.mark.parametrize("pattern", ["C:/Windows/**", "C:\\Windows\\**"])
def test_drives_are_paths(path: str, pattern: str) -> None:
    assert on_path(deny(pattern), path) == "deny"


@pytest.mark.parametrize(
    "pattern", ["/HOME/user/Secret/**", "/home/user//secret/**", "file:///home/user/secret/**"]
)
@pytest.mark.parametrize("path", ["/home/user/secret/key", "file:///home/user/secret"])
def test_a_pattern_has_spellings_too(pattern: str, path: str) -> None:
    assert on_path(deny(pattern), path) == "deny"


def test_letters_of_other_scripts_have_case_too() -> None:
    upper = "/\u0421\u0415\u041a\u0420\u0415\u0422/**"
    assert on_path(deny(upper), "/\u0441\u0435\u043a\u0440\u0435\u0442/x") == "deny"


def test_composed_and_decomposed_letters_are_the_same() -> None:
    assert on_path(deny("/caf\u00e9/**"), "/cafe\u0301/x") == "deny"
    assert on_path(deny("/cafe\u0301/**"), "/caf\u00e9/x") == "deny"


def test_stars_in_the_name_of_a_directory_are_letters() -> None:
    odd = Paths(cwd="/w*rk")
    assert on_path(deny("keys/**"), "/w*rk/keys/a", odd) == "deny"
    assert on_path(deny("keys/**"), "/work/keys/a", odd) == "allow"


def test_a_single_star_stays_in_its_folder() -> None:
    assert on_path(deny("/a/*"), "/a/b") == "deny"
    assert on_path(deny("/a/*"), "/a/b/c") == "allow"


def test_a_long_detour_is_still_the_same_path() -> None:
    assert on_path(SECRET, "/home/user/" + "./" * 100_000 + "secret/key") == "deny"
    assert on_path(SECRET, "/home/user/" + "a/../" * 100_000 + "secret/key", IN_PROJECT) == "deny"
