"""What `claw status` and `claw doctor` say about memory."""

from __future__ import annotations

import json
import os
import re
import socket
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from clawkit.assistant.sessions.repair import set_aside
from clawkit.cli.status import assistant
from clawkit.memory.being_store import BeingStore
from clawkit.memory.store import jobs
from clawkit.memory.tokens import Caller
from clawkit.settings import settings
from clawkit.store import open_store
from tests.claw import CLAW, finished
from tests.cli.being_commands import as_json, run, said
from tests.cli.test_being_tokens import served
from tests.memory.store import version_one
from tests.processes import on_a_full_disk


@pytest.fixture
def store_file(home: Path) -> Path:
    return home / "claw" / "data" / "claw" / "beings.db"


@pytest.fixture
def config(home: Path) -> Path:
    file = home / "claw" / "config" / "claw" / "config.toml"
    file.parent.mkdir(parents=True, mode=0o700)
    return file


def section(shown: str) -> list[str]:
    """The lines about memory."""
    return shown.partition("\nmemory\n")[2].partition("\nguard\n")[0].splitlines()


def examined(
    *arguments: str, code: int = 0, env: Mapping[str, str] | None = None
) -> dict[str, dict[str, Any]]:
    done = run("doctor", "--json", *arguments, code=code, env=env)
    return {check["name"]: check for check in json.loads(done.stdout)["checks"]}


def test_status_makes_no_store_and_says_what_would(store_file: Path) -> None:
    lines = section(said("status"))
    assert lines[0] == f"  store      sqlite:{store_file}"
    assert lines[1] == "  embedder   none"
    assert "claw remember" in lines[2]
    assert not store_file.exists()
    assert as_json("status")["memory"]["begun"] is False


def test_status_counts_beings_and_memories_and_says_when_memory_was_tidied_up() -> None:
    run("being", "create", "ben")
    run("remember", "Anna is allergic to nuts")
    run("remember", "Ben plays chess", "--being", "ben")
    lines = section(said("status"))
    assert "  beings     2 Beings, 2 memories; `claw being list` lists them" in lines
    assert "  yours      assistant: 1 memory, not tidied up yet; `claw memory` shows it" in lines
    run("memory", "tidy")
    assert "tidied up just now" in said("status")
    found = as_json("status")["memory"]["found"]
    assert (found["beings"], found["own"]["memories"], found["jobs"]) == (2, 1, [])


def test_status_names_jobs_that_failed(store_file: Path) -> None:
    store = BeingStore(open_store(f"sqlite:{store_file}"), "none")
    being = store.create("ben")
    with store.database.registry(write=True) as connection:
        jobs.want(connection, being.n, "patrol", 1.0)
        jobs.claim(connection, "somebody", 2.0, 3.0)
        jobs.failed(connection, being.n, "patrol", "somebody", "ModelError: no answer", 4.0)
    store.close()
    shown = said("status")
    assert "  job        tidying up of ben failed 1 time: ModelError: no answer\n" in shown


def test_a_damaged_store_is_a_problem_in_status_and_not_the_end(store_file: Path) -> None:
    store_file.parent.mkdir(parents=True, mode=0o700)
    store_file.write_bytes(b"this is not a database" * 100)
    assert "it is not a database" in "".join(section(run("status", code=1).stdout))


def test_status_names_a_being_elsewhere(config: Path) -> None:
    config.write_text('[memory]\nurl = "https://being.example/mcp/1"\n')
    shown = section(said("status", env={"CLAW_BEING_TOKEN": "brt_given"}))
    (line,) = (one for one in shown if one.startswith("  remote"))
    assert line.startswith(
        "  remote     the assistant remembers at https://being.example/mcp/1; not tried"
    )
    checks = examined(env={"CLAW_BEING_TOKEN": "brt_given"})
    assert "not tried" in checks["remote memory"]["detail"]


def test_deep_tries_a_being_elsewhere(config: Path) -> None:
    being = as_json("being", "create", "far")["id"]
    right = {"CLAW_BEING_TOKEN": as_json("being", "token", "create", being)["token"]}
    wrong = {"CLAW_BEING_TOKEN": "brt_" + "x" * 40}
    with served() as address:
        config.write_text(f'[memory]\nurl = "{address}/{being}"\n')
        assert f"remote memory: {address}/{being} answers" in _deep(right)
        assert "refuses this token (401)" in _deep(wrong, code=1)
        check = examined("--deep", env=wrong, code=1)["asked remote memory"]
        assert check["state"] == "problem"
        assert "refuses this token (401)" in check["detail"]
    assert "the Being is not reachable" in _deep(right, code=1)


def _deep(env: Mapping[str, str], code: int = 0) -> str:
    return run("status", "--deep", env=env, code=code).stdout


def test_a_being_elsewhere_that_never_answers_is_not_waited_for(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assistant, "_MEMORY", 1.0)
    monkeypatch.setenv("CLAW_BEING_TOKEN", "brt_x")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/mcp/x"
        config.write_text(f'[memory]\nurl = "{url}"\n')
        found = assistant.assistant_state(settings(), deep=True)
    (tried,) = (one for one in found.tried or () if one.name == "remote memory")
    assert (tried.ok, tried.detail) == (False, "no answer in 1 seconds")
    assert not found.works


def test_a_being_elsewhere_without_its_token_is_a_problem(config: Path) -> None:
    config.write_text('[memory]\nurl = "https://being.example/mcp/1"\ntoken_env = "MY_TOKEN"\n')
    problem = (
        "the assistant cannot remember at https://being.example/mcp/1: MY_TOKEN is set neither"
    )
    assert problem in "".join(section(run("status", code=1).stdout))
    assert problem in examined(code=1)["memory token"]["detail"]
    asked = run("ask", "Hello")
    assert "MY_TOKEN" in asked.stderr


def test_memories_are_saved_out_of_a_store_that_lacks_a_table(store_file: Path) -> None:
    run("remember", "Anna is allergic to nuts")
    run("remember", "The spare key hangs behind the fern")
    with closing(sqlite3.connect(store_file)) as connection:
        connection.executescript("DROP TABLE postings; DROP TABLE marks; DROP TABLE tokens")
    assert "the table postings is missing" in examined(code=1)["memory"]["detail"]
    assert "the table postings is missing" in run("status", code=1).stdout
    fixed = examined("--fix")["memory"]["fixed"]
    assert "saved 1 Being with 2 memories; part of marks, tokens could not be read" in fixed
    assert "nuts" in said("recall", "What is Anna allergic to?")
    assert examined()["memory"]["state"] == "ok"
    assert len(list(store_file.parent.glob("beings.db.damaged-*"))) == 1


def test_a_damaged_store_of_version_one_is_saved_into_one_of_today(
    store_file: Path, tmp_path: Path
) -> None:
    had = version_one.fill(f"sqlite:{tmp_path / 'today.db'}")
    store_file.parent.mkdir(parents=True, exist_ok=True)
    version_one.make_sqlite(tmp_path / "today.db", store_file)
    with closing(sqlite3.connect(store_file)) as connection:
        connection.executescript("DROP TABLE postings")
    assert "the table postings is missing" in examined(code=1)["memory"]["detail"]
    fixed = examined("--fix")["memory"]["fixed"]
    assert "saved 1 Being with 1 memory" in fixed
    assert "could not be read" not in fixed
    assert "peanuts" in said("recall", version_one.ASKED, "--being", had.being)


def test_a_damaged_store_of_memories_is_saved_before_it_is_set_aside(store_file: Path) -> None:
    run("remember", "Anna is allergic to nuts")
    with closing(sqlite3.connect(store_file)) as connection:
        connection.executescript("DROP TABLE postings; PRAGMA wal_checkpoint(TRUNCATE)")
    room = store_file.stat().st_size // 2
    done = finished(*on_a_full_disk(*CLAW, "doctor", "--fix", "--json", room=room))
    (failed,) = (one for one in json.loads(done.stdout)["checks"] if one["name"] == "memory")
    assert failed["state"] == "problem"
    assert [file.name for file in store_file.parent.glob("*beings.db*")] == ["beings.db"]
    aside = set_aside(store_file)
    assert str(aside) in examined(code=1)["memory"]["detail"]
    assert str(aside) in run("status", code=1).stdout
    assert "saved 1 Being with 1 memory" in examined("--fix")["memory"]["fixed"]
    assert "nuts" in said("recall", "What is Anna allergic to?")
    assert examined()["memory"]["state"] == "ok"


def test_memories_are_saved_out_of_a_store_that_was_cut_off(store_file: Path) -> None:
    store = BeingStore(open_store(f"sqlite:{store_file}"), "none")
    memory = store.open(store.default())
    for number in range(300):
        memory.remember(f"Greenhouse {number} has {number} ferns", Caller())
    store.close()
    with closing(sqlite3.connect(store_file)) as connection:
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    os.truncate(store_file, store_file.stat().st_size * 2 // 3)
    assert examined(code=1)["memory"]["state"] == "problem"
    fixed = re.search(r"saved 1 Being with (\d+) memories", examined("--fix")["memory"]["fixed"])
    assert fixed is not None
    assert int(fixed[1]) > 0
    assert "ferns" in said("recall", "How many ferns has greenhouse 1?")


def test_the_doctor_finds_a_sound_store_and_the_embedder(store_file: Path) -> None:
    found = examined()
    assert "is not there yet" in found["memory"]["detail"]
    assert not store_file.exists()
    run("remember", "Anna is allergic to nuts")
    found = examined()
    assert found["memory"]["state"] == "ok"
    assert found["memory"]["detail"] == f"sqlite:{store_file}: 1 Being"
    assert found["embedder"]["state"] == "ok"


def test_the_doctor_sets_a_damaged_store_aside(store_file: Path) -> None:
    store_file.parent.mkdir(parents=True, mode=0o700)
    store_file.write_bytes(b"this is not a database" * 100)
    found = examined(code=1)["memory"]
    assert found["state"] == "problem"
    assert "--fix" in found["hint"]
    fixed = examined("--fix")["memory"]
    assert "set the damaged store aside as" in fixed["fixed"]
    (aside,) = store_file.parent.glob("beings.db.damaged-*")
    assert aside.read_bytes().startswith(b"this is not")
    run("remember", "Anna is allergic to nuts")


def test_a_store_of_a_newer_version_is_left_as_it_is(store_file: Path) -> None:
    run("remember", "Anna is allergic to nuts")
    connection = sqlite3.connect(store_file)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    found = examined("--fix", code=1)["memory"]
    assert "version 99" in found["detail"]
    assert found["fixed"] == ""
    assert not list(store_file.parent.glob("*.damaged-*"))


def test_the_doctor_looks_for_all_that_the_english_model_needs(tmp_path: Path) -> None:
    words = tmp_path / "vocab.txt"
    words.write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n")
    english = {"CLAW_EMBEDDER": "minilm-int8", "CLAW_MINILM_VOCAB": str(words)}
    done = json.loads(run("doctor", "--json", env=english).stdout)
    (found,) = [check for check in done["checks"] if check["name"] == "embedder"]
    assert (found["state"], found["detail"]) == ("ok", "minilm-int8")


def test_an_embedder_that_nobody_knows_is_a_problem(config: Path) -> None:
    config.write_text('[memory]\nembedder = "magic"\n')
    shown = run("status", code=1, env={"CLAW_EMBEDDER": ""}).stdout
    assert "problem    no embedder is called 'magic'" in shown
    done = json.loads(run("doctor", "--json", code=1, env={"CLAW_EMBEDDER": ""}).stdout)
    (found,) = [check for check in done["checks"] if check["name"] == "embedder"]
    assert "no embedder is called 'magic'" in found["detail"]
