"""Lists the models of a server that speaks like OpenAI, if there is one at an address."""

from __future__ import annotations

import asyncio
import re
from urllib.parse import urlsplit

import msgspec

_LONGEST_LIST = 4 * 1024 * 1024
_NO_CHAT = re.compile(r"embed|minilm|\bbge-|rerank|whisper", re.IGNORECASE)


class _Listed(msgspec.Struct):
    id: str


class _List(msgspec.Struct):
    data: list[_Listed]


async def list_models(base_url: str, seconds: float) -> tuple[str, ...]:
    """The models that can chat, as `GET {base_url}/models` names them; none where nobody answers.

    What is not listening is found out without the HTTP stack, which takes a while to import.
    """
    try:
        async with asyncio.timeout(seconds):
            await _check_port(base_url)
            listed = msgspec.json.decode(await _get(f"{base_url}/models"), type=_List)
    except (OSError, ValueError):  # TimeoutError and DecodeError among them
        return ()
    found = dict.fromkeys(one.id for one in listed.data if one.id.isprintable())
    return tuple(name for name in found if not _NO_CHAT.search(name))


async def _check_port(url: str) -> None:
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    _, writer = await asyncio.open_connection(parts.hostname, port)
    writer.close()
    await writer.wait_closed()


async def _get(url: str) -> bytes:
    """The body of a good answer; whatever else comes raises ConnectionError."""
    import httpx2

    from clawkit.system.addresses import trusted

    try:
        # What runs on this machine is not to be looked for behind a proxy.
        async with (
            httpx2.AsyncClient(timeout=None, trust_env=False, verify=trusted(url)) as client,
            client.stream("GET", url) as response,
        ):
            body = b""
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > _LONGEST_LIST:
                    break
            response.raise_for_status()
            return body
    except httpx2.HTTPError as error:
        raise ConnectionError(str(error)) from None
