"""Whose address a request has behind proxies that are trusted, and behind others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clawkit.errors import SettingsError
from clawkit.memory.http import authentication
from clawkit.memory.http.authentication import RequestLimits
from clawkit.wire.http.request_checks import TrustedProxies
from tests.memory.http.being_store import store_at
from tests.memory.http.served_beings import served
from tests.memory.http.test_client_limits import NEVER, WRONG

PROXIES = ("10.0.0.0/24", "192.168.1.1", "fd00::/64")


def scope(peer: str, *forwarded: str) -> dict[str, Any]:
    headers = [(b"x-forwarded-for", line.encode()) for line in forwarded]
    return {"client": (peer, 1234), "headers": headers}


@pytest.mark.parametrize(
    ("peer", "forwarded", "caller"),
    [
        ("203.0.113.9", ("198.51.100.1",), "203.0.113.9"),
        ("10.0.0.7", (), "10.0.0.7"),
        ("10.0.0.7", ("198.51.100.1",), "198.51.100.1"),
        ("10.0.0.7", ("1.1.1.1, 198.51.100.1",), "198.51.100.1"),
        ("10.0.0.7", ("1.1.1.1, 198.51.100.1, 192.168.1.1",), "198.51.100.1"),
        ("10.0.0.7", ("1.1.1.1", "198.51.100.1", "10.0.0.8"), "198.51.100.1"),
        ("10.0.0.7", ("10.0.0.9, 10.0.0.8",), "10.0.0.9"),
        ("10.0.0.7", ("1.1.1.1, unknown, 10.0.0.8",), "10.0.0.8"),
        ("10.0.0.7", ("nonsense",), "10.0.0.7"),
        ("10.0.0.7", ("198.51.100.1:4711",), "198.51.100.1"),
        ("fd00::5", ("[2001:db8::1]:4711",), "2001:db8::1"),
        ("::ffff:10.0.0.7", ("198.51.100.1",), "198.51.100.1"),
    ],
)
def test_the_caller_is_the_right_most_hop_that_is_no_trusted_proxy(
    peer: str, forwarded: tuple[str, ...], caller: str
) -> None:
    assert TrustedProxies(PROXIES).caller(scope(peer, *forwarded)) == caller


def test_a_proxy_is_an_address_or_a_network() -> None:
    with pytest.raises(SettingsError, match=r"--trusted-proxy 'nginx'.*such as 10\.0\.0\.7"):
        TrustedProxies(("nginx",))
    with pytest.raises(SettingsError, match="has host bits set"):
        TrustedProxies(("10.0.0.7/24",))


def test_behind_a_trusted_proxy_each_caller_is_locked_out_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(authentication, "READ_EVERY", 0.0)
    limits = RequestLimits(failures=1, failures_a_minute=NEVER)
    with served(store_at(tmp_path), limits, trusted_proxies=("127.0.0.1",)) as server:

        def guess(forwarded: str) -> int:
            headers = {"x-forwarded-for": forwarded}
            return server.ask(WRONG, "tools/list", headers=headers).status_code

        assert [guess("198.51.100.1"), guess("198.51.100.1")] == [401, 429]
        # What a caller writes into the header itself helps nobody.
        assert guess("1.1.1.1, 198.51.100.1") == 429
        assert guess("198.51.100.2") == 401
        # Who has one address of IPv6 has the whole /64.
        assert [guess("2001:db8::1"), guess("2001:db8::2"), guess("2001:db8:0:1::1")] == [
            401,
            429,
            401,
        ]


def test_without_trusted_proxies_the_header_says_nothing(tmp_path: Path) -> None:
    limits = RequestLimits(failures=1, failures_a_minute=NEVER)
    with served(store_at(tmp_path), limits) as server:
        answers = [
            server.ask(WRONG, "tools/list", headers={"x-forwarded-for": f"198.51.100.{n}"})
            for n in range(2)
        ]
        assert [answer.status_code for answer in answers] == [401, 429]
