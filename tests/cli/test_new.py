"""`claw new`: what it writes works, and it overwrites nothing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from clawkit.cli.app import app
from tests.claw import PROGRAMS, claw, finished


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ("new", *arguments), prog_name="claw")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "new tools"
    place.mkdir()
    monkeypatch.chdir(place)
    # Tests before may have loaded files of this name, from folders that Python still knows.
    monkeypatch.delitem(sys.modules, "weather", raising=False)
    installed = [one for one in sys.path if not one.startswith(str(tmp_path.parent))]
    monkeypatch.setattr(sys, "path", installed)
    return place


def test_what_it_writes_can_be_called_tested_and_is_in_order(folder: Path) -> None:
    told = claw("new", "weather", code=0).stdout
    assert "Wrote weather.py with the tool `greet`, and test_weather.py with its test." in told
    assert claw("call", "weather.py", "greet", "name=Ada", "times=2", code=0).stdout == (
        "Hello, Ada! Hello, Ada!\n"
    )
    tested = finished(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", code=0)
    assert "1 passed" in tested.stdout
    for check in (("check", "--select", "ANN,B,E,F,I,N,PT,RUF,SIM,UP"), ("format", "--check")):
        finished(PROGRAMS / "ruff", *check, "--isolated", "--no-cache", ".", code=0)
    assert sorted(path.name for path in folder.glob("*.py")) == ["test_weather.py", "weather.py"]


def test_each_command_that_it_names_is_one_of_ours(folder: Path) -> None:
    told = run("weather").stdout
    commands = [line.split() for line in told.splitlines() if line.startswith("  claw ")]
    assert [words[1] for words in commands] == ["call", "serve", "install"]
    assert all("weather.py" in words for words in commands)
    assert folder.joinpath("weather.py").is_file()


def test_nothing_is_overwritten(folder: Path) -> None:
    for name in ("weather.py", "test_weather.py"):
        (folder / name).write_text("mine")
        refused = run("weather")
        assert refused.exit_code == 1
        assert f"{name} is already there: nothing was written" in refused.stderr
        assert [path.read_text() for path in folder.iterdir()] == ["mine"]
        (folder / name).unlink()


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("json", "Python has a module 'json' already"),
        ("msgspec", "Python has a module 'msgspec' already"),
        ("2day", "'2day' cannot name a Python file"),
        ("class", "'class' is a word of Python itself: give the file another name"),
        ("a b", "'a b' cannot name a Python file here: use a to z, digits and _"),
        ("Größe", "'Größe' cannot name a Python file here: use a to z, digits and _"),
        ("nowhere/weather", "nowhere: there is no such folder"),
    ],
)
def test_a_name_that_would_not_work_is_refused(folder: Path, name: str, problem: str) -> None:
    refused = run(name)
    assert refused.exit_code == (1 if "/" in name else 2)
    assert problem in refused.stderr
    assert list(folder.iterdir()) == []


def test_a_dash_becomes_an_underscore_and_a_folder_is_kept(folder: Path) -> None:
    (folder / "tools").mkdir()
    assert "Wrote tools/my_garden.py" in run("tools/my-garden.py").stdout
    assert "from my_garden import greet" in (folder / "tools" / "test_my_garden.py").read_text()
