"""Several tabs of one browser: one has the stream for all, and none of them depends on it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from clawkit.guard.approval_window import answer_pending, pending
from clawkit.guard.locations import approvals_folder
from tests.console.browser import RunningConsole, Visitor
from tests.console.test_approvals_page import POLICY, call
from tests.guard.approvals import until
from tests.guard.guarded_server import Guarded, guarded
from tests.guard.test_stopped_processes import stopped


@pytest.fixture
def first(visitor: Visitor, console: RunningConsole) -> Page:
    """The tab that has the stream."""
    page = visitor.open(console.link)
    expect(page.locator("#connection")).to_have_text("Live")
    return page


@pytest.fixture
def second(first: Page, console: RunningConsole) -> Page:
    """A tab that hears from the first."""
    page = first.context.new_page()
    page.goto(console.origin)
    expect(page.locator("#connection")).to_have_text("Live")
    return page


@pytest.fixture
def guard(second: Page, tmp_path: Path) -> Iterator[Guarded]:  # noqa: ARG001 - someone to ask
    with guarded(tmp_path, POLICY, "--name", "files") as running:
        running.initialize()
        yield running


@contextmanager
def hung(page: Page) -> Iterator[None]:
    """A tab in which nothing runs any more, with the next thing that it would have done."""
    session = page.context.new_cdp_session(page)
    paused: list[object] = []

    def note(event: object) -> None:
        paused.append(event)

    session.on("Debugger.paused", note)
    session.send("Debugger.enable")
    session.send("Debugger.pause")
    while not paused:
        page.context.pages[-1].wait_for_timeout(50)
    try:
        yield
    finally:
        session.send("Debugger.disable")
        session.detach()


def deny_elsewhere(path: str) -> None:
    """As another window does."""
    waiting = pending(approvals_folder()) or ()
    (id,) = (one.id for one in waiting if one.call["arguments"]["path"] == path)
    answer_pending(approvals_folder(), id, "deny")


def test_a_tab_goes_on_where_the_one_that_has_the_stream_hangs(
    first: Page, second: Page, guard: Guarded
) -> None:
    call(guard, 1, "/work/one")
    expect(second.locator(".ask-item")).to_contain_text("/work/one")
    with hung(first):
        call(guard, 2, "/work/two")
        deny_elsewhere("/work/one")
        assert "error" in guard.receive()
        expect(second.locator(".ask-item")).to_contain_text("/work/two")
        expect(second.locator(".ask")).to_contain_text("No longer waits: denied")
        expect(second.locator("#connection")).to_have_text("Live")
    # What the first has not told yet is old.
    expect(first.locator(".ask-item")).to_contain_text("/work/two")
    expect(second.locator(".ask-item")).to_have_count(1)
    expect(first.locator("#connection")).to_have_text("Live")
    second.close()
    deny_elsewhere("/work/two")
    expect(first.get_by_text("No longer waits: denied")).to_be_visible()


def test_a_tab_says_that_the_console_is_stopped_where_the_one_that_has_the_stream_hangs(
    first: Page, second: Page, guard: Guarded, console: RunningConsole
) -> None:
    call(guard, 1)
    deny = second.get_by_role("button", name="Deny")
    expect(deny).to_be_enabled()
    with hung(first), stopped(console.process.pid):
        expect(second.locator("#connection")).to_contain_text("Not connected")
        expect(deny).to_be_disabled()
    for one in (first, second):
        expect(one.locator("#connection")).to_have_text("Live")
    until(lambda: pending(approvals_folder()))
