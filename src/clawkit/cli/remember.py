"""`claw remember` and `claw recall`: writes one sentence to memory, and searches it."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from clawkit.assistant.memory.place import MemoryPlace
from clawkit.cli.being.options import BeingOption, EmbedderOption, StoreOption, say_removed
from clawkit.cli.commands import AsJson, CommandFailure, print_json, print_lines, read_stdin
from clawkit.cli.memory.access import SearchRequest, memory_access

_NOTHING = "No relevant memories found."


def remember(
    text: Annotated[
        list[str] | None,
        typer.Argument(metavar="TEXT", help="What happened or what is so; - for stdin."),
    ] = None,
    when: Annotated[
        list[str] | None,
        typer.Option(metavar="DATE", help="The day of it, YYYY-MM-DD; today, without."),
    ] = None,
    about: Annotated[
        list[str] | None,
        typer.Option(
            "--about", "--actor", metavar="NAME", help="Who it is about; can be repeated."
        ),
    ] = None,
    where: Annotated[
        str, typer.Option(metavar="TEXT", help="Where it was, or in which context.")
    ] = "",
    feeling: Annotated[str, typer.Option(metavar="TEXT", help="How it felt.")] = "",
    theme: Annotated[
        list[str] | None, typer.Option(metavar="WORD", help="What it is about; can be repeated.")
    ] = None,
    importance: Annotated[
        float,
        typer.Option(
            min=0, max=1, metavar="0…1", help="How much it matters; what does fades late."
        ),
    ] = 0.5,
    being: BeingOption = "",
    address: StoreOption = "",
    embedder: EmbedderOption = "",
    as_json: AsJson = False,
) -> None:
    """Remember something, from now on: `claw remember "Anna is allergic to nuts"`."""
    place = MemoryPlace(address, embedder)
    said = _given(text, "to remember", "remember")
    scene: dict[str, Any] = {
        "actors": about or [],
        "when": when or [],
        "setting": where,
        "feeling": feeling,
        "themes": theme or [],
        "importance": importance,
    }
    with memory_access(place, being) as memory:
        kept = memory.remember(said, scene)
    if not as_json:
        print(kept.line)
        say_removed(kept.removed)
    elif isinstance(kept.record, str):
        print(kept.record)
    else:
        print_json(kept.record)


def recall(
    text: Annotated[
        list[str] | None,
        typer.Argument(metavar="TEXT", help="A question, or anything; - for stdin."),
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show why each was found.")] = False,
    as_of: Annotated[str, typer.Option(metavar="DATE", help="What was so then, not now.")] = "",
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=100, help="How many at most.")
    ] = 3,
    being: BeingOption = "",
    address: StoreOption = "",
    embedder: EmbedderOption = "",
    as_json: AsJson = False,
) -> None:
    """Recall what is relevant to a sentence, as the assistant would, or nothing."""
    place = MemoryPlace(address, embedder)
    asked = _given(text, "to recall for", "recall")
    if not place.address_of(being) and not place.is_begun():
        none = {"kind": "keyword", "text": _NOTHING, "hits": ()}
        print_lines((_NOTHING,), none, as_json=as_json)
        return
    with memory_access(place, being) as memory:
        told = memory.recall(SearchRequest(asked, limit, explain, as_of))
    from clawkit.cli.memory.output import print_found

    print_found(told, _NOTHING, as_json=as_json, with_text=True)


def _given(text: list[str] | None, purpose: str, verb: str) -> str:
    said = read_stdin() if text == ["-"] else " ".join(text or ())
    if not said.strip():
        advice = f"give it as TEXT, or - and it on stdin, as in `echo … | claw {verb} -`"
        raise CommandFailure(f"there is nothing {purpose}: {advice}", 2)
    return said.strip() if text == ["-"] else said
