"""What the source imports is what `pyproject.toml` declares."""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.processes import ROOT

_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
_FOR_USERS = ("servers", "scans", "keyring", "minilm", "being", "login")


def declared() -> set[str]:
    """The distributions of the base install and of the extras that are for users."""
    extras = _PROJECT["optional-dependencies"]
    texts = [*_PROJECT["dependencies"], *(text for name in _FOR_USERS for text in extras[name])]
    wanted = [Requirement(text) for text in texts]
    of_extras = {f"{one.name}-{extra}" for one in wanted for extra in one.extras}
    return {canonicalize_name(name) for name in (*(one.name for one in wanted), *of_extras)}


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Those of a module, and those in them; to walk through every expression takes long."""
    for part in ("body", "orelse", "finalbody", "handlers", "cases"):
        for inner in getattr(node, part, ()):
            yield inner
            yield from statements(inner)


def imported() -> dict[str, str]:
    """Each top-level package that a file of ours imports, at its start or later, and one such."""
    found: dict[str, str] = {}
    for file in sorted((ROOT / "src").rglob("*.py")):
        for node in statements(ast.parse(file.read_bytes())):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [node.module]
            for name in names:
                found.setdefault(name.partition(".")[0], str(file.relative_to(ROOT)))
    return found


def packages_of(distribution: str) -> set[str]:
    """What can be imported from it, if it is here: some are for other systems only."""
    try:
        files = metadata.files(distribution) or []
    except metadata.PackageNotFoundError:
        return set()
    return {file.parts[0].partition(".")[0] for file in files}


def test_every_package_that_is_imported_is_declared() -> None:
    names = declared()
    known = {package for name in names for package in packages_of(name)}
    known |= {"clawkit", "_typeshed", *sys.stdlib_module_names}
    missing = {
        package: file
        for package, file in imported().items()
        if package not in known and canonicalize_name(package) not in names
    }
    assert missing == {}
