from __future__ import annotations

import pytest

from clawkit.guard.policy.parser import read_policy
from clawkit.guard.policy.rules import AuditOptions, EnvOptions, PolicyLimits
from clawkit.guard.scan.sanitizer import ScanOptions

GIVEN = {"PATH": "/bin", "HOME": "/h", "API_KEY": "k", "FILES_ROOT": "/r"}


def test_an_empty_file_has_the_defaults() -> None:
    rules = read_policy("", "p")
    assert rules.scan == ScanOptions()
    assert rules.limits == PolicyLimits()
    assert rules.limits.message == 400 * 1024 * 1024
    assert (rules.limits.depth, rules.limits.prompts) == (200, 20)
    assert (rules.limits.prompts_per_minute, rules.limits.prompt_timeout) == (60, 60)
    assert rules.audit == AuditOptions(max=64 * 1024 * 1024, keep=16)
    assert rules.problem == ""


def test_scan_options_are_read() -> None:
    rules = read_policy('[scan]\nhidden = "off"\nsecrets = "block"\ninjection = "block"', "p")
    assert rules.scan == ScanOptions(hidden="off", secrets="block", injection="block")


@pytest.mark.parametrize(
    ("written", "size"),
    [("1000", 1000), ('"16MB"', 16 * 1024**2), ('"2 kb"', 2048), ('"1GB"', 1024**3), ('"7"', 7)],
)
def test_a_size_is_bytes_or_has_a_unit(written: str, size: int) -> None:
    assert read_policy(f"[limits]\nmessage = {written}", "p").limits.message == size
    assert read_policy(f"[audit]\nmax = {written}", "p").audit.max == size


@pytest.mark.parametrize(
    ("written", "seconds"), [("5", 5), ("0.5", 0.5), ('"60s"', 60), ('"2m"', 120), ('"1h"', 3600)]
)
def test_a_time_is_seconds_or_has_a_unit(written: str, seconds: float) -> None:
    limits = read_policy(f"[limits]\nprompt_timeout = {written}", "p").limits
    assert limits.prompt_timeout == seconds


def test_without_env_a_server_gets_all_that_the_client_gave() -> None:
    assert EnvOptions().narrow(GIVEN, ("files",)) == GIVEN


def test_allow_narrows_the_environment_of_every_server() -> None:
    env = read_policy('[env]\nallow = ["PATH", "FILES_*"]', "p").env
    assert env.narrow(GIVEN, ("any",)) == {"PATH": "/bin", "FILES_ROOT": "/r"}


def test_a_server_of_its_own_list_has_only_that() -> None:
    env = read_policy('[env]\nallow = ["PATH"]\n[env.files]\nallow = ["HOME", "API_*"]', "p").env
    assert env.narrow(GIVEN, ("files",)) == {"HOME": "/h", "API_KEY": "k"}
    assert env.narrow(GIVEN, ("other",)) == {"PATH": "/bin"}


def test_a_list_for_one_server_leaves_the_others_alone() -> None:
    env = read_policy('[env.files]\nallow = ["HOME"]', "p").env
    assert env.narrow(GIVEN, ("files",)) == {"HOME": "/h"}
    assert env.narrow(GIVEN, ("other",)) == GIVEN


def test_an_empty_list_gives_nothing() -> None:
    assert read_policy("[env]\nallow = []", "p").env.narrow(GIVEN, ()) == {}


def test_a_server_of_two_names_gets_what_both_may_have() -> None:
    env = read_policy('[env.a]\nallow = ["HOME", "PATH"]\n[env.b]\nallow = ["PATH"]', "p").env
    assert env.narrow(GIVEN, ("a", "b")) == {"PATH": "/bin"}
    assert env.narrow(GIVEN, ("a", "c")) == {"HOME": "/h", "PATH": "/bin"}
