"""The tool as its documents define it, word for word: `order_openclaw` and `order_clawdbot`.

Nothing is imported here: a client that only lists the tools waits for nothing else.
"""

from __future__ import annotations

from typing import Any


class Brand:
    """The name the program was started by, and what is served under it."""

    __slots__ = ("definition", "name", "product", "with_media")

    def __init__(
        self, name: str, product: str, definition: dict[str, Any], *, with_media: bool
    ) -> None:
        self.name = name
        self.product = product
        self.definition = definition
        self.with_media = with_media


def _attachments(kind: str, most: int, example: str) -> dict[str, Any]:
    return {
        "type": "array",
        "description": f"Optional base64-encoded {kind}s (max {most}, 15MB each)",
        "items": {
            "type": "object",
            "properties": {
                "data": {"type": "string", "description": f"Base64-encoded {kind} data"},
                "mimeType": {"type": "string", "description": f"MIME type (e.g., '{example}')"},
                "filename": {"type": "string", "description": "Optional filename"},
            },
            "required": ["data", "mimeType"],
        },
    }


def _order(product: str, more: str, media: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": f"order_{product.lower()}",
        "description": (
            f"Send a message to {product} and receive a response. "
            f"The message will be processed as if typed by a user.{more}"
        ),
        "inputSchema": {
            "type": "object",
            "properties": {
                "message": {"type": "string", "description": f"The message to send to {product}"},
                "sessionKey": {
                    "type": "string",
                    "description": "Optional session key for conversation continuity",
                },
                **media,
            },
            "required": ["message"],
        },
    }


_MEDIA = {
    "images": _attachments("image", 10, "image/png"),
    "files": _attachments("file", 5, "application/pdf"),
}
_WITH_MEDIA = (
    " Supports sending images, files (PDF, text, markdown, CSV, JSON), audio, video, "
    "and archives (ZIP, TAR.GZ) via base64 encoding."
)

OPENCLAW = Brand("openclaw", "OpenClaw", _order("OpenClaw", _WITH_MEDIA, _MEDIA), with_media=True)
CLAWDBOT = Brand("clawdbot", "Clawdbot", _order("Clawdbot", "", {}), with_media=False)


def brand_of(program: str) -> Brand:
    """What a program of this name serves."""
    return CLAWDBOT if program == "clawdbot" else OPENCLAW
