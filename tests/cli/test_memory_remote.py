"""`claw remember` and `claw recall` where the config names a Being elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from clawkit.errors import InvalidParamsError
from clawkit.memory.details import META_DETAILS, DetailsRequest
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
        recalled = said("recall", "What is Anna allergic to?", env=token)
        assert "Anna is allergic to nuts" in recalled
        node = recalled.split()[0]
        assert noted == f"Noted at {address}/{being}: Anna is allergic to nuts ({node})\n"
        assert "needs a token: set CLAW_BEING_TOKEN" in refused("recall", "x")
        wrong = {"CLAW_BEING_TOKEN": "brt_" + "x" * 40}
        assert "refuses this token (401)" in refused("recall", "x", env=wrong)
        run("remember", "Ben plays chess", "--being", "far")
        assert f"these are at {address}/{being}" in refused("memory", "undo", "1", env=token)
    assert "not reachable" in refused("recall", "x", env=token)
    assert as_json("being", "show", "far")["waiting_scenes"] == 1


def test_what_was_noted_elsewhere_is_corrected_and_taken_back_from_here(config: Path) -> None:
    being = as_json("being", "create", "far")["id"]
    token = {"CLAW_BEING_TOKEN": as_json("being", "token", "create", being)["token"]}
    with served() as address:
        config.write_text(f'[memory]\nurl = "{address}/{being}"\n')
        noted = said("remember", "Anna is allergic to nuts", "--about", "Anna", env=token)
        node = noted.rstrip(")\n").rsplit("(", 1)[1]
        now = said("memory", "replace", node, "Anna is allergic to figs", env=token)
        assert "Anna is allergic to figs" in now
        assert "figs" in said("memory", "show", node, env=token)
        assert "nuts" not in said("recall", "What is Anna allergic to?", env=token)
        assert "figs" in said("memory", "retract", node, env=token)
        assert "No relevant" in said("recall", "What is Anna allergic to?", env=token)
        assert "taken back" in refused("memory", "retract", node, env=token)


LOOKS = (
    ("recall", "What is Anna allergic to?"),
    ("recall", "What is Anna allergic to?", "--explain", "-n", "1"),
    ("recall", "Who won the cup final?"),
    ("memory",),
    ("memory", "-n", "1"),
    ("memory", "search", "nuts", "chess"),
    ("memory", "search", "nobody knows this"),
)


def test_a_being_elsewhere_looks_as_a_local_one_does(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("being", "create", "team")
    token = as_json("being", "token", "create", "team", "--scope", "read-only")["token"]
    run("remember", "Anna is allergic to nuts", "--about", "Anna", "--being", "team")
    node = as_json("remember", "Ben plays chess", "--being", "team")["id"]
    looks = (*LOOKS, ("memory", "show", node[:8]))
    near = [said(*words, "--being", "team") for words in looks]
    with served() as address:
        # No store of this person's is there any more: all of it comes from the server.
        monkeypatch.setenv("CLAW_HOME", str(home / "another"))
        monkeypatch.setenv("CLAW_BEING_TOKEN", token)
        far = [said(*words, "--being", f"{address}/team") for words in looks]
        asked = ("recall", "What is Anna allergic to?", "--being", f"{address}/team")
        assert [hit["scene"]["action"] for hit in as_json(*asked)["hits"]] == [
            "Anna is allergic to nuts"
        ]
        missing = refused("memory", "show", "00000000", "--being", f"{address}/team")
        assert "there is no memory 00000000" in missing
    assert [sorted(one.split()) for one in far] == [sorted(one.split()) for one in near]
    assert not list((home / "another").rglob("beings.db"))


@pytest.mark.parametrize("wanted", [7, {"limit": "many"}, {"limit": -1}, {"limit": 10_000}])
def test_details_that_are_asked_for_wrongly_are_refused(wanted: object) -> None:
    with pytest.raises(InvalidParamsError, match="clawkit/details"):
        DetailsRequest.read({META_DETAILS: wanted})
