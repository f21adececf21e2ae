"""The options of `serve`, `mcp-server` and `proxy`; the usual ones are read without this file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clawkit.cli.commands import (
    MAX_CONNECTIONS,
    AllowHost,
    Host,
    MaxConnections,
    Target,
    TrustedProxy,
    port_option,
    print_version,
)
from clawkit.cli.server_logins import Login, with_login_options

if TYPE_CHECKING:
    from clawkit.cli.proxy import ProxyRequest
    from clawkit.login.options import LoginOptions

_LOOPBACK = "127.0.0.1"

ServePort = Annotated[
    int | None, port_option("Serve Streamable HTTP on this port; 0 takes a free one.")
]
Sessions = Annotated[
    bool, typer.Option("--sessions", help="Keep sessions for clients of the handshake era.")
]
Reload = Annotated[
    bool,
    typer.Option("--reload", help="Load the file again when it changes; clients stay connected."),
]


@with_login_options
def serve(
    target: Target,
    http: ServePort = None,
    host: Host = _LOOPBACK,
    allow_host: AllowHost = None,
    max_connections: MaxConnections = MAX_CONNECTIONS,
    sessions: Sessions = False,
    reload: Reload = False,
    login: LoginOptions | None = None,
    trusted_proxy: TrustedProxy = None,
) -> None:
    """Run the tools in a Python file as an MCP server, over stdio or HTTP."""
    from clawkit.cli.serve import serve_file, serve_file_http

    listening = host != _LOOPBACK or allow_host or max_connections != MAX_CONNECTIONS
    if http is None and (listening or sessions or login is not None or trusted_proxy):
        raise typer.BadParameter("options of HTTP need --http PORT")
    if http is None:
        raise typer.Exit(serve_file(target, reload=reload))
    code = serve_file_http(
        target,
        host,
        http,
        hosts=allow_host,
        max_connections=max_connections,
        sessions=sessions,
        reload=reload,
        login=login,
        trusted_proxies=trusted_proxy or (),
    )
    raise typer.Exit(code)


Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Enable verbose logging for debugging")
]
AssistantPort = Annotated[
    int | None,
    port_option(
        "Serve Streamable HTTP on this port, to people who log in (--login) or to who "
        "has the token (--token-file); 0 takes a free one."
    ),
]
AssistantMembers = Annotated[
    bool,
    typer.Option(
        "--members",
        help="With --login: members may log in too. They order what the assistant can do, "
        "with your models and tools.",
    ),
]
AssistantTokenFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="With --http: a file with the token to ask for."),
]
Version = Annotated[
    bool,
    typer.Option(
        "--version", callback=print_version, is_eager=True, help="Print MCP server version and exit"
    ),
]


@with_login_options
def mcp_server(
    verbose: Verbose = False,
    http: AssistantPort = None,
    host: Host = _LOOPBACK,
    allow_host: AllowHost = None,
    login: LoginOptions | None = None,
    members: AssistantMembers = False,
    token_file: AssistantTokenFile = None,
    trusted_proxy: TrustedProxy = None,
    _version: Version = False,
) -> None:
    """Serve the assistant to an MCP client over stdio: one tool that takes a message."""
    from clawkit.cli.mcp_server import HttpPlace, mcp_server_http, serve_assistant

    if http is None:
        listening = members or token_file or allow_host or trusted_proxy or host != _LOOPBACK
        if listening or login is not None:
            raise typer.BadParameter("options of HTTP need --http PORT")
        raise typer.Exit(serve_assistant(verbose=verbose))
    if (login is None) == (token_file is None):
        raise typer.BadParameter(
            "over HTTP give either --login, --jwt-issuer ISSUER or --token-file FILE"
        )
    place = HttpPlace(
        http,
        host,
        hosts=allow_host,
        token_file=token_file,
        login=login,
        members=members,
        trusted_proxies=tuple(trusted_proxy or ()),
    )
    raise typer.Exit(mcp_server_http(place, verbose=verbose))


ServerCommand = Annotated[
    list[str] | None,
    typer.Argument(metavar="-- COMMAND", help="The server to start behind the guard."),
]
RemoteUrl = Annotated[str, typer.Option(help="A remote server to stand in front of.")]
ListenPort = Annotated[
    int | None,
    port_option("With --url: serve HTTP on this port instead of stdio; 0 takes a free one."),
]
GuardHost = Annotated[
    str,
    typer.Option(
        help="Address to listen on. Anything but loopback needs --token-file or --login; on "
        "loopback, without these, it is for programs of your user only."
    ),
]
GuardTokenFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="With --listen: a file with the token to ask for, in the header X-Claw-Token or "
        "as the bearer token.",
    ),
]
GuardMembers = Annotated[
    bool,
    typer.Option(
        "--members",
        help="With --login: members may log in too. They use the server with the guard's "
        "credentials.",
    ),
]
GuardUrl = Annotated[
    str,
    typer.Option(
        metavar="URL",
        help="With --login or --token-file: the address that browsers and clients use, if a "
        "proxy is in front.",
    ),
]
GuardedName = Annotated[
    str, typer.Option(help="The server's name, for `server` in rules and for the log.")
]
LedgerEntry = Annotated[
    str, typer.Option(help="The ledger's entry with this server's headers; `wrap` writes it.")
]
PolicyPath = Annotated[
    Path | None, typer.Option("--policy", help="A policy file in another place.")
]


def proxy(
    command: ServerCommand = None,
    url: RemoteUrl = "",
    listen: ListenPort = None,
    host: GuardHost = _LOOPBACK,
    max_connections: MaxConnections = MAX_CONNECTIONS,
    token_file: GuardTokenFile = None,
    login: Login = False,
    members: GuardMembers = False,
    public_url: GuardUrl = "",
    trusted_proxy: TrustedProxy = None,
    name: GuardedName = "",
    entry: LedgerEntry = "",
    policy_file: PolicyPath = None,
) -> None:
    """Stand guard in front of a server: what a wrapped entry starts."""
    from clawkit.cli.proxy import ProxyRequest, run_guard

    request = ProxyRequest(
        command=tuple(command or ()),
        url=url,
        entry=entry,
        name=name,
        policy=policy_file,
        listen=listen,
        host=host,
        max_connections=max_connections,
        token_file=token_file,
        login=login,
        members=members,
        public_url=public_url,
        trusted_proxies=tuple(trusted_proxy or ()),
    )
    if problem := _problem_with(request):
        raise typer.BadParameter(problem)
    raise typer.Exit(run_guard(request))


def _problem_with(request: ProxyRequest) -> str:
    """Which options do not go together."""
    token, login = request.token_file, request.login
    if bool(request.command) == bool(request.url):
        return "give either -- COMMAND or --url URL"
    if request.listen is not None and not request.url:
        return "--listen needs --url URL"
    listening = token or login or request.public_url or request.host != _LOOPBACK
    if request.listen is None and listening:
        return "options of HTTP need --listen PORT"
    if login and token:
        return "give either --login or --token-file FILE"
    if (request.members or request.trusted_proxies) and not login:
        return "--members and --trusted-proxy need --login"
    if request.public_url and not (login or token):
        return "--public-url needs --login or --token-file FILE"
    return ""
