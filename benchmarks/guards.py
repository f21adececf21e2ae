"""Who stands guard: how each proxy is put in front of the same echo server, with what policy."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.contenders import HERE, QUIET_FASTMCP
from benchmarks.measure import Command

DIRECT = "direct"
OURS_10 = "ours, 10 rules"
OURS_500 = "ours, 500 rules"
FIREWALL = "mcp-firewall"
FASTMCP = "fastmcp proxy"

SERVER = (sys.executable, str(HERE / "servers" / "echo_stdio.py"))
FIREWALL_POLICY = """\
version: 1
defaultAction: deny
globalRateLimit: {maxCalls: 100000000, windowSeconds: 60}
rules:
%s
  - {name: echo, tool: "echo", action: allow}
"""
DENIED_PATHS = ("**/.ssh/**", "**/.aws/**", "**/.env", "/etc/**", "**/*.pem", "**/id_rsa*")


@dataclass(frozen=True)
class Guard:
    """One proxy, and the package it comes in."""

    name: str
    package: str
    command: tuple[str, ...]

    @property
    def installed(self) -> bool:
        """Whether it can run here."""
        return find_spec(self.package) is not None

    def start(self, home: Path) -> Command:
        """How to start it in front of the echo server."""
        environment = {**QUIET_FASTMCP, "CLAW_HOME": str(home / "claw"), "HOME": str(home)}
        return Command((*self.command, *SERVER), home, environment)


@contextmanager
def guards() -> Iterator[tuple[list[Guard], Path]]:
    """All of them, with their policies in a home that is gone afterwards."""
    with TemporaryDirectory(prefix="bench-guard-") as folder:
        home = Path(folder)
        claw = str(Path(sys.executable).with_name("claw"))
        firewall = str(Path(sys.executable).with_name("mcp-firewall"))
        config = home / "mcp-firewall.yaml"
        config.write_text(firewall_policy(10))
        field = [
            Guard(DIRECT, "clawkit", ()),
            Guard("pass-through", "clawkit", (sys.executable, str(HERE / "peers/bare_proxy.py"))),
        ]
        for name, rules in ((OURS_10, 10), (OURS_500, 500)):
            policy = home / f"policy-{rules}.toml"
            policy.write_text(our_policy(rules))
            field.append(Guard(name, "clawkit", (claw, "proxy", "--policy", str(policy), "--")))
        wrapped = (firewall, "wrap", "--config", str(config), "--")
        field.append(Guard(FIREWALL, "mcp_firewall", wrapped))
        proxy = (sys.executable, str(HERE / "peers" / "fastmcp_proxy.py"))
        field.append(Guard(FASTMCP, "fastmcp", proxy))
        yield field, home


def our_policy(rules: int) -> str:
    """Secrets denied in every argument, other tools by name, and the last rule allows `echo`."""
    paths = ", ".join(f'"{path}"' for path in DENIED_PATHS)
    lines = [f'[[rule]]\naction = "deny"\ntool = "*"\nargs."*" = [{paths}]\n']
    lines += [
        f'[[rule]]\naction = "deny"\ntool = "tool_{number}_*"\nargs.path = "/srv/{number}/**"\n'
        for number in range(rules - 2)
    ]
    lines.append('[[rule]]\naction = "allow"\ntool = "echo"\n')
    return "\n".join(lines)


def firewall_policy(rules: int) -> str:
    """The same in mcp-firewall's language."""
    match = "  - {name: %s, tool: '%s', match: {arguments: {%s: '%s'}}, action: deny}"
    lines = [match % (f"d{n}", "*", "text", path) for n, path in enumerate(DENIED_PATHS)]
    others = range(rules - 1 - len(lines))
    lines += [match % (f"t{n}", f"tool_{n}_*", "path", f"/srv/{n}/**") for n in others]
    return FIREWALL_POLICY % "\n".join(lines)
