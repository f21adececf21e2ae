"""Whatever a text is, both stores keep the same."""

from __future__ import annotations

import pytest

from clawkit.memory import people
from clawkit.memory.records import Change, Entry, HistoryMessage, MemorySource, Note, Scene
from clawkit.memory.store import entries, ledger, messages, nodes, notes
from clawkit.store.database import Database, key
from tests.memory.store.records import MODEL, NOW, being, node, remember, vectors

HARMLESS = {
    "sql": "'; DROP TABLE nodes; --",
    "quotes": "\"'`’\\ \\' \\\\",
    "wildcards": "100% _ * ? [a-z] !% !_",
    "marks": "? ?? %s %(a)s %% $being $1 :a @b {x}",
    "fts": 'NEAR("a" b, 5) AND -c* OR "',
    "cjk": "東京で寿司を食べた。北京烤鸭。김치",
    "emoji": "🎉👩‍👩‍👧‍👦🇯🇵",
    "right to left": "\u202eשלם مرحبا\u202c",
    "controls": "\x01\x1b[31m\x7f\r\n\t\u2028",
    "combining": "Z̸̡̧ͅa̷l̵g̶o̴",
    "escaped nul": "a\\u0000b",
}
REPLACED = {
    "nul": ("a\0b\0", "a\ufffdb\ufffd"),
    "half a pair": ("a\ud800b\udfff", "a\ufffdb\ufffd"),
    "both": ("\0é\ud83d", "\ufffdé\ufffd"),
}
ALL = {**{name: (text, text) for name, text in HARMLESS.items()}, **REPLACED}


@pytest.mark.parametrize("name", ALL)
def test_a_text_comes_back_everywhere(database: Database, name: str) -> None:
    given, kept = ALL[name]
    ada = being(database, given)
    assert ada.name == kept
    scene = Scene(given, (given,), (given,), given, given, (given,))
    with database.write(ada.n) as unit:
        nodes.add(unit, [node(nodes.reserve(unit, 1), "", scene=scene, source=MemorySource(given))])
        nodes.index_words(unit, {1: {given: 2}})
        unit.vectors.put(given, [1], vectors(1, 1))
        notes.add(unit, [Note("n", NOW, Scene(given)), Note("m", NOW, text=given)])
        entries.add(unit, Entry("e", "rule", given, given, NOW, {given: [given]}), given)
        messages.add(unit, [HistoryMessage(given, NOW, "user", given, given)], given)
        ledger.add(unit, NOW, "k", given, "", [Change("nodes", given, {"a": given}, None)])
        unit.set_mark(given, given)
    with database.read(ada.n) as unit:
        found = nodes.fetch(unit, [1])[1]
        assert found.scene == Scene(kept, (kept,), (kept,), kept, kept, (kept,))
        assert found.source.speaker == kept
        assert [one.seq for one in nodes.page(unit, contains=given)] == [1]
        assert nodes.page(unit, contains=f"{given}x") == []
        assert nodes.word_frequencies(unit, [given]) == {kept: 1}
        assert nodes.having_all(unit, [given]).tolist() == [1]
        assert unit.vectors.nearest(given, vectors(1, 1)[0], 1)[0] == [1]
        assert unit.vectors.counts() == {kept: 1}
        assert people.known(unit).names == {kept}
        assert unit.mark(given) == kept
        (scene_note,) = notes.waiting(unit, "scene")
        (memo,) = notes.waiting(unit, "note")
        assert (scene_note.scene, memo.text) == (Scene(kept), kept)
        (entry,) = entries.found(unit, "rule", given)
        assert (entry.content, entry.data) == (kept, {kept: [kept]})
        (said,) = messages.search(unit, given, conversation=given)
        assert (said.id, said.text) == (kept, kept)
        (done,) = ledger.latest(unit)
        assert (done.why, done.changes[0].before) == (kept, {"a": kept})


def test_a_text_of_a_megabyte_is_kept_and_searched(database: Database) -> None:
    ada = being(database)
    large = "Riesig ß東 " * 100_000
    with database.write(ada.n) as unit:
        remember(unit, [large])
        messages.add(unit, [HistoryMessage("i" * 1_000_000, NOW, "user", large, large)], "")
    with database.read(ada.n) as unit:
        assert nodes.fetch(unit, [1])[1].scene.action == large
        assert nodes.page(unit, contains=large[:-1].upper().replace("SS", "ß"))
        assert nodes.page(unit, contains=f"{large}!") == []
        assert messages.search(unit, "ß東 riesig")[0].text == large


def test_texts_sort_alike_in_both(database: Database) -> None:
    ada = being(database)
    ids = ["b", "B", "a", "ä", "Z", "_", "1", "東", "🎉", "a b", "ab"]
    with database.write(ada.n) as unit:
        for one in ids:
            entries.add(unit, Entry(one, "rule", "", "", NOW), "")
        assert [entry.id for entry in entries.since(unit, "rule", 0)] == sorted(ids)


def test_a_long_key_is_told_from_another_that_begins_alike() -> None:
    assert key("short") == "short"
    assert key("k" * 300) != key("k" * 301)
    assert key("k" * 300) == key("k" * 300)
    assert len(key("\0" * 10_000).encode()) < 400
    assert key(MODEL) == MODEL
