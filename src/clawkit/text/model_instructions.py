"""Instructions to the model in a text: prompt injections, and standing orders.

A guard must not flag what servers write in good faith, so it knows only what overrides, conceals
and steals. What is remembered is read again in every later session: there a sentence that has no
person who does something, only "always run …" or "you must never …", is taken for an order too.
"""

from __future__ import annotations

import re
from functools import cache

from clawkit.text.injections import find_injections
from clawkit.text.keyword_search import KeywordSearch, decoded
from clawkit.text.normalization import plain_content
from clawkit.text.tables import expanded, listed, table

STANDING = "standing-order"


@cache
def _stems() -> KeywordSearch:
    return KeywordSearch(stem.encode() for stem in listed(table("standing_orders")["stems"]))


@cache
def _standing() -> re.Pattern[str]:
    found = table("standing_orders")
    orders = (expanded(order, found["parts"]) for order in found["orders"])
    return re.compile("|".join(f"(?:{order})" for order in orders), re.MULTILINE)


def find_instructions(text: str) -> tuple[str, ...]:
    """The names of the kinds of orders that a text gives."""
    found = find_injections(text)
    content = plain_content(text)
    if not _stems().places(content) or not _standing().search(decoded(content)):
        return found
    return (*found, STANDING)
