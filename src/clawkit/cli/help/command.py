"""`claw help`: a concept or a command explained, the list of concepts, and near names."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Annotated

import typer
from typer.main import get_command

from clawkit.cli.commands import CommandFailure
from clawkit.cli.help import summary, text, topics
from clawkit.cli.tables import print_table
from clawkit.text.normalization import visible

app = typer.Typer(add_completion=False)


@app.command("help")
def explain(
    context: typer.Context,
    topic: Annotated[
        list[str] | None,
        typer.Argument(metavar="TOPIC", help="A concept, or a command such as `being share`."),
    ] = None,
) -> None:
    """Explain a concept, such as sessions, memory or policy; without TOPIC, list them."""
    words = topic or []
    if not words:
        _list()
    elif len(words) == 1 and words[0] in topics():
        print(text(words[0]), end="")
    else:
        _show_command(context, words)


def _list() -> None:
    print_table([(topic, summary(topic)) for topic in topics()])
    print("\n`claw help TOPIC` explains one of them, `claw --help` lists the commands.")


def _show_command(context: typer.Context, words: list[str]) -> None:
    """The help of a command; a name that is neither is met with those that are near."""
    from clawkit.cli.app import app as whole

    names = sorted({*topics(), *getattr(get_command(whole), "commands", ())})
    if words[0] not in names:
        near = get_close_matches(words[0].lower(), names, n=3)
        advice = f"did you mean {' or '.join(near)}?" if near else "`claw help` lists the topics"
        raise CommandFailure(f"there is no topic or command {visible(words[0])!r}: {advice}", 2)
    program = context.find_root().info_name
    whole(args=[*words, "--help"], prog_name=program, standalone_mode=False)
