"""What can be imported from `clawkit.memory`, `clawkit.guard` and `clawkit.claude`, and used."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clawkit import SdkMcpServerImpl, Server, claw_tool
from clawkit.errors import BeingError, InvalidArgumentsError, PolicyError, SettingsError
from clawkit.guard import guard_server, load_policy
from clawkit.memory import open_being
from tests.processes import ROOT

POLICY = """
[[rule]]
description = "no deleting"
action = "deny"
tool = "delete*"

[[rule]]
description = "ask before writing"
action = "prompt"
tool = "write"

[[rule]]
description = "the rest"
action = "allow"
tool = "*"
"""


@claw_tool
def delete_all() -> str:
    """Deletes everything."""
    raise AssertionError("it was called")


@claw_tool
def write(text: str) -> str:
    """Writes."""
    return f"wrote {text}"


def request(tool: str, **arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "policy.toml"
    path.write_text(POLICY)
    return path


FACES = ["clawkit", "clawkit.memory", "clawkit.guard", "clawkit.claude", "clawkit.models"]
PAGES = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.py")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_imports_nothing_from_behind_a_face(page: Path) -> None:
    imported = re.findall(r"^\s*(?:from|import) (clawkit[\w.]*)", page.read_text(), re.MULTILINE)
    assert set(imported) <= {*FACES, "clawkit.errors"}


@pytest.mark.parametrize("module", FACES)
def test_everything_that_a_face_names_can_be_imported_from_it(module: str) -> None:
    face = importlib.import_module(module)
    assert face.__all__
    assert [name for name in face.__all__ if getattr(face, name, None) is None] == []
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        _ = face.nothing_of_the_kind


def test_server_is_the_plain_name_of_the_documented_one() -> None:
    assert Server is SdkMcpServerImpl


def test_a_being_is_opened_told_and_asked_in_five_lines(tmp_path: Path) -> None:
    with open_being("ada", store=f"sqlite:{tmp_path / 'beings.db'}") as ada:
        key = ada.remember("The spare key hangs behind the fern.")
        assert ada.hear("My wife Sara is allergic to nuts.") == 1
        assert "behind the fern" in ada.recall("Where is the spare key?")
        assert ada.recall("Who won the cup final in 1998?") == ""
        assert ada.search("spare key")[0] == (key, "The spare key hangs behind the fern.")
        ada.forget(key)
        ada.patrol()
        assert "fern" not in ada.recall("Where is the spare key?")
    with open_being("ada", store=f"sqlite:{tmp_path / 'beings.db'}") as again:
        assert "nuts" in again.recall("What is Sara allergic to?")


def test_a_being_forgets_by_the_beginning_of_an_id_and_says_which_memory_is_not_there(
    tmp_path: Path,
) -> None:
    with open_being("ada", store=f"sqlite:{tmp_path / 'beings.db'}", embedder="none") as ada:
        kept = ada.remember("The spare key hangs behind the fern.")
        gone = ada.remember("The bus leaves at seven.")
        ada.forget(gone[:8])
        assert [found for found, _ in ada.search("key bus")] == [kept]
        for unknown in ("00000000", "3f1c1f9e-0000-4000-8000-000000000000"):
            with pytest.raises(BeingError, match=f"there is no memory {unknown}"):
                ada.forget(unknown)
        with pytest.raises(BeingError, match="no id of a memory"):
            ada.forget("the one about the bus")


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        (lambda ada: ada.remember(None), "text: must be a str, and None is none"),
        (lambda ada: ada.remember(" "), "text: must not be empty"),
        (lambda ada: ada.remember("x", when="soon"), r"when\[0\]: must be a date"),
        (lambda ada: ada.recall(None), "message: must be a str"),
        (lambda ada: ada.hear(None), "messages: must be a str"),
        (lambda ada: ada.forget(3), "ids: must be a str, and 3 is none"),
    ],
)
def test_a_being_names_the_argument_that_is_wrong(
    tmp_path: Path, wrong: Callable[[Any], object], problem: str
) -> None:
    with (
        open_being("ada", store=f"sqlite:{tmp_path / 'beings.db'}", embedder="none") as ada,
        pytest.raises(InvalidArgumentsError, match=f"^{problem}"),
    ):
        wrong(ada)


def test_an_embedder_that_does_not_exist_is_told_where_a_being_is_opened(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no embedder is called 'nope'"):
        open_being("ada", store=f"sqlite:{tmp_path / 'beings.db'}", embedder="nope")


def test_a_closed_being_neither_reads_nor_writes(tmp_path: Path) -> None:
    with open_being("ada", store=f"sqlite:{tmp_path / 'beings.db'}", embedder="none") as ada:
        key = ada.remember("The spare key hangs behind the fern.")
    for use in (
        lambda: ada.remember("x"),
        lambda: ada.recall("key"),
        lambda: ada.search("key"),
        lambda: ada.hear("x"),
        lambda: ada.forget(key),
        ada.patrol,
    ):
        with pytest.raises(BeingError, match="this Being is closed"):
            use()


def test_a_policy_decides_about_a_call(policy: Path) -> None:
    loaded = load_policy(policy)
    assert loaded.decide("delete_all").action == "deny"
    assert loaded.decide("write", {"text": "x"}).action == "prompt"
    assert loaded.decide("read").action == "allow"
    with pytest.raises(PolicyError, match="policy init"):
        load_policy(policy.with_name("none.toml"))


async def test_a_guarded_server_runs_only_what_the_policy_and_the_person_allow(
    policy: Path,
) -> None:
    server = Server("files", "1.0.0")
    server.register_tool(delete_all)
    server.register_tool(write)
    asked: list[str] = []

    async def yes(call: Any, decision: Any) -> bool:
        asked.append(f"{call.tool}: {decision.action}")
        return True

    guarded = guard_server(server, policy, ask=yes)
    denied = await guarded.handle_jsonrpc(request("delete_all"))
    assert denied is not None
    assert denied["error"]["code"] == -32001
    written = await guarded.handle_jsonrpc(request("write", text="x"))
    assert written is not None
    assert written["result"]["content"][0]["text"] == "wrote x"
    assert asked == ["write: prompt"]
    alone = await guard_server(server, policy).handle_jsonrpc(request("write", text="x"))
    assert alone is not None
    assert alone["error"]["code"] == -32001
    listed = await guarded.handle_jsonrpc({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
    assert listed is not None
    assert len(listed["result"]["tools"]) == 2
