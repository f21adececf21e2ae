"""The tool definitions, beside those of the documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clawkit.assistant.server import CLAWDBOT, OPENCLAW, brand_of, order_server

DOCUMENTED = Path(__file__).parent / "definitions"


def documented(tool: str) -> dict[str, Any]:
    return json.loads((DOCUMENTED / f"{tool}.json").read_text())


@pytest.mark.parametrize("brand", [OPENCLAW, CLAWDBOT])
def test_the_definition_is_the_documents_word_for_word(brand: Any) -> None:
    tool = f"order_{brand.name}"
    assert json.dumps(brand.definition) == json.dumps(documented(tool))


@pytest.mark.parametrize(
    ("program", "tool"),
    [
        ("openclaw", "order_openclaw"),
        ("claw", "order_openclaw"),
        ("clawai", "order_openclaw"),
        ("clawdbot", "order_clawdbot"),
    ],
)
async def test_the_name_of_the_program_chooses_the_one_tool(program: str, tool: str) -> None:
    server = order_server(brand_of(program), "1.0")
    reply = await server.handle_jsonrpc({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    assert reply is not None
    assert [found["name"] for found in reply["result"]["tools"]] == [tool]
