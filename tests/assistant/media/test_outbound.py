"""Files that go out: only those that may, and every one that stays behind is named."""

from __future__ import annotations

import base64
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawkit.assistant.media.accepted_types import MAX_SENT_ITEM, MEGABYTE
from clawkit.assistant.media.call_folder import CallFolder
from clawkit.assistant.media.detection import type_of
from clawkit.assistant.media.file_names import safe_name
from clawkit.assistant.media.outbound import Outgoing, Picked, pick, problem_with, to_blocks
from tests.assistant.media import samples


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    place = tmp_path / "workspace"
    place.mkdir()
    (tmp_path / "secret.txt").write_text("secret")
    return place


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[CallFolder]:
    with CallFolder(tmp_path) as folder:
        yield folder


def names(picked: Picked) -> list[str]:
    return [item.name for item in picked.media]


def test_a_path_is_taken_from_the_workspace_then_from_the_outbox(
    folder: CallFolder, workspace: Path
) -> None:
    (workspace / "sub").mkdir()
    (workspace / "sub" / "a.txt").write_text("workspace a")
    (workspace / "both.txt").write_text("workspace")
    (folder.outbox / "both.txt").write_text("outbox")
    (folder.outbox / "b.txt").write_text("outbox b")
    picked = pick(["sub/a.txt", "b.txt", "both.txt"], (), folder, workspace)
    assert [(item.name, item.data) for item in picked.media] == [
        ("a.txt", b"workspace a"),
        ("b.txt", b"outbox b"),
        ("both.txt", b"workspace"),
        ("both-2.txt", b"outbox"),
    ]
    assert picked.omissions == ()


def test_absolute_paths_below_both_are_taken(folder: CallFolder, workspace: Path) -> None:
    (workspace / "a.txt").write_text("a")
    (folder.outbox / "b.txt").write_text("b")
    paths = [str(workspace / "a.txt"), str(folder.outbox / "b.txt")]
    assert names(pick(paths, (), folder, workspace)) == ["a.txt", "b.txt"]


def test_nothing_to_send_makes_no_folder(folder: CallFolder, workspace: Path) -> None:
    (workspace / "a.txt").write_text("a")
    assert names(pick(["a.txt"], (), folder, workspace)) == ["a.txt"]
    assert not folder.is_made


def test_what_lies_in_the_outbox_goes_out_in_order(folder: CallFolder, workspace: Path) -> None:
    for name in ("z.txt", "a.txt", "deep/m.txt"):
        (folder.outbox / name).parent.mkdir(exist_ok=True)
        (folder.outbox / name).write_text(name)
    assert names(pick([], (), folder, workspace)) == ["a.txt", "z.txt", "m.txt"]


def test_each_is_sent_once(folder: CallFolder, workspace: Path) -> None:
    (workspace / "a.png").write_bytes(samples.png())
    (folder.outbox / "a.png").write_bytes(samples.png())
    offered = [Outgoing("a.png", "image/png", samples.png())] * 2
    paths = ["a.png", "./a.png", str(workspace / "a.png")]
    assert names(pick(paths, offered, folder, workspace)) == ["a.png"]


def escapes(workspace: Path, tmp_path: Path) -> dict[str, str]:
    """Ways out, and what is said of each."""
    (workspace / "link.txt").symlink_to(tmp_path / "secret.txt")
    (workspace / "up").symlink_to(tmp_path, target_is_directory=True)
    (workspace / "self").symlink_to("/proc/self")
    (workspace / "dangling").symlink_to(workspace / "nothing")
    (workspace / "loop").symlink_to(workspace / "loop")
    (workspace / "directory").mkdir()
    os.mkfifo(workspace / "pipe")
    leads_out = "it leads out of the workspace and the outbox"
    elsewhere = "only files in the workspace and the outbox may be sent"
    return {
        "../secret.txt": "`..` may not be part of its path",
        "directory/../../secret.txt": "`..` may not be part of its path",
        f"{workspace}/../secret.txt": "`..` may not be part of its path",
        str(tmp_path / "secret.txt"): elsewhere,
        f"{workspace}-other/a.txt": elsewhere,
        "/etc/passwd": elsewhere,
        "/proc/self/environ": elsewhere,
        f"/proc/self/root{workspace}/a.txt": elsewhere,
        "/dev/stdin": elsewhere,
        "link.txt": leads_out,
        "up/secret.txt": leads_out,
        "self/environ": leads_out,
        "dangling": "there is no such file",
        "missing.txt": "there is no such file",
        "file:///etc/passwd": "there is no such file",
        "directory": "it is a directory",
        ".": "it is a directory",
        "pipe": "it is not a regular file",
        "link.txt/": leads_out,
        "": "there is no name",
        "a\0b": "it cannot be opened (",
        "loop": "it cannot be opened (",
        "x" * 5000: "it cannot be opened (",
    }


def test_every_way_out_is_refused_and_said(
    folder: CallFolder, workspace: Path, tmp_path: Path
) -> None:
    for path, reason in escapes(workspace, tmp_path).items():
        picked = pick([path], (), folder, workspace)
        assert picked.media == (), path
        assert len(picked.omissions) == 1
        assert f" was left out: {reason}" in picked.omissions[0], path
        assert problem_with(path, folder, workspace) == picked.omissions[0]


def test_links_in_the_outbox_do_not_lead_out_either(
    folder: CallFolder, workspace: Path, tmp_path: Path
) -> None:
    (folder.outbox / "file").symlink_to(tmp_path / "secret.txt")
    (folder.outbox / "directory").symlink_to(tmp_path, target_is_directory=True)
    os.mkfifo(folder.outbox / "pipe")
    picked = pick([], (), folder, workspace)
    assert picked.media == ()
    assert picked.omissions == (
        "directory was left out: it leads out of the workspace and the outbox",
        "file was left out: it leads out of the workspace and the outbox",
        "pipe was left out: it is not a regular file",
    )


def test_a_link_that_stays_inside_and_a_workspace_that_is_a_link_are_fine(
    folder: CallFolder, workspace: Path, tmp_path: Path
) -> None:
    (workspace / "real").mkdir()
    (workspace / "real" / "a.txt").write_text("a")
    (workspace / "link").symlink_to("real", target_is_directory=True)
    (workspace / "b.txt").symlink_to(workspace / "real" / "a.txt")
    (tmp_path / "ws").symlink_to(workspace, target_is_directory=True)
    paths = ["link/a.txt", "b.txt", str(tmp_path / "ws" / "b.txt"), str(workspace / "b.txt")]
    assert names(pick(paths, (), folder, tmp_path / "ws")) == ["a.txt", "b.txt"]


def test_a_file_that_turns_into_a_link_again_and_again_never_gets_out(
    folder: CallFolder, workspace: Path, tmp_path: Path
) -> None:
    done = threading.Event()
    (workspace / "good").mkdir()
    (workspace / "good" / "a.txt").write_text("harmless")
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "a.txt").write_text("secret")

    def swap() -> None:
        turn = 0
        while not done.is_set():
            turn += 1
            target = workspace / "good" if turn % 2 else tmp_path / "bad"
            (workspace / "new").symlink_to(target, target_is_directory=True)
            (workspace / "new").rename(workspace / "d")

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        sent = [pick(["d/a.txt"], (), folder, workspace).media for _ in range(2000)]
    finally:
        done.set()
        thread.join()
    assert {item.data for media in sent for item in media} <= {b"harmless"}


def test_twenty_megabytes_are_sent_and_a_byte_more_is_not(
    folder: CallFolder, workspace: Path
) -> None:
    (workspace / "fits.bin").write_bytes(b"\xff" * MAX_SENT_ITEM)
    with (workspace / "report.pdf").open("wb") as file:
        file.truncate(int(23.1 * MEGABYTE))
    (workspace / "just.bin").write_bytes(b"\xff" * (MAX_SENT_ITEM + 1))
    picked = pick(["fits.bin", "report.pdf", "just.bin"], (), folder, workspace)
    assert names(picked) == ["fits.bin"]
    assert picked.omissions == (
        "report.pdf was left out: 23.1 MB is more than the 20 MB that one item may have",
        "just.bin was left out: 20.1 MB is more than the 20 MB that one item may have",
    )


def test_fifty_megabytes_in_all_are_sent_and_what_still_fits(
    folder: CallFolder, workspace: Path
) -> None:
    offered = [
        Outgoing(f"{name}.bin", "application/octet-stream", name.encode() * size * MEGABYTE)
        for name, size in (("a", 20), ("b", 20), ("c", 11), ("d", 10))
    ]
    (folder.outbox / "small.txt").write_text("x")
    picked = pick([], offered, folder, workspace)
    assert names(picked) == ["a.bin", "b.bin", "d.bin"]
    assert picked.omissions == (
        "c.bin was left out: with its 11.0 MB there would be more than 50 MB in all",
        "small.txt was left out: with its 0.1 MB there would be more than 50 MB in all",
    )


def test_an_omission_shows_no_control_characters(folder: CallFolder, workspace: Path) -> None:
    picked = pick(["a\n\x1b[31mb\u202e.txt"], (), folder, workspace)
    assert picked.omissions == ("a\\n\\x1b[31mb\\u202e.txt was left out: there is no such file",)


def test_a_file_that_may_not_be_read_is_said(as_anybody: Path) -> None:
    (as_anybody / "a.txt").write_text("a")
    (as_anybody / "a.txt").chmod(0)
    with CallFolder(as_anybody) as folder:
        picked = pick(["a.txt"], (), folder, as_anybody)
    assert picked.omissions == ("a.txt was left out: it may not be read",)


@pytest.mark.parametrize(
    ("name", "data", "stated", "meant"),
    [
        ("a.bin", samples.png(), "", "image/png"),
        ("a.png", samples.zipped(), "", "application/zip"),
        ("a.png", samples.zipped(), "image/png", "application/zip"),
        ("a.png", b"\xff\xfe\xfd" + bytes(9), "image/png", "application/octet-stream"),
        (
            "a.docx",
            samples.zipped(),
            "",
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        ),
        ("a", samples.zipped(), "application/epub+zip", "application/epub+zip"),
        ("a.m4a", samples.mp4(), "", "audio/mp4"),
        ("a.mp4", samples.mp4(), "", "video/mp4"),
        ("a", samples.mp3(), "audio/mp3", "audio/mpeg"),
        ("a.ogg", samples.OPUS, "", "audio/ogg"),
        ("a.tar.gz", samples.TAR_GZ, "", "application/x-compressed-tar"),
        ("a.md", b"# hi", "", "text/markdown"),
        ("a.svg", b"<svg/>", "", "image/svg+xml"),
        ("a.py", b"print()", "", "text/plain"),
        ("a", b"", "", "text/plain"),
        ("a", bytes(range(256)), "", "application/octet-stream"),
        ("a", bytes(2048), "", "application/octet-stream"),
        ("a", b"\0\1", "application/x-mine", "application/x-mine"),
        ("a", b"words", "not a type", "text/plain"),
    ],
)
def test_a_type_is_told_by_bytes_then_by_the_suffix(
    name: str, data: bytes, stated: str, meant: str
) -> None:
    assert type_of(name, data, stated) == meant


def test_blocks_have_the_form_of_the_document() -> None:
    def encoded(data: bytes) -> str:
        return base64.b64encode(data).decode()

    pdf = samples.IN_FILES["application/pdf"]
    blocks = to_blocks(
        [
            Outgoing("a.png", "image/png", samples.png()),
            Outgoing("a.mp3", "audio/mpeg", samples.mp3()),
            Outgoing("filename.pdf", "application/pdf", pdf),
            Outgoing("a.txt", "text/plain", b"words"),
            Outgoing("a.svg", "image/svg+xml", b"<svg/>"),
        ]
    )
    assert blocks[:3] == [
        {"type": "image", "data": encoded(samples.png()), "mimeType": "image/png"},
        {"type": "audio", "data": encoded(samples.mp3()), "mimeType": "audio/mpeg"},
        {
            "type": "resource",
            "resource": {
                "uri": "attachment://filename.pdf",
                "mimeType": "application/pdf",
                "blob": encoded(pdf),
            },
        },
    ]
    assert blocks[3]["resource"]["blob"] == encoded(b"words")
    assert blocks[4]["resource"]["uri"] == "attachment://a.svg"


@given(st.text(min_size=1))
def test_the_uri_of_a_name_is_a_uri(name: str) -> None:
    name = safe_name(name)
    block = to_blocks([Outgoing(name, "application/pdf", b"")])[0]
    uri = block["resource"]["uri"]
    assert uri.isascii()
    assert not set(uri.removeprefix("attachment://")) & set(' /?#[]@:<>"\\^`{|}')


def test_the_bytes_are_not_in_the_repr() -> None:
    assert (
        repr(Outgoing("a.txt", "text/plain", b"secret")) == "Outgoing(a.txt, text/plain, 6 bytes)"
    )
