from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from clawkit.assistant.toolbox.toolbox import assign_names, near_names

RULE = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def test_a_name_is_made_of_the_server_and_the_tool() -> None:
    assert assign_names([("notes", "read-note")]) == ["mcp__notes__read-note"]


def test_a_tool_without_a_server_keeps_its_name() -> None:
    assert assign_names([("", "send_file")]) == ["send_file"]


def test_letters_that_providers_refuse_are_replaced() -> None:
    assert assign_names([("my notes", "größe.lesen")]) == ["mcp__my_notes__gr__e_lesen"]


def test_a_tool_that_is_renamed_does_not_take_the_name_of_another() -> None:
    dotted, plain = assign_names([("x", "get.it"), ("x", "get_it")])
    assert plain == "mcp__x__get_it"
    assert dotted.startswith("mcp__x__get_it_")


def test_a_long_name_is_cut_and_marked() -> None:
    one, other = assign_names([("s" * 40, "t" * 80 + "1"), ("s" * 40, "t" * 80 + "2")])
    assert len(one) == len(other) == 64
    assert one != other
    assert "__tttt" in one, "the tool can still be recognised"


@given(st.lists(st.tuples(st.text(max_size=70), st.text(min_size=1, max_size=70)), unique=True))
def test_every_name_is_valid_and_only_given_once(tools: list[tuple[str, str]]) -> None:
    names = assign_names(tools)
    assert all(RULE.fullmatch(name) for name in names)
    assert len(set(names)) == len(tools)
    assert names == assign_names(tools)


def test_a_near_name_is_found_with_and_without_its_server() -> None:
    known = ["mcp__notes__read-note", "mcp__notes__write-note", "mcp__web__fetch"]
    assert near_names("mcp__notes__raed-note", known)[0] == "mcp__notes__read-note"
    assert near_names("fetch", known) == ["mcp__web__fetch"]
    assert near_names("mcp__browser__fetch", known)[0] == "mcp__web__fetch"
    assert near_names("qqqqqq", known) == []
