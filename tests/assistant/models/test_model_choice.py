from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from clawkit.assistant.api_keys import Keys
from clawkit.assistant.config import Config, ModelChoice, Provider
from clawkit.assistant.model_choice import (
    DEFAULT_MODELS,
    ChosenModel,
    choose,
    known_providers,
    open_model,
)
from clawkit.errors import MissingKeyError, NoSuchModelError, RefusedKeyError, SettingsError
from clawkit.models.protocol import Model
from clawkit.settings import Settings
from tests.assistant.models.adapters import heard, prompt
from tests.assistant.providers.scripted import Say, scripted_anthropic, scripted_openai

PLUGIN = """
from clawkit.models.protocol import Finished, TextDelta

class Parrot:
    context = 1000
    def __init__(self, settings):
        self.settings = settings
        self.name = f"{settings.provider}/{settings.model}"
    async def stream(self, prompt):
        yield TextDelta(prompt.messages[-1].parts[0].text)
        yield Finished("end", model=self.name)
    async def close(self):
        pass

def fail(settings):
    raise ValueError(f"bad key {settings.key}")
"""
ENTRY_POINTS = """
[clawkit.models]
parrot = parrot_models:Parrot
failing = parrot_models:fail
missing = parrot_models:nothing
anthropic = parrot_models:Parrot
"""


@pytest.fixture
def places(tmp_path: Path) -> Settings:
    return Settings(tmp_path / "config", tmp_path / "data", tmp_path / "policy")


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Another package, as an installer would leave it."""
    site = tmp_path / "site"
    about = site / "parrot_models-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: parrot-models\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(ENTRY_POINTS)
    (site / "parrot_models.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(str(site))
    yield
    sys.modules.pop("parrot_models", None)


class World:
    """A config and an environment."""

    def __init__(self, places: Settings, environment: dict[str, str], **sections: Any) -> None:
        self.config = Config(places=places, **sections)
        self.keys = Keys(self.config, environment)

    def choose(self, override: str = "") -> tuple[ChosenModel, ...]:
        return choose(self.config, self.keys, override)

    def open(self, name: str = "") -> Model:
        return open_model(self.choose(name)[0], self.config, self.keys)


def test_without_a_word_or_a_key_the_embedded_default_answers(places: Settings) -> None:
    (chosen,) = World(places, {}).choose()
    assert (chosen.name, chosen.why) == ("offline", "none is chosen: the embedded default")


@pytest.mark.parametrize(
    ("variables", "provider"),
    [
        (("OPENROUTER_API_KEY",), "openrouter"),
        (("OPENROUTER_API_KEY", "OPENAI_API_KEY"), "openai"),
        (("OPENROUTER_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"), "anthropic"),
    ],
)
def test_a_key_that_is_kept_chooses_its_provider(
    places: Settings, variables: tuple[str, ...], provider: str
) -> None:
    places.config.mkdir(parents=True, exist_ok=True)
    lines = (f"{variable}={'k' * 20}\n" for variable in variables)
    (places.config / ".env").write_text("".join(lines))
    (chosen,) = World(places, {}).choose()
    assert (chosen.provider, chosen.why) == (provider, f"{variables[-1]} is in .env")
    assert chosen.model == DEFAULT_MODELS[provider]


def test_a_key_in_the_environment_is_not_used_unasked(places: Settings) -> None:
    environment = {"ANTHROPIC_API_KEY": "k" * 20}
    assert World(places, environment).choose()[0].name == "offline"
    asked = World(replace(places, model="anthropic"), environment)
    assert asked.choose()[0].why == "CLAW_MODEL is set"
    assert asked.open().name == "anthropic/claude-sonnet-4-5"


def test_the_variable_goes_before_the_config_and_a_session_before_both(places: Settings) -> None:
    world = World(replace(places, model="offline"), {}, model=ModelChoice(use="ollama/x"))
    assert world.choose()[0].name == "offline"
    assert world.choose("ollama/y")[0].name == "ollama/y"


def test_an_empty_key_is_none(places: Settings) -> None:
    assert World(places, {"ANTHROPIC_API_KEY": ""}).choose()[0].name == "offline"


def test_the_config_goes_before_keys_and_a_session_before_the_config(places: Settings) -> None:
    model = ModelChoice(use="ollama/qwen/x:7b", fallbacks=("offline", "ollama/qwen/x:7b"))
    world = World(places, {"ANTHROPIC_API_KEY": "k"}, model=model)
    first, second = world.choose()
    assert (first.provider, first.model, first.why) == ("ollama", "qwen/x:7b", "config: model.use")
    assert second.name == "offline"
    chosen = world.choose("anthropic")
    assert [c.name for c in chosen] == ["anthropic/claude-sonnet-4-5", "offline", first.name]
    assert chosen[0].why == "chosen for this session"


def test_offline_is_opened_without_anything(places: Settings) -> None:
    for name in ("", "offline"):
        assert World(places, {}).open(name).name == "offline"


@pytest.mark.parametrize("name", ["anthropic", "openai/gpt-x", "openrouter"])
def test_a_missing_key_is_named(places: Settings, name: str) -> None:
    provider = name.partition("/")[0]
    with pytest.raises(MissingKeyError, match=f"{provider.upper()}_API_KEY is not set") as caught:
        World(places, {}).open(name)
    assert caught.value.provider == provider
    assert "claw setup" in str(caught.value)


def test_local_servers_need_no_key(places: Settings) -> None:
    for name in ("ollama/x", "lmstudio/x", "vllm/x", "llamacpp"):
        assert World(places, {}).open(name).context == 8192


def test_a_local_server_that_the_config_gives_a_key_needs_it(places: Settings) -> None:
    world = World(places, {}, providers={"vllm": Provider(key_env="MY_KEY")})
    with pytest.raises(MissingKeyError, match="MY_KEY"):
        world.open("vllm/x")


def test_a_stand_in_on_this_machine_needs_no_key(places: Settings) -> None:
    here = {"anthropic": Provider(base_url="http://127.0.0.1:9")}
    assert World(places, {}, providers=here).open("anthropic").name.startswith("anthropic/")
    there = {"anthropic": Provider(base_url="https://models.example.com")}
    with pytest.raises(MissingKeyError):
        World(places, {}, providers=there).open("anthropic")


def test_a_key_that_cannot_be_sent_is_found_before_it_is(places: Settings) -> None:
    with pytest.raises(RefusedKeyError, match="OPENAI_API_KEY"):
        World(places, {"OPENAI_API_KEY": "two words"}).open("openai")


@pytest.mark.parametrize("name", ["nobody/x", "gpt-4", "nobody", "/x"])
def test_an_unknown_provider_is_an_error_that_lists_them(places: Settings, name: str) -> None:
    with pytest.raises(
        NoSuchModelError, match="anthropic, claude-cli, llamacpp, lmstudio"
    ) as caught:
        World(places, {}).open(name)
    assert "provider/model" in str(caught.value)


def test_a_provider_without_a_usual_model_wants_one(places: Settings) -> None:
    with pytest.raises(NoSuchModelError, match='write "ollama/MODEL"'):
        World(places, {}).open("ollama")


def test_a_provider_of_the_config_needs_an_address(places: Settings) -> None:
    world = World(places, {}, providers={"mine": Provider()})
    with pytest.raises(SettingsError, match=r"\[providers\.mine\] needs `base_url`"):
        world.open("mine/x")


def test_what_the_config_leaves_out_is_as_usual(places: Settings) -> None:
    given = {
        "anthropic": Provider(base_url="https://x.example.com", headers={"a": "b"}),
        "openrouter": Provider(kind="anthropic"),
        "mine": Provider(base_url="https://y.example.com"),
    }
    known = known_providers(Config(places=places, providers=given))
    assert known["anthropic"] == Provider(
        "anthropic", "https://x.example.com", "ANTHROPIC_API_KEY", {"a": "b"}
    )
    assert known["openrouter"].kind == "anthropic"
    assert known["mine"] == given["mine"]
    assert set(known_providers()) == {*known} - {"mine"}


async def test_a_provider_of_the_config_is_asked_with_its_key_and_headers(
    places: Settings,
) -> None:
    with scripted_openai([Say("Hi")]) as server:
        mine = Provider(base_url=server.url, key_env="MINE", headers={"x-team": "t-${TEAM}"})
        world = World(places, {"MINE": "k-1", "TEAM": "blue"}, providers={"mine": mine})
        model = world.open("mine/big/model")
        assert (await heard(model.stream(prompt())))[0] == "Hi"
        await model.close()
        assert server.last.headers["authorization"] == "Bearer k-1"
        assert server.last.headers["x-team"] == "t-blue"
        assert server.last.json["model"] == "big/model"


async def test_anthropic_is_asked_in_its_own_way_wherever_it_is(places: Settings) -> None:
    with scripted_anthropic([Say("Hi")]) as server:
        providers = {"anthropic": Provider(base_url=server.url)}
        world = World(places, {"ANTHROPIC_API_KEY": "k-1"}, providers=providers)
        model = world.open("anthropic")
        assert (await heard(model.stream(prompt())))[0] == "Hi"
        await model.close()
        assert server.last.headers["x-api-key"] == "k-1"


def test_context_is_what_the_config_says_or_what_is_known(places: Settings) -> None:
    keys = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}
    assert World(places, keys).open("anthropic").context == 200_000
    assert World(places, keys).open("openai/gpt-4.1-mini").context == 1_000_000
    assert World(places, keys).open("openai/whatever").context == 128_000
    assert World(places, keys, model=ModelChoice(context=5000)).open("anthropic").context == 5000


@pytest.mark.usefixtures("plugin")
async def test_another_package_can_add_a_model(places: Settings) -> None:
    providers = {"parrot": Provider(base_url="https://p.example.com", key_env="PARROT")}
    world = World(places, {"PARROT": "k-1"}, providers=providers)
    model: Any = world.open("parrot/green")
    assert (await heard(model.stream(prompt())))[0] == "Hello"
    assert (model.settings.base_url, model.settings.key) == ("https://p.example.com", "k-1")
    assert World(places, {}).open("parrot").name == "parrot/"


@pytest.mark.usefixtures("plugin")
def test_another_package_does_not_get_a_known_providers_key(places: Settings) -> None:
    model = World(places, {"ANTHROPIC_API_KEY": "k-1"}).open("anthropic")
    assert type(model).__module__ == "clawkit.models.anthropic"


@pytest.mark.usefixtures("plugin")
@pytest.mark.parametrize("name", ["failing", "missing"])
def test_a_package_that_fails_is_named_without_its_words(places: Settings, name: str) -> None:
    world = World(places, {"K": "k-1"}, providers={name: Provider(key_env="K")})
    with pytest.raises(NoSuchModelError, match="parrot_models:") as caught:
        world.open(f"{name}/x")
    assert "k-1" not in str(caught.value)


@pytest.mark.usefixtures("plugin")
def test_added_providers_are_listed(places: Settings) -> None:
    with pytest.raises(NoSuchModelError, match="parrot"):
        World(places, {}).open("nobody/x")


def test_choosing_loads_neither_http_nor_a_database() -> None:
    program = (
        "import sys, clawkit.assistant.model_choice\n"
        "heavy = {'httpx2', 'sqlite3', 'importlib.metadata'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
