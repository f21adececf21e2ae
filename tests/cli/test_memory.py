"""`claw remember`, `claw recall` and `claw memory`, as a person types them."""

from __future__ import annotations

import json
import os
import re
import time
from contextlib import closing
from pathlib import Path

import pytest

from clawkit.memory.being_store import BeingStore
from clawkit.memory.records import Node, Scene
from clawkit.memory.store import nodes
from clawkit.memory.tokens import Caller
from clawkit.store.sqlite import SqliteDatabase
from tests.claw import CLAW, claw
from tests.cli.being_commands import as_json, refused, run, said
from tests.guard.terminal import terminal
from tests.memory.patrol.test_topics import CHOIR, PLOT

NUTS = "Anna is allergic to nuts"
_OURS = "patrol patrols patrolling scene scenes node nodes cluster clusters dying dead ledger"
THEIR_WORDS = frozenset(_OURS.split())
NOTHING = "No relevant memories found.\n"


@pytest.fixture
def store_file(home: Path) -> Path:
    return home / "claw" / "data" / "claw" / "beings.db"


def remember(text: str, *more: str) -> str:
    return as_json("remember", text, *more)["id"]


def _history() -> list[str]:
    return said("memory", "history").splitlines()


def _asleep(seq: int) -> Node:
    scene = Scene("A boat trip long ago", ("Anna",), ("2020-01-02",))
    return Node(seq, f"00000000-{seq}", scene, 1.0, cluster=1, status="dead")


def _env() -> dict[str, str]:
    return {**os.environ, "PYTHONUTF8": "1", "CLAW_EMBEDDER": "none"}


def texts(*arguments: str) -> list[str]:
    return [hit["text"] for hit in as_json(*arguments)["hits"]]


def test_nothing_is_remembered_at_first_and_no_store_is_made(store_file: Path) -> None:
    assert "Nothing is remembered yet" in said("memory")
    assert said("recall", "anything") == NOTHING
    assert as_json("recall", "anything")["hits"] == []
    assert not store_file.exists()


def test_a_sentence_is_remembered_at_once_and_recalled() -> None:
    shown = said("remember", NUTS, "--about", "Anna", "--when", "2026-01-02")
    assert re.fullmatch(rf"Remembered: 2026-01-02 — {NUTS} \([0-9a-f]{{8}}\)\n", shown)
    recalled = said("recall", "What is Anna allergic to?")
    assert recalled.endswith(f"  2026-01-02 — {NUTS}\n")
    assert said("recall", "Who won the football match in Lisbon?") == NOTHING


def test_without_a_day_it_is_about_today() -> None:
    node = as_json("remember", NUTS, "--importance", "0.9", "--theme", "food", "--where", "home")
    assert node["scene"]["when"] == [time.strftime("%Y-%m-%d")]
    assert (node["scene"]["importance"], node["scene"]["themes"]) == (0.9, ["food"])
    assert node["source"]["token"] == "local"


def test_what_is_said_twice_is_one_memory() -> None:
    assert remember(NUTS) == remember(NUTS.upper())
    assert as_json("memory")["memories"] == 1


def test_wrong_orders_are_refused_in_words() -> None:
    assert "--when: must be a date" in refused("remember", "x", "--when", "2026-13-01", code=2)
    assert "nothing to remember" in refused("remember", "  ", code=2)
    assert "equal to 1" in refused("remember", "x", "--importance", "2", code=2)
    remember(NUTS)
    assert "--as-of: must be a date" in refused("recall", "x", "--as-of", "soon", code=2)


def test_recall_explains_and_answers_what_was_known_then() -> None:
    remember(NUTS)
    assert "score" in said("recall", "Anna allergic nuts", "--explain")
    (hit,) = as_json("recall", "Anna allergic nuts", "--explain")["hits"]
    assert hit["signals"]["words"] > 0
    assert said("recall", "Anna allergic nuts", "--as-of", "2020-01-01") == NOTHING


def test_what_is_so_now_is_recalled_first_and_what_was_so_is_marked() -> None:
    run("remember", "I moved to York, my flat is by the river", "--when", "2026-10-02")
    run("remember", "I live in Leeds, in a flat near the canal", "--when", "2026-03-02")
    first, second = said("recall", "Where do I live?").splitlines()
    assert first.endswith("2026-10-02 — I moved to York, my flat is by the river")
    assert second.endswith("2026-03-02 — I live in Leeds, in a flat near the canal  [earlier]")
    marks = [hit["earlier"] for hit in as_json("recall", "Where do I live?")["hits"]]
    assert marks == [False, True]


def test_what_was_replaced_is_recalled_with_the_day_until_which_it_was_so() -> None:
    node = remember("My dentist is Dr Patel", "--when", "2026-04-02")
    run("memory", "replace", node, "My dentist is Dr Novak")
    (line,) = said("recall", "Who is my dentist?", "--as-of", "2026-05-01").splitlines()
    assert re.search(r"— My dentist is Dr Patel  \[until \d{4}-\d\d-\d\d\]$", line)


def test_text_comes_from_stdin_too() -> None:
    run("remember", "-", stdin=f"{NUTS}\n")
    assert texts("memory", "search", "nuts") == [f"{time.strftime('%Y-%m-%d')} — {NUTS}"]


def test_a_memory_is_shown_by_the_beginning_of_its_id() -> None:
    node = remember(NUTS, "--about", "Anna", "--feeling", "worried")
    shown = said("memory", "show", node[:8])
    assert shown.startswith(f"{node}\n  {NUTS}\n")
    assert "  feeling      worried\n" in shown
    assert as_json("memory", "show", node)["id"] == node
    assert "there is no memory" in refused("memory", "show", "ffffffff-0000")
    for odd in ("abc", "%%%%", "x' OR 1=1"):
        assert "is no id of a memory" in refused("memory", "show", odd, code=2)


def test_a_memory_is_taken_back_and_the_undo_brings_it_back() -> None:
    node = remember(NUTS)
    done = run("memory", "retract", node, "--why", "she is not")
    assert f"Taken back: {time.strftime('%Y-%m-%d')} — {NUTS}" in done.stdout
    number = re.search(r"claw memory undo (\d+)", done.stderr)
    assert number
    assert texts("memory", "search", "nuts") == []
    would = said("memory", "undo", number[1], "--dry-run")
    assert would == f"  comes back: '{NUTS}'\nWould undo {number[1]}.\n"
    assert texts("memory", "search", "nuts") == []
    assert said("memory", "undo", number[1]).endswith(f"Undid {number[1]}.\n")
    assert len(texts("memory", "search", "nuts")) == 1
    assert "undone already" in refused("memory", "undo", number[1])
    assert "no entry 99" in refused("memory", "undo", "99")


def test_a_memory_is_replaced_by_what_is_so_now() -> None:
    node = remember(NUTS, "--when", "2026-01-02")
    assert "Now: " in said("memory", "replace", node, "Anna", "can", "eat", "nuts", "again")
    (found,) = texts("memory", "search", "nuts")
    assert found.endswith("Anna can eat nuts again")
    assert re.search(r"  replaced +\d{4}-", said("memory", "show", node))
    assert "is replaced already" in refused("memory", "retract", node)


def test_the_id_of_what_was_replaced_leads_to_what_is_so_now() -> None:
    node = remember(NUTS, "--when", "2026-01-02")
    run("memory", "replace", node, "Anna can eat almonds")
    second = as_json("memory", "search", "almonds")["hits"][0]["id"]
    run("memory", "replace", second, "Anna can eat all nuts")
    latest = as_json("memory", "search", "nuts")["hits"][0]["id"]
    assert f"by {latest}: Anna can eat all nuts" in refused("memory", "replace", node, "Anna can")
    assert f"{latest[:8]}  " in said("memory", "show", node).split("  now ")[1]


def test_a_memory_is_pinned_until_it_is_not() -> None:
    node = remember(NUTS)
    assert said("memory", "pin", node).startswith("Pinned: ")
    assert as_json("memory", "show", node)["pinned"] is True
    assert "[pinned]" in said("memory")
    run("memory", "pin", node, "--off")
    assert as_json("memory", "show", node)["pinned"] is False


def test_the_id_of_a_replaced_memory_pins_the_one_that_corrected_it() -> None:
    node = remember(NUTS)
    run("memory", "replace", node, "Anna can eat nuts again")
    assert "Anna can eat nuts again" in said("memory", "pin", node)
    (hit,) = as_json("memory", "search", "nuts")["hits"]
    assert as_json("memory", "show", hit["id"])["pinned"] is True
    assert as_json("memory", "show", node)["pinned"] is False
    run("memory", "pin", node, "--off")
    assert as_json("memory", "show", hit["id"])["pinned"] is False


def test_the_history_says_in_words_what_was_done_the_newest_first() -> None:
    assert "Nothing was done" in said("memory", "history")
    node = remember(NUTS)
    run("memory", "pin", node)
    run("memory", "replace", node, "Anna can eat nuts again")
    run("memory", "undo", "3")
    run("memory", "retract", node, "--why", "Anna was joking")
    lines = [re.sub(r"^(\d)  [-\d]+ [\d:]+  ", r"\1 ", line) for line in _history()]
    again = "Anna can eat nuts again"
    assert lines == [
        f"5 taken back: '{NUTS}' (Anna was joking)",
        f"4 undid 3: comes back: '{NUTS}'; goes: '{again}'",
        f"3 replaced: '{NUTS}' → '{again}'  (undone by 4)",
        f"2 pinned: '{NUTS}'",
        f"1 remembered: '{NUTS}'",
    ]
    assert [entry["n"] for entry in as_json("memory", "history", "-n", "1")] == [5]
    assert "entry 5 has changed a memory since; undo entry 5 first" in refused(
        "memory", "undo", "1"
    )


def test_an_undo_that_is_undone_is_named_alone() -> None:
    node = remember(NUTS)
    run("memory", "retract", node)
    run("memory", "undo", "2")
    run("memory", "undo", "3")
    lines = [re.sub(r"^(\d)  [-\d]+ [\d:]+  ", r"\1 ", line) for line in _history()]
    assert lines[:2] == [
        f"4 undid 3: goes: '{NUTS}'",
        f"3 undid 2: comes back: '{NUTS}'  (undone by 4)",
    ]


def test_many_memories_of_one_change_are_told_by_the_first_ones(tmp_path: Path) -> None:
    notes = tmp_path / "notes.md"
    notes.write_text("\n\n".join(f"Note number {n} is about trees." for n in range(5)))
    run("being", "import", str(notes))
    (line,) = _history()
    told = "'Note number 0 is about trees.', 'Note number 1 is about trees.', 'Note number 2"
    assert f"5 new memories: {told} is about trees.' and 2 more  [by an import]" in line


def test_the_history_has_its_older_names_too() -> None:
    remember(NUTS)
    assert said("memory", "history") == said("memory", "ledger") == said("memory", "changes")
    assert said("memory", "patrol", "--dry-run") == said("memory", "tidy", "--dry-run")
    shown = said("memory", "--help")
    assert not {"patrol", "ledger", "changes"} & set(shown.split())


def test_what_commands_print_has_only_words_that_people_use(
    store_file: Path, tmp_path: Path
) -> None:
    node = remember(NUTS, "--about", "Anna")
    with closing(SqliteDatabase(store_file)) as database:
        store = BeingStore(database, "none")
        memory = store.open(store.default())
        memory.take_notes(Caller(), scenes=[Scene("Ben plays chess")], notes=["Buy milk"])
        with database.write(memory.being.n) as unit:
            nodes.add(unit, [_asleep(nodes.reserve(unit, 1))])
        store.want(memory.being, "patrol")
    (tmp_path / "x.md").write_text("A walk in the park")
    commands = (
        *(
            ("memory",),
            ("memory", "search", "chess"),
            ("memory", "show", node),
            ("recall", "chess"),
        ),
        *(("memory", "tidy", "--dry-run"), ("memory", "tidy"), ("memory", "history")),
        *(("memory", "undo", "1", "--dry-run"), ("being", "show", "assistant"), ("being", "list")),
        *(("being", "import", str(tmp_path / "x.md")), ("status",), ("doctor",), ("memory",)),
        *(("remember", "Anna likes tea"), ("memory", "person", "Anna")),
        *((*verb, "--help") for verb in (("memory",), ("memory", "tidy"), ("memory", "retract"))),
    )
    for command in commands:
        done = claw(*command, env=_env())
        words = set(re.findall(r"[a-z]+", (done.stdout + done.stderr).lower()))
        assert not words & THEIR_WORDS, (command, done.stdout, done.stderr)


def test_what_fades_and_what_sleeps_is_said_so(store_file: Path) -> None:
    remember(NUTS)
    with closing(SqliteDatabase(store_file)) as database:
        store = BeingStore(database, "none")
        with database.write(store.default().n) as unit:
            nodes.add(unit, [_asleep(nodes.reserve(unit, 1))])
    assert "Private  2 memories (1 asleep)" in said("memory")
    assert "remembers  2 memories (1 asleep)" in said("being", "show", "assistant")


def test_tidying_up_says_what_it_did_and_a_dry_run_what_it_would_do() -> None:
    remember(NUTS)
    would = said("memory", "tidy", "--dry-run")
    assert would.startswith("Would put 0 new notes in order.\n")
    assert as_json("memory")["last_patrol"] is None
    done = said("memory", "tidy")
    assert done.startswith("Put 0 new notes in order.\n")
    assert "      1  grown older\n" in done
    assert "Left out (no model): ending what is no longer so, merging, the diary.\n" in done
    assert "Left out (no vectors): finding topics.\n" in done
    assert " 0  " not in done
    assert as_json("memory")["last_patrol"] > 0
    assert "tidied up just now" in said("memory")


def test_options_may_stand_before_the_verb_or_behind_it() -> None:
    run("being", "create", "ben")
    run("remember", "Ben plays chess", "--being", "ben")
    before = json.loads(said("memory", "--being", "ben", "--json", "search", "chess"))
    assert before == as_json("memory", "search", "chess", "--being", "ben")
    assert len(before["hits"]) == 1
    assert texts("memory", "search", "chess") == []


def test_the_view_shows_topics_recent_memories_and_what_waits() -> None:
    remember(NUTS, "--when", "2026-01-02")
    remember("The meeting about the contract is in March", "--when", "2026-02-03")
    shown = said("memory").splitlines()
    assert shown[0] == "assistant  2 memories, not tidied up yet"
    assert any(re.fullmatch(r"Private  1 memory", line) for line in shown)
    assert any(re.fullmatch(r"Business  1 memory", line) for line in shown)
    recent = shown[shown.index("recent") + 1 :]
    assert re.fullmatch(r"[0-9a-f]{8}  2026-02-03  The meeting about .* March", recent[0])
    assert re.fullmatch(rf"[0-9a-f]{{8}}  2026-01-02  {NUTS}", recent[1])
    assert not any(line.endswith(" ") for line in shown)
    assert said("memory", "-n", "1").count("2026-") == 1


def test_topics_are_found_and_shown_without_a_key() -> None:
    built_in = {"CLAW_EMBEDDER": "use-multilingual-v3"}
    for said_once in (*CHOIR, *PLOT):
        run("remember", said_once)
    assert "      2  new topics\n" in said("memory", "patrol", env=built_in)
    shown = said("memory")
    assert re.search(r"\bchoir\b.*  [56] memories$", shown, re.MULTILINE)
    assert re.search(r"\ballotment\b.*  [56] memories$", shown, re.MULTILINE)
    assert "new topics: " in said("memory", "ledger")


def test_the_view_fits_into_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("PYTHONUTF8", "1")
    monkeypatch.setenv("COLUMNS", "50")
    monkeypatch.delenv("NO_COLOR", raising=False)
    remember("The first of two")
    remember("The quick brown fox jumped over the lazy dog again and again " * 9)
    with terminal(*CLAW, "memory", "-n", "1", width=50) as screen:
        assert screen.ends() == 0
        plain = re.sub(r"\x1b\[[0-9;]*m", "", screen.output)
    assert "assistant  2 memories, not tidied up yet" in plain
    assert "… and 1 before" in plain
    assert "\x1b[" in screen.output
    assert max(map(len, plain.split("\r\n"))) <= 50, plain
    assert plain.count("lazy") == 4


def test_what_is_remembered_cannot_play_tricks_with_the_terminal() -> None:
    node = remember("clear \x1b[2J and \u202e reverse [bold]markup[/bold] :smile:")
    commands = (("memory",), ("memory", "show", node), ("memory", "search", "reverse"))
    for command in commands:
        shown = said(*command)
        assert "\x1b" not in shown
        assert "\u202e" not in shown
        assert "[bold]markup[/bold] :smile:" in shown


def test_memories_are_found_by_meaning_with_the_embedder_that_comes_with_it() -> None:
    built_in = {"CLAW_EMBEDDER": "use-multilingual-v3"}
    run("remember", NUTS, env=built_in)
    run("remember", "The car needs new tyres", env=built_in)
    assert "nuts" in said("recall", "Which foods must Anna avoid?", env=built_in)
    assert as_json("memory", "search", "vehicle", env=built_in)["kind"] == "vector"


def test_a_few_missing_vectors_are_made_before_a_search() -> None:
    run("remember", NUTS)
    built_in = {"CLAW_EMBEDDER": "use-multilingual-v3"}
    done = run("recall", "Anna allergic nuts", env=built_in)
    assert "vectors" not in done.stderr
    run("remember", "The car needs new tyres")
    assert as_json("memory", "search", "nuts", env=built_in)["kind"] == "hybrid"


def test_vectors_of_another_model_stay_until_tidying_up_makes_them_anew(tmp_path: Path) -> None:
    words = tmp_path / "vocab.txt"
    words.write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\nanna\nallergic\nnuts\n")
    run("remember", NUTS, env={"CLAW_EMBEDDER": "use-multilingual-v3"})
    other = {"CLAW_EMBEDDER": "minilm-int8", "CLAW_MINILM_VOCAB": str(words)}
    done = run("recall", "Anna allergic nuts", env=other)
    assert "`claw memory tidy` makes them" in done.stderr
    assert list(as_json("being", "show", "assistant")["vectors"]) == ["use-multilingual-v3"]
    run("memory", "tidy", env=other)
    assert as_json("memory", "search", "nuts", env=other)["kind"] == "hybrid"
    assert list(as_json("being", "show", "assistant")["vectors"]) == ["minilm-int8"]


def test_a_broken_config_is_an_error_in_words(home: Path) -> None:
    config = home / "claw" / "config" / "claw" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("[memory]\nsharing = true\n")
    assert "there is no `sharing`" in refused("remember", "x")
    config.write_text("[memory]\n")
    assert "no embedder is called" in refused("remember", "x", env={"CLAW_EMBEDDER": "magic"})
