"""Every error in the assistant's table of troubles is brought about, and says what stands there."""

from __future__ import annotations

import base64
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from clawkit.assistant.api_keys import Keys
from clawkit.assistant.assistant import Assistant
from clawkit.assistant.callbacks import Callbacks, MessageContext
from clawkit.assistant.config import Config
from clawkit.assistant.media.inbound import receive
from clawkit.assistant.model_choice import choose, open_model
from clawkit.errors import ClawError
from tests.assistant.providers.scripted import Call, Cut, Hang, Say, Status, scripted_openai
from tests.assistant.replies import config_of
from tests.test_docs_assistant import ASSISTANT, pattern, table

ROWS = table(ASSISTANT, "| error | what it means | what to do |")
ERRORS = [row[0].strip("`") for row in ROWS]
PNG = {"data": "aGVsbG8=", "mimeType": "image/png"}
LONG = {"data": base64.b64encode(bytes(15 * 1024 * 1024 + 1)).decode(), "mimeType": "image/png"}
Trouble = Callable[[Path], Awaitable[object]]


async def order(config: Config, key: str = "k") -> None:
    async with Assistant(config) as assistant:
        reply = await assistant.reply(MessageContext("Hello", key), Callbacks())
    if reply.problem:
        raise ClawError(reply.problem)


def told(text: str, key: str = "k") -> Trouble:
    """An order with this config."""
    return lambda folder: order(config_of(folder, text), key)


def answered(*steps: Any, more: str = "") -> Trouble:
    """An order to a provider that answers so."""

    async def trouble(folder: Path) -> None:
        with scripted_openai(steps) as server:
            provider = f'base_url = "{server.url}"\nkey_env = "MINE"\n'
            model = f'[model]\nuse = "mine/m"\nretries = 0\ntimeout = 0.3\n{more}'
            await order(config_of(folder, f"{model}\n[providers.mine]\n{provider}"))

    return trouble


def sent(images: list[dict[str, str]]) -> Trouble:
    async def trouble(_: Path) -> None:
        receive(images, None)

    return trouble


async def nobody_there(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    text = f'[model]\nuse = "ollama/m"\n[providers.ollama]\nbase_url = "http://127.0.0.1:{port}/v1"'
    await order(config_of(folder, text))


async def no_database(folder: Path) -> None:
    config = config_of(folder)
    config.store_file.parent.mkdir(parents=True)
    config.store_file.write_bytes(b"This was a letter, and never a database. " * 100)
    await order(config)


async def nothing_set(folder: Path) -> None:
    text = '[model]\nuse = "mine/m"\n[providers.mine]\nbase_url = "https://x.example"\n'
    config = config_of(folder, text + 'headers = { X-Key = "${NOT_SET}" }\n')
    open_model(choose(config, Keys(config, {}))[0], config, Keys(config, {}))


TROUBLES: list[tuple[str, Trouble]] = [
    ("anthropic needs a key", told('[model]\nuse = "anthropic"\n')),
    ("does not accept the key", answered(Status(401, message="no"))),
    ("nothing is left to pay", answered(Status(402, message="no"))),
    ("asked too often", answered(Status(429, message="slowly"))),
    ("Nothing came", answered([Hang()])),
    ("has no model", answered(Status(404, message="The model m does not exist"))),
    ("no provider", told('[model]\nuse = "nobody/m"\n')),
    ("does not fit", answered(Status(400, message="maximum context length is 10 tokens"))),
    ("cannot be reached", nobody_there),
    ("no model API", answered(Status(404, body="nothing here"))),
    ("fails", answered(Status(503, message="sorry"))),
    ("does not take", answered(Status(400, message="bad picture"))),
    ("broke off", answered([Say("Once"), Cut()])),
    ("no answer after", answered([Say("x", pause=9)], more="[assistant]\ntimeout = 0.1")),
    ("Tools had run", answered(Call("send_file", {"path": "a", "text": "b"}), Status(400))),
    ("at most 10", sent([PNG] * 11)),
    ("declared as", sent([PNG])),
    ("15 MB", sent([LONG])),
    ("session key has", told("", "k" * 600)),
    ("config.toml", told("[modle]\n")),
    ("the config wants", nothing_set),
    ("not a database", no_database),
]


@pytest.mark.parametrize(("words", "trouble"), TROUBLES, ids=[words for words, _ in TROUBLES])
async def test_an_error_says_what_the_table_says(
    words: str, trouble: Trouble, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINE", "k" * 24)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    (row,) = (error for error in ERRORS if words in error)
    with pytest.raises(ClawError) as caught:
        await trouble(tmp_path)
    assert pattern(row).fullmatch(str(caught.value)), str(caught.value)


def test_every_row_of_the_table_is_brought_about() -> None:
    assert len(ERRORS) == len(TROUBLES)
