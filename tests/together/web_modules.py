"""Node's packages as a browser loads them: their files, and the import map that names them."""

from __future__ import annotations

import json
import re
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
