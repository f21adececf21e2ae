"""Draws docs/pictures/console-*.png: the console's pages, light and dark, after a day of real runs.

`make pictures` runs it. The day is that of `make demo`, and what a guard decided besides.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser

from clawkit.assistant.memory.place import MemoryPlace, opened
from clawkit.guard.authoring.default_policy import DEFAULT_POLICY
from clawkit.guard.locations import policy_file
from clawkit.hosts import installation
from clawkit.hosts.clients import client_called
from clawkit.hosts.discovery import SearchScope
from clawkit.hosts.installation import assistant_order
from clawkit.hosts.wrap import wrap
from clawkit.memory.tokens import Caller
from clawkit.settings import settings
from tests.browser import running_browser
from tests.claw import PROGRAMS
from tests.console.browser import running_console, visiting
from tests.guard.guarded_server import Guarded, guarded
from tests.processes import ROOT

PICTURES = ROOT / "docs" / "pictures"
PAGES = ("approvals", "activity", "policy", "memory", "sessions", "connect", "health")
LIFE = (
    "The boss is Renate",
    "Sprint planning is on Mondays at ten",
    "Ada leads the payments team",
    "The invoice system is written in Rust",
    "Ben reviews every migration",
    "Deploys go out on Tuesdays",
    "The payments database is PostgreSQL 17",
    "Renate wants the report by Friday",
    "On-call changes every second week",
    "Mira plays the cello",
    "The garden has four apple trees",
    "Mira's birthday is on 3 May",
    "The cat is called Pixel",
    "The heating was repaired in March",
    "Grandmother's soup has dill in it",
    "Mira is allergic to hazelnuts",
    "Basil wants water every day",
    "The chillies are on the south window",
    "The night train to Vienna leaves at 20:40",
    "The flight to Oslo was cancelled",
    "The hotel in Lisbon had a roof terrace",
    "The ferry to Gotland takes three hours",
    "Kyoto in November is full of maples",
    "The passport ends in 2029",
)
_SERVERS = {
    "files": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/work"]},
    "git": {"command": "uvx", "args": ["mcp-server-git"]},
}
SIZE = {"width": 1200, "height": 860}
_ALLOWED = '[[rule]]\naction = "allow"\ntool = ["read_file", "list_files"]\n\n'
_FILE = "Basil wants water every day.\nChillies can wait.\n"
_NEW_FILE = "Basil wants water every day.\nChillies wait for Friday.\nMint takes what is left.\n"


# Where this machine has its files is nobody's business.
_ELSEWHERE = """(places) => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        for (const [here, there] of Object.entries(places)) {
            texts.currentNode.data = texts.currentNode.data.replaceAll(here, there);
        }
    }
}"""


@contextmanager
def a_day() -> Iterator[tuple[Path, Guarded]]:
    """A home in which things have happened, and a guard that goes on."""
    with TemporaryDirectory(prefix="claw-") as folder, ExitStack() as until_end:
        home = Path(folder) / "h"
        subprocess.run(
            (sys.executable, "examples/demo.py", str(home)),
            cwd=ROOT,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        programs = f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"
        os.environ.update(CLAW_HOME=str(home), HOME=folder, PATH=programs)
        settings.cache_clear()
        policy_file().parent.mkdir(parents=True, exist_ok=True)
        last = DEFAULT_POLICY.rindex("[[rule]]")
        policy = DEFAULT_POLICY[:last] + _ALLOWED + DEFAULT_POLICY[last:]
        policy_file().write_text(policy)
        guard = until_end.enter_context(guarded(Path(folder), policy, "--name", "notes"))
        guard.initialize()
        _work(guard)
        _live()
        cursor = Path(folder) / ".cursor" / "mcp.json"
        cursor.parent.mkdir()
        cursor.write_text(json.dumps({"mcpServers": _SERVERS}))
        installation.install(client_called("cursor"), assistant_order())
        wrap("files", SearchScope("cursor"))
        yield Path(folder), guard


def _live() -> None:
    """What a person told over half a year, and what is so now."""
    now = time.time()
    with opened(MemoryPlace()) as store:
        memory = store.open(store.default())
        made = [
            memory.remember(fact, Caller(), when=[_day(now - 7 * 86_400 * (len(LIFE) - at))])
            for at, fact in enumerate(LIFE)
        ]
        memory.restate(made[0], "The boss is Tom", Caller())
        memory.embed_missing()


def _day(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).date().isoformat()


def _boss() -> str:
    with opened(MemoryPlace("", "none")) as store:
        memory = store.open(store.default())
        return memory.search("boss Tom").hits[0].node.id


def _work(guard: Guarded) -> None:
    """What an agent does all day: mostly what it may."""
    chance = random.Random(7)
    for number in range(160):
        name = chance.choice(("read_file", "read_file", "list_files"))
        secret = chance.random() < 0.07
        path = "/home/ada/.ssh/id_ed25519" if secret else f"/home/ada/notes/{number % 23}.md"
        guard.tool(name, f"day-{number}", path=path)
        time.sleep(chance.random() ** 6)


def take(browser: Browser, scheme: str, guard: Guarded, folder: Path) -> None:
    notes = folder / "notes" / "garden.md"
    notes.parent.mkdir(exist_ok=True)
    notes.write_text(_FILE)
    with running_console() as console:
        options = {"color_scheme": scheme, "viewport": SIZE, "device_scale_factor": 1.5}
        with visiting(browser, **options) as visitor:
            page = visitor.open(console.link)
            arguments = {"path": str(notes), "content": _NEW_FILE}
            params = {"name": "write_file", "arguments": arguments}
            guard.send({"jsonrpc": "2.0", "id": scheme, "method": "tools/call", "params": params})
            page.get_by_role("button", name="Allow once").wait_for()
            known = page.locator("#pages a").evaluate_all("(all) => all.map((a) => a.hash)")
            places = {"memory": f"?node={_boss()}", "sessions": "?key=terminal"}
            for name in PAGES:
                if f"#/{name}" in known:
                    visitor.go(name, places.get(name, ""))
                    if name == "approvals":
                        page.locator("[data-answer=once][aria-disabled=false]").wait_for()
                    if name == "memory":
                        page.get_by_text("The map is being drawn…").wait_for(state="detached")
                    page.wait_for_timeout(800)  # charts and toasts have settled
                    page.evaluate(_ELSEWHERE, {str(ROOT): "/home/ada/clawkit", str(folder): "~"})
                    page.screenshot(path=PICTURES / f"console-{name}-{scheme}.png")
            visitor.go("approvals")
            page.get_by_role("button", name="Deny").click()
            guard.receive()


def main() -> None:
    with a_day() as (folder, guard), running_browser() as browser:
        for scheme in ("light", "dark"):
            take(browser, scheme, guard, folder)


if __name__ == "__main__":
    main()
