"""Which parameters a caller fills: of methods, partials, callable objects, and functions."""

import asyncio
import functools
import threading
from collections.abc import Callable
from typing import Annotated, Any

import pydantic
import pytest

from clawkit.errors import InvalidArgumentsError, SchemaError
from clawkit.tools.schema.signature import Signature, read_signature


class Context:
    """Stands for what a server injects."""


def refusal(signature: Signature, arguments: Any) -> tuple[str, str]:
    with pytest.raises(InvalidArgumentsError) as refused:
        signature.bind(arguments)
    return refused.value.argument, refused.value.problem


def calculator(operation: str, a: int, b: int) -> str:
    return f"{a} {operation} {b}"


def test_the_injected_parameter_is_not_the_callers() -> None:
    def ask(question: str, context: Context, **more: Any) -> None: ...

    signature = read_signature(ask, inject=Context)
    assert signature.injected == "context"
    assert list(signature.input_schema["properties"]) == ["question"]
    assert signature.bind({"question": "a"}) == {"question": "a"}
    assert refusal(signature, {"question": "a", "context": 1})[0] == "context"


@pytest.mark.parametrize("annotation", [Context, Context | None, Annotated[Context, "it"]])
def test_the_injected_class_is_known_in_every_form(annotation: Any) -> None:
    def ask(it: Any = None) -> None: ...

    ask.__annotations__["it"] = annotation
    assert read_signature(ask, inject=Context).injected == "it"


def test_the_class_is_injected_once() -> None:
    def ask(one: Context, other: Context) -> None: ...

    with pytest.raises(SchemaError, match=r"ask\(\): takes Context twice"):
        read_signature(ask, inject=Context)


def test_methods_partials_and_callable_objects_are_functions_too() -> None:
    class Shop:
        def buy(self, item: str, count: int = 1) -> str:
            """Buy it."""
            return f"{count} {item}"

        @classmethod
        def open(cls, name: str) -> str:
            return name

        @staticmethod
        def close(hour: int) -> int:
            return hour

        async def __call__(self, a: int) -> int:
            """Call it."""
            return a

    shop = Shop()
    for fn, sent, answer in [
        (shop.buy, {"item": "tea"}, "1 tea"),
        (Shop.open, {"name": "a"}, "a"),
        (Shop.close, {"hour": 5}, 5),
        (functools.partial(shop.buy, "tea"), {"count": 2}, "2 tea"),
        (functools.partial(shop.buy, count=3), {"item": "tea"}, "3 tea"),
        (functools.partial(functools.partial(calculator, "+"), 1), {"b": 2}, "1 + 2"),
    ]:
        assert fn(**read_signature(fn).bind(sent)) == answer
    assert asyncio.run(shop(**read_signature(shop).bind({"a": 1}))) == 1
    assert read_signature(shop).description == "Call it."
    assert read_signature(functools.partial(shop.buy, "tea")).description == "Buy it."


def test_what_a_partial_gives_by_name_is_settled() -> None:
    signature = read_signature(functools.partial(calculator, a=1))
    assert list(signature.input_schema["properties"]) == ["operation", "b"]
    assert refusal(signature, {"operation": "+", "b": 1, "a": 1})[0] == "a"


def test_self_is_left_out_of_a_function_that_is_not_a_method_yet() -> None:
    class Shop:
        def buy(self, item: str) -> None: ...

        def sell(cls, item: str, **more: Any) -> None: ...  # pyright: ignore[reportSelfClsParameterName]  # noqa: N805

    for function in (Shop.buy, Shop.sell):
        signature = read_signature(function)
        assert list(signature.input_schema["properties"]) == ["item"]
        assert refusal(signature, {"item": "a", "self": 1, "cls": 1})[0] in ("self", "cls")


def test_keyword_only_parameters_and_odd_names_are_fine() -> None:
    def take(*, __a: int, _b: int, self: int, value: int, clé: int) -> None: ...

    sent = {"__a": 1, "_b": 2, "self": 3, "value": 4, "clé": 5}
    assert read_signature(take).bind(sent) == sent
    assert refusal(read_signature(take), {**sent, "__a": "x"})[0] == "__a"


def test_a_pydantic_field_may_stand_in_the_place_of_a_default() -> None:
    def take(
        a: int = pydantic.Field(ge=1, description="The a."),
        b: list[int] = pydantic.Field(default_factory=list),  # noqa: B008
        c: str | None = pydantic.Field(None),
        d: int = pydantic.Field(5),
    ) -> None: ...

    signature = read_signature(take)
    assert signature.input_schema["required"] == ["a"]
    assert signature.input_schema["properties"]["a"] == {
        "type": "integer",
        "minimum": 1,
        "description": "The a.",
    }
    assert signature.bind({"a": 1}) == {"a": 1, "b": [], "c": None, "d": 5}


def untyped(a, b: int) -> None: ...
def starred(*names: str) -> None: ...
def positional(a: int, /) -> None: ...
def locked(lock: type(threading.Lock())) -> None: ...  # pyright: ignore[reportInvalidTypeForm]
def called(then: Callable[[], None]) -> None: ...
def keyworded(**more: complex) -> None: ...


@pytest.mark.parametrize(
    ("fn", "says"),
    [
        (untyped, r"untyped\(\): parameter `a` has no type; annotate it, e.g. `a: int`"),
        (starred, r"starred\(\): parameter `names` takes any number of values"),
        (positional, r"positional\(\): parameter `a` is positional-only; remove the `/`"),
        (locked, r"locked\(\): parameter `lock`: _thread.lock cannot be described"),
        (called, r"called\(\): parameter `then`: .*Callable"),
        (keyworded, r"keyworded\(\): .*complex cannot be described"),
        (iter, r"iter\(\): its parameters cannot be read"),
    ],
)
def test_a_parameter_that_cannot_be_described_is_refused(fn: Any, says: str) -> None:
    with pytest.raises(SchemaError, match=says):
        read_signature(fn)
