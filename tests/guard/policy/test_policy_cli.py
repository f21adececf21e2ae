"""`claw policy …`: what is printed, and with which status it ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from clawkit.cli.policy import app
from clawkit.guard.audit.reader import Wanted, read
from clawkit.guard.audit.stats import count
from clawkit.guard.authoring.default_policy import DEFAULT_POLICY
from tests.claw import CLAW, claw, finished
from tests.guard.policy.recordings import Recording
from tests.processes import on_a_full_disk

POLICY = """
[[rule]]
action = "deny"
tool = "*"
args."*" = "**/.ssh/**"
description = "Block keys"

[[rule]]
action = "allow"
tool = "filesystem_read"
args.path = "/home/user/projects/**"
description = "Allow project files"

[[rule]]
action = "deny"
tool = "*"
description = "Default deny"
"""
KEY = "/home/user/.ssh/id_rsa"
PROJECT = "/home/user/projects/a.py"


def policy_here(*arguments: str | Path, given: str | None = None) -> Result:
    return CliRunner().invoke(
        app, [str(argument) for argument in arguments], input=given, prog_name="claw policy"
    )


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    file = tmp_path / "policy.toml"
    file.write_text(POLICY)
    file.chmod(0o600)
    return file


def write_fixture(file: Path, path: str, **more: Any) -> Path:
    params = {"name": "filesystem_read", "arguments": {"path": path}}
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"method": "tools/call", "params": params, **more}))
    return file


# test


def test_a_fixture_as_expected_ends_with_0_and_names_the_rule(policy: Path, tmp_path: Path) -> None:
    fixture = write_fixture(tmp_path / "read-ssh-key.json", KEY, expected="deny")
    result = policy_here("test", "--policy", policy, "--fixture", fixture)
    assert result.exit_code == 0
    assert result.stdout == (
        f"ok   {fixture}  deny  (rule 1: Block keys)\n1 fixture: 1 as expected\n"
    )


def test_a_mismatch_ends_with_1_and_says_what_was_expected(policy: Path, tmp_path: Path) -> None:
    fixture = write_fixture(tmp_path / "f.json", KEY, expected="allow")
    result = policy_here("test", "--policy", policy, "--fixture", fixture)
    assert result.exit_code == 1
    assert f"FAIL {fixture}  expected allow, got deny (rule 1: Block keys)" in result.stdout


def test_without_an_expectation_the_decision_is_only_printed(policy: Path, tmp_path: Path) -> None:
    fixture = write_fixture(tmp_path / "f.json", PROJECT)
    result = policy_here("test", "--policy", policy, "--fixture", fixture)
    assert result.exit_code == 0
    assert "allow  (rule 2: Allow project files)" in result.stdout


@pytest.mark.parametrize(("expect", "status"), [("deny", 0), ("allow", 1), ("prompt", 1)])
def test_expect_decides_for_every_fixture(
    expect: str, status: int, policy: Path, tmp_path: Path
) -> None:
    first = write_fixture(tmp_path / "a.json", KEY, expected="allow")
    second = write_fixture(tmp_path / "b.json", "/etc/x")
    files = ("--fixture", first, "--fixture", second)
    assert policy_here("test", "--policy", policy, *files, "--expect", expect).exit_code == status


def test_a_directory_of_fixtures_is_tested_in_order(policy: Path, tmp_path: Path) -> None:
    write_fixture(tmp_path / "fixtures" / "b.json", KEY, expected="deny")
    write_fixture(tmp_path / "fixtures" / "a.json", PROJECT, expected="allow")
    result = policy_here("test", "--policy", policy, "--fixture-dir", tmp_path / "fixtures")
    lines = result.stdout.splitlines()
    assert result.exit_code == 0
    assert ["a.json" in lines[0], "b.json" in lines[1]] == [True, True]
    assert lines[2] == "2 fixtures: 2 as expected"


@pytest.mark.parametrize(
    "content", ["{", '{"method": "tools/call"}', ""], ids=["json", "call", "empty"]
)
def test_an_unusable_fixture_ends_with_2_and_the_others_are_tried(
    content: str, policy: Path, tmp_path: Path
) -> None:
    (tmp_path / "bad.json").write_text(content)
    good = write_fixture(tmp_path / "good.json", KEY, expected="allow")
    files = ("--fixture", tmp_path / "bad.json", "--fixture", good)
    result = policy_here("test", "--policy", policy, *files)
    assert result.exit_code == 2
    assert "claw policy test: " in result.stderr
    assert "bad.json" in result.stderr
    assert "FAIL" in result.stdout
    assert "1 not as expected, 1 unreadable" in result.stdout


def test_an_empty_directory_ends_with_2(policy: Path, tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    fixture = write_fixture(tmp_path / "f.json", KEY, expected="deny")
    both = ("--fixture-dir", tmp_path / "none", "--fixture", fixture)
    result = policy_here("test", "--policy", policy, *both)
    assert result.exit_code == 2
    assert "nothing was tested" in result.stderr
    assert "ok " in result.stdout


def test_a_broken_policy_ends_with_2_and_names_its_line(policy: Path, tmp_path: Path) -> None:
    policy.write_text('[[rule]]\naction = "alow"\ntool = "*"\n')
    fixture = write_fixture(tmp_path / "f.json", KEY)
    result = policy_here("test", "--policy", policy, "--fixture", fixture)
    assert result.exit_code == 2
    assert f"{policy}:2: " in result.stderr


def test_nothing_to_test_and_an_unknown_expectation_are_wrong_usage(policy: Path) -> None:
    assert policy_here("test", "--policy", policy).exit_code == 2
    assert (
        policy_here("test", "--policy", policy, "--fixture", "f", "--expect", "no").exit_code == 2
    )


def test_the_outcome_is_there_as_json(policy: Path, tmp_path: Path) -> None:
    fixture = write_fixture(tmp_path / "f.json", KEY, expected="allow")
    result = policy_here("test", "--policy", policy, "--fixture", fixture, "--json")
    (found,) = json.loads(result.stdout)["fixtures"]
    assert (found["decision"], found["expected"], found["ok"]) == ("deny", "allow", False)
    assert (found["rule"], result.exit_code) == (1, 1)


# explain


@pytest.mark.parametrize(
    "call",
    [
        ["filesystem_read", f"path={PROJECT}"],
        [f"filesystem_read path={PROJECT}"],
        [json.dumps({"name": "filesystem_read", "arguments": {"path": PROJECT}})],
        [
            json.dumps(
                {
                    "method": "tools/call",
                    "params": {"name": "filesystem_read", "arguments": {"path": PROJECT}},
                }
            )
        ],
    ],
    ids=["words", "text", "params", "request"],
)
def test_a_call_can_be_given_in_several_forms(call: list[str], policy: Path) -> None:
    result = policy_here("explain", *call, "--policy", policy, "--text")
    assert result.exit_code == 0
    assert result.stdout.startswith("allow  (rule 2: Allow project files, line 8)")
    assert f"args.path '{PROJECT}' is under '/home/user/projects/**'" in result.stdout


def test_a_call_can_come_from_a_file_or_stdin(policy: Path, tmp_path: Path) -> None:
    fixture = write_fixture(tmp_path / "f.json", KEY)
    from_file = policy_here("explain", fixture, "--policy", policy)
    from_stdin = policy_here("explain", "-", "--policy", policy, given=fixture.read_text())
    assert from_file.stdout == from_stdin.stdout
    assert from_file.stdout.startswith("deny  (rule 1: Block keys, line 2)")


def test_values_are_json_where_they_can_be_and_names_may_be_nested(policy: Path) -> None:
    words = ("tool", "o.depth=5", "list=[1]", "text=plain", "--json", "--policy", policy)
    found = json.loads(policy_here("explain", *words).stdout)
    assert found["arguments"] == {"o": {"depth": 5}, "list": [1], "text": "plain"}


def test_a_method_can_be_explained(policy: Path) -> None:
    words = ("resources/read", f"uri=file://{KEY}", "--json", "--policy", policy)
    found = json.loads(policy_here("explain", *words).stdout)
    assert (found["method"], found["decision"], found["rule"]) == ("resources/read", "deny", 1)


def test_a_near_miss_says_what_is_missing_and_what_is_needed(policy: Path) -> None:
    result = policy_here(
        "explain", "filesystem_read", "path=/etc/hosts", "--policy", policy, "--text"
    )
    assert (
        "rule 2 (allow) matches the tool but args.path '/etc/hosts' is not under "
        "'/home/user/projects/**'"
    ) in result.stdout
    assert "rule 2 would allow it with args.path under '/home/user/projects/**'" in result.stdout


def test_links_are_followed_unless_text_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "x").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    policy = tmp_path / "policy.toml"
    policy.write_text(f'[[rule]]\naction = "allow"\ntool = "*"\nargs.p = "{tmp_path}/link/**"\n')
    words = ("explain", "read", "p=x/../link/a", "--cwd", tmp_path, "--policy", policy)
    assert policy_here(*words).stdout.startswith("allow")
    policy.write_text(f'[[rule]]\naction = "deny"\ntool = "*"\nargs."*" = "{tmp_path}/real/**"\n')
    assert "read as" in policy_here(*words).stdout
    assert "(no rule matches)" in policy_here(*words, "--text").stdout


@pytest.mark.parametrize(
    "call", [["tool", "word"], ["missing.json"], ["{"], ["prompts/get"], ["t", "a=1", "a.b=2"]]
)
def test_a_call_that_is_none_is_an_error(call: list[str], policy: Path) -> None:
    result = policy_here("explain", *call, "--policy", policy)
    assert result.exit_code == (1 if call[0] in ("missing.json", "{") else 2)
    assert result.stderr.startswith("claw policy explain: ")


def test_what_a_call_says_reaches_the_terminal_escaped(policy: Path) -> None:
    result = policy_here("explain", "to\x1b[31mol", "a=\x1b]0;title\x07\u202e", "--policy", policy)
    assert "\x1b" not in result.stdout
    assert "\u202e" not in result.stdout


# lint, show, init


def test_lint_prints_as_compilers_do_and_fails_on_errors_only(policy: Path) -> None:
    closed = 'args.path = "/home/user/projects/**"\nonly_args = true'
    policy.write_text(POLICY.replace('args.path = "/home/user/projects/**"', closed))
    assert policy_here("lint", policy).stdout == f"{policy}: nothing to remark\n"
    policy.write_text('[[rule]]\naction = "allow"\ntool = "*"\n')
    warned = policy_here("lint", policy)
    assert f"{policy}:1: warning: rule 1 allows every call" in warned.stdout
    assert (warned.exit_code, policy_here("lint", policy, "--strict").exit_code) == (0, 1)
    policy.write_text("[[rule]]\naction = 5\n")
    broken = policy_here("lint", policy)
    assert f"{policy}:2: error: " in broken.stdout
    assert broken.exit_code == 1


def test_lint_gives_json(policy: Path) -> None:
    policy.write_text('[[rule]]\naction = "allow"\ntool = "*"\n')
    issue, default = json.loads(policy_here("lint", policy, "--json").stdout)["issues"]
    assert (default["level"], default["line"]) == ("note", 0)
    assert (issue["level"], issue["line"], issue["rule"]) == ("warning", 1, 1)


def test_show_lists_the_rules(policy: Path) -> None:
    lines = policy_here("show", "--policy", policy).stdout.splitlines()
    assert lines[0] == f"{policy}  3 rules, the first match decides"
    assert lines[1].split() == ["1", "deny", "*", "args.*=**/.ssh/**", "Block", "keys"]
    found = json.loads(policy_here("show", "--policy", policy, "--json").stdout)
    assert found["rules"][1]["args"] == {"path": ["/home/user/projects/**"]}


@pytest.mark.usefixtures("home")
def test_show_counts_what_it_numbers() -> None:
    claw("policy", "init", code=0)
    first, *rows, _ = claw("policy", "show", code=0).stdout.splitlines()
    assert [row.split()[0] for row in rows] == [str(number + 1) for number in range(len(rows))]
    assert f"{len(rows)} rules" in first
    assert [row.split()[1] for row in rows].count("profile") == 2
    assert f"{len(rows)} rules" in claw("doctor").stdout


def test_init_writes_once_and_force_keeps_the_old_one(home: Path) -> None:
    file = home / "claw" / "config" / "clawai" / "policy.toml"
    before = claw("policy", "show")
    assert (before.returncode, "claw policy init" in before.stderr) == (1, True)
    made = claw("policy", "init")
    assert (made.returncode, str(file) in made.stdout) == (0, True)
    file.write_text(POLICY)
    again = claw("policy", "init")
    assert (again.returncode, file.read_text()) == (1, POLICY)
    forced = json.loads(claw("policy", "init", "--force", "--json").stdout)
    assert Path(forced["backup"]).read_text() == POLICY
    assert file.read_text() != POLICY
    assert claw("policy", "show").returncode == 0
    assert "The old policy was kept as " in claw("policy", "init", "--force").stdout


def test_a_policy_beside_the_config_does_not_count_and_doctor_says_so(home: Path) -> None:
    documented = home / "claw" / "config" / "clawai" / "policy.toml"
    beside = home / "claw" / "config" / "claw" / "policy.toml"
    for file in (documented, beside):
        file.parent.mkdir(parents=True)
        file.write_text(POLICY)
    assert claw("policy", "show").stdout.startswith(f"{documented}  3 rules")
    assert f"{documented} counts, and {beside} does not" in claw("doctor").stdout


def test_lint_takes_the_policy_as_its_sisters_do(policy: Path) -> None:
    linted = policy_here("lint", "--policy", policy).stdout
    assert linted == policy_here("lint", policy).stdout
    twice = claw("policy", "lint", policy, "--policy", policy)
    assert (twice.returncode, "give the policy once" in twice.stderr) == (2, True)


def test_the_default_policy_has_no_warnings() -> None:
    assert claw("policy", "init").returncode == 0
    linted = claw("policy", "lint", "--strict")
    assert (linted.returncode, linted.stdout.count("warning")) == (0, 0), linted.stdout


# replay, learn


@pytest.fixture
def audit(tmp_path: Path) -> Path:
    recording = Recording(tmp_path / "audit")
    recording.call("filesystem_read", {"path": PROJECT}, rule=2)
    recording.call("filesystem_read", {"path": "/home/user/projects/b.py"}, rule=2)
    for _ in range(2):
        recording.call("filesystem_read", {"path": KEY}, rule=4)
    recording.call("shell", {"c": "\x1b[31m"}, "deny", reason="No rule allows it", rule=0)
    recording.call("filesystem_read", {"path": "x" * 256 + "…(900 characters, sha256 0a)"}, rule=2)
    return recording.close()


def test_replay_shows_what_would_change(audit: Path, policy: Path) -> None:
    result = policy_here("replay", audit, "--policy", policy)
    assert result.exit_code == 0
    assert result.stdout.startswith("6 calls: 3 stay, 2 change\n1 call uncertain:")
    assert "was allow by rule 4 → would be deny by rule 1: Block keys  (2 calls)" in result.stdout
    assert f'files  filesystem_read  {{"path": "{KEY}"}}  ×2' in result.stdout
    assert policy_here("replay", audit, "--policy", policy, "--fail-on-change").exit_code == 1
    found = json.loads(policy_here("replay", audit, "--policy", policy, "--json").stdout)
    assert (found["calls"], found["changed"], found["uncertain"]) == (6, 2, 1)


def test_replay_of_no_audit_is_an_error(policy: Path, tmp_path: Path) -> None:
    result = policy_here("replay", tmp_path / "none", "--policy", policy)
    assert (result.exit_code, "claw policy replay: " in result.stderr) == (1, True)


def test_replay_names_all_that_is_missing(tmp_path: Path) -> None:
    result = policy_here("replay", tmp_path / "none", "--policy", tmp_path / "nope.toml")
    assert result.exit_code == 1
    assert "nope.toml: there is no such file: check the path" in result.stderr
    assert "there is no audit at" in result.stderr


@pytest.mark.parametrize("verb", [("test", "--fixture", "x.json"), ("explain", "read"), ("show",)])
def test_a_policy_that_was_named_and_is_not_there_is_a_wrong_path(
    verb: tuple[str, ...], tmp_path: Path
) -> None:
    result = policy_here(*verb, "--policy", tmp_path / "nope.toml")
    assert "there is no such file: check the path" in result.stderr
    assert "policy init" not in result.stderr


@pytest.mark.usefixtures("home")
def test_before_there_is_a_policy_a_call_is_explained_as_refused() -> None:
    done = claw("policy", "explain", "read", "path=/etc/hosts")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("deny  (no rule matches)")
    assert "because  No policy at " in done.stdout
    assert "so every call is refused: `claw policy init` makes one" in done.stdout
    found = json.loads(claw("policy", "explain", "read", "--json").stdout)
    assert (found["decision"], len(found["because"])) == ("deny", 1)


def test_replay_counts_what_statistics_of_the_log_count_as_calls(
    tmp_path: Path, policy: Path
) -> None:
    recording = Recording(tmp_path / "mixed")
    recording.call("filesystem_read", {"path": PROJECT}, rule=2)
    for _ in range(3):
        recording.call("", {}, "pass", method="completion/complete", rule=0)
    audit = recording.close()
    stats = count(read(audit, Wanted()))
    assert (stats.calls, stats.passed) == (1, 3)
    result = policy_here("replay", audit, "--policy", policy)
    assert result.stdout.startswith("1 call and 3 other requests: ")


def test_replay_says_what_people_answered(tmp_path: Path, policy: Path) -> None:
    recording = Recording(tmp_path / "asked")
    recording.call("filesystem_read", {"path": PROJECT}, "prompt", answer="deny", rule=3)
    recording.call("filesystem_read", {"path": KEY}, "prompt", answer="deny", rule=3)
    result = policy_here("replay", recording.close(), "--policy", policy)
    assert "2 calls: 1 stay, 1 change\n2 prompts answered by a person: " in result.stdout
    assert "was prompt (denied by a person) by rule 3 → would be allow by rule 2" in result.stdout


def test_replay_names_nobody_who_was_not_asked(tmp_path: Path, policy: Path) -> None:
    recording = Recording(tmp_path / "asked")
    for why in ("a person said no", "nobody answered in time", "nobody can be asked; open one"):
        recording.call(
            "filesystem_read", {"path": PROJECT}, "prompt", answer="deny", rule=3, why=why
        )
    result = policy_here("replay", recording.close(), "--policy", policy)
    assert "\n1 prompt answered by a person: " in result.stdout
    for said in (
        *("denied by a person", "denied: nobody answered in time", "denied: nobody can be asked"),
    ):
        assert f"was prompt ({said}) by rule 3 → would be allow by rule 2" in result.stdout


def test_what_is_learnt_passes_its_own_fixtures(audit: Path, tmp_path: Path) -> None:
    out, fixtures = tmp_path / "learnt.toml", tmp_path / "fixtures"
    learnt = policy_here("learn", audit, "--out", out, "--fixtures", fixtures)
    assert learnt.exit_code == 0
    assert f"claw policy test --policy {out} --fixture-dir {fixtures}" in learnt.stderr
    tested = policy_here("test", "--policy", out, "--fixture-dir", fixtures)
    assert (tested.exit_code, "4 fixtures: 4 as expected" in tested.stdout) == (0, True)
    replayed = json.loads(policy_here("replay", audit, "--policy", out, "--json").stdout)
    assert replayed["changed"] == 0


def test_learn_prints_the_policy_and_never_overwrites(audit: Path, tmp_path: Path) -> None:
    printed = policy_here("learn", audit, "--server", "files")
    assert 'tool = "filesystem_read"' in printed.stdout
    out = tmp_path / "mine.toml"
    out.write_text("precious")
    assert policy_here("learn", audit, "--out", out).exit_code == 1
    assert out.read_text() == "precious"
    assert policy_here("learn", audit, "--server", "other").exit_code == 1


def test_learn_gives_json(audit: Path, tmp_path: Path) -> None:
    out = tmp_path / "learnt.toml"
    found = json.loads(policy_here("learn", audit, "--out", out, "--json").stdout)
    assert (found["file"], found["policy"]) == (str(out), out.read_text())
    assert {each["expected"] for each in found["fixtures"]} == {"allow", "deny"}
    assert any("redacted or cut" in note for note in found["notes"])


@pytest.mark.parametrize("force", [(), ("--force",)], ids=["new", "in place of another"])
def test_a_policy_that_does_not_fit_on_the_disk_is_not_begun(
    home: Path, force: tuple[str, ...]
) -> None:
    folder = home / "claw" / "config" / "clawai"
    if force:
        folder.mkdir(parents=True)
        (folder / "policy.toml").write_text(POLICY)
    done = finished(*on_a_full_disk(*CLAW, "policy", "init", *force, room=1000))
    assert done.returncode != 0
    assert "policy.toml: cannot be written: File too large" in done.stderr
    assert [(file.name, file.read_text()) for file in folder.iterdir()] == (
        [("policy.toml", POLICY)] if force else []
    )


def test_the_default_policy_can_be_printed_without_being_written(home: Path) -> None:
    printed = claw("policy", "init", "--print")
    assert printed.stdout == DEFAULT_POLICY
    assert not list(home.rglob("policy.toml"))
