"""Estimates how many tokens a text is: cheap, never far too low, the same for every model.

A letter of prose is a quarter of a token. Capitals, digits and signs, which JSON, code and base64
are full of, are half a token. Beyond ASCII the UTF-8 length of a character decides: two bytes
(accents, Cyrillic, Arabic) half a token, three (Chinese, Japanese, Korean) one, four (emoji) two.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from clawkit.models.protocol import Image, Message, Part, Prompt, Text, ToolCall

IMAGE = 1600
"""A picture, whatever its size: what the large providers charge for one at most."""

_FRAME = 4
"""What a message, a call or an outcome costs beside its words."""

_PROSE = b"abcdefghijklmnopqrstuvwxyz \t\r\n"
_CONTINUATIONS = bytes(range(0x80, 0xC0))
_TWO = bytes(range(0xC0, 0xE0))
_THREE = bytes(range(0xE0, 0xF0))
_ASCII = bytes(range(0x80))


def count(text: str) -> int:
    """The tokens of a text; a longer text never has fewer than its beginning."""
    data = text.encode("utf-8", "surrogatepass")
    dense = data.translate(None, _PROSE)
    quarters = len(data) - len(dense)
    if text.isascii():
        return (quarters + 2 * len(dense) + 3) // 4
    leads = dense.translate(None, _CONTINUATIONS)
    wide = leads.translate(None, _ASCII)
    quarters += 2 * (len(leads) - len(wide))
    three_and_four = wide.translate(None, _TWO)
    four = three_and_four.translate(None, _THREE)
    quarters += 2 * (len(wide) - len(three_and_four))
    quarters += 4 * (len(three_and_four) - len(four)) + 8 * len(four)
    return (quarters + 3) // 4


def of_message(message: Message) -> int:
    return _FRAME + sum(map(of_part, message.parts))


def of_messages(messages: Iterable[Message]) -> int:
    return sum(map(of_message, messages))


def of_part(part: Part) -> int:
    if isinstance(part, Text):
        return count(part.text)
    if isinstance(part, Image):
        return IMAGE
    if isinstance(part, ToolCall):
        return _FRAME + count(part.name) + _of_json(part.arguments)
    return _FRAME + sum(map(of_part, part.parts))


def of_prompt(prompt: Prompt) -> int:
    """All that is sent: instructions, tools and conversation."""
    tools = sum(
        _FRAME + count(tool.name) + count(tool.description) + _of_json(tool.input_schema)
        for tool in prompt.tools
    )
    return _FRAME + count(prompt.system) + tools + of_messages(prompt.messages)


def _of_json(value: object) -> int:
    return count(msgspec.json.encode(value).decode())
