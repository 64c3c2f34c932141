"""Commands run in processes of their own, where nothing has configured the log."""

from __future__ import annotations

import logging

import pytest


@pytest.fixture(autouse=True)
def _unconfigured_log(monkeypatch: pytest.MonkeyPatch) -> None:
    logger = logging.getLogger("toolfold")
    monkeypatch.setattr(logger, "handlers", [])
    monkeypatch.setattr(logger, "level", logging.NOTSET)
    monkeypatch.setattr(logger, "propagate", True)
    monkeypatch.setattr(logger, "init", False, raising=False)  # by which Powertools knows what it has configured
