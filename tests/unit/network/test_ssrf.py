"""Which addresses a host may have."""

from __future__ import annotations

import pytest

from toolfold.network.ssrf import is_allowed_address


@pytest.mark.parametrize(
    ("host", "address", "allowed"),
    [
        ("www.alphavantage.co", "93.184.216.34", True),
        ("www.alphavantage.co", "2606:2800:220:1:248:1893:25c8:1946", True),
        ("www.alphavantage.co", "64:ff9b::5db8:d822", True),
        ("localhost", "127.0.0.1", True),
        ("127.0.0.1", "127.0.0.1", True),
        ("::1", "::1", True),
        ("localhost", "93.184.216.34", False),
        ("www.alphavantage.co", "127.0.0.1", False),
        ("www.alphavantage.co", "127.0.1.1", False),
        ("www.alphavantage.co", "0.0.0.0", False),
        ("www.alphavantage.co", "10.0.0.1", False),
        ("www.alphavantage.co", "172.16.0.1", False),
        ("www.alphavantage.co", "192.168.1.1", False),
        ("www.alphavantage.co", "100.64.0.1", False),
        ("www.alphavantage.co", "169.254.169.254", False),
        ("www.alphavantage.co", "224.0.0.1", False),
        ("www.alphavantage.co", "::1", False),
        ("www.alphavantage.co", "fe80::1%eth0", False),
        ("www.alphavantage.co", "fd00:ec2::254", False),
        ("www.alphavantage.co", "::ffff:127.0.0.1", False),
        ("www.alphavantage.co", "::ffff:169.254.169.254", False),
        ("www.alphavantage.co", "64:ff9b::a9fe:a9fe", False),
        ("www.alphavantage.co", "2002:7f00:1::", False),
    ],
)
def test_a_host_may_have_public_addresses_only(host: str, address: str, allowed: bool) -> None:
    assert is_allowed_address(host, address) is allowed
