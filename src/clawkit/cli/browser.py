"""A person's browser: whether one can be seen, and a link opened that others cannot read."""

from __future__ import annotations

import os
import sys


def has_screen() -> bool:
    """Whether a browser that is started here can be seen."""
    if "SSH_CONNECTION" in os.environ:
        return False
    graphical = "DISPLAY" in os.environ or "WAYLAND_DISPLAY" in os.environ
    return graphical or sys.platform in ("darwin", "win32")


def open_privately(link: str, name: str) -> bool:
    """Open a link by way of a private file: a command line can be read by every user."""
    import webbrowser
    from html import escape

    from clawkit.settings import settings
    from clawkit.system.files import make_private, write_whole

    page = settings().data / name
    make_private(page.parent)
    write_whole(page, _FORWARD.format(escape(link)).encode())
    return webbrowser.open(page.as_uri())


_FORWARD = '<!doctype html><meta http-equiv="refresh" content="0; url={}"><title>claw</title>\n'
