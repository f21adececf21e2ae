"""The page Sessions in a real browser, with sessions that `claw ask` made."""

from __future__ import annotations

import json
import re
import wave
from pathlib import Path

from playwright.sync_api import Page, expect

from clawkit.assistant.config import Config
from clawkit.assistant.sessions.store import SessionStore
from tests.assistant.providers.scripted import Call, Say, scripted_openai
from tests.assistant.providers.steps import Reply
from tests.claw import claw
from tests.cli.test_ask import PNG, TOOL
from tests.console.browser import RunningConsole, Visitor

HOSTILE = "<img src=x onerror=window.pwned=1>\u202egnp.exe\x1b[31m"
INERT = r"<img src=x onerror=window.pwned=1>\u202egnp.exe\x1b[31m"


def configured(claw_home: Path, url: str) -> None:
    folder = claw_home / "config" / "claw"
    (folder / "tools").mkdir(parents=True)
    (folder / "tools" / "dice.py").write_text(TOOL)
    (folder / "config.toml").write_text(
        f'[model]\nuse = "local/gpt-test"\n[providers.local]\nbase_url = "{url}"\n'
        "[memory]\nenabled = false\n"
        '[prices."local/gpt-test"]\ninput = 2.0\noutput = 10.0\ncached = 0.5\n'
    )


def opened_page(visitor: Visitor, console: RunningConsole, query: str = "") -> Page:
    visitor.open(console.link)
    visitor.go("sessions", query)
    return visitor.page


def test_a_session_is_shown_with_its_picture_steps_tokens_and_cost(
    claw_home: Path, tmp_path: Path, visitor: Visitor, console: RunningConsole
) -> None:
    picture = tmp_path / "dot.png"
    picture.write_bytes(PNG)
    answers = [
        Reply(Call("mcp__dice__dice", {"sides": 6}), input=1_000_000, output=100_000),
        Reply(
            Say(f"It is a **dot**. {HOSTILE}\n\n- red\n- round\n\n```\n<b>\n```"),
            input=500_000,
            output=0,
            cached=500_000,
        ),
    ]
    with scripted_openai(answers) as server:
        configured(claw_home, server.url)
        claw("ask", f"What is it? {HOSTILE[:34]}", "--image", picture, "--session", "dot", code=0)
    page = opened_page(visitor, console)
    page.get_by_role("button", name="What is it?").click()
    visitor.ready("sessions")
    image = page.locator("img.picture")
    expect(image).to_be_visible()
    assert image.evaluate("(one) => one.naturalWidth") == 1
    expect(page.get_by_text("Calls mcp__dice__dice")).to_be_visible()
    page.get_by_text("What came of mcp__dice__dice").click()
    expect(page.get_by_text("rolled with 6")).to_be_visible()
    written = page.locator(".written")
    expect(written).to_contain_text(INERT)
    expect(written.locator("strong")).to_have_text("dot")
    expect(written.locator("li")).to_have_text(["red", "round"])
    expect(written.locator("pre")).to_have_text("<b>")
    assert page.evaluate("() => window.pwned") is None
    expect(page.locator(".cards")).to_contain_text("1,500,000")
    expect(page.locator(".cards")).to_contain_text("$3.25")
    expect(page.locator(".turn-end")).to_contain_text("local/gpt-test")


def test_hostile_text_is_inert_in_every_field(
    claw_home: Path, tmp_path: Path, visitor: Visitor, console: RunningConsole
) -> None:
    """In a session's name and title, a model's, a tool's call and result, a file and an answer."""
    file = tmp_path / "<b>gnp\u202e.txt"
    file.write_text(HOSTILE)
    calls = Reply(Call("mcp__dice__dice", {"sides": HOSTILE}), Call("<b>\u202e", {HOSTILE: 1}))
    with scripted_openai([calls, Reply(Say(HOSTILE + "x" * 50_000), model=HOSTILE)]) as server:
        configured(claw_home, server.url)
        claw("ask", f"<b>{HOSTILE}", "--file", file, "--session", "<b>\u202ekey", code=0)
    page = opened_page(visitor, console)
    page.get_by_role("button", name="<b>").click()
    visitor.ready("sessions")
    page.locator("main details").evaluate_all("(all) => all.forEach((one) => (one.open = true))")
    expect(page.locator(".step").first).to_contain_text(INERT.removesuffix(r"\x1b[31m"))
    expect(page.locator(".written")).to_contain_text(INERT)
    expect(page.locator(".session-head")).to_contain_text(r"<b>\u202ekey")
    expect(page.locator(".attached")).to_contain_text("_b_gnp.txt, text/plain")
    visitor.go("sessions", "?contains=%3Cb%3E")
    expect(page.locator("tbody tr")).to_contain_text(r"<b>\u202ekey")
    for query in ("?contains=%3Cb%3E", "?key=%3Cb%3E%E2%80%AEkey"):
        visitor.go("sessions", query)
        shown = page.locator("main").inner_text()
        assert not any(letter in shown for letter in "\u202e\x1b")
        assert page.locator("main :is(b, script, img)").count() == 0
        wide = page.evaluate("() => document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0
    assert page.evaluate("() => window.pwned") is None


def test_sounds_are_played_and_other_files_are_saved_and_opened_by_nothing(
    claw_home: Path, tmp_path: Path, visitor: Visitor, console: RunningConsole
) -> None:
    sound, page_file = tmp_path / "hello.wav", tmp_path / "a\u202egnp.html"
    with wave.open(str(sound), "wb") as writing:
        writing.setparams((1, 2, 8000, 0, "NONE", ""))
        writing.writeframes(bytes(8000))
    page_file.write_text("<script>document.title='owned'</script>")
    with scripted_openai([Reply(Say("I have both."))]) as server:
        configured(claw_home, server.url)
        files = ("--file", sound, "--file", page_file)
        claw("ask", "What is in these?", *files, "--session", "media", code=0)
    page = opened_page(visitor, console, "?key=media")
    said = page.locator(".said.user")
    expect(said.locator(".bubble")).to_have_text(["What is in these?"])
    expect(said.locator(".attached").last).to_contain_text("gnp.html, text/html, 39 bytes")
    said.get_by_text("What the model got to read of it").last.click()
    expect(said.locator(".attached pre").last).to_have_text(page_file.read_text())
    page.get_by_role("button", name="Play hello.wav").click()
    player = page.get_by_label("hello.wav", exact=True)
    expect(player).to_be_visible()
    expect(player).to_have_js_property("duration", 0.5)
    with page.expect_download() as downloading:
        page.get_by_role("button", name=re.compile("^Download a")).click()
    assert Path(downloading.value.path()).read_bytes() == page_file.read_bytes()
    assert "\u202e" not in downloading.value.suggested_filename
    page.get_by_role("button", name="Download hello.wav").focus()
    with page.expect_download() as downloading:
        page.keyboard.press("Enter")
    assert Path(downloading.value.path()).read_bytes() == sound.read_bytes()
    with page.expect_download() as downloading:
        page.get_by_role("button", name="Export as JSON lines").click()
    assert downloading.value.suggested_filename == "session-media.jsonl"
    assert page.title() == "Sessions · Clawkit console"


def test_no_cost_is_shown_where_the_config_gives_no_price(
    claw_home: Path, visitor: Visitor, console: RunningConsole
) -> None:
    with scripted_openai([Reply(Say("Hello."))]) as server:
        configured(claw_home, server.url)
        config = claw_home / "config" / "claw" / "config.toml"
        config.write_text(config.read_text().partition("[prices")[0])
        claw("ask", "hi", "--session", "k", code=0)
    page = opened_page(visitor, console, "?key=k")
    expect(page.locator(".cards")).to_contain_text("No price for local/gpt-test")
    assert "$" not in page.locator(".transcript").inner_text()


def test_a_session_is_exported_whole_and_deleted_after_a_question(
    claw_home: Path, visitor: Visitor, console: RunningConsole
) -> None:
    (claw_home / "config" / "claw").mkdir(parents=True)
    (claw_home / "config" / "claw" / "config.toml").write_text("[memory]\nenabled = false\n")
    claw("ask", "My sister is called Lena", "--session", "family", code=0)
    claw("ask", "My favourite colour is red", "--session", "colours", code=0)
    page = opened_page(visitor, console)
    expect(page.locator("tbody tr")).to_have_count(2)
    page.get_by_label(re.compile("Find a session")).fill("sister")
    page.keyboard.press("Enter")
    expect(page.locator("tbody tr")).to_have_count(1)
    page.locator("tbody button").focus()
    page.keyboard.press("Enter")
    visitor.ready("sessions")
    expect(page.get_by_text("No provider counted tokens here.")).to_be_visible()
    expect(page.locator(".turn-end")).not_to_contain_text("out")
    with page.expect_download() as downloading:
        page.get_by_role("button", name="Export as JSON lines").click()
    lines = Path(downloading.value.path()).read_text().splitlines()
    written = claw("sessions", "export", "family", code=0).stdout.splitlines()
    assert [json.loads(line) for line in lines] == [json.loads(line) for line in written]
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("dialog").get_by_role("button", name="Cancel")).to_be_focused()
    page.keyboard.press("Enter")
    assert len(SessionStore(Config().store_file).list_sessions()) == 2
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("Deleted")).to_be_visible()
    expect(page.locator("tbody tr")).to_have_count(1)
    assert [one.key for one in SessionStore(Config().store_file).list_sessions()] == ["colours"]


def test_what_happens_elsewhere_is_seen_while_one_looks(
    claw_home: Path, visitor: Visitor, console: RunningConsole
) -> None:
    """In the list, in a session that goes on, and when it is deleted."""
    (claw_home / "config" / "claw").mkdir(parents=True)
    (claw_home / "config" / "claw" / "config.toml").write_text("[memory]\nenabled = false\n")
    page = opened_page(visitor, console)
    expect(page.get_by_text("No session yet")).to_be_visible()
    claw("ask", "My sister is called Lena", "--session", "family", code=0)
    expect(page.locator("tbody tr")).to_have_count(1)
    claw("ask", "My favourite colour is red", "--session", "colours", code=0)
    expect(page.locator("tbody tr")).to_have_count(2)
    page.get_by_role("button", name="My sister is called Lena").click()
    said = page.locator(".said.user")
    expect(said).to_have_count(1)
    claw("ask", "She lives in Bern", "--session", "family", code=0)
    expect(said.last).to_contain_text("She lives in Bern")
    expect(said).to_have_count(2)
    claw("sessions", "delete", "family", "--yes", code=0)
    expect(page.get_by_text("This session was deleted elsewhere.")).to_be_visible()
    expect(page.locator("tbody tr")).to_have_count(1)


def test_a_session_that_is_gone_leads_back_to_the_list(
    visitor: Visitor, console: RunningConsole
) -> None:
    page = opened_page(visitor, console, "?key=gone")
    expect(page.get_by_role("alert")).to_contain_text("no session of this key")
    page.get_by_role("link", name="All sessions").click()
    expect(page.get_by_text("No session yet")).to_be_visible()


def test_long_sessions_are_shown_in_parts_and_never_more_than_200_messages(
    claw_home: Path, visitor: Visitor, console: RunningConsole
) -> None:
    with scripted_openai([Reply(Say(f"answer {number}")) for number in range(110)]) as server:
        configured(claw_home, server.url)
        conversation = "".join(f"question {number}\n" for number in range(110))
        claw("chat", "--session", "long", stdin=conversation)
    page = opened_page(visitor, console, "?key=long")
    said, words = page.locator(".said"), page.locator(".transcript")
    for count in (50, 100, 150, 200):
        expect(said).to_have_count(count)
        expect(words.get_by_text("question 109", exact=True)).to_be_visible()
        expect(words.get_by_text("question 0", exact=True)).to_have_count(0)
        page.get_by_role("button", name="Show what was said before").click()
    expect(words.get_by_text("question 0", exact=True)).to_be_visible()
    expect(said).to_have_count(200)
    expect(words.get_by_text("question 109", exact=True)).to_have_count(0)
    page.get_by_role("button", name="Show the newest").click()
    expect(words.get_by_text("question 109", exact=True)).to_be_visible()
    expect(said).to_have_count(50)
