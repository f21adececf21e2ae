"""Transcription: real servers on the loopback, real commands."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import psutil
import pytest

from clawkit.assistant.api_keys import Keys
from clawkit.assistant.config import Config, Transcription
from clawkit.assistant.media.transcription import Transcriber, transcriber
from clawkit.errors import MediaError
from clawkit.settings import Settings
from tests.assistant.media import samples
from tests.assistant.media.child_processes import LONGER, has_ended, until
from tests.processes import PATIENCE

KEY = "a-key-that-nobody-may-see-0123456789"


class Server(ThreadingHTTPServer):
    """Answers each POST with the same, and remembers what was asked."""

    daemon_threads = True

    def __init__(self, status: int, answer: bytes, delay: threading.Event | None) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.status, self.answer, self.delay = status, answer, delay
        self.asked: list[tuple[str, dict[str, str], bytes]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Server  # pyright: ignore[reportIncompatibleVariableOverride] - the type of our own

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.asked.append((self.path, headers, body))
        if self.server.delay is not None:
            self.server.delay.wait(PATIENCE)
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(self.server.answer)))
        self.end_headers()
        self.wfile.write(self.server.answer)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def serving(
    answer: Any, status: int = 200, delay: threading.Event | None = None
) -> Iterator[Server]:
    data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    with Server(status, data, delay) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            if delay is not None:
                delay.set()
            server.shutdown()
            thread.join()


def make(tmp_path: Path, environment: dict[str, str] | None = None, **options: Any) -> Transcriber:
    places = Settings(tmp_path / "config", tmp_path / "data", tmp_path / "policy")
    config = Config(places=places, transcription=Transcription(**options))
    found = transcriber(config.transcription, Keys(config, environment or {}))
    assert found is not None
    return found


async def write_down(scribe: Transcriber, tmp_path: Path) -> str:
    audio = tmp_path / "voice.wav"
    audio.write_bytes(samples.wav())
    return await scribe.transcribe(audio, "audio/wav")


async def problem(scribe: Transcriber, tmp_path: Path) -> str:
    with pytest.raises(MediaError) as caught:
        await write_down(scribe, tmp_path)
    assert KEY not in str(caught.value)
    return caught.value.problem


def test_without_a_provider_there_is_no_transcriber(tmp_path: Path) -> None:
    places = Settings(tmp_path, tmp_path, tmp_path)
    config = Config(places=places)
    assert transcriber(config.transcription, Keys(config, {})) is None


async def test_openai_gets_a_form_with_the_file_and_the_model(tmp_path: Path) -> None:
    with serving({"text": "Good morning."}) as server:
        scribe = make(
            tmp_path, {"OPENAI_API_KEY": KEY}, provider="openai", base_url=f"{server.url}/v1/"
        )
        assert await write_down(scribe, tmp_path) == "Good morning."
    path, headers, body = server.asked[0]
    assert path == "/v1/audio/transcriptions"
    assert headers["authorization"] == f"Bearer {KEY}"
    head = f"Content-Type: {headers['content-type']}\r\n\r\n".encode()
    fields = {}
    for part in message_from_bytes(head + body, policy=policy.HTTP).iter_parts():
        disposition = part["Content-Disposition"].params
        fields[disposition["name"]] = (
            disposition.get("filename"),
            part.get_content_type(),
            part.get_payload(decode=True),
        )
    assert fields["file"] == ("voice.wav", "audio/wav", samples.wav())
    assert fields["model"][2] == b"whisper-1"
    assert fields["response_format"][2] == b"json"


@pytest.mark.process
async def test_a_name_that_says_something_else_is_put_right(tmp_path: Path) -> None:
    audio = tmp_path / "memo.txt"
    audio.write_bytes(samples.OPUS)
    with serving({"text": "ok"}) as server:
        scribe = make(tmp_path, provider="openai", base_url=server.url)
        await scribe.transcribe(audio, "audio/opus")
    assert b'filename="memo.ogg"' in server.asked[0][2]
    scribe = whisper(tmp_path, "print(Path(sys.argv[1]).name)")
    assert await scribe.transcribe(audio, "audio/opus") == "memo.opus"


async def test_a_server_of_ones_own_needs_no_key(tmp_path: Path) -> None:
    with serving({"text": "ok"}) as server:
        scribe = make(tmp_path, provider="openai", base_url=server.url, model="tiny")
        assert await write_down(scribe, tmp_path) == "ok"
    assert "authorization" not in server.asked[0][1]
    assert b"tiny" in server.asked[0][2]


async def test_deepgram_gets_the_audio_itself(tmp_path: Path) -> None:
    answer = {"results": {"channels": [{"alternatives": [{"transcript": "Guten Morgen."}]}]}}
    with serving(answer) as server:
        scribe = make(tmp_path, {"DEEPGRAM_API_KEY": KEY}, provider="deepgram", base_url=server.url)
        assert await write_down(scribe, tmp_path) == "Guten Morgen."
    path, headers, body = server.asked[0]
    assert urlsplit(path).path == "/v1/listen"
    assert parse_qs(urlsplit(path).query)["model"] == ["nova-3"]
    assert headers["authorization"] == f"Token {KEY}"
    assert headers["content-type"] == "audio/wav"
    assert body == samples.wav()


@pytest.mark.parametrize("provider", ["openai", "deepgram"])
@pytest.mark.parametrize(
    ("status", "answer", "said"),
    [
        (401, {"error": KEY}, "does not accept the key in MY_KEY"),
        (500, f"broken: {KEY}".encode(), "answered 500: broken: [redacted"),
        (429, b"slow down", "answered 429: slow down"),
        (200, b"<html>", "is not what its interface promises"),
        (200, {"text": 5, "results": {"channels": []}}, "is not what its interface promises"),
        (200, [], "is not what its interface promises"),
    ],
)
async def test_what_a_service_does_wrong_is_said(
    tmp_path: Path, provider: str, status: int, answer: Any, said: str
) -> None:
    with serving(answer, status) as server:
        options = {"provider": provider, "base_url": server.url, "key_env": "MY_KEY"}
        assert said in await problem(make(tmp_path, {"MY_KEY": KEY}, **options), tmp_path)


async def test_a_missing_key_names_its_variable(tmp_path: Path) -> None:
    assert "set OPENAI_API_KEY" in await problem(make(tmp_path, provider="openai"), tmp_path)
    deepgram = make(tmp_path, provider="deepgram", key_env="OTHER")
    assert "set OTHER" in await problem(deepgram, tmp_path)


async def test_a_service_that_is_not_there_or_hangs_is_said(tmp_path: Path) -> None:
    with serving({}) as server:
        gone = server.url
    said = await problem(make(tmp_path, provider="openai", base_url=gone), tmp_path)
    assert said.startswith(f"openai cannot be reached at {gone}")
    with serving({}, delay=threading.Event()) as server:
        slow = make(tmp_path, provider="openai", base_url=server.url, timeout=0.2)
        assert await problem(slow, tmp_path) == "openai took longer than 0.2 s"
    odd = make(tmp_path, provider="openai", base_url="no address")
    assert "'no address' must be an address" in await problem(odd, tmp_path)


@pytest.mark.parametrize("provider", ["openai", "deepgram"])
async def test_no_key_is_sent_unencrypted_over_the_internet(tmp_path: Path, provider: str) -> None:
    options = {"provider": provider, "base_url": "http://api.example.com/v1", "key_env": "MY_KEY"}
    said = await problem(make(tmp_path, {"MY_KEY": KEY}, **options), tmp_path)
    assert said.startswith("[transcription] base_url: 'http://api.example.com' would send the key")
    assert KEY not in said


def script(tmp_path: Path, code: str) -> str:
    file = tmp_path / "scribe"
    file.write_text(f"#!{sys.executable}\nimport os, sys, time\nfrom pathlib import Path\n{code}\n")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return str(file)


def whisper(tmp_path: Path, code: str, *arguments: str, **options: Any) -> Transcriber:
    command = (script(tmp_path, code), *arguments)
    return make(tmp_path, provider="whisper", command=command, **options)


@pytest.mark.process
async def test_a_command_is_given_the_file_and_its_output_is_the_text(tmp_path: Path) -> None:
    code = "print(Path(sys.argv[1]).name, len(Path(sys.argv[1]).read_bytes()), sys.stdin.read())"
    assert await write_down(whisper(tmp_path, code), tmp_path) == "voice.wav 204"


@pytest.mark.process
async def test_the_file_and_the_model_go_where_the_command_wants_them(tmp_path: Path) -> None:
    code = "print([a.replace(os.getcwd(), '.') for a in sys.argv[1:]])"
    scribe = whisper(tmp_path, code, "-m", "{model}.bin", "-f={file}", "-nt", model="tiny")
    assert await write_down(scribe, tmp_path) == "['-m', 'tiny.bin', '-f=./voice.wav', '-nt']"
    scribe = whisper(tmp_path, code, model="tiny")
    assert await write_down(scribe, tmp_path) == "['--model', 'tiny', './voice.wav']"


@pytest.mark.process
@pytest.mark.parametrize("name", ["voice.txt", "voice.wav.txt"])
async def test_the_text_file_of_a_command_counts_more_than_its_output(
    tmp_path: Path, name: str
) -> None:
    code = f"print('[00:00 --> 00:01] noise'); Path('{name}').write_text('Good morning.\\n')"
    assert await write_down(whisper(tmp_path, code), tmp_path) == "Good morning."


@pytest.mark.process
async def test_a_command_that_fails_is_quoted_without_keys(tmp_path: Path) -> None:
    token = "ghp_" + "a1B2" * 9
    code = f"sys.stderr.write('no model: {token}'); sys.exit(3)"
    said = await problem(whisper(tmp_path, code), tmp_path)
    assert "ended with status 3: no model: " in said
    assert token not in said


async def test_a_command_that_does_not_exist_is_named(tmp_path: Path) -> None:
    scribe = make(tmp_path, provider="whisper", command=("no-such-whisper",))
    assert "there is no program `no-such-whisper`" in await problem(scribe, tmp_path)
    scribe = make(tmp_path, provider="whisper", command=())
    assert "`command` under [transcription] names it" in await problem(scribe, tmp_path)


@pytest.mark.process
async def test_a_command_that_talks_without_end_does_not_fill_the_memory(tmp_path: Path) -> None:
    code = "for _ in range(200): sys.stdout.write('x' * 100_000)"
    assert len(await write_down(whisper(tmp_path, code), tmp_path)) == 4 * 1024 * 1024


STUBBORN = """
import signal, subprocess
signal.signal(signal.SIGTERM, signal.SIG_IGN)
sleeper = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"
child = subprocess.Popen([sys.executable, "-c", sleeper], start_new_session=True)
Path(sys.argv[1]).write_text(f"{os.getpid()} {child.pid}")
time.sleep(60)
"""


def pids_in(file: Path) -> list[int]:
    return [int(pid) for pid in file.read_text().split()] if file.exists() else []


async def processes_in(file: Path) -> list[psutil.Process]:
    await until(lambda: len(pids_in(file)) == 2)
    return [psutil.Process(pid) for pid in pids_in(file)]


async def wait_for_the_end(processes: list[psutil.Process]) -> None:
    await until(lambda: all(map(has_ended, processes)))


@pytest.mark.process
async def test_a_command_that_takes_too_long_ends_with_its_children(tmp_path: Path) -> None:
    for seconds in LONGER:
        pids = tmp_path / f"pids-{seconds}"
        scribe = whisper(tmp_path, STUBBORN, str(pids), "{file}", timeout=seconds)
        assert (await problem(scribe, tmp_path)).endswith(f"took longer than {seconds} s")
        if found := pids_in(pids):
            await until(lambda found=found: all(map(has_ended, found)))
            return
    raise AssertionError("the command has never started its child")


@pytest.mark.process
async def test_a_cancelled_transcription_ends_the_command_and_its_children(tmp_path: Path) -> None:
    scribe = whisper(tmp_path, STUBBORN, str(tmp_path / "pids"), "{file}")
    task = asyncio.create_task(write_down(scribe, tmp_path))
    processes = await processes_in(tmp_path / "pids")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await wait_for_the_end(processes)


async def test_a_command_ends_when_we_are_killed(tmp_path: Path) -> None:
    audio = tmp_path / "voice.wav"
    audio.write_bytes(samples.wav())
    command = json.dumps([script(tmp_path, STUBBORN), str(tmp_path / "pids"), "{file}"])
    code = (
        "import asyncio, json, sys\nfrom pathlib import Path\n"
        "from clawkit.assistant.config import Config, Transcription\n"
        "from clawkit.assistant.media.transcription import transcriber\n"
        "from clawkit.assistant.api_keys import Keys\n"
        "options = Transcription(provider='whisper', command=tuple(json.loads(sys.argv[1])))\n"
        "scribe = transcriber(options, Keys(Config()))\n"
        "asyncio.run(scribe.transcribe(Path(sys.argv[2]), 'audio/wav'))\n"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        code,
        command,
        str(audio),
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    try:
        processes = await processes_in(tmp_path / "pids")
    finally:
        process.kill()
        await process.wait()
    await wait_for_the_end(processes)


@pytest.mark.process
async def test_what_a_command_leaves_running_is_ended(tmp_path: Path) -> None:
    code = (
        "import subprocess\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'],"
        " stdout=subprocess.DEVNULL, start_new_session=True)\nprint(child.pid)"
    )
    pid = int(await write_down(whisper(tmp_path, code), tmp_path))
    if psutil.pid_exists(pid):
        await wait_for_the_end([psutil.Process(pid)])


@pytest.mark.process
async def test_nothing_of_a_transcription_is_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    code = "Path('voice.txt').write_text('x'); os.mkdir('more')"
    assert await write_down(whisper(tmp_path, code), tmp_path) == "x"
    assert not list(temporary.iterdir())
