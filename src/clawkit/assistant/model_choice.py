"""Which model answers: what the config says, else whose key is kept, else the embedded default.

A name is `provider/model`. Providers are the ones below, those of `[providers]` in the config, and
those that other packages add with an entry point of the group `clawkit.models`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from clawkit.assistant.config import Config, Provider
from clawkit.errors import ClawError, MissingKeyError, NoSuchModelError, SettingsError
from clawkit.models.protocol import Model, ModelSettings

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from clawkit.assistant.api_keys import Keys

OFFLINE = "offline"
CLAUDE_CLI = "claude-cli"
GROUP = "clawkit.models"
_KNOWN = {
    "anthropic": Provider("anthropic", "https://api.anthropic.com", "ANTHROPIC_API_KEY"),
    "openai": Provider("openai", "https://api.openai.com/v1", "OPENAI_API_KEY"),
    "openrouter": Provider("openai", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "ollama": Provider("openai", "http://127.0.0.1:11434/v1"),
    "lmstudio": Provider("openai", "http://127.0.0.1:1234/v1"),
    "vllm": Provider("openai", "http://127.0.0.1:8000/v1"),
    "llamacpp": Provider("openai", "http://127.0.0.1:8080/v1"),
}
DEFAULT_MODELS = {
    "anthropic": "claude-sonnet-4-5",
    "openai": "gpt-4.1-mini",
    "openrouter": "openrouter/auto",
    "claude-cli": "sonnet",
    "llamacpp": "default",  # llama.cpp serves one model, whatever it is called.
}
BY_KEY = ("anthropic", "openai", "openrouter")
# What fits where the config has no `context`. Local servers load models with little of it.
_LOCAL_CONTEXT = 8192
_CONTEXTS = (
    ("openai/gpt-4.1", 1_000_000),
    ("openai/gpt-5", 272_000),
    ("openai/o", 200_000),
    ("openai/", 128_000),
    ("openrouter/", 128_000),
    *((f"{name}/", _LOCAL_CONTEXT) for name in ("ollama", "lmstudio", "vllm", "llamacpp")),
)


class ChosenModel(Struct, frozen=True):
    """A model by its name, and why it is this one."""

    name: str
    provider: str
    model: str
    why: str


def choose(config: Config, keys: Keys, override: str = "") -> tuple[ChosenModel, ...]:
    """The model to ask, then those that stand in for it. `override` is a session's own choice."""
    if override:
        first = _named(override, "chosen for this session")
    elif config.places.model:
        first = _named(config.places.model, "CLAW_MODEL is set")
    elif config.model.use:
        first = _named(config.model.use, "config: model.use")
    elif config.model.provider:
        first = _named(config.model.provider, "config: model.provider")
    else:
        first = _by_key(config, keys)
    chosen = {first.name: first}
    for name in config.model.fallbacks:
        one = _named(name, "config: model.fallbacks")
        chosen.setdefault(one.name, one)
    return tuple(chosen.values())


def is_chosen(config: Config) -> bool:
    """Whether somebody said who answers, be it `offline`."""
    return bool(config.places.model or config.model.use or config.model.provider)


def known_providers(config: Config | None = None) -> dict[str, Provider]:
    """Every provider by its name; what the config leaves out of a known one is as usual."""
    known = dict(_KNOWN)
    for name, given in (config.providers if config is not None else {}).items():
        usual = _KNOWN.get(name)
        known[name] = given if usual is None else _merged(usual, given)
    return known


def open_model(chosen: ChosenModel, config: Config, keys: Keys) -> Model:
    """The model, which connects when it is first asked."""
    if chosen.provider == OFFLINE:
        from clawkit.assistant.offline.model import Offline

        return Offline()
    if chosen.provider == CLAUDE_CLI:
        from clawkit.assistant.claude_cli_model import ClaudeCli

        return ClaudeCli(
            ModelSettings(chosen.provider, chosen.model, timeout=config.model.timeout),
            config.workspace,
        )
    provider = known_providers(config).get(chosen.provider)
    added = None if chosen.provider in _KNOWN else _entry_point(chosen.provider)
    if added is not None:
        return _made(added, _settings(chosen, provider or Provider(), config, keys))
    if provider is None:
        raise _unknown(chosen, config)
    if not provider.base_url:
        where = f"[providers.{chosen.provider}]"
        raise SettingsError(f"{where} needs `base_url`: the address where it is asked")
    if not chosen.model:
        raise NoSuchModelError(
            chosen.provider,
            f'"{chosen.name}" names no model: write "{chosen.provider}/MODEL" as `use` under '
            "[model] in the config, or run `claw setup`",
        )
    settings = _settings(chosen, provider, config, keys)
    context = config.model.context or _context(chosen.name)
    if provider.kind == "anthropic":
        from clawkit.models.anthropic import AnthropicModel

        return AnthropicModel(settings, key_env=provider.key_env, context=context)
    from clawkit.models.openai import OpenAiModel

    return OpenAiModel(settings, key_env=provider.key_env, context=context)


def _named(name: str, why: str) -> ChosenModel:
    """`provider/model`; a provider alone means its usual model, if it has one."""
    provider, _, model = name.strip().partition("/")
    if provider == OFFLINE:
        return ChosenModel(OFFLINE, OFFLINE, "", why)
    model = model or DEFAULT_MODELS.get(provider, "")
    return ChosenModel(f"{provider}/{model}" if model else provider, provider, model, why)


def _by_key(config: Config, keys: Keys) -> ChosenModel:
    providers = known_providers(config)
    for name in BY_KEY:
        variable = providers[name].key_env
        found = keys.find(variable)
        # One in the environment may be there for other programs, and its use is charged.
        if found is not None and found.where != "environment":
            return _named(name, f"{variable} is in {found.where}")
    return ChosenModel(OFFLINE, OFFLINE, "", "none is chosen: the embedded default")


def _merged(usual: Provider, given: Provider) -> Provider:
    # `openai` is what a section without `kind` has, so it changes nothing.
    return Provider(
        kind=usual.kind if given.kind == "openai" else given.kind,
        base_url=given.base_url or usual.base_url,
        key_env=given.key_env or usual.key_env,
        headers={**usual.headers, **given.headers},
    )


def _settings(chosen: ChosenModel, provider: Provider, config: Config, keys: Keys) -> ModelSettings:
    headers = {name: keys.expand(value) for name, value in provider.headers.items()}
    return ModelSettings(
        provider=chosen.provider,
        model=chosen.model,
        base_url=provider.base_url,
        key=_key(chosen.provider, provider, config, keys),
        timeout=config.model.timeout,
        headers=headers,
    )


def _key(name: str, provider: Provider, config: Config, keys: Keys) -> str:
    """The key. A server on this machine that only goes by a known name may do without."""
    if not provider.key_env:
        return ""
    found = keys.find(provider.key_env)
    if found is not None:
        return found.value
    given = config.providers.get(name)
    if given is not None and not given.key_env and _is_local(given.base_url):
        return ""
    raise MissingKeyError(
        name,
        f"{name} needs a key, and {provider.key_env} is not set. Set it in the environment or in "
        f"{config.places.config / '.env'}, or run `claw setup`",
    )


def _is_local(url: str) -> bool:
    from clawkit.system.addresses import is_loopback

    return bool(url) and is_loopback(url)


def _context(name: str) -> int | None:
    for start, tokens in _CONTEXTS:
        if name.startswith(start):
            return tokens
    return None


def _entry_point(name: str) -> EntryPoint | None:
    from importlib.metadata import entry_points

    return next(iter(entry_points(group=GROUP, name=name)), None)


def _made(entry: EntryPoint, settings: ModelSettings) -> Model:
    where = f"The provider `{entry.name}` comes from {entry.value} and"
    try:
        make: Any = entry.load()
        return make(settings)
    except ClawError:
        raise
    except Exception as error:
        # Its words are not repeated: they may be about the key it was given.
        raise NoSuchModelError(
            entry.name,
            f"{where} cannot be used ({type(error).__name__}). Install it anew, or choose another "
            "model with `claw setup`",
        ) from error


def _unknown(chosen: ChosenModel, config: Config) -> NoSuchModelError:
    from importlib.metadata import entry_points

    added = {entry.name for entry in entry_points(group=GROUP)}
    there_are = ", ".join(sorted({OFFLINE, CLAUDE_CLI, *known_providers(config), *added}))
    return NoSuchModelError(
        chosen.provider,
        f'There is no provider "{chosen.provider}" for the model "{chosen.name}": write '
        f'"provider/model". Providers are {there_are}; `claw setup` helps to choose',
    )
