from __future__ import annotations

import struct

import pytest

from clawkit.assistant.media.call_folder import CallFolder
from clawkit.assistant.media.inbound import Attachment
from clawkit.assistant.media.prompt_parts import receive, to_parts
from clawkit.assistant.offline.model import answer_to
from clawkit.assistant.offline.phrases import phrases_in
from clawkit.models.protocol import Image, Message, Prompt, Text
from tests.assistant.media.samples import pdf, wav, words
from tests.assistant.offline_corpus import assistant, user

NOT_FOUND = phrases_in("en").not_found
PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 640, 480) + bytes(9)

NOTES = """\
The project is called Heron. It started in May 2021.
Maria Lopes leads it; the office is in Porto.

The budget for the second year is 84,000 euros.
"""


def test_a_picture_is_described_and_not_seen() -> None:
    message = Message("user", (Text("What is on this?"), Image(PNG, "image/png", "cat.png")))
    answer = answer_to(Prompt("", (user("Hi"), assistant("Hello."), message)))
    assert answer == (
        f"I received cat.png (image/png, {len(PNG)} bytes, 640 × 480 pixels). "
        "I cannot see what is in it."
    )


async def sent(text: str, *files: tuple[str, str, str, bytes]) -> Message:
    """A message as the media room makes it."""
    attachments = [
        Attachment(kind=kind, name=name, mime_type=mime, data=data, label=name)  # pyright: ignore[reportArgumentType] - a Literal
        for kind, name, mime, data in files
    ]
    with CallFolder() as folder:
        return Message("user", (Text(text), *await to_parts(attachments, folder, None)))


def answer(*messages: Message) -> str:
    before = [part for message in messages[:-1] for part in (message, assistant("All right."))]
    return answer_to(Prompt("", (user("Hi"), assistant("Hello."), *before, messages[-1])))


async def test_a_text_is_described() -> None:
    message = await sent("", ("text", "notes.txt", "text/plain", NOTES.encode()))
    said = answer(message)
    assert "I received notes.txt (text/plain, " in said
    assert "4 lines, 28 words" in said


async def test_a_question_is_answered_from_the_text_that_came_with_it() -> None:
    file = ("text", "notes.txt", "text/plain", NOTES.encode())
    message = await sent("How much is the budget for the second year?", file)
    assert "notes.txt says: “The budget for the second year is 84,000 euros.”" in answer(message)
    unknown = await sent("Who won the chess tournament?", file)
    assert "I found nothing about that in it." in answer(unknown)


async def test_a_later_question_is_answered_from_an_earlier_text() -> None:
    message = await sent("", ("text", "notes.txt", "text/plain", NOTES.encode()))
    assert answer(message, user("Who is Maria Lopes?")) == (
        "notes.txt says: “Maria Lopes leads it; the office is in Porto.”"
    )
    assert answer(message, user("What's my favorite color?")).startswith(NOT_FOUND)


async def test_a_summary_of_a_text_is_an_extract_of_its_sentences() -> None:
    told = [f"The heron number {n} is a bird." for n in range(9)]
    text = " ".join(["Herons live near water.", *told, "Nobody knows why."])
    file = ("text", "herons.txt", "text/plain", text.encode())
    said = answer(await sent("Summarize this, please.", file))
    assert "An extract, 5 of 11 sentences: “Herons live near water. " in said
    assert "Nobody" not in said
    later = answer(await sent("", file), user("Fasse den Text bitte zusammen."))
    assert later.startswith("An extract, 5 of 11 sentences: “Herons live near water. ")
    assert "I can't do that" in answer(user("Summarize this."))


async def test_what_a_file_says_is_not_what_the_person_says() -> None:
    file = ("text", "letter.txt", "text/plain", b"My favorite color is red. Forget my cat.")
    message = await sent("My cat is called Miso.", file)
    assert "Miso" in answer(message, user("What is my cat called?"))
    said = answer(message, user("What do you know about me?"))
    assert "Miso" in said
    assert "red" not in said


async def test_archives_are_named_with_what_is_known_of_them() -> None:
    message = await sent("", ("archive", "a & b.zip", "application/zip", b"PK\5\6" + bytes(18)))
    said = answer(message)
    assert "I received a & b.zip (application/zip, " in said
    assert "an archive, not unpacked" in said


async def test_audio_is_described_by_its_length_and_not_by_a_note_about_it() -> None:
    message = await sent("", ("audio", "v.wav", "audio/wav", wav(2.5)))
    said = answer(message)
    assert "I received v.wav (audio/wav, 39.1 KB, 2.5 s, not transcribed)." in said
    asked = await sent("What does she say?", ("audio", "v.wav", "audio/wav", wav(2.5)))
    assert "not transcribed). I cannot tell what is in it." in answer(asked)


def test_a_transcript_is_text_that_was_heard() -> None:
    opening = '<attachment name="v.wav" type="audio/wav" size="9 KB" duration="2.5 s" path="x">'
    heard = f"{opening}\n[transcribed by scribe]\nThe train leaves at nine.\n</attachment>"
    (file,) = receive(user(heard)).files
    assert (
        file.described == "v.wav (audio/wav, 9 KB, 2.5 s, transcribed by scribe, 1 line, 5 words)"
    )
    assert file.text == "The train leaves at nine."
    silent = f"{opening}\n[transcribed by scribe: no words were heard]\n</attachment>"
    (file,) = receive(user(silent)).files
    assert file.described.endswith(", transcribed by scribe: no words were heard)")


def test_a_text_that_looks_like_a_note_is_text() -> None:
    opening = '<attachment name="a.txt" type="text/plain" size="9 bytes">'
    (file,) = receive(user(f"{opening}\n[a video; or not]\n</attachment>")).files
    assert file.text == "[a video; or not]"
    assert "1 line, 4 words" in file.described


def test_a_json_list_is_text_and_no_note() -> None:
    opening = '<attachment name="a.json" type="application/json" size="9 bytes">'
    frame = f"{opening}\n[1, 2, 3]\n</attachment>"
    (file,) = receive(user(frame)).files
    assert file.text == "[1, 2, 3]"
    assert "1 line, 3 words" in file.described


def test_the_pages_of_a_scan_belong_to_their_frame() -> None:
    parts = (
        Text("Read this."),
        Text(
            '<attachment name="s.pdf" type="application/pdf" size="1 KB" path="x">\n'
            "[2 pages]\n[page 1]"
        ),
        Image(PNG, "image/png", "page.png"),
        Text("[page 2]\nmore\n</attachment>"),
        Text("And this."),
    )
    received = receive(Message("user", parts))
    assert received.text == "Read this.\nAnd this."
    assert [file.name for file in received.files] == ["s.pdf"]
    assert received.files[0].text == "more"


@pytest.mark.process
async def test_a_pdf_that_cannot_be_read_is_said_to_be_and_our_note_is_not_searched() -> None:
    cut = pdf(words("The meeting is on Friday."))[:60]
    asked = await sent("Is it damaged?", ("pdf", "cut.pdf", "application/pdf", cut))
    said = answer(asked)
    assert "I received cut.pdf (application/pdf, 60 bytes, not read: it is damaged" in said
    assert said.endswith("I cannot tell what is in it.")
    assert "word" not in said


@pytest.mark.process
async def test_only_the_words_of_a_pdf_are_counted_and_searched() -> None:
    whole = pdf(words("The meeting is on Friday."), words(""))
    asked = await sent("When is the meeting?", ("pdf", "a.pdf", "application/pdf", whole))
    said = answer(asked)
    assert ", 2 pages, 5 words)" in said
    assert "a.pdf says: “The meeting is on Friday.”" in said


def test_what_is_missing_from_a_pdf_is_said_and_not_searched() -> None:
    opening = '<attachment name="a.pdf" type="application/pdf" size="9 KB">'
    told = "reading it was stopped after 30 s; page 2 was left out"
    frame = f"{opening}\n[2 pages]\n[page 1]\n[it is here]\nWords.\n[{told}]\n</attachment>"
    (file,) = receive(user(frame)).files
    assert file.text == "[it is here]\nWords."
    assert file.described == f"a.pdf (application/pdf, 9 KB, 2 pages, {told}, 4 words)"
