"""The page Memory in a real browser, with memories that a client told over MCP."""

from __future__ import annotations

import asyncio
import os
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from playwright.sync_api import Browser, Page, Route, expect

from clawkit.assistant.memory.place import MemoryPlace, opened
from clawkit.console.pages.memory import OpenedMemories
from clawkit.memory.memory import Memory
from clawkit.memory.tokens import Caller
from tests.claw import CLAW, claw
from tests.console.browser import RunningConsole, Visitor, visiting
from tests.console.many_memories import remember_many
from tests.memory.old_names import create_named
from tests.processes import PATIENCE

HOSTILE = (
    "<script>window.pwned=1</script><img src=x onerror=window.pwned=1>\u202egnp.exe\x1b[31m\x00"
)
INERT = r"<script>window.pwned=1</script><img src=x onerror=window.pwned=1>\u202egnp.exe\x1b[31m"


def told(*scenes: dict[str, Any]) -> None:
    """What a client tells the person's own Being, over MCP."""
    claw("being", "create", "assistant")  # it may be there already

    async def tell() -> None:
        command, *arguments = CLAW
        server = StdioServerParameters(
            command=command,
            args=[*arguments, "being", "stdio", "assistant"],
            env=dict(os.environ),
        )
        async with Client(server, read_timeout_seconds=PATIENCE) as client:
            await client.call_tool("update_notes", {"scenes": list(scenes)})
            done = await client.call_tool("trigger_patrol", {"messages": []})
            assert not done.is_error

    with ThreadPoolExecutor(1) as thread:  # the browser's driver has an event loop here already
        thread.submit(lambda: asyncio.run(tell())).result()


def scene(action: str, day: str = "2026-03-01", **more: Any) -> dict[str, Any]:
    return {"action": action, "actors": [], "when": [day], **more}


@pytest.fixture(autouse=True)
def words_only(claw_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001 - after it
    monkeypatch.setenv("CLAW_EMBEDDER", "none")


def opened_page(visitor: Visitor, console: RunningConsole, query: str = "") -> Page:
    visitor.open(console.link)
    visitor.go("memory", query)
    return visitor.page


def own(store: Any) -> Memory:
    return store.open(store.default())


def test_nothing_remembered_yet_is_said_and_nothing_is_made(
    claw_home: Path, visitor: Visitor, console: RunningConsole
) -> None:
    page = opened_page(visitor, console)
    expect(page.get_by_text("Nothing is remembered yet")).to_be_visible()
    assert list(claw_home.rglob("beings.db")) == []


def test_a_memory_is_found_corrected_and_the_correction_undone_with_keys_alone(
    visitor: Visitor, console: RunningConsole
) -> None:
    told(scene("The boss is Renate", actors=["Renate"]), scene("Mira plays the cello"))
    page = opened_page(visitor, console)
    expect(page.locator("canvas.memory-map[data-drawn]")).to_be_visible()
    expect(page.locator(".memories li")).to_have_count(2)

    page.get_by_label("Search").focus()
    page.keyboard.type("boss")
    page.keyboard.press("Enter")
    hit = page.get_by_label("What was found").get_by_role("button", name="The boss is Renate")
    expect(page.get_by_label("What was found")).to_contain_text("same words")
    expect(page.get_by_label("What was found").locator("summary").first).to_contain_text(
        re.compile(r"· score \d\.\d\d$")
    )
    expect(page.get_by_text(re.compile(r"^words \d"))).to_be_hidden()
    hit.focus()
    page.keyboard.press("Enter")
    chosen = page.get_by_label("The chosen memory")
    expect(chosen.get_by_role("heading", name="The boss is Renate")).to_be_focused()

    chosen.get_by_role("button", name="Edit").focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Memory").focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("The boss is Tom")
    page.keyboard.press("Tab")
    expect(dialog.get_by_label("Why")).to_be_focused()
    page.keyboard.type("Renate retired")
    dialog.get_by_role("button", name="Save").focus()
    page.keyboard.press("Enter")
    expect(chosen.get_by_role("heading", name="The boss is Tom")).to_be_focused()
    expect(page.get_by_label("What was found")).to_contain_text("What recall would tell")
    expect(page.get_by_label("What was found")).to_contain_text("The boss is Tom")
    expect(page.locator(".toast")).to_contain_text("Saved: “The boss is Tom”")
    expect(chosen).to_contain_text("Until")
    expect(chosen).to_contain_text("The boss is Renate")

    visitor.go("memory", "?view=facts")
    expect(page.locator(".fact")).to_contain_text("The boss is Renate")
    expect(page.locator(".fact")).to_contain_text("Now: The boss is Tom")
    expect(page.locator(".fact")).to_contain_text("Renate retired")

    visitor.go("memory", "?view=history")
    newest = page.locator("tbody tr").first
    expect(newest).to_contain_text(
        "replaced: 'The boss is Renate' → 'The boss is Tom' (Renate retired)"
    )
    newest.get_by_role("button").focus()
    page.keyboard.press("Enter")
    expect(page.locator("tbody tr").first).to_contain_text("undid")
    assert "Renate" in claw("memory", "search", "boss", code=0).stdout


def test_views_and_beings_are_chosen_with_the_keyboard_one_after_the_other(
    visitor: Visitor, console: RunningConsole
) -> None:
    for name in ("assistant", "garden", "team"):
        claw("being", "create", name, code=0)
    page = opened_page(visitor, console)
    page.get_by_role("tab", name="Map").focus()
    for name in ("Days", "What changed"):
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
        expect(page.get_by_role("tab", name=name, selected=True)).to_be_focused()
    choice = page.get_by_label("Being")
    choice.focus()
    chosen = {choice.input_value()}
    for _ in range(2):
        page.keyboard.press("ArrowDown")
        page.wait_for_function(
            "(some) => !some.includes(document.activeElement.value)", arg=[*chosen]
        )
        visitor.ready("memory")
        expect(choice).to_be_focused()
        chosen.add(choice.input_value())
    command = page.get_by_text(re.compile(r"claw remember --being [0-9a-f-]{36}"))
    expect(command).to_be_visible()


def test_a_hit_opens_where_it_stands_and_the_search_is_in_the_address(
    visitor: Visitor, console: RunningConsole
) -> None:
    told(*(scene(f"Mira plays the cello in hall {number}") for number in range(12)))
    page = opened_page(visitor, console, "?query=cello")
    found = page.get_by_label("What was found")
    line = found.locator("li").nth(1)
    line.get_by_role("button").click()
    chosen = line.get_by_label("The chosen memory")
    expect(chosen.get_by_role("heading")).to_be_focused()
    expect(chosen.get_by_role("heading")).to_be_in_viewport()
    chosen.get_by_role("button", name="Close").click()
    expect(line.get_by_role("button")).to_be_focused()
    page.get_by_label("Search").fill("hall")
    page.keyboard.press("Enter")
    expect(found).to_contain_text("hall")
    page.wait_for_function("location.hash.includes('query=hall')")
    page.reload()
    visitor.ready("memory")
    expect(page.get_by_label("Search")).to_have_value("hall")
    expect(found.locator("li").first).to_contain_text("hall")


def test_a_search_says_what_recall_would_tell_and_folds_the_rest(
    visitor: Visitor, console: RunningConsole
) -> None:
    told(scene("The boss is Renate"), scene("Mira plays the cello"))
    page = opened_page(visitor, console, "?query=boss")
    found = page.get_by_label("What was found")
    expect(found.get_by_role("heading", name="What recall would tell")).to_be_visible()
    with opened(MemoryPlace()) as store:
        (boss,) = (hit.node for hit in own(store).search("boss").hits)
        assert boss.reactivation_count == 0
        weak = own(store).recall("the of and", Caller(), counts=False)
    assert weak.hits == ()
    page.get_by_label("Search").fill("the of and")
    page.keyboard.press("Enter")
    expect(found.get_by_role("heading", name=re.compile("Nothing"))).to_be_visible()


def test_text_that_was_typed_is_not_dropped_by_one_escape(
    visitor: Visitor, console: RunningConsole
) -> None:
    told(scene("The boss is Renate"))
    page = opened_page(visitor, console)
    page.locator(".memories").get_by_role("button", name="Renate").click()
    page.get_by_role("button", name="Edit").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("alert")).to_contain_text("there is nothing to save")
    dialog.get_by_label("Memory").fill("The boss is Tom")
    page.keyboard.press("Escape")
    expect(dialog).to_contain_text("Escape again drops it")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)


def test_on_a_phone_a_message_leaves_the_buttons_of_a_memory_free(
    browser: Browser, console: RunningConsole
) -> None:
    told(scene("We have a blue kayak"))
    with visiting(browser, viewport={"width": 390, "height": 820}) as visitor:
        page = opened_page(visitor, console, "?query=kayak")
        page.get_by_label("What was found").get_by_role("button").nth(1).click()
        chosen = page.get_by_label("The chosen memory")
        chosen.get_by_role("button", name="Pin").click()
        toast = page.locator(".toast")
        toast.hover()
        over = toast.bounding_box()
        assert over is not None
        expect(chosen.get_by_role("button", name="Let it fade")).to_be_visible()
        # At once: what is drawn anew while one looks has no place for a moment.
        boxes = chosen.locator(".actions button").evaluate_all(
            "(all) => all.map((one) => one.getBoundingClientRect().toJSON())"
        )
        assert len(boxes) == 3
        for box in boxes:
            assert box["bottom"] <= over["y"] or box["top"] >= over["y"] + over["height"]


def test_an_undo_is_offered_no_longer_than_it_can_be_done_or_in_another_view(
    visitor: Visitor, console: RunningConsole
) -> None:
    told(scene("We have a blue kayak"), scene("Mira plays the cello"))
    page = opened_page(visitor, console)
    toast = page.locator(".toast.undoable")

    def forget() -> None:
        page.locator(".memories").get_by_role("button", name="blue kayak").click()
        page.get_by_label("The chosen memory").get_by_role("button", name="Forget").click()
        page.get_by_role("dialog").get_by_role("button", name="Forget").click()
        toast.hover()  # it stays as long as one points at it

    forget()
    with opened(MemoryPlace()) as store:
        own(store).undo(own(store).ledger(1)[0].n, Caller())
    expect(toast).to_have_count(0)
    forget()
    visitor.go("memory", "?view=history")
    expect(toast).to_have_count(0)
    page.locator("tbody tr").first.get_by_role("button").click()
    expect(page.locator(".toast")).to_contain_text("Undone: ")
    expect(page.locator(".toast")).to_contain_text("blue kayak")


def test_a_memory_is_forgotten_with_a_reason_and_comes_back(
    visitor: Visitor, console: RunningConsole
) -> None:
    told(scene("We have a blue kayak"))
    page = opened_page(visitor, console)
    page.locator(".memories").get_by_role("button", name="blue kayak").click()
    page.get_by_label("The chosen memory").get_by_role("button", name="Forget").click()
    page.get_by_role("dialog").get_by_label("Why").fill("sold")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Forgotten: “We have a blue kayak”")).to_be_visible()
    expect(page.get_by_text("No memory to draw yet")).to_be_visible()
    assert "No memory was found" in claw("memory", "search", "kayak", code=0).stdout
    page.locator(".toast").get_by_role("button", name="Undo").press("Enter")
    expect(page.locator(".memories").get_by_role("button", name="blue kayak")).to_be_visible()
    expect(page.locator("main")).to_be_focused()
    expect(page.locator(".toast")).to_have_text(
        re.compile("^Undone: “We have a blue kayak” is remembered again")
    )
    assert "blue kayak" in claw("memory", "search", "kayak", code=0).stdout


def test_what_happens_elsewhere_is_seen_while_one_looks(
    visitor: Visitor, console: RunningConsole
) -> None:
    """Another window, a client or a command: on the map, in the list, in what is opened."""
    page = opened_page(visitor, console)
    expect(page.get_by_text("Nothing is remembered yet")).to_be_visible()
    told(scene("We have a blue kayak"))
    line = page.locator(".memories").get_by_role("button", name="blue kayak")
    line.click()
    chosen = page.get_by_label("The chosen memory")
    expect(chosen.get_by_role("heading", name="blue kayak")).to_be_focused()
    told(scene("Mira plays the cello"))
    expect(page.locator(".memories li")).to_have_count(2)
    expect(page.locator(".map-tools")).to_contain_text("2 memories")
    with opened(MemoryPlace()) as store:
        memory = own(store)
        (kayak,) = (hit.node for hit in memory.search("kayak", Caller()).hits)
        memory.retract([kayak.id], Caller(), "sold")
    expect(page.locator(".memories li")).to_have_count(1)
    expect(chosen).to_contain_text("not known any more")
    visitor.go("memory", "?view=access")
    claw("being", "token", "create", "assistant", "--label", "from elsewhere", code=0)
    expect(page.get_by_role("cell", name="from elsewhere", exact=True)).to_be_visible()


def test_the_list_and_the_search_are_there_before_the_map(
    visitor: Visitor, console: RunningConsole
) -> None:
    told(scene("Mira plays the cello", "2026-03-01"))
    visitor.open(console.link)
    page = visitor.page
    held: list[Route] = []
    let_go: list[bool] = []

    def hold(route: Route) -> None:
        if let_go:
            route.continue_()
        else:
            held.append(route)

    page.route("**/api/memory/map?*", hold)
    visitor.go("memory")
    expect(page.get_by_text("The map is being drawn…")).to_be_visible()
    expect(page.get_by_role("heading", name="Last told first")).to_be_visible()
    expect(page.locator(".memories li")).to_contain_text("told ")
    page.get_by_label("Search").fill("cello")
    page.keyboard.press("Enter")
    expect(page.get_by_label("What was found")).to_contain_text("of March 1, 2026")
    let_go.append(True)
    for waiting in held:
        waiting.continue_()
    expect(page.locator(".map-tools")).to_contain_text("1 memory")
    expect(page.get_by_text("The map is being drawn…")).to_have_count(0)


def test_a_map_is_computed_anew_only_when_memories_are_others(claw_home: Path) -> None:  # noqa: ARG001 - in that home
    with ExitStack() as until_end:
        memories = OpenedMemories(until_end)
        memory = own(memories.store())
        memory.remember("Mira plays the cello", Caller())
        first = memories.map(memory.being.id)
        assert memories.map(memory.being.id) is first
        memory.remember("The boss is Tom", Caller())
        assert len(memories.map(memory.being.id).ids) == 2


def test_on_a_phone_nothing_of_the_page_is_out_of_reach(
    browser: Browser, console: RunningConsole
) -> None:
    told(scene("Mira plays the cello"))
    claw("being", "token", "create", "assistant", "--expires", "30d", code=0)
    with visiting(browser, viewport={"width": 390, "height": 844}) as visitor:
        page = opened_page(visitor, console)
        expect(page.get_by_label("As of")).to_be_visible()
        expect(page.get_by_role("tab", name="Access")).to_be_in_viewport(ratio=1)
        assert page.locator("body > header").evaluate("(one) => one.offsetHeight") < 80
        expect(page.locator("#connection")).to_have_text("Live")
        visitor.go("memory", "?view=access")
        cell = page.locator("td[data-title=State]")
        assert cell.evaluate("(one) => one.scrollWidth <= one.clientWidth")


def test_days_are_listed_with_what_happened_then(visitor: Visitor, console: RunningConsole) -> None:
    told(scene("Moved to Bern", "2026-03-01"), scene("Met Ada", "2026-05-09"))
    page = opened_page(visitor, console, "?view=days")
    expect(page.locator(".day h2")).to_have_text(["May 9, 2026", "March 1, 2026"])
    page.get_by_role("button", name="Mar 2026").click()
    expect(page.locator(".day h2")).to_have_text(["March 1, 2026"])


def test_a_dialog_that_the_server_refuses_stays_open_with_what_was_typed_and_says_why(
    visitor: Visitor, console: RunningConsole
) -> None:
    told(scene("The boss is Renate"))
    page = opened_page(visitor, console, "?view=access")
    page.get_by_role("button", name="New token").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Label").fill("phone")
    dialog.get_by_label("Expires").fill("someday")
    dialog.get_by_role("button", name="Make it").click()
    expect(dialog.get_by_role("alert")).to_contain_text("someday")
    expect(dialog.get_by_label("Label")).to_have_value("phone")
    expect(page.locator(".toast")).to_have_count(0)
    dialog.get_by_label("Expires").fill("30d")
    dialog.get_by_role("button", name="Make it").click()
    expect(page.locator(".secret")).to_be_visible()
    page.get_by_role("button", name="I have it").click()

    visitor.go("memory")
    page.locator(".memories button").first.click()
    page.get_by_role("button", name="Edit").click()
    dialog.get_by_label("Memory").fill(" ")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("alert")).not_to_be_empty()
    dialog.get_by_label("Memory").fill("The boss is Tom")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_have_count(0)
    expect(page.get_by_role("heading", name="The boss is Tom")).to_be_visible()


def test_a_token_is_shown_once_opens_the_being_and_is_revoked(
    visitor: Visitor, console: RunningConsole
) -> None:
    told(scene("Mira plays the cello"))
    page = opened_page(visitor, console, "?view=access")
    page.get_by_role("button", name="New token").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Label").fill("phone")
    dialog.get_by_label("May", exact=True).select_option("read-only")
    dialog.get_by_role("button", name="Make it").click()
    secret = page.locator(".secret").inner_text()
    assert secret.startswith("brt_")
    expect(page.locator("tbody tr")).to_contain_text("phone")  # drawn anew behind the dialog
    page.get_by_role("button", name="I have it").click()
    expect(page.get_by_role("button", name="New token")).to_be_focused()
    assert secret not in page.content()
    assert "read-only" in claw("being", "token", "list", "assistant", code=0).stdout
    assert page.get_by_role("columnheader").all_inner_texts()[-1] == "Revoke"
    page.get_by_role("button", name="Revoke phone").press("Enter")
    expect(page.get_by_role("dialog").get_by_role("button", name="Cancel")).to_be_focused()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").press("Enter")
    expect(page.locator("tbody tr")).to_contain_text("revoked")
    expect(page.get_by_role("tabpanel")).to_be_focused()
    assert "revoked" in claw("being", "token", "list", "assistant", code=0).stdout


def test_hostile_text_is_inert_in_every_field(visitor: Visitor, console: RunningConsole) -> None:
    with opened(MemoryPlace()) as store:
        memory = own(store)
        old = memory.remember(
            f"{HOSTILE} boss",
            Caller(),
            actors=[HOSTILE],
            setting=HOSTILE,
            feeling=HOSTILE,
            themes=[HOSTILE],
            speaker="Eve",
        )
        memory.restate(old, f"{HOSTILE} now {'x' * 10_000}", Caller())
        gone = memory.remember("to forget", Caller())
        memory.retract([gone.id], Caller(), HOSTILE)
        node = memory.search("now").hits[0].node.id
    create_named(HOSTILE[:40])
    page = opened_page(visitor, console, f"?node={node}")
    expect(page.get_by_label("The chosen memory")).to_contain_text(INERT)
    for view in ("days", "facts", "history", "access"):
        visitor.go("memory", f"?view={view}")
        assert page.evaluate("() => window.pwned") is None
        shown = page.locator("main").inner_text()
        assert not any(letter in shown for letter in "\u202e\x1b\x00")
    assert page.locator("main script, main img, main iframe").count() == 0


def test_ten_thousand_memories_are_drawn_on_one_canvas_and_listed_in_pages(
    visitor: Visitor, console: RunningConsole
) -> None:
    remember_many(10_000)
    page = opened_page(visitor, console)
    expect(page.get_by_text("10,000 memories", exact=True)).to_be_visible()
    canvas = page.locator("canvas.memory-map[data-drawn]")
    expect(canvas).to_be_visible()
    assert page.locator("main *").count() < 600
    expect(page.locator(".memories li")).to_have_count(50)
    page.get_by_role("button", name="More").click()
    expect(page.get_by_text("51 to 100")).to_be_visible()
    canvas.focus()
    before = int(canvas.get_attribute("data-drawn") or 0)
    for key in ("+", "+", "ArrowLeft", "ArrowUp", "-", "0", "+"):
        page.keyboard.press(key)
    page.wait_for_function(
        "(count) => Number(document.querySelector('canvas').dataset.drawn) > count", arg=before
    )
    page.keyboard.press("Enter")
    expect(page.get_by_label("The chosen memory")).to_contain_text("fact ")


NAMES = """async () => {
  const { showMap } = await import("/map.js");
  const canvas = document.createElement("canvas");
  canvas.style.cssText = "position: fixed; inset: 0; width: 600px; height: 400px";
  document.body.append(canvas);
  const write = CanvasRenderingContext2D.prototype.fillText;
  const arc = CanvasRenderingContext2D.prototype.arc;
  let names = [], points = [];
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
    const half = this.measureText(text).width / 2;
    names.push([x - half, y - 11, x + half, y + 3]);
    return write.apply(this, arguments);
  };
  CanvasRenderingContext2D.prototype.arc = function (x, y) {
    points.push([x, y]);
    return arc.apply(this, arguments);
  };
  const topic = { id: "t", name: "Gardening", memories: 3, x: 5000, y: 5000 };
  const all = [0, 0, 0];
  const places = { x: [5000, 5050, 4950], y: [4600, 4590, 4610], topic: all, state: all };
  const map = { total: 3, topics: [topic], ids: ["a", "b", "c"], ...places };
  const drawn = showMap(canvas, map, { onOpen() {}, onPoint() {}, isDark: () => false });
  drawn.take(map);
  while (!names.length) {
    points = [];
    drawn.draw();
    await new Promise((done) => setTimeout(done, 20));
  }
  CanvasRenderingContext2D.prototype.fillText = write;
  CanvasRenderingContext2D.prototype.arc = arc;
  canvas.remove();
  const over = ([x, y]) => ([x0, y0, x1, y1]) => x > x0 && x < x1 && y > y0 && y < y1;
  return points.filter((point) => names.some(over(point))).length;
}"""


def test_the_name_of_a_topic_lies_over_no_point(visitor: Visitor, console: RunningConsole) -> None:
    page = visitor.open(console.link)
    assert page.evaluate(NAMES) == 0
