"""What could answer on a machine: found at real sockets and by the real Claude CLI."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from clawkit.assistant.api_keys import Keys
from clawkit.assistant.config import Config, ModelChoice, Provider
from clawkit.assistant.model_discovery import FoundModels, find_models, suggestion
from clawkit.models.model_list import list_models
from clawkit.settings import Settings
from tests.assistant.llama import llama_server
from tests.assistant.providers.scripted import Say, Status, scripted_openai
from tests.claude.cli import environment as cli_environment
from tests.claude.cli import real_cli
from tests.processes import PATIENCE

KEY = "s" + "k-" + "Q7" * 16


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAW_SEARCH_PATIENCE", str(PATIENCE))


def nowhere() -> str:
    """An address at which nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return "http://{}:{}/v1".format(*free.getsockname())


class World:
    """A config in which each local server is where the test says, else nowhere."""

    def __init__(self, home: Path, environment: dict[str, str] | None = None, **at: str) -> None:
        servers = ("ollama", "lmstudio", "llamacpp", "vllm")
        self.config = Config(
            providers={name: Provider(base_url=at.get(name) or nowhere()) for name in servers},
            places=Settings(home / "config", home / "data", home / "policy"),
        )
        self.environment = {"CLAW_SEARCH_PATIENCE": str(PATIENCE), **(environment or {})}
        self.keys = Keys(self.config, self.environment)

    async def find(self) -> tuple[FoundModels, ...]:
        return await find_models(self.config, self.keys, self.environment)


async def test_where_nothing_is_nothing_is_found(home: Path) -> None:
    assert await World(home).find() == ()


async def test_local_servers_are_found_with_the_models_that_can_chat(home: Path) -> None:
    models = ("qwen3:8b", "nomic-embed-text:latest", "llama3.2", "qwen3:8b")
    with (
        scripted_openai([], models) as ollama,
        scripted_openai([], ("phi-4",)) as lmstudio,
        scripted_openai([], ("text-embedding-nomic",)) as llamacpp,
        scripted_openai([Status(404)]) as vllm,
    ):
        world = World(
            home, ollama=ollama.url, lmstudio=lmstudio.url, llamacpp=llamacpp.url, vllm=vllm.url
        )
        first, second = await world.find()
    assert (first.provider, first.models) == ("ollama", ("qwen3:8b", "llama3.2"))
    assert first.described == "Ollama is running with qwen3:8b and 1 more"
    assert first.command == "claw setup --provider ollama --model qwen3:8b --yes"
    assert (second.provider, second.models) == ("lmstudio", ("phi-4",))
    assert first.is_free
    assert second.is_free


async def test_the_real_server_of_llama_cpp_is_found_at_the_port_its_variable_names(
    home: Path, tmp_path: Path
) -> None:
    with llama_server(tmp_path) as llama:
        port = llama.address.rpartition(":")[2]
        (found,) = await World(home, {"LLAMA_ARG_PORT": port}).find()
    assert (found.provider, found.models) == ("llamacpp", ("smollm2",))
    assert found.base_url == f"http://127.0.0.1:{port}/v1"
    assert f"--base-url {found.base_url} --model smollm2" in found.command


@pytest.mark.parametrize("form", ["{host}:{port}", "http://{host}:{port}", "0.0.0.0:{port}"])
async def test_ollama_is_looked_for_where_its_own_variable_says(form: str, home: Path) -> None:
    with scripted_openai([], ("llama3.2",)) as server:
        host, _, port = server.origin.removeprefix("http://").partition(":")
        variable = form.format(host=host, port=port)
        (found,) = await World(home, {"OLLAMA_HOST": variable}).find()
    assert found.base_url == f"http://127.0.0.1:{port}/v1"


@pytest.mark.parametrize("variable", ["http://[", "ftp://x", "127.0.0.1:port"])
async def test_a_variable_that_is_no_address_is_overlooked(variable: str, home: Path) -> None:
    assert await World(home, {"OLLAMA_HOST": variable}).find() == ()


@pytest.mark.parametrize(
    "answer",
    [
        Status(200, body="<html>hello</html>"),
        Status(200, body={"data": "none"}),
        Status(200, body=b"\xff\x00"),
        Status(500),
        Status(302, headers={"location": "/elsewhere"}),
    ],
)
async def test_what_is_no_list_of_models_is_none(answer: Status) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        served = asyncio.get_running_loop().run_in_executor(None, _serve_two, listening, answer)
        assert await list_models(f"http://127.0.0.1:{port}/v1", PATIENCE) == ()
        await served


def _serve_two(listening: socket.socket, answer: Status) -> None:
    """The connection that only looks whether somebody is there, then the one that asks."""
    listening.accept()[0].close()
    connection, _ = listening.accept()
    with connection:
        connection.recv(65536)
        body = answer.body if isinstance(answer.body, bytes) else str(answer.body).encode()
        more = "".join(f"{name}: {value}\r\n" for name, value in answer.headers.items())
        head = f"HTTP/1.1 {answer.code} x\r\n{more}content-length: {len(body)}\r\n\r\n"
        connection.sendall(head.encode() + body)


async def test_a_server_that_says_nothing_is_left(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = "http://{}:{}/v1".format(*silent.getsockname())
        world = World(home, {"CLAW_SEARCH_PATIENCE": "0.2"}, ollama=url)
        assert await world.find() == ()


async def test_a_claude_cli_is_found_only_if_it_is_logged_in(home: Path) -> None:
    base = {**cli_environment("http://127.0.0.1:9", home), "CLAUDE_CLI_PATH": real_cli()}
    with_key = World(home, base)
    assert [one.provider for one in await with_key.find()] == ["anthropic"], "a key is no login"
    without = {name: value for name, value in base.items() if name != "ANTHROPIC_API_KEY"}
    assert await World(home, without).find() == ()
    (found,) = await World(home, {**without, "CLAUDE_CODE_OAUTH_TOKEN": "not-a-real-one"}).find()
    assert (found.provider, found.kind, found.is_free) == ("claude-cli", "cli", False)
    assert found.command == "claw setup --provider claude-cli --yes"


async def test_keys_are_found_by_name_and_never_shown(home: Path) -> None:
    environment = {"OPENROUTER_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": ""}
    found = await World(home, environment).find()
    assert [one.where for one in found] == ["ANTHROPIC_API_KEY", "OPENROUTER_API_KEY"]
    assert not any(one.is_free for one in found)
    assert KEY not in repr(found)


async def test_only_where_nobody_chose_a_model_one_is_suggested(home: Path) -> None:
    with scripted_openai([Say("unasked")], ("llama3.2",)) as server:
        world = World(home, ollama=server.url)
        said = await suggestion(world.config, world.keys)
        assert said == (
            "Ollama is running with llama3.2: "
            "`claw setup --provider ollama --model llama3.2 --yes` has it answer."
        )
        for model in (ModelChoice(use="offline"), ModelChoice(provider="ollama")):
            chosen = Config(model=model, providers=world.config.providers)
            assert await suggestion(chosen, world.keys) == ""
        assert {request.method for request in server.requests} == {"GET"}


async def test_what_is_free_is_suggested_before_what_costs(home: Path) -> None:
    world = World(home, {"OPENAI_API_KEY": KEY})
    said = await suggestion(world.config, world.keys, for_clients=True)
    assert "`claw setup --provider openai --yes --keep-key` has it answer (its account" in said
    with scripted_openai([], ("llama3.2",)) as server:
        world = World(home, {"OPENAI_API_KEY": KEY}, vllm=server.url)
        said = await suggestion(world.config, world.keys)
    assert said.startswith("vLLM is running")
    assert said.endswith("`claw setup` shows 1 more.")
