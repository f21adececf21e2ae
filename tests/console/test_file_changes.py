"""What a call would change in a file, as a diff: only where it says so, and without a trap."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from clawkit.console.file_changes import file_changes, paths_named


def lines(**arguments: Any) -> list[str]:
    return [f"{one.kind}{one.text}" for each in file_changes(arguments)[0] for one in each.lines]


def test_a_part_that_is_replaced_is_shown(tmp_path: Path) -> None:
    found = lines(path=str(tmp_path / "a"), old_string="one\ntwo", new_string="one\nthree")
    assert [line for line in found if line[0] in "+-"] == ["-two", "+three"]


def test_each_of_several_edits_is_shown() -> None:
    edits = [{"oldText": "a", "newText": "b"}, {"oldText": "c", "newText": "d"}, "no edit"]
    found, rest = file_changes({"path": "/x", "edits": edits})
    assert [one.path for one in found] == ["/x", "/x"]
    assert rest["edits"][0] == dict.fromkeys(("oldText", "newText"), "↑ shown above, as a change")
    assert rest["edits"][2] == "no edit"
    assert edits[0] == {"oldText": "a", "newText": "b"}


def test_a_text_is_read_once_every_line_of_it_in_the_change(tmp_path: Path) -> None:
    file, text = tmp_path / "a", [f"line {number}" for number in range(50)]
    file.write_text("\n".join(text))
    text[25] = "another"
    arguments = {"path": str(file), "content": "\n".join(text), "mode": "w"}
    (change,), rest = file_changes(arguments)
    assert [one.text for one in change.lines if one.kind in "+ "] == text
    assert rest == {**arguments, "content": "↑ shown above, as a change"}


def test_what_is_too_much_for_a_change_is_read_in_the_call() -> None:
    """Too many lines, or such that difflib would take minutes for."""
    many = ("\n" * 3000, "a\n" * 3000)
    repeated = ("x\nz\n" * 1900, "x\n" * 99 + "y\n" * 99)
    for old, new in (many, repeated):
        arguments = {"path": "/x", "edits": [{"old_string": old, "new_string": new}] * 9}
        before = time.process_time()
        (change,), rest = file_changes(arguments)
        assert time.process_time() - before < 20
        assert rest == arguments
        assert (change.path, change.lines) == ("/x", ())
        assert "too much to be shown as a change: read it in the call below" in change.about


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc")
@pytest.mark.parametrize("way", ["cwd/{}", "root/proc/self/cwd/{}", "environ"])
@pytest.mark.parametrize("through_a_link", [False, True])
def test_a_place_that_each_program_has_for_itself_is_compared_with_nothing(
    tmp_path: Path, way: str, *, through_a_link: bool
) -> None:
    """What is new where the console is may be there where the server is."""
    (tmp_path / "link").symlink_to("/proc/self")
    start = tmp_path / "link" if through_a_link else Path("/proc/self")
    for name in ("pyproject.toml", "not-there"):
        path = str(start / way.format(name))
        (change,), _ = file_changes({"path": path, "content": "x"})
        assert change.about == (
            "whether it replaces a file cannot be told: each program has another one there"
        )


def test_a_whole_file_is_compared_with_the_one_that_is_there(tmp_path: Path) -> None:
    file = tmp_path / "a"
    assert lines(path=str(file), content="new\n") == ["@@@ -0,0 +1 @@", "+new"]
    file.write_text("old\nsame\n")
    assert lines(path=str(file), content="new\nsame\n")[1:] == ["-old", "+new", " same"]


def test_a_line_break_at_the_end_begins_no_line(tmp_path: Path) -> None:
    file = tmp_path / "a"
    assert lines(path=str(file), content="new\n") == ["@@@ -0,0 +1 @@", "+new"]
    assert lines(path=str(file), content="new\n\n") == ["@@@ -0,0 +1,2 @@", "+new", "+"]
    file.write_text("same\nold\n")
    assert lines(path=str(file), content="same\nnew\n")[1:] == [" same", "-old", "+new"]
    assert lines(path=str(file), content="") == ["@@@ -1,2 +0,0 @@", "-same", "-old"]


def test_a_line_break_that_comes_or_goes_at_the_end_is_a_change(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_text("one")
    note = "@(no line break at the end)"
    assert lines(path=str(file), content="one\n")[1:] == ["-one", note, "+one"]
    file.write_text("one\n")
    assert lines(path=str(file), content="one")[1:] == ["-one", "+one", note]


def test_what_is_hidden_in_a_line_is_spelled_out() -> None:
    assert "+a\\u202eb" in lines(path="/x", old_string="a", new_string="a\u202eb")
    # What looks the same once it is spelled out is another text all the same.
    assert lines(path="/x", old_string="a\\u202eb", new_string="a\u202eb")[1:] == [
        "-a\\u202eb",
        "+a\\u202eb",
    ]


def test_two_texts_that_differ_are_never_shown_alike(tmp_path: Path) -> None:
    def shown(content: str) -> list[tuple[str, tuple[str, ...]]]:
        found, _ = file_changes({"path": str(tmp_path / "a"), "content": content})
        return [(line.kind, line.parts) for line in found[0].lines]

    for hidden, spelled in (
        ("\u202e", "\\u202e"),
        (" " * 20, "\\s{20}"),
        ("\t", "\\t"),
        ("\u0430", "\\u0430"),
        ("\U000e0041", "\\U000e0041"),
    ):
        assert ("+", ("ab", spelled, "c")) in shown(f"ab{hidden}c\n")
        assert ("+", (f"ab{spelled}c",)) in shown(f"ab{spelled}c\n")
        assert ("+", (f"ab{spelled}", spelled, "c")) in shown(f"ab{spelled}{hidden}c\n")
    assert ("+", ("a", "\\s{2}")) in shown("a  \n")
    assert ("+", ("a\\s{2}",)) in shown("a\\s{2}\n")
    assert ("+", ("", "\\t\\s{1}")) in shown("\t \n")
    assert shown("abc")[-1] == ("@", ("(no line break at the end)",))
    assert shown("abc\n")[-1] == ("+", ("abc",))


def test_of_a_part_it_is_said_where_the_line_break_at_its_end_is_replaced_too() -> None:
    def shown(old: str, new: str) -> list[str]:
        return lines(path="/x", old_string=old, new_string=new)[1:]

    none, both = "@(no line break at the end)", "@(with the line break at the end)"
    assert shown("a", "b") == ["-a", "+b"]
    assert shown("a\n", "b\n") == ["-a", "+b", both]
    assert shown("a\n", "b") == ["-a", "+b", none]
    assert shown("a", "b\n") == ["-a", none, "+b"]
    assert shown("", "b") == ["+b"]
    assert shown("", "b\n") == ["+b", both]


def test_no_file_makes_it_wait_or_fail(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    places = (str(pipe), str(tmp_path), "/dev/zero", str(tmp_path / "bytes"), "here", "a\0b")
    for place in places:
        assert "+new" in lines(path=place, content="new")


def test_a_call_without_a_path_or_with_too_much_changes_no_file() -> None:
    assert lines(content="x") == []
    assert lines(path="/x", old_string="\n" * 3000, new_string="a\n" * 3000) == []
    assert lines(path=["/x"], content="x") == []


def about(path: object, *, local: bool = True, **more: Any) -> list[str]:
    found, _ = file_changes({"path": path, "content": "new\n", **more}, local=local)
    return [change.about for change in found]


def test_only_what_surely_is_not_there_is_called_a_new_file(tmp_path: Path) -> None:
    large, binary, link = tmp_path / "large", tmp_path / "binary", tmp_path / "link"
    large.write_text("line\n" * 80_000)
    binary.write_bytes(b"\xff\xfe")
    link.symlink_to(tmp_path / "nowhere")
    missing = str(tmp_path / "missing")
    untold = "whether it replaces a file cannot be told"
    assert about(missing) == ["a new file"]
    assert about(str(large)) == ["replaces a file that is not shown: too large, 400,000 bytes"]
    assert about(str(binary)) == ["replaces a file that is not shown: not text"]
    assert about(str(tmp_path)) == ["replaces a file that is not shown: not a plain file"]
    assert about("notes.txt") == [f"{untold}: the path is not a whole one"]
    for odd in (f"{tmp_path}/nowhere/../missing", f"{missing} ", f"{missing}%2e"):
        assert about(odd) == [f"{untold}: the path can be read in two ways"]
    for place in (str(link), "~/surely/not/there", str(binary / "below")):
        assert [one.startswith(untold) for one in about(place)] == [True], place
    assert about(missing, local=False) == [f"on another machine: {untold}"]


@pytest.mark.parametrize("more", [{"file": "/x"}, {"to": "/x"}, {"paths": ["/x"]}])
def test_where_several_paths_are_named_no_change_is_shown_for_one_of_them(
    more: dict[str, Any],
) -> None:
    arguments = {**more, "path": "/important", "content": "new"}
    assert file_changes(arguments) == ((), arguments)
    assert set(paths_named(arguments)) == {"/x", "/important"}
