"""`@claw_tool` on every kind of function, and what it leaves in the function's place."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from clawkit import Context, SdkMcpServerImpl, SdkMcpTool, ToolResult, claw_tool
from clawkit.errors import SchemaError
from tests.tools.calls import call


@claw_tool
async def word_count(text: str) -> int:
    """Count the words of a text.

    Args:
        text: What to count in.
    """
    return len(text.split())


def test_the_name_is_the_functions_with_dashes() -> None:
    assert word_count().name == "word-count"


def test_the_description_is_the_docstring_without_its_parameters() -> None:
    assert word_count().description == "Count the words of a text."
    assert word_count().input_schema["properties"]["text"]["description"] == "What to count in."


def test_no_docstring_gives_the_documented_description() -> None:
    @claw_tool
    def say_hello() -> str:
        return "hello"

    assert say_hello().description == "Tool: say-hello"


def test_name_and_description_can_be_given() -> None:
    @claw_tool(name="n", description="d")
    def anything() -> str:
        """Not this."""
        return ""

    assert (anything().name, anything().description) == ("n", "d")


def test_calling_the_decorated_function_gives_its_tool_and_fn_is_the_function() -> None:
    assert isinstance(word_count(), SdkMcpTool)
    assert word_count() is word_count()
    assert word_count.fn.__name__ == "word_count"


def test_calling_it_like_the_function_says_how_to_run_the_function() -> None:
    with pytest.raises(TypeError, match=r"word_count\.fn"):
        word_count("a b")


async def test_sync_async_methods_closures_partials_and_callables_are_tools() -> None:
    factor = 3

    @claw_tool
    def sync(a: int) -> int:
        return a * factor

    @claw_tool
    async def coroutine(a: int) -> int:
        return a * factor

    class Box:
        def __init__(self, factor: int) -> None:
            self.factor = factor

        @claw_tool
        def method(self, a: int) -> int:
            return a * self.factor

        @claw_tool
        async def async_method(self, a: int, context: Context) -> str:
            return f"{a * self.factor} by {context.tool_call_id}"

    class Callable:
        def __call__(self, a: int) -> int:
            return a * factor

    def scaled(a: int, by: int) -> int:
        return a * by

    for tool in (
        sync,
        coroutine,
        Box(3).method,
        claw_tool(Callable()),
        claw_tool(functools.partial(scaled, by=3)),
    ):
        assert await call(tool, {"a": 2}) == "6"
    assert await call(Box(5).async_method, {"a": 2}) == "10 by 1"


async def test_two_objects_of_one_class_are_two_tools() -> None:
    class Box:
        def __init__(self, word: str) -> None:
            self.word = word

        @claw_tool
        def word_of(self) -> str:
            return self.word

    first, second = Box("one"), Box("two")
    assert [await call(first.word_of, {}), await call(second.word_of, {})] == ["one", "two"]


def test_a_context_parameter_is_not_in_the_schema() -> None:
    @claw_tool
    def tool(a: int, context: Context) -> str:
        return f"{context.server.name} {a}"

    assert list(tool().input_schema["properties"]) == ["a"]


def test_an_unknown_option_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(SchemaError, match=r"no option readonly.*read_only"):
        claw_tool(readonly=True)  # pyright: ignore[reportCallIssue]


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ({"timeout": "a"}, "timeout: expected a number or null, got a string"),
        ({"timeout": -1}, "timeout: must be more than 0"),
        ({"concurrency": 0}, "concurrency: must be at least 1"),
        ({"icons": "foo"}, "icons"),
        ({"task": "foo"}, "task"),
        ({"name": "a b"}, "cannot name a tool"),
        ({"name": "x" * 200}, "cannot name a tool"),
        ({"description": 5}, "description must be a text"),
    ],
    ids=str,
)
def test_an_option_that_cannot_be_used_is_refused_where_it_is_written(
    option: dict[str, Any], words: str
) -> None:
    def tool() -> str:
        return ""

    with pytest.raises(SchemaError, match=words):
        claw_tool(**option)(tool)


def test_a_generator_and_a_lambda_are_refused() -> None:
    def numbers() -> Any:
        yield 1

    with pytest.raises(SchemaError, match="returns one value"):
        claw_tool(numbers)
    with pytest.raises(SchemaError, match="cannot name a tool"):
        claw_tool(lambda: "x")


def test_a_bare_string_is_an_error_that_shows_the_right_form() -> None:
    wrong: Any = "calculator"
    with pytest.raises(SchemaError, match="keyword arguments"):
        claw_tool(wrong)


def test_a_plain_function_cannot_be_registered_and_the_error_says_what_to_do() -> None:
    plain: Any = len
    with pytest.raises(SchemaError, match="@claw_tool"):
        SdkMcpServerImpl("s", "1").register_tool(plain)


@pytest.mark.parametrize("annotation", [ToolResult, "ToolResult"], ids=["class", "text"])
def test_structured_output_needs_the_type_of_the_value(annotation: Any) -> None:
    async def opaque() -> Any: ...

    opaque.__annotations__["return"] = annotation
    with pytest.raises(SchemaError, match="the value's own type"):
        claw_tool(structured=True)(opaque)


def test_options_become_annotations_and_meta() -> None:
    @claw_tool(
        title="Delete",
        read_only=False,
        destructive=True,
        idempotent=True,
        open_world=False,
        always_load=True,
        icons=[{"src": "https://example.com/i.png"}],
        meta={"com.example/owner": "ada"},
    )
    def delete(path: str) -> ToolResult:
        return ToolResult.text(path)

    definition = delete().definition
    assert definition["annotations"] == {
        "title": "Delete",
        "readOnlyHint": False,
        "destructiveHint": True,
        "idempotentHint": True,
        "openWorldHint": False,
    }
    assert definition["_meta"] == {"anthropic/alwaysLoad": True, "com.example/owner": "ada"}
    assert definition["icons"] == [{"src": "https://example.com/i.png"}]
    assert definition["title"] == "Delete"


def test_a_plain_tool_is_defined_by_name_description_and_schema_only() -> None:
    assert set(word_count().definition) == {"name", "description", "inputSchema"}


def test_a_function_with_self_is_refused_where_it_is_written() -> None:
    def greet(self, name: str) -> str:
        return f"{self}{name}"

    with pytest.raises(SchemaError, match="`self` belongs to methods, and this is a function"):
        claw_tool(greet)


async def test_self_with_a_type_is_an_argument_like_any_other() -> None:
    @claw_tool
    def greet(self: str, name: str) -> str:
        return f"{self} {name}"

    assert await call(greet, {"self": "Hello", "name": "Ada"}) == "Hello Ada"


def test_a_method_of_no_object_is_not_registered() -> None:
    server = SdkMcpServerImpl("shop", "1")

    class Shop:
        @claw_tool
        def buy(self, item: str) -> str:
            return item

    with pytest.raises(SchemaError, match="buy is a method: make an object of its class"):
        server.register_tool(Shop.buy)
    with pytest.raises(SchemaError, match="sell is a method"):

        class Other:
            @server.tool
            def sell(self, item: str) -> str:
                return item

    server.register_tool(Shop().buy)
    assert list(server.tools) == ["buy"]
