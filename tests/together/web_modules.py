"""Node's packages as a browser loads them: their files, and the import map that names them."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.processes import ROOT

PACKAGES = ROOT / "tests" / "node" / "node_modules"
_IMPORTED = re.compile(r"""(?:from|import)\s*\(?["']([^"']+)["']""")
_CONDITIONS = ("browser", "import", "default")


def import_map(*entries: str) -> dict[str, str]:
    """Every name that these packages import, directly or not, with the path of its file."""
    found: dict[str, str] = {}
    seen: set[Path] = set()
    waiting = [_file_of(entry, found) for entry in entries]
    while waiting:
        file = waiting.pop().resolve()
        if file in seen:
            continue
        seen.add(file)
        for name in _IMPORTED.findall(file.read_text(encoding="utf-8")):
            if name.startswith("."):
                waiting += [path for path in [file.parent / name] if path.is_file()]
            elif name not in found and not name.startswith("node:"):
                waiting.append(_file_of(name, found))
    return found


def _file_of(name: str, found: dict[str, str]) -> Path:
    parts = name.split("/")
    length = 2 if name.startswith("@") else 1
    package = PACKAGES.joinpath(*parts[:length])
    below = "/".join((".", *parts[length:]))
    exports = json.loads((package / "package.json").read_text(encoding="utf-8"))["exports"]
    file = package / _chosen(exports.get(below, exports))
    found[name] = f"/packages/{file.relative_to(PACKAGES).as_posix()}"
    return file


def _chosen(value: Any) -> str:
    while not isinstance(value, str):
        value = next(value[one] for one in _CONDITIONS if one in value)
    return value


@contextmanager
def web_page(script: Path, *packages: str) -> Iterator[str]:
    """Serves a page with a script of ours, which may import these packages; gives its origin."""
    names = json.dumps({"imports": import_map(*packages)})
    start = (
        f"<!doctype html><link rel=icon href=data:,><script type=importmap>{names}</script>"
        "<body><script type=module src=/script.mjs></script>"
    )

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/":
                self._send(start.encode(), "text/html")
            elif self.path == "/script.mjs":
                self._send(script.read_bytes(), "text/javascript")
            else:
                file = PACKAGES / self.path.removeprefix("/packages/")
                self._send(file.read_bytes(), "text/javascript")

        def _send(self, body: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Nobody reads it."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()
