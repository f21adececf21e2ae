"""Transcribes audio: with a command on this machine (whisper), or with a service.

`{file}` and `{model}` in the command are filled in; without `{file}` the file is added at the end.
The text is taken from the `.txt` that the command leaves beside the file or where it runs, as the
`whisper` commands do, and from its standard output if there is none.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
from msgspec import Struct

from clawkit.assistant.media.accepted_types import SUFFIXES
from clawkit.assistant.media.call_folder import CallFolder
from clawkit.assistant.media.file_names import with_suffix
from clawkit.assistant.media.helper_process import HelperProcess
from clawkit.assistant.redaction import redact
from clawkit.errors import UNREADABLE_JSON, ClawError, MediaError
from clawkit.system.addresses import check_address, trusted

if TYPE_CHECKING:
    import httpx2

    from clawkit.assistant.api_keys import Keys
    from clawkit.assistant.config import Transcription

_SUPERVISOR = "clawkit.assistant.media.helper_process"
_MOST_OUTPUT = 4 * 1024 * 1024
_LONGEST_ERROR = 300


class Whisper:
    """Runs the command once for each file, in a folder of its own."""

    name = "whisper"

    def __init__(self, options: Transcription, keys: Keys) -> None:
        self._options = options
        self._keys = keys

    async def transcribe(self, file: Path, mime_type: str) -> str:
        with CallFolder() as folder:
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
    async with await HelperProcess.start(_SUPERVISOR, *command, cwd=place, errors=True) as helper:
        output, errors = await asyncio.gather(
            _read(helper.process.stdout), _read(helper.process.stderr)
        )
        status = await helper.process.wait()
    return status, output, errors


async def _read(stream: asyncio.StreamReader | None) -> str:
    """Reads all output and keeps a limited part: a writer that is not read would hang."""
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


_OPENAI = "https://api.openai.com/v1"
_DEEPGRAM = "https://api.deepgram.com"


class Transcriber(Protocol):
    """Something that turns audio into words."""

    @property
    def name(self) -> str:
        """How it is called in a note."""
        ...

    async def transcribe(self, file: Path, mime_type: str) -> str:
        """What is said in a file; MediaError says why not."""
        ...


def transcriber(options: Transcription, keys: Keys) -> Transcriber | None:
    """The one that the config names, or none."""
    match options.provider:
        case "":
            return None
        case "whisper":
            return Whisper(options, keys)
        case "openai":
            return OpenAiTranscription(options, keys)
        case "deepgram":
            return DeepgramTranscription(options, keys)


class _Audio(Struct, frozen=True):
    name: str
    mime_type: str
    data: bytes


class _Service(ABC):
    """What the services have in common: one request, its limits and its errors."""

    name = ""
    home = ""
    variable = ""

    def __init__(self, options: Transcription, keys: Keys) -> None:
        self._options = options
        self._keys = keys
        self._base = (options.base_url or self.home).rstrip("/")

    async def transcribe(self, file: Path, mime_type: str) -> str:
        import httpx2

        seconds = self._options.timeout
        try:
            key = self._key()
            check_address("[transcription] base_url", self._base, secret=bool(key))
            async with (
                asyncio.timeout(seconds),
                httpx2.AsyncClient(timeout=None, verify=trusted(self._base)) as client,
            ):
                data = await asyncio.to_thread(file.read_bytes)
                audio = _Audio(_name(file, mime_type), mime_type, data)
                answer = await client.send(self._request(client, audio, key))
        except TimeoutError:
            raise MediaError(file.name, f"{self.name} took longer than {seconds:g} s") from None
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
            what = redact(str(error), self._keys) or type(error).__name__
            problem = f"{self.name} cannot be reached at {self._base}: {what}"
            raise MediaError(file.name, problem) from None
        except MediaError:
            raise
        except ClawError as error:
            raise MediaError(file.name, str(error)) from None
        return self._words(answer, file.name)

    def _key(self) -> str:
        """A server of one's own may want none; the service itself always does."""
        variable = self._options.key_env or self.variable
        found = self._keys.find(variable)
        if found is None and (self._options.key_env or not self._options.base_url):
            raise MediaError(self.name, f"{self.name} needs a key: set {variable}")
        return found.value if found else ""

    def _words(self, answer: httpx2.Response, item: str) -> str:
        if answer.status_code in (401, 403):
            variable = self._options.key_env or self.variable
            raise MediaError(item, f"{self.name} does not accept the key in {variable}")
        if not answer.is_success:
            said = redact(answer.text[:_LONGEST_ERROR], self._keys).strip()
            raise MediaError(item, f"{self.name} answered {answer.status_code}: {said}")
        try:
            return self._text_in(answer)
        except (LookupError, TypeError, AttributeError, *UNREADABLE_JSON):
            problem = f"the answer of {self.name} is not what its interface promises"
            raise MediaError(item, problem) from None

    @abstractmethod
    def _request(self, client: httpx2.AsyncClient, audio: _Audio, key: str) -> httpx2.Request:
        """How this service is asked."""

    @abstractmethod
    def _text_in(self, answer: httpx2.Response) -> str:
        """What was said, in its answer."""


class OpenAiTranscription(_Service):
    """`POST {base}/audio/transcriptions`, as OpenAI has it and many servers copied it."""

    name = "openai"
    home = _OPENAI
    variable = "OPENAI_API_KEY"

    def _request(self, client: httpx2.AsyncClient, audio: _Audio, key: str) -> httpx2.Request:
        return client.build_request(
            "POST",
            f"{self._base}/audio/transcriptions",
            data={"model": self._options.model or "whisper-1", "response_format": "json"},
            files={"file": (audio.name, audio.data, audio.mime_type)},
            headers={"Authorization": f"Bearer {key}"} if key else {},
        )

    def _text_in(self, answer: httpx2.Response) -> str:
        return _string(msgspec.json.decode(answer.content)["text"])


class DeepgramTranscription(_Service):
    """`POST {base}/v1/listen` with the audio as the body."""

    name = "deepgram"
    home = _DEEPGRAM
    variable = "DEEPGRAM_API_KEY"

    def _request(self, client: httpx2.AsyncClient, audio: _Audio, key: str) -> httpx2.Request:
        return client.build_request(
            "POST",
            f"{self._base}/v1/listen",
            params={
                "model": self._options.model or "nova-3",
                "smart_format": "true",
                "detect_language": "true",
            },
            content=audio.data,
            headers={
                "Content-Type": audio.mime_type,
                **({"Authorization": f"Token {key}"} if key else {}),
            },
        )

    def _text_in(self, answer: httpx2.Response) -> str:
        found = msgspec.json.decode(answer.content)["results"]["channels"][0]["alternatives"][0]
        return _string(found["transcript"])


def _name(file: Path, mime_type: str) -> str:
    """Services tell formats by suffixes, and know Opus by that of its container."""
    return with_suffix(file.name, ".ogg" if mime_type == "audio/opus" else SUFFIXES[mime_type])


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value
