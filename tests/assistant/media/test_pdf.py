"""PDFs: text, pages that are pictures, and those that are made to do harm."""

from __future__ import annotations

import asyncio
import sys
import zlib
from io import BytesIO
from pathlib import Path

import psutil
import pytest
from pypdf import PdfReader, PdfWriter

from clawkit.assistant.media import detection, pdf_child
from clawkit.assistant.media.pdf import read_pdf
from clawkit.assistant.media.pdf_child import PdfLimits, write_png
from clawkit.models.protocol import Image, Text
from tests.assistant.media.child_processes import LONGER, has_ended, until
from tests.assistant.media.samples import BOX, assemble, pdf, words

pytestmark = pytest.mark.process


async def read(tmp_path: Path, data: bytes, limits: PdfLimits | None = None) -> list[Text | Image]:
    file = tmp_path / "a.pdf"
    file.write_bytes(data)
    return await read_pdf(file, "a.pdf", limits)


async def text_of(tmp_path: Path, data: bytes, limits: PdfLimits | None = None) -> str:
    parts = await read(tmp_path, data, limits)
    return "\n".join(part.text for part in parts if isinstance(part, Text))


async def test_text_is_given_page_by_page(tmp_path: Path) -> None:
    said = await text_of(tmp_path, pdf(words("First page"), words("Second page")))
    assert said == "[2 pages]\n[page 1]\nFirst page\n[page 2]\nSecond page"


async def test_a_page_without_text_is_shown_where_it_stands(tmp_path: Path) -> None:
    parts = await read(tmp_path, pdf(words("Before"), BOX, words("After"), b""))
    before, picture, after = parts
    assert isinstance(before, Text)
    assert isinstance(picture, Image)
    assert isinstance(after, Text)
    assert before.text.endswith("[page 2 has no text; this is what it looks like:]")
    assert (picture.mime_type, picture.name) == ("image/png", "a.pdf page 2")
    assert detection.agrees("image/png", picture.data)
    assert after.text == "[page 3]\nAfter\n[page 4]\n[page 4: it is blank]"


async def test_only_so_many_pages_are_shown(tmp_path: Path) -> None:
    parts = await read(tmp_path, pdf(*[BOX] * 4), PdfLimits(pictures=2))
    assert len([part for part in parts if isinstance(part, Image)]) == 2
    assert isinstance(parts[-1], Text)
    assert f"[page 3: {pdf_child.NO_MORE_PICTURES}]" in parts[-1].text
    assert f"[page 4: {pdf_child.NO_MORE_PICTURES}]" in parts[-1].text


def test_without_a_renderer_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    file = tmp_path / "scan.pdf"
    file.write_bytes(pdf(BOX))
    events = list(pdf_child._whole(str(file), PdfLimits()))
    assert any(getattr(event, "problem", "") == pdf_child.NO_RENDERER for event in events)


def test_a_picture_has_the_colours_it_had() -> None:
    rows = [bytes((x * 7 + y * 13) % 256 for x in range(30)) for y in range(9)]
    written = write_png(10, 9, 3, rows)
    assert _pixels(written, 30) == rows
    flat = [bytes((200, 10, 10)) * 10] * 9
    assert _pixels(write_png(10, 9, 3, flat), 30) == flat


def _pixels(png: bytes, width: int) -> list[bytes]:
    at = png.index(b"IDAT") + 4
    raw = zlib.decompress(png[at : at + int.from_bytes(png[at - 8 : at - 4], "big")])
    rows: list[bytes] = []
    above = bytes(width)
    for start in range(0, len(raw), width + 1):
        row = raw[start + 1 : start + 1 + width]
        if raw[start] == 2:
            row = bytes((a + b) % 256 for a, b in zip(row, above, strict=True))
        rows.append(row)
        above = row
    return rows


async def test_too_much_text_is_cut_and_the_cut_is_said(tmp_path: Path) -> None:
    data = pdf(words("a" * 50), words("b" * 60), words("c"), words("d"))
    said = await text_of(tmp_path, data, PdfLimits(characters=100))
    assert "a" * 50 in said
    assert "b" * 50 + "\n[page 2: its text is cut here, after 50 characters]" in said
    assert said.endswith("[pages 3 to 4 were left out: there is too much text]")


async def test_a_password_is_a_note_and_an_empty_one_is_no_hindrance(tmp_path: Path) -> None:
    for password, expected in (("secret", "protected by a password"), ("", "Hidden words")):
        writer = PdfWriter(clone_from=PdfReader(BytesIO(pdf(words("Hidden words")))))
        writer.encrypt(password, owner_password="owner", algorithm="RC4-128")
        out = BytesIO()
        writer.write(out)
        assert expected in await text_of(tmp_path, out.getvalue())


@pytest.mark.parametrize(
    "data",
    [
        b"%PDF-1.4\n",
        b"%PDF-1.4\n" + bytes(range(256)) * 20,
        pdf(words("Hello"))[:300],
        assemble([b"<< /Type /Catalog >>"]),
        assemble(
            [b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [2 0 R] /Count 1 >>"]
        ),
        assemble([b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [] /Count 0 >>"]),
        assemble([b"[" * 100_000]),
    ],
)
async def test_a_damaged_one_is_a_note(tmp_path: Path, data: bytes) -> None:
    said = await text_of(tmp_path, data)
    assert said.startswith("[")
    assert said.endswith("]")
    assert "cannot be read" in said or "takes more than is allowed" in said or "no pages" in said


async def test_a_bomb_is_a_note(tmp_path: Path) -> None:
    packed = zlib.compress(zlib.compress(bytes(100_000_000), 9), 9)
    stream = b"<< /Length %d /Filter [/FlateDecode /FlateDecode] >>\nstream\n%s\nendstream"
    bodies = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R /Resources << >> >>",
        stream % (len(packed), packed),
    ]
    said = await text_of(tmp_path, assemble(bodies), PdfLimits(seconds=60))
    assert said.startswith("[1 page]")
    assert "[page 1: " in said


async def test_one_that_takes_too_long_gives_what_was_read_so_far(tmp_path: Path) -> None:
    slow = b" ".join(words(f"w{i}") for i in range(40_000))
    data = pdf(words("Quick"), *[slow] * 50)
    for seconds in LONGER:
        said = await text_of(tmp_path, data, PdfLimits(seconds=seconds, characters=10**9))
        assert f"reading it was stopped after {seconds} s" in said
        if "[page 1]\nQuick" in said:
            return
    raise AssertionError("not even the first page was read")


async def test_a_cancelled_reading_leaves_no_process(tmp_path: Path) -> None:
    slow = b" ".join(words(f"w{i}") for i in range(40_000))
    task = asyncio.create_task(read(tmp_path, pdf(*[slow] * 20)))
    us = psutil.Process()
    await until(lambda: bool(us.children()))
    children = us.children()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert all(map(has_ended, children))


async def test_the_reading_ends_when_the_reader_of_it_is_killed(tmp_path: Path) -> None:
    slow = b" ".join(words(f"w{i}") for i in range(40_000))
    file = tmp_path / "slow.pdf"
    file.write_bytes(pdf(*[slow] * 50))
    code = (
        "import asyncio, sys\nfrom pathlib import Path\n"
        "from clawkit.assistant.media.pdf import read_pdf\n"
        "asyncio.run(read_pdf(Path(sys.argv[1]), 'slow'))"
    )
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", code, str(file))
    seen = psutil.Process(parent.pid)
    try:
        await until(lambda: bool(seen.children()))
        children = seen.children()
    finally:
        parent.kill()
        await parent.wait()
    await until(lambda: all(map(has_ended, children)))
