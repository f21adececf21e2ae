"""The assistant's part of `config.toml`: what may stand there, with its defaults and its errors.

[model]
use = "anthropic/claude-sonnet-4-5"     # provider/model; without, a key in the environment decides
fallbacks = ["ollama/llama3.2"]

[providers.ollama]
base_url = "http://127.0.0.1:11434/v1"

[mcp.servers.notes]
command = "npx"
args = ["-y", "@modelcontextprotocol/server-memory"]
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import msgspec
from msgspec import Meta, Struct, field
from msgspec.structs import replace

from clawkit.errors import SettingsError
from clawkit.settings import Settings, settings
from clawkit.wire.jsonrpc import as_object

if TYPE_CHECKING:
    from clawkit.models.protocol import Usage

Seconds = Annotated[float, Meta(gt=0)]
Count = Annotated[int, Meta(ge=1)]


class ModelChoice(Struct, frozen=True, forbid_unknown_fields=True):
    """Which model answers, which ones stand in for it, and how long they may take.

    `use` is `provider/model`; `provider` alone means its usual model.
    """

    use: str = ""
    provider: str = ""
    fallbacks: tuple[str, ...] = ()
    max_tokens: Count = 4096
    context: Annotated[int, Meta(ge=1000)] | None = None
    timeout: Seconds = 120.0
    retries: Annotated[int, Meta(ge=0)] = 3


class Provider(Struct, frozen=True, forbid_unknown_fields=True):
    """Where a provider is and where its key is found; keys themselves never stand in the config."""

    kind: Literal["anthropic", "openai"] = "openai"
    base_url: str = ""
    key_env: str = ""
    headers: dict[str, str] = {}


class AssistantOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """How the assistant behaves."""

    instructions: str = ""
    workspace: str = ""
    structured: bool = False
    tool_results: bool = True
    tool_steps: Count = 25
    task_after: Annotated[float, Meta(ge=0)] = 20.0
    keep_running: bool = False
    answer_within: Seconds = 50.0
    timeout: Seconds = 1800.0
    heartbeat: Seconds = 5.0

    def __post_init__(self) -> None:
        _check_path("workspace", self.workspace)


class McpServer(Struct, frozen=True, forbid_unknown_fields=True):
    """Another MCP server whose tools the model may call: a command, or an address."""

    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    cwd: str = ""
    url: str = ""
    headers: dict[str, str] = {}
    transport: Literal["", "stdio", "http", "sse"] = ""
    timeout: Seconds = 60.0
    start_timeout: Seconds = 10.0
    enabled: bool = True

    def __post_init__(self) -> None:
        if bool(self.command) == bool(self.url):
            both = ", not both" if self.command else ""
            raise ValueError(f"needs either `command` or `url`{both}")
        if self.url and self.transport == "stdio":
            raise ValueError('`transport = "stdio"` needs `command`, not `url`')
        if self.command and self.transport not in ("", "stdio"):
            raise ValueError(f'`transport = "{self.transport}"` needs `url`, not `command`')
        _check_path("command", self.command)
        _check_path("cwd", self.cwd)


def _check_path(name: str, text: str) -> None:
    """A path can be looked for; the home of somebody who does not exist cannot."""
    if "\0" in text:
        raise ValueError(f"`{name}` has a character in it that no path can have")
    try:
        Path(text).expanduser()
    except RuntimeError:
        user = Path(text).parts[0]
        raise ValueError(f"`{name}`: there is no user whose home {user} is") from None


class McpServers(Struct, frozen=True, forbid_unknown_fields=True):
    """`[mcp.servers.NAME]`, one for each."""

    servers: dict[str, McpServer] = {}


class Transcription(Struct, frozen=True, forbid_unknown_fields=True):
    """Who writes down what is said in audio: nobody, a command, or a service."""

    provider: Literal["", "whisper", "openai", "deepgram"] = ""
    command: tuple[str, ...] = ("whisper",)
    model: str = ""
    base_url: str = ""
    key_env: str = ""
    timeout: Seconds = 120.0


class Price(Struct, frozen=True, forbid_unknown_fields=True):
    """What a million tokens cost; cached ones as much as others, if nothing is said of them.

    `[prices."anthropic/claude-sonnet-4-5"]`; only what stands there is ever shown as a cost.
    """

    input: Annotated[float, Meta(ge=0)]
    output: Annotated[float, Meta(ge=0)]
    cached: Annotated[float, Meta(ge=0)] | None = None
    currency: str = "USD"

    def cost(self, usage: Usage) -> float:
        """The cost of tokens; cached ones have their own price."""
        cached = self.input if self.cached is None else self.cached
        fresh = max(0, usage.input - usage.cached)
        total = fresh * self.input + usage.cached * cached + usage.output * self.output
        return total / 1_000_000


def costs(usage: Mapping[str, Usage], prices: Mapping[str, Price]) -> dict[str, float]:
    """The cost of tokens by model, added up by currency."""
    found: dict[str, float] = {}
    for model, tokens in usage.items():
        if price := prices.get(model):
            found[price.currency] = found.get(price.currency, 0.0) + price.cost(tokens)
    return found


class Secrets(Struct, frozen=True, forbid_unknown_fields=True):
    """Where keys may be looked up beside the environment and `.env`."""

    keyring: bool = False


class MemoryOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """Where the assistant's long-term memory is, and who shares it.

    Without `url` it is a Being in this process, in `store`. An order over MCP remembers nothing of
    other sessions unless `share` says so; `claw ask` and `claw chat` share one memory.
    """

    enabled: bool = True
    share: bool = False
    store: str = ""
    being: str = ""
    embedder: str = ""
    url: str = ""
    token_env: str = "CLAW_BEING_TOKEN"


class Config(Struct, frozen=True):
    """Everything the assistant is told before it starts."""

    model: ModelChoice = ModelChoice()
    providers: dict[str, Provider] = {}
    assistant: AssistantOptions = AssistantOptions()
    mcp: McpServers = McpServers()
    transcription: Transcription = Transcription()
    memory: MemoryOptions = MemoryOptions()
    secrets: Secrets = Secrets()
    prices: dict[str, Price] = {}
    places: Settings = field(default_factory=settings)

    @property
    def workspace(self) -> Path:
        """Where files may be sent from."""
        chosen = self.assistant.workspace
        return Path(chosen).expanduser() if chosen else self.places.data / "workspace"

    @property
    def tools_directory(self) -> Path:
        """Where Python files with tools for the model are found."""
        return self.places.config / "tools"

    @property
    def store_file(self) -> Path:
        """Where sessions are kept."""
        return self.places.data / "sessions.db"


_SECTIONS: dict[str, type[Struct]] = {
    "model": ModelChoice,
    "assistant": AssistantOptions,
    "mcp": McpServers,
    "transcription": Transcription,
    "memory": MemoryOptions,
    "secrets": Secrets,
}


_NAMED: dict[str, type[Struct]] = {"providers": Provider, "prices": Price}


def config_file(places: Settings | None = None) -> Path:
    return (places or settings()).config / "config.toml"


def read_config(places: Settings | None = None) -> Config:
    """The config of this person, or the defaults where there is none, as the environment has it."""
    places = places or settings()
    file = config_file(places)
    try:
        text = file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return _in_environment(Config(places=places))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise SettingsError(f"{file} cannot be read: {reason}") from None
    return _in_environment(parse_config(text, file, places))


def _in_environment(config: Config) -> Config:
    """`CLAW_STORE` and `CLAW_EMBEDDER` count more than what [memory] says of the same."""
    store, embedder = config.places.store, config.places.embedder
    memory = replace(config.memory, embedder=embedder) if embedder else config.memory
    if store:
        memory = replace(memory, store=store, url="", being="")
    return config if memory is config.memory else replace(config, memory=memory)


def parse_config(text: str, file: Path, places: Settings) -> Config:
    """The config in a text; raises SettingsError that names the file and the place in it."""
    import tomllib

    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{file}: not TOML: {error}") from None
    known = {*_SECTIONS, *_NAMED}
    for name, value in data.items():
        homes = [one for one, kind in _SECTIONS.items() if name in kind.__struct_fields__]
        if name not in known and homes and not isinstance(value, dict):
            raise SettingsError(f"{file}: `{name}` belongs under [{'] or ['.join(homes)}]")
        if name not in known:
            there_are = ", ".join(sorted(known))
            raise SettingsError(f"{file}: there is no section [{name}]; there are {there_are}")
    # Tables with names of the person's own, one by one: an error then says which it is.
    servers = as_object((as_object(data.get("mcp")) or {}).get("servers")) or {}
    for name, server in servers.items():
        _convert(server, McpServer, file, f"mcp.servers.{name}")
    named = {section: _named(data, section, file) for section in _NAMED}
    sections = {
        name: _convert(data[name], kind, file, name)
        for name, kind in _SECTIONS.items()
        if name in data
    }
    return Config(places=places, **named, **sections)


def _named(data: dict[str, Any], section: str, file: Path) -> Any:
    """The tables of a section whose names are the person's own."""
    given = as_object(data.get(section, {}))
    if given is None:
        raise SettingsError(f"{file}: {section}: write [{section}.NAME]")
    kind = _NAMED[section]
    return {name: _convert(one, kind, file, f"{section}.{name}") for name, one in given.items()}


def _convert(data: Any, kind: Any, file: Path, section: str) -> Any:
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        problem, _, path = str(error).partition(" - at `$")
        path = path.rstrip("`")
        words = _in_words(problem, kind, path.removeprefix("."))
        raise SettingsError(f"{file}: [{section}]{path}: {words}") from None


_WORDS = {
    "str": "a text in quotes",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a table with names",
}


def _in_words(problem: str, kind: Any, name: str) -> str:
    """What msgspec says, for people who never heard of it."""
    from difflib import get_close_matches

    if found := re.fullmatch(r"Expected `(\w+)`, got `(\w+)`", problem):
        wanted, given = (_WORDS.get(one, f"a {one}") for one in found.groups())
        fraction = " with a fraction" if found[2] == "float" else ""
        return f"must be {wanted}, not {given}{fraction}"
    if found := re.fullmatch(r"Expected `(\w+)` (>=?) ([\d.]+)", problem):
        least = f"{float(found[3]):g}"
        bound = f"above {least}" if found[2] == ">" else f"of {least} or more"
        return f"must be {_WORDS.get(found[1], found[1])} {bound}"
    known = {one.name: one.type for one in msgspec.structs.fields(kind)}
    if found := re.fullmatch(r"Object contains unknown field `(.*)`", problem, re.DOTALL):
        near = get_close_matches(found[1], known)
        names = ", ".join(dict.fromkeys((*near, *known)))
        return f"there is no `{found[1]}`; there are {names}"
    if name in known and problem.startswith("Invalid enum value"):
        return f"must be one of {', '.join(map(repr, get_args(known[name])))}"
    return problem
