"""Owns the command `python -m tests.conformance.server --port N`: the fixture server of the suite.

It offers what the official MCP conformance suite calls, made with nothing but Clawkit's public API,
and serves it in both eras at http://localhost:N/mcp until it is ended.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module

from tests.conformance.everything import server

FIXTURES = ("fixtures_content", "fixtures_resources", "fixtures_questions", "fixtures_tasks")


def announce(url: str) -> None:
    """Say where the server is, once it can be reached."""
    sys.stderr.write(f"{server.name} is at {url.replace('127.0.0.1', 'localhost')}\n")
    sys.stderr.flush()


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--port", type=int, default=3000, help="0 takes any free one")
    chosen = arguments.parse_args()
    for name in FIXTURES:
        import_module(f"tests.conformance.{name}")
    server.serve_http(port=chosen.port, sessions=True, on_ready=announce)


if __name__ == "__main__":
    main()
