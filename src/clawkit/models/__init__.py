"""The client of language models and embedding servers; here is what a model of your own needs."""

from clawkit.models.protocol import (
    Called,
    Event,
    Finished,
    Image,
    Message,
    Model,
    ModelSettings,
    Prompt,
    Text,
    TextDelta,
    ToolCall,
    ToolOutcome,
    Usage,
)

__all__ = [
    "Called",
    "Event",
    "Finished",
    "Image",
    "Message",
    "Model",
    "ModelSettings",
    "Prompt",
    "Text",
    "TextDelta",
    "ToolCall",
    "ToolOutcome",
    "Usage",
]
