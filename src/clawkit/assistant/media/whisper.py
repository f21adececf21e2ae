"""Transcription by a command on this machine: OpenAI's `whisper`, whisper.cpp, or a script.

`{file}` and `{model}` in the command are filled in; without `{file}` the file is added at the end.
The text is taken from the `.txt` that the command leaves beside the file or where it runs, as the
`whisper` commands do, and from its standard output if there is none.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from clawkit.assistant.media.folder import CallFolder
from clawkit.assistant.media.kinds import SUFFIXES
from clawkit.assistant.media.names import with_suffix
from clawkit.assistant.media.processes import Helper
from clawkit.assistant.redaction import redact
from clawkit.errors import MediaError

if TYPE_CHECKING:
    from clawkit.assistant.config import Transcription
    from clawkit.assistant.secrets import Keys

_MINDER = "clawkit.assistant.media.minder"
_MOST_OUTPUT = 4 * 1024 * 1024
_LONGEST_ERROR = 300


class Whisper:
    """Runs the command once for each file, in a folder of its own."""

    name = "whisper"

    def __init__(self, options: Transcription, keys: Keys) -> None:
        self._options = options
        self._keys = keys

    async def transcribe(self, file: Path, mime_type: str) -> str:
        async with CallFolder() as folder:
            audio = folder.outbox / with_suffix(file.name, SUFFIXES[mime_type])
            command = self._command(audio)
            await asyncio.to_thread(shutil.copyfile, file, audio)
            try:
                return await self._ask(command, folder.outbox)
            except TimeoutError:
                problem = f"`{command[0]}` took longer than {self._options.timeout:g} s"
                raise MediaError(file.name, problem) from None
            except OSError as error:
                problem = f"`{command[0]}` cannot be run: {error.strerror or error}"
                raise MediaError(file.name, problem) from None

    async def _ask(self, command: list[str], place: Path) -> str:
        async with asyncio.timeout(self._options.timeout):
            status, output, errors = await _run(command, place)
        if status:
            said = redact(errors.strip()[-_LONGEST_ERROR:], self._keys)
            raise MediaError(place.name, f"`{command[0]}` ended with status {status}: {said}")
        written = await asyncio.to_thread(_written, place)
        return output.strip() if written is None else written

    def _command(self, audio: Path) -> list[str]:
        options = self._options
        program, *arguments = options.command or ("",)
        found = shutil.which(program) if program else None
        if found is None:
            problem = f"there is no program `{program}`; `command` under [transcription] names it"
            raise MediaError(audio.name, problem)
        filled = [
            part.replace("{file}", str(audio)).replace("{model}", options.model)
            for part in arguments
        ]
        if options.model and not any("{model}" in part for part in arguments):
            filled += ["--model", options.model]
        if not any("{file}" in part for part in arguments):
            filled.append(str(audio))
        # It runs in another directory than the one that the name may be relative to.
        return [os.path.abspath(found), *filled]  # noqa: PTH100 - symbolic links stay as they are


async def _run(command: list[str], place: Path) -> tuple[int, str, str]:
    async with await Helper.start(_MINDER, *command, cwd=place, errors=True) as helper:
        output, errors = await asyncio.gather(
            _read(helper.process.stdout), _read(helper.process.stderr)
        )
        status = await helper.process.wait()
    return status, output, errors


async def _read(stream: asyncio.StreamReader | None) -> str:
    """All that comes; what is too much is read and dropped, so that the writer can go on."""
    assert stream is not None
    kept = bytearray()
    while data := await stream.read(65536):
        kept += data[: _MOST_OUTPUT - len(kept)]
    return kept.decode("utf-8", "replace")


def _written(place: Path) -> str | None:
    texts = sorted(place.glob("*.txt"))
    if not texts or not texts[0].is_file():
        return None
    with texts[0].open("rb") as file:
        return file.read(_MOST_OUTPUT).decode("utf-8", "replace").strip()
