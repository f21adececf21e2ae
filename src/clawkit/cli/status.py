"""`claw status`: how things stand on this machine, and what to do next."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from clawkit.guard.overview import Overview, ServerState


def status(
    project: Annotated[
        Path, typer.Option("--project", metavar="DIR", help="Whose project files to look at, too.")
    ] = Path(),
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """Show wrapped servers, the policy, pins and pending approvals."""
    from clawkit.guard.overview import overview

    found = overview(project)
    if as_json:
        import msgspec

        print(msgspec.json.format(msgspec.json.encode({"guard": found}), indent=2).decode())
    else:
        print("\n".join(_guard(found)))


def _guard(found: Overview) -> list[str]:
    policy = found.policy
    lines = ["guard", f"  policy     {policy.file}"]
    lines.append(f"             {policy.problem or f'{policy.rules} rules'}")
    for number, server in enumerate(found.servers):
        lines.append(f"  {'' if number else 'servers':<10} {_server(server)}")
    if not found.servers:
        lines.append("  servers    no client on this machine has an MCP server")
    lines.append(f"  pins       {_pins(found)}")
    lines.append(f"  approvals  {_approvals(found)}")
    size = f"{found.log_bytes / 1e6:.1f} MB" if found.log_bytes else "empty"
    lines.append(f"  log        {found.log_directory} ({size}); `claw log` reads it")
    lines += [f"  problem    {problem}" for problem in found.problems]
    return lines


def _server(server: ServerState) -> str:
    one = server.standing
    text = f"{one.server:<18} {one.client:<16} {one.state}"
    if one.state == "not wrapped":
        return f"{text}; `claw wrap {one.server}` puts the guard before it"
    gets = "all of its client's" if server.environment is None else ", ".join(server.environment)
    return f"{text}{': ' + one.note if one.note else ''}; environment: {gets or 'nothing'}"


def _pins(found: Overview) -> str:
    tools = sum(server.tools for server in found.pins)
    waiting = [f"{s.server}: {', '.join(s.quarantined)}" for s in found.pins if s.quarantined]
    text = f"{tools} tools of {len(found.pins)} servers"
    return f"{text}; quarantined: {'; '.join(waiting)}; see `claw pins`" if waiting else text


def _approvals(found: Overview) -> str:
    if found.pending is None:
        return "nobody watches; `claw approvals` in a terminal answers what rules want to be asked"
    return f"{found.pending} waiting for an answer in `claw approvals`"
