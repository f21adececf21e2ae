from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawkit.errors import HostError
from clawkit.hosts.documents.edits import edit_entry, replace_entry
from clawkit.hosts.documents.json5 import Json5

JSON = Json5()
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
SCALARS = st.none() | st.booleans() | st.integers() | TEXT | st.floats(allow_nan=False)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
BLANKS = st.lists(
    st.sampled_from([" ", "\t", "\n", "\r\n", '/* ,]}" */', '// "{[\n', "//\r\n", "\ufeff"]),
    max_size=3,
).map("".join)


@st.composite
def written(draw: st.DrawFn, value: Any) -> str:
    """The value as somebody may have typed it."""

    def gap() -> str:
        return draw(BLANKS)

    def parts(members: list[str], opener: str, closer: str) -> str:
        comma = "," if members and draw(st.booleans()) else ""
        return opener + gap() + f",{gap()}".join(members) + gap() + comma + gap() + closer

    if isinstance(value, dict):
        members = [
            json.dumps(key, ensure_ascii=draw(st.booleans())) + gap() + ":" + gap() + part + gap()
            for key, part in [(k, draw(written(v))) for k, v in value.items()]
        ]
        return parts(members, "{", "}")
    if isinstance(value, list):
        return parts([draw(written(item)) + gap() for item in value], "[", "]")
    return json.dumps(value, ensure_ascii=draw(st.booleans()))


@given(VALUES)
def test_plain_json_reads_as_json_does(value: Any) -> None:
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent=2)):
        assert JSON.open(text, "f").data == json.loads(text)


@given(VALUES.flatmap(lambda value: st.tuples(st.just(value), written(value))))
def test_comments_and_commas_change_nothing_in_what_is_read(case: tuple[Any, str]) -> None:
    value, text = case
    assert JSON.open(text, "f").data == value


@pytest.mark.parametrize(
    "text",
    [
        '{"a": {"b": 1}, "a": {"b": 2, "b": {"c": 3}}}',
        ' {"x":[{"a":{}}],"\\u0061":{"b":{}}} \n',
        '{"n": [NaN, -Infinity, 1e999, -0, 1.50], "a": {"z": NaN, "b": ["\\ud83d\\ude00"]}}',
        '{"a": {"b": ' + "[" * 90 + "]" * 90 + "}}",
    ],
    ids=["repeated keys", "an escaped key", "numbers", "nested"],
)
def test_json_with_and_without_a_comment_is_the_same_document(text: str) -> None:
    strict, scanned = JSON.open(text, "f"), JSON.open(text + "//", "f")
    assert type(strict) is not type(scanned)
    assert strict.data == scanned.data
    for keys in (("a",), ("a", "b")):
        assert strict.span(keys) == scanned.span(keys)
    for document in (strict, scanned):
        with pytest.raises(HostError, match=r"f: has no a\.none"):
            document.span(("a", "none"))


ENTRIES = st.fixed_dictionaries(
    {"command": TEXT},
    optional={"args": st.lists(TEXT, max_size=3), "env": st.dictionaries(TEXT, TEXT, max_size=2)},
)
REMOTES = st.fixed_dictionaries(
    {"url": TEXT},
    optional={"headers": st.dictionaries(TEXT, TEXT, max_size=2), "other": SCALARS, "type": TEXT},
)


@st.composite
def documents(draw: st.DrawFn, entries: st.SearchStrategy[dict[str, Any]]) -> str:
    data = {"before": draw(VALUES), "servers": {"x": draw(VALUES), "me": draw(entries)}}
    return draw(BLANKS) + draw(written({**data, "after": draw(VALUES)})) + draw(BLANKS)


def check_edit(text: str, new: dict[str, Any]) -> None:
    keys = ("servers", "me")
    start, end = JSON.open(text, "f").span(keys)
    old = JSON.open(text, "f").data["servers"]["me"]
    edited = edit_entry(JSON, text, "f", keys, new)
    assert edited.text[:start] == text[:start]
    assert edited.text[start + len(edited.after) :] == text[end:]
    assert JSON.open(edited.text, "f").data["servers"]["me"] == new
    assert replace_entry(JSON, edited.text, "f", keys, edited.before, old).text == text


@given(documents(ENTRIES))
def test_an_edit_of_a_local_entry_keeps_every_other_byte(text: str) -> None:
    old = JSON.open(text, "f").data["servers"]["me"]
    args = ["proxy", "--", old["command"], *old.get("args", [])]
    check_edit(text, {**old, "command": "/bin/clawai", "args": args})


@given(documents(REMOTES))
def test_an_edit_of_a_remote_entry_keeps_every_other_byte(text: str) -> None:
    old = JSON.open(text, "f").data["servers"]["me"]
    kept = {key: value for key, value in old.items() if key not in ("url", "headers", "type")}
    check_edit(text, {"command": "/bin/clawai", "args": ["proxy"], "env": {"A": "b"}, **kept})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{a: 1, $b_2: 'it\\'s', }", {"a": 1, "$b_2": "it's"}),
        ("[0xFF, -0x10, +1, .5, 5., 1e3]", [255, -16, 1, 0.5, 5.0, 1000.0]),
        ("'line \\\n continued \\x41 \\v \\0'", "line  continued A \v \0"),
        ('"\\ud83d\\ude00 \\ud83d"', "😀 \ud83d"),
        ("[Infinity, -Infinity]", [float("inf"), float("-inf")]),
        ('{"a": 1, "a": 2}', {"a": 2}),
        ("\ufeff // nothing else\n", {}),
        ("", {}),
    ],
)
def test_what_json5_adds_is_read(text: str, value: Any) -> None:
    assert JSON.open(text, "f").data == value


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{\n  "a": 1\n  "b": 2\n}', r"f:3: expected `,` or `}`, found `\"`"),
        ('{\n "a": "open\n}', "f:2: a string is not closed on its line"),
        ('{"a": [1, 2}', "f:1: expected `,` or `]`, found `}`"),
        ('{"a"\n\n 1}', "f:3: expected `:` after a key, found `1`"),
        ("{} {}", "f:1: `{` after the end of the document"),
        ('{"a": sekret}', "f:1: expected a value, found `s`"),
        ('{"a": 1', "f:1: expected `,` or `}`, found the end of the file"),
        ("{/* never closed", "f:1: expected a key or `}`, found `/`"),
        ("[" * 100_000, "f: is nested too deeply"),
    ],
)
def test_a_broken_document_says_where_and_what(text: str, problem: str) -> None:
    with pytest.raises(HostError) as caught:
        JSON.open(text, "f")
    assert str(caught.value).startswith(problem.replace("\\", ""))
    assert "left as it is" in str(caught.value)


def test_a_long_document_is_read_in_linear_time() -> None:
    text = '{"a": "' + "\\n" * 500_000 + '", // ' + "x" * 500_000 + "\n}"
    assert len(JSON.open(text, "f").data["a"]) == 500_000
