"""Two servers with limits: `narrow` does two things at once, `hurried` waits for nobody."""

from __future__ import annotations

import asyncio

from clawkit import Limits, SdkMcpServerImpl

narrow = SdkMcpServerImpl("narrow", "1.0.0", limits=Limits(concurrency=2, waiting=1))
hurried = SdkMcpServerImpl("hurried", "1.0.0", limits=Limits(timeout=0.2))


@narrow.tool
async def hold(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "held"


hurried.register_tool(hold)


@narrow.tool(concurrency=1)
async def hold_alone(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "held"


@hurried.tool(timeout=600)
async def hold_longer(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "held"
