"""Check, when a process starts for a person, that the catalog of the settings can be used.

A catalog in S3 is not read: S3 may be down now and up when the first request comes.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from toolfold.catalog.allow_list import IN_ERROR
from toolfold.catalog.store import open_regular_file, open_store
from toolfold.errors import CatalogUnavailable, SettingsError
from toolfold.wording import PERSON, worded

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog
    from toolfold.settings import Settings

_logger = logging.getLogger("toolfold")

_TO_COMPILE = (
    "`toolfold catalog compile` writes such a file; without TOOLFOLD_CATALOG, the catalog in the package is used."
)


def check_catalog(settings: Settings, store: Callable[[], Catalog] | None = None) -> None:
    """Open the catalog of ``settings``, unless it is in S3.

    Args:
        settings: the settings of this process.
        store: the store that the process will use; by default another one.

    Raises:
        SettingsError: it cannot be used; names the path, the variable and the next step.
    """
    location = settings.catalog
    if location.startswith("s3://"):
        return
    if location:
        path = os.path.expanduser(location)
        if os.path.isdir(path):
            raise SettingsError(f"TOOLFOLD_CATALOG names {path}, which is a folder. {_TO_COMPILE}")
        try:
            os.close(open_regular_file(path))
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "no file can have this name"
            problem = f"TOOLFOLD_CATALOG names {os.path.abspath(path)}, which cannot be read: {reason}."
            raise SettingsError(f"{problem} {_TO_COMPILE}") from None
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
