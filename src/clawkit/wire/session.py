"""A client's connection (`Session`), a request on it (`McpRequest`), who sent it (`Principal`), and
what a running tool, resource or prompt can ask, report and read of its request (`Context`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from clawkit.errors import (
    InvalidParamsError,
    MissingCapabilityError,
    ToolExecutionError,
    UnsupportedVersionError,
)
from clawkit.wire import input_requests, jsonrpc
from clawkit.wire.input_requests import Elicited, InputRequest, InputRequired, Rounds, digest
from clawkit.wire.jsonrpc import Message, RequestId
from clawkit.wire.revisions import (
    APP_TYPE,
    APPS,
    LOG_LEVELS,
    META_CAPABILITIES,
    META_CLIENT,
    META_LOG_LEVEL,
    META_VERSION,
    MODERN,
    NEWEST_LEGACY,
    TASKS,
    TRACE_KEYS,
)

if TYPE_CHECKING:
    import asyncio

    from clawkit.wire.calls import Workers
    from clawkit.wire.server import ServerCore
    from clawkit.wire.tasks import TaskHandle

Send = Callable[[Message], None]
"""Delivers a message to the client; safe to call from any thread."""

_TIMED_OUT = re.compile(r"time[ds]?[ -]?out", re.IGNORECASE)
"""In the reasons that clients give: "Request timed out", "Maximum total timeout exceeded"."""


class Principal(msgspec.Struct, frozen=True):
    """The authenticated caller of an HTTP request."""

    id: str
    scopes: frozenset[str] = frozenset()
    data: Any = None


class RunningRequest:
    """A request in progress, which can be cancelled.

    `cancelled` says that the client does not want the reply, for the `reason` it gave; `over` that
    no more progress or log messages may be sent for it.
    """

    __slots__ = ("cancelled", "over", "reason", "task")

    def __init__(self) -> None:
        self.task: asyncio.Task[Any] | None = None
        self.cancelled = False
        self.over = False
        self.reason = ""

    def cancel(self, reason: str = "") -> None:
        self.cancelled = self.over = True
        self.reason = reason
        if self.task is not None:
            self.task.cancel()


class Session:
    """The state of one connection. The modern era uses only `running`.

    `strict` turns a tool's failure into a JSON-RPC error, as in-process callers expect it.
    `notices` says that change notices can reach the client, `approved` that a person has approved
    the calls already. A session that does not `remember` is shared by callers without one: no
    message changes it.
    """

    def __init__(
        self,
        send: Send | None = None,
        *,
        id: str | None = None,
        version: str = NEWEST_LEGACY,
        strict: bool = False,
        approved: bool = False,
        principal: Principal | None = None,
        notices: bool | None = None,
        remembers: bool = True,
    ) -> None:
        self.remembers = remembers
        self.send = send
        self.notices = send is not None if notices is None else notices
        self.id = id
        self.version = version
        self.strict = strict
        self.approved = approved
        self.principal = principal
        self.client: dict[str, Any] = {}
        self.capabilities: dict[str, Any] = {}
        self.log_level = "info"
        self.subscribed: set[str] = set()
        self.running: dict[RequestId, RunningRequest] = {}
        self._asked: dict[str, asyncio.Future[Any]] = {}

    async def ask(self, method: str, params: dict[str, Any], send: Send) -> Any:
        """Send the client a request, as the handshake era allows, and wait for its result."""
        import asyncio
        import secrets

        request_id = f"claw-{secrets.token_urlsafe(12)}"
        answer = asyncio.get_running_loop().create_future()
        self._asked[request_id] = answer
        try:
            send(jsonrpc.request(request_id, method, params))
            return await answer
        except asyncio.CancelledError:
            send(jsonrpc.notification("notifications/cancelled", {"requestId": request_id}))
            raise
        finally:
            del self._asked[request_id]

    def resolve(self, response: Message) -> None:
        """Pass a response to the `ask` that waits for it; an unexpected one is dropped."""
        answer = self._asked.get(str(response.get("id")))
        if answer is None or answer.done():
            return
        if "error" in response:
            reason = jsonrpc.as_object(response["error"]) or {}
            text = reason.get("message", "no reason given")
            answer.set_exception(ToolExecutionError(f"The client refused: {text}"))
        else:
            answer.set_result(response["result"])

    def cancel(self, request_id: RequestId, reason: str = "") -> None:
        running = self.running.get(request_id)
        if running is not None:
            running.cancel(reason)

    def close(self) -> None:
        """Cancel all running requests."""
        for running in list(self.running.values()):
            running.cancel()


class McpRequest:
    """One request: its parameters, era, revision, client capabilities and caller."""

    __slots__ = (
        "capabilities",
        "id",
        "meta",
        "method",
        "modern",
        "params",
        "principal",
        "send",
        "session",
        "subject",
    )

    def __init__(
        self,
        message: Message,
        session: Session,
        send: Send | None,
        principal: Principal | None = None,
    ) -> None:
        self.principal = principal or session.principal
        self.subject: tuple[str, dict[str, Any]] | None = None
        self.id: RequestId = message["id"]
        self.method: str = message["method"]
        self.params: dict[str, Any] = message.get("params") or {}
        self.session = session
        self.send = send
        meta = jsonrpc.as_object(self.params.get("_meta") or {})
        if meta is None:
            raise InvalidParamsError("Invalid params: _meta must be an object")
        self.meta = meta
        self.modern = META_VERSION in self.meta
        if self.modern:
            self.capabilities = modern_capabilities(self.meta)
        else:
            self.capabilities = session.capabilities

    @property
    def owner(self) -> str | None:
        """The caller's id: tasks and states of one principal are hidden from others."""
        return self.principal.id if self.principal is not None else None

    @property
    def version(self) -> str:
        return MODERN if self.modern else self.session.version

    def can_task(self) -> bool:
        """Whether this request declares the tasks extension."""
        return self.modern and TASKS in _extensions(self.capabilities)

    def can_show(self) -> bool:
        """Whether the client shows the pages of MCP Apps."""
        return shows_apps(self.capabilities)


def shows_apps(capabilities: dict[str, Any]) -> bool:
    """Whether these client capabilities include pages of MCP Apps."""
    declared = jsonrpc.as_object(_extensions(capabilities).get(APPS))
    types = (declared or {}).get("mimeTypes")
    return isinstance(types, list) and APP_TYPE in types


def _extensions(capabilities: dict[str, Any]) -> dict[str, Any]:
    return jsonrpc.as_object(capabilities.get("extensions")) or {}


def modern_capabilities(meta: dict[str, Any]) -> dict[str, Any]:
    """The client capabilities in a modern `_meta`; raises if its version is not supported."""
    version = meta.get(META_VERSION)
    if type(version) is not str:
        raise InvalidParamsError(f"Invalid params: _meta[{META_VERSION!r}] must be a string")
    if version != MODERN:
        raise UnsupportedVersionError(
            f"Unsupported protocol version {version[:40]!r}",
            data={"supported": [MODERN], "requested": version},
        )
    capabilities = jsonrpc.as_object(meta.get(META_CAPABILITIES))
    if capabilities is None:
        raise InvalidParamsError(f"Invalid params: _meta[{META_CAPABILITIES!r}] must be an object")
    return capabilities


class Context:
    """The context of one call: a parameter of this type gets it and stays out of the schema."""

    __slots__ = (
        "_counter",
        "_job",
        "_open",
        "_request",
        "_rounds",
        "_running",
        "_task",
        "_used",
        "meta",
        "principal",
        "server",
        "session",
    )

    def __init__(
        self, server: ServerCore, request: McpRequest, running: RunningRequest, rounds: Rounds
    ) -> None:
        self.server = server
        self.session: Session = request.session
        self.principal: Principal | None = request.principal
        self.meta: dict[str, Any] = request.meta
        """The `_meta` of the request, trace context included."""
        self._task: TaskHandle | None = None
        self._request = request
        self._running = running
        self._rounds = rounds
        self._counter = 0
        self._used: dict[str, Any] = {}
        self._open: dict[str, InputRequest] = {}
        self._job: asyncio.Future[None] | None = None

    @property
    def state(self) -> Any:
        """Whatever the server was given as `state`."""
        return self.server.state

    @property
    def cancelled(self) -> bool:
        """Whether the client no longer wants the result. Sync tools should check now and then."""
        return self._running.cancelled or (self._running.over and self.task is None)

    @property
    def timed_out(self) -> bool:
        """Whether the client cancelled because of its own timeout, by the reason it gave."""
        return self._running.cancelled and _TIMED_OUT.search(self._running.reason) is not None

    def mark_over(self) -> None:
        """Send no more messages for this call: it has been answered."""
        self._running.over = True

    @property
    def request_id(self) -> str | int:
        return self._request.id

    @property
    def tool_call_id(self) -> str:
        """The id that the model's host gave this call, else the request's id."""
        return str(self.meta.get("claudecode/toolUseId", self._request.id))

    @property
    def client(self) -> dict[str, Any]:
        """The client's name and version, as it declared them; may be empty."""
        return self.meta.get(META_CLIENT) or self.session.client

    @property
    def capabilities(self) -> dict[str, Any]:
        """The capabilities that the client declared for this request."""
        return self._request.capabilities

    @property
    def modern(self) -> bool:
        return self._request.modern

    @property
    def protocol_version(self) -> str:
        return self._request.version

    @property
    def task(self) -> TaskHandle | None:
        """The MCP task that this call has become, if it has."""
        return self._task if self._task is not None and self._task.promoted else None

    @property
    def task_id(self) -> str | None:
        """The id of this call as an MCP task, known before it becomes one."""
        return None if self._task is None else self._task.record.id

    def attach(self, task: TaskHandle) -> None:
        """Allow this call to become an MCP task."""
        self._task = task

    @property
    def round(self) -> int:
        """How many rounds of questions this call has had, by its signed state."""
        return self._rounds.count

    def progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Report progress, if the client asked for it."""
        if self.task is not None:
            self.task.describe(message or _percentage(progress, total))
            return
        token = self.meta.get("progressToken")
        if token is None or self._request.send is None or self._running.over:
            return
        params: dict[str, Any] = {"progressToken": token, "progress": progress}
        if total is not None:
            params["total"] = total
        if message is not None:
            params["message"] = message
        self._request.send(jsonrpc.notification("notifications/progress", params))

    def log(self, level: str, data: Any, *, logger: str | None = None) -> None:
        """Send a log message, if the client wants this level."""
        if level not in LOG_LEVELS:
            raise ValueError(f"no log level {level!r}; there are {', '.join(LOG_LEVELS)}")
        wanted = self._log_level()
        if wanted is None or self._request.send is None or self._running.over:
            return
        if LOG_LEVELS.index(level) < LOG_LEVELS.index(wanted):
            return
        plain = msgspec.to_builtins(data, enc_hook=repr)
        params = {"level": level, "data": plain, "logger": logger or self.server.name}
        self._request.send(jsonrpc.notification("notifications/message", params))

    def _log_level(self) -> str | None:
        if not self._request.modern:
            return self.session.log_level
        wanted = self.meta.get(META_LOG_LEVEL)
        return wanted if wanted in LOG_LEVELS and self.task is None else None

    async def elicit(self, message: str, schema: Any = None, *, key: str | None = None) -> Elicited:
        """Ask the person. `schema` is a flat JSON Schema or a class whose fields are the form.

        In the modern era the call ends here and starts again from its beginning with the answer
        known, so what comes before a question should be harmless to repeat.
        """
        return await self._ask_one(input_requests.elicitation(message, schema), key)

    async def sample(
        self,
        messages: str | Sequence[dict[str, Any]],
        *,
        max_tokens: int = 1024,
        key: str | None = None,
        **options: Any,
    ) -> dict[str, Any]:
        """Ask the client's model. `options` are other fields of `sampling/createMessage`."""
        return await self._ask_one(input_requests.sampling(messages, max_tokens, **options), key)

    async def roots(self, *, key: str | None = None) -> list[dict[str, Any]]:
        """The folders the client works in."""
        return (await self._ask_one(input_requests.roots(), key))["roots"]

    async def _ask_one(self, question: InputRequest, key: str | None) -> Any:
        self._counter += 1
        name = key or f"input-{self._counter}"
        return (await self.ask({name: question}))[name]

    async def ask(self, asked: dict[str, InputRequest]) -> dict[str, Any]:
        """Ask several things at once; answers come back under the same keys."""
        for question in asked.values():
            self._require(question)
        if self.task is not None:
            return await self.task.ask(asked)
        if self._request.modern:
            return await self._answers(asked)
        return await self._ask_client(asked)

    def _require(self, question: InputRequest) -> None:
        capability = question.capability
        reachable = self._request.modern or self._request.send is not None
        if not reachable or not self.can(capability):
            need = f"This needs a client with the capability {capability!r}"
            if not self.modern and self.session.send is None and self.session.notices:
                need += ", and over HTTP a server with sessions (claw serve --sessions)"
            raise MissingCapabilityError(need, {capability: {}})

    def can(self, capability: str) -> bool:
        """Whether the client supports `elicitation` (by a form), `sampling` or `roots`."""
        declared = jsonrpc.as_object(self.capabilities.get(capability))
        if declared is None:
            return False
        if capability != "elicitation":
            return True
        # An empty object means forms; some clients can only open a page.
        return self.protocol_version >= "2025-06-18" and (not declared or "form" in declared)

    async def _answers(self, asked: dict[str, InputRequest]) -> dict[str, Any]:
        """The answers in this request; raises InputRequired if some are missing.

        An answer counts only for the question it was given to: one that has changed is asked again.
        """
        known: dict[str, Any] = {}
        missing: dict[str, InputRequest] = {}
        for key, question in asked.items():
            put = self._rounds.asked.get(key)
            same = put is None or put == digest(question.to_wire())
            if not same or key not in self._rounds.answers:
                missing[key] = question
                continue
            self._used[key] = self._rounds.answers[key]
            try:
                known[key] = question.read(self._used[key])
            except (ValueError, msgspec.ValidationError) as error:
                problem = f"Invalid params: inputResponses.{key}: {error}"
                raise InvalidParamsError(problem) from None
        if missing:
            known.update(await self._end_round(missing))
        return known

    async def _end_round(self, missing: dict[str, InputRequest]) -> dict[str, Any]:
        import asyncio

        self._open.update(missing)
        await asyncio.sleep(0)  # Questions asked concurrently, as in a gather, join this round.
        if self.task is not None:
            return await self.task.ask(missing)
        put_now = {key: digest(question.to_wire()) for key, question in self._open.items()}
        asked_so_far = {**self._rounds.asked, **put_now}
        raise InputRequired(dict(self._open), Rounds(self.round + 1, asked_so_far, self._used))

    async def _ask_client(self, asked: dict[str, InputRequest]) -> dict[str, Any]:
        import asyncio

        send = self._request.send
        if send is None:
            raise ToolExecutionError("The client cannot be reached")
        trace = {key: self.meta[key] for key in TRACE_KEYS if key in self.meta}
        waiting = [
            self.session.ask(q.method, {**q.params, "_meta": trace} if trace else q.params, send)
            for q in asked.values()
        ]
        answers = await asyncio.gather(*waiting)
        try:
            return {
                key: question.read(answer)
                for (key, question), answer in zip(asked.items(), answers, strict=True)
            }
        except (ValueError, msgspec.ValidationError) as error:
            raise ToolExecutionError(f"The client's answer cannot be used: {error}") from None

    async def become_task(self) -> None:
        """Let the client poll for the result from now on, if client and tool allow tasks."""
        if self._task is not None:
            self._task.promote()

    async def run_in_thread(
        self,
        function: Callable[..., Any],
        arguments: dict[str, Any],
        workers: Workers | None = None,
    ) -> Any:
        """Call a blocking function in a thread, of `workers` or of the server's own."""
        job = (workers or self.server.workers).start(function, arguments)
        self._job = job.ended
        return await job.outcome

    def when_idle(self, then: Callable[[], None]) -> None:
        """Call `then` once no thread works for this call any more."""
        if self._job is None or self._job.done():
            then()
        else:
            self._job.add_done_callback(lambda _: then())


def _percentage(progress: float, total: float | None) -> str:
    return f"{progress:g} of {total:g}" if total is not None else f"{progress:g}"
