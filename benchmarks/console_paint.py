"""How long a person waits for the console: first paint, the page filled, the next rows."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, Page

from benchmarks.report import Report, Row, at_most
from clawkit.settings import settings
from tests.browser import running_browser
from tests.console.big_log import write_big_log
from tests.console.browser import running_console, visiting
from tests.console.many_memories import remember_many

COLUMNS = ("first paint ms", "filled ms", "next rows ms", "rows", "elements")
RECORDS = 100_000
FIRST_PAINT_MS = 1000
FILLED_MS = 3000
MOST_ROWS = 200
MEMORIES = 10_000
FRAME_MS = 50
_FIRST_PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
_FRAMES = """async () => {
    const canvas = document.querySelector("canvas.memory-map");
    const times = [];
    for (const key of ["+", "ArrowLeft", "+", "ArrowUp", "-", "0", "+", "+", "0"]) {
        const start = performance.now();
        canvas.dispatchEvent(new KeyboardEvent("keydown", { key }));
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        times.push((performance.now() - start) / 2);
    }
    return times;
}"""
_ROWS = "section[aria-label=Calls] tbody tr"


@dataclass(frozen=True)
class Visit:
    """One visit of a browser that has never been there."""

    first_paint_ms: float
    filled_ms: float
    next_rows_ms: float
    rows: int
    elements: int


@contextmanager
def home(records: int) -> Iterator[None]:
    """A home with so many records in its log."""
    before = os.environ.get("CLAW_HOME")
    with TemporaryDirectory(prefix="claw-") as folder:
        os.environ["CLAW_HOME"] = folder
        settings.cache_clear()
        write_big_log(max(1, records // 2))
        try:
            yield
        finally:
            os.environ.pop("CLAW_HOME")
            if before is not None:
                os.environ["CLAW_HOME"] = before
            settings.cache_clear()


def visit(browser: Browser) -> Visit:
    """Open the page of activity in a new console: nothing is warm."""
    with running_console() as console, visiting(browser) as visitor:
        page = visitor.page
        page.goto(console.link)
        visitor.ready("approvals")
        first_paint = page.evaluate(_FIRST_PAINT)
        filled = timed(page, "location.hash = '#/activity'", ".page-activity[data-ready]")
        rows = page.locator(_ROWS).count()
        elements = page.locator("*").count()
        first = page.locator(_ROWS).first.get_attribute("data-seq")
        older = page.get_by_role("button", name="Older")
        next_rows = 0.0
        if older.count():
            click = "[...document.querySelectorAll('.pager button')].at(-1).click()"
            next_rows = timed(page, click, f"{_ROWS}:first-child:not([data-seq='{first}'])")
    return Visit(first_paint, filled, next_rows, rows, elements)


def visit_map(browser: Browser) -> tuple[float, float, float]:
    """Open the map of very many memories and zoom it: until it is filled, a frame, elements."""
    with running_console() as console, visiting(browser) as visitor:
        page = visitor.page
        page.goto(console.link)
        visitor.ready("approvals")
        filled = timed(page, "location.hash = '#/memory'", ".page-memory[data-ready]")
        page.locator("canvas.memory-map[data-drawn]").wait_for()
        frame = median(page.evaluate(_FRAMES))
        return filled, frame, float(page.locator("*").count())


def map_report(browser: Browser, rounds: int) -> Report:
    """The map of memories."""
    with home(2):
        remember_many(MEMORIES)
        visits = [visit_map(browser) for _ in range(rounds)]
    filled, frame, elements = (median(each) for each in zip(*visits, strict=True))
    return Report(
        name="console_map",
        title="the console's map of memories in Chromium, panned and zoomed",
        columns=("filled ms", "frame ms", "elements"),
        rows=(Row(f"{MEMORIES:,} memories", (filled, frame, elements)),),
        bars=(
            at_most(f"{MEMORIES:,} memories within {FILLED_MS} ms", filled, FILLED_MS),
            at_most(f"a frame within {FRAME_MS} ms", frame, FRAME_MS),
        ),
    )


def timed(page: Page, act: str, wanted: str) -> float:
    """Milliseconds from an act in the page to the frame in which something is there."""
    script = f"""(wanted) => new Promise((resolve) => {{
        const start = performance.now();
        const look = () => document.querySelector(wanted)
            ? resolve(performance.now() - start) : requestAnimationFrame(look);
        {act};
        look();
    }})"""
    return page.evaluate(script, wanted)


def figures(name: str, visits: list[Visit]) -> Row:
    return Row(
        name,
        (
            median(one.first_paint_ms for one in visits),
            median(one.filled_ms for one in visits),
            median(one.next_rows_ms for one in visits),
            float(max(one.rows for one in visits)),
            float(max(one.elements for one in visits)),
        ),
    )


def run(quick: bool) -> list[Report]:
    """Measure with a log of one call, and with a long one."""
    rounds = 2 if quick else 5
    rows: list[Row] = []
    with running_browser() as browser:
        visit_once(browser)
        for name, records in (("one call", 2), (f"{RECORDS:,} records", RECORDS)):
            with home(records):
                rows.append(figures(name, [visit(browser) for _ in range(rounds)]))
        memories = map_report(browser, rounds)
    first_paint, filled, _, most, _ = (float(cell) for cell in rows[-1].cells)
    return [
        Report(
            name="console_paint",
            title="the console in Chromium, each time a new console and a new profile",
            columns=COLUMNS,
            rows=tuple(rows),
            bars=(
                at_most(f"first paint at most {FIRST_PAINT_MS} ms", first_paint, FIRST_PAINT_MS),
                at_most(f"{RECORDS:,} records within {FILLED_MS} ms", filled, FILLED_MS),
                at_most(f"at most {MOST_ROWS} rows in the page", most, MOST_ROWS),
            ),
        ),
        memories,
    ]


def visit_once(browser: Browser) -> None:
    """What the browser does once in its life is nobody's time."""
    with home(2):
        visit(browser)
