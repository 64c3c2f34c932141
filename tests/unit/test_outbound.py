"""Which proxy is asked, and whose certificates are trusted, as the environment says."""

from __future__ import annotations

import os
from pathlib import Path

import certifi
import pytest

from toolfold import outbound


@pytest.fixture(autouse=True)
def _nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.lower().endswith("_proxy") or name.endswith(("_CA_BUNDLE", "_CERT_FILE")):
            monkeypatch.delenv(name)


@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"])
def test_a_proxy_is_used_in_either_case(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    assert outbound.proxy_for("https", "service.example") == ""
    monkeypatch.setenv(variable, "http://proxy.example:3128")
    assert outbound.proxy_for("https", "service.example") == "http://proxy.example:3128"


def test_one_for_another_scheme_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "proxy.example:3128")
    assert outbound.proxy_for("https", "service.example") == ""
    assert outbound.proxy_for("http", "service.example") == "http://proxy.example:3128"


@pytest.mark.parametrize(
    ("exempt", "host", "direct"),
    [
        ("service.example", "service.example", True),
        (".example", "service.example:8000", True),
        ("127.0.0.1,localhost", "127.0.0.1:4566", True),
        ("*", "service.example", True),
        ("other.example", "service.example", False),
    ],
)
def test_some_hosts_are_asked_directly(monkeypatch: pytest.MonkeyPatch, exempt: str, host: str, direct: bool) -> None:
    monkeypatch.setenv("ALL_PROXY", "http://proxy.example:3128")
    monkeypatch.setenv("NO_PROXY", exempt)
    assert (outbound.proxy_for("https", host) == "") is direct


def test_a_bundle_is_read_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert outbound.tls() is outbound.tls("AWS_CA_BUNDLE")
    bundle = tmp_path / "one.pem"
    bundle.write_text("".join(Path(certifi.where()).read_text().partition("-----END CERTIFICATE-----\n")[:2]))
    monkeypatch.setenv("AWS_CA_BUNDLE", str(bundle))
    assert len(outbound.tls("AWS_CA_BUNDLE").get_ca_certs()) == 1
    assert len(outbound.tls().get_ca_certs()) > 1
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(bundle))
    assert outbound.tls() is outbound.tls("AWS_CA_BUNDLE")


def test_a_bundle_that_is_not_there_is_not_replaced_by_another(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "absent.pem"))
    with pytest.raises(FileNotFoundError):
        outbound.tls()
