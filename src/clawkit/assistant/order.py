"""One call of the order tool: reads the arguments, reports progress, returns the result."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import to_builtins
from msgspec.structs import replace

from clawkit.assistant.assistant import Assistant, ReloadingAssistant
from clawkit.assistant.callbacks import AssistantReply, Callbacks, MessageContext, combine
from clawkit.assistant.config import AssistantOptions
from clawkit.assistant.media.inbound import receive
from clawkit.assistant.media.outbound import to_blocks
from clawkit.assistant.redaction import explain_failure, session_mark
from clawkit.assistant.sessions.task_store import note_session
from clawkit.assistant.sessions.turn_queue import new_session_key
from clawkit.assistant.toolbox.tool_source import CallResult
from clawkit.errors import InvalidArgumentsError, MissingCapabilityError
from clawkit.models.protocol import ToolCall
from clawkit.wire.input_requests import InputRequest
from clawkit.wire.jsonrpc import as_object
from clawkit.wire.session import Context, Principal

if TYPE_CHECKING:
    from clawkit.assistant.deferred_orders import DeferredOrders
    from clawkit.assistant.server import Brand

LONGEST_TOOL_TEXT = 4000
MOST_NOTICES = 50
BETWEEN_TEXTS = 0.25
LONGEST_TEXT = 8000


class OrderRun:
    """An order that is worked on. `context` is the call that waits for it, or the last that did."""

    def __init__(self, order: MessageContext, context: Context) -> None:
        self.order = order
        self.context = context
        self.doing = ""
        """The step of it that was told last."""

    async def ask(self, request: InputRequest) -> dict[str, Any]:
        """Put a question to the client."""
        return (await self.context.ask({"question": request}))["question"]


class CollectedReply(Callbacks):
    """Keeps the parts in the order in which they came."""

    def __init__(self, *, show_tools: bool = True) -> None:
        self._parts: list[str] = []
        self._notices: dict[str, None] = {}
        self._show_tools = show_tools

    def take_back(self) -> bool:
        return True

    def block(self, text: str) -> None:
        self._parts.append(text)

    def tool_ended(self, call: ToolCall, result: CallResult) -> None:
        if self._show_tools and not result.outcome.is_error:
            self._parts.append(_shortened(call.name, result.text))

    def notice(self, text: str) -> None:
        if len(self._notices) < MOST_NOTICES:
            self._notices[text] = None

    @property
    def notices(self) -> tuple[str, ...]:
        return tuple(self._notices)

    def result(
        self, reply: AssistantReply, *, with_media: bool, structured: bool
    ) -> dict[str, Any]:
        """The result of the call, with everything that had to be left out said in the text."""
        omissions = [*self._notices, *reply.omissions]
        if reply.media and not with_media:
            names = ", ".join(item.name for item in reply.media)
            omissions.append(f"{names} left out: answers of this tool are text only")
        notes = [f"[{one}]" for one in omissions]
        if reply.problem:
            notes.append(f"Error: {reply.problem}")
        said = combine(self._parts, reply.text) if self._parts else reply.text.strip()
        text = "\n\n".join(filter(None, (said, *notes)))
        content: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
        if reply.media and with_media:
            content += to_blocks(reply.media)
        result: dict[str, Any] = {"content": content, "isError": bool(reply.problem)}
        if structured:
            result["structuredContent"] = {
                "sessionKey": reply.session_key,
                "model": reply.model,
                "usage": to_builtins(reply.usage),
                "stopReason": reply.reason,
                **({"notices": list(self._notices)} if self._notices else {}),
            }
        return result


def _shortened(name: str, text: str) -> str:
    text = text.strip()
    if len(text) <= LONGEST_TOOL_TEXT:
        return text
    left_out = len(text) - LONGEST_TOOL_TEXT
    return f"{text[:LONGEST_TOOL_TEXT]}\n[{left_out} more characters of {name} left out]"


class OrderProgress(CollectedReply):
    """Collects the reply to an order, and sends progress on the way.

    Each message counts one further, as the protocol wants.
    """

    def __init__(self, run: OrderRun, options: AssistantOptions) -> None:
        super().__init__(show_tools=options.tool_results)
        self._run = run
        self._heartbeat = options.heartbeat
        self._started = time.monotonic()
        self._count = 0
        self._text: str = ""
        self._shown: str = ""
        self._seen = False
        """Whether the client has seen any of the text since the last block."""
        self._unsaid: list[str] = []
        self._steps: dict[str, str] = {}
        self._last = 0.0
        self._due: asyncio.TimerHandle | None = None
        self._heartbeats: asyncio.Task[None] | None = None

    async def __aenter__(self) -> OrderProgress:
        self._heartbeats = asyncio.get_running_loop().create_task(self._send_heartbeats())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._due is not None:
            self._due.cancel()
        if self._heartbeats is not None:
            self._heartbeats.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._heartbeats

    @property
    def answers(self) -> frozenset[str]:
        return answerable(self._run.context)

    async def ask(self, question: InputRequest) -> dict[str, Any]:
        forms = as_object(self._run.context.capabilities.get("elicitation")) or {}
        if question.params.get("mode") == "url" and "url" not in forms:
            raise MissingCapabilityError(
                "the client opens no pages for a tool", {"elicitation": {"url": {}}}
            )
        return await self._run.ask(question)

    def text(self, delta: str) -> None:
        self._text = f"{self._text}{delta}"[-LONGEST_TEXT:]
        self._show_soon()

    def take_back(self) -> bool:
        if self._seen:
            return False
        self._text = ""
        return True

    def block(self, text: str) -> None:
        super().block(text)
        self._show()
        self._text = ""
        self._seen = False

    def tool_started(self, call: ToolCall) -> None:
        self._show()
        self._run.doing = f"calling {call.name}"
        self._say(self._run.doing)

    def tool_ended(self, call: ToolCall, result: CallResult) -> None:
        super().tool_ended(call, result)
        how = "failed" if result.outcome.is_error else "answered"
        self._run.doing = f"{call.name} {how} after {result.seconds:.1f} s"
        self._say(self._run.doing)

    def step(self, text: str, tool: str = "") -> None:
        """A tool may have much to say about itself: the client hears the last of it."""
        self._steps[tool] = f"{tool}: {text}" if tool else text
        self._show_soon()

    def notice(self, text: str) -> None:
        super().notice(text)
        self._unsaid.append(text)
        self._show_soon()

    def _show_soon(self) -> None:
        if self._due is None:
            wait = max(0.0, self._last + BETWEEN_TEXTS - time.monotonic())
            self._due = asyncio.get_running_loop().call_later(wait, self._show)

    def _show(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None
        said = (*self._unsaid, *self._steps.values())
        self._unsaid.clear()
        self._steps.clear()
        for one in said:
            self._say(one)
        if self._text and self._text != self._shown:
            self._shown = self._text
            self._seen = self._seen or self._is_heard()
            self._say(self._text if len(self._text) < LONGEST_TEXT else f"…{self._text}")

    def _is_heard(self) -> bool:
        context = self._run.context
        if context.cancelled:
            return False
        return context.task_id is not None or "progressToken" in context.meta

    def _say(self, message: str) -> None:
        self._last = time.monotonic()
        self._count += 1
        self._run.context.progress(self._count, message=message)

    async def _send_heartbeats(self) -> None:
        while True:
            await asyncio.sleep(self._heartbeat)
            if time.monotonic() - self._last >= self._heartbeat:
                self._say(f"working for {time.monotonic() - self._started:.0f} s")


log = logging.getLogger("clawkit.assistant")
META_STRUCTURED = "clawkit/structured"


async def take_order(
    brand: Brand,
    reloading: ReloadingAssistant,
    deferred: DeferredOrders,
    arguments: dict[str, Any],
    context: Context,
) -> dict[str, Any]:
    """The result of one call; every failure is a result that says what to do about it."""
    try:
        # Megabytes of base64 take a while to check: nobody else should wait for that.
        if "images" in arguments or "files" in arguments:
            order = await asyncio.to_thread(read_order, brand, arguments)
        else:
            order = read_order(brand, arguments)
        order = of_caller(order, context.principal)
        with reloading.assistant() as assistant:
            options = assistant.config.assistant
            carry_out = partial(_carry_out, brand, reloading, assistant)
            # A client that knows tasks has a better way to wait.
            keeps = options.keep_running and context.task_id is None
            if keeps or answerable(context):
                options = options if keeps else replace(options, keep_running=False)
                return await deferred.answer(order, context, options, carry_out)
            return await carry_out(OrderRun(order, context))
    except Exception as error:  # noqa: BLE001 - logged and told
        return failure(explain_failure(error))


def of_caller(order: MessageContext, principal: Principal | None) -> MessageContext:
    """The order of somebody who came over HTTP: each has sessions of their own."""
    if principal is None:
        return order
    own = f"{principal.id}/"
    key = order.session_key
    key = key if key.startswith(own) else f"{own}{key}"
    return replace(order, session_key=key, origin="http")


def answerable(context: Context) -> frozenset[str]:
    """The kinds of questions of tools that the client of a call can answer."""
    return frozenset(kind for kind in ("elicitation", "sampling") if context.can(kind))


async def _carry_out(
    brand: Brand, reloading: ReloadingAssistant, assistant: Assistant, run: OrderRun
) -> dict[str, Any]:
    """Run an order and build its result."""
    progress: OrderProgress | None = None
    order, context, options = run.order, run.context, assistant.config.assistant
    started = time.monotonic()
    try:
        _log_order(order)
        if context.task_id is not None:
            note_session(context.task_id, order.session_key)
        with reloading.assistant(assistant):
            async with OrderProgress(run, options) as progress:
                reply = await assistant.reply(order, progress)
        structured = options.structured or context.meta.get(META_STRUCTURED) is True
        _log_reply(reply, time.monotonic() - started)
        return progress.result(reply, with_media=brand.with_media, structured=structured)
    except Exception as error:  # noqa: BLE001 - logged and told
        notices = progress.notices if progress else ()
        return failure(explain_failure(error, assistant.keys), notices)


def failure(text: str, notices: Iterable[str] = ()) -> dict[str, Any]:
    """A result that says what went wrong, in the document's form, before what else there was."""
    said = "\n\n".join((f"Error: {text}", *(f"[{notice}]" for notice in notices)))
    return {"content": [{"type": "text", "text": said}], "isError": True}


def read_order(brand: Brand, arguments: dict[str, Any]) -> MessageContext:
    """The order in the arguments of a call; raises for what the definition does not have."""
    known = brand.definition["inputSchema"]["properties"]
    for name in arguments:
        if name not in known:
            raise InvalidArgumentsError(
                name[:60], f"{brand.definition['name']} takes only {', '.join(known)}"
            )
    message, key = arguments.get("message"), arguments.get("sessionKey")
    if not isinstance(message, str):
        raise InvalidArgumentsError("message", "a text is required")
    if key is not None and not isinstance(key, str):
        raise InvalidArgumentsError("sessionKey", "must be a text")
    images, files = arguments.get("images"), arguments.get("files")
    attachments = () if images is files is None else receive(images, files)
    if not message.strip() and not attachments:
        raise InvalidArgumentsError("message", "is empty; say what the assistant should do")
    named = key is not None and bool(key.strip())
    return MessageContext(
        message,
        key if key and named else new_session_key("mcp"),
        named,
        attachments=attachments,
        with_media=brand.with_media,
    )


def _log_order(order: MessageContext) -> None:
    if log.isEnabledFor(logging.INFO):
        media = ", ".join(f"{a.label} {a.mime_type} {len(a.data)} bytes" for a in order.attachments)
        mark = session_mark(order.session_key)
        log.info("order in %s: %d characters; %s", mark, len(order.text), media or "no media")


def _log_reply(reply: AssistantReply, seconds: float) -> None:
    if log.isEnabledFor(logging.INFO):
        log.info(
            "answer in %s after %.2f s: %d characters, %d media, %s, %d + %d tokens, %s",
            session_mark(reply.session_key),
            seconds,
            len(reply.text),
            len(reply.media),
            reply.model,
            reply.usage.input,
            reply.usage.output,
            reply.reason,
        )
