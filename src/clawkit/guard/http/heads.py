"""What of a message tells where it belongs, read without reading all of it."""

from __future__ import annotations

import msgspec

from clawkit.guard.prompts import Passage


class Head(msgspec.Struct, frozen=True):
    """A message's id and method; None for what it does not have."""

    id: str | int | None = None
    method: str | None = None

    def answers(self, request_id: object) -> bool:
        """Whether it is the answer to this request; `1` is not `"1"`."""
        return self.method is None and self.id == request_id and type(self.id) is type(request_id)


_decode = msgspec.json.Decoder(Head).decode


def head_of(message: bytes) -> Head:
    """The head of bytes that are known to be a message."""
    return _decode(message)


def answers(passage: Passage, request_id: object) -> bool:
    """Whether a passage brings a client the answer to this request."""
    return passage.to_client is not None and head_of(passage.to_client).answers(request_id)
