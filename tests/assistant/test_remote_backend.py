"""A Being that is served elsewhere, as the assistant's memory: a real server on a real socket."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from clawkit.assistant.assistant import Assistant
from clawkit.assistant.memory import long_term
from clawkit.memory.records import Scene
from clawkit.memory.tokens import Caller
from tests.assistant.providers.scripted import Call, Say
from tests.assistant.replies import Heard, say, scripted
from tests.memory.http.being_store import store_at
from tests.memory.http.served_beings import served


def memory_at(url: str) -> str:
    return f'[memory]\nurl = "{url}"\ntoken_env = "BEING"\n'


async def test_what_was_said_is_remembered_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = [Say("Noted."), Say("Teal."), Call("search_history", {"query": "colour"}), Say("Yes.")]
    with served(store_at(tmp_path)) as there:
        monkeypatch.setenv("BEING", there.token())
        more = memory_at(there.url + there.path)
        with scripted(tmp_path, script, more=more) as (server, config):
            async with Assistant(config) as assistant:
                await say(assistant, "My favourite colour is teal.", "one", origin="ask")
            async with Assistant(config) as assistant:
                await say(assistant, "What is my favourite colour?", "two", origin="ask")
                await say(assistant, "When did I say that?", "two", origin="ask")
    assert "teal" in str(server.requests[1].json["system"])
    assert "My favourite colour is teal." in str(server.requests[3].json["messages"][-1])
    assert not (tmp_path / "data" / "beings.db").exists()


async def test_each_memory_of_it_has_a_line_of_its_own_the_oldest_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(store_at(tmp_path)) as there:
        monkeypatch.setenv("BEING", there.token())
        scenes = [
            Scene("Anke lives in Rastede now.", when=("2026-10-16",)),
            Scene("Anke lives in Wardenburg.", when=("2026-06-20",)),
        ]
        there.store.open(there.being).take_notes(Caller(), scenes=scenes)
        more = memory_at(there.url + there.path)
        with scripted(tmp_path, [Say("There.")], more=more) as (server, config):
            async with Assistant(config) as assistant:
                await say(assistant, "Where does Anke live?", "one", origin="ask")
    system = server.requests[0].json["system"][0]["text"]
    lines = [line for line in system.splitlines() if line.startswith("- Noted: ")]
    assert len(lines) == 2, system
    assert lines[0].startswith("- Noted: 2026-06-20")
    assert lines[1].startswith("- Noted: 2026-10-16")


@pytest.mark.parametrize("token", ["", "wrong", "read-only"])
async def test_a_being_that_refuses_does_not_cost_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, token: str, caplog: pytest.LogCaptureFixture
) -> None:
    with served(store_at(tmp_path)) as there:
        secret = there.token(scope="read-only") if token == "read-only" else "brt_" + "x" * 43
        if token:
            monkeypatch.setenv("BEING", secret)
        more = memory_at(there.url + there.path)
        heard = Heard()
        with scripted(tmp_path, [Say("Hello.")], more=more) as (_, config):
            async with Assistant(config) as assistant:
                reply = await say(assistant, "My colour is teal.", "one", heard, origin="ask")
    assert reply.text == "Hello."
    said = " ".join([*heard.of("notice"), *(record.getMessage() for record in caplog.records)])
    assert {"": "set BEING", "wrong": "(401)", "read-only": "(403)"}[token] in said
    assert secret not in said


async def test_a_being_that_is_not_there_does_not_cost_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BEING", "brt_x")
    more = memory_at("http://127.0.0.1:9/mcp/x")
    heard = Heard()
    with scripted(tmp_path, [Say("Hello.")], more=more) as (_, config):
        async with Assistant(config) as assistant:
            reply = await say(assistant, "Hello?", "one", heard, origin="ask")
    assert reply.text == "Hello."
    assert any("is not reachable" in text for text in heard.of("notice"))


async def test_a_being_that_never_answers_is_said_to_and_for_how_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("BEING", "brt_x")
    monkeypatch.setenv(long_term.PATIENCE, "0.25")
    monkeypatch.setattr(long_term, "_SETTLING", 0.1)
    monkeypatch.setattr(long_term, "_KEEPING", 0.1)
    heard = Heard()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        more = memory_at(f"http://127.0.0.1:{silent.getsockname()[1]}/mcp/x")
        with scripted(tmp_path, [Say("Hello.")], more=more) as (_, config):
            async with Assistant(config) as assistant:
                reply = await say(assistant, "Hello?", "one", heard, origin="ask")
    assert reply.text == "Hello."
    assert set(heard.of("notice")) == {
        "memory takes too long: it did not answer within 0.25 s; going on without it"
    }
    assert "memory: it did not answer within 0.25 s, so it may lack what was said" in caplog.text
