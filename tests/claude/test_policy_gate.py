"""One `[[rule]]` file over the CLI's own tools and every MCP tool."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clawkit.claude.permissions import ToolRequest
from clawkit.claude.policy_gate import PolicyGate
from tests.assistant.providers.scripted import Call, Request, Say
from tests.assistant.providers.steps import Step
from tests.claude.conversations import talking
from tests.claude.shop import RULES, Shop, buy, look, rewrite
from tests.guard.guarded_server import records

pytestmark = pytest.mark.usefixtures("each_cli")


async def test_the_same_rules_govern_the_clis_own_tools_and_mcp_tools(
    project: Path, policy: Path, home: Path
) -> None:
    shop = Shop()
    (project / "notes.txt").write_text("milk and honey")
    (project / "secret.txt").write_text("the word is mellon")
    calls = [
        Call("Read", {"file_path": str(project / "notes.txt")}, id="read"),
        Call("Read", {"file_path": str(project / "secret.txt")}, id="secret"),
        Call("Read", {"file_path": "secret.txt"}, id="relative"),
        Call("Write", {"file_path": str(project / "new.txt"), "content": "new"}, id="write"),
        Call("Write", {"file_path": str(home / "out.txt"), "content": "out"}, id="outside"),
        Call("Bash", {"command": "echo hello"}, id="bash"),
        Call("Bash", {"command": "cat notes.txt"}, id="cat"),
        look("bread", "look"),
        look("/x/secret", "peek"),
    ]
    async with talking(project, [calls, Say("Done.")], shop.server, policy=policy) as talk:
        await talk.say("Work.")
        assert "milk and honey" in talk.read("read")
        for denied in ("secret", "relative", "peek"):
            assert "Secrets stay where they are" in talk.read(denied)
            assert "mellon" not in talk.read(denied)
        assert not talk.result("write").get("is_error")
        assert "No rule allows the tool 'Write'" in talk.read("outside")
        assert talk.read("bash") == "hello"
        assert "No rule allows the tool 'Bash'" in talk.read("cat")
        assert talk.read("look") == "saw bread"
    assert shop.calls == ["look bread"]
    assert (project / "new.txt").read_text() == "new"
    assert not (home / "out.txt").exists()
    logged = [(r["server"], r["tool"], r["decision"], r.get("rule", 0)) for r in records(home)]
    assert sorted(logged) == [
        ("claude", "Bash", "allow", 3),
        ("claude", "Bash", "deny", 0),
        ("claude", "Read", "allow", 2),
        ("claude", "Read", "deny", 1),
        ("claude", "Read", "deny", 1),
        ("claude", "Write", "allow", 2),
        ("claude", "Write", "deny", 0),
        ("shop", "look", "allow", 4),
        ("shop", "look", "deny", 1),
    ]


async def test_a_prompt_rule_asks_whoever_can_decide_and_denies_when_there_is_nobody(
    project: Path, policy: Path, home: Path
) -> None:
    shop, asked = Shop(), []

    async def decide(request: ToolRequest) -> bool:
        asked.append((request.tool_use_id, request.reason))
        return request.input["what"] == "tea"

    calls = [buy("tea", "tea"), buy("gold", "gold")]
    async with talking(
        project, [calls, Say("Done.")], shop.server, policy=policy, can_use_tool=decide
    ) as talk:
        await talk.say("Buy.")
        assert talk.read("tea") == "bought tea"
        assert talk.read("gold") == "The person did not allow this"
    assert [id for id, _ in asked] == ["tea", "gold"]
    assert "Buying needs a person" in asked[0][1]
    logged = [(r["kind"], r["decision"], r.get("reason")) for r in records(home)]
    assert logged == [
        ("call", "prompt", "Buying needs a person"),
        ("approval", "allow", None),
        ("call", "prompt", "Buying needs a person"),
        ("approval", "deny", "The person did not allow this"),
    ]

    async with talking(
        project, [buy("rum", "rum"), Say("Oh.")], shop.server, policy=policy
    ) as talk:
        await talk.say("Buy.")
        assert "there is nobody to ask" in talk.read("rum")
    assert shop.calls == ["buy tea"]


async def test_a_change_of_the_file_counts_from_the_next_call_and_a_broken_one_denies_all(
    project: Path, policy: Path
) -> None:
    shop = Shop()
    script = [look("one", "1"), Say("."), look("two", "2"), Say("."), look("three", "3"), Say(".")]
    async with talking(project, script, shop.server, policy=policy) as talk:
        await talk.say("Look.")
        rewrite(policy, '[[rule]]\naction = "deny"\ntool = "look"\ndescription = "Closed"\n')
        await talk.say("Look again.")
        rewrite(policy, '[[rule]]\naction = "perhaps"\n')
        await talk.say("And again.")
        assert talk.read("1") == "saw one"
        assert "Closed" in talk.read("2")
        assert f"The policy cannot be used, so nothing passes: {policy}:" in talk.read("3")
    assert shop.calls == ["look one"]


async def test_an_agent_that_the_model_starts_is_under_the_same_rules(
    project: Path, policy: Path
) -> None:
    shop = Shop()
    agent = '[[rule]]\naction = "allow"\nserver = "claude"\ntool = "Agent"\n'
    rewrite(policy, RULES.format(project=project) + agent)

    def script(request: Request) -> Step:
        said = request.body.decode()
        if "You go shopping." in json.dumps(request.json["system"]):
            calls = [look("bread", "look"), look("x/secret", "peek")]
            return Say("I saw bread.") if "saw bread" in said else calls
        if "I saw bread." in said:
            return Say("Done.")
        task = {"subagent_type": "shopper", "description": "look", "prompt": "Look."}
        return Call("Agent", {**task, "run_in_background": False}, id="agent")

    agents = {"shopper": {"description": "Shops", "prompt": "You go shopping."}}
    async with talking(project, script, shop.server, policy=policy, agents=agents) as talk:
        assert (await talk.say("Go.")).result == "Done."
        assert talk.read("look") == "saw bread"
        assert "Secrets stay" in talk.read("peek")
    assert shop.calls == ["look bread"]


async def test_a_server_is_judged_under_its_own_name_however_the_cli_spells_it(
    project: Path,
) -> None:
    shop = Shop("my.shop__x")
    policy = project.parent / "policy.toml"
    rules = [
        {"action": "deny", "server": "my.shop__x", "tool": "buy", "description": "Not there"},
        {"action": "allow", "server": "my.shop__x", "tool": "look"},
        {"action": "allow", "tool": "buy"},
    ]
    policy.write_text("".join(_rule(rule) for rule in rules))
    calls = [
        Call("mcp__my_shop__x__look", {"what": "tea"}, id="look"),
        Call("mcp__my_shop__x__buy", {"what": "tea"}, id="buy"),
    ]
    async with talking(project, [calls, Say("Done.")], shop.server, policy=policy) as talk:
        await talk.say("Go.")
        assert talk.read("look") == "saw tea"
        assert "Not there" in talk.read("buy")
    assert shop.calls == ["look tea"]


def _rule(fields: dict[str, str]) -> str:
    lines = [f"{name} = {json.dumps(value)}" for name, value in fields.items()]
    return "\n".join(["[[rule]]", *lines, ""])


def test_a_policy_that_is_missing_denies_and_says_how_to_make_one(project: Path) -> None:
    gate = PolicyGate(project / "none.toml", str(project), str(project.parent))
    decision = gate.decide("Read", {"file_path": "x"})
    assert decision.action == "deny"
    assert "claw policy init" in decision.reason


def test_a_log_that_cannot_be_written_denies(project: Path, policy: Path, home: Path) -> None:
    gate = PolicyGate(policy, str(project), str(home))
    audit = home / "claw" / "data" / "claw" / "guard" / "audit"
    audit.parent.mkdir(parents=True)
    audit.write_text("a file where a directory should be")
    decision = gate.decide("mcp__shop__look", {"what": "tea"})
    assert decision.action == "deny"
    assert "The policy cannot be applied" in decision.reason


def test_relative_paths_are_those_of_where_the_cli_is_by_now(project: Path, policy: Path) -> None:
    gate = PolicyGate(policy, str(project), str(project.parent))
    here, there = str(project), str(project.parent)
    assert gate.decide("Read", {"file_path": "notes"}, None, here).action == "allow"
    assert gate.decide("Read", {"file_path": "notes"}, None, there).action == "deny"


def test_relative_paths_of_a_server_are_also_those_of_where_it_was_started(
    project: Path, policy: Path
) -> None:
    (project.parent / "elsewhere").mkdir()
    here, there = str(project), str(project.parent / "elsewhere")
    policy.write_text(_rule({"action": "allow", "tool": "read", "args.path": f"{there}/**"}))
    gate = PolicyGate(policy, here, here)
    assert gate.decide("mcp__files__read", {"path": "x"}, "files", there).action == "deny"
    gate = PolicyGate(policy, there, here, {"files": ["--root", here]})
    assert gate.decide("mcp__files__read", {"path": "x"}, "files", there).action == "deny"
    assert gate.decide("mcp__other__read", {"path": "x"}, "other", there).action == "allow"
    gate.take_up({"other": [here]})
    assert gate.decide("mcp__other__read", {"path": "x"}, "other", there).action == "deny"
