"""The assistant's part of the config: what cannot be meant is refused with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from clawkit.errors import SettingsError
from tests.assistant.replies import config_of

NOBODY = "~no-such-user-here/x"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (f'[assistant]\nworkspace = "{NOBODY}"', "[assistant]: `workspace`"),
        (f'[mcp.servers.x]\ncommand = "{NOBODY}"', "[mcp.servers.x]: `command`"),
        (f'[mcp.servers.x]\ncommand = "y"\ncwd = "{NOBODY}"', "[mcp.servers.x]: `cwd`"),
    ],
)
def test_the_home_of_nobody_is_refused_where_it_stands(
    tmp_path: Path, text: str, place: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        config_of(tmp_path, text)
    file = tmp_path / "config.toml"
    said = f"{file}: {place}: there is no user whose home ~no-such-user-here is"
    assert str(caught.value) == said


def test_a_path_that_no_system_has_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="a character in it that no path can have"):
        config_of(tmp_path, '[assistant]\nworkspace = "a\\u0000b"')


def test_a_path_may_begin_at_home(tmp_path: Path) -> None:
    assert config_of(tmp_path, '[assistant]\nworkspace = "~/x"').workspace == Path.home() / "x"
