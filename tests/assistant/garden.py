"""Tools of a garden, as a file in the config directory has them."""

from __future__ import annotations

from tests.assistant.media.samples import png

PNG = png()
TOOLS = """
from clawkit import claw_tool, Media

@claw_tool
async def moisture(bed: str) -> str:
    "How wet a bed is."
    if bed == "moon":
        raise ValueError("no such bed")
    return f"{bed}: 12 %"

@claw_tool
async def chart(bed: str) -> Media:
    "A picture of it."
    return Media(bytes.fromhex("PNG"), "image/png", "chart.png")
""".replace("PNG", PNG.hex())
