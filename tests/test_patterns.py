"""No regular expression uses what `re` gets wrong on a Python that we run on.

Possessive quantifiers and atomic groups match what they must not before Python 3.11.5, and around
captures later too.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from clawkit.guard.policy.readings import embedded_json
from clawkit.hosts.documents.json5 import Json5
from clawkit.hosts.documents.nodes import HASH_GAP
from clawkit.tools.text_features import compile_template
from tests.processes import PATIENCE, ROOT

_IMPORT_ALL = """
import importlib, pkgutil, re, sys
from tests.test_patterns import is_wrong
found, compile_pattern = set(), re._compiler.compile
def compile(pattern, flags=0):
    frame = sys._getframe(1)
    while frame.f_globals["__name__"] == "re":
        frame = frame.f_back
    if frame.f_globals["__name__"].startswith("clawkit") and is_wrong(pattern):
        found.add(pattern)
    return compile_pattern(pattern, flags)
re._compiler.compile = compile
re.purge()
import clawkit
for module in pkgutil.walk_packages(clawkit.__path__, "clawkit."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
print(*sorted(map(repr, found)), sep="\\n")
"""


_WORTH_PARSING = re.compile(r"[*+?}]\+|\(\?>")


def is_wrong(pattern: str | bytes) -> bool:
    """Whether it is a pattern that has a possessive quantifier or an atomic group."""
    text = pattern if isinstance(pattern, str) else pattern.decode("latin-1")
    if not _WORTH_PARSING.search(text):
        return False
    parser: Any = vars(re)["_parser"]

    def has(part: Any) -> bool:
        if isinstance(part, tuple | list | parser.SubPattern):
            return any(map(has, part))
        # Not `==`: the codes are numbers, and so are the letters of a pattern.
        return part is parser.POSSESSIVE_REPEAT or part is parser.ATOMIC_GROUP

    try:
        with warnings.catch_warnings(action="ignore"):  # not every text is meant as a pattern
            return has(parser.parse(pattern))
    except re.error:
        return False


def strings(tree: ast.AST) -> Iterator[str | bytes]:
    """Every string of a file, with `x` for what is put into it later."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(
                str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
            yield node.value


@pytest.mark.parametrize("pattern", ["a++", "x(?:a|(b*+))", "(?>a)b", "(?=(?:a?+)b)", "[a]{2,3}+"])
def test_such_a_pattern_is_seen(pattern: str) -> None:
    assert is_wrong(pattern)
    assert not is_wrong(pattern.replace("+", "").replace("(?>", "(?:"))


def test_no_string_in_the_source_is_such_a_pattern() -> None:
    found = [
        (str(file.relative_to(ROOT)), text)
        for file in sorted((ROOT / "src").rglob("*.py"))
        for text in strings(ast.parse(file.read_bytes()))
        if is_wrong(text)
    ]
    assert found == []


def test_no_pattern_in_a_data_file_is_such_a_one() -> None:
    files = sorted((ROOT / "src/clawkit/guard/scan").glob("*.toml"))
    assert files
    quoted = [re.findall(r"'([^'\n]+)'", file.read_text(encoding="utf-8")) for file in files]
    assert all(quoted)
    assert [text for texts in quoted for text in texts if is_wrong(text)] == []


def test_no_pattern_that_is_put_together_is_such_a_one() -> None:
    done = subprocess.run(
        (sys.executable, "-c", _IMPORT_ALL),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        cwd=ROOT,
    )
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr


# Where a part could end in several places, each of these would take longer than anybody waits.
MANY = 200_000


@pytest.mark.parametrize(
    "text",
    ["// " * MANY, " " * MANY, "/*" + "*" * MANY, "/**/" * MANY],
    ids=["lines", "blanks", "never closed", "many"],
)
def test_what_is_no_gap_in_json_is_found_out_in_linear_time(text: str) -> None:
    assert Json5.gap.fullmatch(text + "\nx") is None


def test_what_is_no_gap_in_toml_and_yaml_is_found_out_in_linear_time() -> None:
    assert HASH_GAP.fullmatch("# " * MANY + " \n" * MANY + "x") is None


def test_a_comment_that_is_never_closed_is_no_comment() -> None:
    match = Json5.gap.match(" /* never closed")
    assert match is not None
    assert match.end() == 1


def test_strings_too_deep_for_our_parser_are_found_in_linear_time() -> None:
    deep = "[" * MANY
    assert embedded_json(deep + '"' + '\\"' * MANY + "]") == []
    assert embedded_json(deep + '"a\\"b\\\\","c"]') == ['a"b\\', "c"]


def test_a_uri_with_many_beginnings_of_its_template_is_refused_in_linear_time() -> None:
    pattern = compile_template("log://{+year}-{+month}-{+day}/end")
    assert pattern.fullmatch("log://" + "-" * MANY + "/") is None
