"""The Makefile: what it says where a Python cannot be used, and which ones it finds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.every_python import interpreters
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


def test_every_python_on_the_machine_is_found_once_and_no_old_one(tmp_path: Path) -> None:
    def speaking(folder: str, version: str, numbers: str, installed: str = "true") -> Path:
        text = f'echo "[\\"{version}\\", [{numbers}], \\"$0\\", {installed}]"'
        return program(tmp_path / folder / "bin" / "python3", text).parent

    folders = [
        speaking("a", "3.13.0", "3, 13"),
        speaking("b", "3.10.13", "3, 10"),
        speaking("c", "3.11.2", "3, 11"),
        speaking("d", "3.13.0", "3, 13"),
        speaking("e", "3.12.1", "3, 12", "false"),
        program(tmp_path / "f" / "bin" / "python3", "exit 1").parent,
        tmp_path / "nowhere",
    ]
    (folders[2] / "python3.11").symlink_to(folders[2] / "python3")
    found = [(one.version, one.program.parent.parent.name) for one in interpreters(folders)]
    assert found == [("3.11.2", "c"), ("3.13.0", "a")]
