"""The Makefile: what it says where a Python cannot be used, and which ones it finds."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests import every_python
from tests.every_python import interpreters
from tests.needs import closed_folder
from tests.processes import PATIENCE, ROOT


def program(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return file


def made(python: Path, venv: Path) -> subprocess.CompletedProcess[str]:
    command = ("make", f"PYTHON={python}", f"VENV={venv}", f"{venv}/.made")
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False
    )


def test_a_python_without_venv_says_what_to_install(tmp_path: Path) -> None:
    without = f'case "$*" in *ensurepip*) exit 1;; esac\nexec "{sys.executable}" "$@"'
    done = made(program(tmp_path / "python3", without), tmp_path / "venv")
    assert done.returncode != 0
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert f"apt install python{version}-venv" in done.stderr
    assert not (tmp_path / "venv").exists()


def speaking(folder: Path, version: str, numbers: str, installed: str = "true") -> Path:
    text = f'echo "[\\"{version}\\", [{numbers}], \\"$0\\", {installed}]"'
    return program(folder / "bin" / "python3", text).parent


def test_every_python_on_the_machine_is_found_once_and_no_old_one(tmp_path: Path) -> None:
    folders = [
        speaking(tmp_path / "a", "3.13.0", "3, 13"),
        speaking(tmp_path / "b", "3.10.13", "3, 10"),
        speaking(tmp_path / "c", "3.11.2", "3, 11"),
        speaking(tmp_path / "d", "3.13.0", "3, 13"),
        speaking(tmp_path / "e", "3.12.1", "3, 12", "false"),
        program(tmp_path / "f" / "bin" / "python3", "exit 1").parent,
        tmp_path / "nowhere",
    ]
    (folders[2] / "python3.11").symlink_to(folders[2] / "python3")
    found = [(one.version, one.program.parent.parent.name) for one in interpreters(folders)]
    assert found == [("3.11.2", "c"), ("3.13.0", "a")]


def test_a_virtual_environment_on_path_does_not_hide_the_python_it_is_made_of(
    tmp_path: Path,
) -> None:
    venv.create(tmp_path / "venv", symlinks=True)
    inside = tmp_path / "venv" / "bin"
    installed = (inside / "python3").resolve()
    assert interpreters([inside]) == []
    found = interpreters([inside, installed.parent])
    assert platform.python_version() in [one.version for one in found]


def test_what_could_not_be_set_up_is_not_said_to_have_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    folders = [
        speaking(tmp_path / "a", "3.12.1", "3, 12"),
        speaking(tmp_path / "b", "3.13.0", "3, 13"),
        speaking(tmp_path / "c", "3.14.8", "3, 14"),
    ]
    goals = 'case "$*" in *3.12.1*pytest|*3.14.8*setup) exit 2;; esac'
    monkeypatch.setenv("PATH", str(program(tmp_path / "bin" / "make", goals).parent), prepend=":")
    monkeypatch.setattr(every_python, "places", lambda: folders)
    assert every_python.main() == 1
    said = capfd.readouterr().out.splitlines()[-3:]
    assert said == [
        "  3.12.1: failed",
        "  3.13.0: passed",
        "  3.14.8: could not be set up, see above",
    ]
    monkeypatch.setattr(every_python, "places", lambda: folders[1:2])
    assert every_python.main() == 0


def test_a_machine_without_a_browser_gets_debians_for_root(tmp_path: Path) -> None:
    """What the recipe needs, an apt-get that notes what it was told, and no browser."""
    folder = tmp_path / "bin"
    program(folder / "apt-get", f'echo "$@" >> {tmp_path}/asked')
    for name in ("sh", "id", "mkdir", "touch"):
        found = shutil.which(name)
        assert found is not None
        (folder / name).symlink_to(found)
    ready = tmp_path / "ready"
    make = shutil.which("make")
    assert make is not None
    done = subprocess.run(
        (make, f"BROWSER_READY={ready}", str(ready)),
        cwd=ROOT,
        env={"PATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    if os.getuid():
        assert "apt install chromium" in done.stderr
        assert not ready.exists()
    else:
        assert "install -y -qq --no-install-recommends chromium" in (tmp_path / "asked").read_text()
        assert ready.exists()


def test_a_clone_that_only_its_owner_may_enter_is_known(tmp_path: Path) -> None:
    inside = tmp_path / "private" / "clone"
    inside.mkdir(parents=True)
    above = closed_folder(tmp_path)
    assert closed_folder(inside) == above
    inside.parent.chmod(0o700)
    assert closed_folder(inside) == inside.parent
