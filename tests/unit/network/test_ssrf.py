"""Which addresses a host may have."""

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.examples import examples
from toolfold.network.ssrf import address_check, is_allowed_address, is_loopback_name, is_this_machine, literal_address

HOST = "www.alphavantage.co"

PUBLIC = [
    *("1.1.1.1", "9.255.255.255", "11.0.0.0", "93.184.216.34", "100.63.255.255", "100.128.0.0", "126.255.255.255"),
    *("128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.0.3.0"),
    *("192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255"),
    *("2000::1", "2001:200::1", "2001:4860:4860::8888", "2606:2800:220:1:248:1893:25c8:1946", "2a00:1450::1"),
    *("3ffe::1", "3fff:1000::1", "3fff:ffff::1"),
    *("64:ff9b::5db8:d822", "64:ff9b::93.184.216.34"),
]

NOT_PUBLIC = [
    # IPv4: this network, private use, shared, loopback, link-local and metadata, protocol assignments
    *("0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.0.1.1"),
    *("127.255.255.255", "169.254.0.1", "169.254.169.254", "169.254.170.2", "172.16.0.1", "172.31.255.255"),
    *("192.0.0.1", "192.0.0.8", "192.0.0.9", "192.0.0.10", "192.0.0.170", "192.0.0.192"),
    # documentation, AS112, relays, private use, benchmarks, multicast, reserved, broadcast
    *("192.0.2.1", "192.31.196.1", "192.52.193.1", "192.88.99.1", "192.168.1.1", "192.175.48.1", "198.18.0.1"),
    *("198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255"),
    # IPv6: unspecified, loopback, compatible, mapped and translated IPv4
    *("::", "::1", "::127.0.0.1", "::10.0.0.1", "::93.184.216.34", "::ffff:127.0.0.1", "::ffff:169.254.169.254"),
    *("::ffff:93.184.216.34", "::ffff:0:127.0.0.1", "::ffff:0:93.184.216.34"),
    # NAT64: of private IPv4, and for local use
    *("64:ff9b::127.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b::10.0.0.1", "64:ff9b:0:0:0:1:5db8:d822"),
    *("64:ff9b:1::1", "64:ff9b:1::93.184.216.34", "64:ff9b:1:ffff::1"),
    # discard-only, Teredo, benchmarks, ORCHID, documentation, 6to4 of any IPv4
    *("100::1", "100:0:0:1::1", "2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:1::1", "2001:2::1"),
    *("2001:3::1", "2001:4:112::1", "2001:10::1", "2001:20::1", "2001:30::1", "2001:1ff::1", "2001:db8::1"),
    *("3fff::1", "3fff:fff::1"),
    *("2002:7f00:1::", "2002:a9fe:a9fe::1", "2002:5db8:d822::1", "2620:4f:8000::1"),
    # ISATAP
    *("2606:2800::5efe:10.0.0.1", "2606:2800::200:5efe:93.184.216.34", "fe80::5efe:10.0.0.1"),
    # segment routing, not assigned, unique local and metadata, link-local, site-local, multicast
    *("5f00::1", "1::1", "4000::1", "8000::1", "fc00::1", "fd00:ec2::254", "fdff::1", "fe80::1", "febf::1"),
    *("fec0::1", "feff::1", "ff02::1", "ff0e::1", "ffff::1"),
    # with a zone
    *("fe80::1%eth0", "::1%lo", "2606:2800::1%eth0", "2606:2800::1%1"),
    # not addresses
    *("", "x", "127.1", "0x7f000001", "2130706433", "127.0.0.1%lo", "[::1]", "1.2.3.4/8", "01.2.3.4"),
]


# R25
def test_a_host_may_have_a_public_address() -> None:
    assert [address for address in PUBLIC if not is_allowed_address(HOST, address)] == []


# R25
def test_a_host_may_have_no_other_address() -> None:
    assert [address for address in NOT_PUBLIC if is_allowed_address(HOST, address)] == []


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "localhost.", "127.0.0.1", "::1", "[::1]"])
def test_this_machine_may_have_loopback_addresses_and_no_other(host: str) -> None:
    assert is_this_machine(host)
    others = ("::ffff:127.0.0.1", "::127.0.0.1", "0.0.0.0", "::", "10.0.0.1", "fe80::1%lo", *PUBLIC)
    loopback = ["127.0.0.1", "127.0.1.1", "::1"]
    assert [address for address in (*loopback, *others) if is_allowed_address(host, address)] == loopback


@pytest.mark.parametrize(
    "host",
    ["x.localhost", "localhost.example", "localhost..", "127.0.0.2", "127.1", "0x7f.1", "0.0.0.0", "ip6-localhost"],
)
def test_other_names_of_this_machine_may_have_no_loopback_address(host: str) -> None:
    assert not is_this_machine(host)
    assert not is_allowed_address(host, "127.0.0.1")
    assert not is_allowed_address(host, "::1")


def test_addresses_in_any_notation_are_known() -> None:
    known = {
        "127.0.0.1": ("127.0.0.1", "127.1", "2130706433", "0x7f.1", "0177.0.0.1", "0x7F000001", "127.0.0.1."),
        "::1": ("[::1]",),
        "169.254.169.254": ("0251.0376.0251.0376",),
        "fd00:ec2::254": ("[FD00:EC2::254]",),
        "0.0.0.1": ("1",),
        None: ("a.example", "1.example", "", ".", "127.0.0.1.2", "256.0.0.1", "\uff11\uff12\uff17.0.0.1", "a\0b"),
    }
    assert {address: tuple(host for host in hosts if literal_address(host) == address)
            for address, hosts in known.items()} == known  # fmt: skip


def test_names_that_can_only_be_this_machine() -> None:
    this = ["localhost", "Localhost.", "a.localhost", "a.b.LOCALHOST.", "127.0.0.1", "127.9.9.9", "127.1", "2130706433",
            "0x7f.1", "::1", "[::1]", "[0:0::1]"]  # fmt: skip
    others = ("localhost.example", "notlocalhost", "10.0.0.1", "0.0.0.0", "[::2]", "a.example", "")
    assert [host for host in (*this, *others) if is_loopback_name(host)] == this


@given(
    st.one_of(
        st.ip_addresses(), st.integers(0, 2**32 - 1).map(IPv4Address), st.integers(0, 2**128 - 1).map(IPv6Address)
    )
)
@examples(150, many=20_000)
def test_no_address_that_python_takes_for_special_is_allowed(ip: IPv4Address | IPv6Address) -> None:
    if is_allowed_address(HOST, str(ip)):
        nat64 = isinstance(ip, IPv6Address) and str(ip).startswith("64:ff9b::")
        known = ip_address(int(ip) & 0xFFFFFFFF) if nat64 else ip
        assert known.is_global
        assert not any((known.is_multicast, known.is_reserved, known.is_loopback, known.is_link_local))


URL = "https://crm.internal.example/v1"


@pytest.mark.parametrize(
    ("entry", "url"),
    [
        ("crm.internal.example", URL),
        ("crm=crm.internal.example", "https://CRM.internal.example:443/"),
        ("crm.internal.example:8443", "https://crm.internal.example:8443/"),
        ("10.0.0.8", "https://10.0.0.8/"),
        ("[fd12::8]", "https://[fd12::8]/"),
    ],
)
def test_a_private_host_may_have_a_private_address(entry: str, url: str) -> None:
    check = address_check([entry], "crm", url)
    host = entry.partition("=")[2] or entry
    host = host.removesuffix(":8443")
    for address in ("10.0.0.8", "172.16.0.1", "172.31.255.255", "192.168.1.1", "fd12::8", PUBLIC[0]):
        assert check(host, address)
        assert check("localhost", "127.0.0.1")
        assert check("elsewhere.example", address) == (address == PUBLIC[0])


def test_a_private_host_may_have_no_link_local_metadata_or_loopback_address() -> None:
    check = address_check(["crm.internal.example"], "crm", URL)
    forbidden = [
        *(
            "169.254.169.254",
            "169.254.170.2",
            "fd00:ec2::254",
            "fd00:ec2::253",
            "fd20:ce::254",
            "fe80::1",
            "fd12::8%eth0",
        ),
        *("127.0.0.1", "::1", "0.0.0.0", "::", "100.100.100.200", "172.32.0.1x", "::ffff:10.0.0.8", "64:ff9b::a00:8"),
        *("192.0.0.192", "224.0.0.1", "255.255.255.255", "ff02::1", "2002:a00:8::1", "x"),
    ]
    assert [address for address in forbidden if check("crm.internal.example", address)] == []


@pytest.mark.parametrize(
    ("entries", "url"),
    [
        ([], URL),
        (["shop=crm.internal.example"], URL),
        (["internal.example"], URL),
        (["crm.internal.example"], "https://crm.internal.example:8443/"),
        (["crm.internal.example:8443"], URL),
        (["crm.internal.example"], "https://crm.internal.example.evil.example/"),
        (["crm.internal.example"], "https://crm.internal.example@evil.example/"),
        (["crm.internal.example"], "https://[crm.internal.example/"),
        (["localhost"], "https://localhost/"),
    ],
)
def test_other_hosts_ports_and_sources_may_have_no_private_address(entries: list[str], url: str) -> None:
    assert address_check(entries, "crm", url) is is_allowed_address
