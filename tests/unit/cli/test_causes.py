"""Why a call reached no service: each cause in words of its own, with a next step for a person. Over real sockets."""

import os
import re
import socket
import ssl
import struct
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from tests.conftest import KEY
from tests.support.commands import Run
from tests.support.proxies import ForwardProxy
from tests.support.raw_http import RawServer
from tests.support.tls import write_certificate
from toolfold.network.session import describe_proxy
from toolfold.network.sockets import BUNDLE_VARIABLES, ca_bundle

Call = Callable[..., str]

CLOSED = "http://127.0.0.1:9"
"""A port on which nothing listens."""


@pytest.fixture
def call(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Call:
    """Return a function that calls a tool at a URL, with these variables, and returns stderr."""
    for name in (*BUNDLE_VARIABLES, *(name for name in os.environ if name.lower().endswith("_proxy"))):
        monkeypatch.delenv(name, raising=False)
    for name, value in {
        "TOOLFOLD_CACHE": "off",
        "TOOLFOLD_RETRIES": "0",
        "TOOLFOLD_CONNECT_TIMEOUT_S": "10",
        "TOOLFOLD_TIMEOUT_S": "20",
        "TOOLFOLD_ALLOWED_HOSTS": "upstream.example",
    }.items():
        monkeypatch.setenv(name, value)

    def called(url: str, *options: str, **variables: str) -> str:
        for name, value in {"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": f"{url}/query", **variables}.items():
            monkeypatch.setenv(name, value)
        code, out, err = run("call", "WTI", *options)
        assert (code, out) == (1, "")
        assert KEY not in err
        assert "apikey" not in err
        assert not re.search("(?i)(ask|tell) the (user|operator)", err)
        return err

    return called


@pytest.fixture
def silent() -> Iterator[str]:
    """``host:port`` of a server that accepts connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"127.0.0.1:{listener.getsockname()[1]}"


def tls(path: Path, **options: timedelta) -> ssl.SSLContext:
    """Return the context of a server whose certificate is self-signed, for ``localhost``."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(write_certificate(path, "localhost", **options))
    return context


def at_localhost(server: RawServer) -> str:
    return f"https://localhost:{server.authority.rpartition(':')[2]}"


def reset(server: RawServer, connection: socket.socket) -> None:
    server.read(connection)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


NO_HANDSHAKE = {"TOOLFOLD_CONNECT_TIMEOUT_S": "0.3"}


@pytest.mark.parametrize(
    ("url", "variables", "words"),
    [
        (
            "https://nowhere.invalid", {},
            ["Cannot connect to nowhere.invalid: DNS lookup failed.", "nslookup nowhere.invalid"],
        ),
        (
            CLOSED, {},
            ["Cannot connect to 127.0.0.1: connection refused.", "Nothing listens there: check the URL of the source "
             "(TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL)"],
        ),
        (
            "https://{silent}", NO_HANDSHAKE,
            ["UPSTREAM_TIMEOUT: Cannot connect to 127", "firewall"],
        ),
        (
            "http://{silent}", {"TOOLFOLD_TIMEOUT_S": "2"},
            ["UPSTREAM_TIMEOUT: Alpha Vantage did not answer in time.", "TOOLFOLD_TIMEOUT_S"],
        ),
        (
            "https://upstream.example", {"HTTPS_PROXY": "http://{silent}", **NO_HANDSHAKE},
            ["Cannot connect to upstream.example: no connection through the proxy."],
        ),
        (
            "https://upstream.example", {"HTTPS_PROXY": "http://me:secret@127.0.0.1:9"},
            ["no connection through the proxy.", "Check the proxy, 127.0.0.1:9 (HTTPS_PROXY),",
             "NO_PROXY=upstream.example"],
        ),
        (
            "https://upstream.example", {"HTTPS_PROXY": "http://no.invalid:1"},
            ["no connection through the proxy.", "Check the proxy, no.invalid:1 (HTTPS_PROXY),",
             "NO_PROXY=upstream.example"],
        ),
        *(
            ("https://upstream.example", {"ALL_PROXY": kind}, ["a URL that begins with http://"])
            for kind in ("https://localhost:1", "socks5://localhost:1")
        ),
        ("https://localhost:9", {"CURL_CA_BUNDLE": "/no/bundle.pem"}, ["Correct CURL_CA_BUNDLE=/no/bundle.pem"]),  # N12
    ],
)  # fmt: skip
def test_no_connection(call: Call, silent: str, url: str, variables: dict[str, str], words: list[str]) -> None:  # N6
    given = {name: value.format(silent=silent) for name, value in variables.items()}
    err = call(url.format(silent=silent), **given)
    assert [word for word in words if word not in err] == []
    assert "secret" not in err


@pytest.mark.parametrize(
    ("status", "message", "step"),
    [
        (
            403,
            "no connection through the proxy.",
            r"Check the proxy, localhost:\d+ \(HTTPS_PROXY\), which must allow upstream.example.",
        ),
        (
            407,
            "requires a user name and a password",
            r"Put them into the variable that names the proxy, localhost:\d+ \(",
        ),
    ],
)
def test_proxy_that_refuses(call: Call, status: int, message: str, step: str) -> None:  # N6
    with ForwardProxy(status=status) as proxy:
        err = call("https://upstream.example", HTTPS_PROXY=f"http://{proxy.address}")
    assert message in err
    assert re.search(step, err)


EXPIRED = {"begins": timedelta(days=-3), "ends": timedelta(days=-2)}


@pytest.mark.parametrize(
    ("host", "dates", "bundle", "words"),
    [
        ("localhost", {}, "other.pem", ["its TLS certificate is self-signed", "REQUESTS_CA_BUNDLE={bundle}"]),
        ("localhost", {}, "", [f"{ca_bundle({})[1]} (set REQUESTS_CA_BUNDLE to use another one)"]),
        ("localhost", EXPIRED, "x.pem", ["has expired, or is not valid yet.", "Check the clock of this machine"]),
        ("127.0.0.1", {}, "x.pem", ["its TLS certificate belongs to another host."]),
    ],
)
def test_certificate_that_is_refused(
    call: Call, tmp_path: Path, host: str, dates: dict[str, timedelta], bundle: str, words: list[str]
) -> None:  # N12
    write_certificate(tmp_path / "other.pem", "other.example")
    with RawServer(context=tls(tmp_path / "x.pem", **dates)) as server:
        # A variable of less weight does not decide.
        paths = {"REQUESTS_CA_BUNDLE": f"{tmp_path}/{bundle}", "SSL_CERT_FILE": f"{tmp_path}/x.pem"}
        variables = paths if bundle else {}
        err = call(at_localhost(server).replace("localhost", host), **variables)
    assert [word for word in words if word.format(bundle=tmp_path / bundle) not in err] == []
    assert "SSL_CERT_FILE" not in err


def test_service_that_speaks_no_tls(call: Call) -> None:  # N6
    with RawServer(lambda _, connection: connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")) as server:
        assert "Cannot connect to 127.0.0.1: TLS handshake failed." in call(f"https://{server.authority}")


def test_verbose_shows_the_way_and_the_cause(call: Call, tmp_path: Path) -> None:  # N6
    with RawServer(context=tls(tmp_path / "x.pem")) as server:
        err = call(at_localhost(server), "--verbose", SSL_CERT_FILE=str(tmp_path / "none.pem"), REQUESTS_CA_BUNDLE="")
        assert f"trusted: {tmp_path / 'none.pem'} (SSL_CERT_FILE)" in err
        assert "failed: CertificateBundleError" in err
        err = call(at_localhost(server), "-v", SSL_CERT_FILE=ca_bundle({})[1])
    port = server.authority.rpartition(":")[2]
    assert f"* GET https://localhost:{port} (path and query are not shown); proxy: none; address: " in err
    assert re.search(r"; [\d.]+ ms", err)
    assert re.search(r"failed: CertificateError < SSLCertVerificationError \(18: self.signed certificate\)", err)
    err = call(CLOSED, "-v")
    assert "failed: ConnectionRefused < ConnectionRefusedError (ECONNREFUSED)" in err


def test_verbose_shows_what_succeeded(run: Run) -> None:  # N6
    code, out, err = run("call", "WTI", "--fresh", "--verbose", "--select", "last 1", "--format", "csv")
    assert (code, len(out.splitlines())) == (0, 2)
    assert re.search(r"; HTTP status 200, [\d,]+ bytes", err)
    assert KEY not in err


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, ""),
        ({"https_proxy": "http://a:1", "HTTPS_PROXY": "http://b:2"}, "a:1 (https_proxy)"),
        ({"ALL_PROXY": "b:2"}, "b:2 (ALL_PROXY)"),
        ({"HTTPS_PROXY": "http://me:secret@b:2/x"}, "b:2 (HTTPS_PROXY)"),
        ({"HTTPS_PROXY": "socks5://me:secret@b:2"}, "b:2 (HTTPS_PROXY)"),
        ({"HTTPS_PROXY": "http://b:2", "NO_PROXY": "api.example"}, ""),
    ],
)
def test_proxy_is_described_without_its_password(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: str
) -> None:
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert describe_proxy("https://api.example/query?apikey=x") == expected


def test_doctor_names_the_cause_and_shows_the_way(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:  # N6
    monkeypatch.setenv("TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL", f"{CLOSED}/query")
    code, out, _ = run("doctor")
    assert code == 1
    assert "Cannot connect to 127.0.0.1: connection refused." in out
    assert "Nothing listens there: check the URL of the source (TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL)" in out
