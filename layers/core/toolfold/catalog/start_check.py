"""Check, when a process starts for a person, that the catalog of the settings can be used.

A catalog in S3 is not read: S3 may be down now and up when the first request comes.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from toolfold.catalog.allow_list import IN_ERROR
from toolfold.catalog.store import open_store
from toolfold.errors import CatalogUnavailable, SettingsError
from toolfold.wording import PERSON, worded

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog
    from toolfold.settings import Settings

_logger = logging.getLogger("toolfold")


def check_catalog(settings: Settings, store: Callable[[], Catalog] | None = None) -> None:
    """Open the catalog of ``settings``, unless it is in S3.

    Args:
        settings: the settings of this process.
        store: the store that the process will use; by default another one.

    Raises:
        SettingsError: it cannot be used; names the path, the variable and the next step. The log has the reason.
    """
    location = settings.catalog
    if location.startswith("s3://"):
        return
    _logger.addFilter(_is_not_in_error)
    try:
        (store or open_store(settings))()
    except CatalogUnavailable as error:
        place = f"TOOLFOLD_CATALOG={location}: " if location else ""
        raise SettingsError(f"{place}{error.message} {worded(error.next_step, PERSON)}") from None
    finally:
        _logger.removeFilter(_is_not_in_error)


def _is_not_in_error(record: logging.LogRecord) -> bool:
    """Return whether a line of the log says more than the error that is printed."""
    return not any(hasattr(record, name) for name in IN_ERROR)
