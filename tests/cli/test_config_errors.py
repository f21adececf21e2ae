"""What is wrong in `config.toml`, as a person is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from clawkit.assistant.config import parse_config
from clawkit.errors import SettingsError
from clawkit.settings import Settings

HERE = Settings(Path(), Path(), Path())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[model]\nuze = "x"', "[model]: there is no `uze`; there are use, provider, fallbacks,"),
        ("[model]\ntimout = 3", "[model]: there is no `timout`; there are timeout, use, provider,"),
        ("[mcp]\nserver = 1", "[mcp]: there is no `server`; there are servers"),
        ("[model]\ntimeout = 0", "[model].timeout: must be a number above 0"),
        ("[model]\ncontext = 5", "[model].context: must be a whole number of 1000 or more"),
        ("[model]\nmax_tokens = 1.5", "must be a whole number, not a number with a fraction"),
        ("[model]\nuse = 5", "[model].use: must be a text in quotes, not a whole number"),
        ("[assistant]\nstructured = 1", "[assistant].structured: must be true or false, not a"),
        ('[model]\nfallbacks = "x"', "[model].fallbacks: must be a list, not a text in quotes"),
        ("model = 3", "[model]: must be a table with names, not a whole number"),
        ('[providers.x]\nkind = "y"', "[providers.x].kind: must be one of 'anthropic', 'openai'"),
        ("[mcp.servers.a]", "[mcp.servers.a]: needs either `command` or `url`"),
        (
            '[mcp.servers.a]\ncommand = "x"\nurl = "y"',
            "[mcp.servers.a]: needs either `command` or `url`, not both",
        ),
    ],
)
def test_an_error_in_the_config_says_what_may_stand_there(text: str, said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse_config(text, Path("config.toml"), HERE)
    assert str(caught.value).startswith("config.toml: [")
    assert said in str(caught.value)
