"""Which proxy is asked, and whose certificates are trusted, as the environment says."""

from __future__ import annotations

import os
import ssl
import subprocess
import sys
from pathlib import Path

import certifi
import pytest

from toolfold.network import outbound


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
    ("host", "exempt", "direct"),
    [
        ("api.example", "", False),
        ("api.example", "api.example", True),
        ("API.example", "Api.Example", True),
        ("api.example", ".example", True),
        ("api.example:8000", ".example", True),
        ("api.example", "example", True),
        ("api.example", "pi.example", False),
        ("api.example", "other.example", False),
        ("api.example:8443", "other.example , api.example:8443", True),
        ("api.example:8443", "api.example:443", False),
        ("api.example", "*", True),
        ("127.0.0.1:4566", "127.0.0.1,localhost", True),
        ("10.1.2.3", "10.1.2.3", True),
        ("10.1.2.3", "10.0.0.0/8", True),
        ("10.1.2.3:80", "10.9.9.9/8", True),
        ("167838211", "10.0.0.0/8", True),  # 10.1.2.3
        ("10.1.2.3", "10.2.0.0/16,nonsense/x", False),
        ("api.example", "10.0.0.0/8", False),
        ("[::1]:80", "[::1]", True),
    ],
)
def test_some_hosts_are_asked_directly(monkeypatch: pytest.MonkeyPatch, host: str, exempt: str, direct: bool) -> None:
    monkeypatch.setenv("ALL_PROXY", "http://proxy.example:3128")
    monkeypatch.setenv("NO_PROXY", exempt)
    assert (outbound.proxy_for("https", host) == "") is direct


def test_the_schemes_own_variable_comes_before_the_one_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "http://all.example:1")
    monkeypatch.setenv("https_proxy", "http://tls.example:2")
    assert outbound.proxy_for("https", "api.example") == "http://tls.example:2"
    assert outbound.proxy_for("http", "localhost") == "http://all.example:1"


@pytest.mark.skipif(sys.platform in {"darwin", "win32"}, reason="there the system is asked in any case")
@pytest.mark.parametrize(("variable", "imported"), [("NO_PROXY", False), ("https_proxy", True)])
def test_what_reads_them_is_imported_where_there_is_one(variable: str, imported: bool) -> None:
    program = (
        "import sys; from toolfold import outbound; outbound.proxy_for('https', 'x.example');"
        "sys.exit('urllib.request' not in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], env={**os.environ, variable: "localhost:9"}, check=False)
    assert (done.returncode == 0) is imported


@pytest.mark.parametrize(
    ("address", "proof"),
    [
        ("http://proxy.example", ""),
        ("http://me@proxy.example", ""),
        ("http://me:p%40ss@proxy.example", "Basic bWU6cEBzcw=="),
        ("http://me:%C3%A4@proxy.example", "Basic bWU6w6Q="),
        ("http://me:@proxy.example", "Basic bWU6"),
    ],
)
def test_a_name_and_a_password_are_sent_as_proof(address: str, proof: str) -> None:
    assert outbound.proof(address) == proof


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


def test_nothing_older_than_tls_1_2_is_spoken() -> None:
    assert outbound.tls().minimum_version == ssl.TLSVersion.TLSv1_2
    assert outbound.tls().verify_mode == ssl.CERT_REQUIRED
    assert outbound.tls().check_hostname


TRUSTED = (
    "import sys; from toolfold import outbound; print(len(outbound.tls().get_ca_certs()), 'certifi' in sys.modules)"
)


def trusted(**environment: str) -> str:
    known = {name: value for name, value in os.environ.items() if name not in outbound._BUNDLES}
    run = [sys.executable, "-c", TRUSTED]
    return subprocess.run(run, env=known | environment, capture_output=True, text=True, check=True).stdout.strip()


def test_whom_certifi_trusts_is_trusted_without_its_import() -> None:
    every = ssl.create_default_context(cafile=certifi.where()).get_ca_certs()
    assert trusted() == f"{len(every)} False"


def test_a_certifi_that_points_elsewhere_is_followed(tmp_path: Path) -> None:
    one = "".join(Path(certifi.where()).read_text().partition("-----END CERTIFICATE-----\n")[:2])
    (tmp_path / "of_the_system.pem").write_text(one)
    package = tmp_path / "certifi"
    package.mkdir()
    (package / "__init__.py").write_text(f"def where():\n    return {str(tmp_path / 'of_the_system.pem')!r}\n")
    assert trusted(PYTHONPATH=str(tmp_path)) == "1 True"
