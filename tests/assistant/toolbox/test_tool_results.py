from __future__ import annotations

import base64
from typing import Any

import msgspec

from clawkit.assistant.media.outbound import Outgoing
from clawkit.assistant.toolbox.tool_results import (
    LONGEST_TEXT,
    MOST_IMAGES,
    SortedResult,
    sort_result,
)
from clawkit.models.protocol import Image, Text

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()


def content(*blocks: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"content": list(blocks), **more}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def image(**more: Any) -> dict[str, Any]:
    return {"type": "image", "data": PNG, "mimeType": "image/png", **more}


def heard(found: SortedResult) -> str:
    """What the model reads; notes about media are for it alone."""
    return "\n".join(part.text for part in found.parts if isinstance(part, Text))


def test_neighbouring_texts_are_joined_and_images_keep_their_place() -> None:
    found = sort_result(content(text("one"), text("two"), image(), text("three")), "draw")
    seen = Image(base64.b64decode(PNG), "image/png", "draw-1.png")
    assert found.parts == (Text("one\ntwo"), seen, Text("three"))
    assert found.media == (Outgoing("draw-1.png", "image/png", base64.b64decode(PNG)),)
    assert found.text == "one\ntwo\nthree"
    assert not found.is_error


def test_an_error_stays_one() -> None:
    assert sort_result(content(text("no"), isError=True), "x").is_error


def test_structured_content_that_repeats_a_picture_is_not_read_out() -> None:
    repeated = {"content": [image()]}
    found = sort_result(content(image(), structuredContent=repeated), "draw")
    assert found.text == ""
    assert len(found.media) == 1
    beside = sort_result(content(image(), structuredContent={"width": 7}), "draw")
    assert beside.text == '{"width":7}'


def test_a_text_is_cut_for_models_only() -> None:
    long = content(text("a" * (LONGEST_TEXT + 1)))
    assert "characters left out" in sort_result(long, "x").text
    assert sort_result(long, "x", longest=None).text == "a" * (LONGEST_TEXT + 1)


def test_structured_content_is_text_where_there_is_none() -> None:
    assert sort_result(content(structuredContent={"a": 1}), "x").text == '{"a":1}'
    assert sort_result(content(text("a"), structuredContent={"a": 1}), "x").text == "a"


def test_nothing_at_all_is_said_to_the_model() -> None:
    found = sort_result(content(), "x")
    assert found.parts == (Text("[the tool gave no output]"),)
    assert found.text == ""


def test_audio_is_sent_and_described() -> None:
    block = {"type": "audio", "data": PNG, "mimeType": "audio/wav"}
    found = sort_result(content(block), "speak")
    (note,) = found.parts
    assert isinstance(note, Text)
    assert "audio/wav, 8 bytes, sent along with the answer" in note.text
    assert [media.mime_type for media in found.media] == ["audio/wav"]


def test_a_document_as_bytes_is_sent_under_its_name() -> None:
    resource = {"uri": "attachment://my%20report.pdf", "mimeType": "application/pdf", "blob": PNG}
    found = sort_result(content({"type": "resource", "resource": resource}), "x")
    assert [media.name for media in found.media] == ["my report.pdf"]
    assert "my report.pdf (application/pdf" in heard(found)
    assert found.text == ""


def test_a_name_in_a_uri_has_no_way_out_of_its_folder() -> None:
    resource = {"uri": "file:///a/..%2f..%2fetc%2fpasswd", "blob": PNG}
    (media,) = sort_result(content({"type": "resource", "resource": resource}), "x").media
    assert "/" not in media.name
    assert not media.name.startswith(".")


def test_a_document_as_text_is_read_by_the_model_and_sent_only_to_a_user_it_names() -> None:
    resource = {"uri": "notes://today.txt", "text": "milk"}
    block = {"type": "resource", "resource": resource}
    found = sort_result(content(block), "x")
    assert found.text == "[resource notes://today.txt]\nmilk"
    assert found.media == ()
    marked = {**block, "annotations": {"audience": ["user"]}}
    assert sort_result(content(marked), "x").media == (
        Outgoing("today.txt", "text/plain", b"milk"),
    )


def test_an_image_is_shown_to_those_it_is_for() -> None:
    for_user = sort_result(content(image(annotations={"audience": ["user"]})), "x")
    assert not any(isinstance(part, Image) for part in for_user.parts)
    assert len(for_user.media) == 1
    for_model = sort_result(content(image(annotations={"audience": ["assistant"]})), "x")
    assert any(isinstance(part, Image) for part in for_model.parts)
    assert for_model.media == ()


def test_an_image_that_models_cannot_see_is_sent_and_described() -> None:
    drawing = base64.b64encode(b"<svg/>").decode()
    found = sort_result(content(image(data=drawing, mimeType="image/svg+xml")), "x")
    assert "image/svg+xml" in heard(found)
    assert len(found.media) == 1


def test_what_cannot_be_read_is_said() -> None:
    broken = sort_result(content(image(data="!!"), image(data=None), {"type": "hologram"}), "x")
    assert broken.text.count("cannot be read: it is not base64") == 2
    assert "unknown type 'hologram'" in broken.text
    assert broken.media == ()


def test_a_link_is_text() -> None:
    link = {"type": "resource_link", "uri": "file:///a.txt", "name": "a", "description": "first"}
    assert sort_result(content(link), "x").text == "[link to a: file:///a.txt (first)]"


def test_a_long_result_loses_its_middle_and_says_so() -> None:
    found = sort_result(content(text("a" * 80_000), text("b" * 80_000), image()), "x")
    words, picture = found.parts
    assert isinstance(words, Text)
    assert isinstance(picture, Image)
    assert words.text.startswith("aaa")
    assert words.text.endswith("bbb")
    assert "[… 60001 characters left out …]" in words.text
    assert len(words.text) < LONGEST_TEXT + 100


def test_of_many_images_the_model_sees_some_and_hears_of_the_rest() -> None:
    found = sort_result(content(*[image()] * (MOST_IMAGES + 2)), "x")
    assert sum(isinstance(part, Image) for part in found.parts) == MOST_IMAGES
    assert len(found.media) == MOST_IMAGES + 2
    assert f"x-{MOST_IMAGES + 2}.png" in heard(found)


def test_a_picture_that_is_none_is_said_and_never_shown() -> None:
    page = base64.b64encode(b"<html>the camera is offline</html>").decode()
    found = sort_result(content(image(data=page)), "snap")
    (note,) = found.parts
    assert isinstance(note, Text)
    assert "image/png as it says, but it is text, 34 bytes, sent along" in note.text
    assert [media.name for media in found.media] == ["snap-1.png"]


def test_a_picture_is_shown_as_what_its_bytes_are() -> None:
    (seen,) = sort_result(content(image(mimeType="image/jpg")), "snap").parts
    assert isinstance(seen, Image)
    assert seen.mime_type == "image/png"


def test_halves_of_characters_are_replaced_wherever_a_tool_has_put_them() -> None:
    half = "a\ud800b"
    document = {"uri": f"file:///{half}.txt", "text": half, "mimeType": half}
    for_person = {"annotations": {"audience": ["user"]}}
    found = sort_result(
        content(
            text(half),
            {"type": half},
            {"type": "audio", "data": PNG, "mimeType": half},
            {"type": "resource", "resource": document, **for_person},
            {"type": "resource", "resource": {"uri": half, "blob": PNG, "mimeType": half}},
            {"type": "resource_link", "name": half, "uri": half, "title": half},
        ),
        "x",
    )
    msgspec.json.encode(found)
    assert heard(found).startswith("a\ufffdb\n")
    assert sort_result(content(structuredContent={"a": half}), "x").text == '{"a": "a\ufffdb"}'
