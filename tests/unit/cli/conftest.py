"""Commands run in processes of their own, where nothing has configured the log."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _unconfigured_log() -> Iterator[None]:
    logger = logging.getLogger("toolfold")
    state = dict(logger.__dict__)
    logger.handlers, logger.level, logger.propagate = [], logging.NOTSET, True
    for name in ("init", "powertools_handler"):  # by which Powertools knows what it has configured
        logger.__dict__.pop(name, None)
    logger.manager._clear_cache()  # type: ignore[attr-defined]
    yield
    logger.__dict__.clear()
    logger.__dict__.update(state)
    logger.manager._clear_cache()  # type: ignore[attr-defined]
