"""The temporary folder of a call."""

from __future__ import annotations

import asyncio
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from clawkit.assistant.media.call_folder import LOCK, PREFIX, CallFolder, sweep
from clawkit.errors import MediaError

HOLDER = """
import sys, time
from pathlib import Path
from clawkit.assistant.media.call_folder import CallFolder
with CallFolder(Path(sys.argv[1])) as folder:
    (folder.inbox / "secret").write_text("x")
    print(folder.path, flush=True)
    time.sleep(60)
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "temporary"
    place.mkdir()
    return place


def fill(folder: CallFolder) -> None:
    (folder.inbox / "file").write_text("x")


def is_empty(root: Path) -> bool:
    return not list(root.iterdir())


def test_a_folder_is_for_its_owner_only_and_gone_after_the_call(root: Path) -> None:
    with CallFolder(root) as folder:
        assert folder.path.name.startswith("clawkit-call-")
        for each in (folder.path, folder.inbox, folder.outbox):
            assert stat.S_IMODE(each.stat().st_mode) == 0o700
        (folder.outbox / "deep" / "er").mkdir(parents=True)
        (folder.outbox / "deep" / "er" / "file").write_text("x")
    assert list(root.iterdir()) == []
    with pytest.raises(RuntimeError, match="only within"):
        _ = folder.inbox


def test_a_call_without_files_makes_none(root: Path) -> None:
    with CallFolder(root) as folder:
        assert not folder.is_made
        assert is_empty(root)
        assert folder.outbox.is_dir()
        assert folder.is_made
    assert is_empty(root)


def test_it_lies_where_the_system_keeps_temporary_files(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(root))
    with CallFolder() as folder:
        assert folder.path.parent == root


async def test_it_is_gone_after_an_exception_and_a_cancellation(root: Path) -> None:
    entered = asyncio.Event()

    async def failing_call() -> None:
        with CallFolder(root) as folder:
            fill(folder)
            raise ZeroDivisionError

    async def call() -> None:
        with CallFolder(root) as folder:
            fill(folder)
            entered.set()
            await asyncio.Event().wait()

    with pytest.raises(ZeroDivisionError):
        await failing_call()
    task = asyncio.create_task(call())
    await entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert is_empty(root)


def test_what_a_tool_made_read_only_is_removed_and_what_links_lead_to_is_not(
    as_anybody: Path,
) -> None:
    place = as_anybody
    root = place / "root"
    root.mkdir()
    (place / "mine").write_text("keep")
    with CallFolder(root) as folder:
        shut = folder.outbox / "shut"
        shut.mkdir()
        (shut / "file").write_text("x")
        (folder.outbox / "link").symlink_to(place, target_is_directory=True)
        (folder.outbox / "file").symlink_to(place / "mine")
        shut.chmod(0o500)
        (folder.inbox / "dark").mkdir(mode=0)
    assert list(root.iterdir()) == []
    assert (place / "mine").read_text() == "keep"
    assert stat.S_IMODE(root.stat().st_mode) & 0o077


def test_a_sweep_removes_what_a_killed_process_left_and_nothing_else(root: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(root)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout is not None
        left = Path(holder.stdout.readline().strip())
        with CallFolder(root) as ours:
            assert ours.inbox.is_dir()
            assert sweep(root) == 0
            os.kill(holder.pid, signal.SIGKILL)
            holder.wait()
            assert (left / "inbox" / "secret").exists()
            assert sweep(root) == 1
            assert not left.exists()
            assert ours.inbox.is_dir()
    finally:
        holder.kill()
        holder.wait()
        holder.communicate()


def test_a_sweep_leaves_what_is_not_ours(root: Path, tmp_path: Path) -> None:
    (root / f"{PREFIX}other").mkdir()
    (root / f"{PREFIX}other" / "file").write_text("x")
    (root / f"{PREFIX}file").write_text("x")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / LOCK).write_text("")
    (root / f"{PREFIX}link").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    (root / f"{PREFIX}new").mkdir()
    (root / f"{PREFIX}old").mkdir()
    yesterday = time.time() - 86400
    os.utime(root / f"{PREFIX}old", (yesterday, yesterday))
    os.utime(root / f"{PREFIX}other", (yesterday, yesterday))
    assert sweep(root) == 1
    assert sorted(each.name for each in root.iterdir()) == [
        f"{PREFIX}file",
        f"{PREFIX}link",
        f"{PREFIX}new",
        f"{PREFIX}other",
    ]
    assert (tmp_path / "elsewhere" / LOCK).exists()


@pytest.mark.parametrize("name", ["claw-notes", "clawkit-notes", f"{PREFIX}notes"])
@pytest.mark.parametrize("lock", ["lock", LOCK])
def test_a_sweep_leaves_a_folder_in_which_a_person_keeps_things(
    root: Path, name: str, lock: str
) -> None:
    (root / name / "inbox").mkdir(parents=True)
    (root / name / lock).write_text("")
    (root / name / "thesis.txt").write_text("years of work")
    assert sweep(root) == 0
    assert (root / name / "thesis.txt").read_text() == "years of work"
    assert (root / name / "inbox").is_dir()


def test_folders_that_are_made_while_others_sweep_stay(root: Path) -> None:
    sweeper = (
        "import sys\nfrom pathlib import Path\n"
        "from clawkit.assistant.media.call_folder import sweep\n"
        "print('ready', flush=True)\nwhile True: sweep(Path(sys.argv[1]))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", sweeper, str(root)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        process.stdout.readline()
        for _ in range(300):
            with CallFolder(root) as folder:
                (folder.inbox / "file").write_text("x")
                assert (folder.inbox / "file").exists()
    finally:
        process.kill()
        process.communicate()


def test_where_nothing_can_be_made_is_said(tmp_path: Path) -> None:
    with (
        CallFolder(tmp_path / "missing") as folder,
        pytest.raises(MediaError, match="no temporary folder can be made there"),
    ):
        _ = folder.inbox
