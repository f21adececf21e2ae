"""llama.cpp's own server with a small real model: a process that cannot outlive who started it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx2

from tests.processes import PATIENCE, ROOT

MODEL = ROOT / "build" / "models" / "smollm2.gguf"
TEMPLATE = Path(__file__).with_name("chatml.jinja")
CONTEXT = 4096


@dataclass(frozen=True)
class Llama:
    """The server while it runs."""

    address: str

    @property
    def url(self) -> str:
        """What a config calls its `base_url`."""
        return f"{self.address}/v1"

    def tokens_written(self) -> int:
        """How many tokens its finished answers had, since it started."""
        name = "llamacpp:tokens_predicted_total "
        lines = httpx2.get(f"{self.address}/metrics", timeout=PATIENCE).text.splitlines()
        return next(int(line.removeprefix(name)) for line in lines if line.startswith(name))

    def is_busy(self) -> bool:
        """Whether it is writing an answer."""
        slots: list[dict[str, Any]] = httpx2.get(f"{self.address}/slots", timeout=PATIENCE).json()
        return any(slot["is_processing"] for slot in slots)


@contextmanager
def llama_server(home: Path) -> Iterator[Llama]:
    """A server of one's own on a free port; whatever it keeps in a home, it keeps in this one."""
    assert MODEL.is_file(), f"{MODEL} is not there: `make setup` gets it"
    command = (sys.executable, "-m", "tests.assistant.llama", str(MODEL))
    environment = {**os.environ, "HOME": str(home)}
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, env=environment, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        address = process.stdout.readline().strip()
        assert address.startswith("http://"), "llama.cpp did not start; stderr says why"
        yield Llama(address)
    finally:
        process.kill()
        process.wait(PATIENCE)
        process.stdin.close()
        process.stdout.close()


def serve(model: str) -> None:
    """Serve one answer at a time, the same one to the same prompt, until the end of input."""
    xllamacpp: Any = import_module("xllamacpp")  # it has no types
    parameters = xllamacpp.CommonParams()
    parameters.model.path = model
    parameters.chat_template = TEMPLATE.read_text(encoding="utf-8")
    parameters.model_alias = {"smollm2"}
    parameters.offline = True
    parameters.n_ctx = CONTEXT
    parameters.n_parallel = 1
    # Two would wait for each other wherever other tests keep the cores busy.
    parameters.cpuparams.n_threads = 1
    parameters.cpuparams_batch.n_threads = 1
    # A prompt that begins with what is cached is computed in other steps, and rounds otherwise.
    parameters.cache_prompt = False
    parameters.cache_ram_mib = 0
    parameters.sampling.temp = 0
    parameters.sampling.seed = 1
    parameters.use_jinja = True
    parameters.warmup = False
    parameters.ui = False
    parameters.endpoint_metrics = True
    parameters.endpoint_slots = True
    parameters.verbosity = 0
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    server = xllamacpp.Server(parameters)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()
    # The parent is gone. Leaving in the ordinary way would wait for an answer in the making.
    os._exit(0)


if __name__ == "__main__":
    serve(sys.argv[1])
