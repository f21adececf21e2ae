"""Health in a real browser: what the doctor says, and that its repairs are made."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import expect

from clawkit.settings import settings
from tests.claw import claw
from tests.console.browser import RunningConsole, Visitor


def test_a_problem_stands_first_with_what_to_do_and_is_repaired(
    visitor: Visitor, console: RunningConsole, claw_home: Path
) -> None:
    data = settings().data
    data.mkdir(parents=True, exist_ok=True)
    data.chmod(0o755)
    config = settings().config
    config.mkdir(parents=True)
    config.chmod(0o700)
    (config / "config.toml").write_text("[model]\nuse = <script>alert(1)</script>\n")
    page = visitor.open(console.link, "health")
    checks = page.locator(".checks > li")
    expect(checks.first).to_contain_text("problem")
    expect(checks.first).to_contain_text("config.toml")
    expect(page.locator(".checks code", has_text="claw ").first).to_be_visible()
    expect(page.locator(".checks")).not_to_contain_text("`")
    folder = checks.filter(has_text=f"{data} is open to others")
    expect(folder).to_contain_text("What to do")
    page.get_by_role("button", name="Repair what can be repaired").click()
    expect(page.locator(".checks > li", has_text="Done just now").first).to_be_visible()
    expect(page.get_by_role("status").filter(has_text="Repaired: ")).to_be_focused()
    assert data.stat().st_mode & 0o777 == 0o700
    assert page.locator("main script").count() == 0
    assert claw_home.is_dir()


def test_a_client_file_that_cannot_be_read_says_what_to_do_and_nothing_else_is_to_repair(
    visitor: Visitor, console: RunningConsole, home: Path
) -> None:
    claw("doctor", "--fix")
    file = home / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.write_text('{"mcpServers": ')
    page = visitor.open(console.link, "health")
    said = "correct it there, or move it away"
    expect(page.locator(".check-warning", has_text=str(file))).to_contain_text(said)
    expect(page.get_by_role("button", name="Repair what can be repaired")).to_be_disabled()
    expect(page.get_by_text("something is sent to them")).to_be_visible()
    visitor.go("connect")
    expect(page.get_by_role("article", name="Cursor").get_by_role("alert")).to_contain_text(said)
