"""`claw remember` and `claw recall`: writes one sentence to memory, and searches it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clawkit.cli.being.opened_store import (
    AsJson,
    BeingOption,
    EmbedderOption,
    MemoryPlace,
    ProgressLine,
    StoreOption,
    fail,
    make_few_vectors,
    opened,
    reported,
    say_missing,
    say_removed,
)
from clawkit.cli.output import print_json, shown

if TYPE_CHECKING:
    from clawkit.memory.remote_being import RemoteBeing

_NOTHING = "No relevant memories found."


def remember(
    text: Annotated[
        list[str], typer.Argument(metavar="TEXT", help="What happened or what is so; - for stdin.")
    ],
    when: Annotated[
        list[str] | None,
        typer.Option(metavar="DATE", help="Which day it is about, YYYY-MM-DD; today, without."),
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
    store: StoreOption = "",
    embedder: EmbedderOption = "",
    as_json: AsJson = False,
) -> None:
    """Remember something, from now on: `claw remember "Anna is allergic to nuts"`."""
    verb = "remember"
    place = MemoryPlace(store, embedder)
    said = _given(text)
    if not said.strip():
        raise fail(verb, "there is nothing to remember: give it as TEXT, or - and it on stdin", 2)
    scene: dict[str, Any] = {
        "actors": about or [],
        "when": when or [],
        "setting": where,
        "feeling": feeling,
        "themes": theme or [],
        "importance": importance,
    }
    with reported(verb):
        far = "" if being else place.remote
    if far:
        _remember_far(place, said, scene, as_json=as_json)
        return
    with opened(verb, place) as keeper:
        from clawkit.memory.caller import Caller

        memory = keeper.open(place.own(keeper, being))
        with ProgressLine("Remembering") as progress:
            progress.begin()
            sieve = memory.sieve()
            node = memory.remember(said, Caller(), **scene, sieve=sieve)
        if as_json:
            print_json(node)
        else:
            print(f"Remembered: {shown(node.text)} ({node.id[:8]})")
            say_removed(sieve.said())


def recall(
    text: Annotated[
        list[str], typer.Argument(metavar="TEXT", help="A question, or anything; - for stdin.")
    ],
    explain: Annotated[bool, typer.Option("--explain", help="Show why each was found.")] = False,
    as_of: Annotated[str, typer.Option(metavar="DATE", help="What was known then, not now.")] = "",
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=100, help="How many at most.")
    ] = 3,
    being: BeingOption = "",
    store: StoreOption = "",
    embedder: EmbedderOption = "",
    as_json: AsJson = False,
) -> None:
    """Recall what is relevant to a sentence, as the assistant would; nothing if nothing is."""
    verb = "recall"
    place = MemoryPlace(store, embedder)
    asked = _given(text)
    with reported(verb):
        far, begun = "" if being else place.remote, place.is_begun()
    if far:
        _recall_far(place, asked, as_of, as_json=as_json, explain=explain)
        return
    if not begun:
        print_json({"kind": "keyword", "text": _NOTHING, "hits": []}) if as_json else print(
            _NOTHING
        )
        return
    with opened(verb, place) as keeper:
        from clawkit.cli.memory.output import hit_lines, hits_json
        from clawkit.memory.caller import Caller

        memory = keeper.open(place.own(keeper, being))
        make_few_vectors(keeper, memory.being)
        with ProgressLine("Recalling") as progress:
            progress.begin()
            found = memory.recall(
                asked, Caller(), explain=explain, as_of=as_of or None, limit=limit
            )
        if as_json:
            print_json({"kind": found.kind, "text": found.text, "hits": hits_json(found.hits)})
            return
        for hit in found.hits:
            for line in hit_lines(hit):
                print(line)
        if not found.hits:
            print(_NOTHING)
        say_missing(keeper, memory.being, found.kind)


def _given(text: list[str]) -> str:
    return sys.stdin.read().strip() if text == ["-"] else " ".join(text)


def _far(verb: str, place: MemoryPlace) -> RemoteBeing:
    """The Being elsewhere that the config names."""
    from clawkit.assistant.api_keys import Keys
    from clawkit.memory.remote_being import RemoteBeing

    options = place.config.memory
    found = Keys(place.config).find(options.token_env)
    if found is None:
        raise fail(verb, f"the Being at {options.url} needs a token: set {options.token_env}")
    return RemoteBeing(options.url, found.value)


def _remember_far(place: MemoryPlace, said: str, scene: dict[str, Any], *, as_json: bool) -> None:
    from datetime import datetime

    with reported("remember"):
        being = _far("remember", place)
        today = datetime.now().astimezone().date().isoformat()
        whole = {**scene, "action": said, "when": scene["when"] or [today]}
        answer = being.call("update_notes", {"scenes": [whole]})
        being.close()
        if as_json:
            print(answer)
            return
        left_out = _left_out(answer)
        print(f"Noted at {shown(place.remote)}{': ' + shown(said) if not left_out else '.'}")
        say_removed(left_out)


def _left_out(answer: str) -> str:
    """What a Being elsewhere says that it has left out."""
    import msgspec

    try:
        told = msgspec.json.decode(answer, type=dict[str, Any])
    except msgspec.DecodeError:
        return ""
    removed, how = told.get("removed"), told.get("to_keep_them")
    return (
        f"Not kept: {', '.join(map(str, removed))} (`{how}` lets it keep them)." if removed else ""
    )


def _recall_far(
    place: MemoryPlace, asked: str, as_of: str, *, as_json: bool, explain: bool
) -> None:
    with reported("recall"):
        being = _far("recall", place)
        more: dict[str, Any] = {"as_of": as_of} if as_of else {}
        arguments = {"user_message": asked, **more, **({"explain": True} if explain else {})}
        answer = being.call("recall", arguments)
        being.close()
        print_json({"text": answer}) if as_json else print(answer)
