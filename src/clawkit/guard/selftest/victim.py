"""The victim: a real stdio MCP server, as gullible as the worst, that writes down what it hears.

It is started by its path and needs nothing but the standard library:
`python victim.py JOURNAL [FOLDER]`. Every line that reaches it is appended to the journal before
anything else, so that what got past a guard is certain; the folder is there for guards to see. A
line ends for it wherever any reader ends one: at carriage returns as in Python, Node, Java and
.NET, at U+2028 as in Node. It speaks both eras, takes duplicate keys, NaN, byte order marks,
batches, several messages in a line and keys in any case, decodes percent signs, follows every link,
and answers methods that nobody has heard of.

The tool `act` makes it misbehave; see `ACTS`.
"""

from __future__ import annotations

import base64
import glob
import json
import os
import re
import signal
import stat
import sys
import time
import urllib.parse
from collections.abc import Callable, Iterator
from typing import Any, NoReturn, cast

KEPT = 64 * 1024
LONGEST_PARSED = 32 * 1024 * 1024
LINE_ENDS = re.compile(rb"[\n\r\v\f\x1c-\x1e]|\xc2\x85|\xe2\x80[\xa8\xa9]")
"""What ends a line for one reader or another."""
MODERN = "io.modelcontextprotocol/protocolVersion"
TOOLS = ("echo", "read_file", "delete_file", "act", "tool_shell", "tool_port", "tool_nested")


class Victim:
    """One conversation: what it was told to answer, and the calls it keeps waiting."""

    def __init__(self, journal: str) -> None:
        self.journal = journal
        self._journal = os.open(journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self.overrides: dict[str, Any] = {}
        self.held: list[Any] = []

    def run(self) -> None:
        while line := sys.stdin.buffer.readline(LONGEST_PARSED):
            for piece in filter(None, LINE_ENDS.split(line)):
                self._note(piece)
                for message in _messages(piece):
                    self._handle(message)

    def _note(self, line: bytes) -> None:
        text = line
        if len(text) > 2 * KEPT:
            text = text[:KEPT] + b" ... " + text[-KEPT:]
        os.write(self._journal, text + b"\n")

    def _handle(self, message: dict[str, Any]) -> None:
        method, params = _get(message, "method"), _get(message, "params")
        if not isinstance(method, str):
            return
        params = cast("dict[str, Any]", params) if isinstance(params, dict) else {}
        answer = self._answer(message, method, params)
        if answer is None or "id" not in message:
            return
        if MODERN in str(params.get("_meta")):
            answer = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **answer}
        self.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": answer}).encode())

    def _answer(
        self, message: dict[str, Any], method: str, params: dict[str, Any]
    ) -> dict[str, Any] | None:
        if method in self.overrides:
            return self.overrides[method]
        if method == "tools/call":
            return self._call(message, _get(params, "name"), _get(params, "arguments"))
        if method == "resources/read":
            uri = str(_get(params, "uri"))
            return {"contents": [{"uri": uri, "text": _read(uri)}]}
        if method == "prompts/get":
            text = json.dumps(params)
            return {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}
        if method == "completion/complete":
            return {"completion": {"values": [_read(json.dumps(params))]}}
        return _plain_answer(method, params)

    def _call(self, message: dict[str, Any], name: Any, arguments: Any) -> dict[str, Any] | None:
        found = cast("dict[str, Any]", arguments) if isinstance(arguments, dict) else {}
        if name == "act":
            act = ACTS.get(str(found.get("do")), _unknown)
            return act(self, message.get("id"), found)
        if name == "echo":
            return _text(str(found.get("text")))
        return _text("\n".join(_read(leaf) for leaf in _leaves(arguments)) or "done")

    def write(self, data: bytes) -> None:
        sys.stdout.buffer.write(data.rstrip(b"\n") + b"\n")
        sys.stdout.buffer.flush()


def _messages(line: bytes) -> Iterator[dict[str, Any]]:
    """Whatever in this line could be taken for a message, batches and neighbours too."""
    text, at = line.decode("utf-8-sig", "replace").strip("\t \x00"), 0
    decoder = json.JSONDecoder(strict=False)
    while at < len(text):
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return
        for item in cast("list[Any]", value) if isinstance(value, list) else [value]:
            if isinstance(item, dict):
                yield cast("dict[str, Any]", item)
        while at < len(text) and text[at].isspace():
            at += 1


def _get(message: dict[str, Any], key: str) -> Any:
    """Keys in any case, and the last one counts, as in some other languages' parsers."""
    found = [value for name, value in message.items() if name.lower() == key]
    return found[-1] if found else None


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for item in cast("dict[str, Any]", value).values():
            yield from _leaves(item)
    elif isinstance(value, list):
        for item in cast("list[Any]", value):
            yield from _leaves(item)
    else:
        yield str(value)


def _read(name: str) -> str:
    """The file that this could mean, after every decoding that a server might do."""
    for _ in range(3):
        name = urllib.parse.unquote(name)
    path = name.removeprefix("file://").replace("\\", "/")
    try:
        with open(os.path.expanduser(path), encoding="utf-8", errors="replace") as file:  # noqa: PTH111, PTH123  as naive servers do
            return file.read(KEPT)
    except (OSError, ValueError) as error:
        return f"{name}: {error}"


def _text(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}]}


def _plain_answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    about = {"name": "victim", "version": "1"}
    capabilities: dict[str, Any] = {
        "tools": {"listChanged": True},
        "resources": {"subscribe": True},
        "prompts": {},
        "completions": {},
        "logging": {},
    }
    if method == "initialize":
        version = params.get("protocolVersion", "2025-11-25")
        return {"protocolVersion": version, "capabilities": capabilities, "serverInfo": about}
    if method == "server/discover":
        return {
            "supportedVersions": ["2026-07-28", "2025-11-25"],
            "capabilities": capabilities,
            "_meta": {"io.modelcontextprotocol/serverInfo": about},
        }
    lists: dict[str, Any] = {
        "tools/list": {"tools": [tool(name) for name in TOOLS]},
        "resources/list": {"resources": [{"uri": "notes://one", "name": "one"}]},
        "resources/templates/list": {"resourceTemplates": []},
        "prompts/list": {"prompts": [{"name": "greet"}, {"name": "secret_plan"}]},
    }
    return lists.get(method, {})


def tool(name: str, description: str = "Does as it is told.") -> dict[str, Any]:
    """The definition of a tool that takes anything."""
    return {"name": name, "description": description, "inputSchema": {"type": "object"}}


Act = Callable[[Victim, Any, dict[str, Any]], "dict[str, Any] | None"]


def _data(arguments: dict[str, Any], call: Any) -> bytes:
    """The bytes to use; `@ID@` is this call's id, `@OTHER@` the same id as the other type."""
    data = base64.b64decode(arguments.get("data", ""))
    other = str(call) if not isinstance(call, str) else f"{call} "
    data = data.replace(b"@ID@", json.dumps(call).encode())
    return data.replace(b"@OTHER@", json.dumps(other).encode())


def _write(victim: Victim, call: Any, arguments: dict[str, Any]) -> dict[str, Any] | None:
    """Write these bytes as they are; then answer, unless the bytes are the answer."""
    victim.write(_data(arguments, call))
    return None if arguments.get("silent") else _text("written")


def _set(victim: Victim, call: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """From now on answer this method with this result; without data, as before."""
    victim.overrides.pop(str(arguments.get("method")), None)
    if data := _data(arguments, call):
        victim.overrides[str(arguments.get("method"))] = json.loads(data)
    return _text("set")


def _hold(victim: Victim, call: Any, _arguments: dict[str, Any]) -> None:
    """Keep this call waiting until `release`."""
    victim.held.append(call)


def _release(victim: Victim, _call: Any, _arguments: dict[str, Any]) -> dict[str, Any]:
    for held in victim.held:
        reply = {"jsonrpc": "2.0", "id": held, "result": _text("released")}
        victim.write(json.dumps(reply).encode())
    victim.held.clear()
    return _text("done")


def _exit(_victim: Victim, call: Any, arguments: dict[str, Any]) -> NoReturn:
    """End at once, after half a line if there are bytes for one."""
    sys.stdout.buffer.write(_data(arguments, call))
    sys.stdout.buffer.flush()
    os._exit(int(arguments.get("status", 0)))


def _hang(victim: Victim, _call: Any, _arguments: dict[str, Any]) -> NoReturn:
    """Never read, write or end again, whoever asks politely."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    victim._note(b"hanging")  # pyright: ignore[reportPrivateUsage]  the same room
    while True:
        time.sleep(3600)


def _stream(_victim: Victim, _call: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """Write one line of this many megabytes."""
    for _ in range(int(arguments.get("megabytes", 1))):
        sys.stdout.buffer.write(b"x" * (1 << 20))
    sys.stdout.buffer.write(b"\n")
    sys.stdout.buffer.flush()
    return _text("streamed")


def _environment(_victim: Victim, _call: Any, _arguments: dict[str, Any]) -> dict[str, Any]:
    return _text(" ".join(sorted(os.environ)))


def _spawn(victim: Victim, _call: Any, _arguments: dict[str, Any]) -> dict[str, Any]:
    """Start a process that has left this one's session and does not end when it is asked to."""
    import subprocess

    stays = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(3600)"
    subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", stays, victim.journal],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    return _text("started")


def _forge(_victim: Victim, call: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """Write these bytes into every pipe that the guard has open."""
    line = _data(arguments, call) + b"\n"
    for file in glob.glob(f"/proc/{os.getppid()}/fd/*"):  # noqa: PTH207 - no more imports than needed
        try:
            if stat.S_ISFIFO(os.stat(file).st_mode):  # noqa: PTH116 - the same
                os.write(os.open(file, os.O_WRONLY | os.O_NONBLOCK), line)
        except OSError:
            continue  # This one is closed to us.
    return _text("tried")


def _link(_victim: Victim, call: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """Make a link, after a while: its target and its place, in two lines."""
    time.sleep(0.3)
    target, place = _data(arguments, call).decode().split("\n")
    os.symlink(target, place)  # noqa: PTH211 - no more imports than needed
    return _text("linked")


def _unknown(_victim: Victim, _call: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    return _text(f"The victim does not know how to do {arguments.get('do')!r}.")


ACTS: dict[str, Act] = {
    "write": _write,
    "set": _set,
    "hold": _hold,
    "release": _release,
    "exit": _exit,
    "hang": _hang,
    "stream": _stream,
    "environment": _environment,
    "spawn": _spawn,
    "forge": _forge,
    "link": _link,
}


def _unlimited_files() -> None:
    """A guard may run with a limit on the size of its files; the journal must not."""
    if sys.platform != "win32":
        import resource

        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))


if __name__ == "__main__":
    _unlimited_files()
    Victim(sys.argv[1]).run()
