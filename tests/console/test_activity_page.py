"""Activity in a real browser: what a guard wrote, filtered, charted, opened, and a lot of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from clawkit.guard.audit.log import AuditLog
from clawkit.guard.audit.record import AuditRecord
from clawkit.guard.locations import audit_directory, policy_file
from tests.console.big_log import write_big_log
from tests.console.browser import RunningConsole, Visitor, visiting
from tests.guard.guarded_server import Guarded, guarded

POLICY = """
[[rule]]
action = "deny"
tool = "delete_file"
description = "Nothing is deleted"

[[rule]]
action = "allow"
tool = "*"
"""
SCRIPT = "<img src=x onerror=alert(1)><script>alert(1)</script>\u202eb\x1b[2J"


@pytest.fixture
def guard(console: RunningConsole, tmp_path: Path) -> Iterator[Guarded]:  # noqa: ARG001 - its home
    with guarded(tmp_path, POLICY, "--name", "files") as running:
        running.initialize()
        yield running


@pytest.fixture
def page(visitor: Visitor, console: RunningConsole, guard: Guarded) -> Page:
    assert "result" in guard.tool("read_file", 1, path="/work/a")
    assert "error" in guard.tool("delete_file", 2, path="/work/b")
    return visitor.open(console.link, "activity")


def rows(page: Page) -> list[str]:
    return page.locator("section[aria-label=Calls] tbody tr").all_inner_texts()


def test_each_decision_is_shown_with_its_rule(page: Page) -> None:
    denied, allowed = rows(page)
    assert "delete_file" in denied
    assert "deny" in denied
    assert "rule 1: Nothing is deleted" in denied
    assert "read_file" in allowed
    assert "rule 2" in allowed
    assert "ms" in allowed


def test_calls_arrive_while_one_looks(page: Page, guard: Guarded) -> None:
    assert "result" in guard.tool("read_file", 3, path="/work/later")
    expect(page.get_by_text("/work/later")).to_be_visible()
    expect(page.locator(".figure").first).to_have_text("3")


def test_a_long_path_shows_its_name_and_its_end(page: Page, guard: Guarded) -> None:
    assert "result" in guard.tool("read_file", 3, path=f"/work{'/deep' * 40}/the-end.txt")
    cell = page.locator("td.preview").filter(has_text="the-end.txt")
    expect(cell).to_contain_text("path=/work/deep")
    assert not cell.evaluate("(one) => one.scrollWidth > one.clientWidth")


def test_the_page_uses_a_wide_window_and_says_that_there_are_more_tools(
    page: Page, guard: Guarded
) -> None:
    for number in range(10):
        assert "result" in guard.tool(f"tool_{number}", 10 + number, path="/work/a")
    tools = page.locator("figure", has_text="Tools")
    expect(tools.get_by_text("The first 8 of 12.")).to_be_visible()
    page.set_viewport_size({"width": 1600, "height": 900})
    box = page.locator("main").bounding_box()
    assert box is not None
    assert box["x"] + box["width"] >= 1600 - 100
    cut = """(all) => all.filter((one) => {
        const text = document.createElement("canvas").getContext("2d");
        text.font = getComputedStyle(one).font;
        return text.measureText(one.placeholder).width > one.clientWidth - 36;
    }).map((one) => one.placeholder)"""
    for width in (1200, 1600):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.locator(".filters input[placeholder]").evaluate_all(cut) == []


def test_the_latency_is_no_line_where_nothing_was_measured(
    visitor: Visitor, console: RunningConsole
) -> None:
    log = AuditLog(audit_directory())
    for minute in (0, 1, 20, 21):
        time, one = f"2026-01-31T10:{minute:02}:30.000Z", str(minute)
        log.write(
            AuditRecord(kind="call", id=one, time=time, method="tools/call", tool="read"),
            AuditRecord(kind="answer", of=one, time=time, latency_ms=5.0),
        )
    page = visitor.open(console.link, "activity")
    path = page.locator("figure", has_text="Latency").locator("path.line-0").get_attribute("d")
    assert path is not None
    assert path.count("M") == 2


def test_filters_leave_what_was_asked_for_and_stand_in_the_address(page: Page) -> None:
    table = page.locator("section[aria-label=Calls] tbody tr")
    page.get_by_label("Decision").select_option("blocked")
    expect(table).to_contain_text(["delete_file"])
    assert "decision=blocked" in page.url
    page.get_by_label("Decision").select_option("")
    page.get_by_label("Tool", exact=True).fill("read_*")
    expect(table).to_contain_text(["read_file"])
    page.get_by_label("Tool", exact=True).fill("")
    page.get_by_label("Text").fill("/work/b")
    expect(table).to_contain_text(["/work/b"])
    page.get_by_label("Text").fill("")
    page.get_by_label("Rule").fill("2")
    expect(table).to_contain_text(["rule 2"])
    page.get_by_label("Rule").fill("")
    page.get_by_label("Lists, starts and notices too").check()
    expect(page.get_by_text("initialize").first).to_be_visible()


def test_a_call_opens_to_its_arguments_its_result_and_its_session(
    page: Page, guard: Guarded
) -> None:
    page.get_by_role("button", name="read_file", exact=True).first.click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text('"path": "/work/a"')
    expect(dialog).to_contain_text("sha256")
    expect(dialog.locator("dd code")).to_have_text(digest_of_answer())
    dialog.get_by_text("Before and after in the same session").click()
    expect(dialog.get_by_role("cell", name="delete_file")).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    assert guard.process.poll() is None


def digest_of_answer() -> str:
    from clawkit.guard.audit.reader import read

    answers = [record for record in read(audit_directory()) if record["kind"] == "answer"]
    return next(one.get("digest", "") for one in answers if one.get("tool") == "read_file")


def test_the_charts_have_tables_behind_them(page: Page) -> None:
    expect(page.get_by_role("img", name="Calls per")).to_have_count(2)
    chart = page.locator("figure", has_text="Calls per second").first
    axis = chart.locator("text[text-anchor=end]").all_text_contents()[:3]
    assert all(label.isdigit() for label in axis), axis  # there is no half of a call
    chart.get_by_text("Show as a table").click()
    counts = chart.locator("td.number").all_inner_texts()
    assert sum(map(int, counts[::2])) == 2
    lanes = page.locator("figure", has_text="Calls per server over time")
    lanes.get_by_text("Show as a table").click()
    assert lanes.locator("tbody tr").inner_text().split()[:3] == ["files", "2", "1"]
    blocked = page.locator("figure", has_text="Why calls were blocked")
    expect(blocked).to_contain_text("rule 1: Nothing is deleted")
    expect(blocked.get_by_role("columnheader")).to_have_text(["Reason", "Share", "Times"])


def test_on_a_phone_rows_are_cards_and_no_label_is_cut_off(
    browser: Browser, console: RunningConsole, guard: Guarded
) -> None:
    assert "result" in guard.tool("read_file", 1, path="/work/a" * 40)
    with visiting(browser, viewport={"width": 390, "height": 820}) as visitor:
        page = visitor.open(console.link, "activity")
        wide = "(all) => all.filter((one) => one.scrollWidth > one.clientWidth).length"
        assert page.locator(".scroll").evaluate_all(wide) == 0
        row = page.get_by_role("table", name="Calls, newest first").get_by_role("row").last
        expect(row.get_by_role("cell").first).to_contain_text("read_file")
        boxes = """(row) => [row, row.querySelector("td.preview")]
            .map((one) => [one.clientWidth, one.clientHeight])"""
        (row_width, _), (width, height) = row.evaluate(boxes)
        assert width == row_width
        assert height > 60  # what is long stands on several lines
        for link in page.locator("#pages a").all():
            expect(link).to_be_in_viewport(ratio=1)
        cut = """(all) => all.filter((one) => {
            const [box, frame] = [one.getBBox(), one.ownerSVGElement.viewBox.baseVal];
            return box.x < 0 || box.x + box.width > frame.width;
        }).map((one) => one.textContent)"""
        assert page.locator(".chart text").evaluate_all(cut) == []


@pytest.mark.parametrize("width", [390, 1000, 1280, 1440, 1900])
def test_names_are_not_broken_and_charts_are_as_legible_as_the_rest(
    browser: Browser, console: RunningConsole, tmp_path: Path, width: int
) -> None:
    policy = POLICY.replace("deleted", "deleted without a good reason for it")
    with guarded(tmp_path, policy, "--name", "greenhouse") as guard:
        guard.initialize()
        for number, name in enumerate(("list_folders", "send_message", "delete_file")):
            guard.tool(name, number, path="/work/a")
        with visiting(browser, viewport={"width": width, "height": 900}) as visitor:
            page = visitor.open(console.link, "activity")
            broken = """(all) => all.filter((one) => {
                const range = document.createRange();
                range.selectNodeContents(one);
                return one.firstChild && range.getClientRects().length > 1;
            }).map((one) => one.textContent)"""
            tables = page.locator("[aria-label='Calls, newest first'], [aria-label=Tools]")
            names = tables.locator("td.name :is(button, span), td.name:not(:has(*))")
            assert names.count() >= 6
            assert names.evaluate_all(broken) == []
            sizes = page.locator(".chart:visible").evaluate_all(
                "(all) => all.map((one) => 12 * one.getScreenCTM().a)"
            )
            assert len(sizes) == 3
            assert 10 < min(sizes) <= max(sizes) < 15, sizes
            reason = page.locator("figure", has_text="Why calls were blocked").locator("td").first
            expect(reason).to_have_text("rule 1: Nothing is deleted without a good reason for it")


def test_a_rule_that_is_looked_at_is_marked_among_the_others(page: Page, visitor: Visitor) -> None:
    policy_file().parent.mkdir(parents=True)
    policy_file().write_text(POLICY)
    page.locator("tbody").get_by_role("button", name="delete_file").first.click()
    page.get_by_role("dialog").get_by_role("button", name="Look at rule 1").click()
    visitor.ready("policy")
    rule = page.get_by_label("Rule 1", exact=True)
    expect(rule).to_be_focused()
    marked = "(one) => getComputedStyle(one).outlineStyle"
    assert rule.evaluate(marked) == "solid"
    assert page.get_by_label("Rule 2", exact=True).evaluate(marked) == "none"


def test_the_state_of_the_hash_chain_is_shown(page: Page, visitor: Visitor) -> None:
    expect(page.get_by_text("The log is whole")).to_be_visible()
    live = next(audit_directory().glob("*.jsonl"))
    live.write_bytes(live.read_bytes().replace(b"delete_file", b"create_file"))
    AuditLog(audit_directory()).write(AuditRecord(kind="call", server="files", tool="x"))
    visitor.go("policy")
    visitor.go("activity")
    expect(page.get_by_role("alert")).to_contain_text("The log is broken")
    expect(page.get_by_role("alert")).to_contain_text("was changed")


def test_hostile_text_is_inert_in_every_field(
    visitor: Visitor,
    console: RunningConsole,
) -> None:
    names = ("id", "server", "client", "session", "method", "tool", "reason")
    fields = dict.fromkeys(names, SCRIPT)
    record = AuditRecord(
        kind="call",
        decision="deny",
        rule=3,
        arguments={SCRIPT: [SCRIPT, "x" * 50_000]},
        outside={SCRIPT: SCRIPT},
        flags=(SCRIPT,),
        **fields,
    )
    AuditLog(audit_directory()).write(record)
    long = AuditRecord(kind="call", decision="deny", tool="t" * 300, server="s" * 300)
    AuditLog(audit_directory()).write(long)
    page = visitor.open(console.link, "activity")
    newest, hostile = page.locator("section[aria-label=Calls] tbody button").all()
    expect(newest).to_have_text(f"{'t' * 39}…")
    expect(page.get_by_title("s" * 300, exact=True).first).to_have_text(f"{'s' * 39}…")
    hostile.click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("\\u202eb\\x1b[2J")
    expect(dialog.get_by_role("button", name="more characters").first).to_be_visible()
    assert page.locator("main img, main script, dialog img, dialog script").count() == 0


@pytest.fixture
def many(claw_home: Path) -> int:  # noqa: ARG001 - in that home
    """The records of a log that a guard would write in weeks."""
    write_big_log(50_000)
    return 100_000


def test_a_hundred_thousand_records_stay_in_pages(
    many: int, visitor: Visitor, console: RunningConsole
) -> None:
    page = visitor.open(console.link, "activity")
    expect(page.locator(".figure").first).to_have_text(f"{many // 2:,}")
    table = page.locator("section[aria-label=Calls] tbody tr")
    assert table.count() <= 200
    assert page.locator("*").count() < 5000
    newest = table.first.inner_text()
    page.get_by_role("button", name="Older").click()
    expect(page.get_by_role("button", name="Newer")).to_be_enabled()
    assert table.first.inner_text() != newest
    page.get_by_role("button", name="Newer").click()
    expect(table.first).to_have_text(newest.replace("\t", "").replace("\n", ""))
    page.get_by_label("Text").fill("/work/12345")
    expect(table).to_have_count(1)
    page.get_by_role("button", name="tool_7", exact=True).first.click()
    expect(page.get_by_role("dialog")).to_contain_text("/work/12345")


def test_until_a_large_log_is_read_the_page_says_that_it_reads(
    visitor: Visitor, console: RunningConsole
) -> None:
    page = visitor.open(console.link)
    held: list[Route] = []
    page.route("**/api/activity/rows*", lambda route: held.append(route))  # noqa: PLW0108 - it marks it
    with page.expect_request("**/api/activity/rows*"):
        page.evaluate("() => { location.hash = '#/activity'; }")
    reading = page.get_by_label("Calls").get_by_text("Reading the log…")
    expect(reading).to_be_visible()
    held[0].continue_()
    expect(reading).to_have_count(0)


def test_a_rule_in_the_address_that_is_no_number_filters_nothing(
    page: Page, visitor: Visitor
) -> None:
    visitor.go("activity", "?rule=abc")
    expect(page.locator("section[aria-label=Calls] tbody tr")).to_have_count(2)
    page.get_by_label("Rule").fill("1")
    expect(page.locator("section[aria-label=Calls] tbody tr")).to_have_count(1)
    page.get_by_label("Rule").fill("-3")
    expect(page.locator("section[aria-label=Calls] tbody tr")).to_have_count(1)
    expect(page.get_by_role("alert")).to_have_count(0)


def test_a_log_that_cannot_be_read_takes_no_other_page_away(
    console: RunningConsole, visitor: Visitor
) -> None:
    place = audit_directory()
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("no folder")
    page = visitor.open(console.link, "approvals")
    expect(page.locator("#connection")).to_have_text("Live")
    page.get_by_role("link", name="Activity").click()
    expect(page.get_by_role("alert").first).to_contain_text("audit.jsonl cannot be read")
    expect(page.locator("#connection")).to_have_text("Live")
