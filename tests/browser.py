"""A real browser, the machine's own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
from playwright.sync_api import Browser, expect, sync_playwright

from tests.processes import PATIENCE

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chrome")
OPTIONS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"),
)
expect.set_options(timeout=PATIENCE * 1000)


def browser_program() -> str:
    found = next(filter(None, map(shutil.which, PROGRAMS)), None)
    assert found is not None, "no Chromium is installed; on Debian and Ubuntu: apt install chromium"
    return found


@contextmanager
def running_browser() -> Iterator[Browser]:
    others = set(psutil.Process().children(recursive=True))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=browser_program(), args=list(OPTIONS), timeout=PATIENCE * 1000
        )
        children = set(psutil.Process().children(recursive=True)) - others
        try:
            yield browser
        finally:
            browser.close()
    psutil.wait_procs(list(children), PATIENCE)
