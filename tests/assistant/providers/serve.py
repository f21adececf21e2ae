"""A scripted provider as a process of its own.

python -m tests.assistant.providers.serve anthropic|openai
    --script FILE        a JSON list of steps, see `read_step`
    --function M:F       or a function of the request, such as `tests.some.module:answer`
    --echo               or the last message's own words
    --log FILE           every request, one JSON object a line: path, headers, body

prints its base URL as the first line and serves until its input ends or it is killed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.assistant.providers.scripted import Request, Say, ScriptedServer
from tests.assistant.providers.steps import Script, read_step
from tests.assistant.providers.wires import AnthropicWire, OpenAiWire
from tests.processes import PATIENCE

_ROOT = Path(__file__).parents[3]
_WIRES = {"anthropic": AnthropicWire, "openai": OpenAiWire}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("wire", choices=sorted(_WIRES))
    parser.add_argument("--script", type=Path)
    parser.add_argument("--function", default="")
    parser.add_argument("--echo", action="store_true")
    parser.add_argument("--log", type=Path)
    given = parser.parse_args(arguments)
    server = ScriptedServer(_WIRES[given.wire](), _script(given), on_request=_logging(given.log))
    server.start()
    sys.stdout.write(server.url + "\n")
    sys.stdout.flush()
    try:
        sys.stdin.read()
    finally:
        server.stop()


def echo(request: Request) -> Say:
    return Say(request.last_text)


def _script(given: argparse.Namespace) -> Script:
    if given.echo:
        return echo
    if given.function:
        module, _, name = given.function.partition(":")
        return getattr(import_module(module), name)
    return [read_step(step) for step in json.loads(given.script.read_text())]


def _logging(file: Path | None) -> Callable[[Request], None] | None:
    if file is None:
        return None

    def write(request: Request) -> None:
        line = {"path": request.path, "headers": request.headers, "body": request.json}
        with file.open("a") as log:
            log.write(json.dumps(line) + "\n")

    return write


class ServerProcess:
    """A scripted provider that is another process: it can be killed."""

    def __init__(self, process: subprocess.Popen[str], url: str, log: Path) -> None:
        self.process = process
        self.url = url
        self._log = log

    @property
    def requests(self) -> list[dict[str, Any]]:
        """What it heard so far: `path`, `headers`, `body`."""
        if not self._log.exists():
            return []
        return [json.loads(line) for line in self._log.read_text().splitlines()]


@contextmanager
def provider_process(
    wire: str, folder: Path, script: Sequence[Any] | None = None, *options: str
) -> Generator[ServerProcess]:
    """Start one; `script` is a list of steps in JSON, else `options` say what it answers."""
    log = folder / f"{wire}-requests.jsonl"
    command = [sys.executable, "-m", "tests.assistant.providers.serve", wire, "--log", str(log)]
    if script is not None:
        file = folder / f"{wire}-script.json"
        file.write_text(json.dumps(script))
        command += ["--script", str(file)]
    process = subprocess.Popen(
        [*command, *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=_ROOT,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        url = process.stdout.readline().strip()
        assert url.startswith("http://"), url
        yield ServerProcess(process, url, log)
    finally:
        process.kill()
        process.wait(PATIENCE)
        process.stdin.close()
        process.stdout.close()


if __name__ == "__main__":
    main()
