"""What a page tells people to paste is what each client reads."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
import yaml

from clawkit.hosts.clients import CLIENTS, ClientApp
from clawkit.hosts.documents.nodes import data_at
from clawkit.hosts.entries import RemoteLaunch, StdioLaunch, launch_of
from clawkit.hosts.installation import InstallOrder
from clawkit.hosts.paste import pastes_for_command, pastes_for_url, remote_entry

URL = "http://localhost:8000/mcp"
HEADERS = {"Authorization": "Bearer YOUR_TOKEN"}
READERS: dict[str, Any] = {"json": json.loads, "toml": tomllib.loads, "yaml": yaml.safe_load}


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.id)
def test_an_entry_for_an_address_is_read_back_as_that_address(client: ClientApp) -> None:
    launch = launch_of(client.form, remote_entry(client, "weather", URL, HEADERS))
    if client.id == "claude-desktop":
        assert isinstance(launch, StdioLaunch)
        assert URL in launch.argv
        assert "Authorization:Bearer YOUR_TOKEN" in launch.argv
    else:
        assert launch == RemoteLaunch(URL, HEADERS, "http")


def test_what_is_pasted_is_a_file_of_that_client() -> None:
    order = InstallOrder("weather", ("/bin/claw", "serve", "/tmp/weather.py"))
    for pastes in (pastes_for_url("weather", URL), pastes_for_command(order)):
        for client, paste in zip(CLIENTS, pastes, strict=True):
            assert paste.client == client.title
            if client.id == "claude-code":
                assert paste.text.startswith("claude mcp add ")
                continue
            entry = data_at(READERS[client.format](paste.text), (*client.keys[0], "weather"))
            assert not isinstance(launch_of(client.form, entry), str)
            assert "{" not in paste.place


def test_a_name_or_token_cannot_add_to_a_command() -> None:
    claude = next(one for one in pastes_for_url("a; b", URL, "$(x)") if one.client == "Claude Code")
    assert claude.text == (
        "claude mcp add --transport http 'a; b' http://localhost:8000/mcp "
        "--header 'Authorization: Bearer $(x)'"
    )
