"""Records what the real CLI and the client say to each other, for the replays.

    python -m tests.claude.record [SCENE …]

Write the recordings anew when the CLI has a new version, and look at what has changed in them.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from clawkit.claude.client import ClaudeClient
from tests.assistant.providers.scripted import scripted_anthropic
from tests.claude.cli import environment, real_cli
from tests.claude.conversations import registry
from tests.claude.scenes import SCENES, Scene
from tests.processes import ROOT

RECORDED = Path(__file__).parent / "recorded"
_SETTLE = 1.0
_LONGEST_TEXT = 120
_LONGEST_LIST = 3
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
_API = re.compile(r"http://127\.0\.0\.1:\d+")
_SOCKET = re.compile(r"/\S+/\d+\.sock")
_MEASURED = re.compile(r"_ms$|tokens|percentage|cost|usd$|^pid$|^memory", re.IGNORECASE)


class Scrubber:
    """Puts placeholders where a machine, a moment or chance would show."""

    def __init__(self, home: str = "/nowhere") -> None:
        self._uuids: dict[str, str] = {}
        self._places = {
            home: "/home/user",
            home.replace("/", "-").replace("_", "-"): "-home-user",
            sys.executable: "/usr/bin/python3",
            str(ROOT): "/src",
        }

    def host(self, value: Any) -> Any:
        """A message of ours: nothing is left out."""
        return _each(value, self._text)

    def cli(self, value: Any) -> Any:
        """A message of the CLI: its long texts and lists are cut, and what it measured is 0."""
        return _each(value, lambda text: _cut(self._text(text)), cut=True)

    def _text(self, text: str) -> str:
        for place, name in self._places.items():
            text = text.replace(place, name)
        text = _API.sub("http://127.0.0.1:1", _TIME.sub("2026-01-01T00:00:00.000Z", text))
        return _UUID.sub(self._uuid, _SOCKET.sub("/home/user/cli.sock", text))

    def _uuid(self, found: re.Match[str]) -> str:
        return self._uuids.setdefault(found[0], f"uuid-{len(self._uuids) + 1}")


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…"


def _each(value: Any, change: Callable[[str], str], *, cut: bool = False) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        items = cast("list[Any]", value)
        return [_each(item, change, cut=cut) for item in items[: _LONGEST_LIST if cut else None]]
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {
            change(key): 0 if cut and _measured(key, item) else _each(item, change, cut=cut)
            for key, item in fields.items()
        }
    return value


def _measured(key: str, item: Any) -> bool:
    return type(item) in (int, float) and bool(_MEASURED.search(key))


class RecordingClient(ClaudeClient):
    """Writes down both sides, in the order in which they spoke."""

    def __init__(self, scrubber: Scrubber, **options: Any) -> None:
        super().__init__(**options)
        self.lines: list[dict[str, Any]] = []
        self._scrubber = scrubber

    async def _write(self, data: bytes) -> None:
        self.lines.append({"from": "host", "message": self._scrubber.host(json.loads(data))})
        await super()._write(data)

    def _hear(self, line: bytes) -> None:
        self.lines.append({"from": "cli", "message": self._scrubber.cli(json.loads(line))})
        super()._hear(line)


async def record(scene: Scene, home: Path) -> list[dict[str, Any]]:
    project = home / "project"
    project.mkdir()
    with scripted_anthropic(scene.script) as api:
        client = RecordingClient(
            Scrubber(str(home)),
            cli_path=real_cli(),
            cwd=project,
            env=environment(api.url, home),
            **scene.options,
        )
        if scene.server is not None:
            client.register_mcp_message_handler(registry(scene.server))
        async with client:
            await scene.act(client)
            await asyncio.sleep(_SETTLE)
    return client.lines


def main(names: list[str]) -> None:
    RECORDED.mkdir(exist_ok=True)
    for name in names or list(SCENES):
        with tempfile.TemporaryDirectory() as home:
            lines = asyncio.run(record(SCENES[name](), Path(home).resolve()))
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        (RECORDED / f"{name}.jsonl").write_text(text)


if __name__ == "__main__":
    main(sys.argv[1:])
