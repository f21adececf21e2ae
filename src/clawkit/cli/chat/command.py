"""`claw chat`: a conversation with the assistant in the terminal, or line by line in a pipe."""

from __future__ import annotations

from typing import Annotated

import typer


def chat(
    session: Annotated[
        str, typer.Option("--session", metavar="KEY", help="Which conversation to go on with.")
    ] = "main",
    model: Annotated[
        str, typer.Option(metavar="PROVIDER/MODEL", help="Talk to this model, not the usual one.")
    ] = "",
) -> None:
    """Talk with the assistant. In a pipe: one message a line, plain answers."""
    from clawkit.assistant.config import read_config
    from clawkit.assistant.redaction import redact
    from clawkit.cli.ask import warnings_as_lines
    from clawkit.cli.chat.conversation import converse
    from clawkit.cli.reply_screen import error_lines
    from clawkit.errors import ClawError

    warnings_as_lines("chat")
    try:
        code = converse(read_config(), session, model)
    except ClawError as error:
        error_lines("chat", redact(str(error)))
        code = 1 + error.is_usage
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:  # nobody reads on, which is their right
        code = 0
    raise typer.Exit(code)
