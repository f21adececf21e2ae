from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from clawkit.guard.policy.call import Call
from clawkit.guard.policy.policy import Paths, Policy
from clawkit.guard.policy.reloader import PolicyFile

ALLOW = '[[rule]]\naction = "allow"\ntool = "*"\n'
DENY = ALLOW.replace("allow", "deny").ljust(len(ALLOW), "#")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "policy.toml"


def decision(policy: Policy, method: str = "tools/call") -> tuple[str, str]:
    decided = policy.decide(Call(method, "x", {}), ("s",), Paths())
    return decided.action, decided.reason


def test_an_unchanged_file_is_read_once(file: Path) -> None:
    file.write_text(ALLOW)
    os.utime(file, (1, 1))
    policies = PolicyFile(file)
    assert policies.current() is policies.current()


def test_a_changed_file_counts_at_once(file: Path) -> None:
    file.write_text(ALLOW)
    policies = PolicyFile(file)
    assert decision(policies.current())[0] == "allow"
    file.write_text(DENY)
    assert decision(policies.current())[0] == "deny"


def test_a_change_within_one_tick_of_the_clock_counts_too(file: Path) -> None:
    file.write_text(ALLOW)
    policies = PolicyFile(file)
    before = file.stat()
    first = policies.current()
    file.write_text(DENY)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file.stat().st_size == before.st_size
    assert policies.current() is not first
    assert decision(policies.current())[0] == "deny"


def test_a_file_written_again_with_the_same_content_is_the_same_policy(file: Path) -> None:
    file.write_text(ALLOW)
    policies = PolicyFile(file)
    first = policies.current()
    file.write_text(ALLOW)
    assert policies.current() is first


def test_a_file_put_in_its_place_counts(file: Path, tmp_path: Path) -> None:
    file.write_text(ALLOW)
    policies = PolicyFile(file)
    assert decision(policies.current())[0] == "allow"
    other = tmp_path / "other"
    other.write_text(DENY)
    shutil.move(other, file)
    assert decision(policies.current())[0] == "deny"


def test_without_a_file_calls_are_denied_and_the_reason_says_how_to_make_one(file: Path) -> None:
    policy = PolicyFile(file).current()
    action, reason = decision(policy)
    assert action == "deny"
    assert "claw policy init" in reason
    assert "claw policy init" in policy.problem
    assert decision(policy, "logging/setLevel")[0] == "allow"
    assert decision(policy, "tools/list")[0] == "allow"


def test_a_broken_file_keeps_nothing_open_but_the_session(file: Path) -> None:
    file.write_text('[[rule]]\naction = "alow"\ntool = "*"\n')
    policy = PolicyFile(file).current()
    action, reason = decision(policy)
    assert action == "deny"
    assert f"{file}:2: action" in reason
    assert f"{file}:2: action" in policy.problem
    assert decision(policy, "logging/setLevel")[0] == "deny"
    for method in ("initialize", "ping", "server/discover", "tools/list", "notifications/message"):
        assert decision(policy, method)[0] == "allow"


def test_a_broken_file_gives_a_server_only_what_it_needs_to_start(file: Path) -> None:
    file.write_text("[env]\nallow = [")
    given = {"PATH": "/bin", "LC_ALL": "C", "API_KEY": "k"}
    assert PolicyFile(file).current().env.narrow(given, ("s",)) == {"PATH": "/bin", "LC_ALL": "C"}


def test_a_file_that_breaks_closes_and_one_that_is_mended_opens(file: Path) -> None:
    file.write_text(ALLOW)
    policies = PolicyFile(file)
    assert decision(policies.current())[0] == "allow"
    file.write_text("[[")
    assert decision(policies.current())[0] == "deny"
    file.write_text(ALLOW)
    long_ago(file)
    assert decision(policies.current())[0] == "allow"
    file.unlink()
    assert decision(policies.current())[0] == "deny"


def test_what_is_no_file_is_broken(file: Path) -> None:
    file.mkdir()
    policy = PolicyFile(file).current()
    assert decision(policy, "anything")[0] == "deny"
    assert str(file) in policy.problem


def test_what_is_not_text_is_broken_and_names_the_line(file: Path) -> None:
    file.write_bytes(b"# a\n# \xff\n")
    assert f"{file}:2: not UTF-8" in PolicyFile(file).current().problem


NARROW = '[[rule]]\naction = "allow"\ntool = "*"\nargs.path = "/work/**"\n'
HALF = NARROW.partition("args")[0]


def long_ago(file: Path) -> None:
    os.utime(file, (1, 1))


def just_now(file: Path) -> None:
    """However long this machine takes until somebody looks."""
    ahead = time.time() + 3600
    os.utime(file, (ahead, ahead))


@pytest.mark.parametrize("half", [HALF, HALF.rstrip("\n"), f"{DENY}\n{HALF}"[len(DENY) :]])
def test_a_half_written_rule_allows_nothing_that_was_not_allowed_before(
    file: Path, half: str
) -> None:
    file.write_text(NARROW)
    policies = PolicyFile(file)
    assert decision(policies.current())[0] == "deny"
    with file.open("w") as being_written:
        being_written.write(half)
        being_written.flush()
        just_now(file)
        action, reason = decision(policies.current())
        assert (action, "has just changed" in reason) == ("deny", True)
        being_written.write(NARROW.removeprefix(half))
    assert decision(policies.current())[0] == "deny"


def test_what_is_allowed_anew_counts_when_the_file_has_rested(file: Path) -> None:
    file.write_text(DENY)
    policies = PolicyFile(file)
    assert decision(policies.current())[0] == "deny"
    file.write_text(ALLOW)
    just_now(file)
    assert decision(policies.current())[0] == "deny"
    long_ago(file)
    assert decision(policies.current())[0] == "allow"


def test_what_is_denied_anew_counts_at_once_also_beside_what_is_allowed_anew(file: Path) -> None:
    file.write_text('[[rule]]\naction = "allow"\ntool = "x"\n')
    policies = PolicyFile(file)
    assert decision(policies.current())[0] == "allow"
    file.write_text('[[rule]]\naction = "deny"\ntool = "x"\n' + ALLOW)
    assert decision(policies.current())[0] == "deny"


def test_a_file_that_takes_the_place_of_another_is_whole(file: Path, tmp_path: Path) -> None:
    file.write_text(DENY)
    policies = PolicyFile(file)
    assert decision(policies.current())[0] == "deny"
    other = tmp_path / "other"
    other.write_text(ALLOW)
    other.replace(file)
    assert decision(policies.current())[0] == "allow"
