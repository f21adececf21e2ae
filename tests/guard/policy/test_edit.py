"""Rules written for a person: exactly one call, in exactly one place of the file."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
import tomllib
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawkit.errors import PolicyError
from clawkit.guard.authoring.edit import folder_rule, insert_rule, rule_for
from clawkit.guard.policy.call import Call
from clawkit.guard.policy.parser import read_policy
from clawkit.guard.policy.policy import Paths

RULE = '[[rule]]\naction = "allow"\ntool = "new"\n'
POLICY = """\
# The file's own words

# first: about a
# and still about a
[[rule]]
action = "prompt"
tool = "a"
[[rule]]   # no comment above
action = "prompt"
tool = "b"
args.path = "/x"

[scan]
hidden = "block"

  # indented
  [[ rule ]]
  action = "prompt"
  tool = "c"
"""


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    file = tmp_path / "policy.toml"
    file.write_text(POLICY)
    return file


def decision(rule: str, call: Call, server: str = "files") -> str:
    return read_policy(rule, "rule").decide(call, (server,), Paths()).action


def call(tool: str = "read", arguments: dict[str, Any] | None = None) -> Call:
    return Call(method="tools/call", tool=tool, arguments=arguments or {})


def test_the_rule_says_what_was_called_where_and_when() -> None:
    rule = rule_for("read", "tools/call", {"path": "/srv/a", "lines": 5, "raw": True}, "files")
    assert rule.startswith('[[rule]]\naction = "allow"\ntool = "read"\n')
    assert tomllib.loads(rule)["rule"] == [
        {
            "action": "allow",
            "tool": "read",
            "server": "files",
            "args": {
                "path": "/srv/a",
                "lines": "5",
                "raw": "true",
            },
            "only_args": True,
            "description": f"Allowed by a person on {time.strftime('%Y-%m-%d')}",
        }
    ]


def test_a_call_that_is_not_of_a_tool_is_said_by_its_method() -> None:
    rule = rule_for("resources/read", "resources/read", {"uri": "memo://a"}, "files")
    assert tomllib.loads(rule)["rule"][0]["method"] == "resources/read"
    assert "tool" not in tomllib.loads(rule)["rule"][0]
    same_name = Call(method="tools/call", tool="resources/read", arguments={"uri": "memo://a"})
    assert decision(rule, same_name) == "deny"


def test_a_tool_with_the_name_of_a_method_is_not_taken_for_it() -> None:
    rule = rule_for("resources/read", "tools/call", {"uri": "memo://a"}, "files")
    assert decision(rule, call("resources/read", {"uri": "memo://a"})) == "allow"
    method = Call(method="resources/read", tool="resources/read", arguments={"uri": "memo://a"})
    assert decision(rule, method) == "deny"


def test_a_server_with_several_names_is_said_with_all_of_them() -> None:
    rule = rule_for("read", "tools/call", {"path": "/a"}, ("files", "disk"))
    assert tomllib.loads(rule)["rule"][0]["server"] == ["files", "disk"]
    both = read_policy(rule, "rule").decide(
        call("read", {"path": "/a"}), ("files", "disk"), Paths()
    )
    assert both.action == "allow"


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param({"path": "/srv/a"}, id="text"),
        pytest.param({"n": 5, "flag": False, "big": 2**53 - 1, "minus": -1}, id="numbers"),
        pytest.param({"x": 1.5, "whole": 5.0}, id="fractions"),
        pytest.param({"a": {"b": {"c": "deep"}}, "d": "flat"}, id="nested"),
        pytest.param(
            {"a.b": "dot", "ü": "umlaut", 'q"u\\o': "quote", "with space": "x"}, id="keys"
        ),
        pytest.param({"text": 'a "quoted" \\ backslash'}, id="quotes"),
        pytest.param({"text": "line one\nline two\ttab"}, id="lines"),
        pytest.param({"text": "[[rule]]\naction = 'deny'"}, id="TOML"),
        pytest.param({"text": '"""'}, id="three quotes"),
        pytest.param({"nothing": None}, id="null"),
    ],
)
def test_the_rule_allows_the_call_and_no_other(arguments: dict[str, Any]) -> None:
    rule = rule_for("read", "tools/call", arguments, "files")
    assert decision(rule, call("read", arguments)) == "allow"
    assert decision(rule, call("write", arguments)) == "deny"
    assert decision(rule, call("read", arguments), server="other") == "deny"
    first = next(iter(arguments))
    assert decision(rule, call("read", {**arguments, first: "another value"})) == "deny"
    fewer = {name: value for name, value in arguments.items() if name != first}
    assert decision(rule, call("read", fewer)) == "deny"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        pytest.param({"path": "/srv/*"}, "`*` or `?`", id="star"),
        pytest.param({"path": "what?"}, "`*` or `?`", id="question mark"),
        pytest.param({"*": "x"}, "`*` or `?`", id="name with a star"),
        pytest.param({"a": {"b?": 1}}, "`*` or `?`", id="nested name"),
        pytest.param({"paths": ["a"]}, "'paths' is a list", id="list"),
        pytest.param({"a": {"b": [1]}}, "'a.b' is a list", id="nested list"),
        pytest.param({"paths": []}, "'paths' is empty", id="empty list"),
        pytest.param({"text": ""}, "'text' is empty", id="empty text"),
        pytest.param({"options": {}}, "'options' is empty", id="empty object"),
        pytest.param({"": "x"}, "a name is empty", id="empty name"),
        pytest.param({"id": 2**53 + 1}, "servers read differently", id="large number"),
        pytest.param({"a": {"id": -(2**53)}}, "servers read differently", id="nested number"),
        pytest.param({"url": "https://a.b/%2e%2e/c"}, "read in several ways", id="ambiguous"),
        pytest.param({"text": "\ud800"}, "lone surrogate", id="half a character"),
    ],
)
def test_what_no_rule_can_say_exactly_is_left_to_a_person(
    arguments: dict[str, Any], why: str
) -> None:
    with pytest.raises(PolicyError, match="Write it by hand") as caught:
        rule_for("read", "tools/call", arguments, "files")
    assert why in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "more"),
    [
        ({"branch": "main", "dry_run": True}, {"force": True}),
        ({"branch": "main", "dry_run": True}, {"force": "main"}),
        ({"message": "x", "options": {"sign": True}}, {"amend": True}),
        ({"message": "x", "options": {"sign": True}}, {"options": {"sign": True, "amend": True}}),
        ({"message": "x", "options": {"sign": True}}, {"options": {"sign": True, "x": {}}}),
        ({"message": "x"}, {"Message": "y"}),
        ({"message": "x"}, {"mess\u200bage": "x"}),
        ({}, {"amend": True}),
    ],
)
def test_another_argument_beside_those_of_the_call_is_not_allowed(
    arguments: dict[str, Any], more: dict[str, Any]
) -> None:
    rule = rule_for("push", "tools/call", arguments, "git")
    assert decision(rule, call("push", arguments), server="git") == "allow"
    assert decision(rule, call("push", {**arguments, **more}), server="git") == "deny"


@pytest.mark.parametrize("server", ["", (), ("files", "")])
def test_a_server_without_a_name_gets_no_rule(server: str | tuple[str, ...]) -> None:
    with pytest.raises(PolicyError, match="the server has no name"):
        rule_for("read", "tools/call", {"path": "/a"}, server)


@given(
    tool=st.text(),
    arguments=st.dictionaries(
        st.text(),
        st.text() | st.integers() | st.booleans() | st.none() | st.floats(allow_nan=False),
    ),
)
def test_whatever_was_called_the_rule_is_valid_and_allows_it_or_there_is_none(
    tool: str, arguments: dict[str, Any]
) -> None:
    try:
        rule = rule_for(tool, "tools/call", arguments, "files")
    except PolicyError:
        return
    assert len(read_policy(rule, "rule").rules) == 1
    assert decision(rule, call(tool, arguments)) == "allow"


@pytest.mark.parametrize(
    ("before", "above"),
    [(1, "# first: about a\n"), (2, "[[rule]]   # no comment"), (3, "  # indented\n")],
)
def test_the_rule_goes_above_the_header_and_its_comments(
    policy: Path, before: int, above: str
) -> None:
    insert_rule(policy, RULE, before)
    assert policy.read_text() == POLICY.replace(above, f"{RULE}\n{above}", 1)
    rules = read_policy(policy.read_text(), "policy").rules
    assert len(rules) == 4
    assert rules[before - 1].tools == ("new",)


def test_every_other_byte_stays(policy: Path) -> None:
    original = POLICY.replace("\n", "\r\n").replace("own words", "öwn wörds \t ") + "# no end"
    policy.write_bytes(original.encode())
    insert_rule(policy, RULE, 2)
    written = policy.read_bytes()
    new = (RULE + "\n").replace("\n", "\r\n").encode()
    assert written.count(new) == 1
    assert written.replace(new, b"") == original.encode()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('description = """\n[[rule]]\n"""\n', id="a header in a string"),
        pytest.param('description = """\n# words"""\n', id="a comment in a string"),
        pytest.param("description = '''\n[[rule]]\n# words'''\n", id="both"),
    ],
)
def test_a_string_that_looks_like_a_header_is_not_one(policy: Path, text: str) -> None:
    first = f'[[rule]]\naction = "deny"\ntool = "a"\n{text}'
    second = '[[rule]]\naction = "prompt"\ntool = "b"\n'
    policy.write_text(first + second)
    insert_rule(policy, RULE, 2)
    assert policy.read_text() == f"{first}{RULE}\n{second}"


def test_rules_that_are_not_written_as_tables_are_left_to_a_person(policy: Path) -> None:
    text = 'rule = [{ action = "prompt", tool = "a" }]\n'
    policy.write_text(text)
    with pytest.raises(PolicyError, match="write the new one by hand"):
        insert_rule(policy, RULE, 1)
    assert policy.read_text() == text


@pytest.mark.parametrize("before", [0, 4, -1])
def test_a_rule_that_is_not_there_has_no_place_above_it(policy: Path, before: int) -> None:
    with pytest.raises(PolicyError, match=f"there is no rule {before}: the file has 3"):
        insert_rule(policy, RULE, before)
    assert policy.read_text() == POLICY


@pytest.mark.parametrize(
    "rule",
    [
        pytest.param('[[rule]]\naction = "perhaps"\ntool = "x"\n', id="unknown action"),
        pytest.param('[[rule]]\naction = "allow"\ntool = "x"\nfoo = 1\n', id="unknown key"),
    ],
)
def test_a_rule_that_would_break_the_policy_is_not_written(policy: Path, rule: str) -> None:
    with pytest.raises(PolicyError):
        insert_rule(policy, rule, 1)
    assert policy.read_text() == POLICY


def test_a_policy_that_is_broken_already_is_left_alone(policy: Path) -> None:
    policy.write_text("[[rule]]\naction = 5\n")
    with pytest.raises(PolicyError):
        insert_rule(policy, RULE, 1)
    assert policy.read_text() == "[[rule]]\naction = 5\n"


def test_a_policy_that_changed_since_the_question_is_left_alone(policy: Path) -> None:
    asked_about = sha256(policy.read_bytes()).hexdigest()
    policy.write_text(POLICY + "# more\n")
    with pytest.raises(PolicyError, match="changed since the question was asked"):
        insert_rule(policy, RULE, 1, digest=asked_about)
    assert policy.read_text() == POLICY + "# more\n"
    insert_rule(policy, RULE, 1, digest=sha256(policy.read_bytes()).hexdigest())
    assert RULE in policy.read_text()


def test_a_policy_that_is_missing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="cannot be changed"):
        insert_rule(tmp_path / "none.toml", RULE, 1)


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644])
def test_the_mode_stays_and_nothing_lies_beside(policy: Path, mode: int) -> None:
    policy.chmod(mode)
    insert_rule(policy, RULE, 1)
    assert policy.stat().st_mode & 0o777 == mode
    assert {item.name for item in policy.parent.glob("*policy*")} == {
        "policy.toml",
        ".policy.toml.lock",
    }


def test_a_link_to_the_policy_stays_a_link(policy: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.toml"
    link.symlink_to(policy)
    insert_rule(link, RULE, 1)
    assert link.is_symlink()
    assert RULE in policy.read_text()


def test_many_writers_lose_no_rule(policy: Path) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from clawkit.guard.authoring.edit import insert_rule\n"
        "for n in range(5): insert_rule(Path(sys.argv[1]), "
        'f\'[[rule]]\\naction = "allow"\\ntool = "{sys.argv[2]}{n}"\\n\', 1)'
    )
    children = [
        subprocess.Popen([sys.executable, "-c", code, str(policy), name]) for name in ("x", "y")
    ]
    threads = [
        threading.Thread(target=insert_rule, args=(policy, RULE.replace("new", f"z{n}"), 1))
        for n in range(5)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [child.wait() for child in children] == [0, 0]
    rules = read_policy(policy.read_text(), "policy").rules
    names = {rule.tools[0] for rule in rules}
    assert names == {"a", "b", "c", *(f"{who}{n}" for who in "xyz" for n in range(5))}


@pytest.mark.parametrize("below", ['action = "deny"\ntool = "b"', 'profile = "before"'])
def test_no_rule_is_put_above_one_that_denies(below: str, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    text = f'[[rule]]\naction = "prompt"\ntool = "a"\n\n[[rule]]\n{below}\n'
    policy.write_text(text)
    for before in (1, 2):
        with pytest.raises(PolicyError, match="rule 2 denies"):
            insert_rule(policy, RULE, before)
    assert policy.read_text() == text


def test_no_rule_has_more_conditions_than_a_person_reads() -> None:
    """Each is compared with every argument: it would take minutes to know that the rule allows."""
    many = {f"key-{number}": number for number in range(101)}
    with pytest.raises(PolicyError, match="more than 100 arguments"):
        rule_for("make", "tools/call", many, "files")
    del many["key-0"]
    assert rule_for("make", "tools/call", many, "files").count("args.") == 100


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc")
def test_no_rule_is_for_a_folder_that_each_process_has_for_itself(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/proc/self/cwd")
    for path in ("/proc/self/fd/1", "/dev/fd/1", "/proc/self/cwd/a", str(tmp_path / "link" / "a")):
        call = Call("tools/call", "write", {"path": path})
        with pytest.raises(PolicyError, match="open where a link in it leads"):
            folder_rule(call, ("files",), "/home/me")
