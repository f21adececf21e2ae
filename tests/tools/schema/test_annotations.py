"""Types that cannot be described: each is refused, and none becomes a string or an object."""

from __future__ import annotations

import collections
import enum
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import InitVar, dataclass
from typing import Annotated, Any, Generic, TypeAlias, TypeVar

import pytest

from clawkit.errors import SchemaError
from clawkit.tools.schema.reader import converter_for

T = TypeVar("T")
Names: TypeAlias = "list[str]"


@dataclass
class Point:
    x: int


@dataclass
class Box(Generic[T]):
    content: T


def test_a_text_that_names_a_type_alias_is_not_a_type() -> None:
    with pytest.raises(SchemaError, match="it: list"):
        converter_for(Names, where="it")


@pytest.mark.parametrize(
    ("annotation", "named"),
    [
        (type(threading.Lock()), "_thread.lock"),
        (Callable, "Callable"),
        (Callable[[int], str], r"Callable\[\[int\], str\]"),
        (type("Empty", (), {}), "Empty"),
        (list[type("Empty", (), {})], "Empty"),
        (T, "~T"),
        (list[T], "~T"),  # pyright: ignore[reportGeneralTypeIssues]
        (Box, r"field Box.content: ~T"),
        (Box[complex], r"field Box\[complex\].content: complex"),
        (dict[str, collections.deque[int]], r"deque\[int\]"),
        (dict[Point, int], "keys of a JSON object are strings"),
        (set[Point], "no hash"),
        (set[Annotated[Point | int, "x"]], "set cannot hold"),
        (Iterator[int], r"Iterator\[int\]"),
        (type[int], r"type\[int\]"),
        (re.Pattern, "re.Pattern"),
        (complex, "complex"),
        (enum.Enum("Odd", {"A": (1, 2)}), "Odd"),
        (5, "5"),
    ],
)
def test_a_type_that_cannot_be_described_is_refused_by_name(annotation: Any, named: str) -> None:
    with pytest.raises(SchemaError, match=named) as refused:
        converter_for(annotation, where="draw(): parameter `a`")
    assert str(refused.value).startswith("draw(): parameter `a`")


def test_an_alias_that_contains_itself_is_refused() -> None:
    class Alias:
        """What `type Endless = list[Endless]` makes, from Python 3.12 on."""

    endless: Any = Alias()
    endless.__value__ = list[endless]
    with pytest.raises(SchemaError, match="contains itself"):
        converter_for(endless, where="it")


def test_a_dataclass_with_arguments_that_are_no_fields_is_refused() -> None:
    @dataclass
    class Seeded:
        seed: InitVar[int]

    with pytest.raises(SchemaError, match=r"field Seeded.seed: .*InitVar"):
        converter_for(Seeded, where="it")
