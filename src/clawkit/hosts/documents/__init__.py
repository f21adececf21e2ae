"""Config documents as text with spans: JSONC, JSON5, TOML and YAML, edited in place."""

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
            from clawkit.hosts.documents.jsonish import Jsonish

            return Jsonish()
        case "toml":
            from clawkit.hosts.documents.toml import Toml

            return Toml()
        case "yaml":
            from clawkit.hosts.documents.yaml import Yaml

            return Yaml()
