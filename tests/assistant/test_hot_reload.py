from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from clawkit.assistant import assistant as assistant_module
from clawkit.assistant.callbacks import Callbacks, MessageContext
from clawkit.errors import SettingsError
from clawkit.settings import Settings
from tests.assistant.providers.scripted import scripted_anthropic
from tests.assistant.providers.steps import Say
from tests.assistant.replies import places, provider_config


@pytest.fixture
async def desk() -> AsyncGenerator[assistant_module.ReloadingAssistant]:
    opened = assistant_module.ReloadingAssistant()
    yield opened
    await opened.close()


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    found = places(tmp_path)
    found.config.mkdir(parents=True)
    monkeypatch.setattr(assistant_module, "settings", lambda: found)
    return found


async def test_a_new_config_counts_for_the_next_order(
    desk: assistant_module.ReloadingAssistant, house: Settings
) -> None:
    with desk.assistant() as before:
        first = await before.reply(MessageContext("hello", "k"), Callbacks())
        assert first.model == "offline"
        with scripted_anthropic([Say("from a real model")]) as server:
            (house.config / "config.toml").write_text(provider_config(server))
            with desk.assistant() as after:
                assert after is not before
                second = await after.reply(MessageContext("hello", "k"), Callbacks())
        assert second.text == "from a real model"
        again = await before.reply(MessageContext("still there?", "k2"), Callbacks())
        assert again.model == "offline"


@pytest.mark.usefixtures("house")
async def test_the_same_config_means_the_same_assistant(
    desk: assistant_module.ReloadingAssistant,
) -> None:
    with desk.assistant() as one:
        pass
    with desk.assistant() as other:
        assert one is other


async def test_a_broken_config_is_an_error_and_the_next_order_sees_it_mended(
    desk: assistant_module.ReloadingAssistant, house: Settings
) -> None:
    (house.config / "config.toml").write_text("[model\n")
    with pytest.raises(SettingsError, match=r"config\.toml"), desk.assistant():
        pass
    assert desk.task_after() == 20.0
    (house.config / "config.toml").write_text("[assistant]\ntask_after = 3\n")
    with desk.assistant() as assistant:
        assert desk.task_after() == assistant.config.assistant.task_after == 3
