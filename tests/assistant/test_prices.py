"""Costs come from the config's prices alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from clawkit.assistant.config import Price, costs, parse_config
from clawkit.errors import SettingsError
from clawkit.models.protocol import Usage
from clawkit.settings import settings

CONFIG = '[prices."local/small"]\ninput = 2\noutput = 10\ncached = 0.5\n'


def test_cached_tokens_have_their_own_price() -> None:
    usage = Usage(input=2_000_000, output=100_000, cached=1_000_000)
    assert Price(input=2, output=10, cached=0.5).cost(usage) == pytest.approx(3.5)
    assert Price(input=2, output=10).cost(usage) == pytest.approx(5.0)


def test_a_model_without_a_price_costs_nothing_that_is_shown() -> None:
    prices = {"a/b": Price(1, 1), "c/d": Price(1, 1, currency="CHF")}
    usage: dict[str, Usage] = {name: Usage(1_000_000, 0) for name in ("a/b", "c/d", "e/f")}
    assert costs(usage, prices) == {"USD": 1.0, "CHF": 1.0}
    assert costs(usage, {}) == {}


def test_prices_stand_in_the_config_by_the_names_of_models() -> None:
    found = parse_config(CONFIG, Path("config.toml"), settings())
    assert found.prices == {"local/small": Price(2, 10, 0.5)}


def test_a_price_that_cannot_be_is_told_with_its_place() -> None:
    with pytest.raises(SettingsError, match=r"\[prices.local/small\].*input"):
        parse_config(CONFIG.replace("2", "-2"), Path("config.toml"), settings())
