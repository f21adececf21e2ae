"""The client: a running CLI to send messages to, receive from, and steer."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import uuid
import warnings
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Callable,
    Generator,
    Mapping,
)
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from clawkit.claude import confinement, turn_tracker
from clawkit.claude.callbacks import Hooks, McpMessageHandler, Permissions, Questions, ToolServers
from clawkit.claude.control import Control
from clawkit.claude.installation import ask_version, check_version, find_cli
from clawkit.claude.messages import (
    Message,
    ResultMessage,
    SystemMessage,
    parse_message,
    read_line,
    write_line,
)
from clawkit.claude.options import (
    ClaudeAgentOptions,
    ClaudeAgentOptionsDict,
    McpServerConfig,
    PermissionMode,
    arguments_of,
    command_line,
    external_servers,
    initialize_fields,
    mcp_config_of,
    write_private,
)
from clawkit.claude.permissions import unmatched_names
from clawkit.claude.process import CliProcess
from clawkit.errors import CliEndedError, CliError, CliGarbageError, CliSilentError
from clawkit.tools.server import SdkMcpServerRegistry

if TYPE_CHECKING:
    from clawkit.claude.policy_gate import PolicyGate

Prompt = str | list[dict[str, Any]] | dict[str, Any]
"""Words, content blocks, or a whole message as the CLI takes it."""

log = logging.getLogger("clawkit.claude")


class Registered:
    """Makes `await client.register_mcp_message_handler(…)` work too, as documented."""

    def __await__(self) -> Generator[None, None, None]:
        return
        yield


class ClaudeClient:
    """Drives the Claude CLI. Use it as an async context manager, or connect and disconnect."""

    def __init__(
        self,
        options: ClaudeAgentOptions | None = None,
        **fields: Unpack[ClaudeAgentOptionsDict],
    ) -> None:
        self.options = (options or ClaudeAgentOptions()).replace(**fields)
        self.version = ""
        self.server_info: dict[str, Any] = {}
        self._process: CliProcess | None = None
        self._messages: asyncio.Queue[Message | CliError | None] = asyncio.Queue()
        self._turns = turn_tracker.TurnTracker()
        self._known_servers: set[str] = set()
        self._policy_gate: PolicyGate | None = None
        self._reader: asyncio.Task[None] | None = None
        self._sending: set[asyncio.Task[None]] = set()
        self._files: list[str] = []
        self._tools = ToolServers(self._send_to_cli)
        self._control = Control(self._write, {})
        self._leaving = False

    def register_mcp_message_handler(self, registry: McpMessageHandler) -> Registered:
        """Let `registry` answer for the in-process servers; call it before `connect`."""
        self._tools.handler = registry
        if isinstance(registry, SdkMcpServerRegistry) and not self.options.sdk_mcp_servers:
            self.options = self.options.replace(sdk_mcp_servers=registry.announcements())
        return Registered()

    async def __aenter__(self) -> ClaudeClient:
        await self.connect()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.disconnect()

    async def connect(self, prompt: Prompt | None = None) -> None:
        """Start the CLI and agree with it on what each side does."""
        if self._process is not None:
            return
        self._warn_of_unknown_tools()
        options, environment = self.options, self._environment()
        cli = find_cli(options.cli_path, environment)
        gate = self._policy_gate = self._gate(environment)
        hooks = Hooks(options, gate)
        self._control = Control(
            self._write,
            {
                "mcp_message": self._tools.answer,
                "can_use_tool": Permissions(options, gate).answer,
                "elicitation": Questions(options).answer,
                "hook_callback": hooks.answer,
            },
        )
        self._messages, self._turns, self._leaving = (
            asyncio.Queue(),
            turn_tracker.TurnTracker(),
            False,
        )
        self._known_servers = {*options.mcp_servers, *(s.name for s in options.sdk_mcp_servers)}
        mcp_config, settings = mcp_config_of(options), confinement.settings_of(options)
        try:
            servers = self._write_file("mcp", mcp_config)
            chosen = self._write_file("settings", settings)
            self._process = await CliProcess.start(
                [cli, *command_line(options, servers, chosen)],
                cwd=options.cwd,
                environment=environment,
                on_stderr=options.stderr,
                max_line=options.max_line,
            )
            self._reader = asyncio.get_running_loop().create_task(self._read(self._process))
            fields = initialize_fields(options, hooks.announcement)
            self.server_info = await self._ask("initialize", options.connect_timeout, **fields)
            said = self.server_info.get("claude_code_version")
            said = said or await ask_version(cli, environment)
            self.version = check_version(cli, said, verbatim=self._is_verbatim)
            if options.policy is not None:
                confinement.check_handshake(self.server_info)
                names = [str(server.get("name")) for server in await self.mcp_status()]
                confinement.check_servers(names, self._known_servers)
        except (CliEndedError, CliGarbageError):
            await self.disconnect()
            # Too old, it may have failed before it could say so.
            said = await ask_version(cli, environment)
            check_version(cli, said, verbatim=self._is_verbatim)
            raise
        except BaseException:
            await self.disconnect()
            raise
        if prompt is not None:
            await self.send(prompt)

    async def send(self, prompt: Prompt, session_id: str = "default") -> str:
        """Say something to the model; gives the id that its `ResultMessage` has in `answers`."""
        message: dict[str, Any]
        if isinstance(prompt, dict):
            message = dict(prompt)
        else:
            message = {
                "type": "user",
                "message": {"role": "user", "content": prompt},
                "parent_tool_use_id": None,
                "session_id": session_id,
            }
        if self._is_verbatim:
            # Else the CLI reads the files that a text names with @, and no rule is asked.
            message["client_composed"] = True
        id = str(message.setdefault("uuid", str(uuid.uuid4())))
        if message.get("type") == "user":
            self._turns.sent(id)
        await self._write(write_line(message))
        return id

    async def receive(self) -> AsyncGenerator[Message]:
        """Everything the CLI says, until it ends."""
        async with contextlib.aclosing(self._received(lambda _: False)) as messages:
            async for message in messages:
                yield message

    async def receive_response(self) -> AsyncGenerator[Message]:
        """What the CLI says up to the answer to the oldest prompt that has none yet.

        That answer is the last message, a `ResultMessage`. Turns that the CLI has by itself, when
        an agent in the background is done, may come before it. If nothing was sent, it is the next
        result; if everything is answered, because prompts were answered together, nothing comes.
        """
        awaited = self._turns.awaited
        if awaited is None and self._turns.anything_sent:
            return

        def is_answered(message: Message) -> bool:
            if awaited is None:
                return isinstance(message, ResultMessage)
            return not self._turns.is_open(awaited)

        async with contextlib.aclosing(self._received(is_answered)) as messages:
            async for message in messages:
                yield message

    async def receive_rest(self) -> AsyncGenerator[Message]:
        """What the CLI says until it has nothing more to do: no prompt, and no agent at work."""
        self._check_connected()
        if self._turns.over:
            return
        async with contextlib.aclosing(self._received(lambda _: self._turns.over)) as messages:
            async for message in messages:
                yield message

    async def _received(self, is_last: Callable[[Message], bool]) -> AsyncGenerator[Message]:
        self._check_connected()
        while True:
            message = await self._messages.get()
            if message is None or isinstance(message, CliError):
                self._messages.put_nowait(message)  # for whoever asks next
                if message is None:
                    return
                raise message
            self._turns.hear(message)
            last = is_last(message)
            if not turn_tracker.is_for_the_host(message):
                yield message
            if last:
                return

    def _check_connected(self) -> None:
        if self._reader is None and self._messages.empty():
            raise CliError("not connected: call connect() first")

    async def interrupt(self) -> None:
        """Stop the turn that is under way."""
        await self.control("interrupt")

    async def set_model(self, model: str | None = None) -> None:
        """Let another model answer from here on; None is the default one."""
        await self.control("set_model", model=model)

    async def set_permission_mode(self, mode: PermissionMode) -> None:
        await self.control("set_permission_mode", mode=mode)

    async def mcp_status(self) -> list[dict[str, Any]]:
        """Each MCP server, whether it is connected, and its tools."""
        return list((await self.control("mcp_status")).get("mcpServers", []))

    async def set_mcp_servers(
        self, servers: Mapping[str, McpServerConfig | Mapping[str, Any]]
    ) -> dict[str, Any]:
        """Have these external servers and no others, beside ours; says what that changed."""
        found = external_servers(servers)
        config = {name: server.to_dict() for name, server in found.items()}
        for ours in self.options.sdk_mcp_servers:
            config[ours.name] = {"type": "sdk", "name": ours.name}
        self._known_servers |= set(config)
        if self._policy_gate is not None:
            self._policy_gate.take_up(arguments_of(found))
        return await self.control("mcp_set_servers", servers=config)

    async def toggle_mcp_server(self, name: str, enabled: bool) -> None:
        await self.control("mcp_toggle", serverName=name, enabled=enabled)

    async def reconnect_mcp_server(self, name: str) -> None:
        await self.control("mcp_reconnect", serverName=name)

    async def context_usage(self) -> dict[str, Any]:
        """How full the model's context is, and with what."""
        return await self.control("get_context_usage")

    async def control(self, subtype: str, **fields: Any) -> dict[str, Any]:
        """Any control request that the CLI knows."""
        return await self._ask(subtype, self.options.control_timeout, **fields)

    async def _ask(self, subtype: str, seconds: float, **fields: Any) -> dict[str, Any]:
        try:
            return await self._control.request(subtype, seconds, **fields)
        except CliSilentError as silent:
            said = self._process.stderr if self._process is not None else ""
            raise CliSilentError(str(silent), said) from None

    async def disconnect(self) -> None:
        """End the CLI and everything it started; nothing is left behind."""
        self._leaving = True
        self._tools.close()
        while self._files:
            Path(self._files.pop()).unlink(missing_ok=True)  # noqa: ASYNC240 - small, and local
        if self._process is not None:
            try:
                await self._process.stop()
            finally:
                self._process = None
        if self._reader is not None:
            await asyncio.wait([self._reader])
            self._reader = None

    def _write_file(self, name: str, content: dict[str, Any] | None) -> str | None:
        file = write_private(name, content)
        if file is not None:
            self._files.append(file)
        return file

    def _environment(self) -> dict[str, str]:
        """Our environment without CLAUDECODE, which says that one CLI runs inside another."""
        inherited = {name: value for name, value in os.environ.items() if name != "CLAUDECODE"}
        forced = {} if self.options.policy is None else confinement.ENVIRONMENT
        return {**inherited, **self.options.env, **turn_tracker.ENVIRONMENT, **forced}

    @property
    def _is_verbatim(self) -> bool:
        return self.options.verbatim_prompts or self.options.policy is not None

    def _gate(self, environment: Mapping[str, str]) -> PolicyGate | None:
        options = self.options
        if options.policy is None:
            return None
        from clawkit.claude.policy_gate import PolicyGate

        cwd = str(Path(options.cwd or ".").resolve())
        servers = arguments_of(external_servers(options.mcp_servers))
        servers.update({server.name: [] for server in options.sdk_mcp_servers})
        return PolicyGate(options.policy, cwd, environment.get("HOME", str(Path.home())), servers)

    def _warn_of_unknown_tools(self) -> None:
        servers: dict[str, Any] = dict.fromkeys(self.options.mcp_servers)
        registry = self._tools.handler
        for announced in self.options.sdk_mcp_servers:
            known = (
                registry.get(announced.name) if isinstance(registry, SdkMcpServerRegistry) else None
            )
            servers[announced.name] = None if known is None else list(known.tools)
        names = (*self.options.allowed_tools, *self.options.disallowed_tools)
        for problem in unmatched_names(names, servers):
            warnings.warn(problem, stacklevel=3)

    async def _write(self, data: bytes) -> None:
        if self._process is None:
            raise CliError("not connected: call connect() first")
        await self._process.write(data)

    def _send_to_cli(self, server: str, message: dict[str, Any]) -> None:
        """A notice of an in-process server, such as that its tools have changed."""
        task = asyncio.get_running_loop().create_task(self._deliver(server, message))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _deliver(self, server: str, message: dict[str, Any]) -> None:
        with contextlib.suppress(CliError):  # one that is gone has no use for a notice
            await self.control("mcp_message", server_name=server, message=message)

    async def _read(self, process: CliProcess) -> None:
        """Read from the CLI until it ends, and tell everything that waits how it ended."""
        error: CliError | None = None
        try:
            async for line in process.lines():
                if line.strip():
                    self._hear(line)
        except CliError as refused:
            error = type(refused)(str(refused), process.stderr)
        except Exception as failure:
            log.exception("what the Claude CLI said could not be taken")
            error = CliError(f"what the Claude CLI said could not be taken: {failure!r}")
        ended = await process.ended() if error is None else error
        if self._leaving:
            ended = CliError("the client has disconnected")
        await self._control.close(ended)
        self._messages.put_nowait(None if self._leaving else ended)
        if error is not None and not self._leaving:
            await process.stop()  # nobody hears it any more

    def _hear(self, line: bytes) -> None:
        data = read_line(line)
        if data is None:
            if self._process is not None:
                self._process.keep(line)
        elif not self._control.take(data):
            message = parse_message(data)
            if self.options.policy is not None and _is_start(message):
                confinement.check_start(data, self._known_servers)
            self._messages.put_nowait(message)


def _is_start(message: Message) -> bool:
    return isinstance(message, SystemMessage) and message.subtype == "init"


async def query(
    prompt: Prompt | AsyncIterable[Prompt],
    options: ClaudeAgentOptions | None = None,
    *,
    registry: McpMessageHandler | None = None,
    **fields: Unpack[ClaudeAgentOptionsDict],
) -> AsyncGenerator[Message]:
    """One question: everything up to its answer, and what agents in the background still do.

    Of several prompts, each is answered in turn.
    """
    client = ClaudeClient(options, **fields)
    if registry is not None:
        client.register_mcp_message_handler(registry)
    async with client:
        async for one in _each(prompt):
            await client.send(one)
            async for message in client.receive_response():
                yield message
        async for message in client.receive_rest():
            yield message


async def _each(prompt: Prompt | AsyncIterable[Prompt]) -> AsyncIterator[Prompt]:
    if isinstance(prompt, AsyncIterable):
        async for one in prompt:
            yield one
    else:
        yield prompt
