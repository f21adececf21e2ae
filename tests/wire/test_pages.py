"""Lists in pages."""

from __future__ import annotations

import pytest

from clawkit.errors import InvalidParamsError
from clawkit.wire.methods import page

ITEMS = {f"item-{n}": n for n in range(7)}


def test_a_short_list_is_one_page() -> None:
    assert page(ITEMS, None, 10) == (list(range(7)), None)


def test_the_pages_of_a_long_list_make_up_the_list() -> None:
    seen: list[int] = []
    cursor: object = None
    while True:
        found, cursor = page(ITEMS, cursor, 3)
        seen += found
        if cursor is None:
            break
    assert seen == list(range(7))


def test_a_page_that_ends_exactly_has_no_successor() -> None:
    _, cursor = page(ITEMS, None, 4)
    assert page(ITEMS, cursor, 3) == ([4, 5, 6], None)


def test_an_item_removed_before_the_cursor_hides_nothing() -> None:
    _, cursor = page(ITEMS, None, 3)
    fewer = {key: value for key, value in ITEMS.items() if key != "item-0"}
    assert page(fewer, cursor, 3)[0] == [3, 4, 5]


@pytest.mark.parametrize("cursor", ["", "!!!", "bm90aGluZw==", 5, [], "é"])
def test_an_unknown_cursor_is_an_error(cursor: object) -> None:
    with pytest.raises(InvalidParamsError, match="cursor"):
        page(ITEMS, cursor, 3)
