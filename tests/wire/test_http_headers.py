"""Headers that two readers could read differently are refused."""

from __future__ import annotations

import pytest

from tests.wire.samples.messages import call, headers, modern
from tests.wire.samples.peers import Peer


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Mcp-Name", "other"),
        ("Mcp-Method", "tools/list"),
        ("MCP-Protocol-Version", "2025-11-25"),
        ("Origin", "http://localhost"),
        ("Authorization", "Bearer other"),
    ],
)
def test_a_header_that_decides_something_may_be_there_only_once(
    address: str, name: str, value: str
) -> None:
    message = modern(call(1, "echo", text="a"))
    fields = [*headers(message).items(), (name, value)]
    if name in ("Origin", "Authorization"):
        fields.append((name, value))
    with Peer(address) as peer:
        response = peer.http.post("/mcp", json=message, headers=fields)
    assert response.status_code == 400
    assert response.json()["error"]["code"] == -32020


def test_a_mirrored_argument_without_a_value_has_no_header(address: str) -> None:
    message = modern(call(1, "place", region="EU"))
    fields = headers(message, Mcp_Param_Region="EU", Mcp_Param_Floor="3")
    with Peer(address) as peer:
        response = peer.http.post("/mcp", json=message, headers=fields)
    assert response.json()["error"]["code"] == -32020
