"""Names in annotations: every one of these is a text, for this module postpones them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import pytest

from clawkit.errors import SchemaError
from clawkit.tools.schema.annotations import AnnotationScope
from clawkit.tools.schema.signature import Signature, read_signature

if TYPE_CHECKING:
    from clawkit.tools.elsewhere import Context, Missing  # pyright: ignore[reportMissingImports]

T = TypeVar("T")
K = TypeVar("K")


@dataclass
class Item:
    name: str
    parent: Item | None = None


@dataclass
class First(Generic[T]):
    first: list[T]


@dataclass
class Both(First[K], Generic[T, K]):
    second: T


def read(fn: Callable[..., Any]) -> Signature:
    """A decorator, as far as names are concerned."""
    return read_signature(fn)


def test_a_text_means_what_it_means_in_its_module() -> None:
    @read
    def find(item: Item, also: "list[Item]") -> None: ...  # noqa: UP037

    assert find.bind({"item": {"name": "a"}, "also": []}) == {"item": Item("a"), "also": []}


def test_a_local_class_is_found_while_its_function_runs() -> None:
    @dataclass
    class Part:
        size: int

    @dataclass
    class Whole:
        parts: list[Part]

    @read
    def build(whole: Whole) -> None: ...

    assert build.bind({"whole": {"parts": [{"size": 1}]}}) == {"whole": Whole([Part(1)])}


def test_a_local_class_is_found_later_if_the_function_uses_it() -> None:
    def make() -> Callable[..., Any]:
        @dataclass
        class Part:
            size: int

        def build(part: Part) -> Any:
            return Part(part.size)

        return build

    build = make()
    assert build(**read(build).bind({"part": {"size": 1}})).size == 1


def test_a_local_class_wins_over_one_of_the_module() -> None:
    @dataclass
    class Item:
        number: int

    @read
    def find(item: Item) -> None: ...

    assert find.bind({"item": {"number": 1}}) == {"item": Item(1)}


def test_a_class_of_the_module_does_not_see_the_names_of_a_function() -> None:
    scope = AnnotationScope(globals(), {"Item": int})
    assert scope.resolve("Item") is int
    assert scope.hints(Item)["parent"] == Item | None


def test_a_method_sees_the_names_around_its_class() -> None:
    @dataclass
    class Part:
        size: int

    class Shop:
        @dataclass
        class Order:
            part: Part

        @read
        def buy(self, order: Order) -> None: ...

    assert Shop.buy.bind({"order": {"part": {"size": 1}}}) == {"order": Shop.Order(Part(1))}


def test_a_wrapped_function_is_read_where_it_was_written() -> None:
    def logged(fn: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(fn)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return fn(*args, **kwargs)

        return wrapper

    @read
    @logged
    def find(item: Item) -> None:
        """Find it."""

    assert find.bind({"item": {"name": "a"}}) == {"item": Item("a")}
    assert find.description == "Find it."


def test_type_parameters_are_filled_in_through_the_bases() -> None:
    @read
    def both(value: Both[int, Item]) -> None: ...

    sent = {"value": {"first": [{"name": "a"}], "second": 1}}
    assert both.bind(sent) == {"value": Both([Item("a")], 1)}


def test_an_injected_class_need_not_be_imported_at_run_time() -> None:
    context = type("Context", (), {})

    def ask(question: str, context: Context) -> None: ...

    signature = read_signature(ask, inject=context)
    assert signature.injected == "context"
    assert list(signature.input_schema["properties"]) == ["question"]


def test_a_name_that_is_not_known_is_refused_with_the_parameter() -> None:
    def find(item: Missing) -> None: ...

    with pytest.raises(SchemaError, match=r"find\(\): parameter `item`: name 'Missing'"):
        read_signature(find)


def test_a_name_that_is_not_known_inside_a_class_is_refused_with_the_class() -> None:
    @dataclass
    class Holder:
        item: Missing

    def find(holder: Holder) -> None: ...

    with pytest.raises(SchemaError, match=r"parameter `holder`: .*Holder uses a name .*'Missing'"):
        read_signature(find)


def test_a_return_type_that_is_not_known_matters_only_if_it_is_asked_for() -> None:
    def find(item: str) -> Missing: ...

    assert read_signature(find).output is None
    with pytest.raises(SchemaError, match=r"find\(\): return type: name 'Missing'"):
        read_signature(find, structured=True)


def test_a_text_that_is_no_annotation_is_refused() -> None:
    def find(item: "1 +") -> None: ...  # pyright: ignore  # noqa: F722, PGH003

    with pytest.raises(SchemaError, match=r"parameter `item`: .*1 \+.* is not a type"):
        read_signature(find)
