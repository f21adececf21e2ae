"""The test bench of an attack: a guard to act on, and checks of whether anything got past it."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Generator
from contextlib import contextmanager
from itertools import count
from typing import Any

import msgspec

from clawkit.guard.selftest import verdicts
from clawkit.guard.selftest.guard_process import GuardProcess, parsed
from clawkit.guard.selftest.scratch import (
    CANARY,
    SECRETS_OF_OTHER_RULES,
    GuardFolder,
    Scratch,
    filled,
)
from clawkit.guard.selftest.verdicts import Leaked, Unclear
from clawkit.guard.selftest.victim import LINE_ENDS

_HOUSEKEEPING = frozenset(
    {"initialize", "ping", "server/discover", "tools/list", "notifications/initialized"}
)
_SERVES = b"selftest-serves"
# Root may look into every process; a guard is seldom run by it, and so is a selftest.
_NO_DEBUGGER = """
import ctypes, os, sys
drop, right_of_a_debugger = 24, 19
ctypes.CDLL(None).prctl(drop, right_of_a_debugger, 0, 0, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""
_MODERN_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "selftest", "version": "1"},
}


class Mark(msgspec.Struct, frozen=True):
    """A moment: how much the victim and the client had got by then."""

    journal: int
    received: int


class SelftestOptions(msgspec.Struct, frozen=True):
    """How a run is done: the guard's command line, how long to wait, how big the big things are."""

    command: tuple[str, ...]
    patience: float = 10.0
    megabytes: int = 64


class Bench:
    """A started guard, the client before it and the victim behind it."""

    _ids = count(1)
    _tokens = count(1)

    def __init__(
        self,
        options: SelftestOptions,
        scratch: Scratch,
        place: GuardFolder,
        *,
        modern: bool = False,
        can_ask: bool = True,
        shell: str = "",
        is_root: bool = True,
    ) -> None:
        self.options = options
        self.patience = options.patience
        self.scratch = scratch
        self.place = place
        self.modern = modern
        self.capabilities: dict[str, Any] = {"sampling": {}, "roots": {}}
        if can_ask:
            self.capabilities["elicitation"] = {}
        self.journal_file = place.folder / f"journal-{next(self._tokens)}"
        command = scratch.command(options.command, place, self.journal_file)
        if shell:
            command = ["/bin/sh", "-c", f'{shell}; exec "$@"', "sh", *command]
        if not is_root:
            command = [sys.executable, "-I", "-S", "-c", _NO_DEBUGGER, *command]
        self.guard = GuardProcess(command, scratch.root, place.environment(), self.journal_file)

    def open(self) -> None:
        """Begin the conversation, as a client of this era does."""
        if self.modern:
            self.reply(self.request("server/discover"))
            return
        about = {"name": "selftest", "version": "1"}
        hello = {"protocolVersion": "2025-11-25", "capabilities": self.capabilities}
        self.reply(self.request("initialize", {**hello, "clientInfo": about}))
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def fill_in(self, text: str) -> str:
        return filled(text, self.scratch.root)

    @property
    def secret(self) -> str:
        """A path that no call may carry."""
        return self.fill_in("{root}/secret/key.txt")

    def token(self) -> str:
        """A word that stands nowhere else."""
        return f"token{next(self._tokens):06d}x"

    def new_id(self) -> int:
        return next(self._ids)

    # Sending.

    def write(self, data: bytes) -> None:
        self.guard.write(data, self.patience)

    def send(self, message: dict[str, Any]) -> None:
        self.write(json.dumps(message).encode() + b"\n")

    def message(self, method: str, params: dict[str, Any] | None, id: int) -> dict[str, Any]:
        """A request as a client of this era sends it."""
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": id, "method": method}
        if self.modern:
            capabilities = {"io.modelcontextprotocol/clientCapabilities": self.capabilities}
            message["params"] = {**(params or {}), "_meta": {**_MODERN_META, **capabilities}}
        elif params is not None:
            message["params"] = params
        return message

    def request(self, method: str, params: dict[str, Any] | None = None) -> int:
        """Send a request; its id."""
        id = self.new_id()
        self.send(self.message(method, params, id))
        return id

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool and wait for the answer."""
        return self.reply(self.request("tools/call", {"name": tool, "arguments": arguments}))

    def act(self, do: str, data: bytes = b"", **arguments: Any) -> dict[str, Any]:
        """Have the victim do something."""
        return self.reply(self.start_act(do, data, **arguments))

    def start_act(self, do: str, data: bytes = b"", **arguments: Any) -> int:
        """The same without waiting; the call's id."""
        given = {"do": do, "data": base64.b64encode(data).decode(), **arguments}
        return self.request("tools/call", {"name": "act", "arguments": given})

    def server_sends(self, *messages: dict[str, Any]) -> None:
        """Have the victim write messages, and wait until it has."""
        lines = b"\n".join(json.dumps(message).encode() for message in messages)
        self.act("write", lines)

    @contextmanager
    def answering(self, method: str, result: str) -> Generator[None]:
        """Meanwhile the victim answers this method with this result."""
        self.act("set", result.encode(), method=method)
        yield
        self.act("set", method=method)

    # Seeing.

    def mark(self) -> Mark:
        return Mark(len(self.guard.journal()), len(self.guard.received))

    def reply(self, id: Any, since: int = 0) -> dict[str, Any]:
        """The answer to a request."""
        return self.guard.wait_for(
            lambda message: verdicts.is_answer_to(message, id), since, self.patience, "answer"
        )

    def asked(self, method: str, since: Mark) -> dict[str, Any]:
        """The next request of this method that the client gets."""
        return self.guard.wait_for(
            lambda message: message.get("method") == method and "id" in message,
            since.received,
            self.patience,
            f"request {method}",
        )

    def serve(self) -> None:
        """An allowed call must be answered; what was sent before it has been dealt with then."""
        text = f"{_SERVES.decode()}-{self.token()}"
        answer = self.call("echo", text=text)
        if text not in json.dumps(answer.get("result")):
            raise Unclear(f"the next, allowed call was answered with {verdicts.short(answer)}")

    def passed(self, since: Mark) -> tuple[list[bytes], list[bytes]]:
        """What reached the victim and what the client, without the conversation's own messages."""
        self.serve()
        lines = self.guard.journal()[since.journal :].split(b"\n")
        reached = [line for line in lines if line and not _ours(line)]
        return reached, self.guard.received[since.received :]

    # Judging.

    def nothing_passed(self, since: Mark) -> None:
        """Nothing reached the server, and nothing that must stay secret the client."""
        reached, seen = self.passed(since)
        if reached:
            raise Leaked(f"reached the server: {verdicts.shortened(reached[0])}")
        for line in seen:
            for word in (CANARY, SECRETS_OF_OTHER_RULES):
                if word.encode() in line:
                    raise Leaked(f"reached the client: {verdicts.shortened(line)}")

    def unseen(self, since: Mark, *words: str) -> None:
        """None of these words reached the client."""
        for line in self.passed(since)[1]:
            for word in words:
                if word.encode() in line:
                    raise Leaked(f"the client got: {verdicts.shortened(line)}")

    def refuses(
        self, method: str, params: dict[str, Any] | None = None, code: int | None = None
    ) -> None:
        """A request must be answered with a clear error, and nothing of it pass."""
        self.refuses_line(json.dumps(self.message(method, params, 0)).encode(), code=code)

    def refuses_call(
        self, tool: Any, arguments: Any, code: int | None = None, **extra: Any
    ) -> None:
        self.refuses("tools/call", {"name": tool, "arguments": arguments, **extra}, code)

    def refuses_line(self, line: bytes, *, code: int | None = None) -> None:
        """The same for raw bytes: `"id": 0,` becomes a new id, if one can be read out of them."""
        since = self.mark()
        id = self.new_id()
        self.write(line.replace(b'"id": 0,', b'"id": %d,' % id) + b"\n")
        self.nothing_passed(since)
        answer = self.guard.wait_for(
            lambda message: verdicts.is_answer_to(message, id) or "error" in message,
            since.received,
            self.patience,
            "answer",
        )
        self.nothing_passed(since)
        verdicts.require_clear_error(answer, code)

    def one_line_each(self, since: Mark) -> None:
        """What either side got is one message a line, wherever a reader ends its lines."""
        reached, seen = self.passed(since)
        for line in reached:
            if parsed(line) is None:
                raise Leaked(f"the server got part of a message: {verdicts.shortened(line)}")
        for line in seen:
            if len([*filter(None, LINE_ENDS.split(line))]) > 1:
                raise Leaked(f"the client got several lines in one: {verdicts.shortened(line)}")

    def drops(self, line: bytes) -> None:
        """A line must go nowhere, and the guard go on."""
        since = self.mark()
        self.write(line + b"\n")
        self.nothing_passed(since)

    # More guards.

    @contextmanager
    def beside(self, *, shell: str = "", is_root: bool = True) -> Generator[Bench]:
        """Another guard of the same place; without root's right to look into other processes."""
        other = Bench(
            self.options,
            self.scratch,
            self.place,
            modern=self.modern,
            shell=shell,
            is_root=is_root,
        )
        try:
            other.open()
            yield other
        finally:
            other.stop()

    def journal(self) -> bytes:
        return self.guard.journal()

    def stop(self) -> None:
        self.guard.stop()


def _ours(line: bytes) -> bool:
    """Whether a line in the journal belongs to the conversation itself, or to `serve`."""
    message = parsed(line)
    if message is None:
        return False
    return message.get("method") in _HOUSEKEEPING or _SERVES in line
