"""A server with a bit of everything: progress, a question to the person, structured output.

Run it with `claw serve examples/greenhouse.py`.
"""

import asyncio
from dataclasses import dataclass
from typing import Annotated, Literal

from clawkit import Context, Field, SdkMcpServerImpl

server = SdkMcpServerImpl("greenhouse", "1.0.0", instructions="Tends the plants.")
beds: dict[str, int] = {"tomatoes": 42, "basil": 61, "chillies": 38}


@dataclass
class Reading:
    bed: str
    moisture: int


@server.tool(read_only=True, structured=True)
def moisture(bed: Literal["tomatoes", "basil", "chillies"]) -> Reading:
    """How moist a bed is, in percent."""
    return Reading(bed, beds[bed])


@server.tool
async def water(bed: str, litres: Annotated[float, Field(gt=0, le=20)], context: Context) -> str:
    """Water a bed.

    Args:
        bed: Which bed to water.
        litres: How much; at most 20.
    """
    for step in range(1, 4):
        await asyncio.sleep(0.1)
        context.progress(step, total=3, message=f"{litres * step / 3:.0f} of {litres:g} l")
    beds[bed] = min(100, beds.get(bed, 0) + round(litres * 4))
    return f"{bed} is now at {beds[bed]} %"


@server.tool(destructive=True)
async def clear(bed: str, context: Context) -> str:
    """Pull up everything in a bed, if the person agrees."""
    answer = await context.elicit(f"Really clear {bed}?")
    if not answer.accepted:
        return f"{bed} stays as it is"
    beds.pop(bed, None)
    return f"{bed} is empty"


@server.resource("greenhouse://log", mime_type="text/plain")
def log() -> str:
    """What the beds look like."""
    return "\n".join(f"{bed}: {percent} %" for bed, percent in beds.items())
