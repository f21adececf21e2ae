"""Python tools in this process: files found, loaded, reloaded when changed; calls with timeouts."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import logging
from pathlib import Path
from typing import Any, cast

from msgspec import Struct

from clawkit.assistant.toolbox.tool_source import Ask, OfferedTool, Tell, as_answer, progress_text
from clawkit.errors import ClawError, ToolExecutionError, ToolTimeoutError
from clawkit.tools.loader import forget_modules, load_server
from clawkit.wire import jsonrpc
from clawkit.wire.calls import Workers
from clawkit.wire.input_requests import InputRequest
from clawkit.wire.jsonrpc import Message
from clawkit.wire.server import ServerCore
from clawkit.wire.session import Session

GRACE = 2.0
"""How long a tool that was cancelled, or has run out of time, may take to end."""

_left_behind: set[asyncio.Task[Any]] = set()


class InProcess:
    """A server object as a source of tools; `approved` if it is a person who calls them."""

    def __init__(self, server: ServerCore, *, approved: bool = False) -> None:
        self._server = server
        self._approved = approved

    def offers(self) -> list[OfferedTool]:
        """The tools that can run here; the rest is in `unusable`."""
        return [
            OfferedTool(
                name, str(tool.definition.get("description", "")), tool.definition["inputSchema"]
            )
            for name, tool in self._server.tools.items()
            if (self._approved or not tool.requires_approval) and tool.task != "required"
        ]

    def unusable(self) -> list[str]:
        """The tools that cannot be offered to a model here, each with the reason."""
        found: list[str] = []
        for name, tool in self._server.tools.items():
            if tool.requires_approval:
                found.append(f"{name} wants a person's approval, and here is nobody to ask")
            elif tool.task == "required":
                found.append(f"{name} runs only as a task, and the assistant waits for its tools")
        return found

    async def call(
        self, tool: str, arguments: dict[str, Any], tell: Tell, ask: Ask | None = None
    ) -> dict[str, Any]:
        loop = asyncio.get_running_loop()
        questions: set[asyncio.Task[None]] = set()

        def hear(message: Message) -> None:
            if message.get("method") == "notifications/progress":
                said: dict[str, Any] = message["params"]
                tell(progress_text(said["progress"], said.get("total"), said.get("message")))
            elif "id" in message and ask is not None:
                asked = loop.create_task(_pass_up(message, ask, session))
                questions.add(asked)
                asked.add_done_callback(questions.discard)

        def send(message: Message) -> None:
            with contextlib.suppress(RuntimeError):  # The loop may be closed by now.
                loop.call_soon_threadsafe(hear, message)

        session = Session(send, notices=False, approved=self._approved)
        if ask is not None:
            session.capabilities = {"elicitation": {}, "sampling": {}}
        # A copy: what a tool does to its arguments must not change what the model is shown.
        given = {"name": tool, "arguments": copy.deepcopy(arguments), "_meta": {"progressToken": 1}}
        request = jsonrpc.request(1, "tools/call", given)
        work = loop.create_task(self._server.handle_jsonrpc(request, session))
        try:
            reply = await _outcome(work, self._patience(tool), tool)
        finally:
            for asked in questions:
                asked.cancel()
        if "error" in reply:
            raise ToolExecutionError(str(reply["error"]["message"]))
        return cast("dict[str, Any]", reply["result"])

    def _patience(self, tool: str) -> float | None:
        """The core ends a tool in time; this is for one that does not let itself be ended."""
        known = self._server.tools.get(tool)
        return None if known is None or known.timeout is None else known.timeout + GRACE


async def _pass_up(message: Message, ask: Ask, session: Session) -> None:
    """Pass a tool's question to the client, and the answer to the tool."""
    method = str(message["method"])
    question = InputRequest(method, method.partition("/")[0], message["params"], as_answer)
    try:
        session.resolve({"id": message["id"], "result": await ask(question)})
    except ClawError as error:
        session.resolve({"id": message["id"], "error": {"message": str(error)}})


async def _outcome(
    work: asyncio.Task[Message | None], patience: float | None, tool: str
) -> Message:
    """What comes of a task that may not react to being cancelled."""
    try:
        done, _ = await asyncio.wait({work}, timeout=patience)
    except asyncio.CancelledError:
        _leave(work)
        await asyncio.wait({work}, timeout=GRACE)
        raise
    if not done:
        _leave(work)
        raise ToolTimeoutError(f"{tool} took too long, and did not end when it was told to")
    if work.cancelled():
        raise ToolExecutionError(f"{tool} was cancelled")
    return work.result() or {"error": {"message": f"{tool} gave no answer"}}


def _leave(work: asyncio.Task[Any]) -> None:
    """Cancel a task that nobody waits for any more; asyncio itself would not keep it."""
    work.cancel()
    _left_behind.add(work)
    work.add_done_callback(_forget)


def _forget(work: asyncio.Task[Any]) -> None:
    _left_behind.discard(work)
    if not work.cancelled():
        work.exception()  # It was looked at, so asyncio does not report it.


log = logging.getLogger("clawkit.assistant.toolbox")

LOAD_TIMEOUT = 30.0
Stamp = tuple[int, int]


class ToolFile(Struct, frozen=True):
    """A file as it was when it was loaded: its tools, or why there are none."""

    stamp: Stamp
    source: InProcess | None
    problem: str = ""


class ToolFiles:
    """The files `*.py` of one directory; those whose name starts with `_` are theirs to share."""

    def __init__(self, directory: Path, timeout: float = LOAD_TIMEOUT) -> None:
        self._directory = directory
        self._timeout = timeout
        self._loaded: dict[Path, ToolFile] = {}
        self._shared: dict[Path, Stamp] = {}
        self._unread: list[str] = []
        self._turn = asyncio.Lock()
        self._workers = Workers(8)

    def sources(self) -> list[tuple[str, InProcess]]:
        """The files that work, by name."""
        files = sorted(self._loaded.items())
        return [(path.stem, file.source) for path, file in files if file.source is not None]

    def problems(self) -> list[str]:
        found = list(self._unread)
        for path, file in sorted(self._loaded.items()):
            if file.source is None:
                found.append(file.problem)
            else:
                found += [f"{path}: {reason}" for reason in file.source.unusable()]
        return found

    async def refresh(self) -> None:
        """Load what is new or changed, forget what is gone."""
        async with self._turn:
            tools, shared = self._look()
            if shared != self._shared:
                self._loaded = {}
            changed = [path for path in tools if self._is_new(path, tools[path])]
            if changed:
                _forget_modules(self._directory, changed if shared == self._shared else None)
            self._shared = shared
            self._loaded = {path: file for path, file in self._loaded.items() if path in tools}
            # One at a time: the import system is shared by all of them.
            for path in changed:
                self._loaded[path] = await self._load(path, tools[path])

    def _is_new(self, path: Path, stamp: Stamp) -> bool:
        return path not in self._loaded or self._loaded[path].stamp != stamp

    def _look(self) -> tuple[dict[Path, Stamp], dict[Path, Stamp]]:
        """What is there: files with tools, and files that they share."""
        tools: dict[Path, Stamp] = {}
        shared: dict[Path, Stamp] = {}
        self._unread = []
        for path in self._files():
            try:
                found = path.stat()
            except OSError as error:
                self._unread.append(f"{path} cannot be read: {error.strerror}")
                continue
            side = shared if path.name.startswith("_") else tools
            side[path] = (found.st_mtime_ns, found.st_size)
        return tools, shared

    def _files(self) -> list[Path]:
        try:
            return sorted(path for path in self._directory.iterdir() if path.suffix == ".py")
        except FileNotFoundError:
            return []
        except OSError as error:
            self._unread.append(f"{self._directory} cannot be read: {error.strerror}")
            return []

    async def _load(self, path: Path, stamp: Stamp) -> ToolFile:
        # In a thread, because a file may take its time to import what it needs.
        job = self._workers.start(load_server, {"target": str(path)})
        try:
            async with asyncio.timeout(self._timeout):
                return ToolFile(stamp, InProcess(await job.outcome))
        except TimeoutError:
            problem = f"{path}: takes longer than {self._timeout:g} s to load"
        except ClawError as error:
            problem = str(error) if str(path) in str(error) else f"{path}: {error}"
        except Exception as error:  # noqa: BLE001 - a file may do anything while it is loaded
            problem = f"{path}: {type(error).__name__}: {error}"
        log.debug("%s", problem)
        return ToolFile(stamp, None, problem)


def _forget_modules(directory: Path, files: list[Path] | None) -> None:
    """Have Python read these again, or all of the directory's."""
    folders = {directory, directory.resolve()}
    forget_modules(
        lambda _, origin: (
            origin.parent in folders and (files is None or directory / origin.name in files)
        )
    )
