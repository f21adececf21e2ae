"""Where things are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from clawkit.errors import SettingsError
from clawkit.settings import is_there, read_settings, seconds_in


def test_the_usual_places_are_under_the_home(home: Path) -> None:
    found = read_settings({})
    assert found.config == home / ".config" / "claw"
    assert found.data == home / ".local" / "share" / "claw"
    assert found.policy == home / ".config" / "clawai"


def test_the_xdg_variables_are_honoured() -> None:
    found = read_settings({"XDG_CONFIG_HOME": "/c", "XDG_DATA_HOME": "/d"})
    assert (found.config, found.data) == (Path("/c/claw"), Path("/d/claw"))


def test_claw_home_moves_all_of_it() -> None:
    found = read_settings({"CLAW_HOME": "/h", "XDG_CONFIG_HOME": "/c"})
    assert found.config == Path("/h/config/claw")
    assert found.data == Path("/h/data/claw")
    assert found.policy == Path("/h/config/clawai")


def test_a_secret_comes_from_the_environment_and_must_not_be_short() -> None:
    assert read_settings({}).secret is None
    assert read_settings({"CLAW_SECRET": "s" * 16}).secret == b"s" * 16
    with pytest.raises(SettingsError, match="at least 16") as caught:
        read_settings({"CLAW_SECRET": "hunter2"})
    assert "hunter2" not in str(caught.value)


def test_what_cannot_be_looked_at_is_not_taken_for_what_is_not_there(tmp_path: Path) -> None:
    (file := tmp_path / "file").write_text("")
    (tmp_path / "round").symlink_to("round")
    assert is_there(file)
    assert is_there(tmp_path)
    for name in ("nothing", "file/below", "round"):
        assert not is_there(tmp_path / name)
    with pytest.raises(OSError, match="name too long"):
        is_there(tmp_path / ("x" * 1000))


def test_seconds_that_are_no_number_are_refused_with_their_variable() -> None:
    assert seconds_in({}, "CLAW_MEMORY_PATIENCE", 2.5) == 2.5
    assert seconds_in({"CLAW_MEMORY_PATIENCE": "0.5"}, "CLAW_MEMORY_PATIENCE", 2.5) == 0.5
    with pytest.raises(SettingsError, match=r"CLAW_MEMORY_PATIENCE is a number .* 'abc' is none"):
        seconds_in({"CLAW_MEMORY_PATIENCE": "abc"}, "CLAW_MEMORY_PATIENCE", 2.5)
