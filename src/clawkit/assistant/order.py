"""One order: the arguments read, the reply collected, and one result that says it all."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from clawkit.assistant.aggregation import Collected
from clawkit.assistant.media.inbound import Attachment, receive
from clawkit.assistant.progress import Progress
from clawkit.assistant.redaction import redact, session_mark
from clawkit.assistant.reply import MessageContext, Reply
from clawkit.assistant.sessions.tasks import note_session
from clawkit.errors import ClawError, InvalidArgumentsError

if TYPE_CHECKING:
    from clawkit.assistant.definition import Brand
    from clawkit.assistant.office import Office
    from clawkit.assistant.secrets import Keys
    from clawkit.wire.context import Context

log = logging.getLogger("clawkit.assistant")
META_STRUCTURED = "clawkit/structured"


class Order(Struct, frozen=True):
    """What a client asks for."""

    message: str
    session_key: str
    named: bool
    attachments: tuple[Attachment, ...]


def new_session_key() -> str:
    """A key that nobody else has: `mcp-{timestamp}-{random}`."""
    return f"mcp-{int(time.time() * 1000)}-{secrets.token_hex(8)}"


async def take_order(
    brand: Brand, office: Office, arguments: dict[str, Any], context: Context
) -> dict[str, Any]:
    """The result of one call; every failure is a result that says what to do about it."""
    keys: Keys | None = None
    collected: Collected | None = None
    started = time.monotonic()
    try:
        order = await _read_beside(brand, arguments)
        _log_order(order)
        if context.task_id is not None:
            note_session(context.task_id, order.session_key)
        async with office.assistant() as assistant:
            keys = assistant.keys
            options = assistant.config.assistant
            collected = Collected(show_tools=options.tool_results)
            async with Progress(context, options.heartbeat) as progress:
                reply = await assistant.reply(
                    MessageContext(
                        order.message,
                        order.session_key,
                        order.named,
                        "mcp",
                        order.attachments,
                        with_media=brand.with_media,
                    ),
                    collected.beside(progress),
                )
        structured = options.structured or context.meta.get(META_STRUCTURED) is True
        _log_reply(reply, time.monotonic() - started)
        return collected.result(reply, with_media=brand.with_media, structured=structured)
    except ClawError as error:
        log.info("order failed: %s: %s", type(error).__name__, redact(str(error), keys))
        notices = () if collected is None else collected.notices
        return failure(redact(str(error), keys), notices)
    except Exception as error:
        log.exception("order failed")
        return failure(f"{type(error).__name__} in the assistant; `mcp-server --verbose` says more")


async def _read_beside(brand: Brand, arguments: dict[str, Any]) -> Order:
    """Megabytes of base64 take a while to check: nobody else should wait for that."""
    if "images" in arguments or "files" in arguments:
        return await asyncio.to_thread(read_order, brand, arguments)
    return read_order(brand, arguments)


def failure(text: str, notices: Iterable[str] = ()) -> dict[str, Any]:
    """A result that says what went wrong, in the document's form, before what else there was."""
    said = "\n\n".join((f"Error: {text}", *(f"[{notice}]" for notice in notices)))
    return {"content": [{"type": "text", "text": said}], "isError": True}


def read_order(brand: Brand, arguments: dict[str, Any]) -> Order:
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
    attachments = receive(arguments.get("images"), arguments.get("files"))
    if not message.strip() and not attachments:
        raise InvalidArgumentsError("message", "is empty; say what the assistant should do")
    named = bool(key and key.strip())
    return Order(message, key if key and named else new_session_key(), named, attachments)


def _log_order(order: Order) -> None:
    if log.isEnabledFor(logging.INFO):
        media = ", ".join(f"{a.label} {a.mime_type} {len(a.data)} bytes" for a in order.attachments)
        mark = session_mark(order.session_key)
        log.info("order in %s: %d characters; %s", mark, len(order.message), media or "no media")


def _log_reply(reply: Reply, seconds: float) -> None:
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
