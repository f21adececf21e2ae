"""`claw remember` and `claw recall` where the config names a Being elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.being_commands import as_json, refused, run, said
from tests.cli.test_being_tokens import served


@pytest.fixture
def config(home: Path) -> Path:
    file = home / "claw" / "config" / "claw" / "config.toml"
    file.parent.mkdir(parents=True, mode=0o700)
    return file


def test_they_use_the_being_that_the_config_names(config: Path) -> None:
    being = as_json("being", "create", "far")["id"]
    token = {"CLAW_BEING_TOKEN": as_json("being", "token", "create", being)["token"]}
    with served() as address:
        config.write_text(f'[memory]\nurl = "{address}/{being}"\n')
        noted = said("remember", "Anna is allergic to nuts", "--about", "Anna", env=token)
        assert noted == f"Noted at {address}/{being}: Anna is allergic to nuts\n"
        recalled = said("recall", "What is Anna allergic to?", env=token)
        assert "Anna is allergic to nuts" in recalled
        assert "needs a token: set CLAW_BEING_TOKEN" in refused("recall", "x")
        wrong = {"CLAW_BEING_TOKEN": "brt_" + "x" * 40}
        assert "refuses this token (401)" in refused("recall", "x", env=wrong)
        run("remember", "Ben plays chess", "--being", "far")
        assert "is at" in run("memory", env=token).stderr
    assert "not reachable" in refused("recall", "x", env=token)
    assert as_json("being", "show", "far")["waiting_scenes"] == 1
