"""Notes in Markdown: where a memory ends, which day it has, under which headings it stands."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import pytest

from clawkit.errors import BeingError
from clawkit.memory.imports.readers import (
    LONGEST_ACTION,
    ImportedMemory,
    MarkdownBlocks,
    day_in,
    read_markdown,
)

MARCH = 1_772_366_400.0  # 2026-03-01


def note(folder: Path, name: str, text: str | bytes) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    os.utime(file, (MARCH, MARCH))
    return file


def kept(folder: Path, text: str | bytes, name: str = "note.md") -> list[ImportedMemory]:
    found = read_markdown(note(folder, name, text))
    assert found.problems == ()
    return list(found.memories)


def actions(folder: Path, text: str) -> list[str]:
    return [one.scene.action for one in kept(folder, text)]


def test_a_paragraph_is_a_memory_whatever_its_lines(tmp_path: Path) -> None:
    text = "We went\nto Kyoto.\n\nIt rained.  \nAll day.\r\n\r\n> He said\n> so.\n"
    assert actions(tmp_path, text) == ["We went to Kyoto.", "It rained. All day.", "He said so."]


def test_each_list_item_is_a_memory_and_stands_under_the_items_above_it(tmp_path: Path) -> None:
    text = "# Trip\n- Kyoto\n  went on\n    - temple\n\t- garden\n* Osaka\n1. first\n2) second\n"
    found = [(one.scene.action, one.scene.setting) for one in kept(tmp_path, text)]
    assert found == [
        ("Kyoto went on", "Trip"),
        ("temple", "Trip / Kyoto went on"),
        ("garden", "Trip / Kyoto went on"),
        ("Osaka", "Trip"),
        ("first", "Trip"),
        ("second", "Trip"),
    ]


def test_headings_of_both_kinds_are_where_a_memory_stands(tmp_path: Path) -> None:
    text = "Top\n===\none\n\nBelow\n---\ntwo\n\n# Next #\nthree\n### Deep\nfour\n## Mid\nfive\n"
    found = [(one.scene.action, one.scene.setting) for one in kept(tmp_path, text)]
    assert found == [
        ("one", "Top"),
        ("two", "Top / Below"),
        ("three", "Next"),
        ("four", "Next / Deep"),
        ("five", "Next / Mid"),
    ]


def test_a_file_without_headings_stands_under_its_name(tmp_path: Path) -> None:
    assert kept(tmp_path, "The deadline is in May.", "acme.md")[0].scene.setting == "acme"
    assert kept(tmp_path, "It rained.", "2026-01-02.md")[0].scene.setting == ""


def test_code_is_one_memory_and_rules_and_comments_are_none(tmp_path: Path) -> None:
    text = "a\n```python\n# no heading\n\nx = 1\n```\nb\n\n---\n***\n<!-- hidden -->\n"
    assert actions(tmp_path, text) == ["a", "# no heading\n\nx = 1", "b"]


def test_code_that_never_ends_is_still_kept() -> None:
    found = list(MarkdownBlocks().read(["```", "x = 1"]))
    assert [(one.line, one.text) for one in found] == [(1, "x = 1")]


@pytest.mark.parametrize(
    ("name", "text", "day"),
    [
        ("2026-01-02.md", "It rained.", "2026-01-02"),
        ("diary 20260102 x.md", "It rained.", "2026-01-02"),
        ("2026-13-99.md", "It rained.", "2026-03-01"),
        ("note.md", "It rained.", "2026-03-01"),
        ("2026-01-02.md", "---\ndate: 2025-05-05\n---\nIt rained.", "2025-05-05"),
        ("note.md", "---\nCreated: 2025-05-05T10:00:00Z\n---\nIt rained.", "2025-05-05"),
        ("2026-01-02.md", "---\ndate: 2025-05-05\n---\n## 2024-04-04\nIt rained.", "2024-04-04"),
        ("note.md", "# 2024\n## Week of 2024-04-04\n### Monday\nIt rained.", "2024-04-04"),
    ],
)
def test_the_day_is_the_heading_or_front_matter_or_name_or_change(
    tmp_path: Path, name: str, text: str, day: str
) -> None:
    (found,) = kept(tmp_path, text, name)
    assert found.scene.when == (day,)
    assert found.dated == (day != "2026-03-01")


def test_tags_of_the_front_matter_are_themes(tmp_path: Path) -> None:
    listed = kept(tmp_path, "---\ntags: [work, '#acme']\n---\nx")
    assert listed[0].scene.themes == ("work", "acme")
    written = kept(tmp_path, "---\ntags: work, acme\n---\nx")
    assert written[0].scene.themes == ("work", "acme")


def test_a_line_across_the_page_is_no_front_matter(tmp_path: Path) -> None:
    assert actions(tmp_path, "---\nIt rained.\n") == ["It rained."]


def test_what_cannot_be_read_is_named_with_its_line(tmp_path: Path) -> None:
    note(tmp_path, "a.md", b"good\n\nb\xffd\n")
    note(tmp_path, "b.md", "---\ndate: [\n---\nx\n")
    note(tmp_path, "c.md", "---\ndate: yesterday\n---\nx\n")
    found = [str(one) for one in read_markdown(tmp_path).problems]
    assert found[0] == "a.md, line 3: this is not UTF-8"
    assert found[1].endswith("the front matter is not YAML")
    assert found[1].startswith("b.md, line ")
    assert found[2] == "c.md, line 1: `date` in the front matter is no date: 'yesterday'"


def test_a_folder_is_read_in_order_without_what_is_hidden(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    note(folder, "b.md", "two")
    note(folder, "a/z.MARKDOWN", "one")
    note(folder, ".obsidian/x.md", "hidden")
    note(folder, "c.txt", "no Markdown")
    found = read_markdown(folder)
    assert [(one.scene.action, one.place) for one in found.memories] == [
        ("one", "a/z.MARKDOWN"),
        ("two", "b.md"),
    ]
    assert found.files == 2
    with pytest.raises(BeingError, match="no Markdown file"):
        read_markdown(tmp_path / "home")


def test_a_paragraph_that_is_too_long_becomes_several_memories(tmp_path: Path) -> None:
    found = actions(tmp_path, "word " * 10_000)
    assert all(len(one) <= LONGEST_ACTION for one in found)
    assert " ".join(found) == ("word " * 10_000).strip()


def test_a_byte_order_mark_and_other_languages_do_no_harm(tmp_path: Path) -> None:
    assert kept(tmp_path, "\ufeff# 旅行\n京都に行った。")[0].scene.setting == "旅行"


def test_days_are_real_ones() -> None:
    assert day_in("on 2026-02-30 or 2026-02-03") == "2026-02-03"
    assert day_in("12026-02-03 and 20260203123") == ""


@pytest.mark.parametrize(
    "front",
    [
        "date: 2026-02-30",
        f"date: {'9' * 9000}",
        "a: &a [x, x, x, x, x, x, x, x, x]\n"
        + "".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in pairwise("abcdefghi"))
        + "date: *i\ntags: *i",
        "a: " + "[" * 9000,
        "\n".join(f"key{n}: value" for n in range(5000)),
    ],
)
def test_front_matter_that_cannot_be_meant_is_a_problem_and_no_more(
    tmp_path: Path, front: str
) -> None:
    (tmp_path / "a.md").write_text(f"---\n{front}\n---\nhello\n")
    found = read_markdown(tmp_path)
    assert [one.scene.action for one in found.memories] == ["hello"]
    assert len(found.problems) == 1


@pytest.mark.parametrize(
    "line", ["# a" + " " * 100_000 + "x", "<!--" * 50_000, "# #" + " #" * 9999]
)
def test_a_line_that_never_ends_is_read_to_its_end(tmp_path: Path, line: str) -> None:
    (tmp_path / "a.md").write_text(f"{line}\n\nhello\n")
    assert read_markdown(tmp_path).memories[-1].scene.action == "hello"


def test_a_heading_keeps_what_belongs_to_it(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# C# ##\n\nhello\n")
    assert read_markdown(tmp_path).memories[0].scene.setting == "C#"


def test_what_is_no_text_is_one_problem(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(bytes(range(256)) * 1000)
    found = read_markdown(tmp_path)
    assert (found.memories, len(found.problems)) == ((), 1)


def test_lines_may_end_as_on_any_system(tmp_path: Path) -> None:
    for name, end in (("a.md", "\n"), ("b.md", "\r\n"), ("c.md", "\r")):
        (tmp_path / name).write_bytes(end.join(("# Title", "", "hello", "world", "")).encode())
    found = read_markdown(tmp_path).memories
    assert [(one.scene.setting, one.scene.action) for one in found] == [
        ("Title", "hello world")
    ] * 3


def test_a_link_does_not_lead_out_of_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (tmp_path / "secret.md").write_text("secret")
    (folder / "a.md").write_text("hello")
    (folder / "b.md").symlink_to(folder / "a.md")
    (folder / "c.md").symlink_to(tmp_path / "secret.md")
    (folder / "loop").symlink_to(folder)
    found = read_markdown(folder)
    assert [one.scene.action for one in found.memories] == ["hello", "hello"]
    assert [problem.file for problem in found.problems] == ["c.md"]
