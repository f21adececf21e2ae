"""The server in a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from clawkit.errors import LoadError, SchemaError
from clawkit.tools.loader import load_server
from tests.claw import claw

TOOL = """
from clawkit import claw_tool, SdkMcpServerImpl

@claw_tool
def hello() -> str:
    return "hello"
"""
SERVER = TOOL + "\nmine = SdkMcpServerImpl('mine', '2.0.0')\nmine.register_tool(hello)\n"


def written(folder: Path, text: str) -> str:
    file = folder / "sample.py"
    file.write_text(text)
    return str(file)


def test_a_file_of_tools_becomes_a_server_of_its_name(tmp_path: Path) -> None:
    server = load_server(written(tmp_path, TOOL))
    assert (server.name, list(server.tools)) == ("sample", ["hello"])


def test_the_only_server_of_a_file_is_found(tmp_path: Path) -> None:
    assert load_server(written(tmp_path, SERVER)).version == "2.0.0"


def test_a_server_is_found_by_name_and_may_be_made_by_a_function(tmp_path: Path) -> None:
    file = written(tmp_path, SERVER + "def make():\n    return SdkMcpServerImpl('made', '1')\n")
    assert load_server(f"{file}:mine").name == "mine"
    assert load_server(f"{file}:make").name == "made"


@pytest.mark.parametrize(
    ("text", "suffix", "words"),
    [
        (SERVER + "other = SdkMcpServerImpl('o', '1')\n", "", "several servers (mine, other)"),
        (SERVER, ":nothing", "no server called 'nothing'"),
        (SERVER, ":hello", "no server called 'hello'"),
        ("x = 1\n", "", "decorate a function with @claw_tool"),
        ("import nothing_of_the_kind\n", "", "ModuleNotFoundError"),
        ("def f(:\n", "", "SyntaxError"),
        ("import sys; sys.exit(3)\n", "", "SystemExit"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(
    tmp_path: Path, text: str, suffix: str, words: str
) -> None:
    with pytest.raises(LoadError) as caught:
        load_server(written(tmp_path, text) + suffix)
    assert words in str(caught.value)


def test_a_missing_file_and_one_that_is_not_python_say_so(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="no such file"):
        load_server(str(tmp_path / "nothing.py"))
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(LoadError, match=r"\.py"):
        load_server(str(tmp_path / "notes.txt"))


def test_a_file_with_the_name_of_a_python_module_and_a_directory_are_refused(
    tmp_path: Path,
) -> None:
    (tmp_path / "math.py").write_text(TOOL)
    with pytest.raises(LoadError, match="Python has a module of this name"):
        load_server(str(tmp_path / "math.py"))
    (tmp_path / "rich.py").write_text(TOOL)
    with pytest.raises(LoadError, match="a package of this name is installed"):
        load_server(str(tmp_path / "rich.py"))
    with pytest.raises(LoadError, match="is a directory"):
        load_server(str(tmp_path))


def test_an_error_says_where_it_happened(tmp_path: Path) -> None:
    (tmp_path / "helper_of_sample.py").write_text("\n1 / 0\n")
    with pytest.raises(LoadError, match=r"division by zero \(in helper_of_sample.py, line 2\)"):
        load_server(written(tmp_path, "import helper_of_sample\n"))


def test_a_type_that_cannot_be_described_is_reported_as_such(tmp_path: Path) -> None:
    text = TOOL + "import threading\n@claw_tool\ndef bad(lock: threading.Lock) -> str: ...\n"
    with pytest.raises(SchemaError, match="lock"):
        load_server(written(tmp_path, text))


def test_a_file_may_import_its_neighbours_and_use_dataclasses(tmp_path: Path) -> None:
    (tmp_path / "neighbour_of_sample.py").write_text("WORD = 'hi'\n")
    text = """
from __future__ import annotations
from dataclasses import dataclass
from clawkit import claw_tool
from neighbour_of_sample import WORD

@dataclass
class Point:
    x: int

@claw_tool
def greet(at: Point) -> str:
    return WORD
"""
    server = load_server(written(tmp_path, text))
    assert "at" in server.tools["greet"].definition["inputSchema"]["properties"]


@pytest.mark.parametrize("command", ["tools", "call"])
def test_a_neighbour_with_the_name_of_a_package_of_ours_hides_nothing(
    tmp_path: Path, command: str
) -> None:
    for name in ("rich", "uvicorn", "typer", "msgspec", "anyio"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('this is not the package')\n")
    (tmp_path / "neighbour.py").write_text("CITY = 'Oslo'\n")
    code = """from clawkit import claw_tool
import neighbour

@claw_tool
def city() -> str:
    return neighbour.CITY
"""
    (tmp_path / "sample.py").write_text(code)
    done = claw(command, str(tmp_path / "sample.py"), code=0)
    assert "city" in done.stdout
