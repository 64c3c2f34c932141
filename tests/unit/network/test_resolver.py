"""Lookups of names: before the deadline, shared, and bounded in number. With threads, without a name server."""

import os
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.cpu_time import ends_within
from tests.support.threads import run_concurrently
from tests.support.waiting import wait_until
from toolfold.network import sockets as module
from toolfold.network.errors import NameResolutionError
from toolfold.network.sockets import Resolver

FOUND = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("93.184.216.34", 443))]


class NameServer:
    """Stands for the system's resolver. Lookups end when ``answer`` is set; ``names`` are those that were looked up."""

    def __init__(self) -> None:
        self.answer = threading.Event()
        self.names: list[bytes] = []
        self.result: Callable[[], Any] = lambda: FOUND

    def getaddrinfo(self, name: bytes, *_: Any, **__: Any) -> Any:
        self.names.append(name)
        assert self.answer.wait(60)
        return self.result()


@pytest.fixture
def name_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[NameServer]:
    server = NameServer()
    monkeypatch.setattr(socket, "getaddrinfo", server.getaddrinfo)
    yield server
    server.answer.set()


# R20
def test_a_lookup_ends_at_its_timeout(name_server: NameServer) -> None:
    with ends_within(0.1), pytest.raises(TimeoutError):
        Resolver().addresses("a.example", 443, 0.1)
    wait_until(lambda: name_server.names == [b"a.example"])


def test_equal_lookups_are_one(name_server: NameServer, monkeypatch: pytest.MonkeyPatch) -> None:
    resolver, found, waiting = Resolver(), [], []
    find_or_start = resolver._find_or_start

    def answer_when_all_wait(*name: Any) -> Any:
        waiting.append(find_or_start(*name))
        if len(waiting) == 20:
            name_server.answer.set()
        return waiting[-1]

    monkeypatch.setattr(resolver, "_find_or_start", answer_when_all_wait)
    monkeypatch.setattr(module, "_JOIN_S", 60.0)
    run_concurrently([lambda: found.append(resolver.addresses("a.example", 443, 60))] * 20)
    assert found == [FOUND] * 20
    assert name_server.names == [b"a.example"]
    assert resolver.addresses("a.example", 443, 10) == FOUND  # looked up again: nothing is kept
    assert len(name_server.names) == 2


# R20
def test_the_number_of_lookups_that_do_not_end_is_bounded(name_server: NameServer) -> None:
    resolver = Resolver()

    def look_up(number: int) -> type[Exception]:
        with pytest.raises((TimeoutError, NameResolutionError)) as caught:
            resolver.addresses(f"{number}.example", 443, 0.02)
        return caught.type

    errors = [look_up(number) for number in range(40)]
    assert errors == [TimeoutError] * 16 + [NameResolutionError] * 24
    wait_until(lambda: len(name_server.names) == 16)
    name_server.answer.set()
    wait_until(lambda: all(lookup.done() for lookup in resolver._running))
    assert resolver.addresses("41.example", 443, 10) == FOUND


def test_a_lookup_that_does_not_end_is_not_waited_for_again_and_again(
    name_server: NameServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_JOIN_S", 0.0)
    resolver = Resolver()
    for expected in (TimeoutError, TimeoutError, NameResolutionError, NameResolutionError):
        with pytest.raises(expected):
            resolver.addresses("a.example", 443, 0.02)
    with pytest.raises(TimeoutError):  # another host is not affected
        resolver.addresses("b.example", 443, 0.02)


@pytest.mark.parametrize("error", [socket.gaierror, OSError, UnicodeError])
def test_a_name_without_addresses_is_an_error(name_server: NameServer, error: type[Exception]) -> None:
    def fail() -> Any:
        raise error

    name_server.answer.set()
    for name_server.result in (fail, lambda: []):
        with pytest.raises(NameResolutionError):
            Resolver().addresses("a.example", 443, 10)


@pytest.mark.parametrize("host", ["ä.example", "a" * 70, "", "a..b"])
def test_a_name_that_cannot_be_one_is_an_error(host: str) -> None:
    with pytest.raises(NameResolutionError):
        Resolver().addresses(host, 443, 10)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "127.1"])
def test_an_address_needs_no_thread(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    monkeypatch.setattr(threading, "Thread", None)
    assert Resolver().addresses(host, 443, 0.0)[0][4][1] == 443


def test_without_a_further_thread_the_lookup_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(NameResolutionError):
        Resolver().addresses("a.example", 443, 1)


def test_a_forked_process_waits_for_none_of_its_parents_lookups(
    name_server: NameServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolver = Resolver()
    with pytest.raises(TimeoutError):
        resolver.addresses("a.example", 443, 0.02)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(TimeoutError):
        resolver.addresses("a.example", 443, 0.02)
    wait_until(lambda: len(name_server.names) == 2)
