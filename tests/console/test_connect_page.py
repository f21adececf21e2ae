"""The page Connect in a real browser: clients' files are changed by its buttons, and back."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from clawkit.assistant.memory.place import MemoryPlace, opened
from clawkit.guard.locations import policy_file
from clawkit.hosts.discovery import SearchScope
from clawkit.hosts.wrap import wrap
from clawkit.login import grants, people
from clawkit.memory import tokens
from clawkit.settings import settings
from tests.claw import claw
from tests.console.browser import RunningConsole, Visitor

FILES = {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/work"]}
HOSTILE = "<b>fi\u202eles"


@pytest.fixture
def cursor(claw_home: Path) -> Path:  # noqa: ARG001 - after it
    """Cursor's file, with a server in it."""
    file = Path(os.environ["HOME"]) / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"mcpServers": {"files": FILES}}, indent=2))
    return file


@pytest.fixture
def page(cursor: Path, visitor: Visitor, console: RunningConsole) -> Page:  # noqa: ARG001 - it is there
    visitor.open(console.link)
    visitor.go("connect")
    return visitor.page


def servers(file: Path) -> dict[str, Any]:
    return json.loads(file.read_text())["mcpServers"]


def test_a_client_gets_the_assistant_the_memory_and_the_guard_by_a_button_each(
    page: Page, cursor: Path
) -> None:
    before = cursor.read_bytes()
    card = page.get_by_role("article", name="Cursor")
    card.get_by_role("button", name="Add assistant to Cursor").press("Enter")
    expect(card.get_by_role("button", name="Remove assistant from Cursor")).to_be_focused()
    assert servers(cursor)["openclaw"]["args"][-1] == "mcp-server"
    card.get_by_role("button", name="Add memory to Cursor").click()
    expect(card.get_by_role("button", name="Remove memory from Cursor")).to_be_visible()
    assert servers(cursor)["memory"]["args"][-3:] == ["being", "stdio", "assistant"]
    assert "assistant" in claw("being", "list", code=0).stdout

    card.get_by_role("button", name="Guard files").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(card.get_by_role("button", name="Unguard files")).to_be_focused()
    assert "proxy" in servers(cursor)["files"]["args"]
    assert policy_file().is_file()

    page.get_by_role("button", name="Take everything out").click()
    page.get_by_role("dialog").get_by_role("button", name="Take it out").click()
    expect(card.get_by_role("button", name="Add assistant to Cursor")).to_be_visible()
    assert cursor.read_bytes() == before


def test_a_server_of_others_that_has_the_name_of_ours_can_be_guarded(
    cursor: Path, visitor: Visitor, console: RunningConsole
) -> None:
    cursor.write_text(json.dumps({"mcpServers": {"memory": FILES}}))
    visitor.open(console.link)
    visitor.go("connect")
    card = visitor.page.get_by_role("article", name="Cursor")
    expect(card).to_contain_text("something else")
    card.get_by_role("button", name="Guard memory").click()
    visitor.page.get_by_role("dialog").get_by_role("button", name="Close").click()
    expect(card.get_by_role("button", name="Unguard memory")).to_be_focused()
    assert "proxy" in servers(cursor)["memory"]["args"]


def test_a_server_that_stands_in_several_places_is_one_line_that_names_them(
    claw_home: Path,  # noqa: ARG001 - in that home
    visitor: Visitor,
    console: RunningConsole,
) -> None:
    file = Path(os.environ["HOME"]) / ".claude.json"
    projects = {f"/work/{name}": {"mcpServers": {"files": FILES}} for name in ("one", "two")}
    file.write_text(json.dumps({"mcpServers": {"files": FILES}, "projects": projects}))
    wrap("files", SearchScope("claude-code"))
    written = json.loads(file.read_text())
    written["projects"]["/work/two"]["mcpServers"]["files"] = FILES
    file.write_text(json.dumps(written))
    visitor.open(console.link)
    visitor.go("connect")
    card = visitor.page.get_by_role("article", name="Claude Code")
    line = card.get_by_role("listitem").filter(has_text="files")
    expect(line).to_have_count(1)
    expect(line.locator(".place")).to_have_text(
        (
            "guarded ~/.claude.json",
            "guarded /work/one in ~/.claude.json",
            re.compile("/work/two in ~/.claude.json"),
        )
    )
    line.get_by_role("button", name="Guard files", exact=True).click()
    visitor.page.get_by_role("dialog").get_by_role("button", name="Close").click()
    expect(line.get_by_role("button", name="Unguard files")).to_be_focused()
    expect(line.get_by_role("button", name="Guard files", exact=True)).to_have_count(0)


def test_what_a_guarded_server_may_do_is_told_and_the_guard_goes_after_a_question(
    page: Page, cursor: Path
) -> None:
    before = cursor.read_bytes()
    card = page.get_by_role("article", name="Cursor")
    card.get_by_role("button", name="Guard files").click()
    told = page.get_by_role("dialog")
    for text in (
        "profile filesystem, by its command line",
        "Unasked",
        "/work",
        "Denied to all: keys",
    ):
        expect(told).to_contain_text(text)
    expect(told).to_contain_text(f"{policy_file()} (made just now)")
    expect(told).to_contain_text("Restart Cursor")
    told.get_by_role("button", name="Close").click()
    card.get_by_role("button", name="Unguard files").click()
    expect(page.get_by_role("dialog").get_by_role("button", name="Cancel")).to_be_focused()
    page.keyboard.press("Enter")
    assert "proxy" in servers(cursor)["files"]["args"]
    card.get_by_role("button", name="Unguard files").click()
    page.get_by_role("dialog").get_by_role("button", name="Take it away").click()
    expect(card.get_by_role("button", name="Guard files", exact=True)).to_be_visible()
    assert cursor.read_bytes() == before


def test_what_is_told_of_a_change_is_whole_sentences(page: Page, cursor: Path) -> None:
    card = page.get_by_role("article", name="Cursor")
    card.get_by_role("button", name="Add assistant to Cursor").click()
    remove = card.get_by_role("button", name="Remove assistant from Cursor")
    expect(remove).to_be_visible()
    cursor.write_text(cursor.read_text() + "\n")
    remove.click()
    toast = page.locator(".toast", has_text="is taken out")
    expect(toast).to_have_text(re.compile(r"for this to count\. [A-Z].*\.×$"))


def test_guarding_promises_only_what_the_policy_in_use_does(page: Page) -> None:
    file = policy_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    rules = (("allow", "read_*"), ("prompt", "*"))
    file.write_text(
        "".join(f'[[rule]]\naction = "{act}"\ntool = "{tool}"\n' for act, tool in rules)
    )
    page.get_by_role("article", name="Cursor").get_by_role("button", name="Guard files").click()
    told = page.get_by_role("dialog")
    expect(told).to_contain_text("what rule 1 of your policy allows")
    expect(told).to_contain_text("Your policy does not deny")
    expect(told).to_contain_text("no profile")
    expect(told).not_to_contain_text("Denied to all")


def test_a_hostile_name_of_a_server_is_inert(
    cursor: Path, visitor: Visitor, console: RunningConsole
) -> None:
    cursor.write_text(json.dumps({"mcpServers": {HOSTILE: FILES}}))
    visitor.open(console.link)
    visitor.go("connect")
    card = visitor.page.get_by_role("article", name="Cursor")
    expect(card.get_by_text(r"<b>fi\u202eles")).to_be_visible()
    assert card.locator("b").count() == 0


def test_hostile_names_of_tokens_and_people_are_inert(
    visitor: Visitor, console: RunningConsole
) -> None:
    claw("being", "create", "team", code=0)
    with opened(MemoryPlace()) as store:
        being = next(one for one in store.every() if one.name == "team")
        tokens.issue(store, being, label="<b>phone", person="<b>Ben" + "y" * 150)
    page = visitor.open(console.link, "connect")
    row = page.get_by_role("table", name="Tokens that count").locator("tbody tr")
    for text in ("team", "<b>phone", "<b>Benyyy"):
        expect(row).to_contain_text(text)
    row.get_by_role("button", name="Revoke").click()
    expect(page.get_by_role("dialog")).to_contain_text("“<b>phone” opens its Being")
    assert page.locator("main b").count() == 0
    wide = page.evaluate("() => document.documentElement.scrollWidth - innerWidth")
    assert wide <= 0


def test_a_file_that_cannot_be_read_is_told_once(
    cursor: Path, visitor: Visitor, console: RunningConsole
) -> None:
    cursor.write_text('{"mcpServers": ')
    visitor.open(console.link, "connect")
    expect(visitor.page.get_by_role("alert")).to_have_count(1)
    expect(visitor.page.get_by_role("article", name="Cursor").get_by_role("alert")).to_be_visible()
    expect(visitor.page.get_by_text("cannot be read")).to_have_count(0)


def test_a_memory_is_shared_and_what_to_paste_is_shown_once(
    visitor: Visitor,
    console: RunningConsole,
) -> None:
    claw("being", "create", "team", code=0)
    visitor.open(console.link)
    visitor.go("connect")
    page = visitor.page
    page.get_by_role("button", name="Share a memory").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("For whom").fill("Ben")
    dialog.get_by_label("Their client").select_option("cursor")
    dialog.get_by_role("button", name="Make it").click()
    handed = page.get_by_role("dialog")
    secret = handed.locator(".secret").inner_text()
    config = json.loads(handed.locator("pre").nth(1).inner_text())
    entry = config["mcpServers"]["team"]
    assert entry["headers"] == {"Authorization": f"Bearer {secret}"}
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    handed.get_by_role("button", name="Copy for Their client").click()
    expect(page.locator(".toast")).to_contain_text("Copied")
    assert json.loads(page.evaluate("() => navigator.clipboard.readText()")) == config
    handed.get_by_role("button", name="I have it").click()
    row = page.locator("tbody tr")
    expect(row).to_contain_text("Ben (Cursor)")
    expect(row).to_contain_text("never")
    assert secret not in page.content()
    page.get_by_role("button", name="Revoke Ben (Cursor)").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(page.get_by_text("No token counts")).to_be_visible()


def test_logins_are_listed_and_ended(visitor: Visitor, console: RunningConsole) -> None:
    claw("being", "create", "team", code=0)
    now = time.time()
    with opened(MemoryPlace()) as store, store.database.registry(write=True) as connection:
        person = people.add(connection, "ada", "owner", now)
        consent = grants.Consent(
            client="c1",
            client_name=HOSTILE,
            redirect_uri="http://localhost/",
            challenge="x",
            person=person.id,
            resource="http://localhost:8765/mcp",
            scope="read-only",
            being=1,
        )
        code = grants.use_code(connection, grants.keep_code(connection, consent, now), now)
        assert code is not None
        grants.begin(connection, code, now)
    visitor.open(console.link)
    visitor.go("connect")
    page = visitor.page
    row = page.get_by_role("table", name="Logins that count").locator("tbody tr")
    for text in ("<b>fi", "team", "read-only", "ada"):
        expect(row).to_contain_text(text)
    row.get_by_role("button", name="End the login").click()
    page.get_by_role("dialog").get_by_role("button", name="End").click()
    expect(page.get_by_role("table", name="Logins that count")).to_have_count(0)
    assert "ended" in claw("being", "token", "list", "team", code=0).stdout


def test_what_to_paste_starts_the_same_server_as_a_button_does(page: Page, cursor: Path) -> None:
    page.get_by_text("Another client on this machine").click()
    block = page.locator(".paste", has_text="Cursor").locator("pre")
    pasted = json.loads(block.inner_text())["mcpServers"]["openclaw"]
    page.get_by_role("button", name="Add assistant to Cursor").click()
    expect(page.get_by_role("button", name="Remove assistant from Cursor")).to_be_visible()
    assert servers(cursor)["openclaw"] == pasted


def test_what_fails_of_the_page_leaves_the_clients_usable(
    cursor: Path,  # noqa: ARG001 - it is there
    visitor: Visitor,
    console: RunningConsole,
) -> None:
    (settings().data / "beings.db").mkdir(parents=True)
    page = visitor.open(console.link, "connect")
    team = page.get_by_role("region", name="Others and your team")
    expect(team.get_by_role("alert")).to_contain_text("beings.db")
    card = page.get_by_role("article", name="Cursor")
    expect(card.get_by_role("button", name="Guard files")).to_be_visible()
