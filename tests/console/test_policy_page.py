"""Policy in a real browser: rules and their hits, a call tried, an edit replayed and saved."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from clawkit.guard.locations import policy_file
from tests.console.browser import RunningConsole, Visitor
from tests.guard.guarded_server import guarded

POLICY = """# Kept by hand.
[[rule]]
action = "deny"
tool = "delete_file"
description = "Nothing is deleted"

[[rule]]
action = "prompt"
tool = "never_called"
description = "Ask first"

[[rule]]
action = "allow"
tool = "*"
"""


@pytest.fixture
def page(visitor: Visitor, console: RunningConsole, tmp_path: Path) -> Page:
    """The page after a real guard has decided three calls by the policy in use."""
    policy_file().parent.mkdir(parents=True)
    policy_file().write_text(POLICY)
    with guarded(tmp_path, POLICY, "--name", "files") as guard:
        guard.initialize()
        guard.call("tools/list", {}, "list")
        guard.tool("read_file", 1, path="/work/a")
        guard.tool("read_file", 2, path="/work/b")
        guard.tool("delete_file", 3, path="/work/b")
    return visitor.open(console.link, "policy")


def rule(page: Page, number: int) -> str:
    return page.get_by_label(f"Rule {number}", exact=True).inner_text()


def edit(page: Page, text: str) -> None:
    page.get_by_label("Policy as TOML").fill(text)


def test_rules_stand_in_order_with_their_hits(page: Page) -> None:
    assert page.locator(".rule").count() == 3
    assert "Nothing is deleted" in rule(page, 1)
    assert "1 call" in rule(page, 1)
    assert "never hit" in rule(page, 2)
    assert "2 calls" in rule(page, 3)


def test_on_a_phone_nothing_lies_over_what_a_rule_is_called(page: Page) -> None:
    policy_file().write_text(POLICY.replace("Ask first", "Credentials of other programs"))
    page.set_viewport_size({"width": 320, "height": 640})
    page.reload()
    named = page.locator(".rule-head > .text").filter(has_text="Credentials")
    expect(page.locator(".rule-head .hits").nth(1)).to_have_text("never hit")
    room = named.evaluate("(one) => [one.scrollWidth, one.clientWidth]")
    assert room[0] <= room[1]
    assert room[1] > 100


def test_a_rule_that_may_decide_calls_is_not_one_that_is_never_hit(
    visitor: Visitor, page: Page, tmp_path: Path
) -> None:
    """The log has no passwords: whether the rule was for this one cannot be known."""
    (tmp_path / "more").mkdir()
    with guarded(tmp_path / "more", POLICY, "--name", "files") as guard:
        guard.initialize()
        guard.tool("read_file", 4, path="/work/a", password="hunter2")
    asks = 'tool = "read_file"\nargs.password = "x*"'
    policy_file().write_text(POLICY.replace('tool = "never_called"', asks))
    visitor.go("activity")
    visitor.go("policy")
    expect(page.get_by_label("Rule 2", exact=True)).to_contain_text("1 uncertain")
    assert "never hit" not in rule(page, 2)
    assert "2 calls, 1 uncertain" in rule(page, 3)


def test_the_hits_are_of_the_calls_that_activity_counts(visitor: Visitor, page: Page) -> None:
    expect(page.get_by_text("Counted over 3 calls of the log")).to_be_visible()
    expect(page.get_by_text("matched no rule")).to_have_count(0)
    visitor.go("activity")
    expect(page.locator(".figure").first).to_have_text("3")


def test_a_call_is_tried_and_the_deciding_rule_explained(page: Page) -> None:
    page.get_by_label("Call", exact=True).fill("delete_file path=/work/c")
    page.get_by_role("button", name="Decide").click()
    verdict = page.locator(".verdict")
    expect(verdict).to_contain_text("deny")
    expect(verdict).to_contain_text("by rule 1, line 2: Nothing is deleted")
    page.get_by_label("Call", exact=True).fill('{"name": "read_file", "arguments": {"path": "/x"}}')
    page.get_by_role("button", name="Decide").click()
    expect(verdict).to_contain_text("allow")
    page.get_by_label("Call", exact=True).fill("read_file nonsense")
    page.get_by_role("button", name="Decide").click()
    expect(page.get_by_role("alert")).to_contain_text("write NAME=VALUE")
    page.get_by_label("Call", exact=True).fill("path=/work/c")
    page.get_by_role("button", name="Decide").click()
    expect(page.get_by_role("alert")).to_contain_text("no tool is named before it")


def test_an_edit_is_replayed_before_it_can_be_saved_and_the_old_one_is_kept(page: Page) -> None:
    save = page.get_by_role("button", name="Save", exact=True)
    expect(save).to_be_disabled()
    new = POLICY.replace('tool = "delete_file"', 'tool = "read_*"')
    edit(page, new)
    expect(save).to_be_disabled()
    page.get_by_role("button", name="Replay over the log").click()
    expect(page.get_by_text(", 3 change.")).to_be_in_viewport(ratio=1)
    page.locator(".change-report summary").first.click()
    expect(page.get_by_role("cell", name="read_file").first).to_be_visible()
    save.press("Enter")
    expect(page.get_by_text("The policy is saved")).to_be_visible()
    expect(page.get_by_text("This is the policy in use.")).to_be_focused()
    assert policy_file().read_text() == new
    kept = [path for path in policy_file().parent.glob("policy.toml.*") if path.is_file()]
    assert [path.read_text() for path in kept] == [POLICY]
    expect(page.get_by_label("Rule 1", exact=True)).to_contain_text("read_*")
    page.get_by_role("button", name="Undo").press("Enter")
    expect(page.get_by_label("Rule 1", exact=True)).to_contain_text("delete_file")
    expect(page.locator(".toast")).to_have_text(re.compile("^The policy is again what it was"))
    expect(page.get_by_text("This is the policy in use.")).to_be_focused()
    assert policy_file().read_text() == POLICY


def test_what_cannot_be_used_is_not_saved(page: Page) -> None:
    edit(page, POLICY.replace('"allow"', '"perhaps"'))
    page.get_by_role("button", name="Replay over the log").click()
    expect(page.get_by_role("alert")).to_contain_text("perhaps")
    expect(page.get_by_role("button", name="Save", exact=True)).to_be_disabled()
    assert policy_file().read_text() == POLICY


def test_a_mistake_in_a_long_policy_is_shown_where_it_is(page: Page) -> None:
    above = "# so that the mistake is far below\n" * 120
    edit(page, f"{above}{POLICY}[[rule\n{above}")
    page.get_by_role("button", name="Replay over the log").click()
    line = (above + POLICY).count("\n") + 1
    expect(page.get_by_role("alert")).to_contain_text(f"line {line}: not TOML")
    page.get_by_role("button", name=f"Go to line {line}").press("Enter")
    area = page.get_by_label("Policy as TOML")
    expect(area).to_be_focused()
    assert page.evaluate("() => getSelection().toString()") == "[[rule"
    shown = """(area) => {
        const tall = parseFloat(getComputedStyle(area).lineHeight);
        const line = area.value.slice(0, area.selectionStart).split("\\n").length;
        const below = line * tall - area.scrollTop;
        return below > 0 && below < area.clientHeight;
    }"""
    assert area.evaluate(shown)


MINE, THEIRS = f"{POLICY}# mine\n", f"{POLICY}# from elsewhere\n"


def conflict(page: Page) -> None:
    """An edit that could be saved, and then the file is another one."""
    edit(page, MINE)
    page.get_by_role("button", name="Replay over the log").click()
    expect(page.get_by_role("button", name="Save", exact=True)).to_be_enabled()
    policy_file().write_text(THEIRS)
    expect(page.get_by_role("alert")).to_contain_text("changed elsewhere")
    expect(page.locator(".diff .removed")).to_contain_text("# from elsewhere")
    expect(page.locator(".diff .added")).to_contain_text("# mine")
    expect(page.get_by_role("button", name="Save", exact=True)).to_be_disabled()
    assert policy_file().read_text() == THEIRS


def test_while_two_policies_are_to_choose_from_nothing_stands_over_the_choice(page: Page) -> None:
    edit(page, MINE)
    page.get_by_role("button", name="Replay over the log").click()
    save = page.get_by_role("button", name="Save", exact=True)
    expect(save).to_be_enabled()
    policy_file().write_text(THEIRS)
    save.evaluate("(one) => one.click()")  # before the page has heard of it, or just after
    expect(page.get_by_role("button", name="Go on with mine")).to_be_in_viewport(ratio=1)
    expect(page.locator(".toast")).to_have_count(0)
    expect(page.get_by_text("can be saved")).to_have_count(0)
    replay = page.get_by_role("button", name="Replay over the log")
    expect(replay).to_be_disabled()
    expect(replay).to_have_attribute("title", "Choose first which of the two policies it is to be.")
    page.get_by_role("button", name="Go on with mine").click()
    expect(replay).to_be_enabled()


def test_each_window_has_a_draft_of_its_own(page: Page, console: RunningConsole) -> None:
    edit(page, MINE)
    other = page.context.new_page()
    other.goto(f"{console.origin}/#/policy")
    expect(other.get_by_label("Policy as TOML")).to_have_value(POLICY)
    page.reload()
    expect(page.get_by_label("Policy as TOML")).to_have_value(MINE)


def test_an_edit_is_not_saved_over_one_that_was_made_elsewhere_before_one_has_chosen(
    page: Page,
) -> None:
    conflict(page)
    page.get_by_role("button", name="Go on with mine").click()
    expect(page.get_by_role("button", name="Save", exact=True)).to_be_disabled()
    page.get_by_role("button", name="Replay over the log").click()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("The policy is saved")).to_be_visible()
    assert policy_file().read_text() == MINE
    kept = [path for path in policy_file().parent.glob("policy.toml.*") if path.is_file()]
    assert [path.read_text() for path in kept] == [THEIRS]


def test_a_policy_that_was_made_elsewhere_can_be_taken_in_place_of_ones_own(page: Page) -> None:
    conflict(page)
    page.get_by_role("button", name="Take the other one").click()
    expect(page.get_by_label("Policy as TOML")).to_have_value(THEIRS)
    expect(page.get_by_text("This is the policy in use.")).to_be_visible()
    page.reload()
    expect(page.get_by_label("Policy as TOML")).to_have_value(THEIRS)


def test_what_is_typed_outlives_the_page_until_it_is_saved_or_dropped(
    visitor: Visitor, page: Page
) -> None:
    area, again = page.get_by_label("Policy as TOML"), page.get_by_text("is here again")
    edit(page, MINE)
    visitor.go("activity")
    visitor.go("policy")
    expect(area).to_have_value(MINE)
    expect(again).to_be_visible()
    page.reload()
    expect(area).to_have_value(MINE)
    page.get_by_role("button", name="Drop changes").click()
    expect(area).to_have_value(POLICY)
    page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(area).to_have_value(MINE)
    expect(area).to_be_focused()
    page.get_by_role("button", name="Drop changes").click()
    visitor.go("activity")
    visitor.go("policy")
    expect(area).to_have_value(POLICY)
    expect(again).to_have_count(0)


def test_a_replay_tells_what_the_edit_changes_apart_from_what_was_decided_before(
    page: Page,
) -> None:
    now = POLICY.replace('tool = "delete_file"', 'tool = "nothing"')
    policy_file().write_text(now)
    expect(page.get_by_label("Policy as TOML")).to_have_value(now)
    edit(page, now.replace('tool = "never_called"', 'tool = "read_file"\nargs.path = "/work/a"'))
    page.get_by_role("button", name="Replay over the log").click()
    expect(page.get_by_text(", 1 change.")).to_be_visible()
    expect(page.get_by_text("1 call was decided otherwise when made")).to_be_visible()


def test_a_call_that_was_tried_is_there_again(visitor: Visitor, page: Page) -> None:
    page.get_by_label("Call", exact=True).fill("   ")
    page.get_by_role("button", name="Decide").click()
    expect(page.get_by_role("alert")).to_contain_text("The call cannot be tried: it is empty")
    page.get_by_label("Call", exact=True).fill("read_file path=/x")
    visitor.go("activity")
    visitor.go("policy")
    expect(page.get_by_label("Call", exact=True)).to_have_value("read_file path=/x")


def test_a_draft_of_a_policy_that_has_changed_since_asks_which_of_the_two(
    visitor: Visitor, page: Page
) -> None:
    edit(page, MINE)
    visitor.go("activity")
    policy_file().write_text(THEIRS)
    visitor.go("policy")
    expect(page.get_by_label("Policy as TOML")).to_have_value(MINE)
    expect(page.get_by_role("alert")).to_contain_text("changed elsewhere")


def test_the_policy_before_can_be_put_back_long_after_it_was_saved_over(
    visitor: Visitor, page: Page
) -> None:
    edit(page, MINE)
    page.get_by_role("button", name="Replay over the log").click()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("The policy is saved")).to_be_visible()
    page.reload()
    visitor.ready("policy")
    page.get_by_role("button", name="Put it back…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.locator(".diff .removed")).to_contain_text("# mine")
    dialog.get_by_role("button", name="Put it back").click()
    expect(page.get_by_label("Policy as TOML")).to_have_value(POLICY)
    assert policy_file().read_text() == POLICY


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (f"read_file path=/{'a' * 70_000}", "and here it may have 65,536"),
        (f'{{"name": "a", "arguments": {{"b": {"[" * 30_000}}}}}', "nested so deep"),
    ],
    ids=["long", "deep"],
)
def test_a_call_that_is_too_much_to_try_is_refused_and_told_why(
    page: Page, call: str, said: str
) -> None:
    page.get_by_label("Call", exact=True).fill(call)
    page.get_by_role("button", name="Decide").click()
    expect(page.get_by_role("alert")).to_contain_text(said)


def test_the_edited_policy_can_be_tried_before_it_is_saved(page: Page) -> None:
    edit(page, POLICY.replace('"deny"', '"allow"'))
    page.get_by_label("On the edited policy").check()
    page.get_by_label("Call", exact=True).fill("delete_file path=/a")
    page.get_by_label("Call", exact=True).press("Tab")
    page.get_by_role("button", name="Decide").press("Enter")
    expect(page.locator(".verdict")).to_contain_text("allow")


def test_markup_in_a_policy_is_text(visitor: Visitor, console: RunningConsole) -> None:
    script = "<img src=x onerror=alert(1)>\\u202eb"
    policy_file().parent.mkdir(parents=True)
    policy_file().write_text(
        f'[[rule]]\naction = "allow"\ntool = "{script}"\ndescription = "{script}"\n'
    )
    page = visitor.open(console.link, "policy")
    expect(page.get_by_label("Rule 1", exact=True)).to_contain_text("<img src=x")
    assert page.locator("main img").count() == 0
    assert "\u202e" not in page.locator("main").inner_text()


def test_without_a_policy_the_default_is_offered(visitor: Visitor, console: RunningConsole) -> None:
    page = visitor.open(console.link, "policy")
    expect(page.get_by_text("There is no policy yet")).to_be_visible()
    expect(page.get_by_text("A proposal, not in use yet.")).to_be_visible()
    page.get_by_role("button", name="Replay over the log").click()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_label("Rule 2", exact=True)).to_contain_text("Keys and credentials")
    assert policy_file().stat().st_mode & 0o077 == 0
