"""Functions as input schemas, and the arguments of a call as those of the function."""

import enum
import math
import threading
import timeit
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from clawkit.errors import InvalidArgumentsError, SchemaError
from clawkit.tools.schema.constraints import Field
from clawkit.tools.schema.signature import Signature, read_signature


class Context:
    """Stands for what a server injects."""


class Mood(enum.Enum):
    GOOD = "good"


@dataclass
class Scene:
    when: int
    tags: list[str] = field(default_factory=list)


def read(fn: Callable[..., Any], **options: Any) -> Signature:
    found = read_signature(fn, **options)
    Draft202012Validator.check_schema(found.input_schema)
    return found


def refusal(signature: Signature, arguments: Any) -> tuple[str, str]:
    with pytest.raises(InvalidArgumentsError) as refused:
        signature.bind(arguments)
    return refused.value.argument, refused.value.problem


def calculator(operation: str, a: int, b: int) -> str:
    """Do arithmetic.

    Args:
        operation: What to do.
        a: The first number.
    """
    return f"{a} {operation} {b}"


def test_the_schema_is_literally_that_of_the_documentation() -> None:
    def echo(text: str, repeat: int | None, tags: list[str], loud: bool, pitch: float) -> None: ...

    assert read(echo).input_schema == {
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "repeat": {"type": "integer"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "loud": {"type": "boolean"},
            "pitch": {"type": "number"},
        },
        "required": ["text", "tags", "loud", "pitch"],
    }


def test_a_function_without_parameters_takes_an_empty_object() -> None:
    def ping() -> None: ...

    assert read(ping).input_schema == {"type": "object", "properties": {}}
    assert read(ping).bind({}) == {}
    assert refusal(read(ping), {"a": 1}) == ("a", "unknown argument; this tool takes no arguments")


def test_the_docstring_describes_the_tool_and_its_parameters() -> None:
    signature = read(calculator)
    assert signature.description == "Do arithmetic."
    assert signature.input_schema["properties"] == {
        "operation": {"type": "string", "description": "What to do."},
        "a": {"type": "integer", "description": "The first number."},
        "b": {"type": "integer"},
    }


def test_annotated_wins_over_the_docstring() -> None:
    def draw(size: Annotated[int, Field(description="Edge.")], scene: Scene) -> None:
        """Draw.

        Args:
            size: Not this.
            scene: What to draw.
        """

    properties = read(draw).input_schema["properties"]
    assert properties["size"] == {"type": "integer", "description": "Edge."}
    assert properties["scene"] == {"$ref": "#/$defs/Scene", "description": "What to draw."}


def test_no_docstring_is_no_description() -> None:
    assert read(lambda: None).description == ""


@pytest.mark.parametrize(
    ("annotation", "default", "shown"),
    [
        (int, 3, {"type": "integer", "default": 3}),
        (str, "", {"type": "string", "default": ""}),
        (bool, False, {"type": "boolean", "default": False}),
        (list[int], [1], {"type": "array", "items": {"type": "integer"}, "default": [1]}),
        (int, None, {"type": "integer"}),
        (int | None, 3, {"type": "integer", "default": 3}),
        (Mood, Mood.GOOD, {"type": "string", "enum": ["good"], "default": "good"}),
        (Path, Path("a"), {"type": "string", "format": "path", "default": "a"}),
        (float, math.inf, {"type": "number"}),
        (Any, threading.Lock(), {}),
    ],
)
def test_a_default_makes_a_parameter_optional_and_is_shown_if_json_can(
    annotation: Any, default: Any, shown: dict[str, Any]
) -> None:
    def take(a: Any = default) -> None: ...

    take.__annotations__["a"] = annotation
    signature = read(take)
    assert signature.input_schema == {"type": "object", "properties": {"a": shown}}
    bound = signature.bind({})["a"]
    assert bound == default if isinstance(default, float | list) else bound is default


def test_a_default_that_a_tool_changes_is_new_for_the_next_call() -> None:
    def take(a: list[int] = [], b: dict[str, int] = {}) -> None: ...  # noqa: B006

    signature = read(take)
    signature.bind({})["a"].append(1)
    signature.bind({})["b"]["x"] = 1
    assert signature.bind({}) == {"a": [], "b": {}}


@pytest.mark.parametrize(
    "annotation",
    [int | None, Optional[int], Annotated[int | None, "n"]],  # noqa: UP045
    ids=["union", "Optional", "Annotated"],  # since Python 3.14 the first two are of one class
)
def test_an_optional_parameter_may_be_left_out_or_null(annotation: Any) -> None:
    def take(a: Any) -> None: ...

    take.__annotations__["a"] = annotation
    signature = read(take)
    assert "required" not in signature.input_schema
    assert signature.input_schema["properties"]["a"]["type"] == "integer"
    assert [signature.bind(sent)["a"] for sent in ({}, {"a": None}, {"a": 1})] == [None, None, 1]


def test_an_optional_union_keeps_its_other_members() -> None:
    def take(a: int | str | None, b: Scene | list[int] | set[str] | None = None) -> None: ...

    properties = read(take).input_schema["properties"]
    assert properties["a"] == {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    assert len(properties["b"]["anyOf"]) == 3


def test_a_value_that_is_nested_deeper_than_python_recurses_is_refused_like_any_other() -> None:
    def take(a: str, b: int = 1) -> None: ...

    lists: Any = []
    objects: Any = {}
    for _ in range(5000):  # since Python 3.12 a client can send it: what reads JSON goes deeper
        lists, objects = [lists], {"a": objects}
    assert refusal(read(take), {"a": lists}) == ("a", "expected a string, got a list")
    assert refusal(read(take), {"a": "x", "b": objects}) == (
        "b",
        "expected an integer, got an object",
    )


def test_null_is_refused_where_there_is_another_default() -> None:
    def take(a: int = 3) -> None: ...

    assert refusal(read(take), {"a": None}) == ("a", "expected an integer, got null")


def test_definitions_are_shared_at_the_root() -> None:
    def cut(first: Scene, rest: list[Scene]) -> None: ...

    schema = read(cut).input_schema
    assert schema["properties"]["first"] == {"$ref": "#/$defs/Scene"}
    assert schema["properties"]["rest"]["items"] == {"$ref": "#/$defs/Scene"}
    assert list(schema["$defs"]) == ["Scene"]


def test_a_header_is_asked_for_in_the_schema() -> None:
    def take(tenant: Annotated[str, Field(header="Tenant")]) -> None: ...

    assert read(take).input_schema["properties"]["tenant"]["x-mcp-header"] == "Tenant"


def test_arguments_become_the_functions_own() -> None:
    def take(scenes: list[Scene], mood: Mood, kind: Literal["a"] = "a", **more: Any) -> None: ...

    signature = read(take)
    assert signature.bind({"scenes": [{"when": 1.0}], "mood": "good", "x": [1]}) == {
        "scenes": [Scene(1)],
        "mood": Mood.GOOD,
        "kind": "a",
        "x": [1],
    }


def test_each_call_has_keyword_arguments_of_its_own() -> None:
    signature = read(calculator)
    first = signature.bind({"operation": "+", "a": 1, "b": 2})
    first["context"] = 1
    assert signature.bind({"operation": "+", "a": 1, "b": 2}) == {
        "operation": "+",
        "a": 1,
        "b": 2,
    }


@pytest.mark.parametrize(
    ("sent", "argument", "problem"),
    [
        ({}, "operation", "missing required argument"),
        ({"operation": "+", "b": 1}, "a", "missing required argument"),
        ({"operation": "+", "a": "1", "b": 1}, "a", "expected an integer, got a string"),
        (
            {"operation": "+", "a": 1, "b": 1, "c": 1},
            "c",
            "unknown argument; this tool takes operation, a, b",
        ),
        ({"c": 1}, "c", "unknown argument; this tool takes operation, a, b"),
        (None, "", "expected an object, got null"),
        ([], "", "expected an object, got a list"),
    ],
)
def test_a_wrong_call_is_told_which_argument_and_why(
    sent: Any, argument: str, problem: str
) -> None:
    assert refusal(read(calculator), sent) == (argument, problem)


def test_a_problem_inside_an_argument_is_found_by_its_path() -> None:
    def take(scenes: list[Scene], by_name: dict[str, Scene] | None = None) -> None: ...

    signature = read(take)
    assert refusal(signature, {"scenes": [{"when": "x"}]}) == (
        "scenes[0].when",
        "expected an integer, got a string",
    )
    assert refusal(signature, {"scenes": [{}]}) == ("scenes[0].when", "missing required field")
    assert refusal(signature, {"scenes": {}}) == ("scenes", "expected a list, got an object")


def test_the_error_reads_as_one_line() -> None:
    with pytest.raises(InvalidArgumentsError) as refused:
        read(calculator).bind({"operation": "+", "a": "1", "b": 1})
    assert str(refused.value) == "a: expected an integer, got a string"


def test_any_extra_argument_goes_to_the_double_starred_parameter() -> None:
    def take(a: int, **more: int) -> None: ...

    signature = read(take)
    assert signature.bind({"a": 1, "b": 2.0, "c": 3}) == {"a": 1, "b": 2, "c": 3}
    assert refusal(signature, {"a": 1, "b": "x"}) == ("b", "expected an integer, got a string")
    assert refusal(signature, {"b": 1}) == ("a", "missing required argument")


def test_an_extra_argument_that_does_not_fit_is_found_by_its_path() -> None:
    def take(**scenes: Scene) -> None: ...

    def lists(**numbers: list[int]) -> None: ...

    assert refusal(read(take), {"a": {"when": "x"}})[0] == "a.when"
    assert refusal(read(lists), {"a": ["x"]})[0] == "a[0]"


def test_a_result_that_is_an_object_is_described_as_it_is() -> None:
    def cut() -> Scene: ...

    signature = read(cut, structured=True)
    assert signature.output is not None
    assert not signature.output_wrapped
    assert signature.output.schema["type"] == "object"
    assert list(signature.output.schema["properties"]) == ["when", "tags"]
    assert signature.output.convert({"when": 1}) == Scene(1)


@pytest.mark.parametrize("annotation", [int, list[Scene], Scene | None, None])
def test_any_other_result_is_wrapped_in_an_object(annotation: Any) -> None:
    def cut() -> Any: ...

    cut.__annotations__["return"] = annotation
    signature = read(cut, structured=True)
    assert signature.output is not None
    assert signature.output_wrapped
    schema = signature.output.schema
    Draft202012Validator.check_schema(schema)
    assert (schema["type"], schema["required"]) == ("object", ["result"])
    assert ("$defs" in schema) == ("Scene" in str(annotation))
    sent = {int: 1, None: None}.get(annotation, [{"when": 1}])
    assert Draft202012Validator(schema).is_valid({"result": sent}) == (annotation != Scene | None)


def test_a_result_is_described_only_if_that_is_asked_for() -> None:
    def odd() -> complex: ...
    def silent(): ...

    for fn in (odd, silent):
        assert read(fn).output is None
        assert not read(fn).output_wrapped
    with pytest.raises(SchemaError, match=r"odd\(\): return type: complex"):
        read(odd, structured=True)
    with pytest.raises(SchemaError, match=r"silent\(\): return type is missing; annotate it"):
        read(silent, structured=True)


@given(
    st.integers() | st.floats(allow_nan=False, allow_infinity=False), st.text("ab"), st.booleans()
)
def test_what_bind_accepts_fits_the_schema(number: float, text: str, flag: bool) -> None:
    def take(a: float, b: str, c: bool = False) -> None: ...

    sent = {"a": number, "b": text, "c": flag}
    signature = read(take)
    assert signature.bind(sent) == {**sent, "a": float(number)}
    Draft202012Validator(signature.input_schema).validate(sent)


def test_binding_three_primitives_is_fast() -> None:
    signature = read(calculator)
    sent = {"operation": "+", "a": 1, "b": 2}
    best = min(timeit.repeat(lambda: signature.bind(sent), number=2000, repeat=7)) / 2000
    assert best < 10e-6  # about 0.7 µs on a quiet machine; the rest is room for a busy one
