from __future__ import annotations

import stat
import subprocess
import sys

import pytest

from clawkit.errors import HostError
from clawkit.hosts.ledger import (
    Item,
    RemoteRecord,
    RemoteTarget,
    items,
    ledger_file,
    locked,
    remote,
    wrapped_command,
)


def item(number: int, server: str, *argv: str, record: RemoteRecord | None = None) -> Item:
    return Item(
        id=f"{number:012x}",
        client="cursor",
        file="/home/me/.cursor/mcp.json",
        keys=("mcpServers", f"{server}{number}"),
        server=server,
        original="{}",
        wrapped="{}",
        sha256="0" * 64,
        time="2026-01-01T00:00:00Z",
        argv=argv,
        remote=record,
    )


def save(*new: Item) -> None:
    with locked() as ledger:
        ledger.add(new)


def test_without_a_ledger_a_command_has_no_names() -> None:
    assert wrapped_command(["npx", "x"]).servers == ()
    assert not ledger_file().exists()


def test_a_command_has_each_name_it_was_wrapped_under_once() -> None:
    save(item(1, "a", "npx", "x"), item(2, "b", "npx", "x"), item(3, "a", "npx", "x"))
    save(item(4, "c", "npx", "y"))
    assert wrapped_command(["npx", "x"]).servers == ("a", "b")
    assert wrapped_command(("npx", "x", "z")).servers == ()


@pytest.mark.parametrize(
    ("wrapped", "started", "fits"),
    [
        ("${workspaceFolder}/a", "/src/a", True),
        ("${workspaceFolder}/a", "/src/b", False),
        ("{env:ROOT}", "/anything", True),
        ("$HOME/x", "/home/me/x", True),
        ("%APPDATA%\\x", "C:\\x", True),
        ("$5", "other", False),
        ("a.c", "abc", False),
    ],
)
def test_a_template_fits_what_a_client_may_have_filled_in(
    wrapped: str, started: str, fits: bool
) -> None:
    save(item(1, "a", "npx", wrapped))
    assert wrapped_command(["npx", started]).servers == (("a",) if fits else ())


def test_the_very_command_counts_more_than_a_template() -> None:
    save(item(1, "any", "npx", "${X}"), item(2, "exact", "npx", "x"))
    assert wrapped_command(["npx", "x"]).servers == ("exact",)


def test_only_this_person_can_read_it() -> None:
    save(item(1, "a", "npx"))
    assert stat.S_IMODE(ledger_file().stat().st_mode) == 0o600
    assert stat.S_IMODE(ledger_file().parent.stat().st_mode) == 0o700
    assert {path.name for path in ledger_file().parent.iterdir()} == {"ledger.json", "ledger.lock"}


def test_a_remote_entry_has_its_variables_filled_in() -> None:
    record = RemoteRecord(
        "https://a.example/mcp?x=${NOT}",
        "http",
        {"Authorization": "Bearer ${TOKEN}", "X-Literal": "${TOKEN}"},
        expand=("Authorization",),
    )
    save(item(7, "a", record=record))
    assert remote(f"{7:012x}", {"TOKEN": "t"}) == RemoteTarget(
        "a",
        "https://a.example/mcp?x=${NOT}",
        {"Authorization": "Bearer t", "X-Literal": "${TOKEN}"},
        "http",
    )
    with pytest.raises(HostError, match="a: needs the variable TOKEN"):
        remote(f"{7:012x}", {})


def test_an_unknown_remote_entry_says_what_to_do() -> None:
    save(item(1, "a", "npx"))
    with pytest.raises(HostError, match=r"has no remote server `ffff`.*wrap it anew"):
        remote("ffff")
    with pytest.raises(HostError, match="has no remote server"):
        remote(f"{1:012x}")


def test_a_half_written_ledger_is_an_error_and_not_an_empty_one() -> None:
    save(item(1, "a", "npx", "x"))
    whole = ledger_file().read_bytes()
    ledger_file().write_bytes(whole[: len(whole) // 2])
    for use in (
        items,
        lambda: wrapped_command(["npx", "x"]).servers,
        lambda: save(item(2, "b", "npx")),
    ):
        with pytest.raises(HostError, match=r"ledger\.json: is damaged .* Move it away"):
            use()
    assert ledger_file().read_bytes() == whole[: len(whole) // 2]


def test_what_a_killed_writer_left_beside_it_does_not_count() -> None:
    save(item(1, "a", "npx", "x"))
    (ledger_file().parent / ".ledger.json.0123456789ab.tmp").write_bytes(b"[{")
    assert wrapped_command(["npx", "x"]).servers == ("a",)


def test_a_name_is_found_without_loading_anything_heavy() -> None:
    save(item(1, "a", "npx", "x"))
    script = (
        "import sys; from clawkit.hosts.ledger import wrapped_command; "
        "print(wrapped_command(['npx', 'x']).servers, sorted({'yaml', 'tomllib', 'typer', "
        "'asyncio', 'subprocess', 'clawkit.hosts.clients'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "('a',) []"
