"""How one message is answered: recall, prompt, the model and its tools in a loop, files to send."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack, aclosing
from functools import cached_property, partial
from typing import TYPE_CHECKING, Literal

from msgspec.structs import replace

from clawkit.assistant.callbacks import AssistantReply, Callbacks, MessageContext
from clawkit.assistant.chat_commands import mistyped_command
from clawkit.assistant.compaction import fit
from clawkit.assistant.media.call_folder import CallFolder
from clawkit.assistant.media.outbound import SEND_FILE, FileOutbox, Outgoing, Picked
from clawkit.assistant.memory.backend import SEARCH_HISTORY, TurnMessage
from clawkit.assistant.prompt import system_prompt
from clawkit.assistant.redaction import explain_failure
from clawkit.assistant.sessions.async_store import Turn
from clawkit.assistant.sessions.records import SessionHistory
from clawkit.assistant.summaries import compacted
from clawkit.assistant.toolbox.tool_source import CallResult
from clawkit.errors import ContextTooLongError, StoreError, ToolTimeoutError
from clawkit.models.messages import unanswered, unknown_outcome, unreadable
from clawkit.models.protocol import (
    Called,
    File,
    Finished,
    Message,
    Part,
    Prompt,
    StopReason,
    Text,
    TextDelta,
    ToolCall,
    ToolOutcome,
    ToolSpec,
    Usage,
    count_tokens,
    message_tokens,
    messages_tokens,
)
from clawkit.models.retries import answer

if TYPE_CHECKING:
    from clawkit.assistant.assistant import Assistant

log = logging.getLogger("clawkit.assistant")

WINDOW = 12_000
"""Tokens of a prompt, where the config does not say how many: what is older is summarised."""
_ATTEMPTS = 3

LONGEST_ANSWER = 4_000_000
"""Characters after which a model that does not stop is stopped."""

MOST_NAMED = 20
"""Tools that an error names."""

Limit = Literal["", "rounds", "size"]
"""Which of our own limits ended an answer."""


def _is_worth_keeping(text: str) -> bool:
    """Whether a message says something for another day: a sum or a slip does not."""
    from clawkit.assistant.offline.calculator import compute

    return compute(text) is None and not mistyped_command(text)


class ToolRun:
    """A tool that was started in a turn, and how it ended as far as is known."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.ended = "its outcome is not known"

    def __str__(self) -> str:
        return f"{self.name} ({self.ended})"


class LoopState:
    """One turn as it grows: what is new in the conversation, what it cost, how it ended."""

    def __init__(self, user: Message) -> None:
        self.new: list[Message] = [user]
        self.shown = user
        """The person's message as the model is shown it: of files that are too long, passages."""
        self.room = 0
        """Tokens of messages that fit beside the rest of the prompt."""
        self.runs: list[ToolRun] = []
        self._pieces: list[str] = []
        self._size = 0
        self.usage = Usage()
        self.model = ""
        self.reason: StopReason = "end"
        self.limit: Limit = ""
        self.not_kept: list[str] = []
        """What memory said when it was to keep this."""

    @property
    def is_shown_in_part(self) -> bool:
        return self.shown is not self.new[0]

    @property
    def text(self) -> str:
        """What the model has said since it was last asked."""
        return "".join(self._pieces)

    def begin(self, text: str = "") -> None:
        """Hear the model anew."""
        self._pieces, self._size = [text] if text else [], len(text)

    def hear(self, piece: str) -> bool:
        """Take a piece of the answer; whether there is room for more."""
        self._pieces.append(piece)
        self._size += len(piece)
        return self._size < LONGEST_ANSWER

    def finish(self, event: Finished) -> None:
        self.usage += event.usage
        self.model = event.model or self.model
        self.reason = event.reason
        log.info("model %s: %s, %s", event.model, event.reason, event.usage)

    def send(self, media: Sequence[Outgoing]) -> None:
        """Put what is sent with the answer to its last message."""
        files = tuple(File(one.data, one.mime_type, one.name) for one in media)
        self.new[-1] = replace(self.new[-1], files=files)

    def stopped(self, how: str) -> list[Message]:
        """What to keep of a turn that did not end: all of it, what is not known, where it stopped.

        A call that was interrupted may have run: it stays.
        """
        unknown = [Message("tool", (unknown_outcome(call.id),)) for call in unanswered(self.new)]
        said = f"{self.text}\n[{how} here]" if self.text else f"[{how} before an answer]"
        return [*self.new, *unknown, Message("assistant", (Text(said),))]

    def what_ran(self) -> str:
        """Which tools ran, for one who might send the same message again; nothing if none did."""
        if not self.runs:
            return ""
        counted = Counter(map(str, self.runs))
        names = [name if count == 1 else f"{count} × {name}" for name, count in counted.items()]
        if len(names) > MOST_NAMED:
            names[MOST_NAMED:] = [f"{len(names) - MOST_NAMED} others"]
        return (
            f"Tools had run by then: {', '.join(names)}. What they did is done, and the session "
            "has it: the same message again would do it again"
        )


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
        self._is_offline = all(model.name == "offline" for model in self._models)
        self._remembers = assistant.remembers(context.origin)
        self._cleanup = ExitStack()

    async def reply(self) -> AssistantReply:
        with self._cleanup:
            exchange = LoopState(await self._message())
            try:
                kept = self._turn.keep(exchange.new)
                await self._in_time(exchange, kept)
            except asyncio.CancelledError:
                await self._save(exchange, exchange.stopped("cancelled"), "cancelled")
                raise
            except Exception as error:  # noqa: BLE001 - raised again, or told with what is there
                problem = await self._failed(exchange, error)
                text, picked = self._cleaned(exchange)
            else:
                text, picked = self._cleaned(exchange)
                exchange.send(picked.media)
                problem = await self._save(exchange, exchange.new, exchange.reason)
                text = self._with_problems(text, exchange)
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

    @cached_property
    def _folder(self) -> CallFolder:
        return self._cleanup.enter_context(CallFolder())

    @cached_property
    def _outbox(self) -> FileOutbox:
        return FileOutbox(self._folder, self._config.workspace)

    @property
    def _has_files(self) -> bool:
        """Whether there is anything that a file to be sent could have come from."""
        return "_folder" in self.__dict__

    def _cleaned(self, exchange: LoopState) -> tuple[str, Picked]:
        """The answer without the lines that send files, and those files."""
        text = self._clean(exchange.text).strip()
        return text, self._outbox.close() if self._has_files else Picked((), ())

    async def _failed(self, exchange: LoopState, error: Exception) -> str:
        """What went wrong, where something was said or done before; else it is raised as it is."""
        if len(exchange.new) == 1 and not exchange.text.strip():
            await self._forget()
            raise error
        stopped = exchange.stopped(f"failed: {type(error).__name__}")
        kept = await self._save(exchange, stopped, "failed")
        exchange.reason = "failed"
        said = explain_failure(error, self._assistant.keys).rstrip(".")
        return ". ".join(filter(None, (said, exchange.what_ran(), kept)))

    async def _forget(self) -> None:
        """Discard the message, so that sending it again does not store it twice."""
        try:
            await self._turn.discard()
        except StoreError as error:
            log.warning("%s", error)  # what was wrong first is what is told

    def _cut_short(self, exchange: LoopState) -> tuple[str, ...]:
        if exchange.reason == "refusal":
            return ("the model declined to answer",)
        if exchange.limit == "size":
            return (f"the answer is cut off after {LONGEST_ANSWER:,} characters",)
        if exchange.reason != "length" or exchange.limit:
            return ()
        most = self._config.model.max_tokens
        return (f"the answer is cut short: `max_tokens` under [model] is {most}",)

    async def _message(self) -> Message:
        """What was said, byte for byte, and each attachment once."""
        text = self._context.text
        if not self._context.attachments:
            return Message("user", (Text(text),))
        from clawkit.assistant.media.prompt_parts import to_parts

        attached = await to_parts(
            self._context.attachments, self._folder, self._assistant.transcriber
        )
        words: tuple[Part, ...] = (Text(text),) if text.strip() else ()
        files = (one for one in self._context.attachments if one.kind != "image")
        kept = tuple(File(one.data, one.mime_type, one.name) for one in files)
        return Message("user", (*words, *attached), kept)

    async def _save(self, exchange: LoopState, messages: list[Message], reason: str) -> str:
        """Keep the turn; an answer that is there is not lost because it cannot be kept."""
        model = exchange.model or self._models[0].name
        try:
            await self._turn.save(messages, usage=exchange.usage, model=model, reason=reason)
        except StoreError as error:
            return f"this answer is not in the session: {error}"
        keeps = self._remembers and reason not in ("cancelled", "failed")
        if keeps and _is_worth_keeping(self._context.text):
            # What the offline answerer says only repeats what memory has.
            answer = "" if self._is_offline else exchange.text
            said = (("user", self._context.text), ("assistant", answer))
            await self._assistant.long_term.keep(
                tuple(TurnMessage(role, text, time.time()) for role, text in said if text.strip()),
                self._context.session_key,
                exchange.not_kept.append if self._is_offline else self._callbacks.problem,
            )
        return ""

    def _with_problems(self, text: str, exchange: LoopState) -> str:
        """The answer with what memory did not keep: one that says "Got it" has to say that, too."""
        for problem in exchange.not_kept:
            more = f"\n\n{problem[:1].upper()}{problem[1:]}"
            self._callbacks.text(more)
            text += more
        return text

    async def _in_time(self, exchange: LoopState, kept: asyncio.Future[None]) -> None:
        seconds = self._config.assistant.timeout
        limit = asyncio.timeout(seconds)
        try:
            async with limit:
                await self._converse(exchange, kept)
        except TimeoutError:
            if not limit.expired():
                raise
            raise ToolTimeoutError(
                f"no answer after {seconds:g} s; raise `timeout` under [assistant] in the config"
            ) from None

    async def _converse(self, exchange: LoopState, kept: asyncio.Future[None]) -> None:
        """Ask, once the message is kept, with as much of the conversation as fits; with less if
        that is too long.
        """
        specs = await self._specs()
        exchange.room = self._room(specs)
        specs = await self._with_passages(exchange, specs)
        window = min(exchange.room, self._config.model.context or WINDOW)
        _, history = await asyncio.gather(kept, self._turn.history(2 * window))
        for left in reversed(range(_ATTEMPTS)):
            history, messages = await self._fitted(exchange, history, window)
            prompt = await self._prompt(history, messages, specs)
            try:
                await self._loop(exchange, prompt)
                return
            except ContextTooLongError:
                if not left or len(exchange.new) > 1 or not history.messages:
                    raise
                window = min(window, messages_tokens(messages)) // 2
                exchange.room = window
                self._callbacks.notice("too long for the model: asking again with less")

    async def _loop(self, exchange: LoopState, prompt: Prompt) -> None:
        """Ask the model, run the tools it calls, and ask again until it has answered."""
        steps = self._config.assistant.tool_steps
        for _ in range(steps):
            calls = await self._listen(exchange, prompt)
            text = exchange.text
            said: list[Part] = [Text(text)] if text else []
            if not calls:
                exchange.new.append(Message("assistant", tuple(said) or (Text("[no answer]"),)))
                return
            if text:
                self._callbacks.block(self._clean(text))
            called = Message("assistant", (*said, *calls))
            exchange.new.append(called)
            exchange.begin()
            try:  # on the disk, because what comes next cannot be undone
                await self._turn.keep(exchange.new, lasting=True)
            except StoreError:
                exchange.new.pop()  # what cannot be written down is not done
                raise
            outcomes = Message("tool", await self._run_all(exchange, calls))
            messages = _trimmed((*prompt.messages, called, outcomes), exchange.room)
            prompt = replace(prompt, messages=messages)
        rounds = "1 round" if steps == 1 else f"{steps} rounds"
        exchange.begin(f"[stopped after {rounds} of tool calls; say `go on` to continue]")
        exchange.reason, exchange.limit = "length", "rounds"
        exchange.new.append(Message("assistant", (Text(exchange.text),)))

    async def _listen(self, exchange: LoopState, prompt: Prompt) -> tuple[ToolCall, ...]:
        """Hear one answer of the model to its end; gives the calls it makes."""
        callbacks = self._callbacks
        calls: list[ToolCall] = []

        def take_back() -> bool:
            if not callbacks.take_back():
                return False
            exchange.begin()
            calls.clear()
            return True

        exchange.begin()
        events = answer(
            self._models,
            prompt,
            retries=self._config.model.retries,
            notice=callbacks.notice,
            step=callbacks.step,
            take_back=take_back,
        )
        async with aclosing(events):
            async for event in events:
                if isinstance(event, TextDelta):
                    callbacks.text(event.text)
                    if not exchange.hear(event.text):
                        exchange.reason, exchange.limit = "length", "size"
                        return ()
                elif isinstance(event, Called):
                    calls.append(event.call)
                else:
                    exchange.finish(event)
        return tuple(calls)

    async def _run_all(
        self, exchange: LoopState, calls: Sequence[ToolCall]
    ) -> tuple[ToolOutcome, ...]:
        """Run the calls of one answer side by side, and write down each outcome as it comes.

        If one is cancelled, all are.
        """

        async def one(call: ToolCall) -> ToolOutcome:
            problem = unreadable(call)
            if problem is not None:
                outcome = ToolOutcome(call.id, (Text(problem),), is_error=True)
            else:
                outcome = await self._run(exchange, call)
            exchange.new.append(Message("tool", (outcome,)))
            try:
                await self._turn.keep(exchange.new)
            except StoreError as error:  # the end of the turn tries again, and says so
                log.warning("%s", error)
            return outcome

        async with asyncio.TaskGroup() as group:
            running = [group.create_task(one(call)) for call in calls]
        return tuple(task.result() for task in running)

    async def _run(self, exchange: LoopState, call: ToolCall) -> ToolOutcome:
        started = ToolRun(call.name)
        exchange.runs.append(started)
        self._callbacks.tool_started(call)
        log.info("tool %s starts", call.name)
        result = await self._result(exchange, call)
        started.ended = "failed" if result.outcome.is_error else "done"
        log.info("tool %s ends after %.2f s", call.name, result.seconds)
        self._callbacks.tool_ended(call, result)
        return result.outcome

    def _room(self, specs: tuple[ToolSpec, ...]) -> int:
        """How many tokens of messages fit beside the rest of the prompt."""
        model = self._models[0]
        whole = self._config.model.context or model.context
        tools = sum(count_tokens(f"{s.description}{s.input_schema}") for s in specs)
        rest = count_tokens(self._config.assistant.instructions) + tools
        return max(whole - rest - self._config.model.max_tokens, whole // 4)

    async def _with_passages(
        self, exchange: LoopState, specs: tuple[ToolSpec, ...]
    ) -> tuple[ToolSpec, ...]:
        """Where files are too long for the model, it is shown what the message is about.

        The tools for the model, with one that finds more of them.
        """
        most = exchange.room * 3 // 4
        if not self._context.attachments or message_tokens(exchange.shown) <= most:
            return specs
        from clawkit.assistant.file_passages import SEARCH_ATTACHMENTS, SHOWN_TOKENS, shown_in_part

        room = min(most, SHOWN_TOKENS)
        exchange.shown = await asyncio.to_thread(
            shown_in_part, exchange.new[0], self._context.text, room
        )
        return (SEARCH_ATTACHMENTS, *specs) if exchange.is_shown_in_part and specs else specs

    async def _fitted(
        self, exchange: LoopState, history: SessionHistory, window: int
    ) -> tuple[SessionHistory, tuple[Message, ...]]:
        """The messages of the prompt. What no longer fits is summarised, once for many turns.

        The window is for what was said before; a message may be as large as the model's room.
        """
        user, room = exchange.shown, exchange.room
        messages = (*(saved.message for saved in history.messages), user)
        size = message_tokens(user)
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
        remembered, forgotten = (), ""
        if self._remembers:
            if self._is_offline:
                forgotten = await self._forget_in_memory()
            remembered = await self._assistant.long_term.recall(
                self._context.text, self._context.session_key, self._callbacks.problem
            )
        system = system_prompt(
            self._config.assistant.instructions,
            workspace=self._config.workspace if SEND_FILE in specs else None,
            summary=history.summary,
            recalled=recalled,
            remembered=remembered,
            only_here=not self._remembers,
            forgotten=forgotten,
            asked=self._context.text,
        )
        return Prompt(system, messages, specs, self._config.model.max_tokens)

    async def _forget_in_memory(self) -> str:
        """Forget what the message clearly names; says what, or why not. A model is not obeyed so:
        "delete the last line" may mean its work.
        """
        from clawkit.assistant.offline.statements import orders_to_forget

        named = orders_to_forget(self._context.text)
        return await self._assistant.long_term.forget(
            named, self._context.text, self._callbacks.problem
        )

    async def _specs(self) -> tuple[ToolSpec, ...]:
        """The tools for the model; the embedded default calls none, so none are started for it."""
        if self._is_offline:
            return ()
        toolbox = self._assistant.toolbox
        specs = await toolbox.specs(self._callbacks.answers)
        for problem in toolbox.problems:
            self._callbacks.notice(problem)
        return (*self._own_tools(), *specs)

    def _own_tools(self) -> tuple[ToolSpec, ...]:
        return (
            *([SEND_FILE] if self._context.with_media else ()),
            *([SEARCH_HISTORY] if self._remembers else ()),
        )

    async def _result(self, exchange: LoopState, call: ToolCall) -> CallResult:
        if call.name == SEND_FILE.name and self._context.with_media:
            return self._outbox.send_file(call)
        if exchange.is_shown_in_part and call.name == "search_attachments":
            from clawkit.assistant.file_passages import search_attachments

            return await asyncio.to_thread(search_attachments, exchange.new[0], call)
        if call.name == SEARCH_HISTORY.name and self._remembers:
            return await self._assistant.long_term.search_history(call)
        told = partial(self._callbacks.step, tool=call.name)
        own = [spec.name for spec in self._own_tools()]
        ask = self._callbacks.ask if self._callbacks.answers else None
        result = await self._assistant.toolbox.call(call, progress=told, ask=ask, beside=own)
        self._outbox.offer(result.media)
        return result

    def _clean(self, text: str) -> str:
        """A text without the lines that send files, where files can be sent."""
        may_send = self._context.with_media and "MEDIA:" in text
        return self._outbox.take_lines(text) if may_send else text


def _trimmed(messages: tuple[Message, ...], room: int) -> tuple[Message, ...]:
    """The same, with results of tools shortened where they have grown out of the model's room."""
    if messages_tokens(messages) <= room:
        return messages
    return fit(messages, room * 3 // 4).messages


def _nothing_said(reason: StopReason) -> str:
    if reason == "refusal":
        return "[the model declined to answer]"
    if reason == "length":
        return "[the model stopped before it said anything: raise `max_tokens` under [model]]"
    return "[the model gave an empty answer]"
