"""The commands. Only this room prints, and only this file decides what gets imported to do so."""

from __future__ import annotations

import sys

from clawkit.wire.line_io import open_closed_streams


def main() -> None:
    """The entry point of `claw`, `openclaw`, `clawdbot` and `clawai`."""
    try:
        _main()
    except KeyboardInterrupt:  # while something is imported: a command that runs says more
        sys.exit(130)


def _main() -> None:
    open_closed_streams()
    arguments = sys.argv[1:]
    if len(arguments) == 2 and arguments[0] == "serve" and not arguments[1].startswith("-"):
        # What an MCP client starts: no command-line library on the way to the first reply.
        from clawkit.cli.serve import serve_file

        sys.exit(serve_file(arguments[1]))
    if arguments[:1] == ["mcp-server"]:
        from clawkit.cli.mcp_server import quick_verbose, serve_assistant

        verbose = quick_verbose(arguments[1:])
        if verbose is not None:
            sys.exit(serve_assistant(verbose=verbose))
    if arguments[:1] == ["proxy"]:
        from clawkit.cli.proxy import quick_request, run_guard

        request = quick_request(arguments[1:])
        if request is not None:
            sys.exit(run_guard(request))
    if arguments[:1] == ["__complete"]:
        from clawkit.cli.completion.candidates import complete

        sys.exit(complete(arguments[1:]))
    from clawkit.cli.app import app
    from clawkit.cli.commands import checked_stdout
    from clawkit.system.processes import program

    with checked_stdout():
        app(prog_name=program())
