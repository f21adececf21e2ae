"""Files that are too long for a model: the passages that a message is about, and a search."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from clawkit.assistant.file_passages import passages, shown_in_part
from clawkit.models.protocol import Message, Text, count_tokens
from tests.assistant.orders import assistant, order, text_of, write_config
from tests.assistant.providers.scripted import Call, Say, scripted_anthropic
from tests.assistant.replies import provider_config

NEEDLE = "The gearbox of the blue tractor was replaced by Marthe in Uppsala."
LOST = "Olaf keeps the spare key of the mill under the third stone."


def long_log(megabytes: float) -> str:
    """A text of many like lines, with two that are not."""
    lines = [f"{n:07d} the pump ran as it always does on an ordinary day" for n in range(200_000)]
    lines = lines[: int(megabytes * 1_000_000 / 62)]
    lines[len(lines) * 2 // 3] = NEEDLE
    lines[len(lines) // 3] = LOST
    return "\n".join(lines)


def attached(text: str) -> dict[str, Any]:
    data = base64.b64encode(text.encode()).decode()
    return {"files": [{"filename": "log.txt", "mimeType": "text/plain", "data": data}]}


def test_passages_are_what_is_asked_about_in_the_texts_order() -> None:
    text = long_log(1)
    found = passages(text, "Where was the tractor's gearbox replaced?", 2000)
    assert NEEDLE in found
    assert found.startswith("0000000 the pump")
    assert "characters left out …]" in found
    assert count_tokens(found) < 2200
    both = passages(text, "What of Olaf's key, and the gearbox?", 3000)
    assert both.index(LOST) < both.index(NEEDLE)


def test_where_nothing_is_asked_about_they_are_from_all_over_the_text() -> None:
    found = passages(long_log(1), "Summarize!", 4000)
    numbers = [int(line[:7]) for line in found.splitlines() if line[:7].isdigit()]
    assert min(numbers) == 0
    assert max(numbers) > 15_000
    assert any(5_000 < number < 11_000 for number in numbers)


@pytest.mark.parametrize("text", ["", "x", "x" * 5000, "ü" * 5000, "天気" * 3000, "\n" * 9000])
def test_any_text_gives_passages_within_the_room(text: str) -> None:
    found = passages(text, "天気 x", 500)
    assert count_tokens(found) <= 600


def test_what_the_person_wrote_is_never_cut() -> None:
    typed = Text("y " * 50_000)
    message = Message("user", (typed,))
    assert shown_in_part(message, "y", 1000) is message


def test_ten_megabytes_are_searched_instead_of_refused(tmp_path: Path) -> None:
    script = [
        Call("search_attachments", {"query": "spare key mill"}, id="c1"),
        Call("search_attachments", {"query": "zeppelin"}, id="c2"),
        Call("search_attachments", {}, id="c3"),
        Say("In Uppsala."),
    ]
    with scripted_anthropic(script) as provider:
        write_config(tmp_path, provider_config(provider))
        with assistant(tmp_path) as server:
            question = "Who replaced the gearbox of the tractor, and where?"
            reply = server.ask(order(question, 1, **attached(long_log(10))))
            again = server.ask(order("And now?", 2))
    assert "In Uppsala." in text_of(reply)
    assert not reply["result"]["isError"]
    assert again["id"] == 2
    first = provider.requests[0].json
    sent = str(first["messages"])
    assert NEEDLE in sent
    assert LOST not in sent
    assert question in sent
    assert "search_attachments" in str(first["tools"])
    assert len(sent) < 1_500_000
    assert LOST in str(provider.requests[1].json["messages"][-1])
    assert "none of these words" in str(provider.requests[2].json["messages"][-1])
    assert "needs a query" in str(provider.requests[3].json["messages"][-1])


def test_a_file_that_fits_is_shown_whole_and_there_is_nothing_to_search(tmp_path: Path) -> None:
    with scripted_anthropic([Say("ok")]) as provider:
        write_config(tmp_path, provider_config(provider))
        with assistant(tmp_path) as server:
            server.ask(order("Read this.", 1, **attached(long_log(0.1))))
    first = provider.requests[0].json
    assert LOST in str(first["messages"])
    assert NEEDLE in str(first["messages"])
    assert "search_attachments" not in str(first.get("tools"))
