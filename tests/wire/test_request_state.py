"""The signed request state: it opens only where, when and for whom it was sealed."""

from __future__ import annotations

import pytest

from clawkit.errors import InvalidParamsError
from clawkit.wire.input_requests import Rounds, StateSeal

ROUNDS = Rounds(2, {"name": "d1"}, {"name": {"action": "accept", "content": {"name": "Ada"}}})


def test_a_sealed_state_opens_to_what_was_put_in() -> None:
    seal = StateSeal()
    assert seal.open(seal.seal(ROUNDS, "here"), "here") == ROUNDS


def test_two_servers_with_one_secret_open_each_others_state() -> None:
    first, second = StateSeal(b"s" * 32), StateSeal(b"s" * 32)
    assert second.open(first.seal(ROUNDS, "here"), "here") == ROUNDS


def test_a_state_of_another_request_is_refused() -> None:
    seal = StateSeal()
    with pytest.raises(InvalidParamsError, match="another request"):
        seal.open(seal.seal(ROUNDS, "here"), "there")


def test_a_state_of_another_server_is_refused() -> None:
    with pytest.raises(InvalidParamsError, match="not issued here"):
        StateSeal().open(StateSeal().seal(ROUNDS, "here"), "here")


def test_an_expired_state_is_refused() -> None:
    seal = StateSeal(lifetime=-1)
    with pytest.raises(InvalidParamsError, match="expired"):
        seal.open(seal.seal(ROUNDS, "here"), "here")


@pytest.mark.parametrize("position", range(0, 200, 7))
def test_a_changed_character_anywhere_is_refused(position: int) -> None:
    seal = StateSeal()
    token = seal.seal(ROUNDS, "here")
    position %= len(token) - 1
    other = "A" if token[position] != "A" else "B"
    with pytest.raises(InvalidParamsError):
        seal.open(token[:position] + other + token[position + 1 :], "here")


@pytest.mark.parametrize("token", [None, 5, "", "x", "not base64!", "A" * 500, "é", {}])
def test_garbage_is_refused(token: object) -> None:
    with pytest.raises(InvalidParamsError):
        StateSeal().open(token, "here")
