"""The assistant's part of the config: what cannot be meant is refused with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from clawkit.assistant.config import read_config
from clawkit.errors import SettingsError
from clawkit.settings import Settings
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


def test_a_setting_outside_its_section_is_told_where_it_belongs(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"config.toml: `use` belongs under \[model\]$"):
        config_of(tmp_path, 'use = "offline"')


def test_a_config_that_cannot_be_read_names_its_file_once(tmp_path: Path) -> None:
    places = Settings(tmp_path, tmp_path, tmp_path)
    (tmp_path / "config.toml").mkdir()
    with pytest.raises(SettingsError) as caught:
        read_config(places)
    assert str(caught.value) == f"{tmp_path / 'config.toml'} cannot be read: Is a directory"
