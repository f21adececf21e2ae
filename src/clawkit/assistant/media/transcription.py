"""Who writes down what is said in audio: a command on this machine, or a service."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
from msgspec import Struct

from clawkit.assistant.media.kinds import SUFFIXES
from clawkit.assistant.media.names import with_suffix
from clawkit.assistant.redaction import redact
from clawkit.errors import ClawError, MediaError
from clawkit.system.addresses import check_address

if TYPE_CHECKING:
    import httpx2

    from clawkit.assistant.config import Transcription
    from clawkit.assistant.secrets import Keys

_OPENAI = "https://api.openai.com/v1"
_DEEPGRAM = "https://api.deepgram.com"
_LONGEST_ERROR = 300


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
            from clawkit.assistant.media.whisper import Whisper

            return Whisper(options, keys)
        case "openai":
            return OpenAi(options, keys)
        case "deepgram":
            return Deepgram(options, keys)


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
                httpx2.AsyncClient(timeout=None) as client,
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
        except (msgspec.DecodeError, LookupError, TypeError, AttributeError):
            problem = f"the answer of {self.name} is not what its interface promises"
            raise MediaError(item, problem) from None

    @abstractmethod
    def _request(self, client: httpx2.AsyncClient, audio: _Audio, key: str) -> httpx2.Request:
        """How this service is asked."""

    @abstractmethod
    def _text_in(self, answer: httpx2.Response) -> str:
        """What was said, in its answer."""


class OpenAi(_Service):
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


class Deepgram(_Service):
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
