"""How the model sends a file: the tool `send_file`, or a line `MEDIA: path` in its answer."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from pathlib import Path

from clawkit.assistant.media.call_folder import CallFolder
from clawkit.assistant.media.file_names import UniqueNames, safe_name
from clawkit.assistant.media.outbound import Outgoing, Picked, pick, problem_with
from clawkit.assistant.toolbox.toolbox import CallResult
from clawkit.errors import ClawError
from clawkit.models.protocol import Text, ToolCall, ToolOutcome, ToolSpec

SEND_FILE = ToolSpec(
    "send_file",
    "Send a file with your answer: one in your workspace, or a new one with the text you give.",
    {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The file, relative to your workspace"},
            "text": {"type": "string", "description": "What to write into a new file"},
        },
        "required": ["path"],
    },
)
_MEDIA_LINE = re.compile(r"^[ \t]*MEDIA:[ \t]*(\S[^\n]*)$", re.MULTILINE)


class FileOutbox:
    """The files that go out with one answer."""

    def __init__(self, folder: CallFolder, workspace: Path) -> None:
        self._folder = folder
        self._workspace = workspace
        self._paths: list[str] = []
        self._offered: list[Outgoing] = []
        self._names = UniqueNames()

    def send_file(self, call: ToolCall) -> CallResult:
        """The tool: what cannot be sent is said at once, so that the model can do better."""
        started = time.monotonic()
        path, text = call.arguments.get("path"), call.arguments.get("text")
        if not isinstance(path, str) or not path:
            problem = "send_file needs a path"
        elif isinstance(text, str):
            problem = self._write(path, text)
        else:
            problem = self._add(path)
        said = problem or f"{path} will be sent with the answer"
        outcome = ToolOutcome(call.id, (Text(said),), is_error=bool(problem))
        return CallResult(outcome, "", (), time.monotonic() - started)

    def _add(self, path: str) -> str:
        problem = problem_with(path, self._folder, self._workspace)
        if not problem:
            self._paths.append(path)
        return problem

    def _write(self, path: str, text: str) -> str:
        """Everything in the outbox is sent, so a new file only has to be there."""
        name = self._names.give(safe_name(path))
        try:
            (self._folder.outbox / name).write_bytes(text.encode("utf-8", "replace"))
        except (OSError, ClawError) as error:
            return f"{name} cannot be written: {error}"
        return ""

    def offer(self, media: Sequence[Outgoing]) -> None:
        """Take media that a tool gave."""
        self._offered.extend(media)

    def take_lines(self, text: str) -> str:
        """The text without its `MEDIA:` lines; what they name will be sent."""
        self._paths += [_unquoted(found[1].rstrip()) for found in _MEDIA_LINE.finditer(text)]
        return re.sub(r"\n{3,}", "\n\n", _MEDIA_LINE.sub("", text)) if "MEDIA:" in text else text

    def close(self) -> Picked:
        """Everything to send, and what could not be."""
        return pick(self._paths, self._offered, self._folder, self._workspace)


def _unquoted(path: str) -> str:
    return path[1:-1] if len(path) > 1 and path[0] == path[-1] and path[0] in "\"'`" else path
