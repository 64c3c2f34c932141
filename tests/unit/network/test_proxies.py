"""Which URLs go through a proxy."""

import pytest

from tests.support.http import unset_proxies
from toolfold.network.errors import ProxyError, TransportError, UnsupportedProxy
from toolfold.network.session import proxy_for

PROXY = "http://proxy.example:3128"


@pytest.fixture(autouse=True)
def no_proxy_set(monkeypatch: pytest.MonkeyPatch) -> None:
    unset_proxies(monkeypatch)
    monkeypatch.delenv("REQUEST_METHOD", raising=False)


# R21
def test_this_machine_is_never_reached_through_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    urls = [
        *("http://localhost/", "http://LOCALHOST:8080/", "http://localhost./", "http://x.localhost/"),
        *(
            "http://127.0.0.1/",
            "http://[::1]/",
            "http://[::1]:8080/",
            "http://127.9.9.9/",
            "http://127.1/",
            "https://0x7f000001/",
        ),
    ]
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, PROXY)
    assert [url for url in urls if proxy_for(url)] == []
    assert proxy_for("https://api.example/") == PROXY


@pytest.mark.parametrize(
    ("environment", "url", "proxy"),
    [
        ({}, "https://a.example/", ""),
        ({"HTTPS_PROXY": PROXY}, "https://a.example/", PROXY),
        ({"HTTPS_PROXY": PROXY}, "http://a.example/", ""),
        ({"ALL_PROXY": PROXY}, "https://a.example/", PROXY),
        ({"all_proxy": PROXY, "https_proxy": "http://other.example"}, "https://a.example/", "http://other.example"),
        ({"HTTPS_PROXY": "http://other.example", "https_proxy": PROXY}, "https://a.example/", PROXY),
        ({"HTTPS_PROXY": PROXY, "https_proxy": ""}, "https://a.example/", ""),
        ({"HTTPS_PROXY": "proxy.example:3128"}, "https://a.example/", PROXY),
        ({"HTTPS_PROXY": PROXY, "NO_PROXY": "a.example"}, "https://a.example/", ""),
        ({"HTTPS_PROXY": PROXY, "no_proxy": "a.example:443"}, "https://a.example:443/", ""),
        ({"HTTPS_PROXY": PROXY, "no_proxy": "a.example:443"}, "https://a.example:8443/", PROXY),
        ({"HTTPS_PROXY": PROXY, "NO_PROXY": "a.example", "no_proxy": "b.example"}, "https://a.example/", PROXY),
        ({"HTTP_PROXY": PROXY}, "http://a.example/", PROXY),
        # A header "Proxy" of a request to a CGI program.
        ({"HTTP_PROXY": PROXY, "REQUEST_METHOD": "GET"}, "http://a.example/", ""),
        ({"http_proxy": PROXY, "REQUEST_METHOD": "GET"}, "http://a.example/", PROXY),
        ({"HTTPS_PROXY": PROXY, "REQUEST_METHOD": "GET"}, "https://a.example/", PROXY),
    ],
)
def test_the_environment_names_the_proxy(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], url: str, proxy: str
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert proxy_for(url) == proxy


@pytest.mark.parametrize(
    ("proxy", "error"),
    [
        *((proxy, ProxyError) for proxy in ("http://", "http://x:port", "http://:80", "http://[::1")),
        *(
            (proxy, UnsupportedProxy)
            for proxy in ("https://x", "socks5://me:secret@x", "socks4a://x", "file:///x", "x://y")
        ),
    ],
)
def test_a_proxy_that_cannot_be_used_is_an_error_without_its_url(
    monkeypatch: pytest.MonkeyPatch, proxy: str, error: type[TransportError]
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    with pytest.raises(error) as caught:
        proxy_for("https://a.example/")
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
