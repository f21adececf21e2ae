"""Answers one message: recall, prompt, agent loop, files to send, save."""

from __future__ import annotations

import asyncio
import logging
import time
from functools import partial
from typing import TYPE_CHECKING

from clawkit.assistant import agent_loop, token_estimate
from clawkit.assistant.agent_loop import LoopHooks, LoopState, converse
from clawkit.assistant.callbacks import AssistantReply, Callbacks, MessageContext
from clawkit.assistant.compaction import fit
from clawkit.assistant.media.call_folder import CallFolder
from clawkit.assistant.media.prompt_parts import to_parts
from clawkit.assistant.memory.backend import SEARCH_HISTORY, TurnMessage
from clawkit.assistant.model_choice import answer
from clawkit.assistant.prompt import system_prompt
from clawkit.assistant.redaction import redact
from clawkit.assistant.send_file import SEND_FILE, FileOutbox
from clawkit.assistant.sessions.records import SessionHistory
from clawkit.assistant.summaries import compacted
from clawkit.errors import ClawError, ContextTooLongError, StoreError, ToolTimeoutError
from clawkit.models.protocol import Message, Part, Prompt, StopReason, Text, ToolCall, ToolSpec

if TYPE_CHECKING:
    from clawkit.assistant.reply import Assistant
    from clawkit.assistant.sessions.async_store import Turn
    from clawkit.assistant.toolbox.toolbox import CallResult

log = logging.getLogger("clawkit.assistant")

WINDOW = 12_000
"""Tokens of a prompt, where the config does not say how many: what is older is summarised."""
_ATTEMPTS = 3


class ReplyPipeline:
    """One message on its way to an answer."""

    def __init__(
        self, assistant: Assistant, turn: Turn, context: MessageContext, callbacks: Callbacks
    ) -> None:
        self._assistant = assistant
        self._config = assistant.config
        self._turn = turn
        self._context = context
        self._callbacks = callbacks
        wanted = context.model or turn.model
        self._models = assistant.models(wanted, callbacks, alone=bool(context.model))
        self._remembers = assistant.remembers(context.origin)

    async def reply(self) -> AssistantReply:
        async with CallFolder() as folder:
            exchange = LoopState(await self._message(folder))
            outbox = FileOutbox(folder, self._config.workspace)
            try:
                await self._turn.keep(exchange.new)
                await self._in_time(exchange, outbox)
            except asyncio.CancelledError:
                await self._save(exchange, exchange.stopped("cancelled"), "cancelled")
                raise
            except Exception as error:  # noqa: BLE001 - raised again, or told with what is there
                problem = await self._failed(exchange, error)
            else:
                problem = await self._save(exchange, exchange.new, exchange.reason)
            text = self._clean(outbox, exchange.text).strip()
            picked = outbox.close()
        silent = not (text or picked.media or problem)
        return AssistantReply(
            _nothing_said(exchange.reason) if silent else text,
            exchange.model or self._models[0].name,
            self._context.session_key,
            picked.media,
            (*picked.omissions, *(() if silent else self._cut_short(exchange))),
            exchange.usage,
            exchange.reason,
            problem,
        )

    async def _failed(self, exchange: LoopState, error: Exception) -> str:
        """What went wrong, where something was said or done before; else it is raised as it is."""
        if len(exchange.new) == 1 and not exchange.text.strip():
            await self._forget()
            raise error
        stopped = exchange.stopped(f"failed: {type(error).__name__}")
        kept = await self._save(exchange, stopped, "failed")
        exchange.reason = "failed"
        if isinstance(error, ClawError):
            said = redact(str(error), self._assistant.keys).rstrip(".")
        else:
            log.error("the answer failed", exc_info=error)
            said = f"{type(error).__name__} in the assistant; `mcp-server --verbose` says more"
        return ". ".join(filter(None, (said, exchange.what_ran(), kept)))

    async def _forget(self) -> None:
        """Nothing came of the message: whoever sends it again has said it once."""
        try:
            await self._turn.discard()
        except StoreError as error:
            log.warning("%s", error)  # what was wrong first is what is told

    def _cut_short(self, exchange: LoopState) -> tuple[str, ...]:
        if exchange.reason == "refusal":
            return ("the model declined to answer",)
        if exchange.limit == "size":
            return (f"the answer is cut off after {agent_loop.LONGEST_ANSWER:,} characters",)
        if exchange.reason != "length" or exchange.limit:
            return ()
        most = self._config.model.max_tokens
        return (f"the answer is cut short: `max_tokens` under [model] is {most}",)

    async def _message(self, folder: CallFolder) -> Message:
        """What was said, byte for byte, and each attachment once."""
        text = self._context.text
        attached = await to_parts(self._context.attachments, folder, self._assistant.transcriber)
        words: tuple[Part, ...] = (Text(text),) if text.strip() or not attached else ()
        return Message("user", (*words, *attached))

    async def _save(self, exchange: LoopState, messages: list[Message], reason: str) -> str:
        """Keep the turn; an answer that is there is not lost because it cannot be kept."""
        model = exchange.model or self._models[0].name
        try:
            await self._turn.save(messages, usage=exchange.usage, model=model, reason=reason)
        except StoreError as error:
            return f"this answer is not in the session: {error}"
        if self._remembers and reason not in ("cancelled", "failed"):
            said = (("user", self._context.text), ("assistant", exchange.text))
            await self._assistant.long_term.keep(
                tuple(TurnMessage(role, text, time.time()) for role, text in said if text.strip()),
                self._context.session_key,
                self._callbacks.problem,
            )
        return ""

    async def _in_time(self, exchange: LoopState, outbox: FileOutbox) -> None:
        seconds = self._config.assistant.timeout
        limit = asyncio.timeout(seconds)
        try:
            async with limit:
                await self._converse(exchange, outbox)
        except TimeoutError:
            if not limit.expired():
                raise
            raise ToolTimeoutError(
                f"no answer after {seconds:g} s; raise `timeout` under [assistant] in the config"
            ) from None

    async def _converse(self, exchange: LoopState, outbox: FileOutbox) -> None:
        """Ask with as much of the conversation as fits; with less if that is too long."""
        specs = await self._specs()
        room = self._room(specs)
        window = min(room, self._config.model.context or WINDOW)
        history = await self._turn.history(2 * window)
        for left in reversed(range(_ATTEMPTS)):
            history, messages = await self._fitted(exchange, history, window, room)
            prompt = await self._prompt(history, messages, specs)
            try:
                await converse(
                    exchange, prompt, self._means(exchange, outbox, room), self._callbacks
                )
                return
            except ContextTooLongError:
                if not left or len(exchange.new) > 1 or not history.messages:
                    raise
                room = window = min(window, token_estimate.of_messages(messages)) // 2
                self._callbacks.notice("too long for the model: asking again with less")

    def _means(self, exchange: LoopState, outbox: FileOutbox, room: int) -> LoopHooks:
        retries = self._config.model.retries
        return LoopHooks(
            ask=lambda prompt, take_back: answer(
                self._models,
                prompt,
                retries=retries,
                notice=self._callbacks.notice,
                step=self._callbacks.step,
                take_back=take_back,
            ),
            run=partial(self._run, outbox),
            record=partial(self._turn.keep, exchange.new),
            trim=partial(_trimmed, room=room),
            clean=partial(self._clean, outbox),
            steps=self._config.assistant.tool_steps,
        )

    def _room(self, specs: tuple[ToolSpec, ...]) -> int:
        """How many tokens of messages fit beside the rest of the prompt."""
        model = self._models[0]
        whole = self._config.model.context or model.context
        tools = sum(token_estimate.count(f"{s.description}{s.input_schema}") for s in specs)
        rest = token_estimate.count(self._config.assistant.instructions) + tools
        return max(whole - rest - self._config.model.max_tokens, whole // 4)

    async def _fitted(
        self, exchange: LoopState, history: SessionHistory, window: int, room: int
    ) -> tuple[SessionHistory, tuple[Message, ...]]:
        """The messages of the prompt. What no longer fits is summarised, once for many turns.

        The window is for what was said before; a message may be as large as the model's room.
        """
        user = exchange.new[0]
        messages = (*(saved.message for saved in history.messages), user)
        size = token_estimate.of_message(user)
        total = sum(saved.tokens for saved in history.messages) + size
        if not history.gap and total <= min(room, window + size):
            return history, messages
        fitted = fit(messages, min(room, window // 2 + size))
        left_out = len(fitted.needs_summary_of)
        if left_out or history.gap:
            self._callbacks.step("summarising the earlier conversation")
            history, usage = await compacted(self._turn, history, left_out, self._models[0])
            exchange.usage += usage
        return history, fitted.messages

    async def _prompt(
        self, history: SessionHistory, messages: tuple[Message, ...], specs: tuple[ToolSpec, ...]
    ) -> Prompt:
        recalled = ()
        if not history.whole:
            oldest = history.messages[0].id if history.messages else None
            recalled = await self._turn.search(self._context.text, outside=oldest)
        remembered = ()
        if self._remembers:
            remembered = await self._assistant.long_term.recall(
                self._context.text, self._context.session_key, self._callbacks.problem
            )
        system = system_prompt(
            self._config.assistant.instructions,
            workspace=self._config.workspace if SEND_FILE in specs else None,
            summary=history.summary,
            recalled=recalled,
            remembered=remembered,
            asked=self._context.text,
        )
        return Prompt(system, messages, specs, self._config.model.max_tokens)

    async def _specs(self) -> tuple[ToolSpec, ...]:
        """The tools for the model; the embedded default calls none, so none are started for it."""
        if all(model.name == "offline" for model in self._models):
            return ()
        toolbox = self._assistant.toolbox
        specs = await toolbox.specs()
        for problem in toolbox.problems:
            self._callbacks.notice(problem)
        return (*self._own_tools(), *specs)

    def _own_tools(self) -> tuple[ToolSpec, ...]:
        return (
            *([SEND_FILE] if self._context.with_media else ()),
            *([SEARCH_HISTORY] if self._remembers else ()),
        )

    async def _run(self, outbox: FileOutbox, call: ToolCall) -> CallResult:
        if call.name == SEND_FILE.name and self._context.with_media:
            return outbox.send_file(call)
        if call.name == SEARCH_HISTORY.name and self._remembers:
            return await self._assistant.long_term.search_history(call)
        told = partial(self._callbacks.step, tool=call.name)
        own = [spec.name for spec in self._own_tools()]
        result = await self._assistant.toolbox.call(call, progress=told, beside=own)
        outbox.offer(result.media)
        return result

    def _clean(self, outbox: FileOutbox, text: str) -> str:
        """A text without the lines that send files, where files can be sent."""
        return outbox.take_lines(text) if self._context.with_media else text


def _trimmed(messages: tuple[Message, ...], room: int) -> tuple[Message, ...]:
    """The same, with results of tools shortened where they have grown out of the model's room."""
    if token_estimate.of_messages(messages) <= room:
        return messages
    return fit(messages, room * 3 // 4).messages


def _nothing_said(reason: StopReason) -> str:
    if reason == "refusal":
        return "[the model declined to answer]"
    if reason == "length":
        return "[the model stopped before it said anything: raise `max_tokens` under [model]]"
    return "[the model gave an empty answer]"
