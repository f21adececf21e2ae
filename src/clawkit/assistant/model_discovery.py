"""Finds what could answer on this machine: local model servers, the Claude CLI, keys.

Only looks: local servers are asked which models they have, the CLI whether it is logged in, and
nothing is sent to a provider.
"""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Mapping
from contextlib import suppress
from typing import Literal
from urllib.parse import urlsplit

from msgspec import Struct

from clawkit.assistant.api_keys import Keys
from clawkit.assistant.config import Config, Provider
from clawkit.assistant.model_choice import (
    BY_KEY,
    CLAUDE_CLI,
    DEFAULT_MODELS,
    OFFLINE,
    choose,
    is_chosen,
    known_providers,
)
from clawkit.errors import ClawError
from clawkit.models.model_list import list_models
from clawkit.settings import seconds_in

PATIENCE = "CLAW_SEARCH_PATIENCE"
"""Names the seconds for which a local server is waited for; most are found in a millisecond."""
_USUAL_PATIENCE = 2.0
LOCAL_SERVERS = {
    "ollama": "Ollama",
    "lmstudio": "LM Studio",
    "llamacpp": "llama.cpp",
    "vllm": "vLLM",
}
CHARGED = "its account is charged"
_OLLAMA_PORT = 11434
_ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}

Kind = Literal["server", "cli", "key"]


class FoundModels(Struct, frozen=True):
    """Something that can answer, by the provider's name; `where` is its address or variable."""

    provider: str
    kind: Kind
    where: str
    models: tuple[str, ...] = ()
    base_url: str = ""
    """Where it is, if neither the config nor our table says so."""

    @property
    def is_free(self) -> bool:
        """Whether nobody has to pay for an answer."""
        return self.kind == "server"

    @property
    def model(self) -> str:
        """The first that it lists, or the usual one."""
        return self.models[0] if self.models else DEFAULT_MODELS.get(self.provider, "")

    @property
    def described(self) -> str:
        """What it is, in a few words."""
        if self.kind == "key":
            return f"{self.where} is set"
        if self.kind == "cli":
            return "The Claude CLI is logged in"
        more = f" and {len(self.models) - 1} more" if len(self.models) > 1 else ""
        return f"{LOCAL_SERVERS[self.provider]} is running with {self.model}{more}"

    @property
    def command(self) -> str:
        """The command that has it answer from now on."""
        words = ["claw", "setup", "--provider", self.provider]
        words += ["--base-url", self.base_url] if self.base_url else []
        words += ["--model", self.model] if self.kind == "server" else []
        return shlex.join([*words, "--yes"])


async def find_models(
    config: Config, keys: Keys, environment: Mapping[str, str] | None = None
) -> tuple[FoundModels, ...]:
    """All models that were found, those without charge first."""
    environment = os.environ if environment is None else environment
    providers = known_providers(config)
    servers = [_server(name, providers[name], environment) for name in LOCAL_SERVERS]
    *found, cli = await asyncio.gather(*servers, _claude_cli(environment))
    by_key = (_by_key(name, providers[name], keys) for name in BY_KEY)
    return tuple(one for one in (*found, cli, *by_key) if one is not None)


async def suggestion(config: Config, keys: Keys, *, for_clients: bool = False) -> str:
    """Where no model is chosen, what was found and the one command that uses it; else nothing.

    MCP clients do not see the variables of a shell, so `for_clients` a key has to be kept, too.
    """
    if is_chosen(config) or choose(config, keys)[0].provider != OFFLINE:
        return ""
    found = await find_models(config, keys)
    if not found:
        return ""
    first = found[0]
    keep = " --keep-key" if for_clients and first.kind == "key" else ""
    paid = "" if first.is_free else f" ({CHARGED})"
    others = f"; `claw setup` shows {len(found) - 1} more" if len(found) > 1 else ""
    return f"{first.described}: `{first.command}{keep}` has it answer{paid}{others}."


async def _server(
    name: str, provider: Provider, environment: Mapping[str, str]
) -> FoundModels | None:
    moved = _moved(name, environment)
    url = moved or provider.base_url
    models = await list_models(url, seconds_in(environment, PATIENCE, _USUAL_PATIENCE))
    base_url = moved if moved != provider.base_url else ""
    return FoundModels(name, "server", url, models, base_url) if models else None


def _moved(name: str, environment: Mapping[str, str]) -> str:
    """The address that the server's own environment variables give; empty without them."""
    if name == "ollama" and (host := environment.get("OLLAMA_HOST", "").strip()):
        return _ollama(host)
    port = environment.get("LLAMA_ARG_PORT", "")
    return f"http://127.0.0.1:{port}/v1" if name == "llamacpp" and port.isdecimal() else ""


def _ollama(host: str) -> str:
    """`OLLAMA_HOST` as Ollama reads it: an address, of which any part may be left out."""
    try:
        parts = urlsplit(host if "://" in host else f"http://{host}")
        usual = {"http": 80, "https": 443}[parts.scheme] if "://" in host else _OLLAMA_PORT
        name, port = parts.hostname or "127.0.0.1", parts.port or usual
    except (ValueError, KeyError):
        return ""
    name = _ANYWHERE.get(name, name)
    return f"{parts.scheme}://{f'[{name}]' if ':' in name else name}:{port}/v1"


async def _claude_cli(environment: Mapping[str, str]) -> FoundModels | None:
    from clawkit.claude.installation import find_cli, is_logged_in

    with suppress(ClawError):  # there is none, or it cannot be asked
        cli = find_cli(None, environment)
        if await is_logged_in(cli, environment):
            return FoundModels(CLAUDE_CLI, "cli", cli)
    return None


def _by_key(name: str, provider: Provider, keys: Keys) -> FoundModels | None:
    found = keys.find(provider.key_env)
    return None if found is None else FoundModels(name, "key", provider.key_env)
