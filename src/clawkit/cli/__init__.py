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
        from clawkit.cli.mcp_server import mcp_server, quick_verbose

        verbose = quick_verbose(arguments[1:])
        if verbose is not None:
            sys.exit(mcp_server(verbose=verbose))
    if arguments[:1] == ["proxy"]:
        from clawkit.cli.proxy import proxy, quick_request

        request = quick_request(arguments[1:])
        if request is not None:
            sys.exit(proxy(request))
    if arguments[:1] == ["__complete"]:
        from clawkit.cli.completion.candidates import complete

        sys.exit(complete(arguments[1:]))
    from clawkit.cli.app import run
    from clawkit.cli.output import checked_stdout

    with checked_stdout():
        run()
