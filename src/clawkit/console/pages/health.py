"""The page Health."""

from __future__ import annotations

from contextlib import ExitStack

from clawkit.console.api import ConsolePage


def page(_: ExitStack) -> ConsolePage:
    return ConsolePage(())
