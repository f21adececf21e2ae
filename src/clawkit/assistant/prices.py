"""What turns have cost, by the prices that the config gives; nothing where it gives none."""

from __future__ import annotations

from collections.abc import Mapping

from clawkit.assistant.config import Price
from clawkit.models.protocol import Usage

_MILLION = 1_000_000


def cost(usage: Usage, price: Price) -> float:
    """Of the tokens of a prompt, those that were cached have their own price."""
    cached = price.input if price.cached is None else price.cached
    fresh = max(0, usage.input - usage.cached)
    total = fresh * price.input + usage.cached * cached + usage.output * price.output
    return total / _MILLION


def costs(usage: Mapping[str, Usage], prices: Mapping[str, Price]) -> dict[str, float]:
    """The cost of tokens by model, added up by currency."""
    found: dict[str, float] = {}
    for model, tokens in usage.items():
        if price := prices.get(model):
            found[price.currency] = found.get(price.currency, 0.0) + cost(tokens, price)
    return found
