"""Approvals answered in a real browser: what is shown, what is released, what is refused."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from clawkit.guard.approval_window import ApprovalWindow, answer_pending, pending
from clawkit.guard.approvals import has_window
from clawkit.guard.locations import approvals_folder
from tests.console.browser import RunningConsole, Visitor, running_console, visiting
from tests.guard.approvals import until
from tests.guard.guarded_server import Guarded, guarded
from tests.guard.test_prompt_rules import POLICY as IMPATIENT
from tests.guard.test_prompt_rules import deletions
from tests.guard.test_stopped_processes import stopped
from tests.processes import PATIENCE

ENDED = "This console has ended; run claw console again"
POLICY = IMPATIENT.replace("prompt_timeout = 20", f"prompt_timeout = {PATIENCE}")


def call(guard: Guarded, number: int, path: str = "/work/a", **more: Any) -> None:
    params = {"name": "delete_file", "arguments": {"path": path, **more}}
    guard.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})


@pytest.fixture
def page(visitor: Visitor, console: RunningConsole) -> Page:
    return visitor.open(console.link)


@pytest.fixture
def guard(page: Page, tmp_path: Path) -> Iterator[Guarded]:  # noqa: ARG001 - someone to ask
    """A guard whose prompts a person at an open page can answer."""
    with guarded(tmp_path, POLICY, "--name", "files") as running:
        running.initialize()
        yield running


@pytest.fixture
def crowded(page: Page, tmp_path: Path) -> Iterator[Guarded]:  # noqa: ARG001 - someone to ask
    """The same, of which many calls may wait."""
    many = POLICY.replace("prompts = 3", "prompts = 99").replace("_minute = 8", "_minute = 999")
    with guarded(tmp_path, many, "--name", "files") as running:
        running.initialize()
        yield running


def read_to_its_end(page: Page) -> int:
    """Press `Read on` until there is no more; gives how often."""
    return press_until_hidden(page.locator("[data-answer=read]"))


def press_until_hidden(button: Locator) -> int:
    presses = 0
    button.wait_for()
    while button.is_visible():
        button.evaluate("(one) => one.click()")
        button.page.wait_for_timeout(100)
        presses += 1
    return presses


def allow(page: Page, label: str) -> None:
    page.get_by_role("button", name=label, exact=True).click()


@pytest.mark.parametrize(
    ("label", "passes"),
    [
        ("Allow once", True),
        ("Allow these arguments, this session", True),
        ("Allow this tool, this session", True),
        ("Deny", False),
    ],
)
def test_an_answer_in_the_page_releases_or_refuses_a_waiting_call(
    page: Page, guard: Guarded, label: str, passes: bool
) -> None:
    call(guard, 1)
    region = page.get_by_role("region", name="The whole call")
    expect(region).to_contain_text("/work/a")
    expect(page.get_by_text("tester/7")).to_be_visible()
    assert deletions(guard) == 0
    allow(page, label)
    reply = guard.receive()
    assert ("result" in reply) is passes
    assert deletions(guard) == int(passes)
    told = "Allowed once: " if label == "Allow once" else ": delete_file /work/a"
    expect(page.locator(".outcome[role=status]")).to_contain_text(told)
    expect(page.get_by_text("Nothing waits for you")).to_be_visible()


def test_a_rule_is_shown_before_it_is_written_and_then_allows_the_call(
    page: Page, guard: Guarded
) -> None:
    before = guard.policy.read_text()
    call(guard, 1)
    allow(page, "Allow these arguments…")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("/work/a")
    shown = dialog.locator("pre").inner_text()
    assert guard.policy.read_text() == before
    dialog.get_by_role("button", name="Write it and allow").click()
    assert "result" in guard.receive()
    assert shown.strip() in guard.policy.read_text()
    call(guard, 2)
    assert "result" in guard.receive()


def test_a_rule_that_is_not_confirmed_is_not_written_and_the_call_goes_on_waiting(
    page: Page, guard: Guarded
) -> None:
    before = guard.policy.read_text()
    call(guard, 1)
    allow(page, "Allow this tool…")
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    assert guard.policy.read_text() == before
    allow(page, "Deny")
    assert "error" in guard.receive()


def test_only_those_rules_are_offered_that_can_be_written(
    page: Page, guard: Guarded, tmp_path: Path
) -> None:
    by_rule = page.locator("[data-answer^=always]")
    call(guard, 1, "/work/app/a")
    expect(by_rule).to_contain_text(
        ["Allow this tool in this folder…", "Allow this tool…", "Allow these arguments…"]
    )
    allow(page, "Deny")
    assert "error" in guard.receive()
    call(guard, 2, "a relative path")
    expect(by_rule).to_contain_text(["Allow this tool…", "Allow these arguments…"])
    allow(page, "Deny")
    assert "error" in guard.receive()
    (tmp_path / "nameless").mkdir()
    with guarded(tmp_path / "nameless", POLICY) as nameless:
        nameless.initialize()
        call(nameless, 3, "/work/app/a")
        expect(page.get_by_role("button", name="Allow once")).to_be_enabled()
        expect(by_rule).to_contain_text(["Allow these arguments…"])
        allow(page, "Deny")
        assert "error" in nameless.receive()


def test_an_answer_in_the_terminal_is_the_answer_in_the_page(page: Page, guard: Guarded) -> None:
    call(guard, 1)
    expect(page.get_by_role("region", name="The whole call")).to_contain_text("/work/a")
    asked = pending(approvals_folder())
    assert asked is not None
    assert answer_pending(approvals_folder(), asked[0].id, "once") == ""
    assert "result" in guard.receive()
    expect(page.get_by_text("Nothing waits for you")).to_be_visible()
    expect(page.get_by_text("files: allowed once")).to_be_visible()


def test_a_call_that_another_window_answers_stays_on_screen_with_what_became_of_it(
    page: Page, guard: Guarded, console: RunningConsole
) -> None:
    for number, path in ((1, "/work/a"), (2, "/work/b")):
        call(guard, number, path)
        expect(page.locator(".ask-item")).to_have_count(number)
    expect(page.get_by_text("2 calls wait")).to_be_visible()
    region = page.get_by_role("region", name="The whole call")
    expect(region).to_contain_text("/work/a")
    deny = page.get_by_role("button", name="Deny")
    expect(deny).to_be_enabled()
    deny.focus()
    other = page.context.new_page()
    other.goto(console.origin)
    other.mouse.move(1, 1)
    expect(other.get_by_role("region", name="The whole call")).to_contain_text("/work/a")
    allow(other, "Deny")
    assert "error" in guard.receive()
    expect(other.get_by_role("region", name="The whole call")).to_contain_text("/work/b")
    expect(page.get_by_text("No longer waits: denied in the console.")).to_be_visible()
    expect(region).to_contain_text("/work/a")
    expect(page.locator("[data-answer]")).to_have_count(0)
    page.bring_to_front()
    expect(page.locator(".ask h2")).to_be_focused()
    page.get_by_role("button", name="Go on").click()
    expect(region).to_contain_text("/work/b")
    allow(page, "Allow once")
    assert "result" in guard.receive()
    expect(other.get_by_text("No longer waits: allowed once in the console.")).to_be_visible()
    other.bring_to_front()
    other.get_by_role("button", name="Go on").click()
    expect(other.locator(".ask")).to_be_empty()


def test_a_card_names_what_its_call_is_about_as_plain_and_short_text(
    page: Page, guard: Guarded
) -> None:
    long = f"/work/{'deep/' * 40}<b>\u202eend.txt"
    cards = page.locator(".ask-item .about")
    call(guard, 1, "/work/a", note="not this")
    expect(cards).to_have_count(1)
    call(guard, 2, long)
    expect(cards).to_have_count(2)
    expect(cards.first).to_have_text("/work/a")
    expect(cards.last).to_contain_text("…")
    expect(cards.last).to_contain_text("<b>\\u202eend.txt")
    assert len(cards.last.inner_text()) < 80
    allow(page, "Deny")
    assert "error" in guard.receive()
    expect(page.get_by_role("listitem").filter(has_text="files: denied")).to_contain_text("/work/a")
    allow(page, "Deny")
    assert "error" in guard.receive()


def test_on_a_phone_a_tap_on_a_card_leads_to_its_call(page: Page, guard: Guarded) -> None:
    page.set_viewport_size({"width": 390, "height": 480})
    for number in range(1, 4):
        call(guard, number, f"/work/{number}")
        expect(page.locator(".ask-item")).to_have_count(number)
    page.locator(".ask-item").nth(1).click()
    expect(page.get_by_role("region", name="The whole call")).to_contain_text("/work/2")
    title = page.locator(".ask h2")
    expect(title).to_be_focused()
    expect(title).to_be_in_viewport()
    under = page.locator("body > header").bounding_box()
    place = title.bounding_box()
    assert under is not None
    assert place is not None
    assert place["y"] >= under["y"] + under["height"]


def test_a_page_answers_what_a_terminal_holds(
    claw_home: Path,  # noqa: ARG001 - in that home
    visitor: Visitor,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    """The terminal's view was there first: the page shows what waits in it, and takes over."""
    with ApprovalWindow(approvals_folder()) as terminal:
        console: RunningConsole = request.getfixturevalue("console")
        page = visitor.open(console.link)
        with guarded(tmp_path, POLICY, "--name", "files") as guard:
            guard.initialize()
            call(guard, 1)
            until(terminal.asks)
            allow(page, "Allow once")
            assert "result" in guard.receive()
            until(lambda: not terminal.asks())
            assert [one.how for one in terminal.ended()] == ["once"]
            terminal.close()
            until(lambda: has_window(approvals_folder()))
            call(guard, 2)
            expect(page.get_by_role("region", name="The whole call")).to_contain_text("/work/a")
            allow(page, "Deny")
            assert "error" in guard.receive()


def test_nothing_is_allowed_before_all_of_it_was_on_the_screen(page: Page, guard: Guarded) -> None:
    call(guard, 1, note="\n".join(f"line {number}" for number in range(4000)))
    region = page.get_by_role("region", name="The whole call")
    expect(region).to_contain_text("line 3999")
    once = page.get_by_role("button", name="Allow once")
    expect(once).to_be_disabled()
    expect(page.get_by_role("button", name="Deny")).to_be_enabled()
    region.focus()
    page.keyboard.press("End")
    page.wait_for_timeout(300)
    expect(once).to_be_disabled()
    on = page.get_by_role("button", name="Read on")
    on.focus()
    while on.is_visible():
        page.keyboard.press("Enter")
        page.wait_for_timeout(50)
    once.click()
    assert "result" in guard.receive()


def test_a_long_file_is_read_once_before_it_may_be_written(
    page: Page, guard: Guarded, tmp_path: Path
) -> None:
    text = "\n".join(f"line {number}." for number in range(400))
    call(guard, 1, str(tmp_path / "long.txt"), content=text)
    region = page.get_by_role("region", name="The whole call")
    expect(region).to_contain_text("line 399.")
    assert region.inner_text().count("line 200.") == 1
    once = page.get_by_role("button", name="Allow once")
    expect(once).to_be_disabled()
    read_to_its_end(page)
    page.get_by_text("The call as it is sent").click()
    expect(page.locator(".ask details pre").last).to_contain_text("line 0.\\nline 1.")
    once.click()
    assert "result" in guard.receive()


def test_after_an_answer_the_focus_is_on_the_next_call_and_then_on_the_heading(
    page: Page, guard: Guarded
) -> None:
    for number, path in ((1, "/work/a"), (2, "/work/b")):
        call(guard, number, path)
        expect(page.locator(".ask-item")).to_have_count(number)
    expect(page.get_by_text("2 calls wait")).to_be_visible()
    deny = page.get_by_role("button", name="Deny")
    region = page.get_by_role("region", name="The whole call")
    for following, heading in (("/work/b", page.locator(".ask h2")), ("", page.locator("h1"))):
        expect(deny).to_be_enabled()
        deny.press("Enter")
        assert "error" in guard.receive()
        if following:
            expect(region).to_contain_text(following)
        expect(heading).to_be_focused()


def test_after_an_answer_a_line_says_what_came_of_it_and_the_next_call_opens(
    page: Page, guard: Guarded
) -> None:
    for number, path in ((1, "/work/a"), (2, "/work/b")):
        call(guard, number, path)
        expect(page.locator(".ask-item")).to_have_count(number)
    region, line = page.get_by_role("region", name="The whole call"), page.locator(".outcome")
    once = page.locator("[data-answer=once]")
    expect(once).to_be_enabled()
    place = page.locator(".ask h2").bounding_box()
    once.click()
    assert "result" in guard.receive()
    expect(line).to_have_text("Allowed once: delete_file /work/a")
    expect(line).to_have_role("status")
    expect(region).to_contain_text("/work/b")
    assert page.locator(".ask h2").bounding_box() == place
    expect(once).to_have_attribute("aria-disabled", "false")
    with stopped(guard.process.pid):
        once.click()
        expect(page.locator(".ask .note")).to_contain_text("its guard has not confirmed it yet")
    assert "result" in guard.receive()
    expect(line).to_have_text("Allowed once: delete_file /work/b")
    expect(page.locator(".ask")).to_be_empty()


def test_an_answer_that_is_one_to_other_calls_leads_past_them(page: Page, guard: Guarded) -> None:
    for number in (1, 2, 3):
        call(guard, number, f"/work/{number}")
        expect(page.locator(".ask-item")).to_have_count(number)
    allow(page, "Allow this tool, this session")
    for _ in range(3):
        assert "result" in guard.receive()
    expect(page.locator(".outcome")).to_contain_text(": delete_file /work/1")
    expect(page.locator(".ask")).to_be_empty()
    expect(page.get_by_text("Nothing waits for you")).to_be_visible()


def test_a_file_that_changes_is_shown_as_a_diff(page: Page, guard: Guarded, tmp_path: Path) -> None:
    file = tmp_path / "poem.txt"
    file.write_text("roses are red\nviolets are blue\n")
    call(guard, 1, str(file), content="roses are red\nviolets are green\n")
    diff = page.locator(".diff")
    expect(diff.locator(".removed")).to_contain_text("violets are blue")
    expect(diff.locator(".added")).to_contain_text("violets are green")
    expect(diff.locator(".same").first).to_contain_text("roses are red")
    allow(page, "Deny")
    assert "error" in guard.receive()


def test_what_is_spelled_out_in_a_diff_is_marked_to_the_eye_and_in_words(
    page: Page, guard: Guarded, tmp_path: Path
) -> None:
    call(guard, 1, str(tmp_path / "new"), content="\\u202e literal\n\u202e real\n")
    literal, real = (page.locator(".diff .added").nth(at) for at in (0, 1))
    expect(literal.locator(".spelled")).to_have_count(0)
    expect(real.locator(".spelled")).to_contain_text("spelled out: \\u202e")
    expect(real.locator(".spelled")).to_have_css("text-decoration-line", "underline")
    allow(page, "Deny")
    assert "error" in guard.receive()


def test_hostile_text_is_inert_in_every_field(page: Page, tmp_path: Path) -> None:
    script = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
    hidden = f"{script}\u202egnp.exe\x1b[2Ja\u200bb\U000e0041"
    policy = f'[[rule]]\naction = "prompt"\ntool = "delete_file"\ndescription = "{script[:40]!s}"\n'
    policy = policy.replace('"document', "'document").replace('onerror="', "onerror=")
    policy = POLICY.replace("Ask before deleting", script.replace('"', "'"))
    with guarded(tmp_path, policy, "--name", script) as guard:
        guard.initialize()
        call(guard, 1, hidden, **{script: hidden})
        region = page.get_by_role("region", name="The whole call")
        expect(region).to_contain_text("\\u202egnp.exe\\u001b[2Ja\\u200bb\\U000e0041")
        expect(page.get_by_text(script).first).to_be_visible()
        assert page.locator("main img, main script").count() == 0
        assert page.title() == "(1) Approvals · Clawkit console"
        allow(page, "Deny")
        assert "error" in guard.receive()


def test_everything_can_be_done_with_the_keyboard(page: Page, guard: Guarded) -> None:
    call(guard, 1)
    expect(page.get_by_role("button", name="Allow once")).to_be_enabled()
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.dataset.answer") == "once":
            break
    page.keyboard.press("Enter")
    assert "result" in guard.receive()


# Both at once, however slow this machine is.
TYPED = """(keys) => { for (const key of keys)
  document.activeElement.dispatchEvent(
    new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true })); }"""


def press_until(page: Page, key: str, done: Callable[[], bool]) -> None:
    """Press a key until it counts: not in the second after the window, or what is below a dialog,
    came to the front.
    """

    def pressed() -> bool:
        page.keyboard.press(key)
        page.wait_for_timeout(100)
        return done()

    until(pressed)


def test_single_keys_answer_as_in_the_terminal_and_are_written_on_the_buttons(
    page: Page, guard: Guarded
) -> None:
    for number, path in ((1, "/work/app/1"), (2, "/work/app/2"), (3, "/work/app/3")):
        call(guard, number, path, **numbered(60 if number == 3 else 1))
        expect(page.locator(".ask-item")).to_have_count(number)
    once, region = (
        page.locator("[data-answer=once]"),
        page.get_by_role("region", name="The whole call"),
    )
    expect(once).to_have_attribute("aria-disabled", "false")
    shown = page.locator("[data-answer]:visible").evaluate_all(
        "(all) => all.map((one) => `${one.dataset.answer} ${one.querySelector('kbd').textContent}`)"
    )
    assert shown == [
        *("once a", "session s", "tool t", "deny d"),
        *("always-folder f", "always-tool T", "always-call w"),
    ]
    assert once.get_attribute("aria-keyshortcuts") == "A"
    assert page.locator("[data-answer=always-tool]").get_attribute("aria-keyshortcuts") == "Shift+T"
    press_until(page, "j", lambda: "/work/app/3" in region.inner_text())
    press_until(page, "k", lambda: "/work/app/1" in region.inner_text())
    expect(once).to_have_attribute("aria-disabled", "false")
    page.keyboard.press("d")
    assert "a person said no" in guard.receive()["error"]["message"]
    expect(region).to_contain_text("/work/app/2")
    expect(page.locator(".ask h2")).to_be_focused()
    expect(once).to_have_attribute("aria-disabled", "false")
    page.keyboard.press("a")
    assert guard.receive()["id"] == 2
    expect(region).to_contain_text("/work/app/3")
    page.keyboard.press("a")
    expect(page.locator(".toast", has_text="Read it to its end first")).to_be_visible()
    press_until(page, "Space", lambda: not page.locator("[data-answer=read]").is_visible())
    expect(once).to_have_attribute("aria-disabled", "false")
    page.keyboard.press("w")
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    assert deletions(guard) == 1
    press_until(page, "a", lambda: deletions(guard) == 2)
    assert "error" not in guard.receive()


def test_a_key_that_is_typed_on_or_comes_too_soon_or_is_switched_off_answers_nothing(
    page: Page, guard: Guarded
) -> None:
    call(guard, 1)
    once = page.locator("[data-answer=once]")
    expect(once).to_have_attribute("aria-disabled", "false")
    page.evaluate(TYPED, ["x", "a", "d"])
    expect(page.locator(".toast", has_text="No key counted").first).to_be_visible()
    page.evaluate("document.querySelector('main').append(document.createElement('input'))")
    page.locator("main > input").fill("")
    page.locator("main > input").press_sequentially("ad")
    expect(page.locator("main > input")).to_have_value("ad")
    off = page.get_by_label("Answer by single keys")
    off.uncheck()
    page.keyboard.press("a")
    off.check()
    off.blur()
    assert deletions(guard) == 0
    page.get_by_text("The rule that asks").evaluate("(one) => { one.parentNode.open = true; }")
    page.wait_for_timeout(1100)  # as long as what was typed counts
    page.get_by_text("The rule that asks").evaluate("(one) => { one.parentNode.open = false; }")
    page.evaluate(TYPED, ["a"])
    expect(page.locator(".toast", has_text=TOO_SOON)).to_be_visible()
    assert deletions(guard) == 0
    press_until(page, "a", lambda: page.locator(".ask").inner_html() == "")
    assert "result" in guard.receive()


def test_without_a_page_nobody_is_asked(
    visitor: Visitor, console: RunningConsole, tmp_path: Path
) -> None:
    page = visitor.open(console.link)
    with guarded(tmp_path, POLICY, "--name", "files") as guard:
        guard.initialize()
        call(guard, 1)
        expect(page.get_by_role("region", name="The whole call")).to_contain_text("/work/a")
        page.close()
        assert "nobody is left to ask" in guard.receive()["error"]["message"]
        assert pending(approvals_folder()) is None
        call(guard, 2)
        assert "nobody can be asked" in guard.receive()["error"]["message"]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_console_that_ends_answers_nothing(
    page: Page, guard: Guarded, console: RunningConsole, how: signal.Signals
) -> None:
    """While a terminal is open beside it, that one is asked; else nobody is left."""
    with ApprovalWindow(approvals_folder()) as terminal:
        call(guard, 1)
        expect(page.get_by_role("region", name="The whole call")).to_contain_text("/work/a")
        until(terminal.asks)
        console.process.send_signal(how)
        console.process.wait(PATIENCE)
        assert terminal.answer(terminal.asks()[0].id, "once")
        assert "result" in guard.receive()
        call(guard, 2, "/work/b")
        until(terminal.asks)
        assert terminal.denies_when_closed
    assert "nobody is left to ask" in guard.receive()["error"]["message"]
    assert deletions(guard) == 1


def test_a_page_whose_console_is_gone_or_another_one_says_so_and_answers_nothing(
    page: Page, guard: Guarded, console: RunningConsole
) -> None:
    state, deny = page.locator("#connection"), page.get_by_role("button", name="Deny")
    with ApprovalWindow(approvals_folder()) as terminal:
        call(guard, 1)
        expect(deny).to_be_enabled()
        until(terminal.asks)
        console.process.send_signal(signal.SIGTERM)
        console.process.wait(PATIENCE)
        expect(state).to_contain_text(ENDED)
        expect(deny).to_be_disabled()
        expect(page.get_by_role("alert")).to_contain_text("what waited when the page last heard")
        expect(page.locator(".left")).to_have_text("may be over")
        assert terminal.asks()
        with running_console("--port", str(console.port)) as again:
            new = page.context.new_page()
            new.goto(again.link)
            new.mouse.move(1, 1)
            allow(new, "Deny")
            assert "a person said no" in guard.receive()["error"]["message"]
        expect(state).to_contain_text(ENDED)
        expect(deny).to_be_disabled()


def test_what_was_read_stays_read_in_another_width(page: Page, guard: Guarded) -> None:
    call(guard, 1, note="\n".join(f"line {number} {'word ' * 30}" for number in range(300)))
    on = page.get_by_role("button", name="Read on")
    for _ in range(5):
        on.click()
        page.wait_for_timeout(100)
    percent = page.get_by_text("% was on the screen")
    before = int(percent.inner_text().split(":")[1].split()[0])
    assert before >= 5
    for width in (700, 1400):
        page.set_viewport_size({"width": width, "height": 800})
        page.wait_for_timeout(300)
        assert int(percent.inner_text().split(":")[1].split()[0]) >= before
    once = page.get_by_role("button", name="Allow once")
    expect(once).to_be_disabled()
    read_to_its_end(page)
    once.click()
    assert "result" in guard.receive()


def test_a_rule_is_no_longer_proposed_for_a_call_that_is_over(page: Page, guard: Guarded) -> None:
    call(guard, 1)
    allow(page, "Allow these arguments…")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    asked = pending(approvals_folder())
    assert asked is not None
    assert answer_pending(approvals_folder(), asked[0].id, "deny") == ""
    assert "error" in guard.receive()
    expect(dialog).to_have_count(0)
    over = "No longer waits: denied by claw approvals answer."
    expect(page.get_by_text(over)).to_be_visible()


def test_a_call_that_its_client_withdraws_says_so(page: Page, guard: Guarded) -> None:
    call(guard, 1)
    expect(page.get_by_role("region", name="The whole call")).to_contain_text("/work/a")
    cancelled = {"method": "notifications/cancelled", "params": {"requestId": 1}}
    guard.send({"jsonrpc": "2.0", **cancelled})
    over = "No longer waits: withdrawn by its client, not run."
    expect(page.get_by_text(over)).to_be_visible()


ORDER = """([box, words]) => {
  const walker = document.createTreeWalker(document.querySelector(box), NodeFilter.SHOW_TEXT);
  const places = {};
  for (let node; (node = walker.nextNode()); )
    for (const word of words) {
      const at = node.data.indexOf(word);
      if (at < 0) continue;
      const range = document.createRange();
      range.setStart(node, at);
      range.setEnd(node, at + word.length);
      places[word] = range.getBoundingClientRect().left;
    }
  return Object.entries(places).sort((a, b) => a[1] - b[1]).map(([word]) => word);
}"""


def test_a_call_is_shown_in_the_order_in_which_it_is_sent(page: Page, guard: Guarded) -> None:
    words = ["pay", "\u05d0", "100", "200", "300"]
    call(guard, 1, " ".join(words))
    expect(page.get_by_role("region", name="The whole call")).to_contain_text("300")
    for box in (".call pre", ".ask-item .about"):
        assert page.evaluate(ORDER, [box, words]) == words, box
    allow(page, "Deny")
    assert "error" in guard.receive()


def test_a_no_replaces_a_yes_that_the_guard_has_not_confirmed(page: Page, guard: Guarded) -> None:
    call(guard, 1)
    once, deny = (
        page.get_by_role("button", name=name, exact=True) for name in ("Allow once", "Deny")
    )
    expect(once).to_be_enabled()
    with stopped(guard.process.pid):
        once.click()
        sent = "“Allow once” is sent, and its guard has not confirmed it yet; until it has, Deny"
        expect(page.locator(".ask .note")).to_contain_text(sent)
        expect(once).to_be_disabled()
        deny.click()
        expect(page.locator(".ask .note")).to_contain_text("“Deny” is sent")
        expect(deny).to_be_disabled()
    assert "a person said no" in guard.receive()["error"]["message"]
    expect(page.get_by_text("files: denied in the console")).to_be_visible()
    late = "This answer came too late; the call no longer waits: denied in the console."
    expect(page.locator(".toast.bad")).to_contain_text(late)


def test_a_press_to_which_nobody_replies_says_so(page: Page, guard: Guarded) -> None:
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/api/approvals/answer", hold)
    call(guard, 1)
    allow(page, "Deny")
    told = page.locator(".toast.bad")
    expect(told).to_contain_text("not known whether this answer reached the guard")
    assert pending(approvals_folder())
    held[0].continue_()
    assert "error" in guard.receive()
    expect(told).to_have_count(0)


def test_a_page_whose_console_is_stopped_says_so_and_another_window_is_asked(
    page: Page, guard: Guarded, console: RunningConsole
) -> None:
    with ApprovalWindow(approvals_folder()) as terminal:
        call(guard, 1)
        deny = page.get_by_role("button", name="Deny")
        expect(deny).to_be_enabled()
        until(terminal.asks)
        with stopped(console.process.pid):
            expect(page.locator("#connection")).to_contain_text("Not connected")
            expect(deny).to_be_disabled()
            until(lambda: terminal.asks() and has_window(approvals_folder()))
            until(lambda: terminal.answer(terminal.asks()[0].id, "once"))
            assert "result" in guard.receive()
        expect(page.locator("#connection")).to_have_text("Live")
        expect(page.get_by_text("No longer waits")).to_be_visible()


def test_a_call_of_64_kb_is_read_in_a_dozen_parts_or_by_scrolling(
    page: Page, guard: Guarded
) -> None:
    page.set_viewport_size({"width": 1280, "height": 800})
    words = " ".join(f"word{number}" for number in range(7400))
    assert len(words) > 64_000
    call(guard, 1, note=words)
    once = page.get_by_role("button", name="Allow once")
    assert read_to_its_end(page) <= 12
    once.click()
    assert "result" in guard.receive()
    call(guard, 2, note=f"{words} again")
    region = page.get_by_role("region", name="The whole call")
    expect(region).to_contain_text("again")
    expect(once).to_be_disabled()
    region.focus()
    while page.get_by_role("button", name="Read on").is_visible():
        page.keyboard.press("PageDown")
        page.wait_for_timeout(100)


SIZES = ((1280, 800), (800, 600), (600, 800), (412, 800), (360, 640), (320, 568))
TOO_SOON = "Nothing was pressed: what is shown there had just changed"
# Presses the answer in the very moment in which something holds, however slow this machine is.
PRESSED_AS_SOON_AS = """() => new Promise((done) => {
  const place = document.body; // what is in it may be drawn anew
  const press = () => {
    if (!(HOLDS)) return;
    watching.disconnect();
    document.querySelector('[data-answer=once]').click();
    done();
  };
  const watching = new MutationObserver(press);
  watching.observe(place, { subtree: true, childList: true, attributes: true });
  press();
})"""
# Presses Deny, as a pointer does, in the very moment in which so many others are there.
DENIED_WHEN_ANOTHER_CAME = """(many) => new MutationObserver((_, watching) => {
  if (document.querySelectorAll('.ask-item').length <= many) return;
  watching.disconnect();
  const deny = document.querySelector('[data-answer=deny]');
  deny.dispatchEvent(new PointerEvent('pointerdown', { bubbles: true }));
  deny.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true, detail: 1 }));
}).observe(document.body, { subtree: true, childList: true })"""
UNDER = "([x, y]) => document.elementFromPoint(x, y)?.closest('button')?.dataset.answer || ''"


def numbered(lines: int) -> dict[str, Any]:
    """Arguments that take so many lines."""
    return {f"k{one}": one for one in range(lines)}


def centre(place: Locator) -> tuple[float, float]:
    box = place.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


@pytest.mark.parametrize("lines", [30, 60])
def test_where_read_on_was_pressed_no_answer_comes_to_stand(
    page: Page, guard: Guarded, lines: int
) -> None:
    on, presses = page.locator("[data-answer=read]"), 0
    for number, (width, height) in enumerate(SIZES):
        page.set_viewport_size({"width": width, "height": height})
        call(guard, number, **numbered(lines))
        on.wait_for()
        while on.is_visible():
            on.scroll_into_view_if_needed()
            box = on.bounding_box()
            if box is None:  # what was pressed before has come into effect
                break
            place = [box["x"] + box["width"] / 2, box["y"] + box["height"] / 2]
            on.click()
            for _ in range(4):
                assert page.evaluate(UNDER, place) in ("", "read"), (width, height)
                page.wait_for_timeout(50)
            presses += 1
        allow(page, "Deny")
        assert "error" in guard.receive()
        expect(on).to_have_count(0)
    assert presses >= len(SIZES)


def test_an_answer_that_has_just_become_possible_is_not_given_by_the_press_before(
    page: Page, guard: Guarded
) -> None:
    possible = "place.querySelector('[data-answer=once]')?.disabled === false"
    for lines in (1, 30):  # it is shown at once, or after Read on
        call(guard, lines, **numbered(lines))
        if lines > 1:
            page.locator("[data-answer=read]").click()
        page.evaluate(PRESSED_AS_SOON_AS.replace("HOLDS", possible))
        expect(page.locator(".toast").last).to_contain_text(TOO_SOON)
        assert deletions(guard) == 0
        allow(page, "Deny")
        assert "error" in guard.receive()
        expect(page.locator(".ask")).to_be_empty()


def test_an_answer_that_has_just_moved_under_the_pointer_is_not_given(
    page: Page, guard: Guarded
) -> None:
    call(guard, 1, "/work/1")
    once = page.locator("[data-answer=once]")
    expect(once).to_have_attribute("aria-disabled", "false")
    before = centre(once)
    page.get_by_text("The rule that asks").evaluate("(one) => { one.parentNode.open = true; }")
    once.evaluate("(one) => one.click()")
    expect(page.locator(".toast")).to_contain_text(TOO_SOON)
    assert centre(once) != before
    assert deletions(guard) == 0
    allow(page, "Allow once")
    assert "result" in guard.receive()


@pytest.mark.parametrize(("width", "reads_on"), [(1280, True), (700, True), (360, False)])
def test_what_is_read_stays_where_it_is_and_can_be_denied_while_calls_come(
    page: Page, crowded: Guarded, width: int, reads_on: bool
) -> None:
    guard = crowded
    page.set_viewport_size({"width": width, "height": 700})
    call(guard, 0, "/work/0", **numbered(60))
    deny = page.get_by_role("button", name="Deny")
    if reads_on:
        page.get_by_role("button", name="Read on").click()
    expect(deny).to_have_attribute("aria-disabled", "false")
    deny.scroll_into_view_if_needed()
    places = [page.locator(one) for one in (".ask", "[data-answer=deny]")]
    before = [place.bounding_box() for place in places]
    for number in range(1, 10):
        call(guard, number, f"/work/{number}", **numbered(number))
        expect(page.locator(".ask-item")).to_have_count(number + 1)
        assert [place.bounding_box() for place in places] == before
    page.evaluate(DENIED_WHEN_ANOTHER_CAME, 10)
    call(guard, 10)
    reply = guard.receive()
    assert (reply["id"], "a person said no" in reply["error"]["message"]) == (0, True)


def test_a_rule_is_written_when_it_was_read_to_its_end(page: Page, guard: Guarded) -> None:
    many = {f"a{number:03}": "harmless " * 9 for number in range(90)}
    call(guard, 1, **many, other="\u0430pp", zz="the end")
    read_to_its_end(page)
    allow(page, "Allow these arguments…")
    dialog = page.get_by_role("dialog")
    write = dialog.get_by_role("button", name="Write it and allow")
    expect(dialog).to_contain_text("Read it to its end to write it")
    expect(dialog).to_contain_text('args.other = "\\u0430pp"')
    expect(write).to_be_disabled()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    allow(page, "Allow these arguments…")
    on = dialog.get_by_role("button", name="Read on")
    assert press_until_hidden(on) > 2
    expect(write).to_be_enabled()
    write.click()
    assert "result" in guard.receive()
    assert "the end" in guard.policy.read_text()


def test_a_card_and_what_is_over_keep_their_words_whole(page: Page, guard: Guarded) -> None:
    """Whatever is said of a call, and however long its name is."""
    left = page.locator(".ask-item .left")
    call(guard, 1)
    expect(page.get_by_role("button", name="Allow once", exact=True)).to_be_enabled()
    height = left.evaluate("(one) => one.offsetHeight")
    with stopped(guard.process.pid):
        allow(page, "Allow once")
        expect(page.locator(".ask-item .sent")).to_contain_text("is sent")
        assert left.evaluate("(one) => one.offsetHeight") == height
    assert "result" in guard.receive()
    long = {"name": "t" * 6000, "arguments": {"path": "/work/b"}}
    guard.policy.write_text(POLICY.replace('tool = "delete_file"', 'tool = "*"'))
    guard.send({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": long})
    expect(page.locator(".ask-item")).to_contain_text("ttt")
    read_to_its_end(page)
    allow(page, "Deny")
    assert "error" in guard.receive()
    page.set_viewport_size({"width": 400, "height": 700})
    expect(page.locator(".asks .small li").first).to_contain_text("ttt")
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_a_call_in_the_list_can_be_pressed_while_others_come(page: Page, guard: Guarded) -> None:
    for number in (1, 2):
        call(guard, number, f"/work/{number}")
        expect(page.locator(".ask-item")).to_have_count(number)
    page.mouse.move(*centre(page.locator(".ask-item").last))
    page.mouse.down()
    call(guard, 3, "/work/3")
    expect(page.locator(".ask-item")).to_have_count(3)
    page.mouse.up()
    expect(page.get_by_role("region", name="The whole call")).to_contain_text("/work/2")


def test_a_press_on_deny_is_not_for_the_call_that_has_just_come_there(
    page: Page, guard: Guarded
) -> None:
    for number in (1, 2):
        call(guard, number, f"/work/{number}")
        expect(page.locator(".ask-item")).to_have_count(number)
    region = page.get_by_role("region", name="The whole call")
    expect(region).to_contain_text("/work/1")
    page.evaluate(
        """() => new MutationObserver((_, watching) => {
          if (!document.querySelector('.ask .call').textContent.includes('/work/2')) return;
          watching.disconnect();
          document.querySelector('[data-answer=deny]').click();
        }).observe(document.querySelector('.ask'), { subtree: true, childList: true })"""
    )
    allow(page, "Deny")
    assert guard.receive()["id"] == 1
    expect(page.locator(".toast", has_text=TOO_SOON)).to_be_visible()
    expect(region).to_contain_text("/work/2")
    allow(page, "Allow once")
    assert "result" in guard.receive()


CLICK = "dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true, detail: 1 }))"
CLICKED = f"(one) => one.{CLICK}"


def test_a_click_without_a_pointer_as_assistive_technology_makes_it_counts_after_the_same_second(
    page: Page, guard: Guarded
) -> None:
    once, deny = page.locator("[data-answer=once]"), page.locator("[data-answer=deny]")
    call(guard, 1)
    expect(once).to_have_attribute("aria-disabled", "false")
    deny.dispatch_event("pointerdown")  # of a press that was let go elsewhere
    once.evaluate(CLICKED)
    assert "result" in guard.receive()
    expect(page.locator(".ask")).to_be_empty()
    call(guard, 2)
    calm = "place.querySelector('[data-answer=once]')?.disabled === false"
    press = PRESSED_AS_SOON_AS.replace("HOLDS", calm)
    page.evaluate(press.replace("click()", CLICK))
    expect(page.locator(".toast")).to_contain_text(TOO_SOON)
    expect(once).to_have_attribute("aria-disabled", "false")
    once.evaluate(CLICKED)
    assert "result" in guard.receive()
    assert deletions(guard) == 2


def test_a_press_that_began_before_an_answer_moved_is_none(page: Page, guard: Guarded) -> None:
    call(guard, 1)
    once = page.locator("[data-answer=once]")
    expect(once).to_have_attribute("aria-disabled", "false")
    page.mouse.move(*centre(once))
    page.mouse.down()
    once.evaluate("(one) => { one.style.paddingTop = '12px'; }")
    expect(once).to_have_attribute("aria-disabled", "false")
    page.mouse.up()
    expect(page.locator(".toast")).to_contain_text(TOO_SOON)
    assert deletions(guard) == 0


def test_a_finger_answers(browser: Browser, console: RunningConsole, tmp_path: Path) -> None:
    with visiting(browser, has_touch=True, viewport={"width": 390, "height": 700}) as one:
        page = one.open(console.link)
        with guarded(tmp_path, POLICY, "--name", "files") as guard:
            guard.initialize()
            call(guard, 1)
            once = page.locator("[data-answer=once]")
            expect(once).to_have_attribute("aria-disabled", "false")
            once.tap()
            assert "result" in guard.receive()


def test_a_double_click_on_a_rule_does_not_write_it(page: Page, guard: Guarded) -> None:
    policy = guard.policy.read_text()
    call(guard, 1)
    allow(page, "Allow these arguments…")
    page.evaluate(
        """() => new Promise((done) => {
          const press = () => {
            const write = document.querySelector('dialog[open] button.primary');
            if (write) (watching.disconnect(), write.click(), done());
          };
          const watching = new MutationObserver(press);
          watching.observe(document.body, { subtree: true, childList: true, attributes: true });
          press();
        })"""
    )
    expect(page.get_by_role("dialog")).to_be_visible()
    assert (guard.policy.read_text(), deletions(guard)) == (policy, 0)
    page.get_by_role("dialog").get_by_role("button", name="Write it and allow").click()
    assert "result" in guard.receive()


def test_a_press_that_closed_a_dialog_is_no_answer_to_what_it_covered(
    page: Page, guard: Guarded
) -> None:
    call(guard, 1, **numbered(6))
    allow(page, "Allow these arguments…")
    cancel = page.get_by_role("dialog").get_by_role("button", name="Cancel")
    expect(cancel).to_have_attribute("aria-disabled", "false")
    page.evaluate(
        """() => document.addEventListener('close', () => setTimeout(
          () => document.querySelector('[data-answer=once]').click()), { capture: true })"""
    )
    cancel.click()
    expect(page.locator(".toast").last).to_contain_text(TOO_SOON)
    assert deletions(guard) == 0
    allow(page, "Deny")
    assert "error" in guard.receive()


@pytest.mark.parametrize(
    "comes",
    [
        "window.dispatchEvent(new Event('focus'))",
        "document.dispatchEvent(COMES)",
        "document.documentElement.dispatchEvent(ENTERS)",
    ],
)
def test_a_press_that_was_meant_for_another_window_is_no_answer(
    page: Page, guard: Guarded, comes: str
) -> None:
    """The first click of two closed it, and the second is on what it covered."""
    call(guard, 1)
    once, deny = page.locator("[data-answer=once]"), page.locator("[data-answer=deny]")
    for answer in (once, deny):
        expect(answer).to_have_attribute("aria-disabled", "false")
        comes = comes.replace("COMES", "new Event('visibilitychange')")
        comes = comes.replace("ENTERS", "new PointerEvent('pointerenter', {pointerType: 'mouse'})")
        answer.evaluate(f"(one) => {{ {comes}; one.click(); }}")
        expect(page.locator(".toast").last).to_contain_text(TOO_SOON)
    assert deletions(guard) == 0
    allow(page, "Allow once")
    assert "result" in guard.receive()


BUSY = """() => {
  const end = performance.now() + 2000;
  document.dispatchEvent(new Event('close'));
  while (performance.now() < end);
}"""


@pytest.mark.parametrize("by_key", [False, True])
def test_a_press_counts_as_of_when_it_was_made_however_late_the_page_hears_of_it(
    page: Page, guard: Guarded, by_key: bool
) -> None:
    call(guard, 1)
    once = page.locator("[data-answer=once]")
    expect(once).to_have_attribute("aria-disabled", "false")
    x, y = centre(once)
    page.mouse.move(x, y)
    page.evaluate(f"() => {{ setTimeout({BUSY}); }}")
    if by_key:
        page.keyboard.press("a")
    else:
        page.mouse.click(x, y)
    expect(page.locator(".toast").last).to_contain_text(TOO_SOON)
    assert deletions(guard) == 0


def test_a_call_that_would_take_minutes_to_compare_is_shown_as_it_is_and_says_why(
    page: Page, guard: Guarded
) -> None:
    old, new = "x\nz\n" * 1900, "x\n" * 99 + "y\n" * 99
    call(guard, 1, edits=[{"oldText": old, "newText": new}] * 9)
    region = page.get_by_role("region", name="The whole call")
    expect(region).to_contain_text("it is too much to be shown as a change: read it in the call")
    expect(region).to_contain_text("x\\nz\\nx")
    allow(page, "Deny")
    assert "error" in guard.receive()


def test_on_a_phone_a_message_covers_no_answer(page: Page, guard: Guarded) -> None:
    page.set_viewport_size({"width": 390, "height": 700})
    for number in (1, 2):
        call(guard, number, f"/work/{number}")
        expect(page.locator(".ask-item")).to_have_count(number)
    deny = page.get_by_role("button", name="Deny")
    expect(deny).to_be_enabled()
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    deny.click()
    assert "error" in guard.receive()
    expect(page.get_by_role("region", name="The whole call")).to_contain_text("/work/2")
    expect(deny).to_be_enabled()
    expect(page.locator(".ask h2")).to_be_in_viewport()
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    page.evaluate("import('/dom.js').then(({ toast }) => toast('A message'))")
    expect(page.locator(".toast")).to_be_visible()
    toast = page.locator(".toast").bounding_box()
    assert toast is not None
    for answer in page.locator(".ask [data-answer]").all():
        box = answer.bounding_box()
        assert box is not None
        assert box["y"] >= toast["y"] + toast["height"] or box["y"] + box["height"] <= toast["y"]
