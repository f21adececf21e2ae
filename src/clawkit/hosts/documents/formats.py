"""The formats of config documents, and the parser of each, imported when it is needed."""

from __future__ import annotations

from functools import cache
from typing import Literal

from clawkit.hosts.documents.nodes import Dialect

Format = Literal["json", "toml", "yaml"]


@cache
def dialect_of(format: Format) -> Dialect:
    """How documents of this format are read and written; `json` covers JSONC and JSON5."""
    match format:
        case "json":
            from clawkit.hosts.documents.json5 import Json5

            return Json5()
        case "toml":
            from clawkit.hosts.documents.toml import Toml

            return Toml()
        case "yaml":
            from clawkit.hosts.documents.yaml import Yaml

            return Yaml()
