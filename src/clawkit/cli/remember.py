"""`claw remember` and `claw recall`: writes one sentence to memory, and searches it."""

from __future__ import annotations

import sys
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from clawkit.assistant.memory.place import MemoryPlace, opened
from clawkit.cli.being.options import (
    BeingOption,
    EmbedderOption,
    ProgressLine,
    StoreOption,
    make_few_vectors,
    say_missing,
    say_removed,
)
from clawkit.cli.commands import AsJson, CommandFailure, print_json, print_lines
from clawkit.cli.memory.remote import SearchRequest, print_recalled, remote_being
from clawkit.memory.tokens import Caller
from clawkit.text.normalization import visible

if TYPE_CHECKING:
    from clawkit.memory.remote_being import RemoteBeing

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
    if address := place.address_of(being):
        with remote_being(place, address) as there:
            _remember_remotely(there, said, scene, as_json=as_json)
        return
    with opened(place) as store:
        memory = store.open(place.own(store, being))
        with ProgressLine("Remembering") as progress:
            progress.begin()
            sieve = memory.sieve()
            node = memory.remember(said, Caller(), **scene, sieve=sieve)
        if as_json:
            print_json(node)
        else:
            print(f"Remembered: {visible(node.text)} ({node.id[:8]})")
            say_removed(sieve.said())


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
    if address := place.address_of(being):
        with remote_being(place, address) as there, ProgressLine("Recalling") as progress:
            progress.begin()
            print_recalled(
                there, SearchRequest(asked, limit, explain, as_of), _NOTHING, as_json=as_json
            )
        return
    if not place.is_begun():
        none = {"kind": "keyword", "text": _NOTHING, "hits": ()}
        print_lines((_NOTHING,), none, as_json=as_json)
        return
    with opened(place) as store:
        from clawkit.cli.memory.output import hit_lines, hits_json

        memory = store.open(place.own(store, being))
        make_few_vectors(store, memory.being)
        with ProgressLine("Recalling") as progress:
            progress.begin()
            found = memory.recall(
                asked, Caller(), explain=explain, as_of=as_of or None, limit=limit
            )
        hits = {"kind": found.kind, "text": found.text, "hits": hits_json(found.hits)}
        print_lines(hit_lines(found.hits, _NOTHING), hits, as_json=as_json)
        if not as_json:
            say_missing(store, memory.being, found.kind)


def _given(text: list[str] | None, purpose: str, verb: str) -> str:
    said = sys.stdin.read() if text == ["-"] else " ".join(text or ())
    if not said.strip():
        advice = f"give it as TEXT, or - and it on stdin, as in `echo … | claw {verb} -`"
        raise CommandFailure(f"there is nothing {purpose}: {advice}", 2)
    return said.strip() if text == ["-"] else said


def _remember_remotely(
    there: RemoteBeing, said: str, scene: dict[str, Any], *, as_json: bool
) -> None:
    from clawkit.text.calendar import resolved_on

    said, days = resolved_on(said, scene["when"], datetime.now().astimezone().date())
    whole = {**scene, "action": said, "when": list(days)}
    answer = there.call("update_notes", {"scenes": [whole]})
    if as_json:
        print(answer)
        return
    told = _told(answer)
    left_out = _left_out(told)
    ids = "".join(f" ({visible(str(one))[:8]})" for one in told.get("node_ids", ()))
    print(f"Noted at {visible(there.url)}{': ' + visible(said) if not left_out else '.'}{ids}")
    say_removed(left_out)


def _told(answer: str) -> dict[str, Any]:
    """What a Being elsewhere answers; nothing where it is another kind of server."""
    try:
        return msgspec.json.decode(answer, type=dict[str, Any])
    except msgspec.DecodeError:
        return {}


def _left_out(told: dict[str, Any]) -> str:
    """What a Being elsewhere says that it has left out."""
    removed, how = told.get("removed"), told.get("to_keep_them")
    return (
        f"Not kept: {', '.join(map(str, removed))} (`{how}` lets it keep them)." if removed else ""
    )
