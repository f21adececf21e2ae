"""The control protocol: requests to the CLI and their answers, and the CLI's requests to us."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from clawkit.claude.messages import write_line
from clawkit.errors import CliError, CliSilentError, ControlError
from clawkit.wire.jsonrpc import as_object

log = logging.getLogger("clawkit.claude")

Write = Callable[[bytes], Awaitable[None]]
Answerer = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]
_GRACE = 5.0


class Control:
    """Both directions of the control protocol: every request gets a response."""

    def __init__(self, write: Write, answerers: dict[str, Answerer]) -> None:
        self._write = write
        self._answerers = answerers
        self._count = 0
        self._waiting: dict[str, tuple[str, asyncio.Future[dict[str, Any]]]] = {}
        self._answering: dict[str, asyncio.Task[None]] = {}
        self._over: CliError | None = None

    async def request(self, subtype: str, seconds: float, /, **fields: Any) -> dict[str, Any]:
        """Ask the CLI; raises ControlError when it refuses."""
        if self._over is not None:
            raise self._over
        self._count += 1
        number = f"claw_{self._count}"
        answer = asyncio.get_running_loop().create_future()
        self._waiting[number] = (subtype, answer)
        request = {"subtype": subtype, **fields}
        message = {"type": "control_request", "request_id": number, "request": request}
        try:
            await self._write(write_line(message))
            async with asyncio.timeout(seconds):
                return await answer
        except TimeoutError:
            raise CliSilentError(f"the CLI did not answer {subtype} in {seconds:g} s") from None
        finally:
            self._waiting.pop(number, None)

    def take(self, message: dict[str, Any]) -> bool:
        """Take a message if it belongs to this protocol."""
        kind = message.get("type")
        if kind == "control_response":
            self._resolve(as_object(message.get("response")) or {})
        elif kind == "control_request":
            self._begin(message)
        elif kind == "control_cancel_request":
            running = self._answering.get(str(message.get("request_id")))
            if running is not None:
                running.cancel()
        else:
            return False
        return True

    async def close(self, error: CliError) -> None:
        """End everything: pending requests fail with this error, running answers are cancelled."""
        self._over = error
        for _, answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(error)
        running = list(self._answering.values())
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running, timeout=_GRACE)  # one that does not stop is left alone

    def _resolve(self, response: dict[str, Any]) -> None:
        subtype, answer = self._waiting.get(str(response.get("request_id")), ("", None))
        if answer is None or answer.done():
            return
        if response.get("subtype") == "error":
            answer.set_exception(ControlError(subtype, str(response.get("error"))))
        else:
            answer.set_result(as_object(response.get("response")) or {})

    def _begin(self, message: dict[str, Any]) -> None:
        number = str(message.get("request_id"))
        task = asyncio.get_running_loop().create_task(
            self._answer(number, as_object(message.get("request")) or {})
        )
        self._answering[number] = task
        task.add_done_callback(lambda _: self._answering.pop(number, None))

    async def _answer(self, number: str, request: dict[str, Any]) -> None:
        try:
            reply = _reply("success", number, response=await self._answered(request))
        except asyncio.CancelledError:
            reply = _reply("error", number, error="cancelled")
        except ControlError as refusal:
            reply = _reply("error", number, error=str(refusal))
        except Exception as error:
            log.exception("%s failed", request.get("subtype"))
            reply = _reply("error", number, error=f"{type(error).__name__}: {error}")
        if self._over is None:
            with contextlib.suppress(CliError):  # whoever reads says that it has ended
                await self._write(reply)

    async def _answered(self, request: dict[str, Any]) -> dict[str, Any]:
        subtype = request.get("subtype")
        answerer = self._answerers.get(str(subtype))
        if answerer is None:
            raise ControlError(str(subtype), "this host does not answer such requests")
        return await answerer(request)


def _reply(subtype: str, number: str, **fields: Any) -> bytes:
    response = {"subtype": subtype, "request_id": number, **fields}
    return write_line({"type": "control_response", "response": response})
