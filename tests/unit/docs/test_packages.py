"""``__all__`` of a package whose modules are its interface lists them all."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import toolfold

PACKAGES = [name for _, name, is_package in pkgutil.walk_packages(toolfold.__path__, "toolfold.") if is_package]


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_lists_what_it_has(name: str) -> None:
    package = importlib.import_module(name)
    modules = {module for _, module, _ in pkgutil.iter_modules(package.__path__)}
    objects = {listed for listed in package.__all__ if listed not in modules}

    assert all(hasattr(package, listed) for listed in objects), objects
    if not any(callable(getattr(package, listed)) for listed in objects):
        assert set(package.__all__) - objects == modules
