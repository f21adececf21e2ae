"""The key in `X-LLM-API-Key` serves the patrol that its notes start, and is then forgotten."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.assistant.providers.scripted import Request, Say, scripted_anthropic
from tests.memory.http.being_store import store_at
from tests.memory.http.served_beings import Served, served
from tests.memory.patrol.test_model import ANTHROPIC_KEY
from tests.memory.tools.being_client import scene
from tests.processes import PATIENCE


def test_the_key_of_ten_notes_serves_their_patrol_and_is_then_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def answer(request: Request) -> Say:
        asked.append(request.headers.get("x-api-key", ""))
        return Say("{}")

    with scripted_anthropic(answer) as model, served(store_at(tmp_path)) as server:
        monkeypatch.setenv("CLAW_ANTHROPIC_URL", model.url)
        token = server.token()
        _note_ten(server, token, {"x-llm-api-key": ANTHROPIC_KEY})
        _until(lambda: _patrols(server) == 1)
        with_key = len(asked)
        assert with_key > 0
        assert set(asked) == {ANTHROPIC_KEY}
        _until(lambda: len(server.store.lent) == 0)
        _note_ten(server, token, {})
        _until(lambda: _patrols(server) == 2)
        assert len(asked) == with_key
        assert ANTHROPIC_KEY not in server.raw_log + server.http.get("/metrics").text
        for file in tmp_path.glob("beings.db*"):
            assert ANTHROPIC_KEY.encode() not in file.read_bytes()


def _note_ten(server: Served, token: str, headers: dict[str, str]) -> None:
    scenes = [scene(f"saw heron number {time.monotonic_ns()}") for _ in range(10)]
    answer = server.call(token, "update_notes", {"scenes": scenes}, headers=headers)
    assert "started in the background" in answer.text


def _patrols(server: Served) -> int:
    """How many patrols are over, as the figures say."""
    name = 'clawkit_being_job_runs_total{kind="patrol",outcome="ok"} '
    for line in server.http.get("/metrics").text.splitlines():
        if line.startswith(name):
            return int(float(line.removeprefix(name)))
    return 0


def _until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)
