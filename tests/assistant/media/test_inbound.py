"""What may come with a message, and the errors that name what may not."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from clawkit.assistant.media.accepted_types import FILE_TYPES, IMAGE_TYPES, KINDS, MAX_ITEM
from clawkit.assistant.media.inbound import (
    Attachment,
    attachment_from_file,
    attachments_from_files,
    receive,
)
from clawkit.errors import MediaError
from tests.assistant.media import samples
from tests.assistant.media.samples import IN_FILES, IN_IMAGES, item


def one(data: bytes, mime_type: str, filename: str | None = None) -> Attachment:
    group = "images" if mime_type.lower().startswith("image/") else "files"
    found = receive(**{"images": None, "files": None, group: [item(data, mime_type, filename)]})
    assert len(found) == 1
    return found[0]


def refusal(images: Any = None, files: Any = None) -> str:
    with pytest.raises(MediaError) as caught:
        receive(images, files)
    return str(caught.value)


def test_every_type_of_the_document_is_taken() -> None:
    assert set(IN_IMAGES) == set(IMAGE_TYPES)
    assert set(IN_FILES) == set(FILE_TYPES)
    for mime_type, data in {**IN_IMAGES, **IN_FILES}.items():
        found = one(data, mime_type)
        assert (found.mime_type, found.data, found.kind) == (mime_type, data, KINDS[mime_type])


def test_nothing_attached_is_no_attachment() -> None:
    assert receive(None, None) == ()
    assert receive([], []) == ()


@pytest.mark.parametrize(
    ("images", "files", "said"),
    [
        ("x", None, "images: must be a list, not 'x'"),
        (None, {}, "files: must be a list, not an object"),
        ([None], None, "images[0]: must be an object with data and mimeType, not null"),
        ([{}], None, "images[0].data: missing"),
        ([{"data": "AA=="}], None, "images[0].mimeType: missing"),
        ([{"data": 5, "mimeType": "image/png"}], None, "images[0].data: must be a string"),
        ([{"data": "", "mimeType": "image/png"}], None, "images[0].data: is empty"),
        (
            [{"data": "AA==", "mimeType": True}],
            None,
            "images[0].mimeType: must be a string, not a boolean",
        ),
        (
            None,
            [{"data": "AA==", "mimeType": "text/plain", "filename": []}],
            "files[0].filename: must be",
        ),
        (
            None,
            [{"data": "AA==", "mimeType": "text/plain", "url": "x"}],
            "files[0]: has no field 'url'",
        ),
    ],
)
def test_an_error_names_the_place(images: Any, files: Any, said: str) -> None:
    assert said in refusal(images, files)


def test_the_place_counts_within_its_list() -> None:
    good = item(samples.png(), "image/png")
    assert refusal([good, good, item(b"x", "image/tiff")]).startswith(
        "images[2].mimeType: 'image/tiff' is not supported in `images`; there are image/jpeg, "
    )


def test_ten_images_and_five_files_are_taken_and_one_more_is_not() -> None:
    image, file = item(samples.png(), "image/png"), item(b"x", "text/plain")
    assert len(receive([image] * 10, [file] * 5)) == 15
    assert refusal([image] * 11) == "images: there are 11, at most 10 may come with one message"
    assert refusal(None, [file] * 6) == "files: there are 6, at most 5 may come with one message"


def test_fifteen_megabytes_are_taken_and_a_byte_more_is_not() -> None:
    assert len(one(b"x" * MAX_ITEM, "text/plain").data) == MAX_ITEM
    assert refusal(None, [item(b"x" * (MAX_ITEM + 1), "text/plain", "big.txt")]) == (
        "files[0] (big.txt): 15.1 MB is more than the 15 MB that one item may have"
    )


def test_a_giant_text_is_refused_before_it_is_decoded() -> None:
    giant = {"data": "!" * (8 * MAX_ITEM), "mimeType": "image/png"}
    assert "90.0 MB is more than the 15 MB" in refusal([giant])


@pytest.mark.parametrize(
    ("group", "data", "mime_type", "said"),
    [
        ("files", samples.png(), "image/png", "image/png belongs into `images`, not into `files`"),
        ("images", IN_FILES["application/pdf"], "application/pdf", "belongs into `files`"),
        ("images", samples.zipped(), "image/png", "declared as image/png, but it is a ZIP archive"),
        ("images", samples.GIF, "image/png", "it is a GIF image"),
        ("images", b"words", "image/png", "it is text"),
        ("images", samples.mp4(b"heic"), "image/jpeg", "it is a HEIC image"),
        ("files", samples.zipped(), "application/pdf", "it is a ZIP archive"),
        ("files", samples.ogg(), "audio/opus", "it is Ogg audio"),
        ("files", samples.mp3(), "audio/aac", "it is MP3 audio"),
        ("files", samples.aac(), "audio/mpeg", "it is AAC audio"),
        ("files", samples.MATROSKA, "video/webm", "it is a Matroska video"),
        ("files", samples.mp4(b"M4A "), "video/mp4", "it is MP4 audio"),
        ("files", samples.GZIP, "application/x-compressed-tar", "it is gzip data"),
        ("files", samples.tar(), "application/gzip", "it is a tar archive"),
        ("files", bytes(range(256)), "application/zip", "it is data of no known format"),
        ("files", samples.png(), "text/plain", "is not text: it is a PNG image"),
        ("files", samples.tar(), "text/plain", "NUL characters; it is a tar archive"),
        ("files", IN_FILES["application/pdf"], "text/plain", "is not text: it is a PDF document"),
        ("files", b"\xe4\xf6\xfc", "text/csv", "is not UTF-8 text (byte 1); if it is in another"),
        ("files", b"{'a': 1}", "application/json", "it is not JSON: "),
    ],
)
def test_bytes_must_be_what_they_are_declared_as(
    group: str, data: bytes, mime_type: str, said: str
) -> None:
    message = refusal(**{group: [item(data, mime_type)]})
    assert message.startswith(f"{group}[0]")
    assert said in message


@pytest.mark.parametrize(
    ("written", "data", "meant"),
    [
        ("IMAGE/PNG", samples.png(), "image/png"),
        (" image/jpg ", samples.JPEG, "image/jpeg"),
        ("audio/mp3", samples.mp3_with_tag(), "audio/mpeg"),
        ("audio/x-wav", samples.wav(), "audio/wav"),
        ("audio/x-m4a", samples.mp4(b"M4A "), "audio/mp4"),
        ("audio/mp4", samples.mp4(b"isom"), "audio/mp4"),
        ("audio/ogg; codecs=opus", samples.OPUS, "audio/ogg"),
        ("application/x-zip-compressed", samples.zipped(), "application/zip"),
        ("application/gzip", samples.TAR_GZ, "application/gzip"),
        ("application/x-tar", samples.old_tar(), "application/x-tar"),
        ("application/x-tar", bytes(10240), "application/x-tar"),
        ("application/pdf", b"\n\n" + IN_FILES["application/pdf"], "application/pdf"),
        ("video/quicktime", b"\0\0\0\x08wide" + bytes(8), "video/quicktime"),
    ],
)
def test_other_spellings_and_makes_of_a_type_are_taken(
    written: str, data: bytes, meant: str
) -> None:
    group = "images" if meant.startswith("image/") else "files"
    found = receive(**{"images": None, "files": None, group: [item(data, written)]})
    assert found[0].mime_type == meant


def test_a_charset_is_honoured_and_a_wrong_one_is_an_error() -> None:
    latin = "Käse".encode("latin-1")
    assert one(latin, "text/plain; charset=ISO-8859-1").charset == "iso-8859-1"
    assert one(latin, 'text/plain; format=flowed; charset="latin-1"').charset == "latin-1"
    assert one("Käse".encode("utf-16"), "text/plain").data.startswith(b"\xff\xfe")
    assert one(b'\xef\xbb\xbf{"a": 1}', "application/json").kind == "text"
    for charset in ("klingon", "rot13", "base64", "unicode_escape"):
        assert "charset" in refusal(None, [item(b"x", f"text/plain; charset={charset}")])
    said = refusal(None, [item(latin, "text/plain; charset=ascii")])
    assert "is not text in the charset ascii that it is said to have (byte 2)" in said


def test_json_that_is_nested_without_end_is_left_to_the_reader() -> None:
    assert one(b"[" * 50_000 + b"]" * 50_000, "application/json").kind == "text"


def test_a_data_prefix_is_taken_if_it_agrees() -> None:
    plain = base64.b64encode(samples.png()).decode()
    for prefix in ("data:image/png;base64,", "DATA:image/x-png;Base64,", "data:;base64,"):
        found = receive([{"data": prefix + plain, "mimeType": "image/png"}], None)
        assert found[0].data == samples.png()
    said = refusal([{"data": f"data:image/gif;base64,{plain}", "mimeType": "image/png"}])
    assert said == "images[0].data: its prefix says 'image/gif', but its mimeType is image/png"
    assert "does not say `;base64`" in refusal(
        [{"data": "data:image/png,x", "mimeType": "image/png"}]
    )
    assert "no comma" in refusal([{"data": "data:image/png", "mimeType": "image/png"}])


@pytest.mark.parametrize("filler", [" ", "a", ";a", '; a="', "; a=b ", "; a = \\"])
def test_a_giant_type_is_refused_before_it_is_read(filler: str) -> None:
    giant = "text/plain; charset=" + filler * 20_000
    said = refusal(None, [item(b"x", giant)])
    assert said == f"files[0].mimeType: has {len(giant)} characters, and at most 255 may be"


def test_the_charset_of_a_prefix_counts() -> None:
    encoded = base64.b64encode("Käse".encode("latin-1")).decode()
    data = f"data:text/plain;charset=latin-1;base64,{encoded}"
    assert receive(None, [{"data": data, "mimeType": "text/plain"}])[0].charset == "latin-1"


def test_names_are_made_up_where_none_is_given_and_never_collide() -> None:
    png = samples.png()
    images = [
        item(png, "image/png"),
        item(png, "image/png", "cat.png"),
        item(png, "image/png", "CAT.png"),
    ]
    files = [
        item(b"x", "text/plain", "../../etc/cat.png"),
        item(samples.TAR_GZ, "application/x-compressed-tar"),
    ]
    found = receive(images, files)
    names = [each.name for each in found]
    assert names == ["image-1.png", "cat.png", "CAT-2.png", "cat-3.png", "file-2.tar.gz"]
    assert [each.label for each in found][:2] == ["images[0]", "images[1] (cat.png)"]


def test_a_suffix_that_disagrees_is_kept() -> None:
    assert one(b"a,b", "text/csv", "table.dat").name == "table.dat"


def test_the_bytes_are_not_in_the_repr() -> None:
    assert (
        repr(one(b"secret", "text/plain", "a.txt"))
        == "Attachment(files[0] (a.txt), text/plain, 6 bytes)"
    )


@pytest.mark.parametrize(
    ("name", "data", "meant"),
    [
        ("notes.md", b"# hi", "text/markdown"),
        ("script.py", b"the free software\n", "text/plain"),
        ("broken.json", b"{'a'", "text/plain"),
        ("good.json", b"{}", "application/json"),
        ("voice.m4a", samples.mp4(), "audio/mp4"),
        ("film.mp4", samples.mp4(), "video/mp4"),
        ("backup.tgz", samples.TAR_GZ, "application/x-compressed-tar"),
        ("any", IN_FILES["application/pdf"], "application/pdf"),
    ],
)
def test_a_file_of_this_machine_says_itself_what_it_is(
    tmp_path: Path, name: str, data: bytes, meant: str
) -> None:
    file = tmp_path / name
    file.write_bytes(data)
    found = attachment_from_file(file, image=False)
    assert (found.mime_type, found.name, found.data) == (meant, name, data)


def test_a_file_that_cannot_be_attached_is_refused_with_its_path(tmp_path: Path) -> None:
    def said(name: str, data: bytes | None, *, image: bool = False) -> str:
        file = tmp_path / name
        if data is not None:
            file.write_bytes(data)
        with pytest.raises(MediaError) as caught:
            attachment_from_file(file, image=image)
        assert str(caught.value).startswith(f"{file}: ")
        return str(caught.value)

    assert "No such file" in said("missing", None)
    assert "not a regular file" in said("", None)
    assert "is empty" in said("empty", b"")
    assert "give it with --image" in said("cat.png", samples.png())
    assert "give it with --file" in said("notes.txt", b"x", image=True)
    assert "a program cannot be sent" in said("program", b"\x7fELF" + bytes(range(256)))
    assert "15.1 MB is more than the 15 MB" in said("big", b"x" * (MAX_ITEM + 1))


def test_files_of_this_machine_have_the_same_limits(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.txt").write_text("x")
    found = attachments_from_files([], [tmp_path / "a" / "x.txt", tmp_path / "b" / "x.txt"])
    assert [each.name for each in found] == ["x.txt", "x-2.txt"]
    with pytest.raises(MediaError, match="--file: there are 6, at most 5"):
        attachments_from_files([], [tmp_path / "a" / "x.txt"] * 6)
