"""Whom an address is counted as."""

from __future__ import annotations

import pytest

from clawkit.system.addresses import network_of


@pytest.mark.parametrize(
    ("address", "counted_as"),
    [
        ("198.51.100.1", "198.51.100.1"),
        ("2001:db8:1:2::1", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff:ffff:ffff:ffff", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::1", "2001:db8:1:3::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::ffff:198.51.100.1", "::ffff:198.51.100.1"),
        ("", ""),
        ("a unix socket", "a unix socket"),
    ],
)
def test_of_ipv6_the_network_is_counted(address: str, counted_as: str) -> None:
    assert network_of(address) == counted_as
