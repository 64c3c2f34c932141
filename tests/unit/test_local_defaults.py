"""Where a process of one user keeps its files."""

from __future__ import annotations

from pathlib import Path

import pytest
from platformdirs.macos import MacOS

from toolfold.local_defaults import user_cache_dir, with_local_defaults
from toolfold.settings import Settings


def test_the_cache_folder_is_the_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert user_cache_dir() == str(Path.home() / ".cache" / "toolfold")


def test_xdg_cache_home_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere/cache")
    assert user_cache_dir() == "/somewhere/cache/toolfold"


def test_on_macos_it_is_in_library_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "platformdirs.user_cache_dir", lambda *names, **options: MacOS(*names, **options).user_cache_dir
    )
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert user_cache_dir() == str(Path.home() / "Library" / "Caches" / "toolfold")


def test_settings_that_are_given_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/c")
    settings = Settings.from_environment({"TOOLFOLD_CACHE": "memory"})
    assert with_local_defaults(settings).cache == "memory"
    assert with_local_defaults(settings).offload == "/c/toolfold/answers"
    given = Settings.from_environment({"TOOLFOLD_CACHE": "off", "TOOLFOLD_OFFLOAD": "off"})
    assert with_local_defaults(given) is given
